// SPDX-License-Identifier: MIT
/*
 * Convolutions in channels-last layout and matrix products of 8-bit integers with a constant second
 * operand, on tiles of dot products of bytes or of pairs of 16-bit integers (cpu/simd/simd.h). Rows
 * of the product are pixels, which are read where they lie: a table of pointers has the pixel that
 * each tap of each row reads. For pairs, these pixels are widened first.
 *
 * The second operand is packed in blocks of 64 columns, after it the sums of the columns. With them
 * the zero point of the first operand becomes part of the bias.
 */
#include <string.h>

#include "cpu/element.h"
#include "cpu/kernel/integer_dots.h"
#include "cpu/kernel/kernels.h"
#include "util/malloc.h"

#define MAX_DEPTH 32768 /* so many products of bytes certainly have a sum that fits in 31 bits */
/*
 * Bytes of weights that stay in the second-level cache while all pixels of a share are multiplied.
 */
#define GROUP_BYTES ((int64_t)64 << 10)
/*
 * The least pixels with which tiles prefetch the next weights: with fewer, a tile would have to
 * prefetch several cache lines in each step, and reading the weights takes the time in any case.
 */
#define LEAST_AHEAD 24

static struct dots *dots_of(const struct cpu_plan *plan)
{
	return (struct dots *)plan;
}

/* --- Packing --- */

/* Returns the number of vectors of a block. */
static int vectors(const struct dots *d, int64_t block)
{
	int64_t rest = d->columns - block * BLOCK;

	return rest >= BLOCK ? 4 : (int)((rest + 15) / 16);
}

static size_t weights_bytes(const struct dots *d)
{
	return (size_t)(block_bytes(d) * d->blocks);
}

/* Returns the column of element i of a block of packed weights. */
static int64_t column_of(const struct dots *d, int64_t block, int i)
{
	if (d->depthwise)
		return (block * BLOCK + cpu_dot_channel(d->simd, i, 4)) %
		       (d->fold > 1 ? d->columns : INT64_MAX);
	return block * BLOCK + cpu_dot_channel(d->simd, i, vectors(d, block));
}

/*
 * Returns the weight of a column that is multiplied with byte k of a tap; 0 for columns and bytes
 * that only fill up a block or a tap.
 */
static int8_t weight(const struct dots *d, const uint8_t *from, int64_t column, int64_t tap,
		     int64_t k)
{
	const struct cpu_conv *g = &d->conv;
	int64_t channels = g->in_per_group;

	if (d->by_rows) {
		if (k >= g->kw * channels)
			return 0;
		tap = tap * g->kw + k / channels;
		k %= channels;
	}
	if (column >= d->columns || tap >= g->kh * g->kw)
		return 0;
	return (int8_t)(from[column * d->stride[0] + k * d->stride[1] + tap / g->kw * d->stride[2] +
			     tap % g->kw * d->stride[3]] ^
			d->filter_flip);
}

/*
 * Packs elements [begin, end) of a block, and adds the weights of each to its sum. Returns the end
 * of the packed weights.
 */
static int8_t *pack_elements(const struct dots *d, const uint8_t *from, int64_t block, int begin,
			     int end, int8_t *to, int32_t *sums)
{
	int64_t steps = d->depthwise ? 1 : d->depth / d->unit;
	int64_t taps = d->depthwise ? (d->taps + d->unit - 1) / d->unit : d->taps;

	for (int64_t tap = 0; tap < taps; tap++)
		for (int64_t k = 0; k < steps; k++)
			for (int i = begin; i < end; i++) {
				int64_t column = column_of(d, block, i);

				for (int j = 0; j < d->unit; j++) {
					int64_t own = tap * d->unit + j;
					int8_t w = d->depthwise ? weight(d, from, column,
									 channel_tap(d, own), 0) :
								  weight(d, from, column, tap,
									 k * d->unit + j);

					*to++ = w;
					sums[block * BLOCK + i] += w;
				}
			}
	return to;
}

