/* SPDX-License-Identifier: MIT */
/*
 * The bench of the vfio-user tests: a server in a thread of its own, a client that is connected to
 * it, and memory that both see. The rig of the device's tests (rig.h) uses the server's device
 * through the socket.
 */
#ifndef TESTS_VFU_BENCH_H
#define TESTS_VFU_BENCH_H

#include <pthread.h>

#include "client.h"
#include "rig.h"
#include "vfu/server.h"

#define BENCH_QUEUES  4
#define BENCH_VECTORS (BENCH_QUEUES + 1)
#define BENCH_SRAM    (256u << 10)

struct bench {
	char folder[32], path[48];
	struct vfu_server server; /* the thread uses it while it runs */
	pthread_t thread;
	int stop; /* eventfd */
	struct client client;
	int memory_fd; /* sealed memfd of RIG_MEMORY bytes */
	uint8_t *memory;
	int vectors[BENCH_VECTORS]; /* eventfds, non-blocking */
	struct rig rig;
};

/*
 * Returns the configuration of the tests' server: the sizes above, MSI-X, not in sync mode, quiet.
 */
struct vfu_server_config bench_config(void);

/* Starts a server that listens on b->path; no client is connected. */
void bench_start(struct bench *b, const struct vfu_server_config *config);
/* Ends the server and frees everything. */
void bench_stop(struct bench *b);

/*
 * Connects a client: lends the server memory, enables BARs and DMA, attaches vectors to MSI-X or
 * MSI.
 */
void bench_attach(struct bench *b);
/*
 * The steps of bench_attach(), for tests that repeat some of them: connect, enable BARs and bus
 * mastering, lend memory, attach vectors.
 */
void bench_connect(struct bench *b);
void bench_enable(struct bench *b);
void bench_lend(struct bench *b);
void bench_attach_vectors(struct bench *b);

/* Boots the firmware to READY through BAR0. */
void bench_boot(struct bench *b);
/*
 * Returns whether the vector was raised since the last call; waits at most @timeout milliseconds.
 */
bool bench_interrupted(struct bench *b, unsigned int vector, int timeout);
/* Waits until the queue of @c has completed @seqno. */
void bench_wait(struct bench *b, const struct rig_context *c, uint64_t seqno);

/* Returns how many descriptors this process has open. */
unsigned int bench_descriptors(void);
/*
 * Waits until no more than @count are open: the server's threads close received descriptors, which
 * may take a while.
 */
void bench_expect_descriptors(unsigned int count);

/* Returns a memfd that cannot shrink. */
int bench_memfd(size_t size);

#endif
