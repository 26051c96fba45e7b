// SPDX-License-Identifier: MIT
/*
 * Fast pooling for float32: vectors along rows of pixels (nchw), over a copy in which every tap of
 * the window reads contiguous pixels, or along channels (nhwc).
 */
#include <math.h>
#include <string.h>

#include "cpu/kernel/conv.h"
#include "cpu/ref/reference.h"
#include "cpu/kernel/kernels.h"

/* Pixels of an item: for fewer, a thread spends too much of its time on getting the next item. */
#define ITEM_PIXELS 4096

struct pool {
	struct cpu_context *cpu;
	const struct ir_pool_attrs *attrs;
	enum cpu_window kind;
	int64_t c, h, w, out_h, out_w, taps;
	const float *x;
	float *y;
	/* channels: channels of all images in nchw; per_item: channels of an item */
	int64_t channels, per_item;
	struct cpu_planes planes;
	char *scratch;
	size_t worker_bytes;
};

/*
 * Returns the number of taps of output `out` along one axis that lie inside the image, or all taps
 * when padding counts.
 */
static int64_t inside(const struct pool *p, int axis, int64_t out)
{
	int64_t at = out * p->attrs->strides[axis] - p->attrs->padding[axis * 2];
	int64_t in = axis ? p->w : p->h, count = 0;

	if (p->attrs->counts_padding)
		return p->attrs->window[axis];
	for (int64_t k = 0; k < p->attrs->window[axis]; k++, at += p->attrs->dilations[axis])
		count += at >= 0 && at < in;
	return count;
}

/*
 * Converts the sums of output row oh to averages or roots; each output has `step` floats. Maxima
 * stay as they are.
 */
static void finish(const struct pool *p, float *y, int64_t oh, int64_t step)
{
	int64_t rows;

	if (p->kind == CPU_WINDOW_MAX)
		return;
	if (p->kind == CPU_WINDOW_SQUARES) {
		p->cpu->simd->unary(IR_SQRT, 0, 0, y, y, p->out_w * step);
		return;
	}
	rows = inside(p, 0, oh);
	for (int64_t ow = 0; ow < p->out_w; ow++) {
		int64_t count = rows * inside(p, 1, ow);

		for (int64_t c = ow * step; c < (ow + 1) * step; c++)
			y[c] = count ? y[c] / (float)count : 0;
	}
}

static void pool_row(void *argument, int64_t item, unsigned int worker)
{
	const struct pool *p = argument;
	const struct ir_pool_attrs *a = p->attrs;
	int64_t oh = item % p->out_h;
	const float *x = p->x + item / p->out_h * p->h * p->w * p->c;
	float *y = p->y + item * p->out_w * p->c;
	const float **from = (const float **)(p->scratch + worker * p->worker_bytes);

	for (int64_t ow = 0; ow < p->out_w; ow++) {
		int64_t count = 0;

		for (int64_t t = 0; t < p->taps; t++) {
			int64_t ih = oh * a->strides[0] + t / a->window[1] * a->dilations[0] -
				     a->padding[0];
			int64_t iw = ow * a->strides[1] + t % a->window[1] * a->dilations[1] -
				     a->padding[2];

			if (ih >= 0 && ih < p->h && iw >= 0 && iw < p->w)
				from[count++] = x + (ih * p->w + iw) * p->c;
		}
		p->cpu->simd->lines(p->kind, y + ow * p->c, p->c, from, NULL, count, NULL);
	}
	finish(p, y, oh, p->c);
}

static void pool_channel(const struct pool *p, int64_t channel, float *planes)
{
	const struct cpu_simd *simd = p->cpu->simd;
	const float *x = p->x + channel * p->h * p->w;
	float *y = p->y + channel * p->out_h * p->out_w;

	for (int64_t row = 0; row < p->out_h; row += p->planes.lines) {
		int64_t lines = p->out_h - row < p->planes.lines ? p->out_h - row : p->planes.lines;

		cpu_planes_pad(&p->planes, row, planes);
		cpu_planes_fill(simd, &p->planes, x, row, planes);
		simd->window(p->kind,
			     &(struct cpu_window_rows){ .to = y + row * p->out_w,
							.to_step = p->out_w,
							.from = planes,
							.from_step = p->planes.width,
							.n = p->out_w,
							.lines = lines,
							.lo = -INFINITY,
							.hi = INFINITY },
			     p->planes.at, NULL, p->taps, p->planes.fill);
		for (int64_t l = row; l < row + lines; l++)
			finish(p, y + l * p->out_w, l, 1);
	}
}

static void pool_channels(void *argument, int64_t item, unsigned int worker)
{
	const struct pool *p = argument;
	int64_t end = (item + 1) * p->per_item;

	for (int64_t c = item * p->per_item; c < end && c < p->channels; c++)
		pool_channel(p, c, (float *)(p->scratch + worker * p->worker_bytes));
}

static void pool_whole(void *argument, int64_t item, unsigned int worker)
{
	const struct pool *p = argument;
	int64_t n = p->h * p->w;

	(void)worker;
	p->y[item] = p->cpu->simd->sum(p->x + item * n, n) / (float)n;
}

static bool is_whole(const struct pool *p)
{
	const struct ir_pool_attrs *a = p->attrs;

	return p->kind == CPU_WINDOW_SUM && p->out_h == 1 && p->out_w == 1 &&
	       a->window[0] == p->h && a->window[1] == p->w && a->dilations[0] == 1 &&
	       a->dilations[1] == 1 && !a->padding[0] && !a->padding[2];
}

