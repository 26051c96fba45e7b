// SPDX-License-Identifier: MIT
/* Finds the slice of each operand that an operator reads to compute a given slice of its result. */
#include "plan/stream/box.h"

#include <string.h>

struct box box_whole(const struct ir_type *type)
{
	struct box box = { { 0 }, { 0 } };

	for (uint32_t i = 0; i < type->rank; i++)
		box.dim[i] = ir_type_dim(type, i);
	return box;
}

static bool axis_is_whole(const struct box *box, const struct ir_type *type, uint32_t axis)
{
	return box->dim[axis] == ir_type_dim(type, axis);
}

bool box_is_whole(const struct box *box, const struct ir_type *type)
{
	for (uint32_t i = 0; i < type->rank; i++)
		if (!axis_is_whole(box, type, i))
			return false;
	return true;
}

bool box_equal(const struct box *a, const struct box *b, uint32_t rank)
{
	return !memcmp(a->begin, b->begin, rank * sizeof(*a->begin)) &&
	       !memcmp(a->dim, b->dim, rank * sizeof(*a->dim));
}

struct box box_union(const struct box *a, const struct box *b, uint32_t rank)
{
	struct box box = *a;

	for (uint32_t i = 0; i < rank; i++) {
		int64_t end_a = a->begin[i] + a->dim[i], end_b = b->begin[i] + b->dim[i];

		if (b->begin[i] < box.begin[i])
			box.begin[i] = b->begin[i];
		box.dim[i] = (end_a > end_b ? end_a : end_b) - box.begin[i];
	}
	return box;
}

int64_t box_elements(const struct box *box, uint32_t rank)
{
	int64_t count = 1;

	for (uint32_t i = 0; i < rank; i++)
		count *= box->dim[i];
	return count;
}

/* ---- operands that are broadcast: aligned with the last dims of the result */

static bool broadcast_slice(const struct ir_type *from, const struct ir_type *to,
			    const struct box *result, struct box *slice)
{
	*slice = box_whole(from);
	for (uint32_t i = 0; i < from->rank; i++) {
		uint32_t at = to->rank - from->rank + i;

		if (ir_type_dim(from, i) == ir_type_dim(to, at)) {
			slice->begin[i] = result->begin[at];
			slice->dim[i] = result->dim[at];
		} else if (ir_type_dim(from, i) != 1 && !axis_is_whole(result, to, at)) {
			return false;
		}
	}
	return true;
}

/* ---- rows of images that windows read */

/* The window of a convolution or pool along the rows of an image. */
struct window {
	uint32_t rows, columns, channels; /* axes */
	int64_t taps, step, dilation, padding[2];
};

static void window_axes(struct window *w, enum ir_layout layout)
{
	w->rows = layout == IR_NHWC ? 1 : 2;
	w->columns = w->rows + 1;
	w->channels = layout == IR_NHWC ? 3 : 1;
}

static bool is_conv(const struct ir_node *node)
{
	return node->op == IR_OP_CONV || node->op == IR_OP_QCONV;
}

static struct window window_of(const struct ir_node *node)
{
	const struct ir_conv_attrs *conv = &node->attrs.conv;
	const struct ir_pool_attrs *pool = &node->attrs.pool;
	struct window w;

	if (is_conv(node)) {
		uint32_t axis = ir_filter_axes(conv->filter_layout)[2];

		window_axes(&w, conv->layout);
		w.taps = ir_type_dim(&node->operands[1]->type, axis);
		w.step = conv->strides[0];
		w.dilation = conv->dilations[0];
		w.padding[0] = conv->padding[0];
		w.padding[1] = conv->padding[1];
	} else {
		window_axes(&w, pool->layout);
		w.taps = pool->window[0];
		w.step = pool->strides[0];
		w.dilation = pool->dilations[0];
		w.padding[0] = pool->padding[0];
		w.padding[1] = pool->padding[1];
	}
	return w;
}

/*
 * Sets the rows of the operand that windows read, and the rows of padding before and after them.
 */
