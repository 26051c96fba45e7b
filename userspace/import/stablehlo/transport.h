/* SPDX-License-Identifier: MIT */
/*
 * The transport of bytes between the ranks of a program. It is a module of its own (mpi/), which is
 * loaded only for ranks, so that the library needs no MPI. Only one thread uses it.
 */
#ifndef SHLO_TRANSPORT_H
#define SHLO_TRANSPORT_H

#include <stddef.h>
#include <stdint.h>

/*
 * This number rises when the interface changes: a transport module of another version is not used.
 */
#define SHLO_TRANSPORT_VERSION 1
#define SHLO_TRANSPORT_SYMBOL  "shlo_transport"

/* A short message beside the values; its receiver polls for it. */
struct shlo_note {
	uint32_t kind, from;
	int64_t numbers[4];
	char text[448];
};

/*
 * The number of this process and the count of processes, among all and among those on its machine.
 */
struct shlo_seat {
	uint32_t rank, count, local_rank, local_count;
};

struct shlo_transport {
	uint32_t version;
	/*
	 * Fills in the seat of this process; called once. Returns NULL, or the reason of a failure.
	 */
	const char *(*join)(struct shlo_seat *place);
	/*
	 * Begin to send or to receive; the caller must not touch the memory until all transfers are
	 * done. A receive gets what was sent with the same key, in the order of sending. These
	 * functions return 0, or -1 on failure.
	 */
	int (*send)(uint32_t to, uint64_t key, const void *data, size_t size);
	int (*receive)(uint32_t from, uint64_t key, void *data, size_t size);
	/*
	 * Whether the first @count transfers since the last clear() are done: 1 or 0; -1 on
	 * failure.
	 */
	int (*test)(size_t count);
	/* Returns the index of the first transfer that is not done, or the number of transfers. */
	size_t (*pending)(void);
	/* Forgets the transfers, all of which must be done. */
	void (*clear)(void);
	/* Sends a copy of a note. Returns 0, or -1 on failure. */
	int (*tell)(uint32_t to, const struct shlo_note *note);
	/* Fetches a note. Returns 1; 0: there is none; -1: failure. */
	int (*hear)(struct shlo_note *note);
	/* Returns the reason of the last failure. */
	const char *(*error)(void);
	/* Waits until the notes of this rank are sent, and ends MPI if join() has begun it. */
	void (*leave)(void);
	/* Ends all ranks. */
	void (*abort)(void);
};

#endif
