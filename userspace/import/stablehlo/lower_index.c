// SPDX-License-Identifier: MIT
/*
 * Translates gather and scatter with constant indices. Each element of the result is an element of
 * a flat operand, by a list of offsets that is known when the graph is built. Updates that collide
 * are combined in the order of the specification, in steps.
 */
#include "lower.h"

#include <string.h>

#include "offsets.h"
#include "run.h"

#define MOST_ELEMENTS 65536 /* elements of a list of offsets */
#define MOST_STEPS    64    /* steps that are done one after the other */

static bool is_constant(const struct shlo_lower *l, size_t operand)
{
	const struct shlo_op *op = l->op->operands[operand]->op;

	return op && op->kind && op->kind->family == SHLO_CONSTANT;
}

static const struct shlo_tensor *constant_of(const struct shlo_lower *l, size_t operand)
{
	return l->frame->slots[l->op->operands[operand]->slot];
}

static bool is_small(const struct shlo_type *type)
{
	return shlo_type_count(type) <= MOST_ELEMENTS;
}

static WNNOperand flat(const struct shlo_lower *l, WNNOperand x, int64_t count)
{
	return shlo_lower_reshape(l, x, &count, 1);
}

WNNOperand shlo_lower_taken(const struct shlo_lower *l, WNNOperand x, const int32_t *offsets,
			    int64_t count)
{
	WNNGatherOptions options = WNN_GATHER_OPTIONS_INIT;
	WNNOperand indices =
		shlo_lower_list(l, WNNOperandDataType_Int32, offsets, count, sizeof(*offsets));

	options.label = l->options.label;
	return x && indices ? wnnGraphBuilderGather(l->b, x, indices, &options) : NULL;
}

/* Returns the result as a gather from a flat operand; @find fills in the offset of each element. */
static WNNOperand take_result(const struct shlo_lower *l, WNNOperand x,
			      void (*find)(const struct shlo_lower *l, int32_t *offsets))
{
	const struct shlo_type *to = shlo_result_type(l);
	int64_t count = shlo_type_count(to);
	int32_t *offsets = import_alloc((size_t)count * sizeof(*offsets));

	if (!offsets)
		return NULL;
	find(l, offsets);
	x = shlo_lower_reshape(l, shlo_lower_taken(l, x, offsets, count), to->dims, to->rank);
	import_free(offsets);
	return x;
}

/* ---- gather */

static void gather_offsets(const struct shlo_lower *l, int32_t *offsets)
{
	const struct shlo_type *x = shlo_operand_type(l, 0), *out = shlo_result_type(l);
	const struct shlo_tensor *indices = constant_of(l, 1);
	int64_t index[SHLO_MAX_RANK] = { 0 }, batch[SHLO_MAX_RANK], window[SHLO_MAX_RANK];
	int64_t start[SHLO_MAX_RANK], sizes[SHLO_MAX_RANK], at = 0;
	bool is_unsigned = shlo_class(indices->type.element) == SHLO_UNSIGNED;
	struct shlo_gather_numbers n;

	shlo_gather_numbers(l->op, false, &n);
	shlo_lower_ints(l, "slice_sizes", sizes);
	do {
		int64_t offset = 0;

		shlo_split_index(&n, out->rank, index, x->rank, batch, window);
		shlo_start_of(&n, indices, batch, x->rank, start);
		for (int i = 0; i < x->rank; i++)
			start[i] = shlo_clamped(start[i], x->dims[i] - sizes[i], is_unsigned) +
				   window[i];
		shlo_add_batching(&n, batch, start);
		for (int i = 0; i < x->rank; i++)
			offset = offset * x->dims[i] + start[i];
		offsets[at++] = (int32_t)offset;
	} while (shlo_next(out->rank, out->dims, index));
}

bool shlo_lower_gather(struct shlo_lower *l, WNNOperand *out)
{
	if (!is_constant(l, 1))
		return shlo_lower_gather_computed(l, out);
	if (!is_small(shlo_result_type(l)))
		return false;
	if (l->b)
		*out = take_result(
			l, flat(l, shlo_lowered(l, 0), shlo_type_count(shlo_operand_type(l, 0))),
			gather_offsets);
	return true;
}

/* ---- scatter */

/* Fills in the offset that each element of the updates goes to; -1: outside of the operand. */
static void scatter_offsets(const struct shlo_lower *l, int32_t *offsets)
{
	const struct shlo_type *x = shlo_operand_type(l, 0), *updates = shlo_operand_type(l, 2);
	const struct shlo_tensor *indices = constant_of(l, 1);
	int64_t index[SHLO_MAX_RANK] = { 0 }, batch[SHLO_MAX_RANK], window[SHLO_MAX_RANK];
	int64_t offset[SHLO_MAX_RANK], at = 0;
	struct shlo_gather_numbers n;

	shlo_gather_numbers(l->op, true, &n);
	do {
		int64_t to = 0;

		shlo_split_index(&n, updates->rank, index, x->rank, batch, window);
		shlo_start_of(&n, indices, batch, x->rank, offset);
		shlo_add_batching(&n, batch, offset);
		for (int i = 0; i < x->rank; i++) {
			if (__builtin_add_overflow(offset[i], window[i], &offset[i]) ||
			    offset[i] < 0 || offset[i] >= x->dims[i])
				to = -1;
			to = to < 0 ? -1 : to * x->dims[i] + offset[i];
		}
		offsets[at++] = (int32_t)to;
	} while (shlo_next(updates->rank, updates->dims, index));
}

