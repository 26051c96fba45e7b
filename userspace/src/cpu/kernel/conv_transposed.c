// SPDX-License-Identifier: MIT
/*
 * Computes transposed convolutions as matrix products: the filter, with one row for each tap of an
 * output channel, times the pixels of the input. Each row of the product is then added to the
 * output pixels that its tap reaches. An output pixel sums its taps in the same order for any block
 * size. conv.c has cpu_conv_transposed_refuses().
 */
#include "cpu/kernel/conv_dense.h"
#include "cpu/kernel/kernels.h"

#include <string.h>

/*
 * The most output channels whose taps share panels: the few taps of one channel would leave rows of
 * a panel unused.
 */
#define MAX_TOGETHER 16

struct transposed {
	struct cpu_context *cpu;
	struct cpu_conv conv;
	const float *x, *filter, *bias;
	float *y;
	int64_t together;      /* output channels whose taps share panels */
	int64_t lines, blocks; /* output rows of a block; number of blocks */
	/* in_rows: most input rows that a block needs; line: stride of product rows in floats */
	int64_t in_rows, line;
	int64_t *at; /* [in_per_group]: offset of each input channel */
	char *scratch;
	size_t input_bytes, panel_bytes, worker_bytes;
};

/*
 * Returns the number of channels whose taps fill panels best. It depends on the level and the shape
 * alone, because packed filters have this order.
 */
static int64_t channels_together(const struct cpu_simd *simd, const struct cpu_conv *g)
{
	int64_t taps = g->kh * g->kw, best = 1;
	double best_part = 0;

	for (int64_t n = 1; n <= MAX_TOGETHER && n <= g->out_per_group; n++) {
		int64_t panels = (n * taps + simd->rows - 1) / simd->rows;
		double part = (double)(n * taps) / (double)(panels * simd->rows);

		if (part > best_part + 0.01) {
			best = n;
			best_part = part;
		}
	}
	return best;
}

static size_t packed_bytes(const struct ir_node *node)
{
	return (size_t)ir_type_bytes(&node->operands[1]->type);
}

/*
 * Packs the filter to [group][channels together][panel][input channel][rows of the panel: channel,
 * kh, kw].
 */
static void pack_filter(const struct cpu_context *cpu, const struct ir_node *node, const void *from,
			void *to)
{
	struct cpu_conv g = cpu_conv_of(node);
	int64_t taps = g.kh * g.kw, together = channels_together(cpu->simd, &g), s[4];
	float *packed = to;

	cpu_conv_filter_strides(&g, s);
	for (int64_t c = 0; c < g.out_c;) {
		int64_t rest = g.out_per_group - c % g.out_per_group;
		int64_t n = rest < together ? rest : together;
		int64_t first = c / g.out_per_group * g.in_per_group;
		struct cpu_split panels = cpu_split(n * taps, cpu->simd->rows);

		for (int64_t p = 0; p < panels.parts; p++)
			for (int64_t i = first; i < first + g.in_per_group; i++)
				for (int64_t r = 0; r < cpu_split_size(&panels, p); r++) {
					int64_t row = cpu_split_first(&panels, p) + r;
					int64_t o = (c + row / taps) % g.out_per_group;
					int64_t t = row % taps;

					*packed++ =
						((const float *)
							 from)[o * s[0] + i * s[1] +
							       t / g.kw * s[2] + t % g.kw * s[3]];
				}
		c += n;
	}
}

/* --- One item: a block of output rows of one group of one image --- */

struct block {
	int64_t batch, group, first, lines; /* first and lines count output rows */
	int64_t in_first, in_rows;
	float *input;	/* [input channel][in_rows * in_w] */
	float *product; /* [rows of a panel][in_rows * in_w] */
	/* nhwc: [channels together][lines * out_w]; nchw: not used, sums are in the result */
	float *sums;
};

static int64_t divide_up(int64_t x, int64_t d)
{
	return x > 0 ? (x + d - 1) / d : -(-x / d);
}

/* Finds the input positions i, from *begin to *end - 1, with 0 <= i * stride + offset < n. */
static void positions_within(int64_t offset, int64_t stride, int64_t n, int64_t in, int64_t *begin,
			     int64_t *end)
{
	*begin = divide_up(-offset, stride);
	*end = divide_up(n - offset, stride);
	*begin = *begin > 0 ? *begin : 0;
	*begin = *begin < in ? *begin : in;
	*end = *end < in ? *end : in;
	*end = *end > *begin ? *end : *begin;
}

static void find_input(const struct transposed *t, struct block *b)
{
	const struct cpu_conv *g = &t->conv;
	const struct ir_conv_attrs *a = g->attrs;
	int64_t reach = (g->kh - 1) * a->dilations[0], offset = -(int64_t)a->padding[0] - b->first;
	int64_t end;

	positions_within(offset + reach, a->strides[0], b->lines + reach, g->in_h, &b->in_first,
			 &end);
	b->in_rows = end - b->in_first;
}