/* Packs a block; at a level with pairs, one vector of columns after the other. */
static void pack_block(const struct dots *d, const uint8_t *from, int64_t block, int8_t *to,
		       int32_t *sums)
{
	int lanes = d->depthwise ? BLOCK : vectors(d, block) * 16;
	int step = d->simd->pairs && !d->depthwise ? 16 : lanes;

	for (int i = 0; i < lanes; i += step)
		to = pack_elements(d, from, block, i, i + step, to, sums);
}

static int pack(const struct cpu_plan *plan, const void *from, void *to, struct wnn_error *err)
{
	const struct dots *d = dots_of(plan);
	int32_t *sums = (int32_t *)((char *)to + weights_bytes(d));

	(void)err;
	/*
	 * The last block may be shorter than its memory, whose rest is 0, so that files hold no
	 * random bytes.
	 */
	memset(to, 0, plan->packed_bytes);
	for (int64_t i = 0; i < d->blocks; i++)
		pack_block(d, from, i, (int8_t *)to + i * block_bytes(d), sums);
	return 0;
}

/* --- Running --- */

/*
 * Copies from[c] for each column c, in the order of the packed weights. Consecutive columns stay
 * together in fours.
 */
static void order_columns(const struct dots *d, const int32_t *from, int32_t *to)
{
	for (int64_t block = 0; block < d->blocks; block++) {
		int vecs = d->depthwise ? 4 : vectors(d, block);

		for (int i = 0; i < BLOCK; i += 4, to += 4) {
			int64_t first = block * BLOCK + cpu_dot_channel(d->simd, i, vecs);

			if (first + 4 <= d->columns) {
				memcpy(to, from + first, 4 * sizeof(*to));
				continue;
			}
			for (int64_t c = first; c < first + 4; c++)
				to[c - first] = from[c < d->columns ? c :
						     d->fold > 1    ? c % d->columns :
								      d->columns - 1];
		}
	}
}

/*
 * Sets bias and scale of all columns, in the order of the packed weights. Returns whether all
 * scales are between -0.5 and 0.5.
 */
static bool set_columns(const struct dots *d, const void *const *in, const int32_t *sums,
			int32_t *bias, float *scale)
{
	const struct ir_node *node = d->node;
	const int32_t *own = node->num_operands > 3 && node->operands[3] ? in[3] : NULL;
	const float *scales = in[2];
	int64_t all = d->blocks * BLOCK, large = 0;
	/* The 128 that makes a signed byte unsigned is part of its zero point. */
	int32_t zero = (int32_t)d->attrs->a_zero + (d->flip ? 128 : 0);

	if (own && ir_type_elements(&node->operands[3]->type) > 1)
		order_columns(d, own, bias);
	else
		for (int64_t i = 0; i < all; i++)
			bias[i] = own ? own[0] : 0;
	/* Floats are copied as integers of the same size. */
	if (ir_type_elements(&node->operands[2]->type) > 1)
		order_columns(d, in[2], (int32_t *)(void *)scale);
	else
		for (int64_t i = 0; i < all; i++)
			scale[i] = scales[0];
	for (int64_t i = 0; i < all; i++) {
		/* This may leave int32, though the sum of a result and its bias does not. */
		bias[i] = (int32_t)((uint32_t)bias[i] - (uint32_t)zero * (uint32_t)sums[i]);
		large += !(scale[i] < 0.5f && scale[i] > -0.5f);
	}
	return !large;
}

/* Whether results have the zero point 0 and the limits of their type. */
static bool is_plain(const struct dots *d)
{
	bool is_signed = d->node->results[0]->type.dtype == IR_I8;

	return !d->attrs->zero && d->attrs->lo <= (is_signed ? -128 : 0) &&
	       d->attrs->hi >= (is_signed ? 127 : 255);
}

static struct pixel pixel_of(const struct cpu_conv *g, int64_t number)
{
	int64_t line = number / g->out_w;

	return (struct pixel){ line / g->out_h, line % g->out_h, number % g->out_w };
}

