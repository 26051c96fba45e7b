// SPDX-License-Identifier: MIT
/* Translates padding, and reductions over windows, to operators of a graph. */
#include "lower.h"

#include <string.h>

#include "offsets.h"
#include "run.h"

#define MOST_ELEMENTS 65536 /* elements of a list of offsets */
#define MOST_STEPS    64    /* elements of a window that are combined one after the other */

/* ---- padding: one dimension after the other, as the middle one of three */

struct axis {
	const struct shlo_lower *l;
	int64_t before, size, after;
	WNNOperand value; /* the padding value */
};

static struct axis axis_of(const struct shlo_lower *l, const int64_t *dims, int rank, int i)
{
	struct axis axis = { .l = l, .before = 1, .size = dims[i], .after = 1 };

	for (int k = 0; k < rank; k++)
		if (k != i)
			*(k < i ? &axis.before : &axis.after) *= dims[k];
	return axis;
}

static WNNOperand filled(const struct axis *axis, int64_t before, int64_t size)
{
	static const int64_t ones[3] = { 1, 1, 1 };
	const int64_t dims[3] = { before, size, axis->after };
	WNNOperand value = shlo_lower_reshape(axis->l, axis->value, ones, 3);
	struct shlo_sizes sizes;

	shlo_sizes_init(&sizes, dims, 3);
	return value ? wnnGraphBuilderExpand(axis->l->b, value, sizes.array, &axis->l->options) :
		       NULL;
}

static WNNOperand concatenated(const struct axis *axis, WNNOperand first, WNNOperand second)
{
	WNNOperand parts[2] = { first, second };

	return first && second ? wnnGraphBuilderConcat(axis->l->b, 2, parts, 1, &axis->l->options) :
				 NULL;
}

/* Returns @count elements along the axis, from @start on with a stride. */
static WNNOperand some_of(const struct axis *axis, WNNOperand x, int64_t start, int64_t count,
			  int64_t stride)
{
	WNNSliceOptions options = WNN_SLICE_OPTIONS_INIT;
	const int64_t from[3] = { 0, start, 0 }, steps[3] = { 1, stride, 1 };
	const int64_t counts[3] = { axis->before, (count - 1) * stride + 1, axis->after };
	struct shlo_sizes starts, sizes, strides;

	shlo_sizes_init(&starts, from, 3);
	shlo_sizes_init(&sizes, counts, 3);
	shlo_sizes_init(&strides, steps, 3);
	options.label = axis->l->options.label;
	options.strides = strides.array;
	return x ? wnnGraphBuilderSlice(axis->l->b, x, starts.array, sizes.array, &options) : NULL;
}

/*
 * Inserts @interior elements of padding after each element of x along the axis but the last, and
 * updates axis->size.
 */
static WNNOperand spread(struct axis *axis, WNNOperand x, int64_t interior)
{
	const int64_t each[3] = { axis->before * axis->size, 1, axis->after };
	const int64_t all[3] = { axis->before, axis->size * (interior + 1), axis->after };

	x = shlo_lower_reshape(axis->l, x, each, 3);
	x = concatenated(axis, x, filled(axis, each[0], interior));
	x = shlo_lower_reshape(axis->l, x, all, 3);
	axis->size = all[1] - interior;
	return some_of(axis, x, 0, axis->size, 1);
}

WNNOperand shlo_lower_padded(const struct shlo_lower *l, WNNOperand x, int64_t *dims, int rank,
			     const struct shlo_padding *padding, WNNOperand value)
{
	for (int i = 0; i < rank; i++) {
		struct axis axis = axis_of(l, dims, rank, i);
		int64_t low = padding->low[i], high = padding->high[i];
		int64_t interior = axis.size > 1 ? padding->interior[i] : 0;
		const int64_t three[3] = { axis.before, axis.size, axis.after };

		if (!low && !high && !interior)
			continue;
		axis.value = value;
		x = shlo_lower_reshape(l, x, three, 3);
		if (interior)
			x = spread(&axis, x, interior);
		dims[i] = axis.size + low + high;
		/*
		 * Pads both ends before it cuts: a cut may take more than x has without the padding
		 * of the other end.
		 */
		if (low > 0)
			x = concatenated(&axis, filled(&axis, axis.before, low), x);
		if (high > 0)
			x = concatenated(&axis, x, filled(&axis, axis.before, high));
		if (low < 0 || high < 0)
			x = some_of(&axis, x, low < 0 ? -low : 0, dims[i], 1);
	}
	return shlo_lower_reshape(l, x, dims, rank);
}

