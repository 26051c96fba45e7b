// SPDX-License-Identifier: MIT
/*
 * Translates gather, dynamic_slice and dynamic_update_slice with computed starts: the graph adds up
 * the offset of every element in the flat operand, from the clamped starts times the strides of
 * their dimensions, and a constant.
 */
#include <string.h>

#include "lower.h"
#include "offsets.h"
#include "run.h"

#define MOST_ELEMENTS 65536 /* elements of a list of offsets */

static int64_t step_of(const struct shlo_type *type, int dim)
{
	int64_t step = 1;

	for (int i = dim + 1; i < type->rank; i++)
		step *= type->dims[i];
	return step;
}

static WNNOperand scalar(const struct shlo_lower *l, enum shlo_element element, int64_t value)
{
	WNNOperandDescriptor descriptor = WNN_OPERAND_DESCRIPTOR_INIT;
	uint64_t room = 0;

	shlo_store(element, &room, 0, shlo_int(value));
	descriptor.dataType = shlo_held_type(element);
	return wnnGraphBuilderConstant(l->b, &descriptor, &room, shlo_elements[element].bytes);
}

/*
 * Returns what starts along a dimension add to the offset: the start, clamped to 0 up to @most,
 * times @step.
 */
static WNNOperand offset_of_start(const struct shlo_lower *l, WNNOperand starts,
				  enum shlo_element element, int64_t most, int64_t step)
{
	WNNOperand limit, zero, factor = scalar(l, SHLO_I32, step);

	/* A type of 8 or 16 bits cannot hold every limit, so starts become int32. */
	if (shlo_elements[element].bits < 32) {
		element = SHLO_I32;
		starts = shlo_lower_cast(l, starts, WNNOperandDataType_Int32);
	}
	limit = scalar(l, element, most);
	zero = scalar(l, element, 0);
	if (!starts || !limit || !zero || !factor)
		return NULL;
	if (shlo_class(element) == SHLO_SIGNED)
		starts = wnnGraphBuilderMax(l->b, starts, zero, &l->options);
	starts = starts ? wnnGraphBuilderMin(l->b, starts, limit, &l->options) : NULL;
	starts = shlo_lower_cast(l, starts, WNNOperandDataType_Int32);
	return starts ? wnnGraphBuilderMul(l->b, starts, factor, &l->options) : NULL;
}

static WNNOperand sum(const struct shlo_lower *l, WNNOperand a, WNNOperand b)
{
	return a && b ? wnnGraphBuilderAdd(l->b, a, b, &l->options) : NULL;
}

/* Whether a graph can compute with the starts, and offsets fit in 32 bits. */
static bool can_start(const struct shlo_lower *l, size_t first, const struct shlo_type *slice)
{
	int64_t count = shlo_type_count(shlo_operand_type(l, 0));

	for (size_t i = first; i < l->op->operand_count; i++) {
		enum shlo_element element = shlo_operand_type(l, i)->element;

		if (!shlo_is_computed(element) || shlo_is_float(element))
			return false;
	}
	return count > 0 && count <= INT32_MAX && shlo_type_count(slice) <= MOST_ELEMENTS;
}

/* ---- slices */

/*
 * Returns the offsets of a slice with these dimensions, whose starts are operands from @first on;
 * NULL: refused, or no memory.
 */
static WNNOperand slice_offsets(const struct shlo_lower *l, size_t first,
				const struct shlo_type *slice)
{
	const struct shlo_type *x = shlo_operand_type(l, 0);
	int64_t index[SHLO_MAX_RANK] = { 0 }, count = shlo_type_count(slice), at = 0;
	int32_t *fixed = import_alloc((size_t)count * sizeof(*fixed));
	static const int64_t one = 1;
	WNNOperand offsets;

	if (!fixed)
		return NULL;
	do {
		int64_t offset = 0;

		for (int i = 0; i < x->rank; i++)
			offset += index[i] * step_of(x, i);
		fixed[at++] = (int32_t)offset;
	} while (shlo_next(slice->rank, slice->dims, index));
	offsets = shlo_lower_list(l, WNNOperandDataType_Int32, fixed, count, sizeof(*fixed));
	import_free(fixed);
	for (int i = 0; i < x->rank; i++) {
		size_t operand = first + (size_t)i;
		WNNOperand start = shlo_lower_reshape(l, shlo_lowered(l, operand), &one, 1);

		offsets = sum(l, offsets,
			      offset_of_start(l, start, shlo_operand_type(l, operand)->element,
					      x->dims[i] - slice->dims[i], step_of(x, i)));
	}
	return offsets;
}

static bool fits(const struct shlo_type *slice, const struct shlo_type *x)
{
	for (int i = 0; i < x->rank; i++)
		if (slice->dims[i] > x->dims[i])
			return false;
	return slice->rank == x->rank;
}

static WNNOperand flat(const struct shlo_lower *l, size_t operand)
{
	int64_t count = shlo_type_count(shlo_operand_type(l, operand));

	return shlo_lower_reshape(l, shlo_lowered(l, operand), &count, 1);
}