static void advance(const struct cpu_conv *g, struct pixel *p)
{
	if (++p->column < g->out_w)
		return;
	p->column = 0;
	if (++p->row < g->out_h)
		return;
	p->row = 0;
	p->image++;
}

/*
 * Returns the input pixel that the first tap reads for an output pixel whose taps all lie inside
 * the image; NULL for other output pixels.
 */
static const uint8_t *inner_window(const struct run *run, const struct pixel *p)
{
	const struct cpu_conv *g = &run->d->conv;
	const struct ir_conv_attrs *a = g->attrs;
	int64_t h = p->row * a->strides[0] - a->padding[0];
	int64_t w = p->column * a->strides[1] - a->padding[2];

	if (h < 0 || w < 0 || h + (g->kh - 1) * a->dilations[0] >= g->in_h ||
	    w + (g->kw - 1) * a->dilations[1] >= g->in_w)
		return NULL;
	return run->x + ((p->image * g->in_h + h) * g->in_w + w) * g->in_c;
}

/* Sets the pointers to the input pixels that each tap reads for `count` output pixels. */
static void find_rows(const struct run *run, int64_t first, int count, const uint8_t **rows)
{
	const struct dots *d = run->d;
	const struct cpu_conv *g = &d->conv;
	struct pixel p = pixel_of(g, first);

	for (int r = 0; r < count && d->flat; r++)
		rows[r] = run->x + (first + r) * g->in_c;
	for (int r = 0; r < count && !d->flat; r++, advance(g, &p)) {
		const uint8_t *from = inner_window(run, &p);
		const uint8_t **to = rows + r;

		for (int64_t kh = 0; kh < g->kh; kh++)
			for (int64_t kw = 0; kw < g->kw; kw++, to += CPU_DOT_ROWS)
				*to = from ? from + kh * d->tap_step[0] + kw * d->tap_step[1] :
					     tap_at(run, &p, kh, kw);
	}
}

/*
 * Repeats the pointers of the last of `count` pixels for the unused rows of a tile, whose pointers
 * must be valid.
 */
static void repeat_rows(const struct dots *d, int count, const uint8_t **rows)
{
	for (int64_t tap = 0; tap < d->taps; tap++, rows += CPU_DOT_ROWS)
		for (int r = count; r < CPU_DOT_ROWS; r++)
			rows[r] = rows[count - 1];
}

/* Copies a row of a window, with padding where it lies outside of the image. */
static void copy_row(const struct run *run, const struct pixel *p, int64_t kh, uint8_t *to)
{
	const struct cpu_conv *g = &run->d->conv;

	for (int64_t kw = 0; kw < g->kw; kw++, to += g->in_c)
		memcpy(to, tap_at(run, p, kh, kw), (size_t)g->in_c);
}

/*
 * Sets the table of pointers when each row of a window is one tap. A row that is not completely
 * inside the image is copied with padding. A row at the end of the input is copied, too, because
 * tiles read bytes after it, which they multiply by weights of 0.
 */
static void find_window_rows(const struct run *run, int64_t first, int count, const uint8_t **rows,
			     uint8_t *copies)
{
	const struct dots *d = run->d;
	const struct cpu_conv *g = &d->conv;
	const struct ir_conv_attrs *a = g->attrs;
	struct pixel p = pixel_of(g, first);

	for (int r = 0; r < count; r++, advance(g, &p)) {
		const uint8_t *from = a->dilations[1] == 1 ? inner_window(run, &p) : NULL;

		if (from && from + (g->kh - 1) * d->tap_step[0] + d->depth > run->end)
			from = NULL;
		for (int64_t kh = 0; kh < g->kh; kh++, copies += d->depth) {
			if (!from)
				copy_row(run, &p, kh, copies);
			rows[kh * CPU_DOT_ROWS + r] = from ? from + kh * d->tap_step[0] : copies;
		}
	}
}

