// SPDX-License-Identifier: MIT
/*
 * Returns the operands of ggml's tensors: computed ones, constants, and inputs that a graph reads
 * from memory. A view of one of these becomes a slice, a transpose and a reshape, if its strides
 * are those of a part of an array.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "emit.h"

WNNOperandDataType onpu_data_type(const struct gg_tensor *tensor)
{
	switch (onpu_type_of(tensor)) {
	case TYPE_F32:
		return WNNOperandDataType_Float32;
	case TYPE_F16:
		return WNNOperandDataType_Float16;
	case TYPE_I32:
		return WNNOperandDataType_Int32;
	case TYPE_I64:
		return WNNOperandDataType_Int64;
	default:
		return WNNOperandDataType_Undefined;
	}
}

int64_t onpu_count(const struct gg_tensor *tensor)
{
	return tensor->ne[0] * tensor->ne[1] * tensor->ne[2] * tensor->ne[3];
}

const struct gg_tensor *onpu_root(const struct gg_tensor *tensor)
{
	return tensor->view_src ? tensor->view_src : tensor;
}

bool onpu_is_contiguous(const struct gg_tensor *tensor)
{
	const struct gg_type_traits *traits = base.get_type_traits(tensor->type);
	size_t stride = traits->size;

	for (int i = 0; i < GG_DIMS; i++) {
		if (tensor->ne[i] != 1 && tensor->nb[i] != stride)
			return false;
		stride *= (size_t)(i ? tensor->ne[i] : tensor->ne[i] / traits->block);
	}
	return true;
}

bool onpu_is_weight(const struct gg_tensor *tensor)
{
	const struct gg_tensor *root = onpu_root(tensor);

	return onpu_buffer_is_ours(root->buffer) && root->buffer->usage == GG_USAGE_WEIGHTS &&
	       !(root->flags & GG_FLAG_PARAM);
}

/* ---- computed values */

int onpu_value_set(struct onpu_emit *e, const struct gg_tensor *tensor, WNNOperand operand)
{
	if (e->value_count == e->value_space) {
		size_t space = 2 * e->value_space + 16;
		struct onpu_value *values = realloc(e->values, space * sizeof(*values));

		if (!values) {
			onpu_refuse(e, "memory is exhausted");
			return -1;
		}
		e->values = values;
		e->value_space = space;
	}
	e->values[e->value_count++] = (struct onpu_value){ tensor, operand };
	return 0;
}

/*
 * Returns the operand of a tensor that the graph computes, or NULL. Searches from the newest, which
 * is needed most often.
 */
static WNNOperand find_value(const struct onpu_emit *e, const struct gg_tensor *tensor)
{
	for (size_t i = e->value_count; i-- > 0;)
		if (e->values[i].tensor == tensor)
			return e->values[i].operand;
	return NULL;
}

bool onpu_value_has(const struct onpu_emit *e, const struct gg_tensor *tensor)
{
	return find_value(e, tensor);
}

/* ---- memory */

WNNOperand onpu_input(struct onpu_emit *e, const void *data, WNNOperandDataType type,
		      uint32_t count, const struct gg_tensor *quantised)
{
	WNNOperandDescriptor descriptor = WNN_OPERAND_DESCRIPTOR_INIT;
	struct onpu_input *input;

	for (size_t i = 0; !e->check && i < e->input_count; i++) {
		input = &e->inputs[i];
		if (input->data == data && input->type == type && input->count == count &&
		    !input->quantised == !quantised)
			return input->operand;
	}
	if (e->input_count == e->input_space) {
		size_t space = 2 * e->input_space + 16;
		struct onpu_input *inputs = realloc(e->inputs, space * sizeof(*inputs));

		if (!inputs)
			return onpu_refuse(e, "memory is exhausted");
		e->inputs = inputs;
		e->input_space = space;
	}
	input = &e->inputs[e->input_count];
	*input = (struct onpu_input){ data, type, count, quantised, NULL, "" };
	snprintf(input->name, sizeof(input->name), "in%zu", e->input_count);
	descriptor.dataType = type;
	descriptor.shape = (WNNUint32Array){ 1, &count };
	input->operand = wnnGraphBuilderInput(
		e->builder, (WNNStringView){ input->name, WNN_STRLEN }, &descriptor);
	if (input->operand)
		e->input_count++;
	return input->operand;
}

/* ---- views */

/* Dimensions of more than one element, with strides in elements, largest stride first. */
struct strides {
	uint32_t rank;
	uint32_t axis[GG_DIMS]; /* dimensions of ggml */
	uint64_t size[GG_DIMS], step[GG_DIMS];
};

/* Returns whether the strides are those of an array: each is a multiple of the next. */
static bool read_strides(const struct gg_tensor *tensor, size_t element, struct strides *s)
{
	s->rank = 0;
	for (uint32_t axis = GG_DIMS; axis-- > 0;) {
		uint64_t step = tensor->nb[axis] / element;
		uint32_t at = s->rank;

		if (tensor->ne[axis] == 1)
			continue;
		if (!step || tensor->nb[axis] % element)
			return false;
		for (; at > 0 && s->step[at - 1] < step; at--) {
			s->axis[at] = s->axis[at - 1];
			s->size[at] = s->size[at - 1];
			s->step[at] = s->step[at - 1];
		}
		s->axis[at] = axis;
		s->size[at] = (uint64_t)tensor->ne[axis];
		s->step[at] = step;
		s->rank++;
	}
	for (uint32_t i = 1; i < s->rank; i++)
		if (s->step[i - 1] % s->step[i] || s->step[i - 1] == s->step[i])
			return false;
	return true;
}

