// SPDX-License-Identifier: MIT
/*
 * Sizes of convolutions, and copies of their inputs into planes in which every tap reads contiguous
 * pixels. The kernels of convolutions and pools call this.
 */
#include "cpu/kernel/conv.h"

#include <math.h>

struct cpu_conv cpu_conv_of(const struct ir_node *node)
{
	const struct ir_type *x = &node->operands[0]->type, *f = &node->operands[1]->type;
	const struct ir_type *y = &node->results[0]->type;
	const struct ir_conv_attrs *attrs = &node->attrs.conv;
	bool nhwc = attrs->layout == IR_NHWC;
	const uint8_t *axes = ir_filter_axes(attrs->filter_layout);
	uint32_t c = nhwc ? 3 : 1, h = nhwc ? 1 : 2;

	return (struct cpu_conv){
		.attrs = attrs,
		.filter = f,
		.batch = ir_type_dim(x, 0),
		.in_c = ir_type_dim(x, c),
		.in_h = ir_type_dim(x, h),
		.in_w = ir_type_dim(x, h + 1),
		.out_c = ir_type_dim(y, c),
		.out_h = ir_type_dim(y, h),
		.out_w = ir_type_dim(y, h + 1),
		.kh = ir_type_dim(f, axes[2]),
		.kw = ir_type_dim(f, axes[3]),
		.in_per_group = ir_type_dim(x, c) / attrs->groups,
		.out_per_group = ir_type_dim(y, c) / attrs->groups,
		.nhwc = nhwc,
	};
}

void cpu_conv_filter_strides(const struct cpu_conv *conv, int64_t stride[4])
{
	const uint8_t *axes = ir_filter_axes(conv->attrs->filter_layout);
	int64_t s = 1;

	for (int i = 3; i >= 0; i--) {
		for (int a = 0; a < 4; a++)
			if (axes[a] == i)
				stride[a] = s;
		s *= ir_type_dim(conv->filter, (uint32_t)i);
	}
}

bool cpu_act_limits(const struct ir_unary_attrs *act, float *lo, float *hi)
{
	*lo = act->kind == IR_CLAMP ? act->alpha : act->kind == IR_RELU ? 0 : -INFINITY;
	*hi = act->kind == IR_CLAMP ? act->beta : INFINITY;
	return !act->half &&
	       (act->kind == IR_UNARY_NONE || act->kind == IR_RELU || act->kind == IR_CLAMP);
}

size_t cpu_planes_tables(int64_t kh, int64_t kw)
{
	return (size_t)(3 * kh + 3 * kw + kh * kw) * sizeof(int64_t) +
	       (size_t)(kh * kw) * sizeof(struct cpu_inside);
}

static int64_t *init_axis(struct cpu_axis *axis, int64_t *tables)
{
	axis->phase = tables;
	axis->jump = tables + axis->taps;
	axis->first = tables + 2 * axis->taps;
	axis->phases = 0;
	axis->reach = 0;
	for (int64_t k = 0; k < axis->taps; k++) {
		int64_t place = k * axis->dilation, first = place % axis->stride, p = 0;

		while (p < axis->phases && axis->first[p] != first)
			p++;
		if (p == axis->phases)
			axis->first[axis->phases++] = first;
		axis->phase[k] = p;
		axis->jump[k] = place / axis->stride;
		if (axis->jump[k] > axis->reach)
			axis->reach = axis->jump[k];
	}
	return tables + 3 * axis->taps;
}

/*
 * Sets *begin and *end to the range of positions whose input lies inside the n inputs; `at` is the
 * input of position 0.
 */
static void positions_inside(int64_t at, int64_t stride, int64_t n, int64_t places, int64_t *begin,
			     int64_t *end)
{
	*begin = at >= 0 ? 0 : (-at + stride - 1) / stride;
	*end = n - 1 - at < 0 ? 0 : (n - 1 - at) / stride + 1;
	*begin = *begin < places ? *begin : places;
	*end = *end < places ? *end : places;
	*end = *end > *begin ? *end : *begin;
}

