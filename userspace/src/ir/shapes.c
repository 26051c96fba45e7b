// SPDX-License-Identifier: MIT
/*
 * Checks the shapes and types of element-wise operators and of operators that move, select or
 * reduce elements; shapes_product.c checks products. Each check returns true if shapes and types
 * fit.
 */
#include "ir/shapes.h"

#define in  ir_shape_in
#define out ir_shape_out

/* ---- building blocks */

bool ir_shape_is(const struct ir_type *type, uint32_t rank, const int64_t *dims)
{
	if (!type)
		return true;
	for (uint32_t i = 0; i < rank && i < type->rank; i++)
		if (ir_type_dim(type, i) != dims[i])
			return false;
	return type->rank == rank;
}

bool ir_shape_counts(const struct ir_type *type, int64_t elements)
{
	return !type || ir_type_elements(type) == elements || ir_type_elements(type) == 1;
}

bool ir_shape_broadcasts(const struct ir_type *from, const struct ir_type *to)
{
	if (!from)
		return true;
	for (uint32_t i = 0; i < from->rank && from->rank <= to->rank; i++)
		if (ir_type_dim(from, i) != 1 &&
		    ir_type_dim(from, i) != ir_type_dim(to, to->rank - from->rank + i))
			return false;
	return from->rank <= to->rank;
}

bool ir_shape_has_blocks(const struct ir_type *data, const struct ir_type *scale,
			 const struct ir_type *zero)
{
	if (scale->rank != data->rank || !ir_type_same_shape(scale, zero))
		return false;
	for (uint32_t i = 0; i < data->rank; i++)
		if (ir_type_dim(data, i) % ir_type_dim(scale, i))
			return false;
	return true;
}

bool ir_shape_has_type(const struct ir_node *node, uint32_t operand, enum ir_dtype dtype)
{
	return !in(node, operand) || in(node, operand)->dtype == dtype;
}

/* Returns true if all operands from `from` on have the data type of the result. */
static bool same_types(const struct ir_node *node, uint32_t from)
{
	for (uint32_t i = from; i < node->num_operands; i++)
		if (!ir_shape_has_type(node, i, out(node)->dtype))
			return false;
	return true;
}

static bool is_byte(const struct ir_type *type)
{
	return type->dtype == IR_I8 || type->dtype == IR_U8;
}

static bool is_mask(const struct ir_type *type)
{
	return type->dtype == IR_U8 || type->dtype == IR_PRED;
}

static bool is_index(const struct ir_type *type)
{
	return type->dtype == IR_I32 || type->dtype == IR_U32 || type->dtype == IR_I64;
}

static bool same_shape(const struct ir_node *node)
{
	return ir_type_same_shape(in(node, 0), out(node));
}

/* ---- element-wise operators */

static bool unary(const struct ir_node *node)
{
	enum ir_unary_class class = ir_unary_class(node->attrs.unary.kind);

	if (class != IR_UNARY_NUMBERS &&
	    ir_dtype_is_float(in(node, 0)->dtype) != (class != IR_UNARY_TRUTH))
		return false;
	return same_shape(node) &&
	       (class == IR_UNARY_TEST ? is_mask(out(node)) : same_types(node, 0));
}

static bool binary(const struct ir_node *node)
{
	for (uint32_t i = 0; i < node->num_operands; i++)
		if (!ir_shape_broadcasts(in(node, i), out(node)))
			return false;
	if (node->op == IR_OP_COMPARE)
		return in(node, 0)->dtype == in(node, 1)->dtype && is_mask(out(node));
	if (node->op == IR_OP_WHERE)
		return is_mask(in(node, 0)) && same_types(node, 1);
	return same_types(node, 0);
}

/* Returns true if operands `at` and `at` + 1 are a scale and a zero point for all of `data`. */
static bool is_quantized(const struct ir_node *node, uint32_t at, const struct ir_type *data)
{
	return is_byte(data) && in(node, at)->dtype == IR_F32 &&
	       in(node, at + 1)->dtype == data->dtype && ir_type_elements(in(node, at)) == 1 &&
	       ir_type_elements(in(node, at + 1)) == 1;
}

