// SPDX-License-Identifier: MIT
/*
 * Writes new rows into a cache of constant size, without moving its other elements: TensorScatter,
 * and the caches of GroupQueryAttention. A graph whose output is such a cache can update the input
 * in place.
 */
#include "attention.h"
#include "ops.h"
#include "select.h"

WNNOperand onnx_write_rows(struct onnx_node *node, WNNOperand cache, uint32_t axis, WNNOperand at,
			   WNNOperand rows)
{
	struct onnx_shape all = x_shape(rows);
	WNNOperand parts[ONNX_MAX_RANK];

	all.rank = axis + 2;
	all.dim[axis + 1] = 1;
	for (uint32_t i = 0; i < axis; i++)
		parts[i] = x_expand(node, onnx_iota(node, all.rank, i, all.dim[i]), &all);
	parts[axis] = x_expand(node, at, &all);
	for (uint32_t i = 0; i <= axis; i++)
		if (!parts[i])
			return NULL;
	at = axis ? x_concat(node, axis + 1, parts, axis + 1) : parts[0];
	if (!at || !cache || !rows)
		return NULL;
	return wnnGraphBuilderScatterND(node->b, cache, at, rows, &node->options);
}

/*
 * Returns the positions in the cache at which rows are written, [batch, 1…, length, 1] with @axis +
 * 2 dimensions. Circular positions continue at 0 after @limit - 1. NULL: refused.
 */
static WNNOperand positions(struct onnx_node *node, int64_t batch, uint32_t axis, int64_t length,
			    int64_t limit, bool circular)
{
	WNNOperandDataType type = WNNOperandDataType_Int32;
	WNNOperand at = onnx_iota(node, axis + 2, axis, length), first, size;
	struct onnx_shape column = { axis + 2, { batch } };

	for (uint32_t i = 1; i < column.rank; i++)
		column.dim[i] = 1;
	if (onnx_has(node, 2)) {
		first = x_cast(node, onnx_in(node, 2), type);
		at = x_add(node, x_reshape(node, first, &column), at);
	}
	size = x_integer(node, type, limit);
	if (circular)
		at = x_sub(node, at, x_mul(node, x_div(node, at, size), size));
	return at;
}

int onnx_op_tensor_scatter(struct onnx_node *node)
{
	static const char *const modes[] = { "linear", "circular" };
	int circular = onnx_attr_choice(node, "mode", "linear", modes, 2);
	WNNOperand x = onnx_in(node, 0), update = x ? onnx_in(node, 1) : NULL, at;
	struct onnx_shape shape, rows;
	int64_t length;
	uint32_t axis, to;

	if (!update || circular < 0)
		return -1;
	shape = x_shape(x);
	rows = x_shape(update);
	if (onnx_axis(node, "axis", onnx_attr_int(node, "axis", -2), shape.rank, &axis))
		return -1;
	if (!axis)
		return onnx_refuse(node, "axis",
				   "axis is 0, which is the dimension of the batches");
	length = axis < rows.rank ? rows.dim[axis] : 0;
	rows.dim[axis] = shape.dim[axis];
	if (!onnx_shape_same(&shape, &rows) || length > shape.dim[axis] ||
	    (onnx_has(node, 2) && onnx_shape_elements(onnx_in_shape(node, 2)) != shape.dim[0]))
		return onnx_refuse(node, "update",
				   "past_cache, update and write_indices do not fit "
				   "together: the inputs are %s",
				   onnx_inputs_text(node));
	/*
	 * The tensor of positions has axis + 2 dimensions: moves an axis for which these are too
	 * many.
	 */
	to = axis + 2 > ONNX_MAX_RANK ? 1 : axis;
	at = positions(node, shape.dim[0], to, length, shape.dim[axis], circular);
	if (to != axis) {
		x = x_move_axis(node, x, axis, to);
		update = x_move_axis(node, update, axis, to);
	}
	x = at && update ? onnx_write_rows(node, x, to, at, update) : NULL;
	if (to != axis)
		x = x_move_axis(node, x, to, axis);
	if (onnx_out_as(node, 0, x, onnx_in_type(node, 0)))
		return -1;
	if (to == axis)
		onnx_note_update(node, 0, 0);
	return 0;
}
