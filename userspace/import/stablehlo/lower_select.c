// SPDX-License-Identifier: MIT
/*
 * Translates select_and_scatter to operators of WebNN. A first loop visits the cells of a window,
 * for all windows at once, and keeps the selected element so far and its offset. A second loop
 * visits the windows that contain an element, for all elements at once, and combines the sources of
 * those windows that selected it.
 */
#include "lower.h"

#include "offsets.h"
#include "run.h"

#define MOST_ELEMENTS 65536 /* elements of a list of offsets */
/* cells of a window, which is also the most windows that contain an element */
#define MOST_STEPS 64

struct selection {
	const struct shlo_lower *l;
	struct shlo_window window;
	int64_t count, windows, cells; /* elements of the operand; windows; cells of each */
	/* offset of the element under each cell of each window, or -1 for padding */
	int32_t *under;
	int32_t *list; /* scratch list for constants */
	/* mask: of elements or windows; begun: windows with an earlier cell that is no padding */
	uint8_t *mask, *begun;
};

static int64_t cells_of(const struct shlo_window *w)
{
	int64_t cells = 1;

	for (int i = 0; i < w->rank && cells <= MOST_STEPS; i++)
		cells *= w->size[i] > MOST_STEPS ? MOST_STEPS + 1 : w->size[i];
	return cells;
}

static WNNOperand flat(const struct shlo_lower *l, size_t operand, int64_t count)
{
	return shlo_lower_reshape(l, shlo_lowered(l, operand), &count, 1);
}

static WNNOperand mask_of(const struct selection *s, int64_t count)
{
	return shlo_lower_list(s->l, WNNOperandDataType_Uint8, s->mask, count, 1);
}

static WNNOperand list_of(const struct selection *s, int64_t count)
{
	return shlo_lower_list(s->l, WNNOperandDataType_Int32, s->list, count, sizeof(*s->list));
}

static void find_under(struct selection *s)
{
	const struct shlo_type *x = shlo_operand_type(s->l, 0),
			       *source = shlo_operand_type(s->l, 1);
	int64_t position[SHLO_MAX_RANK] = { 0 }, at = 0;

	do {
		int64_t cell[SHLO_MAX_RANK] = { 0 };

		do
			s->under[at++] = (int32_t)shlo_under(&s->window, x->dims, position, cell);
		while (shlo_next(s->window.rank, s->window.size, cell));
	} while (shlo_next(s->window.rank, source->dims, position));
}

/*
 * For each window, selects one of two elements: the one under a cell, or the one selected so far.
 * Sets *value to these elements and *selected to their offsets; false: refused.
 */
static bool select_cell(struct selection *s, WNNOperand x, int64_t cell, WNNOperand *value,
			WNNOperand *selected)
{
	const struct shlo_lower *l = s->l;
	WNNOperand in[2] = { *value }, at, stays, beyond;

	for (int64_t i = 0; i < s->windows; i++)
		s->list[i] = s->under[i * s->cells + cell] < 0 ? 0 : s->under[i * s->cells + cell];
	in[1] = shlo_lower_taken(l, x, s->list, s->windows);
	for (int64_t i = 0; i < s->windows; i++)
		s->list[i] = s->under[i * s->cells + cell];
	at = list_of(s, s->windows);
	if (!cell) {
		*value = in[1];
		*selected = at;
	} else {
		/*
		 * A cell of padding keeps the selection, and the first element of a window is
		 * selected.
		 */
		for (int64_t i = 0; i < s->windows; i++)
			s->mask[i] = s->list[i] < 0;
		beyond = mask_of(s, s->windows);
		for (int64_t i = 0; i < s->windows; i++)
			s->mask[i] = s->begun[i];
		if (!in[0] || !in[1] || !shlo_lower_region(l, l->op->regions[0], in, &stays))
			return false;
		stays = shlo_lower_both(l, wnnGraphBuilderLogicalAnd, stays,
					mask_of(s, s->windows));
		stays = shlo_lower_both(l, wnnGraphBuilderLogicalOr, stays, beyond);
		*value = shlo_lower_choice(l, stays, *value, in[1]);
		*selected = shlo_lower_choice(l, stays, *selected, at);
	}
	for (int64_t i = 0; i < s->windows; i++)
		s->begun[i] |= s->list[i] >= 0;
	return *value && *selected;
}

/*
 * Finds for each element the first remaining window that contains it. Returns whether there was
 * any.
 */
