// SPDX-License-Identifier: MIT
/*
 * Fast convolutions of float32: the kernel conv-depthwise, which applies filters directly, and the
 * kernel conv-packed, which computes matrix products (conv_columns.c, conv_rows.c).
 */
#include "cpu/kernel/conv_dense.h"

#include <string.h>

#include "cpu/kernel/conv_depthwise.h"
#include "cpu/ref/reference.h"
#include "cpu/kernel/kernels.h"
#include "cpu/tuning.h"
#include "util/finite.h"

/*
 * About the pixels of an item of a depthwise convolution in nchw: an item has as many channels as
 * have this many pixels together, because taking an item from the threads' counter takes time.
 */
#define ITEM_PIXELS 4096

static bool is_depthwise(const struct cpu_conv *g)
{
	return g->in_per_group == 1 && g->out_per_group == 1;
}

static const float *bias_of(const struct ir_node *node, const void *const *in)
{
	return node->num_operands > 2 ? in[2] : NULL;
}

/* --- Padding --- */

/*
 * Returns whether the convolution pads its image. The kernels multiply padding, which is 0, by the
 * filter. If a factor is infinite or NaN, that gives NaN, whereas the reference leaves padding out.
 * So a padded convolution with such a filter runs on the reference, and its filter is never packed.
 */
static bool has_padding(const struct cpu_conv *g)
{
	const uint32_t *pad = g->attrs->padding;

	return pad[0] || pad[1] || pad[2] || pad[3];
}

static bool needs_reference(const struct ir_node *node, const float *filter)
{
	struct cpu_conv g = cpu_conv_of(node);

	return has_padding(&g) &&
	       !wnn_floats_finite(filter, (size_t)ir_type_elements(&node->operands[1]->type));
}

int64_t cpu_conv_pitch(const struct ir_node *node, const int64_t *strides)
{
	const struct ir_type *type = &node->results[0]->type;
	int64_t next = strides[type->rank - 2];

	if (strides[type->rank - 1] != 1)
		return 0;
	for (uint32_t i = type->rank - 1; i-- > 0; next *= ir_type_dim(type, i))
		if (ir_type_dim(type, i) > 1 && strides[i] != next)
			return 0;
	return strides[type->rank - 2];
}

bool cpu_conv_can_pack(const struct ir_node *node)
{
	const struct ir_value *filter = node->operands[1];
	struct cpu_conv g = cpu_conv_of(node);

	return !filter->constant || filter->type.dtype != IR_F32 || !has_padding(&g) ||
	       ir_constant_finite(filter->constant, IR_F32);
}

/* --- Dense --- */

static size_t dense_pack_bytes(const struct cpu_context *cpu, const struct ir_node *node)
{
	struct cpu_conv g = cpu_conv_of(node);

	return cpu_conv_by_columns(cpu->simd, &g) ? cpu_conv_columns_pack_bytes(cpu->simd, &g) :
						    cpu_conv_rows_pack_bytes(cpu->simd, &g);
}

static int dense_pack(const struct cpu_plan *plan, const void *from, void *to,
		      struct wnn_error *err)
{
	struct cpu_conv g = cpu_conv_of(plan->node);

	(void)err;
	if (cpu_conv_by_columns(plan->cpu->simd, &g))
		cpu_conv_columns_pack(plan->cpu->simd, &g, from, to);
	else
		cpu_conv_rows_pack(plan->cpu->simd, &g, from, to);
	return 0;
}

static int dense(struct cpu_plan *plan, struct cpu_context *cpu, const void *packed,
		 const void *const *in, void *const *out, struct wnn_error *err)
{
	const struct ir_node *node = plan->node;
	struct cpu_conv_run run = {
		.cpu = cpu,
		.conv = cpu_conv_of(node),
		.x = in[0],
		.filter = packed,
		.bias = bias_of(node, in),
		.y = out[0],
	};

	if (!packed && needs_reference(node, in[1])) {
		cpu_ref_conv(node, in, out);
		return 0;
	}
	run.depth = run.conv.in_per_group * run.conv.kh * run.conv.kw;
	run.limited = cpu_act_limits(&node->attrs.conv.act, &run.lo, &run.hi);
	return cpu_conv_by_columns(cpu->simd, &run.conv) ? cpu_conv_columns(&run, in[1], err) :
							   cpu_conv_rows(&run, in[1], err);
}

/* --- Depthwise --- */

struct depthwise {
	struct cpu_context *cpu;
	struct cpu_depthwise lines; /* the operands; `zeros` is for nhwc only */
	struct cpu_planes planes;
	const float *x;
	float *y;
	bool is_3x3;	  /* whether the filter is 3x3 without strides and dilations */
	int64_t per_item; /* channels of an item */
	char *scratch;
	size_t worker_bytes;
};

