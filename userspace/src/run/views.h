/* SPDX-License-Identifier: MIT */
/*
 * The state with which views.c and strides.c find the CPU values that share memory: live ranges of
 * values, and the live bytes at each node.
 */
#ifndef WNN_RUN_VIEWS_H
#define WNN_RUN_VIEWS_H

#include "run/compiled_private.h"

#define NEVER UINT32_MAX

/* The live range of a value's memory, in nodes of the graph. */
struct life {
	uint32_t first, last; /* NEVER as first: it has no memory of its own in the arena */
};

struct finder {
	struct run_compiled *c;
	bool *is_output;    /* by value: it, or a view of all of it, is an output */
	struct life *lives; /* by value; of values that have memory of their own */
	int64_t *live;	    /* bytes that live at each node */
	int64_t peak;	    /* peak of the live bytes before slices share memory */
	uint64_t patience;  /* nodes that may still be looked at, so that the time is linear */
	uint32_t *round;    /* by value: the last round in which it was counted as a slice */
	uint32_t rounds;
	/*
	 * Live ranges of values that nodes read with strides may grow without a check: strides.c
	 * compares the live bytes with the peak when all nodes are arranged.
	 */
	bool bold;
	uint32_t *uses;	  /* by value: how often it is read or an output */
	uint32_t *reader; /* by value: a node that reads it, or NEVER */
};

/* Returns the value whose memory a value is in, and the offset. */
struct run_home views_home_of(struct run_home *homes, uint32_t value);
int64_t views_bytes_of(const struct finder *f, uint32_t value);
/* Whether a node shows all of its operand in the order that it has. */
bool views_show_all(const struct ir_node *node);
/* Whether the elements of each operand of a concat follow each other in its result. */
bool views_join_whole(const struct ir_node *node);
/* Adds to what lives at the nodes from `first` to before `end`. */
void views_add_live(struct finder *f, uint32_t first, uint32_t end, int64_t bytes);
/* Whether no node from `first` to before `end` has more live bytes than the peak. */
bool views_stay_below(struct finder *f, uint32_t first, uint32_t end);

/* ---- strides.c: needs to know what lives when */
void views_find_strided(struct finder *f);

#endif