/* Sets up p->planes for blocks of as many rows as keep planes and results in the cache. */
static void plan_planes(struct pool *p, void *tables)
{
	const struct ir_pool_attrs *a = p->attrs;
	int64_t lines;

	p->planes.fill = p->kind == CPU_WINDOW_MAX ? -INFINITY : 0;
	p->planes.h = (struct cpu_axis){ .in = p->h,
					 .out = p->out_h,
					 .taps = a->window[0],
					 .stride = a->strides[0],
					 .dilation = a->dilations[0],
					 .pad = a->padding[0] };
	p->planes.w = (struct cpu_axis){ .in = p->w,
					 .out = p->out_w,
					 .taps = a->window[1],
					 .stride = a->strides[1],
					 .dilation = a->dilations[1],
					 .pad = a->padding[2] };
	cpu_planes_init(&p->planes, 1, tables);
	lines = p->cpu->cache / 4 /
		(p->planes.width * (p->planes.h.phases * p->planes.w.phases + 1) *
		 (int64_t)sizeof(float));
	lines = lines < p->out_h ? lines : p->out_h;
	cpu_planes_init(&p->planes, lines > 0 ? lines : 1, tables);
}

static int run_channels(struct pool *p, struct wnn_error *err)
{
	size_t tables = cpu_round_up(cpu_planes_tables(p->attrs->window[0], p->attrs->window[1]));
	char *scratch;

	if (is_whole(p)) {
		cpu_threads_run(p->cpu->workers, p->channels, pool_whole, p);
		return 0;
	}
	scratch = cpu_scratch(p->cpu, tables);
	if (!scratch)
		return wnn_error_nomem(err, "the tables of a pool");
	plan_planes(p, scratch);
	p->worker_bytes = cpu_round_up((size_t)(p->planes.size + CPU_SLACK) * sizeof(float));
	scratch = cpu_scratch(p->cpu, tables + p->cpu->threads * p->worker_bytes);
	if (!scratch)
		return wnn_error_nomem(err, "the lines of a pool");
	plan_planes(p, scratch);
	p->scratch = scratch + tables;
	for (unsigned int w = 0; w < p->cpu->threads; w++)
		memset(p->scratch + w * p->worker_bytes + (size_t)p->planes.size * sizeof(float), 0,
		       CPU_SLACK * sizeof(float));
	p->per_item = ITEM_PIXELS / (p->out_h * p->out_w) + 1;
	cpu_threads_run(p->cpu->workers, (p->channels + p->per_item - 1) / p->per_item,
			pool_channels, p);
	return 0;
}

/*
 * Whether a sum may have overflowed float32. The reference then computes the node: the root or
 * average may still be finite.
 */
static bool overflown(const struct pool *p, int64_t results)
{
	for (int64_t i = 0; p->kind != CPU_WINDOW_MAX && i < results; i++)
		if (isinf(p->y[i]))
			return true;
	return false;
}

static int run_rows(struct pool *p, int64_t batch, struct wnn_error *err)
{
	p->worker_bytes = cpu_round_up((size_t)p->taps * sizeof(float *));
	p->scratch = cpu_scratch(p->cpu, p->cpu->threads * p->worker_bytes);
	if (!p->scratch)
		return wnn_error_nomem(err, "the window of a pool");
	cpu_threads_run(p->cpu->workers, batch * p->out_h, pool_row, p);
	return 0;
}

int cpu_pool(struct cpu_context *cpu, const struct ir_node *node, const void *const *in,
	     void *const *out, struct wnn_error *err)
{
	static const enum cpu_window kinds[] = {
		[IR_POOL_MAX] = CPU_WINDOW_MAX,
		[IR_POOL_AVERAGE] = CPU_WINDOW_SUM,
		[IR_POOL_L2] = CPU_WINDOW_SQUARES,
	};
	const struct ir_type *x = &node->operands[0]->type, *y = &node->results[0]->type;
	const struct ir_pool_attrs *a = &node->attrs.pool;
	bool nhwc = a->layout == IR_NHWC;
	uint32_t h = nhwc ? 1 : 2, c = nhwc ? 3 : 1;
	struct pool p = {
		.cpu = cpu,
		.attrs = a,
		.kind = kinds[a->kind],
		.c = ir_type_dim(x, c),
		.h = ir_type_dim(x, h),
		.w = ir_type_dim(x, h + 1),
		.out_h = ir_type_dim(y, h),
		.out_w = ir_type_dim(y, h + 1),
		.taps = (int64_t)a->window[0] * a->window[1],
		.x = in[0],
		.y = out[0],
	};
	int64_t batch = ir_type_dim(x, 0);
	int ret;

	p.channels = batch * p.c;
	ret = nhwc ? run_rows(&p, batch, err) : run_channels(&p, err);
	if (!ret && overflown(&p, ir_type_elements(y)))
		cpu_ref_pool(node, in, out);
	return ret;
}

const char *cpu_pool_refuses(const struct cpu_ask *ask)
{
	const struct ir_node *node = ask->node;
	const struct ir_pool_attrs *a = &node->attrs.pool;
	uint32_t h = a->layout == IR_NHWC ? 1 : 2;

	if (node->results[0]->type.dtype != IR_F32)
		return "its type is not float32";
	for (uint32_t i = 0; i < 2; i++) {
		int64_t in = ir_type_dim(&node->operands[0]->type, h + i);

		/*
		 * Every tap takes time, even where all outputs read only padding there: the
		 * reference computes such windows.
		 */
		if (a->window[i] > 2 * in ||
		    !cpu_window_is_small(in, a->window[i], a->dilations[i]))
			return "its window is much larger than the image";
	}
	return NULL;
}