bool shlo_lower_pad_between(struct shlo_lower *l, WNNOperand *out)
{
	const struct shlo_type *x = shlo_operand_type(l, 0);
	struct shlo_padding padding;
	int64_t dims[SHLO_MAX_RANK];

	if (!l->b)
		return true;
	shlo_lower_ints(l, "edge_padding_low", padding.low);
	shlo_lower_ints(l, "edge_padding_high", padding.high);
	shlo_lower_ints(l, "interior_padding", padding.interior);
	memcpy(dims, x->dims, (size_t)x->rank * sizeof(*dims));
	*out = shlo_lower_padded(l, shlo_lowered(l, 0), dims, x->rank, &padding,
				 shlo_lowered(l, 1));
	/*
	 * A pad that changes nothing needs an operator all the same: the result must be a value of
	 * its own.
	 */
	if (*out == shlo_lowered(l, 0))
		*out = wnnGraphBuilderIdentity(l->b, *out, &l->options);
	return true;
}

/* ---- windows, cell by cell, in the order of the specification */

static int64_t cells_of(const struct shlo_window *w)
{
	int64_t cells = 1;

	for (int i = 0; i < w->rank && cells <= MOST_STEPS; i++)
		cells *= w->size[i] > MOST_STEPS ? MOST_STEPS + 1 : w->size[i];
	return cells;
}

struct windows {
	const struct shlo_lower *l;
	struct shlo_window window;
	shlo_combine_fn combine;
	/* float16 values are held in float32 here, unless @combine is a maximum or minimum */
	WNNOperand x, initial;
};

static WNNOperand flat(const struct shlo_lower *l, WNNOperand x, int64_t count)
{
	return shlo_lower_reshape(l, x, &count, 1);
}

/*
 * Combines the windows cell by cell: gathers the elements under one cell of all windows, or the
 * initial value where the cell is padding, and combines them with the sum so far. Returns the sum;
 * NULL: refused, or no memory.
 */
static WNNOperand cell_by_cell(const struct windows *v)
{
	const struct shlo_lower *l = v->l;
	const struct shlo_type *x = shlo_operand_type(l, 0), *to = shlo_result_type(l);
	int64_t count = shlo_type_count(x), out_count = shlo_type_count(to);
	int64_t cell[SHLO_MAX_RANK] = { 0 };
	WNNOperand parts[2] = { flat(l, v->x, count), flat(l, v->initial, 1) };
	WNNOperand all =
		parts[0] && parts[1] ? wnnGraphBuilderConcat(l->b, 2, parts, 0, &l->options) : NULL;
	WNNOperand sum = parts[1];
	int32_t *offsets = import_alloc((size_t)out_count * sizeof(*offsets));

	if (!offsets)
		return NULL;
	do {
		int64_t position[SHLO_MAX_RANK] = { 0 }, at = 0;

		do {
			int64_t from = shlo_under(&v->window, x->dims, position, cell);

			offsets[at++] = (int32_t)(from < 0 ? count : from);
		} while (shlo_next(v->window.rank, to->dims, position));
		sum = shlo_lower_both(l, v->combine, sum,
				      shlo_lower_taken(l, all, offsets, out_count));
	} while (sum && shlo_next(v->window.rank, v->window.size, cell));
	import_free(offsets);
	return sum;
}

/* ---- windows, dimension by dimension, each combined of windows of 1, 2, 4 and so on cells */

/*
 * Returns for each start along @axis the combination of @cells elements that are @apart from each
 * other. Makes windows of 2, 4, 8 and so on cells, each of two windows of half the size, and combines
 * those whose sizes add up to @cells.
 */
