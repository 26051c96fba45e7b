// SPDX-License-Identifier: MIT
/* Depthwise convolutions in channels-last layout, one row of results at a time. */
#include "cpu/kernel/conv_depthwise.h"

void cpu_depthwise_pack(const struct cpu_conv *g, const float *from, float *to)
{
	int64_t s[4], taps = g->kh * g->kw;

	cpu_conv_filter_strides(g, s);
	for (int64_t c = 0; c < g->out_c; c++)
		for (int64_t t = 0; t < taps; t++)
			to[g->nhwc ? t * g->out_c + c : c * taps + t] =
				from[c * s[0] + t / g->kw * s[2] + t % g->kw * s[3]];
}

bool cpu_depthwise_by_pixels(const struct cpu_simd *simd, const struct cpu_conv *g)
{
	const struct ir_conv_attrs *a = g->attrs;

	return g->nhwc && g->in_per_group == 1 && g->out_per_group == 1 && g->kh == 3 &&
	       g->kw == 3 && a->strides[1] <= 2 && a->dilations[0] == 1 && a->dilations[1] == 1 &&
	       g->out_c >= simd->lanes;
}

static const float *row_of(const struct cpu_depthwise *d, const struct cpu_image_rows *x,
			   int64_t line)
{
	return x->first + line % x->count * d->conv.in_w * d->conv.in_c;
}

static void tap_by_tap(const struct cpu_depthwise *d, const struct cpu_image_rows *x, int64_t row,
		       int64_t begin, int64_t end, float *y, const float **from)
{
	const struct cpu_conv *g = &d->conv;
	const struct ir_conv_attrs *a = g->attrs;
	int64_t taps = g->kh * g->kw;

	for (int64_t ow = begin; ow < end; ow++) {
		/* Taps outside of the image read zeros. */
		for (int64_t t = 0; t < taps; t++) {
			int64_t ih =
				row * a->strides[0] + t / g->kw * a->dilations[0] - a->padding[0];
			int64_t iw =
				ow * a->strides[1] + t % g->kw * a->dilations[1] - a->padding[2];
			bool in = ih >= 0 && ih < g->in_h && iw >= 0 && iw < g->in_w;

			from[t] = in ? row_of(d, x, ih) + iw * g->in_c : d->zeros;
		}
		d->simd->lines(CPU_WINDOW_DOT, y + ow * g->out_c, g->out_c, from, d->filter, taps,
			       d->bias);
	}
	cpu_activate(d->simd, &a->act, y + begin * g->out_c, (end - begin) * g->out_c);
}

/* Computes several pixels at a time, where all windows lie within the row. */
static void by_pixels(const struct cpu_depthwise *d, const struct cpu_image_rows *x, int64_t row,
		      int64_t begin, int64_t end, float *y)
{
	const struct cpu_conv *g = &d->conv;
	const struct ir_conv_attrs *a = g->attrs;
	struct cpu_pixels p = { .y = y + begin * g->out_c,
				.filter = d->filter,
				.bias = d->bias,
				.n = g->out_c,
				.count = end - begin,
				.stride = a->strides[1],
				.lo = d->lo,
				.hi = d->hi };

	for (int r = 0; r < 3; r++) {
		int64_t ih = row * a->strides[0] + r - a->padding[0];
		int64_t iw = begin * a->strides[1] - a->padding[2];
		bool in = ih >= 0 && ih < g->in_h;

		p.x[r] = in ? row_of(d, x, ih) + iw * g->in_c : d->zeros;
		p.step[r] = in ? g->in_c : 0;
	}
	d->simd->pixels_3x3(&p);
	if (!d->limited)
		cpu_activate(d->simd, &a->act, p.y, p.count * p.n);
}

/*
 * Computes a row of results. The first and the last ones read padding: tap_by_tap() computes them,
 * and by_pixels() those between where it can.
 */
void cpu_depthwise_row(const struct cpu_depthwise *d, const struct cpu_image_rows *x, int64_t row,
		       float *y, const float **taps)
{
	const struct cpu_conv *g = &d->conv;
	int64_t stride = g->attrs->strides[1], pad = g->attrs->padding[2];
	int64_t begin = (pad + stride - 1) / stride, end = (g->in_w + pad - 3) / stride + 1;

	end = end < g->out_w ? end : g->out_w;
	if (!cpu_depthwise_by_pixels(d->simd, g) || g->in_w + pad < 3 || begin >= end) {
		tap_by_tap(d, x, row, 0, g->out_w, y, taps);
		return;
	}
	tap_by_tap(d, x, row, 0, begin, y, taps);
	by_pixels(d, x, row, begin, end, y);
	tap_by_tap(d, x, row, end, g->out_w, y, taps);
}
