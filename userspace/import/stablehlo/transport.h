/* SPDX-License-Identifier: MIT */
/*
 * The transport of bytes between the ranks of a program. It is a module of its own (mpi/), which is
 * loaded when ranks are wanted, so that the library needs no MPI. One thread uses it.
 */
#ifndef SHLO_TRANSPORT_H
#define SHLO_TRANSPORT_H

#include <stddef.h>
#include <stdint.h>

/* Raised when the meaning of anything here changes: a module of another version is not used. */
#define SHLO_TRANSPORT_VERSION 1
#define SHLO_TRANSPORT_SYMBOL  "shlo_transport"

/* A short message beside the values, which is there without being waited for. */
struct shlo_note {
	uint32_t kind, from;
	int64_t numbers[4];
	char text[448];
};

/* Who a process is; the local numbers are those of its machine. */
struct shlo_seat {
	uint32_t rank, count, local_rank, local_count;
};

struct shlo_transport {
	uint32_t version;
	/* Fills in who this is; NULL or why it did not work. It is called once. */
	const char *(*join)(struct shlo_seat *place);
	/*
	 * Begins to send or to receive; memory is not touched before all is done. Only what has the
	 * same key comes together, in the order in which it was sent. All functions give 0, or -1: it
	 * failed.
	 */
	int (*send)(uint32_t to, uint64_t key, const void *data, size_t size);
	int (*receive)(uint32_t from, uint64_t key, void *data, size_t size);
	/* Whether the first @count of what was begun since the last is done: 1, or 0. */
	int (*test)(size_t count);
	/* Returns the index of the first of these transfers that is not done, or their number. */
	size_t (*pending)(void);
	/* Forgets what was begun, all of which is done. */
	void (*clear)(void);
	int (*tell)(uint32_t to, const struct shlo_note *note);
	/* 1: there was a note, 0: there is none. */
	int (*hear)(struct shlo_note *note);
	/* Why the last call failed. */
	const char *(*error)(void);
	/* Waits for all ranks, and ends. */
	void (*leave)(void);
	/* Ends all ranks. */
	void (*abort)(void);
};

#endif
