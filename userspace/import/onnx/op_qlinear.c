// SPDX-License-Identifier: MIT
/*
 * com.microsoft: operators on quantised tensors. They become dequantizeLinear, the operator and
 * quantizeLinear, which devices fuse into integer arithmetic.
 */
#include <string.h>

#include "ops.h"

int onnx_op_qlinear_binary(struct onnx_node *node)
{
	WNNOperand a = onnx_dequantise(node, 0, 1), b = a ? onnx_dequantise(node, 3, 1) : NULL;

	if (!b)
		return onnx_out(node, 0, NULL);
	a = node->op->variant == B_ADD ? x_add(node, a, b) : x_mul(node, a, b);
	return onnx_out(node, 0, onnx_quantise(node, a, 6, 1, onnx_in_type(node, 0)));
}

int onnx_op_qlinear_unary(struct onnx_node *node)
{
	WNNLeakyReluOptions leaky = WNN_LEAKY_RELU_OPTIONS_INIT;
	WNNOperand x = onnx_dequantise(node, 0, 1);
	uint32_t axis;

	if (!x)
		return onnx_out(node, 0, NULL);
	switch (node->op->variant) {
	case Q_SIGMOID:
		x = x_sigmoid(node, x);
		break;
	case Q_LEAKY_RELU:
		leaky.label = node->options.label;
		leaky.alpha = onnx_attr_float(node, "alpha", 0.01);
		x = wnnGraphBuilderLeakyRelu(node->b, x, &leaky);
		break;
	default:
		if (onnx_axis(node, "axis", onnx_attr_int(node, "axis", -1), x_shape(x).rank,
			      &axis))
			return -1;
		if (onnx_attr_int(node, "opset", 13) < 13 && axis + 1 != x_shape(x).rank)
			return onnx_refuse(
				node, "opset",
				"softmax must be along the last dimension before operator set 13");
		x = x_softmax(node, x, axis);
		break;
	}
	return onnx_out(node, 0, onnx_quantise(node, x, 3, 1, onnx_in_type(node, 0)));
}

int onnx_op_qlinear_concat(struct onnx_node *node)
{
	size_t count = 0;
	WNNOperand *parts;
	uint32_t axis;

	if (node->input_count < 5 || (node->input_count - 2) % 3)
		return onnx_refuse(
			node, "",
			"it has %zu inputs: a scale and a zero point for the result, then "
			"tensor, scale and zero point for each part are needed",
			node->input_count);
	parts = onnx_node_alloc(node, (node->input_count / 3 + 1) * sizeof(*parts));
	if (!parts)
		return -1;
	for (size_t i = 2; i < node->input_count; i += 3) {
		/* Leave out an operand without elements, unless no other one is left. */
		if (!onnx_shape_elements(onnx_in_shape(node, i)) &&
		    (count || i + 3 < node->input_count))
			continue;
		parts[count] = onnx_dequantise(node, i, 1);
		if (!parts[count++])
			return onnx_out(node, 0, NULL);
	}
	if (onnx_axis(node, "axis", onnx_attr_int(node, "axis", 0), x_shape(parts[0]).rank, &axis))
		return -1;
	return onnx_out(node, 0,
			onnx_quantise(node, x_concat(node, count, parts, axis), 0, 1,
				      onnx_in_type(node, 1)));
}

/* Translates average pools; with channels_last, moves the channels to dimension 1, and back. */
int onnx_op_qlinear_pool(struct onnx_node *node)
{
	bool last = onnx_attr_int(node, "channels_last", 0);
	WNNOperand x = onnx_dequantise(node, 0, 1);
	uint32_t axes[ONNX_MAX_RANK], rank, count = 0;

	if (!x)
		return onnx_out(node, 0, NULL);
	rank = x_shape(x).rank;
	if (rank < 3)
		return onnx_refuse(node, "", "its input has no spatial dimensions");
	if (last)
		x = x_channels_first(node, x);
	for (uint32_t i = 2; i < rank; i++)
		axes[count++] = i;
	x = node->op->variant ? x_reduce(node, X_MEAN, x, count, axes, true) :
				onnx_average_pool(node, x);
	if (last)
		x = x_channels_last(node, x);
	return onnx_out(node, 0, onnx_quantise(node, x, 3, 1, onnx_in_type(node, 0)));
}

