// SPDX-License-Identifier: MIT
/* Cast and CastLike. */
#include "carrier.h"
#include "ops.h"

/* Converts numbers to the integer type @to by keeping only the low bits that it has. */
static WNNOperand to_integers(struct onnx_node *node, WNNOperand x, int to)
{
	WNNOperandDataType webnn = onnx_type_webnn(to);

	x = onnx_wrap(node, x_cast(node, x, WNNOperandDataType_Int32), to);
	return onnx_type_bits(to) < 8 ? onnx_to_four_bits(node, x, webnn) : x_cast(node, x, webnn);
}

static bool few_bits(int type)
{
	return onnx_type_bits(type) < 8 && !onnx_type_is_float(type);
}

static WNNOperand convert(struct onnx_node *node, WNNOperand x, int from, int to)
{
	WNNOperandDataType webnn = onnx_type_webnn(to);

	if (few_bits(from))
		x = onnx_from_four_bits(node, x);
	if (to == ONNX_BOOL)
		return x_not(node, x_equal(node, x, x_like(node, x, 0)));
	if (few_bits(to) || to == ONNX_INT16 || to == ONNX_UINT16)
		return to_integers(node, x, to);
	if (onnx_type_is_carried(to))
		x = onnx_round_to(node, x, to, to != ONNX_BFLOAT16 && onnx_saturates(node),
				  (enum onnx_rounding)onnx_rounding_of(node));
	return x_cast(node, x, webnn);
}

int onnx_op_cast(struct onnx_node *node)
{
	int to = (int)onnx_attr_int(node, "to", 0), from = onnx_in_type(node, 0);
	WNNOperand x;

	if (!onnx_has(node, 0))
		return onnx_refuse(node, "", "input 0 is missing");
	if (node->op->variant) {
		if (!onnx_has(node, 1))
			return onnx_refuse(node, "", "input 1 is missing");
		to = onnx_in_type(node, 1);
	}
	if (onnx_type_webnn(to) == WNNOperandDataType_Undefined)
		return onnx_refuse(node, "to", "WebNN has no type for %s",
				   onnx_type_text(node->import->arena, to));
	node->import->doubles = node->import->doubles || to == ONNX_DOUBLE;
	if (from == to)
		return onnx_out_value(node, 0, node->inputs[0]);
	x = onnx_in(node, 0);
	if (!x || onnx_rounding_of(node) < 0)
		return -1;
	return onnx_out_as(node, 0, convert(node, x, from, to), to);
}
