// SPDX-License-Identifier: MIT
/* Operators of WebNN with few arguments: each takes NULL for an operand that failed. */
#include <stdlib.h>

#include "emit.h"
#include "import/common/matrix.h"

#define ARRAY(shape) ((WNNUint32Array){ (shape).rank, (shape).dim })

WNNOperand onpu_refuse(struct onpu_emit *e, const char *why)
{
	if (!e->refusal)
		e->refusal = why;
	return NULL;
}

void onpu_emit_exit(struct onpu_emit *e)
{
	if (e->builder)
		wnnGraphBuilderRelease(e->builder);
	free(e->inputs);
	free(e->values);
}

struct onpu_shape onpu_shape(const struct gg_tensor *tensor)
{
	return SHAPE((uint32_t)tensor->ne[3], (uint32_t)tensor->ne[2], (uint32_t)tensor->ne[1],
		     (uint32_t)tensor->ne[0]);
}

WNNOperand x_unary(struct onpu_emit *e, onpu_unary function, WNNOperand x)
{
	return x ? function(e->builder, x, NULL) : NULL;
}

WNNOperand x_binary(struct onpu_emit *e, onpu_binary function, WNNOperand a, WNNOperand b)
{
	return a && b ? function(e->builder, a, b, NULL) : NULL;
}

WNNOperand x_number(struct onpu_emit *e, WNNOperandDataType type, double number)
{
	return wnnGraphBuilderConstantFromNumber(e->builder, type, WNN_NUMBER_DOUBLE(number));
}

static size_t bytes_of(WNNOperandDataType type, struct onpu_shape shape)
{
	size_t count = 1;

	for (uint32_t i = 0; i < shape.rank; i++)
		count *= shape.dim[i];
	return count * wnnOperandDataTypeGetSize(type);
}

WNNOperand x_constant(struct onpu_emit *e, WNNOperandDataType type, struct onpu_shape shape,
		      const void *data)
{
	WNNOperandDescriptor descriptor = WNN_OPERAND_DESCRIPTOR_INIT;

	descriptor.dataType = type;
	descriptor.shape = ARRAY(shape);
	return wnnGraphBuilderConstant(e->builder, &descriptor, data, bytes_of(type, shape));
}

WNNOperand x_borrow(struct onpu_emit *e, WNNOperandDataType type, struct onpu_shape shape,
		    const void *data)
{
	return import_borrow(e->builder, type, data, bytes_of(type, shape), ARRAY(shape));
}

WNNOperand x_reshape(struct onpu_emit *e, WNNOperand x, struct onpu_shape shape)
{
	return x ? wnnGraphBuilderReshape(e->builder, x, ARRAY(shape), NULL) : NULL;
}

WNNOperand x_transpose(struct onpu_emit *e, WNNOperand x, struct onpu_shape permutation)
{
	WNNTransposeOptions options = WNN_TRANSPOSE_OPTIONS_INIT;

	options.permutation = ARRAY(permutation);
	return x ? wnnGraphBuilderTranspose(e->builder, x, &options) : NULL;
}

WNNOperand x_slice(struct onpu_emit *e, WNNOperand x, struct onpu_shape starts,
		   struct onpu_shape sizes)
{
	return x ? wnnGraphBuilderSlice(e->builder, x, ARRAY(starts), ARRAY(sizes), NULL) : NULL;
}

WNNOperand x_slice_last(struct onpu_emit *e, WNNOperand x, struct onpu_shape shape, uint32_t start,
			uint32_t size)
{
	struct onpu_shape starts = { .rank = shape.rank };

	starts.dim[shape.rank - 1] = start;
	shape.dim[shape.rank - 1] = size;
	return x_slice(e, x, starts, shape);
}

WNNOperand x_expand(struct onpu_emit *e, WNNOperand x, struct onpu_shape shape)
{
	return x ? wnnGraphBuilderExpand(e->builder, x, ARRAY(shape), NULL) : NULL;
}

WNNOperand x_concat(struct onpu_emit *e, WNNOperand a, WNNOperand b, uint32_t axis)
{
	WNNOperand both[] = { a, b };

	return a && b ? wnnGraphBuilderConcat(e->builder, 2, both, axis, NULL) : NULL;
}

WNNOperand x_cast(struct onpu_emit *e, WNNOperand x, WNNOperandDataType type)
{
	if (!x || wnnOperandGetDataType(x) == type)
		return x;
	return wnnGraphBuilderCast(e->builder, x, type, NULL);
}

WNNOperand x_sum(struct onpu_emit *e, WNNOperand x, bool mean, uint32_t axis, bool keep)
{
	WNNReduceOptions options = WNN_REDUCE_OPTIONS_INIT;

	if (!x)
		return NULL;
	options.axes = (WNNUint32Array){ 1, &axis };
	options.keepDimensions = keep;
	return mean ? wnnGraphBuilderReduceMean(e->builder, x, &options) :
		      wnnGraphBuilderReduceSum(e->builder, x, &options);
}
