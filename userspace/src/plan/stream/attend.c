// SPDX-License-Identifier: MIT
/*
 * Computes the slices of attention by blocks of keys: softmax(s) * v, where the first nodes of a
 * group compute the scores s. A block of rows iterates over the blocks of keys, and SRAM never has
 * a whole row of s:
 *
 *	m' = max(m, max(s))        p = exp(s - m')
 *	l' = l * exp(m - m') + sum(p)
 *	o' = o * exp(m - m') + p * v
 *
 * and o / l at the end, which divides rows of the result instead of the longer rows of s. group.c
 * and slices.c call this file; stream.c makes the nodes.
 */
#include "plan/stream/slices.h"

#include <string.h>

#define LEAST_ROWS 8 /* the fewest rows of a block that iterates over blocks of keys */
/*
 * The most rows of a block that iterates over blocks of keys, in multiples of the matrix unit's
 * rows. Large blocks save loads, as all keys are loaded for each block.
 */
#define KEYS_ROWS 4

/* Returns true if a product can be the last node of a group of attention. */
static bool is_plain_product(const struct ir_node *node)
{
	const struct ir_matmul_attrs *attrs = &node->attrs.matmul;

	return node->op == IR_OP_MATMUL && (node->num_operands < 3 || !node->operands[2]) &&
	       !attrs->a_transpose && attrs->alpha == 1 && attrs->act.kind == IR_UNARY_NONE &&
	       node->operands[1]->type.rank >= 2;
}

bool stream_is_plain_softmax(const struct ir_node *node)
{
	const struct ir_softmax_attrs *attrs = &node->attrs.softmax;

	return node->op == IR_OP_SOFTMAX && !attrs->log && !attrs->guarded && !attrs->nan_to_zero;
}

bool stream_is_attention(const struct plan *plan, const struct stream_set *set)
{
	const struct ir_node *product, *softmax;
	uint32_t rank;

	if (set->num < 3)
		return false;
	product = stream_node(plan, set->node[set->num - 1]);
	softmax = stream_node(plan, set->node[set->num - 2]);
	if (!stream_is_plain_softmax(softmax) || !is_plain_product(product) ||
	    product->operands[0] != softmax->results[0] ||
	    stream_is_internal(plan, set, product->operands[1]))
		return false;
	rank = softmax->results[0]->type.rank;
	return rank >= 2 && softmax->attrs.axis == rank - 1 &&
	       product->results[0]->type.rank == rank &&
	       softmax->operands[0] == stream_node(plan, set->node[set->num - 3])->results[0];
}

bool stream_attend_values(const struct ir_node *product, const struct box *result,
			  const struct box *weights, struct box *values)
{
	const struct ir_type *type = &product->operands[1]->type;
	uint32_t axis = type->rank - (product->attrs.matmul.b_transpose ? 1 : 2);
	uint32_t keys = product->operands[0]->type.rank - 1;

	if (!box_operand(product, 1, result, values))
		return false;
	values->begin[axis] = weights->begin[keys];
	values->dim[axis] = weights->dim[keys];
	return true;
}

/*
 * Sets the first key of block number @block of @blocks, and the number of its keys; that can be 0
 * when there are more blocks than multiples of STREAM_KEYS.
 */
static void cut_keys(int64_t keys, uint32_t blocks, uint32_t block, int64_t *begin, int64_t *count)
{
	int64_t units = (int64_t)wnn_div_up((uint64_t)keys, STREAM_KEYS);
	int64_t end = units * (block + 1) / blocks * STREAM_KEYS;

	*begin = units * block / blocks * STREAM_KEYS;
	*count = (end < keys ? end : keys) - *begin;
}

bool stream_attend_slices(const struct plan *plan, const struct stream_set *set,
			  const struct box *last, uint32_t blocks, uint32_t block,
			  struct stream_slice *slices)
{
	const struct ir_node *product = stream_node(plan, set->node[set->num - 1]);
	uint32_t axis = product->operands[0]->type.rank - 1;
	struct stream_set scores = *set;
	struct box *weights = &slices[set->num - 2].need, values;

