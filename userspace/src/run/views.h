/* SPDX-License-Identifier: MIT */
/* What is found out about the values of a graph on the CPU before some of them share memory; for the files that decide which do. */
#ifndef WNN_RUN_VIEWS_H
#define WNN_RUN_VIEWS_H

#include "run/compiled_private.h"

#define NEVER UINT32_MAX

/* The live range of a value's memory, in nodes of the graph. */
struct life {
	uint32_t first, last; /* NEVER as first: it has none of its own in the arena */
};

struct finder {
	struct run_compiled *c;
	bool *is_output;    /* by value: it, or a view of all of it, is an output */
	struct life *lives; /* by value; of values that have memory of their own */
	int64_t *live;	    /* bytes that live at each node */
	int64_t peak;	    /* the most of them, before parts share memory */
	uint64_t patience;  /* nodes that may still be looked at, so that the time is linear */
	uint32_t *round;    /* by value: the last time that it was counted as a part */
	uint32_t rounds;
	/* What nodes read in steps may live on: whether that is too much is looked at when all are arranged. */
	bool bold;
	uint32_t *uses;	  /* by value: how often it is read or an output */
	uint32_t *reader; /* by value: a node that reads it, or NEVER */
};

/* The value whose memory a value is in, and where; what is on the way then knows it, too. */
struct run_home views_home_of(struct run_home *homes, uint32_t value);
int64_t views_bytes_of(const struct finder *f, uint32_t value);
/* Whether a node shows all of its operand in the order that it has. */
bool views_show_all(const struct ir_node *node);
/* Whether the elements of each operand of a concat follow each other in its result. */
bool views_join_whole(const struct ir_node *node);
/* Adds to what lives at the nodes from `first` to before `end`. */
void views_add_live(struct finder *f, uint32_t first, uint32_t end, int64_t bytes);
/* Whether no node from `first` to before `end` has more memory than the most of all before. */
bool views_stay_below(struct finder *f, uint32_t first, uint32_t end);

/* ---- strides.c: needs to know what lives when */
void views_find_strided(struct finder *f);

#endif