/*
 * Widens what the taps of `count` pixels read. Taps that follow each other in memory are widened
 * together.
 */
static void widen_rows(const struct dots *d, const uint8_t *const *table, int count, int16_t *to)
{
	for (int r = 0; r < count; r++)
		for (int64_t tap = 0; tap < d->taps;) {
			const uint8_t *from = table[tap * CPU_DOT_ROWS + r];
			int64_t n = 0;

			for (; tap < d->taps && table[tap * CPU_DOT_ROWS + r] == from + n; tap++)
				n += d->depth;
			d->simd->widen_row(to, from, d->flip, n);
			to += n;
		}
}

/* Converts the sums of a tile to floats, and those to results of the node's type. */
static void finish_real(const struct run *run, const int32_t *sums, const struct cpu_dots *t,
			int64_t first, int64_t block)
{
	const struct dots *d = run->d;
	const struct ir_node *node = d->node;
	enum ir_dtype dtype = node->results[0]->type.dtype;
	int64_t column = block * BLOCK;
	int lanes = vectors(d, block) * 16;
	float row[BLOCK];

	for (int r = 0; r < t->count; r++, sums += BLOCK) {
		int64_t at = (first + r) * d->columns + column;

		for (int i = 0; i < lanes; i++)
			row[column_of(d, block, i) - column] = (float)sums[i] * t->finish.scale[i];
		for (int i = 0; run->addend && i < t->columns; i++)
			row[i] += (float)cpu_load(node->operands[4]->type.dtype, run->addend,
						  (column + i) * run->addend_step);
		cpu_activate(d->simd, d->act, row, t->columns);
		if (dtype == IR_F32)
			memcpy((float *)run->y + at, row, (size_t)t->columns * sizeof(*row));
		else
			for (int i = 0; i < t->columns; i++)
				cpu_store(dtype, run->y, at + i, row[i]);
	}
}

/*
 * Computes the fused node from a tile of bytes, which are the results of this node, and stores the
 * results of the fused node at `out`.
 */
static void finish_bytes(const struct run *run, const uint8_t *bytes, const struct cpu_dots *t,
			 char *out)
{
	const struct dots *d = run->d;

	for (int r = 0; r < t->count; r++, bytes += BLOCK)
		/* A conversion has no addend: the loop adds the bytes themselves with scale 0. */
		d->simd->integers(&run->after, (uint8_t *)out + r * d->columns, bytes,
				  t->addend ? t->addend + r * t->addend_step : bytes, t->columns);
}

/*
 * Multiplies `count` pixels, from pixel `first` on, with a block of columns. @table has the
 * pointers to their input pixels; with pairs, @wide has these pixels, widened.
 */
static void block_tiles(const struct run *run, const uint8_t *const *table, const int16_t *wide,
			int64_t first, int64_t count, int64_t block, const int8_t **next)
{
	const struct dots *d = run->d;
	int64_t column = block * BLOCK;
	int vecs = vectors(d, block), rows = d->simd->dot_rows[vecs];
	bool real = ir_dtype_is_float(d->node->results[0]->type.dtype);
	bool wild = d->next && !run->tame;
	int32_t sums[CPU_DOT_ROWS * BLOCK];
	struct cpu_dots t = {
		.taps = d->taps,
		.depth = d->depth,
		.weights = (const int8_t *)run->packed + block * block_bytes(d),
		.spread = run->spread ? run->spread : MAX_DEPTH,
		.finish = { run->scale + column, run->bias + column, (float)d->attrs->zero,
			    (float)d->attrs->lo, (float)d->attrs->hi },
		.flip = d->flip,
		.raw = real,
		.is_signed = d->node->results[0]->type.dtype == IR_I8,
		.plain = run->plain,
		.columns = (int)(d->columns - column < BLOCK ? d->columns - column : BLOCK),
		.out_step = real ? (int64_t)(BLOCK * sizeof(*sums)) :
			    wild ? BLOCK :
				   d->columns,
		.after = d->next && !wild ? &run->after : NULL,
		.addend_step = d->columns,
	};

	for (int64_t i = 0; i < count; i += rows) {
		char *out = run->y + (first + i) * d->columns + column;

		t.rows = table + i;
		t.wide = wide + i * d->taps * d->depth;
		t.next = run->spread ? *next : t.weights;
		*next += d->taps * ((d->depth + t.spread - 1) / t.spread) * 64;
		t.count = (int)(count - i < rows ? count - i : rows);
		t.out = real || wild ? (char *)sums : out;
		t.addend = run->other ? run->other + (first + i) * d->columns + column : NULL;
		d->simd->dots[vecs][t.count](&t);
		if (real)
			finish_real(run, sums, &t, first + i, block);
		else if (wild)
			finish_bytes(run, (const uint8_t *)sums, &t, out);
	}
}