static void copy_input(const struct transposed *t, const struct block *b)
{
	const struct cpu_conv *g = &t->conv;
	int64_t pixels = b->in_rows * g->in_w, plane = g->in_h * g->in_w;
	int64_t channel = b->group * g->in_per_group;
	const float *x = t->x + b->batch * g->in_c * plane;

	for (int64_t k = 0; k < g->in_per_group; k++) {
		float *to = b->input + k * t->line;

		if (!g->nhwc) {
			memcpy(to, x + (channel + k) * plane + b->in_first * g->in_w,
			       (size_t)pixels * sizeof(*to));
			continue;
		}
		for (int64_t i = 0; i < pixels; i++)
			to[i] = x[(b->in_first * g->in_w + i) * g->in_c + channel + k];
	}
}

static void add_row(float *to, int64_t step, const float *from, int64_t n)
{
	if (step == 1)
		for (int64_t i = 0; i < n; i++)
			to[i] += from[i];
	else if (step == 2)
		for (int64_t i = 0; i < n; i++)
			to[2 * i] += from[i];
	else
		for (int64_t i = 0; i < n; i++)
			to[i * step] += from[i];
}

static void add_tap(const struct transposed *t, const struct block *b, int64_t tap,
		    const float *product, float *sums)
{
	const struct cpu_conv *g = &t->conv;
	const struct ir_conv_attrs *a = g->attrs;
	int64_t step = a->strides[1], begin, end;
	int64_t h = tap / g->kw * a->dilations[0] - a->padding[0] - b->first;
	int64_t w = tap % g->kw * a->dilations[1] - a->padding[2];

	positions_within(w, step, g->out_w, g->in_w, &begin, &end);
	for (int64_t i = 0; i < b->in_rows && begin < end; i++) {
		int64_t line = (b->in_first + i) * a->strides[0] + h;

		if (line >= 0 && line < b->lines)
			add_row(sums + line * g->out_w + begin * step + w, step,
				product + i * g->in_w + begin, end - begin);
	}
}

static void multiply(const struct transposed *t, const struct block *b, const float *filter,
		     int64_t rows)
{
	const struct cpu_simd *simd = t->cpu->simd;
	int64_t pixels = b->in_rows * t->conv.in_w;
	struct cpu_tile tile = {
		.depth = t->conv.in_per_group,
		.a = filter,
		.at = t->at,
		.ldc = t->line,
		.lo = -__builtin_inff(),
		.hi = __builtin_inff(),
	};

	for (int64_t f = 0; f < pixels; f += 2 * simd->lanes) {
		tile.b = b->input + f;
		tile.c = b->product + f;
		simd->tile[rows][pixels - f > simd->lanes ? 2 : 1](&tile);
	}
}

/*
 * Adds the bias to one channel, applies the activation, and for nhwc copies it to its position
 * between the other channels.
 */
static void finish(const struct transposed *t, const struct block *b, int64_t channel, float *sums)
{
	const struct cpu_conv *g = &t->conv;
	int64_t n = b->lines * g->out_w;
	float *y = t->y + ((b->batch * g->out_h + b->first) * g->out_w) * g->out_c + channel;

	for (int64_t i = 0; i < n && t->bias; i++)
		sums[i] += t->bias[channel];
	cpu_activate(t->cpu->simd, &g->attrs->act, sums, n);
	for (int64_t i = 0; i < n && g->nhwc; i++)
		y[i * g->out_c] = sums[i];
}

static void run_channels(const struct transposed *t, const struct block *b, int64_t channel,
			 int64_t n)
{
	const struct cpu_conv *g = &t->conv;
	int64_t taps = g->kh * g->kw, plane = g->out_h * g->out_w;
	struct cpu_split panels = cpu_split(n * taps, t->cpu->simd->rows);
	const float *filter = t->filter + channel * taps * g->in_per_group;
	float *sums = b->sums;
	int64_t distance = b->lines * g->out_w;

	if (!g->nhwc) {
		sums = t->y + (b->batch * g->out_c + channel) * plane + b->first * g->out_w;
		distance = plane;
	}
	for (int64_t c = 0; c < n; c++)
		memset(sums + c * distance, 0, (size_t)(b->lines * g->out_w) * sizeof(float));
	for (int64_t p = 0; p < panels.parts; p++) {
		int64_t first = cpu_split_first(&panels, p), rows = cpu_split_size(&panels, p);

		multiply(t, b, filter, rows);
		for (int64_t r = 0; r < rows; r++)
			add_tap(t, b, (first + r) % taps, b->product + r * t->line,
				sums + (first + r) / taps * distance);
		filter += rows * g->in_per_group;
	}
	for (int64_t c = 0; c < n; c++)
		finish(t, b, channel + c, sums + c * distance);
}