static size_t depthwise_bytes(const struct ir_node *node)
{
	return (size_t)ir_type_bytes(&node->operands[1]->type);
}

static int depthwise_pack(const struct cpu_plan *plan, const void *from, void *to,
			  struct wnn_error *err)
{
	struct cpu_conv g = cpu_conv_of(plan->node);

	(void)err;
	cpu_depthwise_pack(&g, from, to);
	return 0;
}

static void depthwise_rows(const struct depthwise *d, int64_t c, int64_t lines, const float *planes,
			   float *y)
{
	const struct cpu_conv *g = &d->lines.conv;
	const struct cpu_simd *simd = d->cpu->simd;
	const float *filter = d->lines.filter + c * g->kh * g->kw;
	float start = d->lines.bias ? d->lines.bias[c] : 0;
	struct cpu_window_rows to = { .to = y,
				      .to_step = g->out_w,
				      .from = planes,
				      .from_step = d->planes.width,
				      .n = g->out_w,
				      .lines = lines,
				      .lo = d->lines.lo,
				      .hi = d->lines.hi };

	if (d->planes.width == g->out_w) { /* the rows are contiguous: compute them as one */
		to.n *= lines;
		to.lines = 1;
	}
	if (d->is_3x3)
		simd->window_3x3(&to, filter, start);
	else
		simd->window(CPU_WINDOW_DOT, &to, d->planes.at, filter, g->kh * g->kw, start);
	if (!d->lines.limited)
		cpu_activate(simd, &g->attrs->act, y, lines * g->out_w);
}

/*
 * Computes one channel in nchw. is_padded: the planes already have the padding for its first rows.
 */
static void depthwise_channel(const struct depthwise *d, int64_t channel, float *planes,
			      bool is_padded)
{
	const struct cpu_conv *g = &d->lines.conv;
	const float *x = d->x + channel * g->in_h * g->in_w;
	float *y = d->y + channel * g->out_h * g->out_w;

	for (int64_t row = 0; row < g->out_h; row += d->planes.lines) {
		int64_t lines = g->out_h - row < d->planes.lines ? g->out_h - row : d->planes.lines;

		if (row || !is_padded)
			cpu_planes_pad(&d->planes, row, planes);
		cpu_planes_fill(d->cpu->simd, &d->planes, x, row, planes);
		depthwise_rows(d, channel % g->out_c, lines, planes, y + row * g->out_w);
	}
}

static void depthwise_channels(void *argument, int64_t item, unsigned int worker)
{
	const struct depthwise *d = argument;
	int64_t channels = d->lines.conv.batch * d->lines.conv.out_c, first = item * d->per_item;
	int64_t end = first + d->per_item < channels ? first + d->per_item : channels;
	float *planes = (float *)(d->scratch + worker * d->worker_bytes);

	for (int64_t c = first; c < end; c++)
		depthwise_channel(d, c, planes,
				  c > first && d->planes.lines == d->lines.conv.out_h);
}

static void depthwise_row(void *argument, int64_t item, unsigned int worker)
{
	const struct depthwise *d = argument;
	const struct cpu_conv *g = &d->lines.conv;
	struct cpu_image_rows x = { d->x + item / g->out_h * g->in_h * g->in_w * g->in_c, g->in_h };

	cpu_depthwise_row(&d->lines, &x, item % g->out_h, d->y + item * g->out_w * g->out_c,
			  (const float **)(d->scratch + worker * d->worker_bytes));
}

/*
 * Sets up d->planes for blocks of as many rows as keep planes and results in the cache; sets
 * d->is_3x3.
 */
static void plan_planes(struct depthwise *d, void *tables)
{
	const struct cpu_conv *g = &d->lines.conv;
	const struct ir_conv_attrs *a = g->attrs;
	int64_t lines;

	d->planes.h = (struct cpu_axis){ .in = g->in_h,
					 .out = g->out_h,
					 .taps = g->kh,
					 .stride = a->strides[0],
					 .dilation = a->dilations[0],
					 .pad = a->padding[0] };
	d->planes.w = (struct cpu_axis){ .in = g->in_w,
					 .out = g->out_w,
					 .taps = g->kw,
					 .stride = a->strides[1],
					 .dilation = a->dilations[1],
					 .pad = a->padding[2] };
	cpu_planes_init(&d->planes, 1, tables);
	lines = d->cpu->cache / 4 /
		(d->planes.width * (d->planes.h.phases * d->planes.w.phases + 1) *
		 (int64_t)sizeof(float));
	lines = lines < g->out_h ? lines : g->out_h;
	cpu_planes_init(&d->planes, lines > 0 ? lines : 1, tables);
	d->is_3x3 = g->kh == 3 && g->kw == 3 && a->strides[0] == 1 && a->strides[1] == 1 &&
		    a->dilations[0] == 1 && a->dilations[1] == 1;
}