/*
 * Returns the address from which a share of the pixels prefetches weights of the group that begins
 * at a block. After the last group lie mostly the weights of the next node: they are prefetched,
 * too.
 */
static const int8_t *next_weights(const struct run *run, int64_t block, int64_t share)
{
	const struct dots *d = run->d;
	int64_t bytes = run->group * block_bytes(d);

	return (const int8_t *)run->packed + block * block_bytes(d) + bytes / run->shares * share;
}

/* Computes an item: a share of the pixels for a group of blocks of columns. */
static void tiles(void *argument, int64_t item, unsigned int worker)
{
	const struct run *run = argument;
	const struct dots *d = run->d;
	int64_t block = item / run->shares * run->group, blocks = block + run->group;
	int64_t first = item % run->shares * run->per_share, end = first + run->per_share;
	const uint8_t **table =
		(const uint8_t **)(void *)(run->scratch + worker * run->worker_bytes);
	int16_t *wide = (int16_t *)(void *)(table + d->taps * CPU_DOT_ROWS);
	uint8_t *copies =
		(uint8_t *)(wide + (d->simd->pairs ? CPU_DOT_ROWS * d->taps * d->depth : 0));
	const int8_t *next = next_weights(run, blocks, item % run->shares);

	end = end < d->pixels ? end : d->pixels;
	blocks = blocks < d->blocks ? blocks : d->blocks;
	for (; first < end; first += CPU_DOT_ROWS) {
		int count = (int)(end - first < CPU_DOT_ROWS ? end - first : CPU_DOT_ROWS);

		if (d->by_rows)
			find_window_rows(run, first, count, table, copies);
		else
			find_rows(run, first, count, table);
		if (d->simd->pairs)
			widen_rows(d, table, count, wide);
		else
			repeat_rows(d, count, table);
		for (int64_t i = block; i < blocks; i++)
			block_tiles(run, table, wide, first, count, i, &next);
	}
}

/* Divides the pixels into shares, so that all threads have work; returns the number of items. */
static int64_t divide(const struct cpu_context *cpu, const struct dots *d, struct run *run)
{
	int64_t work = d->pixels * d->taps * d->depth * d->columns;
	int64_t most = work / CPU_THREAD_MACS + 1, wanted = 4 * (int64_t)cpu->threads, groups;

	run->group = GROUP_BYTES / block_bytes(d) > 1 ? GROUP_BYTES / block_bytes(d) : 1;
	/* Tiles of pairs read weights seldom, and widened pixels serve all blocks of a group. */
	if (d->simd->pairs && (cpu->threads == 1 || d->pixels >= wanted * CPU_DOT_ROWS))
		run->group = d->blocks;
	groups = (d->blocks + run->group - 1) / run->group;
	/*
	 * For each four bytes of a tap, a tile of six pixels reads up to four cache lines of
	 * weights. LEAST_AHEAD pixels are four such tiles, each of which prefetches one line; with
	 * twice the pixels, each prefetches half as much.
	 */
	for (int64_t pixels = LEAST_AHEAD; pixels <= d->pixels; pixels *= 2)
		run->spread = run->spread ? 2 * run->spread : 4;
	run->shares = cpu->threads > 1 ? (wanted + groups - 1) / groups : 1;
	run->shares = run->shares < most ? run->shares : most;
	run->per_share = (d->pixels + run->shares - 1) / run->shares;
	run->per_share = (run->per_share + CPU_DOT_ROWS - 1) / CPU_DOT_ROWS * CPU_DOT_ROWS;
	run->shares = (d->pixels + run->per_share - 1) / run->per_share;
	return groups * run->shares;
}