static bool next_windows(struct selection *s)
{
	bool any = false;

	for (int64_t i = 0; i < s->count; i++)
		s->mask[i] = s->list[i] = 0;
	for (int64_t i = 0; i < s->windows * s->cells; i++) {
		int32_t to = s->under[i];

		if (to < 0 || s->mask[to])
			continue;
		s->mask[to] = 1;
		s->list[to] = (int32_t)(i / s->cells);
		s->under[i] = -1;
		any = true;
	}
	return any;
}

static WNNOperand numbers(struct selection *s)
{
	for (int64_t i = 0; i < s->count; i++)
		s->list[i] = (int32_t)i;
	return list_of(s, s->count);
}

static WNNOperand scatter(struct selection *s, WNNOperand selected, shlo_combine_fn combine)
{
	const struct shlo_lower *l = s->l;
	WNNOperandDataType type = shlo_held_type(shlo_result_type(l)->element);
	/*
	 * A graph may keep float16 results in more digits between two steps, but rounds where it
	 * casts.
	 */
	bool rounds = type == WNNOperandDataType_Float16;
	WNNOperandDataType wide = rounds ? WNNOperandDataType_Float32 : type;
	WNNOperand source = shlo_lower_cast(l, flat(l, 1, s->windows), wide);
	WNNOperand own = numbers(s), sum = shlo_lower_cast(l, flat(l, 2, 1), wide);
	struct shlo_sizes sizes;

	shlo_sizes_init(&sizes, &s->count, 1);
	sum = sum ? wnnGraphBuilderExpand(l->b, sum, sizes.array, &l->options) : NULL;
	while (next_windows(s)) {
		WNNOperand hit, value;

		hit = shlo_lower_both(l, wnnGraphBuilderEqual, own,
				      shlo_lower_taken(l, selected, s->list, s->count));
		hit = shlo_lower_both(l, wnnGraphBuilderLogicalAnd, hit, mask_of(s, s->count));
		value = shlo_lower_both(l, combine, sum,
					shlo_lower_taken(l, source, s->list, s->count));
		if (rounds)
			value = shlo_lower_cast(l, shlo_lower_cast(l, value, type), wide);
		sum = shlo_lower_choice(l, hit, value, sum);
	}
	return shlo_lower_reshape(l, shlo_lower_cast(l, sum, type), shlo_result_type(l)->dims,
				  shlo_result_type(l)->rank);
}

static WNNOperand select_and_scatter(struct selection *s, shlo_combine_fn combine)
{
	WNNOperand x = flat(s->l, 0, s->count), value = NULL, selected = NULL;

	find_under(s);
	for (int64_t cell = 0; cell < s->cells; cell++)
		if (!select_cell(s, x, cell, &value, &selected))
			return NULL;
	return scatter(s, selected, combine);
}

static bool takes(const struct shlo_region *region, enum shlo_element element)
{
	return region->block.arguments[0]->type->element == element &&
	       region->block.arguments[1]->type->element == element;
}

bool shlo_lower_select_and_scatter(struct shlo_lower *l, WNNOperand *out)
{
	enum shlo_element element = shlo_result_type(l)->element;
	shlo_combine_fn combine = shlo_binary_of(shlo_only_binary(l->op->regions[1]), element);
	struct shlo_check check = { .op = l->op };
	struct selection s = { .l = l };
	int64_t most;

	for (size_t i = 0; i < 3; i++)
		if (shlo_operand_type(l, i)->element != element)
			return false;
	if (!combine || !takes(l->op->regions[0], element) || !takes(l->op->regions[1], element) ||
	    !shlo_can_lower_region(l->op->regions[0]))
		return false;
	/* shlo_verify() has checked the operation, so this cannot fail. */
	shlo_window_numbers(&check, shlo_operand_type(l, 0)->rank, &s.window);
	s.count = shlo_type_count(shlo_operand_type(l, 0));
	s.windows = shlo_type_count(shlo_operand_type(l, 1));
	s.cells = cells_of(&s.window);
	if (s.cells > MOST_STEPS || s.count > MOST_ELEMENTS || s.windows > MOST_ELEMENTS)
		return false;
	if (!l->b)
		return true;
	most = s.count > s.windows ? s.count : s.windows;
	s.under = import_alloc((size_t)(s.windows * s.cells) * sizeof(*s.under));
	s.list = import_alloc((size_t)most * sizeof(*s.list));
	s.mask = import_alloc((size_t)most);
	s.begun = import_alloc((size_t)s.windows);
	if (s.under && s.list && s.mask && s.begun)
		*out = select_and_scatter(&s, combine);
	import_free(s.under);
	import_free(s.list);
	import_free(s.mask);
	import_free(s.begun);
	return true;
}
