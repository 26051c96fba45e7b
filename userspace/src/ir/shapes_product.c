// SPDX-License-Identifier: MIT
/* Checks the shapes of convolutions, pools, matrix products and recurrent networks. */
#include "ir/shapes.h"

#include "util/number.h"

#define in  ir_shape_in
#define out ir_shape_out

static bool is_byte(const struct ir_type *type)
{
	return type->dtype == IR_I8 || type->dtype == IR_U8;
}

/* ---- windows */

static bool size_fits(int64_t size, int64_t image, const uint32_t *padding, int64_t window,
		      uint32_t stride, uint32_t dilation)
{
	int64_t room = image + padding[0] + padding[1] - ((window - 1) * dilation + 1);

	return stride && dilation && room >= 0 && size == room / stride + 1;
}

static bool transposed_size_fits(int64_t size, int64_t image, const uint32_t *padding,
				 int64_t window, uint32_t stride, uint32_t dilation)
{
	int64_t least;

	if (!stride || !dilation || __builtin_mul_overflow(image - 1, (int64_t)stride, &least))
		return false;
	least += (window - 1) * dilation + 1 - padding[0] - padding[1];
	return size >= least && size < least + stride;
}

/*
 * Returns true if the types of an integer product fit, and the scale, bias and addend have an
 * element for each channel or one for all.
 */
static bool integer_types_fit(const struct ir_node *node, int64_t channels)
{
	const struct ir_type *result = out(node);

	return is_byte(in(node, 0)) && is_byte(in(node, 1)) &&
	       (is_byte(result) || ir_dtype_is_float(result->dtype)) &&
	       ir_shape_has_type(node, 2, IR_F32) && ir_shape_counts(in(node, 2), channels) &&
	       ir_shape_has_type(node, 3, IR_I32) && ir_shape_counts(in(node, 3), channels) &&
	       ir_shape_has_type(node, 4, result->dtype) && ir_shape_counts(in(node, 4), channels);
}

bool ir_shapes_conv(const struct ir_node *node)
{
	const struct ir_conv_attrs *attrs = &node->attrs.conv;
	const struct ir_type *image = in(node, 0), *filter = in(node, 1), *result = out(node);
	uint32_t row = attrs->layout == IR_NHWC ? 1 : 2, channel = attrs->layout == IR_NHWC ? 3 : 1;
	const uint8_t *at = ir_filter_axes(attrs->filter_layout);
	int64_t groups = attrs->groups, filters, depth, channels;

	if (image->rank != 4 || filter->rank != 4 || result->rank != 4 || !groups ||
	    ir_type_dim(image, 0) != ir_type_dim(result, 0))
		return false;
	filters = ir_type_dim(filter, at[0]);
	depth = ir_type_dim(filter, at[1]);
	channels = ir_type_dim(result, channel);
	if (attrs->transposed ? ir_type_dim(image, channel) != depth || depth % groups ||
					channels != filters * groups :
				ir_type_dim(image, channel) != depth * groups ||
					channels != filters || filters % groups)
		return false;
	for (uint32_t i = 0; i < 2; i++) {
		int64_t size = ir_type_dim(result, row + i), from = ir_type_dim(image, row + i),
			window = ir_type_dim(filter, at[2 + i]);

		if (attrs->transposed ?
			    !transposed_size_fits(size, from, attrs->padding + 2 * i, window,
						  attrs->strides[i], attrs->dilations[i]) :
			    !size_fits(size, from, attrs->padding + 2 * i, window,
				       attrs->strides[i], attrs->dilations[i]))
			return false;
	}
	if (node->op == IR_OP_QCONV)
		return integer_types_fit(node, channels);
	return image->dtype == result->dtype && filter->dtype == result->dtype &&
	       ir_shape_has_type(node, 2, result->dtype) && ir_shape_is(in(node, 2), 1, &channels);
}

#define MOST_PADDING (INT64_C(1) << 33) /* the most padding of an axis, on both sides together */

/*
 * Returns true if the types and shapes of a pool fit. The sizes of the result need only be
 * possible: the builder removes from a window the taps that read only padding, so that the sizes do
 * not follow from the window.
 */
bool ir_shapes_pool(const struct ir_node *node)
{
	const struct ir_pool_attrs *attrs = &node->attrs.pool;
	const struct ir_type *image = in(node, 0), *result = out(node);
	uint32_t row = attrs->layout == IR_NHWC ? 1 : 2, channel = attrs->layout == IR_NHWC ? 3 : 1;

	if (image->rank != 4 || result->rank != 4 ||
	    ir_type_dim(image, 0) != ir_type_dim(result, 0) ||
	    ir_type_dim(image, channel) != ir_type_dim(result, channel))
		return false;
	for (uint32_t i = 0; i < 2; i++)
		if (!attrs->window[i] || !attrs->strides[i] || !attrs->dilations[i] ||
		    ir_type_dim(result, row + i) - 1 >
			    (ir_type_dim(image, row + i) + MOST_PADDING) / attrs->strides[i])
			return false;
	if (node->op == IR_OP_QPOOL)
		return is_byte(image) && is_byte(result) && in(node, 1)->dtype == IR_F32 &&
		       ir_type_elements(in(node, 1)) == 1;
	return image->dtype == result->dtype;
}

/* ---- matrix products */

/*
 * Sets size[] to the rows and columns of an operand; false: its batch dims do not fit the result.
 */
