// SPDX-License-Identifier: MIT
/*
 * Products of float32 and constant weights of 4 or 8 bits. The weights stay integers, packed in
 * panels of one or two vectors of columns. For few rows, the integers are converted to floats in
 * registers, so that each byte is read once. For more rows, a slice of a panel is converted to
 * floats in the first-level cache, and the tiles of other products multiply it. No division among
 * threads changes a bit.
 */
#include "cpu/kernel/kernels.h"

#include <math.h>
#include <string.h>

#include "cpu/kernel/conv_dense.h"
#include "cpu/element.h"
#include "cpu/kernel/tile_product.h"

/* The most steps of a panel that are converted to floats at a time. */
#define DEPTH 256
/*
 * NEAR: floats of rows that are packed at a time; LEAST: the least rows that are packed at a time,
 * since the panels are converted once for these rows.
 */
#define NEAR  (256 * 1024)
#define LEAST 64
/* The least multiplications that two threads share: fewer are done before a thread wakes up. */
#define SHARED_MACS ((int64_t)1 << 17)

/* The limits of a factor of the result that may be folded into the scales. */
#define LEAST_ALPHA 0x1p-20f
#define MOST_ALPHA  0x1p20f

struct sizes {
	int64_t m, k, n, wide; /* wide: n rounded up to whole vectors */
	int64_t block, blocks; /* block: steps that share a scale; blocks: number of such blocks */
	int64_t column;	       /* bytes that a column of a block takes */
	bool nibbles;
	size_t scales, zeros, weights, bytes; /* offsets in the packed weights, and their size */
};

struct header {
	bool has_zeros; /* whether zero points differ */
	int8_t same_zero;
};

static struct sizes sizes_of(const struct cpu_simd *simd, const struct ir_node *node)
{
	const struct ir_type *y = &node->results[0]->type, *scale = &node->operands[2]->type;
	bool transposed = node->attrs.matmul.b_transpose;
	struct sizes s = { .n = ir_type_dim(y, y->rank - 1) };
	int64_t width;

	s.m = ir_type_elements(y) / s.n;
	s.k = ir_type_elements(&node->operands[1]->type) / s.n;
	s.nibbles = ir_dtype_bits(node->operands[1]->type.dtype) == 4;
	width = s.nibbles ? 2 * simd->lanes : simd->lanes;
	s.wide = (s.n + width - 1) / width * width;
	s.blocks = ir_type_dim(scale, scale->rank - (transposed ? 1 : 2));
	s.block = s.k / s.blocks;
	s.scales = cpu_round_up(sizeof(struct header));
	s.zeros = s.scales + cpu_round_up((size_t)(s.blocks * s.wide) * sizeof(float));
	s.weights = s.zeros + cpu_round_up((size_t)(s.blocks * s.wide));
	s.column = s.nibbles ? (s.block + 7) / 8 * 4 : s.block;
	s.bytes = s.weights + cpu_round_up((size_t)(s.blocks * s.wide * s.column));
	return s;
}

const char *cpu_weights_refuses(const struct cpu_ask *ask)
{
	const struct ir_node *node = ask->node;
	const struct ir_matmul_attrs *attrs = &node->attrs.matmul;
	const struct ir_type *y = &node->results[0]->type, *a = &node->operands[0]->type;
	int64_t n = ir_type_dim(y, y->rank - 1), k = ir_type_elements(&node->operands[1]->type) / n;

	for (uint32_t i = 1; i < 4; i++)
		if (!ask->packs || node->operands[i]->kind != IR_VALUE_CONSTANT)
			return "its weights, scales or zero points are not constant";
	if (y->dtype != IR_F32)
		return "its type is not float32";
	if (attrs->a_transpose)
		return "its first matrix is transposed";
	if (fabsf(attrs->alpha) < LEAST_ALPHA || fabsf(attrs->alpha) > MOST_ALPHA)
		return "its factor is too small or too large to be part of the scales";
	if (ir_dtype_bits(node->operands[1]->type.dtype) > 8)
		return "its weights have more than 8 bits";
	return ir_type_elements(a) / k == ir_type_elements(y) / n ?
		       NULL :
		       "it multiplies with several matrices";
}

/* ---- packing */

/* Returns the number that packing subtracts from the integers of a type to make them signed. */
static int bias_of(enum ir_dtype dtype)
{
	return dtype == IR_U8 ? 128 : dtype == IR_U4 ? 8 : 0;
}