static void run_item(void *argument, int64_t item, unsigned int worker)
{
	const struct transposed *t = argument;
	const struct cpu_conv *g = &t->conv;
	char *scratch = t->scratch + worker * t->worker_bytes;
	struct block b = {
		.first = item % t->blocks * t->lines,
		.group = item / t->blocks % g->attrs->groups,
		.batch = item / t->blocks / g->attrs->groups,
		.input = (float *)scratch,
		.product = (float *)(scratch + t->input_bytes),
		.sums = (float *)(scratch + t->input_bytes + t->panel_bytes),
	};
	int64_t first = b.group * g->out_per_group, end = first + g->out_per_group;

	b.lines = g->out_h - b.first < t->lines ? g->out_h - b.first : t->lines;
	find_input(t, &b);
	copy_input(t, &b);
	for (int64_t c = first; c < end; c += t->together)
		run_channels(t, &b, c, end - c < t->together ? end - c : t->together);
}

/* --- The convolution --- */

/*
 * Chooses the size of blocks: the input of a block and the product of one panel stay in the cache.
 */
static void plan_blocks(struct transposed *t)
{
	const struct cpu_conv *g = &t->conv;
	const struct ir_conv_attrs *a = g->attrs;
	int64_t stride = a->strides[0], reach = (g->kh - 1) * a->dilations[0];
	int64_t items = g->batch * a->groups, threads = t->cpu->threads;
	int64_t line = (g->in_per_group + t->cpu->simd->rows) * g->in_w * (int64_t)sizeof(float);
	int64_t lines = t->cpu->cache / line, most, unit = 2 * t->cpu->simd->lanes;

	/*
	 * Two neighbouring blocks both compute products of the input rows that they share, so a
	 * block has at least reach + stride output rows.
	 */
	most = lines * stride - reach;
	t->lines = most > reach + stride ? most : reach + stride;
	most = (g->out_h * items + 4 * threads - 1) / (4 * threads);
	if (threads > 1 && most < t->lines && most > 2 * (reach + stride))
		t->lines = most;
	t->lines = t->lines < g->out_h ? t->lines : g->out_h;
	t->blocks = (g->out_h + t->lines - 1) / t->lines;
	t->in_rows = (t->lines + reach) / stride + 1;
	t->in_rows = t->in_rows < g->in_h ? t->in_rows : g->in_h;
	t->line = (t->in_rows * g->in_w + unit - 1) / unit * unit;
}

static int run(struct cpu_plan *plan, struct cpu_context *cpu, const void *filter,
	       const void *const *in, void *const *out, struct wnn_error *err)
{
	const struct ir_node *node = plan->node;
	struct transposed t = {
		.cpu = cpu,
		.conv = cpu_conv_of(node),
		.x = in[0],
		.filter = filter,
		.bias = node->num_operands > 2 ? in[2] : NULL,
		.y = out[0],
	};
	const struct cpu_conv *g = &t.conv;
	size_t tables = cpu_round_up((size_t)g->in_per_group * sizeof(int64_t));
	size_t packed = t.filter ? 0 : cpu_round_up(packed_bytes(node));
	char *scratch;

	t.together = channels_together(cpu->simd, g);
	plan_blocks(&t);
	t.input_bytes = cpu_round_up((size_t)(g->in_per_group * t.line) * sizeof(float));
	t.panel_bytes = cpu_round_up((size_t)(cpu->simd->rows * t.line) * sizeof(float));
	t.worker_bytes = t.input_bytes + t.panel_bytes;
	if (g->nhwc)
		t.worker_bytes +=
			cpu_round_up((size_t)(t.together * t.lines * g->out_w) * sizeof(float));
	scratch = cpu_scratch(cpu, tables + packed + cpu->threads * t.worker_bytes);
	if (!scratch)
		return wnn_error_nomem(err, "the products of a transposed convolution");
	t.at = (int64_t *)scratch;
	for (int64_t k = 0; k < g->in_per_group; k++)
		t.at[k] = k * t.line;
	if (packed) {
		t.filter = (float *)(scratch + tables);
		pack_filter(cpu, node, in[1], scratch + tables);
	}
	t.scratch = scratch + tables + packed;
	/*
	 * Vectors read floats after the last pixel; the memory there must hold finite numbers,
	 * whose values do not matter.
	 */
	for (unsigned int w = 0; w < cpu->threads; w++)
		memset(t.scratch + w * t.worker_bytes, 0, t.input_bytes);
	cpu_threads_run(cpu->workers, g->batch * g->attrs->groups * t.blocks, run_item, &t);
	return 0;
}

static int pack(const struct cpu_plan *plan, const void *from, void *to, struct wnn_error *err)
{
	(void)err;
	pack_filter(plan->cpu, plan->node, from, to);
	return 0;
}

struct cpu_plan *cpu_conv_transposed_plan(const struct cpu_ask *ask)
{
	return cpu_plan_simple(ask->packs ? packed_bytes(ask->node) : 0, pack, run);
}
