// SPDX-License-Identifier: MIT
/*
 * Rows of depthwise convolutions of 8-bit integers in channels-last layout, on dot products of the
 * taps of each channel. integer_dots.c plans them.
 */
#include "cpu/kernel/integer_dots.h"

/*
 * Computes `count` pixels of a row, from `first` on, for a block of channels. Each tap must lie
 * inside the image for all of these pixels, or for none of them. @x and @step have room for as many
 * entries as there are taps, rounded up to a multiple of four.
 */
static void channel_pixels(const struct run *run, const struct pixel *first, int64_t count,
			   int64_t block, const uint8_t **x, int64_t *step)
{
	const struct dots *d = run->d;
	const struct cpu_conv *g = &d->conv;
	int64_t channel = block * BLOCK, rest = d->columns - channel, fold = d->fold;
	int64_t advance = (int64_t)g->attrs->strides[1] * fold;
	struct cpu_channel_dots dots = {
		.x = x,
		.step = step,
		.taps = d->taps,
		/* Pixels that follow each other read some of the same columns. */
		.shared = d->by_columns && count > fold && g->attrs->dilations[1] == 1 &&
					  advance < 3 ?
				  (int)(3 - advance) :
				  0,
		.weights = (const int8_t *)run->packed + block * block_bytes(d),
		.finish = { run->scale + channel, run->bias + channel, (float)d->attrs->zero,
			    (float)d->attrs->lo, (float)d->attrs->hi },
		.flip = d->flip,
		.is_signed = d->node->results[0]->type.dtype == IR_I8,
		.channels = rest * fold < BLOCK ? rest * fold : BLOCK,
		.out = (uint8_t *)run->y +
		       ((first->image * g->out_h + first->row) * g->out_w + first->column) *
			       d->columns +
		       channel,
		.out_step = d->columns * fold,
	};

	for (int64_t i = 0; i < (d->taps + 3) / 4 * 4; i++) {
		int64_t tap = channel_tap(d, i);
		const uint8_t *at = tap < g->kh * g->kw ?
					    tap_at(run, first, tap / g->kw, tap % g->kw) :
					    d->padding;

		x[i] = at == d->padding ? at : at + channel;
		step[i] = at == d->padding ? 0 : advance * g->in_c;
	}
	if (count >= fold) {
		dots.count = count / fold;
		d->simd->channel_dots(&dots);
		for (int64_t tap = 0; tap < d->taps; tap++)
			x[tap] += dots.count * step[tap];
		dots.out += dots.count * dots.out_step;
	}
	if (count % fold) {
		dots.count = 1;
		dots.channels = count % fold * d->columns;
		d->simd->channel_dots(&dots);
	}
}

/*
 * Computes one row of a depthwise convolution: the pixels at its borders one by one, and all pixels
 * between the borders in one call.
 */
void cpu_integer_channel_row(void *argument, int64_t item, unsigned int worker)
{
	const struct run *run = argument;
	const struct dots *d = run->d;
	const struct cpu_conv *g = &d->conv;
	const struct ir_conv_attrs *a = g->attrs;
	int64_t groups = (d->taps + 3) / 4 * 4, stride = a->strides[1];
	const uint8_t **x = (const uint8_t **)(void *)(run->scratch + worker * run->worker_bytes);
	int64_t *step = (int64_t *)(void *)(x + groups);
	int64_t reach = (g->kw - 1) * a->dilations[1], pad = a->padding[2];
	int64_t begin = (pad + stride - 1) / stride;
	int64_t end = g->in_w + pad > reach ? (g->in_w + pad - reach - 1) / stride + 1 : 0;

	begin = begin < g->out_w ? begin : g->out_w;
	end = end < g->out_w ? end : g->out_w;
	end = end < begin ? begin : end;
	for (int64_t block = 0; block < d->blocks; block++) {
		struct pixel p = { item / g->out_h, item % g->out_h, 0 };

		for (; p.column < begin; p.column++)
			channel_pixels(run, &p, 1, block, x, step);
		if (end > begin)
			channel_pixels(run, &p, end - begin, block, x, step);
		for (p.column = end; p.column < g->out_w; p.column++)
			channel_pixels(run, &p, 1, block, x, step);
	}
}
