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
	/* both ends included; first is NEVER if the value has no memory of its own in the arena */
	uint32_t first, last;
};

struct finder {
	struct run_compiled *c;
	bool *is_output;    /* by value: whether the value, or a view of all of it, is an output */
	struct life *lives; /* by value, for values that have memory of their own */
	int64_t *live;	    /* live bytes at each node */
	int64_t peak;	    /* peak of the live bytes before parts of values share memory */
	/* number of nodes that may still be visited, so that the time stays linear */
	uint64_t patience;
	uint32_t *round; /* by value: the last round that counted it as an operand of a concat */
	uint32_t rounds;
	/*
	 * Live ranges of values that nodes read with strides may grow without a check: strides.c
	 * compares the live bytes with the peak when all nodes are arranged.
	 */
	bool bold;
	uint32_t *uses;	  /* by value: how often it is an operand or an output */
	uint32_t *reader; /* by value: a node that reads it, or NEVER */
};

/* Returns the value whose memory a value is in, and the offset. */
struct run_home views_home_of(struct run_home *homes, uint32_t value);
int64_t views_bytes_of(const struct finder *f, uint32_t value);
/* Whether a node's result has all elements of its operand in the same order. */
bool views_show_all(const struct ir_node *node);
/* Whether each operand of a concat is contiguous in the result. */
bool views_join_whole(const struct ir_node *node);
/* Adds bytes to the live bytes of the nodes from `first` to before `end`. */
void views_add_live(struct finder *f, uint32_t first, uint32_t end, int64_t bytes);
/* Whether no node from `first` to before `end` has more live bytes than the peak. */
bool views_stay_below(struct finder *f, uint32_t first, uint32_t end);

/* ---- strides.c */
void views_find_strided(struct finder *f);

#endif
