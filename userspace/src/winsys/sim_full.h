/* SPDX-License-Identifier: MIT */
/*
 * Full mode of the device model, in which this process does the work of a kernel driver. Host
 * memory is one area, whose offsets are bus addresses; address spaces are Sv39 page tables in it.
 * The firmware is booted, and messages to and from it go through rings.
 */
#ifndef WNN_WINSYS_SIM_FULL_H
#define WNN_WINSYS_SIM_FULL_H

#include <pthread.h>

#include <onpu_device.h>

#include "util/alloc.h"
#include "winsys/sim_queue.h"
#include "winsys/winsys.h"

/* The number of entries of each ring of jobs or messages; a power of two. */
#define FULL_RING 64u

/* ---- sim_full_memory.c */

struct range {
	uint64_t start, size;
};

/* Allocates sub-ranges of a range of addresses; a search begins after the last allocated one. */
struct ranges {
	struct range *used; /* the allocated ranges, in order */
	size_t count, room;
	uint64_t first, end, next;
};

struct full_memory {
	pthread_mutex_t lock;
	uint8_t *base;
	uint64_t size;
	struct ranges bus, user, kernel;
	uint64_t root; /* bus address of the page table */
};

/*
 * Makes the memory: reserves its address space and allocates the root page table. Returns 0, or -1
 * with *err.
 */
int full_memory_init(struct full_memory *memory, struct wnn_error *err);
void full_memory_destroy(struct full_memory *memory);
/* Copy from and to a bus address; return 0, or -1 when the bytes are not all in the memory. */
int full_memory_read(void *memory, uint64_t addr, void *dst, size_t len);
int full_memory_write(void *memory, uint64_t addr, const void *src, size_t len);
/* Allocates zeroed memory without a virtual address; returns its bus address; 0: no memory. */
uint64_t full_memory_alloc(struct full_memory *memory, size_t size);
void full_memory_free(struct full_memory *memory, uint64_t bus, size_t size);
/* Returns the host address of a bus address. */
void *full_memory_at(const struct full_memory *memory, uint64_t bus);

/* Memory that is mapped at a virtual address of the device. */
struct full_map {
	uint64_t va, bus;
	size_t size;
	void *map;
};

/* Allocates and maps memory; `user`: whether jobs may access it. Returns 0, or -1: no memory. */
int full_map_create(struct full_memory *memory, struct full_map *map, size_t size, bool user);
/* These two end a map: call full_map_clear(), then full_invalidate(), then full_map_free(). */
void full_map_clear(struct full_memory *memory, const struct full_map *map);
void full_map_free(struct full_memory *memory, const struct full_map *map, bool user);
/*
 * full_map_file() replaces the memory of a map by that of a file; full_map_own() replaces that by
 * zeroed memory again. Both return 0, or -1 with errno.
 */
int full_map_file(const struct full_map *map, int fd, bool read_only);
int full_map_own(const struct full_map *map);

/* ---- sim_full.c */

struct winsys *winsys_sim_full_create(const struct winsys_sim_config *config,
				      struct wnn_error *err);

/* ---- sim_full_driver.c: registers, boot, messages, invalidation, the device's thread */

struct full_ctx;

struct full {
	struct winsys base;
	struct full_memory memory;
	struct onpu_device *device;
	struct wnn_allocator allocator; /* the allocator of the device */
	pthread_t thread;
	bool started;

	pthread_mutex_t requests; /* held by the thread whose request is pending */
	pthread_mutex_t invalidations;
	uint64_t request_ring, response_ring;
	uint32_t request_tail, response_head, request_id;

	/* sync.lock guards the members below. It must not be held when the device is called. */
	struct sim_sync sync;
	bool kicked, stop;
	bool interrupted; /* the device has raised vector 0 */
	uint32_t status;
	uint32_t inv_request, inv_done;
	bool answered;
	union onpu_msg answer;
	struct full_ctx *queues[ONPU_MAX_QUEUES];
};

/*
 * Starts the device's thread, boots the firmware and makes the address space. Returns 0, or -1 with
 * *err.
 */
int full_driver_start(struct full *full, const struct winsys_sim_config *config,
		      struct wnn_error *err);
void full_driver_stop(struct full *full);
/* Sends *m to the firmware and waits; *m then is the response. Returns 0, or -1 with *err. */
int full_request(struct full *full, union onpu_msg *m, struct wnn_error *err);
/* Makes the device forget the translations of a range, and waits until it has, or is lost. */
void full_invalidate(struct full *full, uint64_t va, size_t size);
void full_write(struct full *full, uint32_t offset, uint32_t value);
uint32_t full_read(struct full *full, uint32_t offset);

/* ---- in sim_full.c, called by sim_full_driver.c */

/* Serves the interrupt of a queue, a job of which has ended. full->sync.lock is held. */
void full_completed(struct full_ctx *ctx);
/* Moves waiting jobs into the rings; returns true if it moved any. */
bool full_feed(struct full *full);

#endif