/* Exchanges the operands of a commutative operation. */
static void exchange(struct cpu_integers *op)
{
	struct cpu_integers old = *op;

	op->a_signed = old.b_signed;
	op->b_signed = old.a_signed;
	op->a_zero = old.b_zero;
	op->b_zero = old.a_zero;
	op->a_scale = old.b_scale;
	op->b_scale = old.a_scale;
}

/* Sets what the fused node computes; its operands follow those of this node. */
static void set_after(const struct dots *d, const void *const *in, struct run *run)
{
	const void *all[8] = { NULL };
	uint32_t other = d->next_operand ? 0 : 3;

	in += d->node->num_operands;
	for (uint32_t i = 0; i < d->next->num_operands; i++)
		all[i] = i == d->next_operand ? NULL : *in++;
	run->after = cpu_integers_of(d->next, all);
	run->other = d->next->op == IR_OP_QBINARY ? all[other] : NULL;
	if (!other)
		exchange(&run->after);
	run->tame = cpu_integers_are_tame(&run->after);
}

static int run(struct cpu_plan *plan, struct cpu_context *cpu, const void *packed,
	       const void *const *in, void *const *out, struct wnn_error *err)
{
	const struct dots *d = dots_of(plan);
	size_t columns = (size_t)(d->blocks * BLOCK) * sizeof(float);
	struct run work = { .d = d, .x = in[0], .packed = packed, .y = out[0] };
	int64_t items;
	char *scratch;

	work.end = work.x + ir_type_bytes(&d->node->operands[0]->type);
	work.worker_bytes =
		d->depthwise ?
			cpu_round_up((size_t)(d->taps + 3) * (sizeof(void *) + sizeof(int64_t))) :
			cpu_round_up((size_t)d->taps * CPU_DOT_ROWS * sizeof(void *) +
				     (size_t)(CPU_DOT_ROWS * d->taps * d->depth) *
					     ((d->by_rows ? 1 : 0) +
					      (d->simd->pairs ? sizeof(int16_t) : 0)));
	scratch = cpu_scratch(cpu, 2 * columns + cpu->threads * work.worker_bytes);
	if (!scratch)
		return wnn_error_nomem(err, "an integer product");
	work.scratch = scratch + 2 * columns;
	work.bias = (int32_t *)(void *)scratch;
	work.scale = (float *)(void *)(scratch + columns);
	work.plain = set_columns(d, in,
				 (const int32_t *)(const void *)((const char *)packed +
								 weights_bytes(d)),
				 (int32_t *)(void *)scratch,
				 (float *)(void *)(scratch + columns)) &&
		     is_plain(d);
	if (d->node->num_operands > 4 && d->node->operands[4]) {
		work.addend = in[4];
		work.addend_step = ir_type_elements(&d->node->operands[4]->type) > 1;
	}
	if (d->next)
		set_after(d, in, &work);
	if (d->depthwise) {
		cpu_threads_run(cpu->workers, d->conv.batch * d->conv.out_h,
				cpu_integer_channel_row, &work);
		return 0;
	}
	items = divide(cpu, d, &work);
	cpu_threads_run(cpu->workers, items, tiles, &work);
	return 0;
}

/* --- Preparing --- */

