/* SPDX-License-Identifier: MIT */
/*
 * Streamed groups: nodes between which values do not fit into SRAM run by blocks, a part of the rows or
 * images of their last result at a time. The range of nodes becomes a graph of its own, in which each
 * node of a group stands once for each block, with slices of what comes from outside and a concat of
 * the results. Blocks follow each other before they are through: the first node works on the next one
 * while the second has this one. All else (places, kernels, order) is as for any graph.
 *
 * group.c chooses groups and blocks by estimate.c, search.c by planning them; parts.c says what a block computes,
 * attend.c what attention does, stream.c makes the graph, box.c knows the operators.
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
	uint32_t lag; /* nodes that a block is behind the one before */
	uint32_t keys; /* blocks of keys that a block of attention meets; 0: rows of scores are whole */
	bool carry; /* a block takes rows that the one before has made, and does not make them again */
	bool dropped;
	bool clear; /* whether it is dropped, which is settled */
};

/* Of a node's result, for one block: what is read of it, and what of that this block computes. */
struct stream_part {
	struct box need, fresh;
};

struct stream_groups {
	struct stream_group *groups;
	uint32_t num;
	uint32_t *of_node; /* by node of the range: its group, or STREAM_NO_GROUP */
};

/*
 * Finds groups that should take less time than their nodes one after the other, for a planned range. With @attention,
 * none unless attention with long rows of scores is among them, each of which is a group.
 * -1 without memory.
 */
int stream_find(const struct plan *plan, bool attention, struct stream_groups *groups);
void stream_groups_release(struct stream_groups *groups);

/* Ways to run a group otherwise, in the order in which they are tried. */
enum stream_change {
	STREAM_COARSER, /* half as many blocks, along the last axis that can be cut so */
	STREAM_FINER,
	STREAM_CARRY, /* rows that two blocks need are computed once instead of twice, or the other way round */
	STREAM_ATTEND, /* attention divides its result, not its weights; then twice as many blocks of keys */
	STREAM_CHANGES
};

/* False when the group cannot be changed so. */
bool stream_change(const struct plan *plan, struct stream_group *group, enum stream_change change);
/* Blocks of a group, those of keys for each of its rows. */
uint64_t stream_steps(const struct stream_group *group);
/*
 * Computes @parts of all nodes' results that block number @block of a group needs; @before are those of the
 * block before it, NULL for the first. False when an operator cannot compute its part.
 */
bool stream_parts(const struct plan *plan, const struct stream_group *group, uint64_t block,
		  const struct stream_part *before, struct stream_part *parts);

/* The graph of a range in which groups run by blocks. */
struct stream_graph {
	struct ir_graph *graph;
	uint32_t *node;	 /* by node: index in the range of the one that it is a part of */
	uint32_t *value; /* by value id: id in the old graph, UINT32_MAX for parts */
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
