// SPDX-License-Identifier: MIT
/*
 * Translates regions of scalars to operators on many elements at once: those of maps, and those of
 * reductions with more than one operation, such as the search for the largest element and its
 * index.
 */
#include "lower.h"

#include <string.h>

#include "numbers.h"

#define MOST_INNER   32 /* operations in a region */
#define MOST_ORDERED 16 /* elements that are combined one after the other */
#define MOST_CELLS   65536

static const struct shlo_attr *constant_of(const struct shlo_value *value)
{
	const struct shlo_attr *attr = value->op && value->op->kind->family == SHLO_CONSTANT ?
					       shlo_attr_find(&value->op->attrs, "value") :
					       NULL;

	return attr && attr->kind == SHLO_ATTR_DENSE && value->type->rank == 0 ? attr : NULL;
}

/*
 * Returns the index in the block of the operation that defines a value; the number of operations
 * when none does.
 */
static size_t place_in(const struct shlo_block *block, const struct shlo_value *value)
{
	size_t i = 0;

	while (i < block->op_count && block->ops[i] != value->op)
		i++;
	return value->op ? i : block->op_count;
}

static bool is_argument(const struct shlo_block *block, const struct shlo_value *value)
{
	for (size_t i = 0; i < block->argument_count; i++)
		if (block->arguments[i] == value)
			return true;
	return false;
}

bool shlo_can_lower_region(const struct shlo_region *region)
{
	const struct shlo_block *block = &region->block;
	const struct shlo_op *last = block->op_count ? block->ops[block->op_count - 1] : NULL;
	/* by result: whether it has an element for each element of the arguments */
	bool wide[MOST_INNER + 1] = { false };

	if (!last || block->op_count > MOST_INNER)
		return false;
	for (size_t i = 0; i < block->op_count; i++) {
		const struct shlo_op *op = block->ops[i];

		if (op->kind->family == SHLO_CONSTANT)
			continue;
		wide[i] = op == last;
		for (size_t k = 0; k < op->operand_count; k++) {
			const struct shlo_value *value = op->operands[k];
			size_t at = place_in(block, value);
			bool is_wide = is_argument(block, value) || (at < i && wide[at]);

			if (!is_wide && at >= i && !constant_of(value))
				return false;
			wide[i] = op == last ? wide[i] && is_wide : wide[i] || is_wide;
		}
		if (op != last && (op->kind->family == SHLO_OTHER || !shlo_can_lower(op)))
			return false;
	}
	return wide[block->op_count - 1];
}

static WNNOperand constant(const struct shlo_lower *l, const struct shlo_value *value)
{
	WNNOperandDescriptor descriptor = WNN_OPERAND_DESCRIPTOR_INIT;

	descriptor.dataType = shlo_held_type(value->type->element);
	return wnnGraphBuilderConstant(l->b, &descriptor, constant_of(value)->data,
				       shlo_elements[value->type->element].bytes);
}

bool shlo_lower_region(const struct shlo_lower *l, const struct shlo_region *region,
		       WNNOperand const *in, WNNOperand *out)
{
	const struct shlo_block *block = &region->block;
	const struct shlo_op *last = block->ops[block->op_count - 1];
	struct shlo_lower inner = *l;

	for (size_t i = 0; i < block->argument_count; i++)
		l->operands[block->arguments[i]->slot] = in[i];
	for (size_t i = 0; i + 1 < block->op_count; i++) {
		const struct shlo_op *op = block->ops[i];

		if (op->kind->family == SHLO_CONSTANT)
			continue;
		for (size_t k = 0; k < op->operand_count; k++)
			if (constant_of(op->operands[k]))
				l->operands[op->operands[k]->slot] = constant(l, op->operands[k]);
		for (size_t k = 0; k < op->operand_count; k++)
			if (!l->operands[op->operands[k]->slot])
				return false;
		inner.op = op;
		if (!shlo_lower(&inner))
			return false;
	}
	for (size_t i = 0; i < last->operand_count; i++)
		out[i] = l->operands[last->operands[i]->slot];
	return true;
}

bool shlo_lower_map(struct shlo_lower *l, WNNOperand *out)
{
	WNNOperand in[SHLO_MOST_LOWERED];

	if (l->op->operand_count > SHLO_MOST_LOWERED || !shlo_can_lower_region(l->op->regions[0]))
		return false;
	for (size_t i = 0; l->b && i < l->op->operand_count; i++)
		in[i] = shlo_lowered(l, i);
	if (l->b && !shlo_lower_region(l, l->op->regions[0], in, out))
		*out = NULL;
	return true;
}

/* ---- reductions */

static WNNOperand columns_of(const struct shlo_lower *l, WNNOperand x, int64_t rows, int64_t start,
			     int64_t count, int64_t stride)
{
	WNNSliceOptions options = WNN_SLICE_OPTIONS_INIT;
	const int64_t from[2] = { 0, start }, counts[2] = { rows, (count - 1) * stride + 1 };
	const int64_t steps[2] = { 1, stride };
	struct shlo_sizes starts, sizes, strides;

	shlo_sizes_init(&starts, from, 2);
	shlo_sizes_init(&sizes, counts, 2);
	shlo_sizes_init(&strides, steps, 2);
	options.label = l->options.label;
	options.strides = strides.array;
	return x ? wnnGraphBuilderSlice(l->b, x, starts.array, sizes.array, &options) : NULL;
}

