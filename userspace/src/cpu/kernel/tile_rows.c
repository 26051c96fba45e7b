// SPDX-License-Identifier: MIT
/*
 * Computes rows times a constant matrix on our own tiles: matrix products, and 1x1 convolutions in
 * channels-last layout, whose pixels are the rows. With AVX2 and AVX-512 this is faster than
 * oneDNN, whose results are read and written once more for an activation that keeps NaN. The sum
 * of an element does not depend on the elements that are computed with it, so that no division
 * among threads changes a bit.
 */
#include "cpu/kernel/kernels.h"

#include <math.h>
#include <string.h>

#include "cpu/kernel/conv_dense.h"
#include "cpu/kernel/conv_depthwise.h"
#include "cpu/kernel/tile_product.h"
#include "cpu/tuning.h"
#include "util/malloc.h"
#include "util/number.h"

/* The most rows of a block; these stay packed in the second-level cache. */
#define MAX_BLOCK 224
/*
 * The least rows of a block with several threads: smaller blocks read the matrix again for too few
 * rows.
 */
#define MIN_BLOCK 48
/* Rows, and columns, of the window of a depthwise convolution that can be fused. */
#define WINDOW 3
/*
 * A 3x3 depthwise convolution is fused when its image has at least LARGE_IMAGE times the bytes of
 * cpu_context.cache, because smaller images gain nothing, and rows of at least MIN_ROW pixels,
 * because the matrix is read for each row.
 */
#define LARGE_IMAGE 4
#define MIN_ROW	    24
/*
 * Slices of a fused depthwise convolution per thread. At the beginning of each slice, pixels of the
 * slice above it are computed again.
 */
#define WINDOW_SLICES 16

struct tile_rows {
	struct cpu_plan base;
	const struct cpu_simd *simd;
	struct cpu_as_conv as; /* a product as a convolution */
	struct cpu_conv shape;
	int64_t m, k, n;
	int64_t pitch; /* floats from one row of results to the next */
	/* whether rows are pixels that are not adjacent (strides), so that they are copied */
	bool apart;
	bool has_bias, limited; /* limited: whether the limits lo and hi are the whole activation */
	float lo, hi;
	uint32_t operands; /* operands of the node without fused ones */
	bool adds;	   /* whether an addition is fused, and then the activation sum_act */
	struct ir_unary_attrs sum_act;
	/* Whether the tiles compute the addition too: nothing but limits lo and hi is after it. */
	bool tile_adds;
	/* The filter of a fused depthwise convolution of the pixels; NULL: none is fused. */
	float *filter;
	struct cpu_conv windows;
	bool windows_biased, windows_limited;
	float windows_lo, windows_hi;
};

struct run {
	const struct tile_rows *lines;
	const float *x;
	struct cpu_tile_product whole;
	const float *addend; /* of a fused addition after the tiles, or NULL */
	struct cpu_split blocks;
	int64_t columns; /* columns of an item */
	char *scratch;
	size_t worker_bytes;
};

/*
 * Applies the activation, the fused addition and its activation to n results while they are in the
 * cache.
 */
static void finish(const struct run *run, float *y, int64_t n)
{
	const struct tile_rows *l = run->lines;

	if (!l->limited)
		cpu_activate(l->simd, &l->shape.attrs->act, y, n);
	if (!run->addend)
		return;
	l->simd->binary(IR_ADD, y, y, 1, run->addend + (y - run->whole.c), 1, n);
	cpu_activate(l->simd, &l->sum_act, y, n);
}

static void copy_rows(const struct run *run, int64_t first, int64_t count, float *to)
{
	const struct tile_rows *l = run->lines;
	const struct cpu_conv *g = &l->shape;

	for (int64_t i = first; i < first + count; i++, to += l->k) {
		int64_t row = i / g->out_w % g->out_h * g->attrs->strides[0];
		int64_t column = i % g->out_w * g->attrs->strides[1];
		int64_t image = i / (g->out_w * g->out_h);

		memcpy(to, run->x + ((image * g->in_h + row) * g->in_w + column) * l->k,
		       (size_t)l->k * sizeof(*to));
	}
}

static size_t copy_bytes(const struct tile_rows *l, int64_t lines)
{
	return l->apart ? cpu_round_up((size_t)(lines * l->k) * sizeof(float)) : 0;
}