static int run_depthwise(struct depthwise *d, const struct ir_node *node, const float *unpacked,
			 struct wnn_error *err)
{
	const struct cpu_conv *g = &d->lines.conv;
	size_t tables = cpu_round_up(cpu_planes_tables(g->kh, g->kw)), zeros = 0;
	size_t packed = d->lines.filter ? 0 : cpu_round_up(depthwise_bytes(node));
	char *scratch = cpu_scratch(d->cpu, tables);

	if (!scratch)
		return wnn_error_nomem(err, "the tables of a convolution");
	plan_planes(d, scratch);
	if (g->nhwc) {
		d->worker_bytes = cpu_round_up((size_t)(g->kh * g->kw) * sizeof(float *));
		zeros = (size_t)g->in_c * sizeof(float);
	} else {
		d->worker_bytes =
			cpu_round_up((size_t)(d->planes.size + CPU_SLACK) * sizeof(float));
	}
	scratch = cpu_scratch(d->cpu, tables + packed + d->cpu->threads * d->worker_bytes + zeros);
	if (!scratch)
		return wnn_error_nomem(err, "the lines of a convolution");
	plan_planes(d, scratch);
	if (packed) {
		d->lines.filter = (float *)(scratch + tables);
		cpu_depthwise_pack(g, unpacked, (float *)(scratch + tables));
	}
	d->scratch = scratch + tables + packed;
	d->lines.zeros = memset(d->scratch + d->cpu->threads * d->worker_bytes, 0, zeros);
	/*
	 * Vectors read floats after the last row; the memory there must hold finite numbers, whose
	 * values do not matter.
	 */
	for (unsigned int w = 0; w < d->cpu->threads && !g->nhwc; w++)
		memset(d->scratch + w * d->worker_bytes + (size_t)d->planes.size * sizeof(float), 0,
		       CPU_SLACK * sizeof(float));
	d->per_item = ITEM_PIXELS / (g->out_h * g->out_w) + 1;
	if (g->nhwc)
		cpu_threads_run(d->cpu->workers, g->batch * g->out_h, depthwise_row, d);
	else
		cpu_threads_run(d->cpu->workers,
				(g->batch * g->out_c + d->per_item - 1) / d->per_item,
				depthwise_channels, d);
	return 0;
}

static int depthwise(struct cpu_plan *plan, struct cpu_context *cpu, const void *packed,
		     const void *const *in, void *const *out, struct wnn_error *err)
{
	const struct ir_node *node = plan->node;
	struct depthwise d = {
		.cpu = cpu,
		.lines = { .simd = cpu->simd,
			   .conv = cpu_conv_of(node),
			   .filter = packed,
			   .bias = bias_of(node, in) },
		.x = in[0],
		.y = out[0],
	};

	if (!packed && needs_reference(node, in[1])) {
		cpu_ref_conv(node, in, out);
		return 0;
	}
	d.lines.limited = cpu_act_limits(&node->attrs.conv.act, &d.lines.lo, &d.lines.hi);
	return run_depthwise(&d, node, in[1], err);
}

bool cpu_conv_by_pixels(const struct cpu_context *cpu, const struct ir_node *node)
{
	struct cpu_conv g = cpu_conv_of(node);

	return cpu_tuning(cpu)->tiles && node->results[0]->type.dtype == IR_F32 &&
	       !node->attrs.conv.transposed && cpu_depthwise_by_pixels(cpu->simd, &g);
}

/*
 * Returns the time that a convolution saves by channels-last layout, in tenths of the time that its
 * multiplications take in nchw layout; below 0: it takes longer. The numbers are estimates from
 * measurements. Winograd's algorithm saves 4, products with pixels as rows save 1 if there are
 * enough output channels. Gathering windows takes 3 more in channels-last layout than in nchw. It
 * takes much more for groups of few channels, each of which is gathered separately, and for
 * depthwise convolutions without a kernel for several pixels.
 */
static int64_t tenths_gained(const struct cpu_conv *g)
{
	const struct ir_conv_attrs *a = g->attrs;
	bool whole = a->dilations[0] == 1 && a->dilations[1] == 1;
	bool plain = whole && a->groups == 1 && a->strides[0] == 1 && a->strides[1] == 1;
	bool is_3x3 = g->kh == 3 && g->kw == 3;

	if (is_depthwise(g))
		return whole && is_3x3 && a->strides[1] <= 2 ? 0 : -25;
	if (plain && g->kh == 1 && g->kw == 1)
		return g->out_c >= g->in_c || g->out_c >= 128 ? 1 : 0;
	if (plain && is_3x3 && g->in_c >= CPU_MAX_LANES && g->out_c >= CPU_MAX_LANES)
		return 4;
	return a->groups > 1 ? -3 - 400 / g->out_per_group : -3;
}