bool shlo_only_second(const struct shlo_region *region)
{
	const struct shlo_block *block = &region->block;

	return block->op_count == 1 && block->argument_count == 2 &&
	       block->ops[0]->operands[0] == block->arguments[1];
}

struct scatter {
	struct shlo_lower *l;
	shlo_combine_fn combine; /* NULL: updates replace elements */
	bool rounds;		 /* whether each combination is rounded to float16 */
	int64_t count;		 /* number of elements of the operand */
	int64_t update_count;
	/*
	 * @offsets: by update, the offset in the operand that it goes to; -1: done, or outside of
	 * the operand. @sources: in a step, by element of the operand, the update that it is
	 * combined with
	 */
	int32_t *offsets, *sources;
	uint8_t *mask;
};

/*
 * Combines each element with the first of its updates that remain. Returns whether an update
 * remained.
 */
static bool scatter_step(struct scatter *s, WNNOperand updates, WNNOperand *x)
{
	struct shlo_lower *l = s->l;
	bool any = false, all = true;
	WNNOperand value, mask;

	memset(s->mask, 0, (size_t)s->count);
	memset(s->sources, 0, (size_t)s->count * sizeof(*s->sources));
	for (int64_t i = 0; i < s->update_count; i++) {
		int32_t to = s->offsets[i];

		if (to < 0 || s->mask[to])
			continue;
		s->mask[to] = 1;
		s->sources[to] = (int32_t)i;
		s->offsets[i] = -1;
		any = true;
	}
	if (!any || !*x)
		return false;
	for (int64_t i = 0; i < s->count; i++)
		all = all && s->mask[i];
	value = shlo_lower_taken(l, updates, s->sources, s->count);
	if (value && s->combine)
		value = s->combine(l->b, *x, value, &l->options);
	if (s->rounds)
		value = shlo_lower_cast(l, shlo_lower_cast(l, value, WNNOperandDataType_Float16),
					WNNOperandDataType_Float32);
	mask = all ? NULL : shlo_lower_list(l, WNNOperandDataType_Uint8, s->mask, s->count, 1);
	if (value && !all)
		value = mask ? wnnGraphBuilderWhere(l->b, mask, value, *x, &l->options) : NULL;
	*x = value;
	return true;
}

static WNNOperand scatter(struct scatter *s)
{
	struct shlo_lower *l = s->l;
	WNNOperand x = flat(l, shlo_lowered(l, 0), s->count);
	WNNOperand updates = flat(l, shlo_lowered(l, 2), s->update_count);
	enum shlo_element element = shlo_operand_type(l, 0)->element;
	int steps = 0;

	/*
	 * A graph may keep float16 results in more digits between two steps, but rounds where it
	 * casts.
	 */
	s->rounds = element == SHLO_F16 && s->combine;
	if (s->rounds) {
		x = shlo_lower_cast(l, x, WNNOperandDataType_Float32);
		updates = shlo_lower_cast(l, updates, WNNOperandDataType_Float32);
	}
	scatter_offsets(l, s->offsets);
	while (scatter_step(s, updates, &x))
		if (++steps > MOST_STEPS)
			return NULL;
	x = shlo_lower_cast(l, x, shlo_held_type(element));
	if (!steps && x)
		x = wnnGraphBuilderIdentity(l->b, x, &l->options);
	return shlo_lower_reshape(l, x, shlo_result_type(l)->dims, shlo_result_type(l)->rank);
}

bool shlo_lower_scatter(struct shlo_lower *l, WNNOperand *out)
{
	enum shlo_element element = shlo_operand_type(l, 0)->element;
	const struct shlo_region *region = l->op->regions[0];
	struct scatter s = { .l = l };
	bool replace = shlo_only_second(region);

	if (l->op->operand_count != 3 || !is_constant(l, 1) ||
	    shlo_result_type(l)->element != element ||
	    shlo_operand_type(l, 2)->element != element || !is_small(shlo_operand_type(l, 0)) ||
	    !is_small(shlo_operand_type(l, 2)) ||
	    (shlo_held_type(element) == WNNOperandDataType_Float16 && element != SHLO_F16))
		return false;
	if (!replace)
		s.combine = shlo_binary_of(shlo_only_binary(region), element);
	if (!replace && !s.combine)
		return false;
	if (!l->b)
		return true;
	s.count = shlo_type_count(shlo_operand_type(l, 0));
	s.update_count = shlo_type_count(shlo_operand_type(l, 2));
	s.offsets = import_alloc((size_t)s.update_count * sizeof(*s.offsets));
	s.sources = import_alloc((size_t)s.count * sizeof(*s.sources));
	s.mask = import_alloc((size_t)s.count);
	if (s.offsets && s.sources && s.mask)
		*out = scatter(&s);
	import_free(s.offsets);
	import_free(s.sources);
	import_free(s.mask);
	return true;
}
