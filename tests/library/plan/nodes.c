// SPDX-License-Identifier: MIT
/* Implements nodes.h. */
#include "nodes.h"

static void dims_of(const struct ir_value *value, int64_t *dims)
{
	for (uint32_t i = 0; i < value->type.rank; i++)
		dims[i] = ir_type_dim(&value->type, i);
}

/* Adds a node whose result has the type of its first operand; returns the result. */
static struct ir_value *same_shape(struct test_graph *t, enum ir_op op,
				   struct ir_value *const *operands, uint32_t count,
				   const union ir_attrs *attrs)
{
	const struct ir_type *type = &operands[0]->type;
	int64_t dims[IR_MAX_RANK];

	dims_of(operands[0], dims);
	return add_node(t, op, operands, count, type->dtype, type->rank, dims, attrs)->results[0];
}

struct ir_value *node_unary(struct test_graph *t, int kind, struct ir_value *in)
{
	union ir_attrs attrs = { .unary = { .kind = kind } };

	return same_shape(t, IR_OP_UNARY, &in, 1, &attrs);
}

struct ir_value *node_binary(struct test_graph *t, int kind, struct ir_value *a, struct ir_value *b)
{
	union ir_attrs attrs = { .binary = { .kind = kind, .act = { .kind = IR_UNARY_NONE } } };
	struct ir_value *operands[2] = { a, b };

	return same_shape(t, IR_OP_BINARY, operands, 2, &attrs);
}

struct ir_value *node_softmax(struct test_graph *t, struct ir_value *in, uint32_t axis)
{
	union ir_attrs attrs = { .axis = axis };

	return same_shape(t, IR_OP_SOFTMAX, &in, 1, &attrs);
}

struct ir_value *node_reshape(struct test_graph *t, struct ir_value *in, uint32_t rank,
			      const int64_t *dims)
{
	return add_node(t, IR_OP_RESHAPE, &in, 1, in->type.dtype, rank, dims, NULL)->results[0];
}

struct ir_value *node_expand(struct test_graph *t, struct ir_value *in, uint32_t rank,
			     const int64_t *dims)
{
	return add_node(t, IR_OP_EXPAND, &in, 1, in->type.dtype, rank, dims, NULL)->results[0];
}

struct ir_value *node_transpose(struct test_graph *t, struct ir_value *in, const uint32_t *perm)
{
	union ir_attrs attrs = { .axis = 0 };
	int64_t dims[IR_MAX_RANK];

	for (uint32_t i = 0; i < in->type.rank; i++) {
		attrs.transpose.perm[i] = perm[i];
		dims[i] = ir_type_dim(&in->type, perm[i]);
	}
	return add_node(t, IR_OP_TRANSPOSE, &in, 1, in->type.dtype, in->type.rank, dims, &attrs)
		->results[0];
}

struct ir_value *node_concat(struct test_graph *t, struct ir_value *a, struct ir_value *b,
			     uint32_t axis)
{
	struct ir_value *operands[2] = { a, b };
	union ir_attrs attrs = { .axis = axis };
	int64_t dims[IR_MAX_RANK];

	dims_of(a, dims);
	dims[axis] += ir_type_dim(&b->type, axis);
	return add_node(t, IR_OP_CONCAT, operands, 2, a->type.dtype, a->type.rank, dims, &attrs)
		->results[0];
}

struct ir_value *node_slice(struct test_graph *t, struct ir_value *in, uint32_t axis, int64_t begin,
			    int64_t size)
{
	union ir_attrs attrs = { .slice = { .starts = { 0 } } };
	int64_t dims[IR_MAX_RANK];

	dims_of(in, dims);
	for (uint32_t i = 0; i < in->type.rank; i++)
		attrs.slice.strides[i] = 1;
	attrs.slice.starts[axis] = begin;
	dims[axis] = size;
	return add_node(t, IR_OP_SLICE, &in, 1, in->type.dtype, in->type.rank, dims, &attrs)
		->results[0];
}

struct ir_value *node_matmul(struct test_graph *t, struct ir_value *a, struct ir_value *b)
{
	union ir_attrs attrs = {
		.matmul = { .alpha = 1, .beta = 1, .act = { .kind = IR_UNARY_NONE } }
	};
	struct ir_value *operands[3] = { a, b };
	uint32_t rank = a->type.rank;
	int64_t dims[IR_MAX_RANK];

	dims_of(a, dims);
	dims[rank - 1] = ir_type_dim(&b->type, rank - 1);
	return add_node(t, IR_OP_MATMUL, operands, 3, a->type.dtype, rank, dims, &attrs)->results[0];
}

struct ir_value *node_conv(struct test_graph *t, struct ir_value *in, enum ir_layout layout,
			   int64_t channels, int64_t kernel)
{
	uint32_t pad = (uint32_t)kernel / 2, c = layout == IR_NHWC ? 3 : 1;
	union ir_attrs attrs = { .conv = {
					 .groups = 1,
					 .strides = { 1, 1 },
					 .dilations = { 1, 1 },
					 .layout = layout,
					 .padding = { pad, pad, pad, pad },
					 .filter_layout = IR_OIHW,
					 .act = { .kind = IR_RELU },
				 } };
	struct ir_value *operands[3] = { in };
	int64_t dims[4];

	dims_of(in, dims);
	operands[1] =
		add_operand(t, IR_F32, 4, (int64_t[]){ channels, dims[c], kernel, kernel }, true);
	operands[2] = add_operand(t, IR_F32, 1, (int64_t[]){ channels }, true);
	dims[c] = channels;
	return add_node(t, IR_OP_CONV, operands, 3, IR_F32, 4, dims, &attrs)->results[0];
}

struct ir_value *node_fire(struct test_graph *t, enum ir_layout layout, int64_t size)
{
	const int64_t nchw[4] = { 1, 24, size, size }, nhwc[4] = { 1, size, size, 24 };
	struct ir_value *in = add_operand(t, IR_F32, 4, layout == IR_NHWC ? nhwc : nchw, false);
	struct ir_value *squeeze = node_conv(t, in, layout, 8, 1);
	struct ir_value *a = node_conv(t, squeeze, layout, 20, 1);
	struct ir_value *b = node_conv(t, squeeze, layout, 36, 3);

	return node_concat(t, a, b, layout == IR_NHWC ? 3 : 1);
}
