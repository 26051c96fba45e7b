// SPDX-License-Identifier: MIT
/* Moves elements: of small constants at import, of other values by operators of the graph. */
#include "move.h"

#include <string.h>

bool onnx_is_small(const struct onnx_value *value)
{
	int64_t elements = onnx_shape_elements(&value->shape);

	return value->data && onnx_type_bits(value->type) >= 8 && elements >= 0 &&
	       elements <= ONNX_SMALL;
}

static bool result_is_small(const struct onnx_shape *shape)
{
	int64_t elements = onnx_shape_elements(shape);

	return elements >= 0 && elements <= ONNX_SMALL;
}

/* Returns a new constant and sets *data to its memory, which the caller fills; NULL: refused. */
static struct onnx_value *constant(struct onnx_node *node, int type, const struct onnx_shape *shape,
				   uint8_t **data)
{
	struct onnx_value *value = onnx_new_value(node);

	*data = onnx_node_alloc(node, onnx_data_size(type, onnx_shape_elements(shape)) + 1);
	if (!value || !*data)
		return NULL;
	value->type = type;
	value->shape = *shape;
	value->data = *data;
	return value;
}

/*
 * Returns a constant whose element (i0, i1 …) is element base + i0 * stride[0] + i1 * stride[1] …
 * of @from.
 */
static struct onnx_value *strided(struct onnx_node *node, const struct onnx_value *from,
				  const struct onnx_shape *shape, int64_t base,
				  const int64_t *stride)
{
	int64_t elements = onnx_shape_elements(shape), index[ONNX_MAX_RANK] = { 0 };
	size_t size = onnx_type_bits(from->type) / 8;
	uint8_t *data;
	struct onnx_value *value = constant(node, from->type, shape, &data);

	if (!value)
		return NULL;
	for (int64_t i = 0; i < elements; i++) {
		int64_t at = base;

		for (uint32_t k = 0; k < shape->rank; k++)
			at += index[k] * stride[k];
		memcpy(data + (size_t)i * size, (const uint8_t *)from->data + (size_t)at * size,
		       size);
		for (uint32_t k = shape->rank; k-- && ++index[k] == shape->dim[k];)
			index[k] = 0;
	}
	return value;
}

static void row_major(const struct onnx_shape *shape, int64_t *stride)
{
	int64_t step = 1;

	for (uint32_t i = shape->rank; i--;) {
		stride[i] = step;
		step *= shape->dim[i];
	}
}

/* Returns a value for an operand, with the type of @like; NULL: refused. */
static struct onnx_value *computed(struct onnx_node *node, WNNOperand operand,
				   const struct onnx_value *like)
{
	return onnx_value_of(node, operand, like->type);
}

struct onnx_value *onnx_move_reshape(struct onnx_node *node, struct onnx_value *value,
				     const struct onnx_shape *shape)
{
	struct onnx_value *result;

	if (onnx_shape_elements(shape) != onnx_shape_elements(&value->shape)) {
		onnx_refuse(node, "shape", "%s cannot be reshaped to %s",
			    onnx_shape_text(node->import->arena, &value->shape),
			    onnx_shape_text(node->import->arena, shape));
		return NULL;
	}
	if (onnx_shape_same(shape, &value->shape))
		return value;
	if (!value->data)
		return computed(node, x_reshape(node, onnx_operand(node, value), shape), value);
	/* The new value shares the constant's elements. */
	result = onnx_new_value(node);
	if (!result)
		return NULL;
	*result = *value;
	result->shape = *shape;
	result->operand = NULL;
	result->carrier = NULL;
	return result;
}

struct onnx_value *onnx_move_transpose(struct onnx_node *node, struct onnx_value *value,
				       const uint32_t *permutation)
{
	struct onnx_shape shape = { value->shape.rank, { 0 } };
	int64_t stride[ONNX_MAX_RANK], moved[ONNX_MAX_RANK];

	if (!onnx_is_small(value))
		return computed(node, x_transpose(node, onnx_operand(node, value), permutation),
				value);
	row_major(&value->shape, stride);
	for (uint32_t i = 0; i < shape.rank; i++) {
		shape.dim[i] = value->shape.dim[permutation[i]];
		moved[i] = stride[permutation[i]];
	}
	return strided(node, value, &shape, 0, moved);
}