struct packing {
	const struct ir_node *node;
	struct sizes s;
	enum ir_dtype dtype;
	const uint8_t *from;
	/* elements from one step to the next; elements from one column to the next */
	int64_t step, column;
	int8_t least_zero, most_zero;
};

/* Returns `n` integers of 4 bits of a column, at most eight, from step k on. */
static uint32_t eight_of_column(const struct packing *p, int64_t k, int64_t n, int64_t column)
{
	int64_t at = k * p->step + column * p->column;
	uint32_t eight = 0;

	if (p->step == 1 && n == 8 && at % 2 == 0)
		for (int i = 0; i < 4; i++)
			eight |= (uint32_t)p->from[at / 2 + i] << 8 * i;
	else
		for (int64_t i = 0; i < n; i++, at += p->step)
			eight |= (uint32_t)(p->from[at / 2] >> at % 2 * 4 & 15) << 4 * i;
	return eight;
}

/*
 * Gathers `n` integers of 4 bits of each column, at most eight, from step k on. Columns after the
 * last one get zeros.
 */
static void gather_eights(const struct packing *p, int64_t k, int64_t n, int64_t begin,
			  int64_t width, uint32_t *eight)
{
	int64_t at = k * p->step + begin;

	memset(eight, 0, (size_t)width * sizeof(*eight));
	if (p->column != 1 || at % 2 || p->step % 2 || begin + width > p->s.n) {
		for (int64_t j = 0; j < width && begin + j < p->s.n; j++)
			eight[j] = eight_of_column(p, k, n, begin + j);
		return;
	}
	for (int64_t i = 0; i < n; i++) {
		const uint8_t *row = p->from + (at + i * p->step) / 2;

		for (int64_t j = 0; j < width / 2; j++) {
			eight[2 * j] |= (uint32_t)(row[j] & 15) << 4 * i;
			eight[2 * j + 1] |= (uint32_t)(row[j] >> 4) << 4 * i;
		}
	}
}

/* Packs a block of a panel. Inverts integers with zero point -1: see mirror(). */
static void pack_block(const struct packing *p, int64_t block, int64_t begin, int64_t width,
		       const int8_t *zero, uint8_t *to)
{
	int64_t k = block * p->s.block, end = k + p->s.block;
	uint32_t flips = p->dtype == IR_U4 ? 0x88888888 : p->dtype == IR_U8 ? 0x80 : 0;
	uint32_t flip[2 * CPU_MAX_LANES], eight[2 * CPU_MAX_LANES];

	for (int64_t j = 0; j < width; j++)
		flip[j] = zero[j] == -1 ? ~flips : flips;
	for (; p->s.nibbles && k < end; k += 8, to += 4 * width) {
		gather_eights(p, k, end - k < 8 ? end - k : 8, begin, width, eight);
		for (int64_t j = 0; j < width; j++)
			eight[j] ^= flip[j];
		memcpy(to, eight, (size_t)(4 * width));
	}
	for (; !p->s.nibbles && k < end; k++, to += width) {
		const uint8_t *row = p->from + k * p->step + begin * p->column;
		int64_t rest = p->s.n - begin, n = rest < width ? rest : width;

		for (int64_t j = 0; j < n; j++)
			to[j] = (uint8_t)(row[j * p->column] ^ flip[j]);
		memset(to + n, 0, (size_t)(width - n));
	}
}

/*
 * Changes zero points of -1 to 0 and negates their scales, since pack_block() inverts all bits of q
 * there: (q + 1) * scale is ~q * -scale. So packed weights have one zero point where a model had
 * mirrored the integers of blocks to have positive scales. Notes the range of the zero points.
 */
static void mirror(struct packing *p, int64_t count, float *scale, int8_t *zero)
{
	for (int64_t j = 0; j < count; j++) {
		if (zero[j] == -1) {
			scale[j] = -scale[j];
			zero[j] = 0;
		}
		p->least_zero = zero[j] < p->least_zero ? zero[j] : p->least_zero;
		p->most_zero = zero[j] > p->most_zero ? zero[j] : p->most_zero;
	}
}

