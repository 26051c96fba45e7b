// SPDX-License-Identifier: MIT
/* Translates QuantizeLinear and DequantizeLinear of types that WebNN's operators do not take. */
#include <math.h>

#include "carrier.h"
#include "ops.h"

/*
 * Repeats scales or zero points that belong to blocks, so that each element of a tensor of shape
 * @like has one. Returns NULL when refused, as for blocks that do not fit the shape.
 */
static WNNOperand spread(struct onnx_node *node, WNNOperand x, const struct onnx_shape *like)
{
	int64_t given = onnx_attr_int(node, "block_size", 0);

	for (uint32_t i = 0; x && i < like->rank && x_shape(x).rank == like->rank; i++) {
		struct onnx_shape shape = x_shape(x), wide;
		int64_t blocks = shape.dim[i], block;

		if (blocks == 1 || blocks == like->dim[i])
			continue;
		block = given > 0 ? given : (like->dim[i] + blocks - 1) / blocks;
		if (block > like->dim[i] || blocks != (like->dim[i] + block - 1) / block) {
			onnx_refuse(node, "block_size",
				    "the scale of shape %s does not divide %s into equal blocks",
				    onnx_shape_text(node->import->arena, &shape),
				    onnx_shape_text(node->import->arena, like));
			return NULL;
		}
		x = x_unsqueeze(node, x, i + 1);
		if (!x)
			return NULL;
		wide = x_shape(x);
		wide.dim[i + 1] = block;
		shape.dim[i] = blocks * block;
		x = x_reshape(node, x_expand(node, x, &wide), &shape);
		x = x_slice_axis(node, x, i, 0, like->dim[i], 1);
	}
	return x;
}

static WNNOperand wide(struct onnx_node *node, WNNOperand x)
{
	WNNOperandDataType type = x ? wnnOperandGetDataType(x) : WNNOperandDataType_Undefined;

	if (type == WNNOperandDataType_Int4 || type == WNNOperandDataType_Uint4)
		return onnx_from_four_bits(node, x);
	return x ? x_cast(node, x, WNNOperandDataType_Float32) : NULL;
}

/*
 * Returns a FLOAT4E2M1 constant as int8, with half the scale: all its numbers are halves of
 * integers. The graph has the constant as integers.
 */
static WNNOperand halves(struct onnx_node *node, WNNOperand scale)
{
	const struct onnx_value *value = node->inputs[0];
	int64_t elements = onnx_shape_elements(&value->shape);
	WNNOperandDataType type = WNNOperandDataType_Int8;
	struct onnx_shape shape;
	WNNOperand x, zero;
	int8_t *data;

	if (!scale || elements < 1 || onnx_work(node, (uint64_t)elements))
		return NULL;
	shape = x_shape(scale);
	data = onnx_node_alloc(node, (size_t)elements);
	for (int64_t i = 0; data && i < elements; i++)
		data[i] = (int8_t)(2 * onnx_value_float(value, (size_t)i));
	x = data ? x_constant(node, type, &value->shape, data) : NULL;
	zero = onnx_filled(node, type, &shape, 0);
	scale = x_linear(node, scale, 0.5, 0);
	return x && zero && scale ?
		       wnnGraphBuilderDequantizeLinear(node->b, x, scale, zero, &node->options) :
		       NULL;
}

WNNOperand onnx_dequantise_few(struct onnx_node *node, int64_t axis)
{
	WNNOperand x = onnx_in(node, 0), scale;
	struct onnx_shape shape;

	if (!x)
		return NULL;
	shape = x_shape(x);
	scale = onnx_fit_scale(node, 1, &shape, axis);
	if (onnx_in_type(node, 0) == ONNX_FLOAT4E2M1 && node->inputs[0]->data)
		return halves(node, scale);
	x = wide(node, x);
	return x_mul(node, x, spread(node, wide(node, scale), &shape));
}

/* Clamps x to the range of a type of few bits. */
static WNNOperand limit(struct onnx_node *node, WNNOperand x, int type)
{
	double count = ldexp(1, (int)onnx_type_bits(type));

	return onnx_type_is_unsigned(type) ? x_clamp(node, x, 0, count - 1) :
					     x_clamp(node, x, -count / 2, count / 2 - 1);
}

WNNOperand onnx_quantise_few(struct onnx_node *node, int64_t axis, int type)
{
	WNNOperandDataType webnn = onnx_type_webnn(type);
	WNNOperand x = onnx_in(node, 0), scale, zero;
	struct onnx_shape shape;

	if (!x)
		return NULL;
	shape = x_shape(x);
	scale = spread(node, wide(node, onnx_fit_scale(node, 1, &shape, axis)), &shape);
	x = x_div(node, wide(node, x), scale);
	if (onnx_type_is_float(type)) {
		int rounding = onnx_rounding_of(node);

		if (rounding < 0)
			return NULL;
		x = onnx_round_to(node, x, type, onnx_saturates(node),
				  (enum onnx_rounding)rounding);
		return x ? x_cast(node, x, webnn) : NULL;
	}
	x = x_round(node, x);
	if (onnx_has(node, 2)) {
		zero = onnx_fit_scale(node, 2, &shape, axis);
		x = x_add(node, x, spread(node, wide(node, zero), &shape));
	}
	x = limit(node, x, type);
	if (!x)
		return NULL;
	return onnx_type_bits(type) < 8 ? onnx_to_four_bits(node, x, webnn) :
					  x_cast(node, x, webnn);
}
