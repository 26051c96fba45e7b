// SPDX-License-Identifier: MIT
/* Sizes of convolutions, and copies of inputs in which every tap reads neighbours. */
#include "cpu/conv.h"

#include <math.h>

/* Index of o, i, h, w in a filter layout. */
static const uint8_t filter_axes[][4] = {
	[IR_OIHW] = { 0, 1, 2, 3 }, [IR_HWIO] = { 3, 2, 0, 1 }, [IR_OHWI] = { 0, 3, 1, 2 },
	[IR_IHWO] = { 3, 0, 1, 2 },
};

struct cpu_conv cpu_conv_of(const struct ir_node *node)
{
	const struct ir_type *x = &node->operands[0]->type, *f = &node->operands[1]->type;
	const struct ir_type *y = &node->results[0]->type;
	const struct ir_conv_attrs *attrs = &node->attrs.conv;
	bool nhwc = attrs->layout == IR_NHWC;
	const uint8_t *axes = filter_axes[attrs->filter_layout];
	uint32_t c = nhwc ? 3 : 1, h = nhwc ? 1 : 2;

	return (struct cpu_conv){
		.attrs = attrs,
		.filter = f,
		.batch = ir_type_dim(x, 0),
		.in_c = ir_type_dim(x, c), .in_h = ir_type_dim(x, h), .in_w = ir_type_dim(x, h + 1),
		.out_c = ir_type_dim(y, c), .out_h = ir_type_dim(y, h),
		.out_w = ir_type_dim(y, h + 1),
		.kh = ir_type_dim(f, axes[2]), .kw = ir_type_dim(f, axes[3]),
		.in_per_group = ir_type_dim(x, c) / attrs->groups,
		.out_per_group = ir_type_dim(y, c) / attrs->groups,
		.nhwc = nhwc,
	};
}

void cpu_conv_filter_strides(const struct cpu_conv *conv, int64_t stride[4])
{
	const uint8_t *axes = filter_axes[conv->attrs->filter_layout];
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
	return act->kind == IR_UNARY_NONE || act->kind == IR_RELU || act->kind == IR_CLAMP;
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

/* Places first, first + stride, ... of a line that has padding before it, and as much as needed after. */
static void fill_line(const struct cpu_simd *simd, const struct cpu_planes *p, const float *line,
		      int64_t first, float *to)
{
	int64_t stride = p->w.stride, at = first - p->w.pad, begin, end;

	begin = at >= 0 ? 0 : (-at + stride - 1) / stride;
	end = p->w.in - 1 - at < 0 ? 0 : (p->w.in - 1 - at) / stride + 1;
	begin = begin < p->width ? begin : p->width;
	end = end < p->width ? end : p->width;
	end = end > begin ? end : begin;
	fill(to, begin, p->fill);
	if (stride == 1)
		memcpy(to + begin, line + at + begin, (size_t)(end - begin) * sizeof(*to));
	else
		simd->pick(to + begin, line + at + begin * stride, end - begin, stride);
	fill(to + end, p->width - end, p->fill);
}

void cpu_planes_fill(const struct cpu_simd *simd, const struct cpu_planes *p, const float *x,
		     int64_t row, float *to)
{
	for (int64_t i = 0; i < p->h.phases; i++)
		for (int64_t j = 0; j < p->w.phases; j++)
			for (int64_t l = 0; l < p->lines + p->h.reach; l++, to += p->width) {
				int64_t ih = (row + l) * p->h.stride + p->h.first[i] - p->h.pad;

				if (ih < 0 || ih >= p->h.in)
					fill(to, p->width, p->fill);
				else
					fill_line(simd, p, x + ih * p->w.in, p->w.first[j], to);
			}
}