/* Packs the scales of a block, times the factor of the result, and the zero points. */
static void pack_scales(const struct packing *p, int64_t block, int64_t begin, int64_t count,
			float *scale, int8_t *zero)
{
	const struct ir_type *type = &p->node->operands[2]->type;
	const float *scales = p->node->operands[2]->constant->data;
	const void *zeros = p->node->operands[3]->constant->data;
	bool transposed = p->node->attrs.matmul.b_transpose;
	int64_t columns = ir_type_dim(type, type->rank - (transposed ? 2 : 1));
	int64_t each = p->s.n / columns; /* adjacent columns that share a scale */

	for (int64_t j = 0; j < count; j++) {
		int64_t column = (begin + j) / each;
		int64_t at = transposed ? column * p->s.blocks + block : block * columns + column;

		scale[j] = scales[at] * p->node->attrs.matmul.alpha;
		zero[j] = (int8_t)(cpu_load_int(p->dtype, zeros, at) - bias_of(p->dtype));
	}
}

static int pack(const struct cpu_plan *plan, const void *from, void *to, struct wnn_error *err)
{
	const struct cpu_simd *simd = plan->cpu->simd;
	const struct ir_node *node = plan->node;
	struct packing p = { .node = node,
			     .s = sizes_of(simd, node),
			     .dtype = node->operands[1]->type.dtype,
			     .from = from,
			     .least_zero = INT8_MAX,
			     .most_zero = INT8_MIN };
	struct header *header = to;
	uint8_t *base = to;
	int64_t width;

	(void)err;
	p.step = node->attrs.matmul.b_transpose ? 1 : p.s.n;
	p.column = node->attrs.matmul.b_transpose ? p.s.k : 1;
	memset(to, 0, p.s.weights);
	for (int64_t column = 0; column < p.s.wide; column += width) {
		int64_t rest = p.s.n - column, count;

		width = cpu_panel_width(simd, p.s.wide, column);
		count = rest < width ? rest : width;
		for (int64_t b = 0; b < p.s.blocks; b++) {
			int64_t at = p.s.blocks * column + b * width;
			float *scale = (float *)(void *)(base + p.s.scales) + at;
			int8_t *zero = (int8_t *)base + p.s.zeros + at;

			pack_scales(&p, b, column, count, scale, zero);
			pack_block(&p, b, column, width, zero,
				   base + p.s.weights + at * p.s.column);
			mirror(&p, count, scale, zero);
		}
	}
	header->has_zeros = p.least_zero != p.most_zero;
	header->same_zero = header->has_zeros ? 0 : p.least_zero;
	return 0;
}

/* ---- the product */

struct run {
	const struct cpu_simd *simd;
	struct cpu_threads *workers; /* NULL: only the calling thread works */
	struct sizes s;
	const char *packed;
	const float *a, *bias;
	float *y;
	float lo, hi;
	int64_t share; /* panels of an item */
	/*
	 * A block of rows that are packed at a time: the first row, the number of rows, their
	 * division into strips, and the division of the strips among items.
	 */
	int64_t line, lines;
	struct cpu_split strips, parts;
	float *strip;
	char *scratch; /* a struct worker for each thread */
	size_t worker_bytes;
};

/*
 * The memory of a worker. The last panel may be wider than the columns that exist: its results go
 * through `edge`.
 */
struct worker {
	float bias[2 * CPU_MAX_LANES], panel[DEPTH * 2 * CPU_MAX_LANES], edge[];
};

static struct worker *worker_of(const struct run *run, unsigned int worker)
{
	return (struct worker *)(run->scratch + worker * run->worker_bytes);
}

/*
 * Returns the weights of `depth` steps from `begin` on, which are some whole blocks or a slice of
 * one.
 */
static struct cpu_weights weights_at(const struct run *run, int64_t column, int64_t width,
				     int64_t begin, int64_t depth)
{
	const struct header *header = (const struct header *)run->packed;
	const struct sizes *s = &run->s;
	int64_t at = s->blocks * column + begin / s->block * width, inside = begin % s->block;

	return (struct cpu_weights){
		.q = (const int8_t *)run->packed + s->weights + at * s->column +
		     width * (s->nibbles ? inside / 8 * 4 : inside),
		.nibbles = s->nibbles,
		.depth = depth,
		.block = depth < s->block ? depth : s->block,
		.scale = (const float *)(run->packed + s->scales) + at,
		.zero = header->has_zeros ? (const int8_t *)run->packed + s->zeros + at : NULL,
		.same_zero = header->same_zero,
	};
}

/*
 * Returns the number of steps from `begin` on that are converted to floats at a time: as many whole
 * blocks as fit in DEPTH, or the rest of a larger block.
 */