/* Fuses an addition of bytes, or a conversion to another scale; returns false for other nodes. */
static bool fuse(struct cpu_plan *plan, const struct cpu_context *cpu, const struct ir_node *next)
{
	const struct cpu_ask ask = { .cpu = cpu, .node = next };
	struct dots *d = dots_of(plan);
	bool sum = next->op == IR_OP_QBINARY;

	if (d->depthwise || !cpu_integer_is_byte(d->node->results[0]) ||
	    !cpu_integer_is_byte(next->results[0]))
		return false;
	if (sum ? next->attrs.binary.kind != IR_ADD || cpu_integer_binary_refuses(&ask) :
		  next->op != IR_OP_QUNARY || next->attrs.unary.kind != IR_UNARY_NONE)
		return false;
	d->next = next;
	d->next_operand = sum && next->operands[0] != d->node->results[0] ? 3 : 0;
	return true;
}

static void destroy(struct cpu_plan *plan)
{
	wnn_free(dots_of(plan)->padding);
	wnn_free(plan);
}

/* Describes a matrix product as a 1x1 convolution. */
static void conv_of_matmul(struct dots *d)
{
	const struct ir_node *node = d->node;
	const struct ir_type *a = &node->operands[0]->type;
	bool transposed = node->attrs.matmul.b_transpose;
	int64_t depth = ir_type_dim(a, a->rank - 1);
	int64_t columns = ir_type_dim(&node->results[0]->type, node->results[0]->type.rank - 1);
	int64_t pixels = ir_type_elements(a) / depth;

	d->plain =
		(struct ir_conv_attrs){ .strides = { 1, 1 }, .dilations = { 1, 1 }, .groups = 1 };
	d->conv = (struct cpu_conv){ .attrs = &d->plain,
				     .batch = 1,
				     .in_c = depth,
				     .in_h = 1,
				     .in_w = pixels,
				     .out_c = columns,
				     .out_h = 1,
				     .out_w = pixels,
				     .kh = 1,
				     .kw = 1,
				     .in_per_group = depth,
				     .out_per_group = columns,
				     .nhwc = true };
	d->stride[0] = transposed ? depth : 1;
	d->stride[1] = transposed ? 1 : columns;
	d->attrs = &node->attrs.qmatmul.integer;
	d->act = &node->attrs.matmul.act;
}

static const char *matmul_refuses(const struct ir_node *node)
{
	const struct ir_type *a = &node->operands[0]->type, *b = &node->operands[1]->type;

	if (node->attrs.matmul.a_transpose)
		return "its first matrix is transposed";
	if (a->rank < 2 || b->rank < 2 ||
	    ir_type_elements(b) != ir_type_dim(b, b->rank - 1) * ir_type_dim(b, b->rank - 2))
		return "its second operand is not one matrix";
	return ir_type_dim(a, a->rank - 1) > MAX_DEPTH ? "its sums may need more than 31 bits" :
							 NULL;
}

static const char *conv_refuses(const struct ir_node *node)
{
	const struct ir_conv_attrs *a = &node->attrs.conv;
	struct cpu_conv g = cpu_conv_of(node);
	bool depthwise = a->groups > 1;

	if (!g.nhwc)
		return "its images are channels-first";
	if (depthwise && (g.in_per_group != 1 || g.out_per_group != 1))
		return "it has groups of several channels";
	if (depthwise && ir_dtype_is_float(node->results[0]->type.dtype))
		return "it is depthwise, and its result is not of 8 bits";
	if (a->transposed)
		return "it is transposed";
	if (!cpu_window_is_small(g.in_h, g.kh, a->dilations[0]) ||
	    !cpu_window_is_small(g.in_w, g.kw, a->dilations[1]))
		return "its windows are far larger than its images";
	return g.kh * g.kw * g.in_per_group > MAX_DEPTH ? "its sums may need more than 31 bits" :
							  NULL;
}