static void run_block(void *argument, int64_t item, unsigned int worker)
{
	const struct run *run = argument;
	struct cpu_tile_product p = run->whole;
	int64_t first = cpu_split_first(&run->blocks, item);
	char *scratch = run->scratch + worker * run->worker_bytes;

	p.m = cpu_split_size(&run->blocks, item);
	p.a = run->x + first * p.k;
	p.c += first * p.ldc;
	if (p.addend)
		p.addend += first * p.n;
	if (run->lines->apart) {
		copy_rows(run, first, p.m, (float *)scratch);
		p.a = (float *)scratch;
	}
	cpu_tile_multiply(run->lines->simd, &p,
			  (float *)(scratch + copy_bytes(run->lines, run->blocks.size + 1)));
	finish(run, p.c, p.m * p.n);
}

static void copy_range(void *argument, int64_t begin, int64_t end)
{
	const struct run *run = argument;

	copy_rows(run, begin, end - begin, (float *)run->whole.a + begin * run->lines->k);
}

static void pack_strip(void *argument, int64_t item, unsigned int worker)
{
	const struct run *run = argument;

	(void)worker;
	cpu_tile_pack_strip(run->lines->simd, &run->whole, item, (float *)run->scratch);
}

static void run_columns(void *argument, int64_t item, unsigned int worker)
{
	const struct run *run = argument;
	const struct cpu_tile_product *p = &run->whole;
	int64_t begin = item * run->columns, end = begin + run->columns;

	(void)worker;
	end = end < p->n ? end : p->n;
	cpu_tile_multiply_columns(run->lines->simd, p, (const float *)run->scratch, begin, end);
	for (int64_t row = 0; row < p->m && (run->addend || !run->lines->limited); row++)
		finish(run, p->c + row * p->n + begin, end - begin);
}

/*
 * Runs products with too few blocks for the threads: the threads divide the columns, so that each
 * reads only its slice of the matrix. Returns 0, or -1 when out of memory.
 */
static int run_shared(struct run *run, struct cpu_context *cpu)
{
	struct cpu_tile_product *p = &run->whole;
	size_t copied = copy_bytes(run->lines, p->m);
	int64_t panel = 2 * cpu->simd->lanes;

	run->columns = cpu_tile_share((p->n + panel - 1) / panel, cpu->threads) * panel;
	run->scratch = cpu_scratch(cpu, (size_t)(p->m * p->k) * sizeof(float) + copied);
	if (!run->scratch)
		return -1;
	if (copied) {
		p->a = (float *)run->scratch;
		run->scratch += copied;
		cpu_parallel_ranges(cpu, p->m, 8, copy_range, run);
	}
	cpu_threads_run(cpu->workers, cpu_tile_strips(cpu->simd, p), pack_strip, run);
	cpu_threads_run(cpu->workers, (p->n + run->columns - 1) / run->columns, run_columns, run);
	return 0;
}

/*
 * Returns the division of the rows into blocks: equally many for each thread, unless blocks would
 * become too small. The division changes no bit of the results.
 */
static struct cpu_split share_rows(int64_t m, int64_t threads)
{
	int64_t blocks = (m + MAX_BLOCK - 1) / MAX_BLOCK;

	for (int64_t each = CPU_ITEMS; each && threads > 1; each--) {
		int64_t even = (int64_t)wnn_align_up((uint64_t)blocks, each * threads);

		if (even * MIN_BLOCK <= m)
			return cpu_split(m, (m + even - 1) / even);
	}
	return cpu_split(m, MAX_BLOCK);
}

static int run_blocks(struct run *run, struct cpu_context *cpu)
{
	run->worker_bytes = cpu_tile_scratch(run->blocks.size + 1) +
			    copy_bytes(run->lines, run->blocks.size + 1);
	run->scratch = cpu_scratch(cpu, cpu->threads * run->worker_bytes);
	if (!run->scratch)
		return -1;
	cpu_threads_run(cpu->workers, run->blocks.parts, run_block, run);
	return 0;
}

/* --- With a fused depthwise convolution --- */

/*
 * A run with a fused depthwise convolution: three rows of pixels at a time become a row of results
 * while they are in the cache.
 */