bool cpu_conv_gains(const struct cpu_context *cpu, const struct ir_graph *graph)
{
	double gain = 0;

	if (!cpu_tuning(cpu)->tiles)
		return false;
	for (uint32_t n = 0; n < graph->num_nodes; n++) {
		const struct ir_node *node = graph->nodes[n];
		struct cpu_conv g;

		if (node->op != IR_OP_CONV || node->attrs.conv.transposed)
			continue;
		g = cpu_conv_of(node);
		gain += (double)tenths_gained(&g) * (double)(g.batch * g.out_h * g.out_w) *
			(double)(g.out_c * g.in_per_group * g.kh * g.kw);
	}
	return gain > 0;
}

/*
 * Whether the padding is small enough for cpu_conv_rows(), which stores all of it: with large
 * strides there may be far more padding than results.
 */
static bool padding_is_small(const struct cpu_conv *g)
{
	const uint32_t *pad = g->attrs->padding;

	return cpu_window_is_small(g->in_h, (int64_t)pad[0] + pad[1], 1) &&
	       cpu_window_is_small(g->in_w, (int64_t)pad[2] + pad[3], 1);
}

/* ---- what choose.c asks */

/*
 * Returns why the kernels for float32 convolutions, or with `transposed` the one for transposed
 * convolutions, cannot compute a node; NULL: nothing that they have in common forbids it.
 */
static const char *refuses(const struct cpu_ask *ask, bool transposed)
{
	const struct ir_node *node = ask->node;

	if (node->results[0]->type.dtype != IR_F32)
		return "its type is not float32";
	if (transposed)
		return node->attrs.conv.transposed ? NULL : "it is not transposed";
	if (node->attrs.conv.transposed)
		return "it is transposed";
	return ask->packs && !cpu_conv_can_pack(node) ?
		       "its filter has a NaN or infinity, which padding must not be multiplied with" :
		       NULL;
}

static const char *refuses_windows(const struct cpu_ask *ask)
{
	const char *why = refuses(ask, false);
	struct cpu_conv g;

	if (why)
		return why;
	g = cpu_conv_of(ask->node);
	return cpu_window_is_small(g.in_h, g.kh, g.attrs->dilations[0]) &&
			       cpu_window_is_small(g.in_w, g.kw, g.attrs->dilations[1]) &&
			       padding_is_small(&g) ?
		       NULL :
		       "its window or padding is much larger than the image";
}

const char *cpu_depthwise_refuses(const struct cpu_ask *ask)
{
	const char *why = refuses_windows(ask);
	struct cpu_conv g;

	if (why)
		return why;
	g = cpu_conv_of(ask->node);
	return is_depthwise(&g) ? NULL : "it is not depthwise";
}

const char *cpu_depthwise_loses(const struct cpu_ask *ask)
{
	return cpu_conv_by_pixels(ask->cpu, ask->node) ?
		       NULL :
		       "this kernel is faster only with AVX2 or AVX-512, and only for filters of "
		       "3x3 without dilations, strides of at most 2 along rows, and channels that "
		       "come last and fill a vector";
}

struct cpu_plan *cpu_depthwise_plan(const struct cpu_ask *ask)
{
	return cpu_plan_simple(ask->packs ? depthwise_bytes(ask->node) : 0, depthwise_pack,
			       depthwise);
}

const char *cpu_conv_packed_refuses(const struct cpu_ask *ask)
{
	const char *why = refuses_windows(ask);
	struct cpu_conv g;

	if (why)
		return why;
	g = cpu_conv_of(ask->node);
	return is_depthwise(&g) ? "it is depthwise" : NULL;
}

/* Returns why another kernel is faster; NULL: none is. struct cpu_tuning explains the limits. */
const char *cpu_conv_packed_loses(const struct cpu_ask *ask)
{
	const struct cpu_tuning *t = cpu_tuning(ask->cpu);
	struct cpu_conv g = cpu_conv_of(ask->node);
	int64_t pixels = g.out_h * g.out_w;

	return t->tiles && g.nhwc && g.attrs->groups == 1 && g.out_c >= t->window_results &&
			       pixels >= t->min_window_pixels &&
			       (g.in_c <= t->few_channels ||
				(pixels <= t->max_window_pixels &&
				 g.in_c * g.kh * g.kw * g.out_c >= t->large_filter)) ?
		       NULL :
		       "another kernel is faster for windows of this size";
}

struct cpu_plan *cpu_conv_packed_plan(const struct cpu_ask *ask)
{
	return cpu_plan_simple(ask->packs ? dense_pack_bytes(ask->cpu, ask->node) : 0, dense_pack,
			       dense);
}

const char *cpu_conv_transposed_refuses(const struct cpu_ask *ask)
{
	return refuses(ask, true);
}