static void window_rows(const struct ir_node *node, const struct window *w,
			const struct box *result, int64_t *begin, int64_t *rows, int64_t padding[2])
{
	int64_t all = ir_type_dim(&node->operands[0]->type, w->rows);
	int64_t first = result->begin[w->rows] * w->step - w->padding[0];
	int64_t end =
		first + (result->dim[w->rows] - 1) * w->step + (w->taps - 1) * w->dilation + 1;

	padding[0] = first < 0 ? -first : 0;
	padding[1] = end > all ? end - all : 0;
	*begin = first + padding[0];
	*rows = end - padding[1] - *begin;
}

static bool window_slice(const struct ir_node *node, const struct box *result, struct box *slice)
{
	const struct ir_type *to = &node->results[0]->type;
	struct window w = window_of(node);
	int64_t padding[2];

	if (!axis_is_whole(result, to, w.columns) || !axis_is_whole(result, to, w.channels))
		return false;
	*slice = box_whole(&node->operands[0]->type);
	slice->begin[0] = result->begin[0];
	slice->dim[0] = result->dim[0];
	if (axis_is_whole(result, to, w.rows))
		return true;
	window_rows(node, &w, result, &slice->begin[w.rows], &slice->dim[w.rows], padding);
	return slice->dim[w.rows] > 0;
}

static bool conv_slice(const struct ir_node *node, uint32_t i, const struct box *result,
		       struct box *slice)
{
	if (node->attrs.conv.transposed)
		return false;
	if (!i)
		return window_slice(node, result, slice);
	*slice = box_whole(&node->operands[i]->type);
	return true;
}

static bool pool_slice(const struct ir_node *node, uint32_t i, const struct box *result,
		       struct box *slice)
{
	if (!i)
		return window_slice(node, result, slice);
	*slice = box_whole(&node->operands[i]->type);
	return true;
}

/* ---- matrix products */

/*
 * Sets the slice of an operand of a matrix product. Batch dims are broadcast, aligned on the right;
 * axis `axis` of the operand is axis `of` of the result, which the other operand does not have.
 */
static void factor_slice(const struct ir_type *from, const struct ir_type *to,
			 const struct box *result, uint32_t axis, uint32_t of, struct box *slice)
{
	*slice = box_whole(from);
	for (uint32_t i = 0; i + 2 < from->rank; i++) {
		uint32_t at = to->rank - from->rank + i;

		if (ir_type_dim(from, i) == 1)
			continue;
		slice->begin[i] = result->begin[at];
		slice->dim[i] = result->dim[at];
	}
	slice->begin[axis] = result->begin[of];
	slice->dim[axis] = result->dim[of];
}

/*
 * Returns true if the slice would have other bits than in the whole result: kernels add the terms
 * of a single float32 row times a matrix in another order than those of several rows.
 */
static bool is_other_order(const struct ir_node *node, const struct box *result)
{
	const struct ir_type *to = &node->results[0]->type;

	return node->op == IR_OP_MATMUL && node->operands[0]->type.dtype == IR_F32 &&
	       box_elements(result, to->rank) == result->dim[to->rank - 1] &&
	       ir_type_elements(to) != ir_type_dim(to, to->rank - 1);
}

static bool matmul_slice(const struct ir_node *node, uint32_t i, const struct box *result,
			 struct box *slice)
{
	const struct ir_type *from = &node->operands[i]->type, *to = &node->results[0]->type;
	const struct ir_matmul_attrs *attrs = &node->attrs.matmul;

	if (to->rank < 2 || (i < 2 && from->rank < 2) || is_other_order(node, result) ||
	    (node->op != IR_OP_MATMUL && !axis_is_whole(result, to, to->rank - 1)))
		return false;
	if (!i) {
		factor_slice(from, to, result, from->rank - (attrs->a_transpose ? 1 : 2),
			     to->rank - 2, slice);
	} else if (i == 1 && node->op != IR_OP_WMATMUL) {
		factor_slice(from, to, result, from->rank - (attrs->b_transpose ? 2 : 1),
			     to->rank - 1, slice);
	} else if (i < 4 && node->op == IR_OP_WMATMUL) {
		*slice = box_whole(from);
	} else {
		return broadcast_slice(from, to, result, slice);
	}
	return true;
}

/* ---- other operators */