	slices[set->num - 1].need = *last;
	if (!box_operand(product, 0, last, weights) ||
	    !stream_attend_values(product, last, weights, &values))
		return false;
	cut_keys(weights->dim[axis], blocks, block, &weights->begin[axis], &weights->dim[axis]);
	scores.num -= 2;
	return weights->dim[axis] > 0 && stream_find_slices(plan, &scores, weights, NULL, slices);
}

/* Returns the bytes of SRAM that the slices of a block take at a time. */
static uint64_t attend_bytes(const struct plan *plan, const struct stream_set *set,
			     const struct stream_slice *slices)
{
	const struct ir_type *result =
		&stream_node(plan, set->node[set->num - 1])->results[0]->type;
	uint64_t rows = (uint64_t)box_elements(&slices[set->num - 1].need, result->rank), bytes = 0;

	/*
	 * SRAM holds at a time: the scores of a block of keys, the scores and the weights of the
	 * block before it, and the weights of the block before that, which are being multiplied.
	 */
	for (uint32_t i = 0; i + 1 < set->num; i++) {
		const struct ir_type *type = &stream_node(plan, set->node[i])->results[0]->type;
		uint64_t times = i + 3 < set->num ? 1 : 2;

		bytes += times * plan_align((uint64_t)box_elements(&slices[i].need, type->rank) *
					    ir_dtype_bits(type->dtype) / 8);
	}
	/* Rows of the result in float32: the running rows, and rows to compute the next ones. */
	return bytes + 4 * plan_align(rows * sizeof(float));
}

bool stream_attend_fits(const struct plan *plan, const struct stream_set *set,
			const struct stream_slice *slices)
{
	return attend_bytes(plan, set, slices) <= stream_room(plan);
}

/*
 * Returns the first `rows` rows, or all if there are fewer, of the first matrix of the result of
 * attention.
 */
static struct box block_of_rows(const struct plan *plan, const struct stream_set *set, int64_t rows)
{
	const struct ir_type *type = &stream_node(plan, set->node[set->num - 1])->results[0]->type;
	struct box box = { { 0 }, { 0 } };

	for (uint32_t i = 0; i < type->rank; i++)
		box.dim[i] = i + 2 < type->rank ? 1 : ir_type_dim(type, i);
	if (box.dim[type->rank - 2] > rows)
		box.dim[type->rank - 2] = rows;
	return box;
}

/* Finds the least power of 2 of blocks of keys with which `rows` rows fit; false: too many. */
static bool fit_keys(const struct plan *plan, const struct stream_set *set, int64_t rows,
		     struct stream_blocks *best)
{
	const struct ir_type *type = &stream_node(plan, set->node[set->num - 1])->results[0]->type;
	struct box box = block_of_rows(plan, set, rows);
	struct stream_slice slices[STREAM_MAX_NODES];

	memcpy(best->block, box.dim, sizeof(best->block));
	best->num = stream_count_blocks(type, best->block);
	for (best->keys = 2; best->num * best->keys <= STREAM_MAX_STEPS; best->keys *= 2) {
		if (!stream_attend_slices(plan, set, &box, best->keys, 0, slices))
			return false;
		if (stream_attend_fits(plan, set, slices))
			return true;
	}
	return false;
}

bool stream_choose_keys(const struct plan *plan, const struct stream_set *set,
			struct stream_blocks *best)
{
	if (!stream_is_attention(plan, set))
		return false;
	for (int64_t rows = KEYS_ROWS * plan->caps->mxu_rows; rows >= LEAST_ROWS; rows /= 2)
		if (fit_keys(plan, set, rows, best))
			return true;
	return false;
}

bool stream_rows_fit(const struct plan *plan, const struct stream_set *set)
{
	struct box box = block_of_rows(plan, set, plan->caps->mxu_rows);
	struct stream_slice slices[STREAM_MAX_NODES];

	return stream_attend_slices(plan, set, &box, 1, 0, slices) &&
	       stream_attend_fits(plan, set, slices);
}
