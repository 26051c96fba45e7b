/* SPDX-License-Identifier: MIT */
/*
 * Slices of values that a block of a streamed group needs, and which of them it computes itself:
 * shared by the files of stream/.
 */
#ifndef WNN_PLAN_STREAM_PARTS_H
#define WNN_PLAN_STREAM_PARTS_H

#include "plan/stream/stream.h"

/* Nodes of a group, as indices in the range, in order. */
struct stream_set {
	uint32_t node[STREAM_MAX_NODES], num;
};

const struct ir_node *stream_node(const struct plan *plan, uint32_t n);
bool stream_in_range(const struct plan *plan, const struct ir_node *node);
/* Whether the value lies inside of the group alone. */
bool stream_is_internal(const struct plan *plan, const struct stream_set *set,
			const struct ir_value *value);
/* Returns which node of the set makes an internal value. */
uint32_t stream_index(const struct plan *plan, const struct stream_set *set,
		      const struct ir_value *value);

/*
 * stream_find_parts - find the slices of all results that the slice of the last result needs
 *
 * With @before, the slices of the block before, rows that it has are not computed again. Returns
 * false when an operator cannot be cut so.
 */
bool stream_find_parts(const struct plan *plan, const struct stream_set *set,
		       const struct box *last, const struct stream_part *before,
		       struct stream_part *parts);

/* ---- estimate.c */
/* Cycles of the engines; dma: both of them together. */
struct stream_load {
	uint64_t mxu, vpu, dma;
};

/* Adds the cycles of a slice of a node's result, without its loads and stores. */
void stream_node_load(const struct plan *plan, const struct ir_node *node, const struct box *box,
		      struct stream_load *load);
uint64_t stream_part_bytes(const struct ir_value *value, const struct box *box);

/* ---- attend.c */
#define STREAM_KEYS 64 /* blocks of keys are multiples of this */

/* Whether the last two nodes of a set are a softmax and its product with values from outside. */
/* WebNN's softmax, without what attributes add to it. */
bool stream_is_plain_softmax(const struct ir_node *node);
bool stream_is_attention(const struct plan *plan, const struct stream_set *set);
/*
 * Computes @parts for the slice @last of the result and block @block of @blocks of the keys: the
 * scores, and the weights that softmax makes of them. False when an operator cannot be cut so.
 */
bool stream_attend_parts(const struct plan *plan, const struct stream_set *set,
			 const struct box *last, uint32_t blocks, uint32_t block,
			 struct stream_part *parts);
/* Finds the slice of the values that these weights are multiplied with. */
bool stream_attend_values(const struct ir_node *product, const struct box *result,
			  const struct box *weights, struct box *values);
/* Returns the bytes that such slices take in SRAM at a time. */
uint64_t stream_attend_bytes(const struct plan *plan, const struct stream_set *set,
			     const struct stream_part *parts);

#endif