static WNNOperand in_doubles(const struct windows *v, const struct axis *axis, WNNOperand x,
			     int64_t cells, int64_t apart)
{
	int64_t length = axis->size, done = 0;
	int64_t last = axis->size - (cells - 1) * apart; /* number of windows */
	WNNOperand sum = NULL;

	for (int64_t step = 1; step <= cells && x; step *= 2) {
		if (cells & step) {
			WNNOperand part = some_of(axis, x, done * apart, last, 1);

			sum = done ? shlo_lower_both(v->l, v->combine, sum, part) : part;
			done += step;
		}
		if (step > cells / 2)
			break;
		length -= step * apart;
		x = shlo_lower_both(v->l, v->combine, some_of(axis, x, 0, length, 1),
				    some_of(axis, x, step * apart, length, 1));
	}
	return sum;
}

static WNNOperand by_dimensions(const struct windows *v)
{
	const struct shlo_type *from = shlo_operand_type(v->l, 0), *to = shlo_result_type(v->l);
	const struct shlo_window *w = &v->window;
	int64_t dims[SHLO_MAX_RANK];
	struct shlo_padding padding;
	WNNOperand x;

	memcpy(dims, from->dims, (size_t)from->rank * sizeof(*dims));
	for (int i = 0; i < w->rank; i++) {
		padding.low[i] = w->low[i];
		padding.high[i] = w->high[i];
		padding.interior[i] = w->base_dilation[i] - 1;
	}
	x = shlo_lower_padded(v->l, v->x, dims, w->rank, &padding, v->initial);
	for (int i = 0; i < w->rank; i++) {
		struct axis axis = axis_of(v->l, dims, w->rank, i);
		const int64_t three[3] = { axis.before, axis.size, axis.after };

		if (w->size[i] == 1 && w->stride[i] == 1)
			continue;
		x = in_doubles(v, &axis, shlo_lower_reshape(v->l, x, three, 3), w->size[i],
			       w->window_dilation[i]);
		dims[i] = to->dims[i];
		if (w->stride[i] > 1)
			x = some_of(&axis, x, 0, dims[i], w->stride[i]);
	}
	return shlo_lower_both(v->l, v->combine, flat(v->l, v->initial, 1),
			       flat(v->l, x, shlo_type_count(to)));
}

static bool is_associative(int op)
{
	switch (op) {
	case SHLO_B_ADD:
	case SHLO_B_MULTIPLY:
	case SHLO_B_MAXIMUM:
	case SHLO_B_MINIMUM:
	case SHLO_B_AND:
	case SHLO_B_OR:
	case SHLO_B_XOR:
		return true;
	default:
		return false;
	}
}

bool shlo_lower_reduce_window(struct shlo_lower *l, WNNOperand *out)
{
	enum shlo_element element = shlo_operand_type(l, 0)->element;
	const struct shlo_type *to = shlo_result_type(l);
	int op = shlo_only_binary(l->op->regions[0]);
	struct windows v = { .l = l, .combine = shlo_binary_of(op, element) };
	struct shlo_guard guard;
	struct shlo_check check = { .guard = &guard, .op = l->op };
	bool wide, in_order;
	WNNOperand y;

	if (l->op->operand_count != 2 || !v.combine || to->element != element)
		return false;
	/* shlo_verify() has checked the operation, so this cannot fail. */
	shlo_window_numbers(&check, shlo_operand_type(l, 0)->rank, &v.window);
	in_order = cells_of(&v.window) <= MOST_STEPS && shlo_type_count(to) <= MOST_ELEMENTS &&
		   shlo_type_count(shlo_operand_type(l, 0)) <= MOST_ELEMENTS;
	if (!in_order && !is_associative(op))
		return false;
	if (!l->b)
		return true;
	/*
	 * Computes in float32 and rounds once, at the end, because it is open whether a graph
	 * rounds float16 between two steps.
	 */
	wide = element == SHLO_F16 && op != SHLO_B_MAXIMUM && op != SHLO_B_MINIMUM;
	v.x = shlo_lowered(l, 0);
	v.initial = shlo_lowered(l, 1);
	if (wide) {
		v.x = shlo_lower_cast(l, v.x, WNNOperandDataType_Float32);
		v.initial = shlo_lower_cast(l, v.initial, WNNOperandDataType_Float32);
	}
	y = in_order ? cell_by_cell(&v) : by_dimensions(&v);
	if (wide)
		y = shlo_lower_cast(l, y, WNNOperandDataType_Float16);
	*out = shlo_lower_reshape(l, y, to->dims, to->rank);
	return true;
}
