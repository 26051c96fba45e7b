// SPDX-License-Identifier: MIT
/* Rewrites operators for data whose axes are in the order before a transpose; see permute.h. */
#include "pass/permute.h"

#include <string.h>

struct ir_type permute_shape_back(const struct ir_type *type, const uint32_t *perm)
{
	struct ir_type before = *type;

	for (uint32_t i = 0; i < type->rank; i++)
		before.dim[perm[i]] = type->dim[i];
	return before;
}

bool permute_moves_nothing(const struct ir_type *before, const uint32_t *perm)
{
	int64_t last = -1;

	for (uint32_t i = 0; i < before->rank; i++) {
		if (ir_type_dim(before, perm[i]) == 1)
			continue;
		if (perm[i] < last)
			return false;
		last = perm[i];
	}
	return true;
}

static uint32_t permuted_axes(uint32_t axes, const uint32_t *perm, uint32_t rank)
{
	uint32_t permuted = 0;

	for (uint32_t i = 0; i < rank; i++)
		permuted |= (axes >> i & 1) << perm[i];
	return permuted;
}

/* ---- whether kernels are as fast in the other order */

/* Whether the axes of a mask are adjacent, if axes of size 1 are ignored. */
static bool are_neighbours(const struct ir_type *type, uint32_t axes)
{
	enum { BEFORE, INSIDE, AFTER } part = BEFORE;

	for (uint32_t i = 0; i < type->rank; i++) {
		if (ir_type_dim(type, i) == 1)
			continue;
		if (!(axes >> i & 1))
			part = part == BEFORE ? BEFORE : AFTER;
		else if (part == AFTER)
			return false;
		else
			part = INSIDE;
	}
	return true;
}

/* Whether a reduction is as fast before the transpose: kernels need adjacent axes. */
static bool reduces_well(const struct ir_node *node, const uint32_t *perm)
{
	const struct ir_type *type = &node->operands[0]->type;
	struct ir_type before = permute_shape_back(type, perm);
	uint32_t axes = node->attrs.reduce.axes;

	return are_neighbours(&before, permuted_axes(axes, perm, type->rank)) ||
	       !are_neighbours(type, axes);
}

/* Whether the normalised axes are the last ones before the transpose, in the order of scale. */
static bool normalises_rows(const struct ir_node *node, const uint32_t *perm)
{
	const struct ir_norm_attrs *norm = &node->attrs.norm;
	uint32_t rank = node->results[0]->type.rank;

	for (uint32_t i = 0; i < norm->num_axes; i++)
		if (perm[norm->axes[i]] != rank - norm->num_axes + i)
			return false;
	return true;
}

/*
 * Whether a batch normalisation is as fast before the transpose: its kernel needs several elements
 * after the channel axis.
 */
static bool has_planes(const struct ir_node *node, const uint32_t *perm)
{
	const struct ir_type *type = &node->results[0]->type;
	struct ir_type before = permute_shape_back(type, perm);
	int64_t old_size = 1, size = 1;

	for (uint32_t i = node->attrs.norm.axis + 1; i < type->rank; i++)
		old_size *= ir_type_dim(type, i);
	for (uint32_t i = perm[node->attrs.norm.axis] + 1; i < type->rank; i++)
		size *= ir_type_dim(&before, i);
	return size >= 4 || size >= old_size;
}

/*
 * Changes the layout of images to that before the transpose; false, and no change, when the order
 * before the transpose is no layout.
 */
static bool permute_layout(enum ir_layout *layout, const uint32_t *perm)
{
	static const uint32_t to_last[] = { 0, 2, 3, 1 }, to_first[] = { 0, 3, 1, 2 };

	if (memcmp(perm, *layout == IR_NHWC ? to_last : to_first, sizeof(to_last)) != 0)
		return false;
	*layout = *layout == IR_NHWC ? IR_NCHW : IR_NHWC;
	return true;
}

static bool can_turn_attributes(const struct ir_node *node, const uint32_t *perm)
{
	enum ir_layout layout;

	switch (node->op) {
	case IR_OP_POOL:
		layout = node->attrs.pool.layout;
		return permute_layout(&layout, perm);
	case IR_OP_INSTNORM:
		layout = node->attrs.norm.layout;
		return permute_layout(&layout, perm) && layout == IR_NCHW;
	case IR_OP_REDUCE:
		return node->attrs.reduce.keep_dims && reduces_well(node, perm);
	case IR_OP_LAYERNORM:
		return normalises_rows(node, perm);
	case IR_OP_BATCHNORM:
		return has_planes(node, perm);
	case IR_OP_ARG:
		return node->attrs.arg.keep_dims;
	case IR_OP_GATHER:
		return node->attrs.gather.kind == IR_GATHER_AXIS &&
		       node->operands[1]->type.rank == 1;
	default:
		return true;
	}
}

