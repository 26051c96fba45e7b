/* SPDX-License-Identifier: MIT */
/*
 * Streamed groups: nodes that run one block after the other, when the values between them do not
 * fit into SRAM. A block is a slice of the rows or images of the last result. The range of nodes
 * becomes a graph of its own, which repeats each node of a group for each block, with slices of the
 * group's operands and a concat of the results. Blocks overlap in time: the first node computes the
 * next block while the second node computes this one. The new graph is planned like any other.
 *
 * group.c chooses groups and blocks with the estimates of estimate.c; search.c plans them and
 * chooses the fastest. slices.c computes the slices of a block, attend.c those of attention, box.c
 * those of a single operator. stream.c makes the graph.
 */
#ifndef WNN_PLAN_STREAM_STREAM_H
#define WNN_PLAN_STREAM_STREAM_H

#include "plan/place/place.h"
#include "plan/stream/box.h"

#define STREAM_NO_GROUP	 UINT32_MAX
#define STREAM_MAX_NODES 96 /* the most nodes of a group */

struct stream_group {
	uint32_t *nodes; /* indices in the range, in order; the last one's result leaves the group */
	uint32_t num_nodes;
	int64_t block[IR_MAX_RANK]; /* extents of a block of the result; 0 beyond its rank */
	uint64_t num_blocks;
	uint32_t lag; /* distance between consecutive blocks, in nodes */
	/* Attention: blocks of keys for each block of rows; 0: rows of scores are not divided. */
	uint32_t keys;
	/* A block reads rows that the block before has computed instead of computing them again. */
	bool carry;
	bool dropped; /* the group is not streamed */
	/* One value of `dropped` is much faster: the search does not try the other one. */
	bool clear;
};

/*
 * The slices of a node's result in one block: `need` is the slice that is read, `fresh` the slice
 * of it that this block computes.
 */
struct stream_slice {
	struct box need, fresh;
};

struct stream_groups {
	struct stream_group *groups;
	uint32_t num;
	uint32_t *of_node; /* by node of the range: its group, or STREAM_NO_GROUP */
};

/*
 * stream_find - find groups that by estimate take less time than their nodes one after the other
 *
 * @plan: a plan of the range whose values have their memory, from plan_locate()
 * @attention: make a group of each attention with long rows of scores; without such attention, find
 *	no groups at all
 *
 * Returns 0, or -1 when memory is exhausted; call stream_groups_release() in both cases.
 */
int stream_find(const struct plan *plan, bool attention, struct stream_groups *groups);
void stream_groups_release(struct stream_groups *groups);

/* Changes of a group, in the order in which the search tries them. */
enum stream_change {
	STREAM_COARSER, /* half as many blocks, along the last axis where that is possible */
	STREAM_FINER,	/* twice as many blocks, along the last axis where that is possible */
	/* Switch `carry`: rows that two blocks need are computed once, or in both blocks. */
	STREAM_CARRY,
	/* Attention: divide rows of scores into blocks of keys, or into twice as many as now. */
	STREAM_ATTEND,
	STREAM_CHANGES
};

/* Changes a group; false, with the group as it was: the change is not possible. */
bool stream_change(const struct plan *plan, struct stream_group *group, enum stream_change change);
/*
 * Returns in how many blocks a group is computed: blocks of rows, times blocks of keys where there
 * are any.
 */
uint64_t stream_steps(const struct stream_group *group);
/*
 * Computes @slices: the slices of all nodes' results that block number @block of a group needs.
 * @before: the slices of the block before; NULL for the first block. Returns false when an operator
 * cannot compute its slice alone.
 */
bool stream_slices(const struct plan *plan, const struct stream_group *group, uint64_t block,
		   const struct stream_slice *before, struct stream_slice *slices);

/* The graph of a range in which groups run by blocks. */
struct stream_graph {
	struct ir_graph *graph;
	uint32_t *node;	 /* by node: index in the range of the node that it was made for */
	uint32_t *value; /* by value id: id in the old graph; UINT32_MAX for slices */
	bool *split;	 /* by node: the bits of its result depend on the blocks */
	uint32_t *live_out;
	uint8_t manner; /* the manner (plan_set_manner()) in which its plan is fastest */
	/* by node of the graph, or of the range if there is none: its manner; NULL: all have one */
	uint8_t *manners;
	bool first_form; /* its plan is fastest with plan.first_form */
};

/*
 * Builds the graph in which the groups that are not dropped are streamed. Returns 0, or -1: no
 * memory; call stream_graph_release() in both cases.
 */
int stream_build(const struct plan *plan, const struct stream_groups *groups,
		 const uint32_t *live_out, uint32_t num_live_out, struct stream_graph *out);
void stream_graph_release(struct stream_graph *graph);

/*
 * stream_search - find the groups, the manner and the forms of the matrix array with which a
 *	range takes the least time
 * @fresh: has a graph, a range and the capabilities of a device; not planned yet
 * @out: the graph with these groups; out->graph is NULL when streaming does not help, or when
 *	memory is exhausted; out->manner and out->first_form are set then, too
 */
void stream_search(const struct plan *fresh, const uint32_t *live_out, uint32_t num_live_out,
		   struct stream_graph *out);

#endif