static int64_t steps_from(const struct sizes *s, int64_t begin)
{
	int64_t most = s->block > DEPTH ? s->block - begin % s->block : DEPTH / s->block * s->block;

	most = most < DEPTH ? most : DEPTH;
	return s->k - begin < most ? s->k - begin : most;
}

/* Returns the biases of a panel, padded with zeros to whole vectors if need be; NULL: no biases. */
static const float *bias_at(const struct run *run, struct worker *worker, int64_t column, int64_t n,
			    int64_t width)
{
	if (!run->bias || n == width)
		return run->bias ? run->bias + column : NULL;
	memset(worker->bias, 0, sizeof(worker->bias));
	return memcpy(worker->bias, run->bias + column, (size_t)n * sizeof(float));
}

static void copy_edge(const struct run *run, const float *edge, int64_t width, int64_t n,
		      int64_t lines, float *y)
{
	for (int64_t i = 0; i < lines; i++)
		memcpy(y + i * run->s.n, edge + i * width, (size_t)n * sizeof(*y));
}

static void weigh_panel(const struct run *run, struct worker *worker, int64_t column, int64_t width)
{
	int64_t rest = run->s.n - column, n = rest < width ? rest : width;
	struct cpu_weights weights = weights_at(run, column, width, 0, run->s.k);
	struct cpu_weighted lines = {
		.lines = run->s.m,
		.lda = run->s.k,
		.ldy = n < width ? width : run->s.n,
		.a = run->a,
		.bias = bias_at(run, worker, column, n, width),
		.y = n < width ? worker->edge : run->y + column,
		.lo = run->lo,
		.hi = run->hi,
	};

	run->simd->weigh(&weights, &lines, (int)(width / run->simd->lanes));
	if (n < width)
		copy_edge(run, worker->edge, width, n, run->s.m, run->y + column);
}

/*
 * Multiplies some strips of rows with one panel; converts some steps of the panel to floats at a
 * time.
 */
static void multiply_panel(const struct run *run, struct worker *worker, int64_t part,
			   int64_t column, int64_t width)
{
	int64_t rest = run->s.n - column, n = rest < width ? rest : width, depth;
	int64_t first = cpu_split_first(&run->parts, part);
	int64_t end = first + cpu_split_size(&run->parts, part);
	int64_t from = cpu_split_first(&run->strips, first);
	const float *bias = bias_at(run, worker, column, n, width);
	float *y = run->y + (run->line + from) * run->s.n + column;
	int vecs = (int)(width / run->simd->lanes);

	for (int64_t k = 0; k < run->s.k; k += depth) {
		struct cpu_weights weights;
		bool last;

		depth = steps_from(&run->s, k);
		last = k + depth == run->s.k;
		weights = weights_at(run, column, width, k, depth);
		run->simd->widen_weights(&weights, vecs, worker->panel);
		for (int64_t i = first; i < end; i++) {
			int64_t row = cpu_split_first(&run->strips, i);
			struct cpu_tile tile = {
				.depth = depth,
				.a = run->strip + k * run->lines + row * depth,
				.b = worker->panel,
				.c = n < width ? worker->edge + (row - from) * width :
						 y + (row - from) * run->s.n,
				.ldc = n < width ? width : run->s.n,
				.add = k > 0,
				.column_bias = last ? bias : NULL,
				.lo = last ? run->lo : -INFINITY,
				.hi = last ? run->hi : INFINITY,
			};

			run->simd->tile[cpu_split_size(&run->strips, i)][vecs](&tile);
		}
	}
	if (n < width)
		copy_edge(run, worker->edge, width, n,
			  (end < run->strips.parts ? cpu_split_first(&run->strips, end) :
						     run->lines) -
				  from,
			  y);
}

static void run_slice(void *argument, int64_t item, unsigned int worker)
{
	const struct run *run = argument;
	int64_t begin = item / run->parts.parts * run->share * 2 * run->simd->lanes, width;
	int64_t end = begin + run->share * 2 * run->simd->lanes;

	for (int64_t column = begin; column < end && column < run->s.wide; column += width) {
		width = cpu_panel_width(run->simd, run->s.wide, column);
		if (run->s.m <= CPU_WEIGHED_ROWS)
			weigh_panel(run, worker_of(run, worker), column, width);
		else
			multiply_panel(run, worker_of(run, worker), item % run->parts.parts, column,
				       width);
	}
}