static struct cpu_inside find_inside(const struct cpu_planes *p, int64_t row, int64_t phase)
{
	int64_t line = row * p->h.stride + p->h.first[phase / p->w.phases] - p->h.pad;
	int64_t column = p->w.first[phase % p->w.phases] - p->w.pad;
	struct cpu_inside in;

	positions_inside(line, p->h.stride, p->h.in, p->lines + p->h.reach, &in.line, &in.rows_end);
	positions_inside(column, p->w.stride, p->w.in, p->width, &in.column, &in.columns_end);
	if (in.column == in.columns_end)
		in.rows_end = in.line;
	in.first = (line + in.line * p->h.stride) * p->w.in + column + in.column * p->w.stride;
	return in;
}

void cpu_planes_init(struct cpu_planes *p, int64_t lines, void *tables)
{
	int64_t *free = init_axis(&p->h, tables);

	p->at = init_axis(&p->w, free);
	p->inside = (struct cpu_inside *)(p->at + p->h.taps * p->w.taps);
	p->lines = lines;
	p->width = p->w.out + p->w.reach;
	p->phase_size = (lines + p->h.reach) * p->width;
	p->size = p->phase_size * p->h.phases * p->w.phases;
	for (int64_t i = 0; i < p->h.taps; i++)
		for (int64_t j = 0; j < p->w.taps; j++)
			p->at[i * p->w.taps + j] =
				(p->h.phase[i] * p->w.phases + p->w.phase[j]) * p->phase_size +
				p->h.jump[i] * p->width + p->w.jump[j];
	for (int64_t i = 0; i < p->h.phases * p->w.phases; i++)
		p->inside[i] = find_inside(p, 0, i);
}

static void fill(float *to, int64_t n, float value)
{
	for (int64_t i = 0; i < n; i++)
		to[i] = value;
}

/*
 * Fills n floats, like fill(), for n that is hardly ever more than 2: one by one, because setting
 * up vectors would take longer.
 */
static void fill_few(float *to, int64_t n, float value)
{
	for (volatile float *t = to; n > 0; n--)
		*t++ = value;
}

/*
 * Fills the padding around the pixels of a phase. The padding after a row and that in front of the
 * next are contiguous.
 */
static void pad_phase(const struct cpu_planes *p, const struct cpu_inside *in, float *to)
{
	int64_t lines = p->lines + p->h.reach, end = in->rows_end;

	if (in->line == end) {
		fill(to, lines * p->width, p->fill);
		return;
	}
	fill(to, in->line * p->width + in->column, p->fill);
	for (int64_t l = in->line; l + 1 < end; l++)
		fill_few(to + l * p->width + in->columns_end,
			 p->width - in->columns_end + in->column, p->fill);
	fill(to + (end - 1) * p->width + in->columns_end,
	     (lines - end + 1) * p->width - in->columns_end, p->fill);
}

static struct cpu_inside inside_of(const struct cpu_planes *p, int64_t row, int64_t phase)
{
	return row ? find_inside(p, row, phase) : p->inside[phase];
}

void cpu_planes_pad(const struct cpu_planes *p, int64_t row, float *to)
{
	for (int64_t i = 0; i < p->h.phases * p->w.phases; i++, to += p->phase_size) {
		struct cpu_inside in = inside_of(p, row, i);

		pad_phase(p, &in, to);
	}
}

void cpu_planes_fill(const struct cpu_simd *simd, const struct cpu_planes *p, const float *x,
		     int64_t row, float *to)
{
	for (int64_t i = 0; i < p->h.phases * p->w.phases; i++, to += p->phase_size) {
		struct cpu_inside in = inside_of(p, row, i);

		if (in.rows_end > in.line)
			simd->copy_rows(&(struct cpu_window_rows){
				.to = to + in.line * p->width + in.column,
				.to_step = p->width,
				.from = x + in.first,
				.from_step = p->h.stride * p->w.in,
				.from_size = p->h.in * p->w.in - in.first,
				.n = in.columns_end - in.column,
				.lines = in.rows_end - in.line,
				.every = p->w.stride,
			});
	}
}