bool permute_is_elementwise(enum ir_op op)
{
	return op == IR_OP_UNARY || op == IR_OP_CAST || op == IR_OP_COPY || op == IR_OP_BINARY ||
	       op == IR_OP_COMPARE || op == IR_OP_WHERE || op == IR_OP_QUANTIZE ||
	       op == IR_OP_DEQUANTIZE;
}

bool permute_takes(const struct ir_node *node, uint32_t operand)
{
	switch (node->op) {
	case IR_OP_BINARY:
	case IR_OP_COMPARE:
	case IR_OP_WHERE:
		return ir_type_elements(&node->operands[operand]->type) != 1;
	case IR_OP_CONCAT:
		return true;
	default:
		return operand == 0;
	}
}

bool permute_can(const struct ir_node *node, const uint32_t *perm)
{
	/* No kernel moves elements that share a byte with another element. */
	if (ir_dtype_bits(node->results[0]->type.dtype) < 8)
		return false;
	switch (node->op) {
	case IR_OP_UNARY:
	case IR_OP_CAST:
	case IR_OP_COPY:
	case IR_OP_BINARY:
	case IR_OP_COMPARE:
	case IR_OP_WHERE:
	case IR_OP_CONCAT:
	case IR_OP_SLICE:
	case IR_OP_PAD:
	case IR_OP_EXPAND:
	case IR_OP_TILE:
	case IR_OP_REVERSE:
	case IR_OP_CUMSUM:
	case IR_OP_SOFTMAX:
	case IR_OP_RESAMPLE:
		return true;
	case IR_OP_QUANTIZE:
	case IR_OP_DEQUANTIZE:
		return ir_type_elements(&node->operands[1]->type) == 1 &&
		       ir_type_elements(&node->operands[2]->type) == 1;
	case IR_OP_POOL:
	case IR_OP_INSTNORM:
	case IR_OP_REDUCE:
	case IR_OP_LAYERNORM:
	case IR_OP_BATCHNORM:
	case IR_OP_ARG:
	case IR_OP_GATHER:
		return can_turn_attributes(node, perm);
	default:
		return false;
	}
}

/* ---- attributes */

/* Reorders a list that has one number for each axis. */
static void permute_list(uint32_t *list, const uint32_t *perm, uint32_t rank)
{
	uint32_t from[IR_MAX_RANK];

	memcpy(from, list, sizeof(from));
	for (uint32_t i = 0; i < rank; i++)
		list[perm[i]] = from[i];
}

static void permute_numbers(uint32_t *axes, uint32_t count, const uint32_t *perm)
{
	for (uint32_t i = 0; i < count; i++)
		axes[i] = perm[axes[i]];
}

void permute_attributes(enum ir_op op, union ir_attrs *attrs, const uint32_t *perm, uint32_t rank)
{
	switch (op) {
	case IR_OP_CONCAT:
	case IR_OP_SOFTMAX:
		attrs->axis = perm[attrs->axis];
		break;
	case IR_OP_SLICE:
		permute_list(attrs->slice.starts, perm, rank);
		permute_list(attrs->slice.strides, perm, rank);
		break;
	case IR_OP_PAD:
		permute_list(attrs->pad.begin, perm, rank);
		permute_list(attrs->pad.end, perm, rank);
		break;
	case IR_OP_REVERSE:
		attrs->axes = permuted_axes(attrs->axes, perm, rank);
		break;
	case IR_OP_REDUCE:
		attrs->reduce.axes = permuted_axes(attrs->reduce.axes, perm, rank);
		break;
	case IR_OP_CUMSUM:
		attrs->cumsum.axis = perm[attrs->cumsum.axis];
		break;
	case IR_OP_ARG:
		attrs->arg.axis = perm[attrs->arg.axis];
		break;
	case IR_OP_GATHER:
		attrs->gather.axis = perm[attrs->gather.axis];
		break;
	case IR_OP_RESAMPLE:
		permute_numbers(attrs->resample.axes, 2, perm);
		break;
	case IR_OP_POOL:
		permute_layout(&attrs->pool.layout, perm);
		break;
	case IR_OP_INSTNORM:
		permute_layout(&attrs->norm.layout, perm);
		break;
	case IR_OP_BATCHNORM:
		attrs->norm.axis = perm[attrs->norm.axis];
		break;
	case IR_OP_LAYERNORM:
		permute_numbers(attrs->norm.axes, attrs->norm.num_axes, perm);
		break;
	default:
		break;
	}
}
