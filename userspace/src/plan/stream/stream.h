/* SPDX-License-Identifier: MIT */
/*
 * Streamed groups: nodes run by blocks when the values between them do not fit into SRAM; a block
 * is a slice of the rows or images of their last result. The range of nodes becomes a graph of its
 * own, which repeats each node of a group for each block, with slices of the group's operands and a
 * concat of the results. Blocks overlap: the first node works on the next block while the second
 * has this one. Everything else (memory, kernels, order) is as for any graph.
 *
 * group.c chooses groups and blocks by estimate.c, search.c by planning them; parts.c says what a
 * block computes, attend.c what attention does, stream.c makes the graph, box.c knows the
 * operators.
 */
#ifndef WNN_PLAN_STREAM_STREAM_H
#define WNN_PLAN_STREAM_STREAM_H

#include "plan/place/place.h"
#include "plan/stream/box.h"

#define STREAM_NO_GROUP	 UINT32_MAX
#define STREAM_MAX_NODES 96 /* of a group */

struct stream_group {
	uint32_t *nodes; /* indices in the range, in order; the last makes the only result */
	uint32_t num_nodes;
	int64_t block[IR_MAX_RANK]; /* of that result; 0 beyond its rank */
	uint64_t num_blocks;
	uint32_t lag; /* distance between consecutive blocks, in nodes */
	/* Blocks of keys for each block of rows of attention; 0: rows of scores are not cut. */
	uint32_t keys;
	/* A block reads rows that the block before has computed instead of computing them again. */
	bool carry;
	bool dropped;
	bool clear; /* the group alone has shown whether it is worth it; do not try the contrary */
};

/*
 * For a node's result and one block: the slice that is read of it, and the slice of that which this
 * block computes.
 */
struct stream_part {
	struct box need, fresh;
};

struct stream_groups {
	struct stream_group *groups;
	uint32_t num;
	uint32_t *of_node; /* by node of the range: its group, or STREAM_NO_GROUP */
};

/*
 * stream_find - find groups that should take less time than their nodes one after the other
 *
 * @plan: of a range, planned. With @attention, finds none unless attention with long rows of scores
 *   is among them, each of which is a group. Returns -1 without memory.
 */
int stream_find(const struct plan *plan, bool attention, struct stream_groups *groups);
void stream_groups_release(struct stream_groups *groups);

/* Variations of a group, in the order in which they are tried. */
enum stream_change {
	STREAM_COARSER, /* half as many blocks, along the last axis that can be cut so */
	STREAM_FINER,
	/* Rows that two blocks need are computed once, not twice; or the other way round. */
	STREAM_CARRY,
	/* Attention divides its result, not its weights; then twice as many blocks of keys. */
	STREAM_ATTEND,
	STREAM_CHANGES
};

/* False when the group cannot be changed so. */
bool stream_change(const struct plan *plan, struct stream_group *group, enum stream_change change);
/* Returns the number of blocks of a group, with those of keys counted for each block of rows. */
uint64_t stream_steps(const struct stream_group *group);
/*
 * Computes @parts: the slices of all nodes' results that block number @block of a group needs.
 * @before are those of the block before it, NULL for the first. False when an operator cannot
 * compute its slice.
 */
bool stream_parts(const struct plan *plan, const struct stream_group *group, uint64_t block,
		  const struct stream_part *before, struct stream_part *parts);

/* The graph of a range in which groups run by blocks. */
struct stream_graph {
	struct ir_graph *graph;
	uint32_t *node;	 /* by node: index in the range of the node that it is a block of */
	uint32_t *value; /* by value id: id in the old graph, UINT32_MAX for slices */
	bool *split;	 /* by node: the bits of its result depend on how it was cut */
	uint32_t *live_out;
	uint8_t eager; /* with which it was planned best */
};

/* -1 without memory; to be released in any case. */
int stream_build(const struct plan *plan, const struct stream_groups *groups,
		 const uint32_t *live_out, uint32_t num_live_out, struct stream_graph *out);
void stream_graph_release(struct stream_graph *graph);

/*
 * stream_search - find the groups, and the eagerness, with which a range takes the least time
 * @fresh: a graph, a range and the capabilities of a device; not planned
 * @out: the graph with them; its graph is NULL when streaming does not help, or memory runs out
 */
void stream_search(const struct plan *fresh, const uint32_t *live_out, uint32_t num_live_out,
		   struct stream_graph *out);

#endif