struct onnx_value *onnx_move_expand(struct onnx_node *node, struct onnx_value *value,
				    const struct onnx_shape *shape)
{
	int64_t stride[ONNX_MAX_RANK], own[ONNX_MAX_RANK];
	uint32_t more = shape->rank - value->shape.rank;

	if (onnx_shape_same(shape, &value->shape))
		return value;
	if (!onnx_shape_elements(shape))
		return onnx_empty_value(node, value->type, shape);
	if (!onnx_is_small(value) || !result_is_small(shape))
		return computed(node, x_expand(node, onnx_operand(node, value), shape), value);
	row_major(&value->shape, own);
	for (uint32_t i = 0; i < shape->rank; i++)
		stride[i] = i < more || value->shape.dim[i - more] == 1 ? 0 : own[i - more];
	return strided(node, value, shape, 0, stride);
}

struct onnx_value *onnx_move_tile(struct onnx_node *node, struct onnx_value *value,
				  const int64_t *repeats)
{
	uint32_t rank = value->shape.rank, room[ONNX_MAX_RANK];
	struct onnx_shape tiled = { rank, { 0 } };
	WNNOperand operand;

	for (uint32_t i = 0; i < rank; i++) {
		if (repeats[i] < 0 || repeats[i] > UINT32_MAX) {
			onnx_refuse(node, "repeats",
				    "dimension %u would be repeated %lld times, which is not from "
				    "0 to %lld",
				    i, (long long)repeats[i], (long long)UINT32_MAX);
			return NULL;
		}
		room[i] = (uint32_t)repeats[i];
	}
	/* Inserts a dimension before each one and repeats along it. */
	if (onnx_is_small(value) && rank * 2 <= ONNX_MAX_RANK) {
		struct onnx_shape wide = { rank * 2, { 0 } }, shape = { rank, { 0 } };
		int64_t own[ONNX_MAX_RANK], stride[ONNX_MAX_RANK] = { 0 };

		row_major(&value->shape, own);
		for (uint32_t i = 0; i < rank; i++) {
			wide.dim[2 * i] = repeats[i];
			wide.dim[2 * i + 1] = value->shape.dim[i];
			stride[2 * i + 1] = own[i];
		}
		if (result_is_small(&wide)) {
			struct onnx_value *result = strided(node, value, &wide, 0, stride);

			for (uint32_t i = 0; i < rank; i++)
				shape.dim[i] = repeats[i] * value->shape.dim[i];
			return result ? onnx_move_reshape(node, result, &shape) : NULL;
		}
	}
	for (uint32_t i = 0; i < rank; i++)
		tiled.dim[i] = repeats[i] * value->shape.dim[i];
	if (!onnx_shape_elements(&tiled))
		return onnx_empty_value(node, value->type, &tiled);
	operand = onnx_operand(node, value);
	if (!operand)
		return NULL;
	operand = wnnGraphBuilderTile(node->b, operand,
				      rank ? (WNNUint32Array){ rank, room } : WNN_UINT32_EMPTY,
				      &node->options);
	return computed(node, operand, value);
}

struct onnx_value *onnx_move_slice(struct onnx_node *node, struct onnx_value *value,
				   const int64_t *starts, const int64_t *sizes,
				   const int64_t *strides)
{
	struct onnx_shape shape = { value->shape.rank, { 0 } };
	int64_t own[ONNX_MAX_RANK], begin[ONNX_MAX_RANK], extent[ONNX_MAX_RANK], base = 0;
	int64_t step[ONNX_MAX_RANK];
	WNNOperand operand;

	row_major(&value->shape, own);
	for (uint32_t i = 0; i < shape.rank; i++) {
		shape.dim[i] = sizes[i];
		base += starts[i] * own[i];
		own[i] *= strides[i];
	}
	if (onnx_is_small(value) || !onnx_shape_elements(&shape))
		return strided(node, value, &shape, base, own);
	if (!onnx_shape_elements(&shape))
		return onnx_empty_value(node, value->type, &shape);
	operand = onnx_operand(node, value);
	for (uint32_t i = 0; operand && i < shape.rank; i++) {
		step[i] = strides[i] < 0 ? -strides[i] : strides[i];
		begin[i] = starts[i];
		extent[i] = (sizes[i] - 1) * step[i] + 1;
		if (strides[i] < 0) {
			operand = x_reverse(node, operand, i);
			begin[i] = value->shape.dim[i] - 1 - starts[i];
		}
	}
	return computed(node, x_slice(node, operand, begin, extent, step), value);
}

