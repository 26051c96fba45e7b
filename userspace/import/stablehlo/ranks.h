/* SPDX-License-Identifier: MIT */
/* The ranks that run a program together: notes between them, steps that all take, and their end. */
#ifndef SHLO_RANKS_H
#define SHLO_RANKS_H

#include <stdbool.h>

#include <webnn/stablehlo.h>

#include "memory.h"
#include "transport.h"

enum shlo_note_kind {
	SHLO_NOTE_FAIL,	   /* numbers: the step that had begun; text: the reason */
	SHLO_NOTE_ARRIVE,  /* to rank 0: serial, stage, what runs, whether transfers remain */
	SHLO_NOTE_GO,	   /* all have arrived: serial, whether transfers remain */
	SHLO_NOTE_OFFER,   /* to rank 0: channel, receiver or -1, bytes */
	SHLO_NOTE_WANT,	   /* to rank 0: channel, sender or -1 */
	SHLO_NOTE_MATCH,   /* the rank at the other end, bytes */
	SHLO_NOTE_FEED,	   /* to rank 0: number of the infeed */
	SHLO_NOTE_FED,	   /* next index of the infeed */
	SHLO_NOTE_STALLED, /* to rank 0: number of the wait, key, the awaited rank or -1 */
	SHLO_NOTE_MOVING,  /* to rank 0: that wait has ended */
};

enum shlo_stage { SHLO_STAGE_PROGRAM, SHLO_STAGE_END, SHLO_STAGE_AGREE };

struct shlo_occurrence {
	uint64_t key, count;
};

/* The state of this rank; a process has one. */
struct WNNStablehloWorldImpl {
	unsigned int refs;
	const struct shlo_transport *transport;
	struct shlo_seat seat;
	/*
	 * Serials of the steps that all ranks take together: the last step begun, an even number;
	 * the step that this rank has reached; and the last step that all ranks have reached.
	 */
	int64_t begun, serial, gone;
	/* left_over: some rank had a transfer that was not done when it failed */
	bool failed, left_over;
	bool crowded; /* there are more ranks than processors */
	char reason[sizeof(((struct shlo_note *)0)->text)];
	/* Answers of rank 0. */
	struct shlo_note match, fed;
	bool matched, is_fed;
	int64_t infeeds;	    /* number of the current infeed */
	struct shlo_office *office; /* coordinator; on rank 0 only */
	/*
	 * The current wait, for reports: the key of an exchange, and the rank at the other end of
	 * each transfer.
	 */
	uint64_t key;
	uint32_t *peers;
	size_t transfers, peer_room;
	int64_t waits; /* how often this rank has waited so far */
	/* How often each key of a group and channel has occurred. */
	struct shlo_occurrence *occurrences;
	size_t occurrence_count;
};

/*
 * Waits until all ranks have arrived here with the same stage and @of, which identifies what they
 * run; an error leaves by the guard, also when another rank has failed.
 */
void shlo_ranks_arrive(struct WNNStablehloWorldImpl *ranks, enum shlo_stage stage, uint64_t of,
		       struct shlo_guard *guard);
/* Tells the other ranks that this rank has failed. */
void shlo_ranks_fail(struct WNNStablehloWorldImpl *ranks, const char *reason);
/* Sends a note to rank 0, and waits until the answer has set @answered. */
void shlo_ranks_ask(struct WNNStablehloWorldImpl *ranks, struct shlo_note *note,
		    const bool *answered, struct shlo_guard *guard);
/* Begin a transfer under a key; shlo_ranks_wait() waits for all transfers and forgets them. */
void shlo_ranks_send(struct WNNStablehloWorldImpl *ranks, size_t to, uint64_t key, const void *data,
		     size_t size, struct shlo_guard *guard);
void shlo_ranks_receive(struct WNNStablehloWorldImpl *ranks, size_t from, uint64_t key, void *data,
			size_t size, struct shlo_guard *guard);
void shlo_ranks_wait(struct WNNStablehloWorldImpl *ranks, struct shlo_guard *guard);
/* Returns a key for this occurrence of a group and channel, equal on all members. */
uint64_t shlo_ranks_key(struct WNNStablehloWorldImpl *ranks, uint64_t key,
			struct shlo_guard *guard);
/* The coordinator, on rank 0; shlo_office_take() handles the notes that are sent to rank 0. */
struct shlo_office *shlo_office_new(uint32_t ranks);
void shlo_office_destroy(struct shlo_office *office);
void shlo_office_take(struct WNNStablehloWorldImpl *ranks, const struct shlo_note *note);

#endif