/*
 * Returns a view that begins at an offset of flat, which has count elements. These become an array
 * whose dimensions have the strides of the view; a part of it is taken and transposed.
 */
static WNNOperand view(struct onpu_emit *e, const struct gg_tensor *tensor, const struct strides *s,
		       WNNOperand flat, uint64_t count, uint64_t offset)
{
	struct onpu_shape box = { 0 }, starts = { 0 }, sizes = { 0 }, order = { 0 };
	uint64_t whole = s->rank ? count - count % s->step[0] : count;
	bool is_slice = whole != count;

	if (is_slice)
		flat = x_slice(e, x_reshape(e, flat, SHAPE((uint32_t)count)), SHAPE(0),
			       SHAPE((uint32_t)whole));
	for (uint32_t i = 0; i < s->rank; i++) {
		uint64_t all = (i ? s->step[i - 1] : whole) / s->step[i];

		box.dim[i] = (uint32_t)all;
		starts.dim[i] = (uint32_t)(offset / s->step[i]);
		sizes.dim[i] = (uint32_t)s->size[i];
		if (offset / s->step[i] + s->size[i] > all)
			return onpu_refuse(e, "the strides of a view are not those of an array");
		is_slice |= s->size[i] != all;
		offset %= s->step[i];
	}
	box.rank = s->rank;
	if (!s->rank || s->step[s->rank - 1] > 1) {
		box.dim[box.rank] = (uint32_t)(s->rank ? s->step[s->rank - 1] : whole);
		starts.dim[box.rank] = (uint32_t)offset;
		is_slice |= box.dim[box.rank] != 1;
		sizes.dim[box.rank++] = 1;
	}
	starts.rank = sizes.rank = box.rank;
	flat = x_reshape(e, flat, box);
	if (is_slice)
		flat = x_slice(e, flat, starts, sizes);
	for (uint32_t axis = GG_DIMS; axis-- > 0;)
		for (uint32_t i = 0; i < s->rank; i++)
			if (s->axis[i] == axis)
				order.dim[order.rank++] = i;
	for (uint32_t i = 0; i < order.rank; i++) {
		if (order.dim[i] == i)
			continue;
		sizes.rank = order.rank;
		flat = x_transpose(e, x_reshape(e, flat, sizes), order);
		break;
	}
	return x_reshape(e, flat, onpu_shape(tensor));
}

/* Returns the part of memory that a tensor is a view of, as a constant or an input. */
static WNNOperand of_memory(struct onpu_emit *e, const struct gg_tensor *tensor,
			    const struct strides *s, size_t element)
{
	const struct gg_tensor *root = onpu_root(tensor);
	uint64_t all = base.nbytes(root) / element, offset = tensor->view_offs / element;
	uint64_t from = offset, end = offset + 1, step = s->rank ? s->step[0] : 1;
	const char *data = root->data;
	WNNOperand flat;

	if (tensor == root)
		from = offset = 0, end = 1;
	for (uint32_t i = 0; i < s->rank; i++)
		end += (s->size[i] - 1) * s->step[i];
	/* Extend the part to whole steps, so that view() can make an array of it. */
	if (!onpu_is_contiguous(tensor)) {
		from -= from % step;
		end = (end + step - 1) / step * step;
		end = end < all ? end : all;
	}
	if (end > all || end - from > INT32_MAX)
		return onpu_refuse(e,
				   "an operand has more elements than its tensor or than 2^31 - 1");
	if (data)
		data += from * element;
	if (!e->check && onpu_is_weight(tensor))
		flat = x_borrow(e, onpu_data_type(tensor), SHAPE((uint32_t)(end - from)), data);
	else
		flat = onpu_input(e, data, onpu_data_type(tensor), (uint32_t)(end - from), NULL);
	return view(e, tensor, s, flat, end - from, offset - from);
}

/* Returns a part of a computed tensor; a contiguous part may begin at any element. */
static WNNOperand of_value(struct onpu_emit *e, const struct gg_tensor *tensor,
			   const struct strides *s, WNNOperand whole, uint64_t offset)
{
	uint64_t all = (uint64_t)onpu_count(onpu_root(tensor));
	uint64_t count = (uint64_t)onpu_count(tensor);

	if (!onpu_is_contiguous(tensor) || offset + count > all)
		return view(e, tensor, s, whole, all, offset);
	whole = x_reshape(e, whole, SHAPE((uint32_t)all));
	if (count != all)
		whole = x_slice(e, whole, SHAPE((uint32_t)offset), SHAPE((uint32_t)count));
	return x_reshape(e, whole, onpu_shape(tensor));
}

WNNOperand onpu_value(struct onpu_emit *e, const struct gg_tensor *tensor)
{
	WNNOperandDataType type = onpu_data_type(tensor);
	const struct gg_tensor *root = onpu_root(tensor);
	WNNOperand operand = find_value(e, tensor);
	struct strides s;
	size_t element;

	if (operand)
		return operand;
	if (type == WNNOperandDataType_Undefined)
		return onpu_refuse(e, "the type of an operand is not f32, f16, i32 or i64");
	element = wnnOperandDataTypeGetSize(type);
	if (tensor->view_offs % element || !read_strides(tensor, element, &s))
		return onpu_refuse(e, "the strides of a view are not those of an array");
	operand = root == tensor ? NULL : find_value(e, root);
	if (!operand)
		return of_memory(e, tensor, &s, element);
	if (root->type != tensor->type)
		return onpu_refuse(e, "a view has another type than the tensor that it is of");
	return of_value(e, tensor, &s, operand, tensor->view_offs / element);
}

WNNOperand onpu_float(struct onpu_emit *e, const struct gg_tensor *tensor)
{
	return x_cast(e, onpu_value(e, tensor), WNNOperandDataType_Float32);
}