/*
 * Sets the slice for operators that need all elements along the axes in mask `whole`; operands
 * other than the first are read completely. Returns false when the result's slice divides one of
 * these axes.
 */
static bool row_slice(const struct ir_node *node, uint32_t i, const struct box *result,
		      uint32_t whole, struct box *slice)
{
	const struct ir_type *to = &node->results[0]->type;

	for (uint32_t axis = 0; axis < to->rank; axis++)
		if ((whole >> axis & 1) && !axis_is_whole(result, to, axis))
			return false;
	*slice = i ? box_whole(&node->operands[i]->type) : *result;
	return true;
}

/* Sets the slice of a rotary embedding, which needs whole rows. */
static bool rotary_slice(const struct ir_node *node, uint32_t i, const struct box *result,
			 struct box *slice)
{
	const struct ir_type *to = &node->results[0]->type;

	return axis_is_whole(result, to, to->rank - 1) &&
	       broadcast_slice(&node->operands[i]->type, to, result, slice);
}

static uint32_t norm_axes(const struct ir_node *node)
{
	const struct ir_norm_attrs *norm = &node->attrs.norm;
	uint32_t axes = 0;

	if (node->op == IR_OP_BATCHNORM)
		return 1u << norm->axis;
	for (uint32_t i = 0; i < norm->num_axes; i++)
		axes |= 1u << norm->axes[i];
	return axes;
}

static bool concat_slice(const struct ir_node *node, uint32_t i, const struct box *result,
			 struct box *slice)
{
	uint32_t axis = node->attrs.axis;

	if (!axis_is_whole(result, &node->results[0]->type, axis))
		return false;
	*slice = *result;
	slice->dim[axis] = ir_type_dim(&node->operands[i]->type, axis);
	return true;
}

bool box_operand(const struct ir_node *node, uint32_t i, const struct box *result,
		 struct box *slice)
{
	switch (node->op) {
	case IR_OP_CONV:
	case IR_OP_QCONV:
		return conv_slice(node, i, result, slice);
	case IR_OP_POOL:
	case IR_OP_QPOOL:
		return pool_slice(node, i, result, slice);
	case IR_OP_MATMUL:
	case IR_OP_QMATMUL:
	case IR_OP_WMATMUL:
		return matmul_slice(node, i, result, slice);
	case IR_OP_UNARY:
	case IR_OP_BINARY:
	case IR_OP_COMPARE:
	case IR_OP_WHERE:
	case IR_OP_CAST:
	case IR_OP_QUANTIZE:
	case IR_OP_DEQUANTIZE:
	case IR_OP_QUNARY:
	case IR_OP_QBINARY:
		return broadcast_slice(&node->operands[i]->type, &node->results[0]->type, result,
				       slice);
	case IR_OP_SOFTMAX:
		return row_slice(node, i, result, 1u << node->attrs.axis, slice);
	case IR_OP_BATCHNORM:
	case IR_OP_LAYERNORM:
		return row_slice(node, i, result, norm_axes(node), slice);
	case IR_OP_ROTARY:
		return rotary_slice(node, i, result, slice);
	case IR_OP_CONCAT:
		return concat_slice(node, i, result, slice);
	default:
		return false;
	}
}

uint32_t box_row_axis(const struct ir_node *node)
{
	return is_conv(node) || node->op == IR_OP_POOL || node->op == IR_OP_QPOOL ?
		       window_of(node).rows :
		       UINT32_MAX;
}

union ir_attrs box_attrs(const struct ir_node *node, const struct box *result)
{
	union ir_attrs attrs = node->attrs;
	int64_t begin, rows, padding[2];
	struct window w;

	if (box_row_axis(node) == UINT32_MAX)
		return attrs;
	w = window_of(node);
	if (axis_is_whole(result, &node->results[0]->type, w.rows))
		return attrs;
	window_rows(node, &w, result, &begin, &rows, padding);
	for (int i = 0; i < 2; i++) {
		if (is_conv(node))
			attrs.conv.padding[i] = (uint32_t)padding[i];
		else
			attrs.pool.padding[i] = (uint32_t)padding[i];
	}
	return attrs;
}