int onnx_op_qlinear_reduce_mean(struct onnx_node *node)
{
	WNNOperand x = onnx_dequantise(node, 0, 1);
	uint32_t axes[ONNX_MAX_RANK];
	const int64_t *given;
	size_t count;

	given = onnx_attr_ints(node, "axes", &count);
	if (!x)
		return onnx_out(node, 0, NULL);
	if (count > ONNX_MAX_RANK)
		return onnx_refuse(node, "axes", "there are more axes than dimensions");
	for (size_t i = 0; i < count; i++)
		if (onnx_axis(node, "axes", given[i], x_shape(x).rank, &axes[i]))
			return -1;
	for (uint32_t i = 0; !count && i < x_shape(x).rank; i++)
		axes[i] = i;
	x = x_reduce(node, X_MEAN, x, count ? (uint32_t)count : x_shape(x).rank, axes,
		     onnx_attr_int(node, "keepdims", 1));
	return onnx_out(node, 0, onnx_quantise(node, x, 3, 1, onnx_in_type(node, 0)));
}

int onnx_op_qlinear_where(struct onnx_node *node)
{
	WNNOperand condition = onnx_in(node, 0);
	WNNOperand x = condition ? onnx_dequantise(node, 1, 1) : NULL;
	WNNOperand y = x ? onnx_dequantise(node, 4, 1) : NULL;

	if (!y)
		return onnx_out(node, 0, NULL);
	return onnx_out(node, 0,
			onnx_quantise(node, x_where(node, condition, x, y), 7, 1,
				      onnx_in_type(node, 1)));
}

/* Returns a dequantised matrix, transposed if @attribute says so. */
static WNNOperand matrix(struct onnx_node *node, size_t input, int64_t axis, const char *attribute)
{
	WNNOperand x = onnx_dequantise(node, input, axis);

	if (!x || x_shape(x).rank != 2 || !onnx_attr_int(node, attribute, 0))
		return x;
	return x_move_axis(node, x, 1, 0);
}

/*
 * Translates QGemm. The bias is an integer, with the product of the other two scales and alpha as
 * its scale. Without an output scale the result is float.
 */
int onnx_op_qgemm(struct onnx_node *node)
{
	double alpha = onnx_attr_float(node, "alpha", 1);
	WNNOperand a = matrix(node, 0, 0, "transA"), bias, scale;
	WNNOperand b = a ? matrix(node, 3, onnx_attr_int(node, "transB", 0) ? 0 : 1, "transB") :
			   NULL;

	a = b ? x_matmul(node, a, b) : NULL;
	if (alpha != 1)
		a = x_linear(node, a, alpha, 0);
	if (a && onnx_has(node, 6)) {
		scale = x_mul(node, onnx_in(node, 1), onnx_in(node, 4));
		scale = x_linear(node, scale, alpha, 0);
		bias = x_cast(node, onnx_in(node, 6), WNNOperandDataType_Float32);
		a = x_add(node, a, x_mul(node, bias, scale));
	}
	if (a && onnx_has(node, 7))
		a = onnx_quantise(node, a, 7, 1, onnx_in_type(node, 0));
	return onnx_out(node, 0, a);
}

/* Translates MatMulIntegerToFloat: dequantises both matrices, multiplies them and adds the bias. */
int onnx_op_matmul_integer_to_float(struct onnx_node *node)
{
	WNNOperand a = onnx_dequantise_at(node, 0, 2, 4, -2);
	WNNOperand b = a ? onnx_dequantise_at(node, 1, 3, 5, -1) : NULL;

	if (!b)
		return onnx_out(node, 0, NULL);
	a = onnx_matmul(node, a, b);
	if (onnx_has(node, 6))
		a = x_add(node, a, onnx_in(node, 6));
	return onnx_out(node, 0, a);
}

/*
 * Translates DynamicQuantizeMatMul: quantises the input as DynamicQuantizeLinear does, and
 * multiplies the dequantised matrices.
 */
int onnx_op_dynamic_quantize_matmul(struct onnx_node *node)
{
	WNNOperand a = onnx_in(node, 0), b;
	struct onnx_dynamic d;

	if (!a || onnx_range(node, a, &d))
		return onnx_out(node, 0, NULL);
	b = onnx_dequantise(node, 1, -1);
	if (!b)
		return onnx_out(node, 0, NULL);
	a = wnnGraphBuilderDequantizeLinear(node->b, d.integers, d.full_scale, d.full_zero,
					    &node->options);
	a = onnx_matmul(node, a, b);
	if (onnx_has(node, 4))
		a = x_add(node, a, onnx_in(node, 4));
	return onnx_out(node, 0, a);
}
