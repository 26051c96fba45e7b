/* SPDX-License-Identifier: MIT */
/* The ranks that run a program together: their notes, where they meet, and what ends them. */
#ifndef SHLO_RANKS_H
#define SHLO_RANKS_H

#include <stdbool.h>

#include <webnn/stablehlo.h>

#include "memory.h"
#include "transport.h"

enum shlo_note_kind {
	SHLO_NOTE_FAIL,	  /* numbers: the step that had begun; text: why */
	SHLO_NOTE_ARRIVE, /* to rank 0: serial, what for, of what, whether transfers are left over */
	SHLO_NOTE_GO,	  /* all have arrived: serial, whether transfers are left over */
	SHLO_NOTE_OFFER,  /* to rank 0: channel, for whom or -1, bytes */
	SHLO_NOTE_WANT,	  /* to rank 0: channel, from whom or -1 */
	SHLO_NOTE_MATCH,  /* the other end, bytes */
	SHLO_NOTE_FEED,	  /* to rank 0: which infeed */
	SHLO_NOTE_FED,	  /* its next index */
	SHLO_NOTE_STALLED, /* to rank 0: which wait of the rank, key, on whom it waits or -1 */
	SHLO_NOTE_MOVING,  /* to rank 0: that wait is over */
};

enum shlo_stage { SHLO_STAGE_PROGRAM, SHLO_STAGE_END, SHLO_STAGE_AGREE };

struct shlo_occurrence {
	uint64_t key, count;
};

/* One for the process. */
struct WNNStablehloWorldImpl {
	unsigned int refs;
	const struct shlo_transport *transport;
	struct shlo_seat seat;
	/*
	 * Steps that all ranks take together: the last that has begun, which is even, the one that
	 * this rank has come to, and the last that all have come to.
	 */
	int64_t begun, serial, gone;
	bool failed, left_over; /* left_over: on some rank a transfer was not done when it failed */
	bool crowded;		/* there are more ranks than processors */
	char reason[sizeof(((struct shlo_note *)0)->text)];
	/* The answers of rank 0. */
	struct shlo_note match, fed;
	bool matched, is_fed;
	int64_t infeeds;
	struct shlo_office *office; /* of rank 0 */
	/* The wait at hand, for reports: the key of a swap, and the other end of each transfer. */
	uint64_t key;
	uint32_t *peers;
	size_t transfers, peer_room;
	int64_t waits; /* how often this rank has waited */
	/* How often each key of a group and channel has come up. */
	struct shlo_occurrence *occurrences;
	size_t occurrence_count;
};

/* Waits until all ranks have come here with the same; an error ends the run of the guard. */
void shlo_ranks_arrive(struct WNNStablehloWorldImpl *ranks, enum shlo_stage stage, uint64_t of,
		       struct shlo_guard *guard);
/* Tells the others that this one has failed. */
void shlo_ranks_fail(struct WNNStablehloWorldImpl *ranks, const char *reason);
/* Sends a note to rank 0 and waits for the answer, which sets @answered. */
void shlo_ranks_ask(struct WNNStablehloWorldImpl *ranks, struct shlo_note *note,
		    const bool *answered, struct shlo_guard *guard);
/* Begins a transfer under a key; they are forgotten when all have been waited for. */
void shlo_ranks_send(struct WNNStablehloWorldImpl *ranks, size_t to, uint64_t key, const void *data,
		     size_t size, struct shlo_guard *guard);
void shlo_ranks_receive(struct WNNStablehloWorldImpl *ranks, size_t from, uint64_t key, void *data,
			size_t size, struct shlo_guard *guard);
void shlo_ranks_wait(struct WNNStablehloWorldImpl *ranks, struct shlo_guard *guard);
/* A key for this time of this group and channel, which all members give it. */
uint64_t shlo_ranks_key(struct WNNStablehloWorldImpl *ranks, uint64_t key,
			struct shlo_guard *guard);
/* The office of rank 0; shlo_office_take() takes notes of the kinds that are for that rank. */
struct shlo_office *shlo_office_new(uint32_t ranks);
void shlo_office_destroy(struct shlo_office *office);
void shlo_office_take(struct WNNStablehloWorldImpl *ranks, const struct shlo_note *note);

#endif
