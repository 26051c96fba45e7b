// SPDX-License-Identifier: MIT
/*
 * TensorScatter: writes new rows into a cache of constant size, at a position that each batch has.
 */
#include "ops.h"
#include "select.h"

/*
 * Returns positions [batch, length, 2] of the rows that are written: batch, and row of the cache.
 */
static WNNOperand places(struct onnx_node *node, int64_t batch, int64_t length, int64_t limit,
			 bool circular)
{
	WNNOperandDataType type = WNNOperandDataType_Int32;
	struct onnx_shape column = { 3, { batch, 1, 1 } }, all = { 3, { batch, length, 1 } };
	WNNOperand at = onnx_iota(node, 3, 1, length), parts[2], first, size;

	if (onnx_has(node, 2)) {
		first = x_cast(node, onnx_in(node, 2), type);
		at = x_add(node, x_reshape(node, first, &column), at);
	}
	size = x_integer(node, type, limit);
	if (circular)
		at = x_sub(node, at, x_mul(node, x_div(node, at, size), size));
	parts[0] = x_expand(node, onnx_iota(node, 3, 0, batch), &all);
	parts[1] = x_expand(node, at, &all);
	return parts[0] && parts[1] ? x_concat(node, 2, parts, 2) : NULL;
}

int onnx_op_tensor_scatter(struct onnx_node *node)
{
	static const char *const modes[] = { "linear", "circular" };
	int circular = onnx_attr_choice(node, "mode", "linear", modes, 2);
	WNNOperand x = onnx_in(node, 0), update = x ? onnx_in(node, 1) : NULL, at;
	struct onnx_shape shape, rows;
	int64_t length;
	uint32_t axis;

	if (!update || circular < 0)
		return -1;
	shape = x_shape(x);
	rows = x_shape(update);
	if (onnx_axis(node, "axis", onnx_attr_int(node, "axis", -2), shape.rank, &axis))
		return -1;
	length = axis < rows.rank ? rows.dim[axis] : 0;
	rows.dim[axis] = shape.dim[axis];
	if (!axis || !onnx_shape_same(&shape, &rows) || length > shape.dim[axis] ||
	    (onnx_has(node, 2) && onnx_shape_elements(onnx_in_shape(node, 2)) != shape.dim[0]))
		return onnx_refuse(node, "update",
				   "past_cache, update and write_indices do not fit "
				   "together: the inputs are %s",
				   onnx_inputs_text(node));
	at = places(node, shape.dim[0], length, shape.dim[axis], circular);
	x = x_move_axis(node, x, axis, 1);
	update = x_move_axis(node, update, axis, 1);
	if (!at || !x || !update)
		return onnx_out(node, 0, NULL);
	x = wnnGraphBuilderScatterND(node->b, x, at, update, &node->options);
	return onnx_out_as(node, 0, x_move_axis(node, x, 1, axis), onnx_in_type(node, 0));
}