struct window_run {
	const struct tile_rows *lines;
	struct cpu_tile_product line;
	struct cpu_depthwise windows;
	const float *x;
	float *y;
	struct cpu_split rows; /* the result rows of all images */
	char *workers;
	size_t worker_bytes;
};

/*
 * The pixels that a worker keeps: rows [first, end) of an image in a ring buffer, row i at index
 * i % WINDOW.
 */
struct window {
	int64_t image, first, end;
	const float *taps[WINDOW * WINDOW];
};

static size_t window_bytes(const struct tile_rows *l)
{
	return cpu_round_up(sizeof(struct window)) +
	       cpu_round_up((size_t)(WINDOW * l->shape.out_w * l->n) * sizeof(float)) +
	       cpu_tile_scratch(l->shape.out_w);
}

/*
 * Computes the rows from @first to before @end that the window does not have yet; rows before
 * @first are not needed any more.
 */
static void fill_window(const struct window_run *run, struct window *window, float *pixels,
			float *scratch, int64_t first, int64_t end)
{
	const struct tile_rows *l = run->lines;
	int64_t size = run->line.m * l->n;

	if (first < window->first || first > window->end)
		window->first = window->end = first;
	for (int64_t row = window->end; row < end; row++) {
		struct cpu_tile_product p = run->line;

		p.a = run->x + (window->image * l->shape.in_h + row) * p.m * p.k;
		p.c = pixels + row % WINDOW * size;
		cpu_tile_multiply(l->simd, &p, scratch);
		if (!l->limited)
			cpu_activate(l->simd, &l->shape.attrs->act, p.c, size);
	}
	window->end = end > window->end ? end : window->end;
	window->first = first;
}

/* Computes row `item` of the results, counted over all images. */
static void run_row(const struct window_run *run, int64_t item, unsigned int worker)
{
	const struct cpu_conv *g = &run->lines->windows;
	struct window *window = (struct window *)(run->workers + worker * run->worker_bytes);
	float *pixels = (float *)((char *)window + cpu_round_up(sizeof(*window)));
	float *scratch = pixels + cpu_round_up((size_t)(WINDOW * run->line.m * run->line.n) *
					       sizeof(float)) /
					  sizeof(float);
	int64_t image = item / g->out_h, row = item % g->out_h;
	int64_t first = row * g->attrs->strides[0] - g->attrs->padding[0], end = first + WINDOW;

	if (window->image != image)
		*window = (struct window){ .image = image };
	first = first > 0 ? first : 0;
	end = end < g->in_h ? end : g->in_h;
	if (first < end)
		fill_window(run, window, pixels, scratch, first, end);
	cpu_depthwise_row(&run->windows, &(struct cpu_image_rows){ pixels, WINDOW }, row,
			  run->y + item * g->out_w * g->out_c, window->taps);
}

/*
 * Computes consecutive rows of results: for each but the first, most pixels are in the window
 * already.
 */
static void run_some(void *argument, int64_t item, unsigned int worker)
{
	const struct window_run *run = argument;
	int64_t first = cpu_split_first(&run->rows, item);

	for (int64_t i = 0; i < cpu_split_size(&run->rows, item); i++)
		run_row(run, first + i, worker);
}

static int run_windows(const struct cpu_tile_product *whole, const struct tile_rows *l,
		       struct cpu_context *cpu, const float *bias, struct wnn_error *err)
{
	size_t zeros = (size_t)l->n * sizeof(float);
	int64_t rows;
	struct window_run run = {
		.lines = l,
		.line = *whole,
		.windows = { .simd = l->simd,
			     .conv = l->windows,
			     .filter = l->filter,
			     .bias = bias,
			     .lo = l->windows_lo,
			     .hi = l->windows_hi,
			     .limited = l->windows_limited },
		.x = whole->a,
		.y = whole->c,
		.worker_bytes = window_bytes(l),
	};

	rows = l->windows.batch * l->windows.out_h;
	run.rows = cpu_split(rows, (rows - 1) / (WINDOW_SLICES * (int64_t)cpu->threads) + 1);
	run.line.m = l->shape.out_w;
	run.workers = cpu_scratch(cpu, cpu->threads * run.worker_bytes + zeros);
	if (!run.workers)
		return wnn_error_nomem(err, "a convolution");
	for (unsigned int w = 0; w < cpu->threads; w++)
		((struct window *)(run.workers + w * run.worker_bytes))->image = -1;
	run.windows.zeros = memset(run.workers + cpu->threads * run.worker_bytes, 0, zeros);
	cpu_threads_run(cpu->workers, run.rows.parts, run_some, &run);
	return 0;
}