static bool integer_function(const struct ir_node *node)
{
	uint32_t operands = node->op == IR_OP_QUNARY ? 1 : 2;

	if (operands == 1 && !same_shape(node))
		return false;
	for (uint32_t i = 0; i < operands; i++)
		if (!ir_shape_broadcasts(in(node, 3 * i), out(node)) ||
		    !is_quantized(node, 3 * i + 1, in(node, 3 * i)))
			return false;
	return is_quantized(node, 3 * operands, out(node));
}

static bool quantize(const struct ir_node *node)
{
	bool to = node->op == IR_OP_QUANTIZE;
	const struct ir_type *real = to ? in(node, 0) : out(node);
	const struct ir_type *integer = to ? out(node) : in(node, 0);

	return same_shape(node) && ir_shape_has_blocks(real, in(node, 1), in(node, 2)) &&
	       ir_dtype_is_float(real->dtype) && in(node, 1)->dtype == real->dtype &&
	       !ir_dtype_is_float(integer->dtype) && in(node, 2)->dtype == integer->dtype;
}

static bool cast(const struct ir_node *node)
{
	return same_shape(node);
}

static bool alike(const struct ir_node *node)
{
	return same_shape(node) && same_types(node, 0);
}

/*
 * Returns true if a type can be broadcast to the rows, or to halves of them, as cosines and sines
 * must.
 */
static bool has_angles(const struct ir_type *type, const struct ir_type *rows)
{
	struct ir_type halves = *rows;

	halves.dim[rows->rank - 1].value /= 2;
	return ir_shape_broadcasts(type, rows) || ir_shape_broadcasts(type, &halves);
}

static bool rotary(const struct ir_node *node)
{
	const struct ir_type *rows = out(node);

	return alike(node) && ir_dtype_is_float(rows->dtype) && rows->rank &&
	       ir_type_dim(rows, rows->rank - 1) % 2 == 0 && has_angles(in(node, 1), rows) &&
	       has_angles(in(node, 2), rows);
}

static bool triangular(const struct ir_node *node)
{
	return alike(node) && out(node)->rank >= 2;
}

/* ---- moving elements */

static bool reshape(const struct ir_node *node)
{
	return ir_type_elements(in(node, 0)) == ir_type_elements(out(node)) && same_types(node, 0);
}

static bool transpose(const struct ir_node *node)
{
	const uint32_t *perm = node->attrs.transpose.perm;
	uint32_t rank = out(node)->rank, seen = 0;

	if (rank != in(node, 0)->rank)
		return false;
	for (uint32_t i = 0; i < rank; i++) {
		if (perm[i] >= rank ||
		    ir_type_dim(out(node), i) != ir_type_dim(in(node, 0), perm[i]))
			return false;
		seen |= 1u << perm[i];
	}
	return seen == (1u << rank) - 1 && same_types(node, 0);
}

static bool concat(const struct ir_node *node)
{
	uint32_t axis = node->attrs.axis, rank = out(node)->rank;
	int64_t sum = 0;

	for (uint32_t i = 0; i < node->num_operands; i++) {
		if (!in(node, i) || in(node, i)->rank != rank || axis >= rank)
			return false;
		for (uint32_t d = 0; d < rank; d++)
			if (d != axis && ir_type_dim(in(node, i), d) != ir_type_dim(out(node), d))
				return false;
		sum += ir_type_dim(in(node, i), axis);
	}
	return sum == ir_type_dim(out(node), axis) && same_types(node, 0);
}

static bool slice(const struct ir_node *node)
{
	const struct ir_slice_attrs *attrs = &node->attrs.slice;

	if (in(node, 0)->rank != out(node)->rank)
		return false;
	for (uint32_t i = 0; i < out(node)->rank; i++)
		if (!attrs->strides[i] ||
		    (ir_type_dim(out(node), i) - 1) * attrs->strides[i] + attrs->starts[i] >=
			    ir_type_dim(in(node, 0), i))
			return false;
	return same_types(node, 0);
}

static bool pad(const struct ir_node *node)
{
	const struct ir_pad_attrs *attrs = &node->attrs.pad;

	if (in(node, 0)->rank != out(node)->rank)
		return false;
	for (uint32_t i = 0; i < out(node)->rank; i++) {
		int64_t dim = ir_type_dim(in(node, 0), i);
		int64_t most = attrs->mode == IR_PAD_REFLECTION ? dim - 1 :
			       attrs->mode == IR_PAD_SYMMETRIC	? dim :
								  INT64_MAX;

		if (dim + attrs->begin[i] + attrs->end[i] != ir_type_dim(out(node), i) ||
		    attrs->begin[i] > most || attrs->end[i] > most)
			return false;
	}
	return same_types(node, 0);
}