static struct onnx_value *concat_constants(struct onnx_node *node, size_t count,
					   struct onnx_value **values, uint32_t axis,
					   const struct onnx_shape *shape)
{
	size_t size = onnx_type_bits(values[0]->type) / 8, outer = 1, at = 0;
	uint8_t *data;
	struct onnx_value *result = constant(node, values[0]->type, shape, &data);

	if (!result)
		return NULL;
	for (uint32_t i = 0; i < axis; i++)
		outer *= (size_t)shape->dim[i];
	for (size_t o = 0; o < outer; o++)
		for (size_t i = 0; i < count; i++) {
			size_t bytes =
				(size_t)onnx_shape_elements(&values[i]->shape) * size / outer;

			memcpy(data + at, (const uint8_t *)values[i]->data + o * bytes, bytes);
			at += bytes;
		}
	return result;
}

struct onnx_value *onnx_move_concat(struct onnx_node *node, size_t count,
				    struct onnx_value **values, uint32_t axis)
{
	struct onnx_shape shape = values[0]->shape;
	bool small = onnx_is_small(values[0]);
	WNNOperand *operands;
	size_t used = 0;

	for (size_t i = 1; i < count; i++) {
		struct onnx_shape other = values[i]->shape;

		small = small && onnx_is_small(values[i]) && values[i]->type == values[0]->type;
		if (other.rank == shape.rank) {
			int64_t size = other.dim[axis];

			other.dim[axis] = shape.dim[axis];
			shape.dim[axis] += onnx_shape_same(&other, &shape) ? size : 0;
			other.dim[axis] = shape.dim[axis];
		}
		if (!onnx_shape_same(&other, &shape)) {
			onnx_refuse(node, "axis", "input %zu of shape %s does not fit input 0", i,
				    onnx_shape_text(node->import->arena, &values[i]->shape));
			return NULL;
		}
	}
	if (small && result_is_small(&shape))
		return concat_constants(node, count, values, axis, &shape);
	operands = onnx_node_alloc(node, count * sizeof(WNNOperand));
	if (!operands)
		return NULL;
	/* Operands without elements are left out. */
	for (size_t i = 0; i < count; i++) {
		if (!onnx_shape_elements(&values[i]->shape) && count - i + used > 1)
			continue;
		operands[used] = onnx_operand(node, values[i]);
		if (!operands[used++])
			return NULL;
	}
	return computed(node, x_concat(node, used, operands, axis), values[0]);
}

struct onnx_value *onnx_move_gather(struct onnx_node *node, struct onnx_value *value,
				    struct onnx_value *indices, uint32_t axis)
{
	struct onnx_shape shape = { value->shape.rank + indices->shape.rank - 1, { 0 } };
	size_t size = onnx_type_bits(value->type) / 8, outer = 1, inner = 1, count;
	WNNOperand operand, index;
	struct onnx_value *result;
	uint8_t *data;

	if (shape.rank > ONNX_MAX_RANK) {
		onnx_refuse(node, "", "the result would have more than 8 dimensions");
		return NULL;
	}
	for (uint32_t i = 0; i < shape.rank; i++)
		shape.dim[i] = i < axis ? value->shape.dim[i] :
			       i < axis + indices->shape.rank ?
					  indices->shape.dim[i - axis] :
					  value->shape.dim[i + 1 - indices->shape.rank];
	if (!onnx_shape_elements(&shape))
		return onnx_empty_value(node, value->type, &shape);
	if (!onnx_is_small(value) || !onnx_is_small(indices) || !result_is_small(&shape)) {
		operand = onnx_operand(node, value);
		index = operand ? onnx_operand(node, indices) : NULL;
		return index ? computed(node, x_gather(node, operand, index, axis), value) : NULL;
	}
	result = constant(node, value->type, &shape, &data);
	for (uint32_t i = 0; i < value->shape.rank; i++)
		if (i != axis)
			*(i < axis ? &outer : &inner) *= (size_t)value->shape.dim[i];
	count = (size_t)onnx_shape_elements(&indices->shape);
	for (size_t o = 0; result && o < outer; o++)
		for (size_t i = 0; i < count; i++) {
			int64_t at = onnx_value_int(indices, i), limit = value->shape.dim[axis];

			if (at < -limit || at >= limit) {
				onnx_refuse(node, "indices",
					    "index %lld is out of range: the dimension has %lld "
					    "elements",
					    (long long)at, (long long)limit);
				return NULL;
			}
			at += at < 0 ? limit : 0;
			memcpy(data + (o * count + i) * inner * size,
			       (const uint8_t *)value->data +
				       (o * (size_t)limit + (size_t)at) * inner * size,
			       inner * size);
		}
	return result;
}