static int run(struct cpu_plan *plan, struct cpu_context *cpu, const void *packed,
	       const void *const *in, void *const *out, struct wnn_error *err)
{
	const struct tile_rows *l = (const struct tile_rows *)plan;
	struct run r = {
		.lines = l,
		.x = in[0],
		.whole = { .m = l->m,
			   .k = l->k,
			   .n = l->n,
			   .a = in[0],
			   .b = packed,
			   .c = out[0],
			   .ldc = l->pitch,
			   .bias = l->has_bias ? in[2] : NULL,
			   .addend = l->tile_adds ? in[l->operands] : NULL,
			   .lo = l->lo,
			   .hi = l->hi },
		.addend = l->adds && !l->tile_adds ? in[l->operands] : NULL,
		.blocks = share_rows(l->m, cpu->threads),
	};
	bool shared;

	if (l->filter)
		return run_windows(&r.whole, l, cpu, l->windows_biased ? in[l->operands + 1] : NULL,
				   err);
	shared = cpu->threads > 1 && r.blocks.parts < 2 * (int64_t)cpu->threads;
	if (shared ? run_shared(&r, cpu) : run_blocks(&r, cpu))
		return wnn_error_nomem(err, "a convolution or product");
	return 0;
}

static int pack(const struct cpu_plan *plan, const void *from, void *to, struct wnn_error *err)
{
	const struct tile_rows *l = (const struct tile_rows *)plan;

	(void)err;
	cpu_conv_rows_pack(l->simd, &l->shape, from, to);
	return 0;
}

static void destroy(struct cpu_plan *plan)
{
	wnn_free(((struct tile_rows *)plan)->filter);
	wnn_free(plan);
}

/*
 * Whether fusing saves time: the pixels exceed the cache, while three rows of them and the matrix,
 * which is read for each row, fit in it. cpu_context.cache is half of the second-level cache.
 */
static bool gains_by_windows(const struct tile_rows *l, const struct cpu_conv *g, int64_t cache)
{
	int64_t line = g->in_w * g->in_c * (int64_t)sizeof(float);
	int64_t matrix = l->k * l->n * (int64_t)sizeof(float);

	return g->in_h * line >= LARGE_IMAGE * cache && WINDOW * line + matrix <= 2 * cache &&
	       g->in_w >= MIN_ROW;
}

/*
 * Fuses a depthwise convolution, which then reads its pixels while they are in the cache; false
 * when that is impossible or does not save time.
 */
static bool fuse_windows(struct tile_rows *l, const struct cpu_context *cpu,
			 const struct ir_node *next)
{
	const struct ir_value *filter = next->operands[1];
	const float *from;
	struct cpu_conv g;

	if (l->apart || filter->kind != IR_VALUE_CONSTANT || !filter->constant ||
	    !cpu_conv_can_pack(next) || !cpu_conv_by_pixels(cpu, next))
		return false;
	g = cpu_conv_of(next);
	/* The rows of a matrix product are not the pixels of an image. */
	if (g.batch != l->shape.batch || g.in_h != l->shape.in_h || g.in_w != l->shape.in_w ||
	    !gains_by_windows(l, &g, cpu->cache))
		return false;
	from = ir_constant_data(filter->constant);
	l->filter = from ? wnn_malloc((size_t)(WINDOW * WINDOW * g.in_c) * sizeof(*l->filter)) :
			   NULL;
	if (!l->filter)
		return false;
	cpu_depthwise_pack(&g, from, l->filter);
	l->windows = g;
	l->windows_biased = next->num_operands > 2;
	l->windows_limited = cpu_act_limits(&g.attrs->act, &l->windows_lo, &l->windows_hi);
	return true;
}