bool shlo_lower_dynamic_slice(struct shlo_lower *l, WNNOperand *out)
{
	const struct shlo_type *to = shlo_result_type(l);
	WNNGatherOptions options = WNN_GATHER_OPTIONS_INIT;
	WNNOperand x, offsets;

	if (!can_start(l, 1, to) || !fits(to, shlo_operand_type(l, 0)))
		return false;
	if (!l->b)
		return true;
	options.label = l->options.label;
	x = flat(l, 0);
	offsets = slice_offsets(l, 1, to);
	x = x && offsets ? wnnGraphBuilderGather(l->b, x, offsets, &options) : NULL;
	*out = shlo_lower_reshape(l, x, to->dims, to->rank);
	return true;
}

bool shlo_lower_dynamic_update_slice(struct shlo_lower *l, WNNOperand *out)
{
	const struct shlo_type *to = shlo_result_type(l), *update = shlo_operand_type(l, 1);
	WNNScatterOptions options = WNN_SCATTER_OPTIONS_INIT;
	WNNOperand x, offsets, values;

	if (!can_start(l, 2, update) || !fits(update, shlo_operand_type(l, 0)))
		return false;
	if (!l->b)
		return true;
	options.label = l->options.label;
	x = flat(l, 0);
	values = flat(l, 1);
	offsets = slice_offsets(l, 2, update);
	x = x && values && offsets ?
		    wnnGraphBuilderScatterElements(l->b, x, offsets, values, &options) :
		    NULL;
	*out = shlo_lower_reshape(l, x, to->dims, to->rank);
	return true;
}

/* ---- gather */

/*
 * Fills in for every element of the result: in @from the offsets of its start's numbers in the flat
 * indices, one list for each number; in @fixed the constant part of its own offset.
 */
static void gather_lists(const struct shlo_lower *l, const struct shlo_gather_numbers *n,
			 int32_t *from, int32_t *fixed)
{
	const struct shlo_type *x = shlo_operand_type(l, 0), *indices = shlo_operand_type(l, 1);
	const struct shlo_type *to = shlo_result_type(l);
	int64_t index[SHLO_MAX_RANK] = { 0 }, batch[SHLO_MAX_RANK], offset[SHLO_MAX_RANK];
	int64_t count = shlo_type_count(to), at = 0;

	do {
		int64_t known = 0, vector = 0;
		int b = 0;

		shlo_split_index(n, to->rank, index, x->rank, batch, offset);
		shlo_add_batching(n, batch, offset);
		for (int i = 0; i < x->rank; i++)
			known += offset[i] * step_of(x, i);
		fixed[at] = (int32_t)known;
		for (int i = 0; i < indices->rank; i++)
			if (i != n->index_vector)
				vector += batch[b++] * step_of(indices, i);
		for (int i = 0; i < n->start_map.count; i++)
			from[i * count + at] =
				(int32_t)(vector +
					  (n->index_vector < indices->rank ?
						   i * step_of(indices, (int)n->index_vector) :
						   0));
		at++;
	} while (shlo_next(to->rank, to->dims, index));
}

static WNNOperand gather_offsets(const struct shlo_lower *l, const struct shlo_gather_numbers *n,
				 const int64_t *sizes, int32_t *lists)
{
	const struct shlo_type *x = shlo_operand_type(l, 0);
	int64_t count = shlo_type_count(shlo_result_type(l));
	WNNGatherOptions options = WNN_GATHER_OPTIONS_INIT;
	WNNOperand indices = flat(l, 1), offsets;

	gather_lists(l, n, lists + count, lists);
	options.label = l->options.label;
	offsets = shlo_lower_list(l, WNNOperandDataType_Int32, lists, count, sizeof(*lists));
	for (int i = 0; i < n->start_map.count; i++) {
		int dim = (int)n->start_map.at[i];
		WNNOperand from = shlo_lower_list(l, WNNOperandDataType_Int32,
						  lists + (i + 1) * count, count, sizeof(*lists));
		WNNOperand starts = indices && from ?
					    wnnGraphBuilderGather(l->b, indices, from, &options) :
					    NULL;

		offsets = sum(l, offsets,
			      offset_of_start(l, starts, shlo_operand_type(l, 1)->element,
					      x->dims[dim] - sizes[dim], step_of(x, dim)));
	}
	return offsets;
}

bool shlo_lower_gather_computed(struct shlo_lower *l, WNNOperand *out)
{
	const struct shlo_type *x = shlo_operand_type(l, 0), *to = shlo_result_type(l);
	int64_t sizes[SHLO_MAX_RANK], count = shlo_type_count(to);
	WNNGatherOptions options = WNN_GATHER_OPTIONS_INIT;
	struct shlo_gather_numbers n;
	WNNOperand flat_x, offsets;
	int32_t *lists;

	if (!can_start(l, 1, to))
		return false;
	shlo_gather_numbers(l->op, false, &n);
	shlo_lower_ints(l, "slice_sizes", sizes);
	for (int i = 0; i < x->rank; i++)
		if (sizes[i] > x->dims[i])
			return false;
	if (!l->b)
		return true;
	lists = import_alloc((size_t)(count * (1 + n.start_map.count)) * sizeof(*lists));
	if (!lists)
		return true;
	options.label = l->options.label;
	flat_x = flat(l, 0);
	offsets = gather_offsets(l, &n, sizes, lists);
	import_free(lists);
	flat_x = flat_x && offsets ? wnnGraphBuilderGather(l->b, flat_x, offsets, &options) : NULL;
	*out = shlo_lower_reshape(l, flat_x, to->dims, to->rank);
	return true;
}