static bool matrix_of(const struct ir_type *type, const struct ir_type *result, bool transposed,
		      int64_t size[2])
{
	struct ir_type batch = *type, of_result = *result;

	if (type->rank < 2 || result->rank < 2)
		return false;
	size[transposed] = ir_type_dim(type, type->rank - 2);
	size[!transposed] = ir_type_dim(type, type->rank - 1);
	batch.rank -= 2;
	of_result.rank -= 2;
	return ir_shape_broadcasts(&batch, &of_result);
}

bool ir_shapes_matmul(const struct ir_node *node)
{
	const struct ir_matmul_attrs *attrs = &node->attrs.matmul;
	const struct ir_type *result = out(node), *bias;
	int64_t a[2], b[2], c[2];

	if (!matrix_of(in(node, 0), result, attrs->a_transpose, a) ||
	    !matrix_of(in(node, 1), result, attrs->b_transpose, b) ||
	    !matrix_of(result, result, false, c) || a[1] != b[0] || a[0] != c[0] || b[1] != c[1])
		return false;
	if (node->op == IR_OP_QMATMUL)
		return integer_types_fit(node, c[1]);
	bias = in(node, node->op == IR_OP_WMATMUL ? 4 : 2);
	if (in(node, 0)->dtype != result->dtype || (bias && bias->dtype != result->dtype) ||
	    (bias && bias->rank > 2) || !ir_shape_broadcasts(bias, result))
		return false;
	if (node->op != IR_OP_WMATMUL)
		return in(node, 1)->dtype == result->dtype;
	for (uint32_t i = 0; i + 2 < in(node, 1)->rank; i++)
		if (ir_type_dim(in(node, 1), i) != 1)
			return false;
	return ir_shape_has_blocks(in(node, 1), in(node, 2), in(node, 3)) &&
	       !ir_dtype_is_float(in(node, 1)->dtype) && in(node, 2)->dtype == result->dtype &&
	       in(node, 3)->dtype == in(node, 1)->dtype;
}

/* ---- recurrent networks */

struct network {
	const struct ir_node *node;
	int64_t directions;
};

/*
 * Returns true if an operand or result has the dims a and b (rank 1: a only) after the dim of
 * directions, which a cell does not have.
 */
static bool part_is(const struct network *n, const struct ir_type *type, uint32_t rank, int64_t a,
		    int64_t b)
{
	int64_t dims[3] = { n->directions, a, b };
	bool cell = n->node->attrs.rnn.cell;

	return ir_shape_is(type, rank + !cell, cell ? dims + 1 : dims);
}

static bool results_fit(const struct network *n, int64_t batch, uint32_t states)
{
	const struct ir_rnn_attrs *attrs = &n->node->attrs.rnn;
	int64_t sequence[4] = { attrs->steps, n->directions, batch, attrs->hidden_size };

	if (n->node->num_results != states + attrs->return_sequence)
		return false;
	for (uint32_t i = 0; i < n->node->num_results; i++)
		if (n->node->results[i]->type.dtype != in(n->node, 0)->dtype)
			return false;
	for (uint32_t i = 0; i < states; i++)
		if (!part_is(n, &n->node->results[i]->type, 2, batch, attrs->hidden_size))
			return false;
	return !attrs->return_sequence || ir_shape_is(&n->node->results[states]->type, 4, sequence);
}

/* Returns true if the activations are functions from floats to floats, as the states need. */
static bool activations_fit(const struct ir_rnn_attrs *attrs)
{
	for (size_t i = 0; i < ARRAY_SIZE(attrs->activations); i++) {
		enum ir_unary_class class = ir_unary_class(attrs->activations[i]);

		if (class != IR_UNARY_NUMBERS && class != IR_UNARY_FLOATS)
			return false;
	}
	return true;
}

bool ir_shapes_recurrent(const struct ir_node *node)
{
	const struct ir_rnn_attrs *attrs = &node->attrs.rnn;
	const struct network n = { node, !attrs->cell && attrs->direction == IR_BOTH ? 2 : 1 };
	const struct ir_type *x = in(node, 0);
	bool lstm = node->op == IR_OP_LSTM;
	int64_t hidden = attrs->hidden_size, rows = ir_rnn_gates(node) * hidden, batch, size;

	if (!hidden || !attrs->steps || x->rank != (attrs->cell ? 2u : 3u) ||
	    !ir_dtype_is_float(x->dtype) || !activations_fit(attrs) ||
	    (attrs->cell ? attrs->steps != 1 || attrs->return_sequence :
			   ir_type_dim(x, 0) != attrs->steps))
		return false;
	batch = ir_type_dim(x, x->rank - 2);
	size = ir_type_dim(x, x->rank - 1);
	for (uint32_t i = 1; i < node->num_operands; i++)
		if (!ir_shape_has_type(node, i, i == (lstm ? 8 : 6) ? IR_I32 : x->dtype))
			return false;
	return ir_shape_is(in(node, lstm ? 8 : 6), 1, &batch) &&
	       part_is(&n, in(node, 1), 2, rows, size) &&
	       part_is(&n, in(node, 2), 2, rows, hidden) && part_is(&n, in(node, 3), 1, rows, 0) &&
	       part_is(&n, in(node, 4), 1, rows, 0) &&
	       (!lstm || part_is(&n, in(node, 5), 1, 3 * hidden, 0)) &&
	       part_is(&n, in(node, lstm ? 6 : 5), 2, batch, hidden) &&
	       (!lstm || part_is(&n, in(node, 7), 2, batch, hidden)) &&
	       results_fit(&n, batch, lstm ? 2 : 1);
}