static bool fuse(struct cpu_plan *plan, const struct cpu_context *cpu, const struct ir_node *next)
{
	struct tile_rows *l = (struct tile_rows *)plan;
	float lo, hi;

	if (l->pitch != l->n)
		return false;
	if (next->op == IR_OP_CONV)
		return fuse_windows(l, cpu, next);
	l->adds = true;
	l->sum_act = next->attrs.binary.act;
	/* Without an activation of the product, its limits are infinite. */
	l->tile_adds = l->limited && l->lo == -INFINITY && l->hi == INFINITY &&
		       cpu_act_limits(&l->sum_act, &lo, &hi);
	if (l->tile_adds) {
		l->lo = lo;
		l->hi = hi;
	}
	return true;
}

/*
 * Lets the pixels of the result lie apart, if the tiles compute the whole activation: finish()
 * needs contiguous rows.
 */
static bool arrange(struct cpu_plan *plan, const struct ir_node *node, int operand,
		    const int64_t *strides)
{
	struct tile_rows *l = (struct tile_rows *)plan;
	int64_t pitch = operand == CPU_RESULT && l->limited && node->op == IR_OP_CONV ?
				cpu_conv_pitch(node, strides) :
				0;

	if (pitch)
		l->pitch = pitch;
	return pitch > 0;
}

/* Whether each window is a single pixel: a 1x1 convolution without padding and groups. */
static bool is_flat(const struct cpu_conv *g)
{
	const struct ir_conv_attrs *a = g->attrs;

	return a->layout == IR_NHWC && !a->transposed && a->groups == 1 && g->kh == 1 &&
	       g->kw == 1 && !a->padding[0] && !a->padding[1] && !a->padding[2] && !a->padding[3];
}

/*
 * Sets the shape of a node; false when it is neither a convolution nor a product that
 * cpu_matmul_as_conv() takes.
 */
static bool set_shape(struct tile_rows *l, const struct ir_node *node)
{
	if (node->op == IR_OP_CONV)
		l->shape = cpu_conv_of(node);
	else if (node->op == IR_OP_MATMUL && cpu_matmul_as_conv(node, &l->as))
		l->shape = l->as.conv;
	else
		return false;
	l->m = l->shape.batch * l->shape.out_h * l->shape.out_w;
	l->k = l->shape.in_c;
	l->n = l->shape.out_c;
	l->apart = l->shape.attrs->strides[0] > 1 || l->shape.attrs->strides[1] > 1;
	return true;
}

const char *cpu_tile_rows_refuses(const struct cpu_ask *ask)
{
	const struct ir_node *node = ask->node;
	struct tile_rows l = { 0 };

	if (node->operands[0]->type.dtype != IR_F32)
		return "its type is not float32";
	if (!ask->packs)
		return node->op == IR_OP_CONV ? "its filter is not constant" :
						"its second matrix is not constant";
	if (!set_shape(&l, node))
		return cpu_matmul_no_conv(node);
	if (node->op == IR_OP_CONV && node->attrs.conv.layout != IR_NHWC)
		return "its channels do not come last";
	if (!is_flat(&l.shape))
		return "its window is not a single pixel, or it is transposed or has padding or "
		       "groups";
	return l.n % ask->cpu->simd->lanes ? "its columns do not fill vectors" : NULL;
}

const char *cpu_tile_rows_loses(const struct cpu_ask *ask)
{
	const struct cpu_tuning *t = cpu_tuning(ask->cpu);
	struct tile_rows l = { 0 };

	if (!t->tiles)
		return "tiles were not measured to be faster with this level of instructions";
	set_shape(&l, ask->node);
	if (l.m < t->min_rows)
		return "it has too few rows";
	return l.n >= t->min_columns || l.n >= l.k ? NULL : "it has too few columns";
}

struct cpu_plan *cpu_tile_rows_plan(const struct cpu_ask *ask)
{
	const struct cpu_context *cpu = ask->cpu;
	struct tile_rows *l = wnn_calloc(1, sizeof(*l));

	if (!l)
		return NULL;
	l->base = (struct cpu_plan){
		.pack = pack, .run = run, .destroy = destroy, .fuse = fuse, .arrange = arrange
	};
	l->simd = cpu->simd;
	set_shape(l, ask->node);
	l->has_bias = ask->node->num_operands > 2 && ask->node->operands[2];
	l->operands = ask->node->num_operands;
	l->pitch = l->n;
	l->limited = cpu_act_limits(&l->shape.attrs->act, &l->lo, &l->hi);
	l->base.packed_bytes = cpu_conv_rows_pack_bytes(cpu->simd, &l->shape);
	return &l->base;
}
