/* SPDX-License-Identifier: MIT */
/*
 * A server in a thread of its own, a client that is connected to it, and memory that both see; with
 * it the rig of the device's tests works through the socket.
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
	struct vfu_server server; /* the thread's while it runs */
	pthread_t thread;
	int stop; /* eventfd */
	struct client client;
	int memory_fd; /* sealed memfd of RIG_MEMORY bytes */
	uint8_t *memory;
	int vectors[BENCH_VECTORS]; /* eventfds, non-blocking */
	struct rig rig;
};

/* Sizes as above, MSI-X, not sync, quiet. */
struct vfu_server_config bench_config(void);

/* The server listens on b->path; nobody is connected. */
void bench_start(struct bench *b, const struct vfu_server_config *config);
/* The server ends and everything goes. */
void bench_stop(struct bench *b);

/* A connected client with memory lent, BARs and DMA enabled, vectors attached to MSI-X or MSI. */
void bench_attach(struct bench *b);
/* The parts of that, for those who repeat some. */
void bench_connect(struct bench *b);
void bench_enable(struct bench *b);
void bench_lend(struct bench *b);
void bench_attach_vectors(struct bench *b);

/* Firmware up to READY by BAR0. */
void bench_boot(struct bench *b);
/* true: the vector was raised since the last call; waits at most @timeout milliseconds. */
bool bench_interrupted(struct bench *b, unsigned int vector, int timeout);
/* Until the queue of @c has completed @seqno. */
void bench_wait(struct bench *b, const struct rig_context *c, uint64_t seqno);

/* How many this process has. */
unsigned int bench_descriptors(void);
/* Until there are no more than @count: threads of the server's close what came, which may take a while. */
void bench_expect_descriptors(unsigned int count);

/* A memfd that cannot shrink. */
int bench_memfd(size_t size);

#endif