static bool tile(const struct ir_node *node)
{
	if (in(node, 0)->rank != out(node)->rank)
		return false;
	for (uint32_t i = 0; i < out(node)->rank; i++)
		if (ir_type_dim(out(node), i) % ir_type_dim(in(node, 0), i))
			return false;
	return same_types(node, 0);
}

static bool resample(const struct ir_node *node)
{
	const uint32_t *axes = node->attrs.resample.axes;

	if (in(node, 0)->rank != out(node)->rank || axes[0] == axes[1] ||
	    axes[0] >= out(node)->rank || axes[1] >= out(node)->rank)
		return false;
	for (uint32_t i = 0; i < out(node)->rank; i++)
		if (i != axes[0] && i != axes[1] &&
		    ir_type_dim(in(node, 0), i) != ir_type_dim(out(node), i))
			return false;
	return same_types(node, 0);
}

/* Appends dimensions [from, to) of `like` to a type; false: there would be too many. */
static bool append(struct ir_type *type, const struct ir_type *like, uint32_t from, uint32_t to)
{
	for (uint32_t i = from; i < to; i++) {
		if (type->rank == IR_MAX_RANK)
			return false;
		type->dim[type->rank++] = like->dim[i];
	}
	return true;
}

/*
 * Returns true if `part`, the result of a gather or the updates of a scatter, has the shape that
 * follows from the data and the indices.
 */
static bool indexed(const struct ir_node *node, const struct ir_type *data,
		    const struct ir_type *part)
{
	const struct ir_gather_attrs *attrs = &node->attrs.gather;
	const struct ir_type *index = in(node, 1);
	struct ir_type want = { .dtype = data->dtype };
	int64_t size;

	if (!is_index(index) || (attrs->kind != IR_GATHER_ND && attrs->axis >= data->rank))
		return false;
	if (attrs->kind == IR_GATHER_AXIS)
		return append(&want, data, 0, attrs->axis) &&
		       append(&want, index, 0, index->rank) &&
		       append(&want, data, attrs->axis + 1, data->rank) &&
		       ir_type_same_shape(&want, part);
	if (attrs->kind == IR_GATHER_ELEMENTS) {
		for (uint32_t i = 0; i < data->rank && index->rank == data->rank; i++)
			if (i != attrs->axis && ir_type_dim(index, i) != ir_type_dim(data, i))
				return false;
		return index->rank == data->rank && ir_type_same_shape(index, part);
	}
	size = index->rank ? ir_type_dim(index, index->rank - 1) : INT64_MAX;
	return size <= data->rank && append(&want, index, 0, index->rank - 1) &&
	       append(&want, data, (uint32_t)size, data->rank) && ir_type_same_shape(&want, part);
}

static bool gather(const struct ir_node *node)
{
	return in(node, 0)->dtype == out(node)->dtype && indexed(node, in(node, 0), out(node));
}

static bool scatter(const struct ir_node *node)
{
	return same_shape(node) && in(node, 0)->dtype == out(node)->dtype &&
	       in(node, 2)->dtype == out(node)->dtype &&
	       node->attrs.gather.kind != IR_GATHER_AXIS && indexed(node, in(node, 0), in(node, 2));
}

/* ---- reducing */

/* Returns true if the result is the operand with the axes in a mask reduced to 1, or dropped. */
static bool is_reduced(const struct ir_node *node, uint32_t axes, bool keep)
{
	int64_t dims[IR_MAX_RANK];
	uint32_t rank = 0;

	for (uint32_t i = 0; i < in(node, 0)->rank; i++) {
		if (axes >> i & 1 && !keep)
			continue;
		dims[rank++] = axes >> i & 1 ? 1 : ir_type_dim(in(node, 0), i);
	}
	return ir_shape_is(out(node), rank, dims);
}

static bool reduce(const struct ir_node *node)
{
	return is_reduced(node, node->attrs.reduce.axes, node->attrs.reduce.keep_dims) &&
	       same_types(node, 0);
}

static bool arg(const struct ir_node *node)
{
	return in(node, 0)->rank &&
	       is_reduced(node, 1u << node->attrs.arg.axis, node->attrs.arg.keep_dims) &&
	       (out(node)->dtype == IR_I32 || out(node)->dtype == IR_I64);
}

