/* SPDX-License-Identifier: MIT */
/*
 * Finds the slices of values that a block of a streamed group needs, and those that it computes;
 * shared by the files of stream/.
 */
#ifndef WNN_PLAN_STREAM_SLICES_H
#define WNN_PLAN_STREAM_SLICES_H

#include "plan/stream/stream.h"

/* The nodes of a group, as indices in the range, in order. */
struct stream_set {
	uint32_t node[STREAM_MAX_NODES], num;
};

/* Returns node number `n` of the range. */
const struct ir_node *stream_node(const struct plan *plan, uint32_t n);
/* Returns true if the node is in the range; false for NULL, too. */
bool stream_in_range(const struct plan *plan, const struct ir_node *node);
/* Returns true if a value is a result of the group's nodes, but not of the last one. */
bool stream_is_internal(const struct plan *plan, const struct stream_set *set,
			const struct ir_value *value);
/* Returns the index in the set of the node that defines an internal value. */
uint32_t stream_index(const struct plan *plan, const struct stream_set *set,
		      const struct ir_value *value);

/*
 * stream_find_slices - find the slices of all results that a slice of the last result needs
 *
 * @last: the slice of the last result
 * @before: the slices of the block before, whose rows are not computed again; NULL: all rows are
 *	computed
 *
 * Sets @slices. Returns false when an operator cannot compute its slice alone.
 */
bool stream_find_slices(const struct plan *plan, const struct stream_set *set,
			const struct box *last, const struct stream_slice *before,
			struct stream_slice *slices);

/* ---- estimate.c */
/* The cycles of the engines; dma: the sum of both DMA engines. */
struct stream_load {
	uint64_t mxu, vpu, dma;
};

/* Adds the cycles of a slice of a node's result, without its loads and stores. */
void stream_node_load(const struct plan *plan, const struct ir_node *node, const struct box *box,
		      struct stream_load *load);
/* Returns the bytes of a slice of a value. */
uint64_t stream_slice_bytes(const struct ir_value *value, const struct box *box);

/* ---- group.c */
/*
 * A size of blocks; num: their number; cycles: the estimate for all of them; lag: the nodes between
 * the begins of two blocks; keys: blocks of keys of each, 0: none.
 */
struct stream_blocks {
	int64_t block[IR_MAX_RANK];
	uint64_t num, cycles;
	uint32_t lag, keys;
};

/* Returns the number of blocks of this size in a result. */
uint64_t stream_count_blocks(const struct ir_type *type, const int64_t *block);
/* Returns the bytes of SRAM that values between the nodes of a group may take. */
uint64_t stream_room(const struct plan *plan);

/* ---- attend.c */
#define STREAM_KEYS	 64  /* each block but the last has a multiple of this number of keys */
#define STREAM_MAX_STEPS 512 /* the most blocks of rows times blocks of keys */

/* Returns true if the node is WebNN's softmax, without the options that the IR adds to it. */
bool stream_is_plain_softmax(const struct ir_node *node);
/*
 * Returns true if the last two nodes of a set are a softmax and the product of its result and
 * values from outside the set.
 */
bool stream_is_attention(const struct plan *plan, const struct stream_set *set);
/*
 * Computes @slices for the slice @last of the result and block @block of @blocks of the keys: the
 * slices of the scores, and of the weights that softmax computes from them. Returns false when an
 * operator cannot compute its slice alone, or when the block has no keys.
 */
bool stream_attend_slices(const struct plan *plan, const struct stream_set *set,
			  const struct box *last, uint32_t blocks, uint32_t block,
			  struct stream_slice *slices);
/*
 * Sets *values to the slice of operand 1 of an attention's last product that the slice @weights of
 * operand 0 is multiplied by, for the slice @result of the product. Returns false when the product
 * cannot compute its slice alone.
 */
bool stream_attend_values(const struct ir_node *product, const struct box *result,
			  const struct box *weights, struct box *values);
/*
 * Chooses blocks of rows that iterate over blocks of keys; false when the set is no attention, or
 * when no blocks fit. It does not estimate whether the blocks save time.
 */
bool stream_choose_keys(const struct plan *plan, const struct stream_set *set,
			struct stream_blocks *best);
/* Returns true if SRAM can hold as many rows of scores as the matrix unit has. */
bool stream_rows_fit(const struct plan *plan, const struct stream_set *set);
/* Returns true if SRAM can hold the slices of a block. */
bool stream_attend_fits(const struct plan *plan, const struct stream_set *set,
			const struct stream_slice *slices);

#endif