struct reduction {
	const struct shlo_lower *l;
	size_t count; /* number of inputs */
	int64_t rows, columns;
	/* [rows, columns]: kept dimensions, reduced dimensions */
	WNNOperand x[SHLO_MOST_LOWERED / 2];
};

/*
 * Combines each column with its neighbour in order, which halves the number of columns; false:
 * refused.
 */
static bool halve(struct reduction *r)
{
	int64_t half = r->columns / 2;
	WNNOperand in[SHLO_MOST_LOWERED], rest[SHLO_MOST_LOWERED / 2];

	for (size_t i = 0; i < r->count; i++) {
		in[i] = columns_of(r->l, r->x[i], r->rows, 0, half, 2);
		in[r->count + i] = columns_of(r->l, r->x[i], r->rows, 1, half, 2);
		rest[i] = r->columns % 2 ?
				  columns_of(r->l, r->x[i], r->rows, r->columns - 1, 1, 1) :
				  NULL;
		if (!in[i] || !in[r->count + i] || (r->columns % 2 && !rest[i]))
			return false;
	}
	if (!shlo_lower_region(r->l, r->l->op->regions[0], in, r->x))
		return false;
	for (size_t i = 0; r->columns % 2 && i < r->count; i++) {
		WNNOperand parts[2] = { r->x[i], rest[i] };

		r->x[i] = parts[0] ? wnnGraphBuilderConcat(r->l->b, 2, parts, 1, &r->l->options) :
				     NULL;
	}
	r->columns = half + r->columns % 2;
	return true;
}

/*
 * Combines the columns one after the other. The region's first argument is the result so far, at
 * first the initial value. False: refused.
 */
static bool combine(struct reduction *r, WNNOperand *out)
{
	const struct shlo_lower *l = r->l;
	WNNOperand in[SHLO_MOST_LOWERED], sum[SHLO_MOST_LOWERED / 2];
	const int64_t dims[2] = { r->rows, 1 };
	struct shlo_sizes sizes;

	shlo_sizes_init(&sizes, dims, 2);
	for (size_t i = 0; i < r->count; i++)
		sum[i] = wnnGraphBuilderExpand(l->b, shlo_lowered(l, r->count + i), sizes.array,
					       &l->options);
	for (int64_t at = 0; at < r->columns; at++) {
		for (size_t i = 0; i < r->count; i++) {
			in[i] = sum[i];
			in[r->count + i] = columns_of(l, r->x[i], r->rows, at, 1, 1);
			if (!in[i] || !in[r->count + i])
				return false;
		}
		if (!shlo_lower_region(l, l->op->regions[0], in, sum))
			return false;
	}
	for (size_t i = 0; i < r->count; i++)
		out[i] = shlo_lower_reshape(l, sum[i], l->op->results[i]->type->dims,
					    l->op->results[i]->type->rank);
	return true;
}

bool shlo_only_chooses(const struct shlo_region *region)
{
	for (size_t i = 0; i + 1 < region->block.op_count; i++) {
		const struct shlo_op *op = region->block.ops[i];
		enum shlo_family family = op->kind->family;

		if (family != SHLO_COMPARE && family != SHLO_SELECT && family != SHLO_CONSTANT &&
		    !(family == SHLO_BINARY &&
		      (op->results[0]->type->element == SHLO_I1 ||
		       op->kind->code == SHLO_B_MAXIMUM || op->kind->code == SHLO_B_MINIMUM)))
			return false;
	}
	return true;
}

/*
 * Whether all values have the type of their operand, and rounding between two steps cannot change
 * the graph's result. It can for float16, unless the region only compares and selects.
 */
static bool is_exact(const struct shlo_op *op, size_t count)
{
	const struct shlo_block *block = &op->regions[0]->block;
	bool chooses = shlo_only_chooses(op->regions[0]);

	for (size_t i = 0; i < 2 * count; i++) {
		enum shlo_element element = op->operands[i]->type->element;

		if (op->results[i % count]->type->element != element ||
		    block->arguments[i]->type->element != element ||
		    (element == SHLO_F16 && !chooses))
			return false;
	}
	return true;
}

bool shlo_lower_reduce_any(struct shlo_lower *l, const struct shlo_list *over, WNNOperand *out)
{
	const struct shlo_type *x = l->op->operands[0]->type;
	struct reduction r = { .l = l, .count = l->op->operand_count / 2, .rows = 1, .columns = 1 };
	int64_t order[SHLO_MAX_RANK], dims[2];
	int count = 0;

	for (int k = 0; k < 2; k++)
		for (int i = 0; i < x->rank; i++)
			if (shlo_list_has(over, i) == (k == 1)) {
				*(k ? &r.columns : &r.rows) *= x->dims[i];
				order[count++] = i;
			}
	if (l->op->operand_count > SHLO_MOST_LOWERED || !is_exact(l->op, r.count) ||
	    !shlo_can_lower_region(l->op->regions[0]) || r.columns > MOST_CELLS ||
	    (r.columns > MOST_ORDERED && !shlo_only_chooses(l->op->regions[0])))
		return false;
	if (!l->b)
		return true;
	dims[0] = r.rows;
	dims[1] = r.columns;
	for (size_t i = 0; i < r.count; i++) {
		r.x[i] = shlo_lower_transpose(l, shlo_lowered(l, i), order, x->rank);
		r.x[i] = shlo_lower_reshape(l, r.x[i], dims, 2);
		if (!r.x[i])
			return true;
	}
	while (r.columns > MOST_ORDERED)
		if (!halve(&r))
			return true;
	if (!combine(&r, out))
		memset(out, 0, r.count * sizeof(*out));
	return true;
}