/*
 * Packs a strip of rows, one slice of the steps after the other, in the order in which tiles read
 * them.
 */
static void pack_strip(void *argument, int64_t strip, unsigned int worker)
{
	const struct run *run = argument;
	int64_t row = cpu_split_first(&run->strips, strip);
	int64_t rows = cpu_split_size(&run->strips, strip), depth;

	(void)worker;
	for (int64_t k = 0; k < run->s.k; k += depth) {
		depth = steps_from(&run->s, k);
		run->simd->transpose(run->strip + k * run->lines + row * depth, rows,
				     run->a + (run->line + row) * run->s.k + k, run->s.k, rows,
				     depth);
	}
}

static int64_t rows_of(const struct sizes *s)
{
	int64_t lines = NEAR / s->k > LEAST ? NEAR / s->k : LEAST;

	return s->m < lines ? s->m : lines;
}

/* Runs items on all threads, or on the calling thread when there is little work. */
static void spread(struct run *run, int64_t count, cpu_work_fn work)
{
	if (run->workers)
		cpu_threads_run(run->workers, count, work, run);
	for (int64_t i = 0; i < count && !run->workers; i++)
		work(run, i, 0);
}

static void multiply(struct run *run, int64_t threads)
{
	int64_t panels = (run->s.wide + 2 * run->simd->lanes - 1) / (2 * run->simd->lanes);
	int64_t most = rows_of(&run->s), slices;
	bool few = run->s.m <= CPU_WEIGHED_ROWS;

	run->share = cpu_tile_share(panels, (unsigned int)threads);
	slices = (panels + run->share - 1) / run->share;
	for (; run->line < run->s.m; run->line += run->lines) {
		run->lines = run->s.m - run->line < most ? run->s.m - run->line : most;
		run->strips = cpu_split(run->lines, run->simd->rows);
		run->parts = cpu_split(run->strips.parts, run->strips.parts);
		if (!few && panels < threads && run->strips.parts >= threads)
			run->parts = cpu_split(run->strips.parts, run->strips.parts / threads);
		if (!few)
			spread(run, run->strips.parts, pack_strip);
		spread(run, slices * run->parts.parts, run_slice);
	}
}

static int prepare_scratch(struct run *run, struct cpu_context *cpu, struct wnn_error *err)
{
	size_t lines = cpu_round_up((size_t)(rows_of(&run->s) * run->s.k) * sizeof(float));

	run->worker_bytes =
		cpu_round_up(sizeof(struct worker) +
			     (size_t)(rows_of(&run->s) * 2 * run->simd->lanes) * sizeof(float));
	run->scratch = cpu_scratch(cpu, cpu->threads * run->worker_bytes + lines);
	if (!run->scratch)
		return wnn_error_nomem(err, "a product");
	run->strip = (float *)(run->scratch + cpu->threads * run->worker_bytes);
	return 0;
}

static int run_product(struct cpu_plan *plan, struct cpu_context *cpu, const void *packed,
		       const void *const *in, void *const *out, struct wnn_error *err)
{
	const struct ir_node *node = plan->node;
	const struct ir_matmul_attrs *attrs = &node->attrs.matmul;
	const struct ir_value *bias = node->num_operands > 4 ? node->operands[4] : NULL;
	struct run run = { .simd = cpu->simd,
			   .s = sizes_of(cpu->simd, node),
			   .packed = packed,
			   .a = in[0],
			   .y = out[0],
			   .lo = -INFINITY,
			   .hi = INFINITY };
	bool plain = cpu_matmul_bias_is_plain(node), limited;

	run.bias = plain && bias ? in[4] : NULL;
	limited = plain && cpu_act_limits(&attrs->act, &run.lo, &run.hi);
	if (prepare_scratch(&run, cpu, err))
		return -1;
	if (cpu->threads > 1 && run.s.m * run.s.k * run.s.n >= SHARED_MACS)
		run.workers = cpu->workers;
	multiply(&run, run.workers ? cpu->threads : 1);
	if (!plain)
		cpu_matmul_add_bias(node, &bias->type, in[4], out[0]);
	if (!limited)
		cpu_activate(cpu->simd, &attrs->act, out[0], run.s.m * run.s.n);
	return 0;
}

struct cpu_plan *cpu_weights_plan(const struct cpu_ask *ask)
{
	return cpu_plan_simple(sizes_of(ask->cpu->simd, ask->node).bytes, pack, run_product);
}
