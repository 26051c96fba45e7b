// SPDX-License-Identifier: MIT
/* Sizes of convolutions, and copies of inputs in which every tap reads neighbours. */
#include "cpu/conv.h"

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
	return (size_t)(3 * kh + 3 * kw + kh * kw) * sizeof(int64_t);
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

void cpu_planes_init(struct cpu_planes *p, int64_t lines, void *tables)
{
	int64_t *free = init_axis(&p->h, tables);

	p->at = init_axis(&p->w, free);
	p->lines = lines;
	p->width = p->w.out + p->w.reach;
	p->phase_size = (lines + p->h.reach) * p->width;
	p->size = p->phase_size * p->h.phases * p->w.phases;
	for (int64_t i = 0; i < p->h.taps; i++)
		for (int64_t j = 0; j < p->w.taps; j++)
			p->at[i * p->w.taps + j] =
				(p->h.phase[i] * p->w.phases + p->w.phase[j]) * p->phase_size +
				p->h.jump[i] * p->width + p->w.jump[j];
}

static void fill(float *to, int64_t n, float value)
{
	for (int64_t i = 0; i < n; i++)
		to[i] = value;
}

/* The same where n is hardly ever more than 2, one after the other: vectors would be set up for nothing. */
static void fill_few(float *to, int64_t n, float value)
{
	for (volatile float *t = to; n > 0; n--)
		*t++ = value;
}

/* First and one past the last place whose input lies inside of n inputs; at: the input of place 0. */
static void places_inside(int64_t at, int64_t stride, int64_t n, int64_t places, int64_t *begin,
			  int64_t *end)
{
	*begin = at >= 0 ? 0 : (-at + stride - 1) / stride;
	*end = n - 1 - at < 0 ? 0 : (n - 1 - at) / stride + 1;
	*begin = *begin < places ? *begin : places;
	*end = *end < places ? *end : places;
	*end = *end > *begin ? *end : *begin;
}

/* One phase: the lines inside of the image, and padding around them. */
static void fill_phase(const struct cpu_simd *simd, const struct cpu_planes *p, const float *x,
		       int64_t line, int64_t column, float *to)
{
	int64_t lines = p->lines + p->h.reach, l0, l1, c0, c1;
	struct cpu_lines copy = { .to_step = p->width,
				  .from_step = p->h.stride * p->w.in,
				  .every = p->w.stride };

	places_inside(line, p->h.stride, p->h.in, lines, &l0, &l1);
	places_inside(column, p->w.stride, p->w.in, p->width, &c0, &c1);
	if (c0 == c1)
		l1 = l0;
	if (l1 > l0) {
		int64_t first = (line + l0 * p->h.stride) * p->w.in + column + c0 * p->w.stride;

		copy.to = to + l0 * p->width + c0;
		copy.from = x + first;
		copy.from_size = p->h.in * p->w.in - first;
		copy.n = c1 - c0;
		copy.lines = l1 - l0;
		simd->copy_lines(&copy);
	}
	if (l0 == l1) {
		fill(to, lines * p->width, p->fill);
		return;
	}
	/* The padding behind a line and that before the next one lie together. */
	fill(to, l0 * p->width + c0, p->fill);
	for (int64_t l = l0; l + 1 < l1; l++)
		fill_few(to + l * p->width + c1, p->width - c1 + c0, p->fill);
	fill(to + (l1 - 1) * p->width + c1, (lines - l1 + 1) * p->width - c1, p->fill);
}

void cpu_planes_fill(const struct cpu_simd *simd, const struct cpu_planes *p, const float *x,
		     int64_t row, float *to)
{
	for (int64_t i = 0; i < p->h.phases; i++)
		for (int64_t j = 0; j < p->w.phases; j++, to += p->phase_size)
			fill_phase(simd, p, x, row * p->h.stride + p->h.first[i] - p->h.pad,
				   p->w.first[j] - p->w.pad, to);
}