static const char *refuses(const struct cpu_ask *ask)
{
	const struct ir_node *node = ask->node;
	const struct ir_integer_attrs *attrs =
		node->op == IR_OP_QCONV ? &node->attrs.qconv.integer : &node->attrs.qmatmul.integer;
	enum ir_dtype a = node->operands[0]->type.dtype, b = node->operands[1]->type.dtype;

	if (!ask->packs)
		return "its weights are not constant";
	if ((a != IR_I8 && a != IR_U8) || (b != IR_I8 && b != IR_U8))
		return "one of its operands is neither int8 nor uint8";
	if (attrs->b_zero != (b == IR_U8 ? 128 : 0))
		return "the zero point of its weights is neither 0 of int8 nor 128 of uint8";
	return node->op == IR_OP_QCONV ? conv_refuses(node) : matmul_refuses(node);
}

const char *cpu_integer_dots_refuses(const struct cpu_ask *ask)
{
	return !ask->cpu->simd->channel_dots || ask->cpu->simd->pairs ?
		       "this level of instructions has no dot products of bytes" :
		       refuses(ask);
}

const char *cpu_integer_pairs_refuses(const struct cpu_ask *ask)
{
	return ask->cpu->simd->pairs ? refuses(ask) :
				       "this level of instructions has no products of pairs";
}

static void set_sizes(struct dots *d)
{
	const struct ir_node *node = d->node;
	const struct ir_conv_attrs *a = d->conv.attrs;

	d->depthwise = d->conv.attrs->groups > 1;
	d->pixels = d->conv.batch * d->conv.out_h * d->conv.out_w;
	d->columns = d->conv.out_c;
	d->blocks = (d->columns + BLOCK - 1) / BLOCK;
	d->fold = d->depthwise && d->conv.attrs->strides[1] == 1 && BLOCK % d->columns == 0 ?
			  BLOCK / d->columns :
			  1;
	d->flip = node->operands[0]->type.dtype == IR_I8 ? 0x80 : 0;
	d->filter_flip = node->operands[1]->type.dtype == IR_U8 ? 0x80 : 0;
	d->by_rows = !d->depthwise && d->conv.in_per_group % 4;
	d->flat = d->conv.kh * d->conv.kw * a->strides[0] * a->strides[1] == 1 && !a->padding[0] &&
		  !a->padding[1] && !a->padding[2] && !a->padding[3];
	d->unit = d->simd->pairs ? 2 : 4;
	d->by_columns = d->depthwise && d->unit == 4 && d->conv.kh == 3 && d->conv.kw == 3;
	d->taps = d->conv.kh * (d->by_rows ? 1 : d->conv.kw);
	if (d->by_columns)
		d->taps = 4 * d->conv.kw;
	d->depth = d->by_rows ? (d->conv.kw * d->conv.in_per_group + 3) / 4 * 4 :
				d->conv.in_per_group;
	d->tap_step[0] = d->conv.attrs->dilations[0] * d->conv.in_w * d->conv.in_c;
	d->tap_step[1] = d->conv.attrs->dilations[1] * d->conv.in_c;
	d->base.packed_bytes = weights_bytes(d) + (size_t)(d->blocks * BLOCK) * sizeof(int32_t);
}

struct cpu_plan *cpu_integer_dots_plan(const struct cpu_ask *ask)
{
	const struct ir_node *node = ask->node;
	struct dots *d = wnn_calloc(1, sizeof(*d));
	size_t padding;

	if (!d)
		return NULL;
	d->base.pack = pack;
	d->base.run = run;
	d->base.destroy = destroy;
	d->base.fuse = fuse;
	d->node = node;
	d->simd = ask->cpu->simd;
	if (node->op == IR_OP_QMATMUL) {
		conv_of_matmul(d);
	} else {
		d->conv = cpu_conv_of(node);
		cpu_conv_filter_strides(&d->conv, d->stride);
		d->attrs = &node->attrs.qconv.integer;
		d->act = &node->attrs.conv.act;
	}
	set_sizes(d);
	padding = cpu_round_up((size_t)(d->conv.in_c * d->fold));
	d->padding = wnn_aligned_alloc(64, padding);
	if (!d->padding) {
		destroy(&d->base);
		return NULL;
	}
	memset(d->padding, (int)d->attrs->a_zero, padding);
	return &d->base;
}