static bool topk(const struct ir_node *node)
{
	struct ir_type type = *in(node, 0);
	uint32_t axis = node->attrs.arg.axis;
	int64_t count;

	if (axis >= type.rank || out(node)->rank != type.rank)
		return false;
	count = ir_type_dim(out(node), axis);
	if (count < 1 || count > ir_type_dim(&type, axis))
		return false;
	type.dim[axis].value = count;
	return ir_type_same_shape(out(node), &type) &&
	       (out(node)->dtype == IR_I32 || out(node)->dtype == IR_I64);
}

static bool norm(const struct ir_node *node)
{
	const struct ir_norm_attrs *attrs = &node->attrs.norm;
	uint32_t rank = out(node)->rank, count = 1, seen = 0;
	int64_t dims[IR_MAX_RANK];

	if (!same_shape(node) || !same_types(node, 0))
		return false;
	if (node->op == IR_OP_LAYERNORM) {
		count = attrs->num_axes;
		for (uint32_t i = 0; i < count; i++) {
			if (seen >> attrs->axes[i] & 1)
				return false;
			seen |= 1u << attrs->axes[i];
			dims[i] = rank ? ir_type_dim(out(node), attrs->axes[i]) : 1;
		}
		count = rank ? count : 0;
	} else if (node->op == IR_OP_BATCHNORM ? attrs->axis >= rank : rank < 3) {
		return false;
	} else {
		dims[0] = ir_type_dim(out(node), node->op == IR_OP_BATCHNORM ? attrs->axis :
						 attrs->layout == IR_NCHW    ? 1 :
									       rank - 1);
		/* Groups split the channels into two dimensions, which must fit IR_MAX_RANK. */
		if (node->op == IR_OP_INSTNORM && attrs->groups &&
		    (rank == IR_MAX_RANK || dims[0] % attrs->groups))
			return false;
	}
	for (uint32_t i = 1; i < node->num_operands; i++)
		if (!ir_shape_is(in(node, i), count, dims))
			return false;
	return true;
}

bool ir_shapes_fit(const struct ir_node *node)
{
	static bool (*const fits[IR_OP_COUNT])(const struct ir_node *node) = {
		[IR_OP_CONV] = ir_shapes_conv,
		[IR_OP_MATMUL] = ir_shapes_matmul,
		[IR_OP_WMATMUL] = ir_shapes_matmul,
		[IR_OP_POOL] = ir_shapes_pool,
		[IR_OP_UNARY] = unary,
		[IR_OP_BINARY] = binary,
		[IR_OP_COMPARE] = binary,
		[IR_OP_WHERE] = binary,
		[IR_OP_CAST] = cast,
		[IR_OP_COPY] = alike,
		[IR_OP_RESHAPE] = reshape,
		[IR_OP_TRANSPOSE] = transpose,
		[IR_OP_CONCAT] = concat,
		[IR_OP_SLICE] = slice,
		[IR_OP_EXPAND] = binary,
		[IR_OP_PAD] = pad,
		[IR_OP_REVERSE] = alike,
		[IR_OP_TILE] = tile,
		[IR_OP_REDUCE] = reduce,
		[IR_OP_SOFTMAX] = alike,
		[IR_OP_ARG] = arg,
		[IR_OP_TOPK] = topk,
		[IR_OP_CUMSUM] = alike,
		[IR_OP_TRIANGULAR] = triangular,
		[IR_OP_ROTARY] = rotary,
		[IR_OP_BATCHNORM] = norm,
		[IR_OP_INSTNORM] = norm,
		[IR_OP_LAYERNORM] = norm,
		[IR_OP_RESAMPLE] = resample,
		[IR_OP_QUANTIZE] = quantize,
		[IR_OP_DEQUANTIZE] = quantize,
		[IR_OP_QCONV] = ir_shapes_conv,
		[IR_OP_QMATMUL] = ir_shapes_matmul,
		[IR_OP_QPOOL] = ir_shapes_pool,
		[IR_OP_QUNARY] = integer_function,
		[IR_OP_QBINARY] = integer_function,
		[IR_OP_GATHER] = gather,
		[IR_OP_SCATTER] = scatter,
		[IR_OP_GRU] = ir_shapes_recurrent,
		[IR_OP_LSTM] = ir_shapes_recurrent,
	};

	return fits[node->op] && fits[node->op](node);
}
