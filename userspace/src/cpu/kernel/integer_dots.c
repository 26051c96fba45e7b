// SPDX-License-Identifier: MIT
/*
 * Convolutions in channels-last layout and matrix products of 8-bit integers with a constant second
 * operand, on tiles of dot products of bytes (cpu/simd/simd.h). Rows of the product are pixels,
 * which are read where they lie: a table of pointers has the pixel that each tap of each row reads.
 *
 * The second operand is packed in blocks of 64 columns, after it the sums of the columns. With them
 * the zero point of the first operand becomes part of the bias.
 */
#include <string.h>

#include "cpu/kernel/conv.h"
#include "cpu/element.h"
#include "cpu/kernel/kernels.h"
#include "util/malloc.h"

#define BLOCK	  64	/* columns of a block */
#define MAX_DEPTH 32768 /* products of bytes whose sum certainly fits in 31 bits */
/*
 * Bytes of weights that stay in the second-level cache while all pixels of a share are multiplied.
 */
#define GROUP_BYTES ((int64_t)256 << 10)

struct dots {
	struct cpu_plan base;
	const struct ir_node *node;
	const struct cpu_simd *simd;
	const struct ir_integer_attrs *attrs;
	const struct ir_unary_attrs *act;
	struct cpu_conv conv; /* of a matrix product: 1x1, with its rows as pixels of one row */
	struct ir_conv_attrs plain;
	bool depthwise;
	/*
	 * Whether a row of a window is one tap, because pixels are no whole multiples of four bytes.
	 */
	bool by_rows;
	int64_t pixels, columns, blocks;
	int64_t taps, depth; /* taps of a tile, and bytes of a tap */
	int64_t stride[4];   /* of the filter: output channel, input channel, row, column */
	/*
	 * depthwise: output pixels in one vector; several when they have few channels and stride 1
	 */
	int64_t fold;
	uint8_t flip, filter_flip, zero;
	uint8_t *padding; /* zero points, for the pixels of a vector */
};

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

/* Returns the bytes of the weights of a whole block. */
static int64_t block_bytes(const struct dots *d)
{
	return d->depthwise ? (d->taps + 3) / 4 * 4 * BLOCK : d->taps * d->depth * BLOCK;
}

static size_t weights_bytes(const struct dots *d)
{
	return (size_t)(block_bytes(d) * d->blocks);
}

/* Returns the column of element i of a block of packed weights. */
static int64_t column_of(const struct dots *d, int64_t block, int i)
{
	if (d->depthwise)
		return (block * BLOCK + cpu_dot_channel(i)) %
		       (d->fold > 1 ? d->columns : INT64_MAX);
	return block * BLOCK + (vectors(d, block) == 4 ? cpu_dot_channel(i) : i);
}

/* Returns the weight of a column that is multiplied with byte k of a tap. */
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

static void pack_block(const struct dots *d, const uint8_t *from, int64_t block, int8_t *to,
		       int32_t *sums)
{
	int lanes = d->depthwise ? BLOCK : vectors(d, block) * 16;
	int64_t steps = d->depthwise ? 1 : d->depth / 4;
	int64_t taps = d->depthwise ? (d->taps + 3) / 4 : d->taps;

	for (int64_t tap = 0; tap < taps; tap++)
		for (int64_t k = 0; k < steps; k++)
			for (int i = 0; i < lanes; i++) {
				int64_t column = column_of(d, block, i);

				for (int j = 0; j < 4; j++) {
					int8_t w = d->depthwise ?
							   weight(d, from, column, tap * 4 + j, 0) :
							   weight(d, from, column, tap, k * 4 + j);

					*to++ = w;
					sums[block * BLOCK + i] += w;
				}
			}
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

struct run {
	const struct dots *d;
	const uint8_t *x, *end; /* the first operand and its end */
	const void *packed;
	char *y;
	const int32_t *bias;
	const float *scale;
	const void *addend; /* addends of a float result, or NULL */
	uint32_t addend_step;
	int64_t shares, per_share; /* pixels of a share */
	int64_t group;		   /* blocks of columns of an item */
	char *scratch;
	size_t worker_bytes;
};

/* Sets bias and scale of all columns, in the order of the packed weights. */
static void set_columns(const struct dots *d, const void *const *in, const int32_t *sums,
			int32_t *bias, float *scale)
{
	const struct ir_node *node = d->node;
	bool has_bias = node->num_operands > 3 && node->operands[3];
	int64_t scales = ir_type_elements(&node->operands[2]->type);
	int64_t biases = has_bias ? ir_type_elements(&node->operands[3]->type) : 0;
	/* The 128 that makes a signed byte unsigned is part of its zero point. */
	int32_t zero = (int32_t)d->attrs->a_zero + (d->flip ? 128 : 0);

	for (int64_t i = 0; i < d->blocks * BLOCK; i++) {
		int64_t c = column_of(d, i / BLOCK, i % BLOCK);
		const int32_t *own = has_bias ? in[3] : NULL;

		c = c < d->columns ? c : d->columns - 1;
		bias[i] = (own ? own[biases > 1 ? c : 0] : 0) - zero * sums[i];
		scale[i] = ((const float *)in[2])[scales > 1 ? c : 0];
	}
}

/* Where an output pixel lies. */
struct pixel {
	int64_t image, row, column;
};

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

/* Returns the pixel of the input that a tap reads for an output pixel. */
static const uint8_t *tap_at(const struct run *run, const struct pixel *p, int64_t kh, int64_t kw)
{
	const struct cpu_conv *g = &run->d->conv;
	const struct ir_conv_attrs *a = g->attrs;
	int64_t h = p->row * a->strides[0] + kh * a->dilations[0] - a->padding[0];
	int64_t w = p->column * a->strides[1] + kw * a->dilations[1] - a->padding[2];

	if (h < 0 || w < 0 || h >= g->in_h || w >= g->in_w)
		return run->d->padding;
	return run->x + ((p->image * g->in_h + h) * g->in_w + w) * g->in_c;
}

/* Sets the table of pointers for `count` pixels. */
static void find_rows(const struct run *run, int64_t first, int count, const uint8_t **rows)
{
	const struct cpu_conv *g = &run->d->conv;
	struct pixel p = pixel_of(g, first);

	for (int r = 0; r < count; r++, advance(g, &p)) {
		const uint8_t **at = rows + r;

		for (int64_t kh = 0; kh < g->kh; kh++)
			for (int64_t kw = 0; kw < g->kw; kw++, at += CPU_DOT_ROWS)
				*at = tap_at(run, &p, kh, kw);
	}
}

/* Repeats the pointers of the last of `count` pixels for the others of a tile. */
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
		int64_t w = p.column * a->strides[1] - a->padding[2];
		bool whole = a->dilations[1] == 1 && w >= 0 && w + g->kw <= g->in_w;

		for (int64_t kh = 0; kh < g->kh; kh++, copies += d->depth) {
			const uint8_t *at = tap_at(run, &p, kh, 0);

			if (!whole || at == d->padding || at + d->depth > run->end) {
				copy_row(run, &p, kh, copies);
				at = copies;
			}
			rows[kh * CPU_DOT_ROWS + r] = at;
		}
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
	float piece[BLOCK];

	for (int r = 0; r < t->count; r++, sums += BLOCK) {
		int64_t at = (first + r) * d->columns + column;

		for (int i = 0; i < lanes; i++)
			piece[column_of(d, block, i) - column] =
				(float)sums[i] * t->finish.scale[i];
		for (int i = 0; run->addend && i < t->columns; i++)
			piece[i] += (float)cpu_load(node->operands[4]->type.dtype, run->addend,
						    (column + i) * run->addend_step);
		cpu_activate(d->simd, d->act, piece, t->columns);
		if (dtype == IR_F32)
			memcpy((float *)run->y + at, piece, (size_t)t->columns * sizeof(*piece));
		else
			for (int i = 0; i < t->columns; i++)
				cpu_store(dtype, run->y, at + i, piece[i]);
	}
}

/*
 * Multiplies `count` pixels from `first` on, whose pointers are in the table, with a block of
 * columns.
 */
static void block_tiles(const struct run *run, const uint8_t *const *table, int64_t first,
			int64_t count, int64_t block)
{
	const struct dots *d = run->d;
	int64_t column = block * BLOCK;
	int vecs = vectors(d, block), rows = d->simd->dot_rows[vecs];
	bool real = ir_dtype_is_float(d->node->results[0]->type.dtype);
	int32_t sums[CPU_DOT_ROWS * BLOCK];
	struct cpu_dots t = {
		.taps = d->taps,
		.depth = d->depth,
		.weights = (const int8_t *)run->packed + block * block_bytes(d),
		.finish = { run->scale + column, run->bias + column, (float)d->attrs->zero,
			    (float)d->attrs->lo, (float)d->attrs->hi },
		.flip = d->flip,
		.raw = real,
		.is_signed = d->node->results[0]->type.dtype == IR_I8,
		.columns = (int)(d->columns - column < BLOCK ? d->columns - column : BLOCK),
		.out_step = real ? (int64_t)(BLOCK * sizeof(*sums)) : d->columns,
	};

	for (int64_t i = 0; i < count; i += rows) {
		t.rows = table + i;
		t.count = (int)(count - i < rows ? count - i : rows);
		t.out = real ? (char *)sums : run->y + (first + i) * d->columns + column;
		d->simd->dots[vecs](&t);
		if (real)
			finish_real(run, sums, &t, first + i, block);
	}
}

/* Computes a share of the pixels for a group of blocks. */
static void tiles(void *argument, int64_t item, unsigned int worker)
{
	const struct run *run = argument;
	const struct dots *d = run->d;
	int64_t block = item / run->shares * run->group, blocks = block + run->group;
	int64_t first = item % run->shares * run->per_share, end = first + run->per_share;
	const uint8_t **table =
		(const uint8_t **)(void *)(run->scratch + worker * run->worker_bytes);
	uint8_t *copies = (uint8_t *)(table + d->taps * CPU_DOT_ROWS);

	end = end < d->pixels ? end : d->pixels;
	blocks = blocks < d->blocks ? blocks : d->blocks;
	for (; first < end; first += CPU_DOT_ROWS) {
		int count = (int)(end - first < CPU_DOT_ROWS ? end - first : CPU_DOT_ROWS);

		if (d->by_rows)
			find_window_rows(run, first, count, table, copies);
		else
			find_rows(run, first, count, table);
		repeat_rows(d, count, table);
		for (int64_t i = block; i < blocks; i++)
			block_tiles(run, table, first, count, i);
	}
}

/*
 * Computes `count` pixels of a row for a block of channels. Each tap moves by the same distance
 * from pixel to pixel, so that it must read the image for all of them, or padding for all.
 */
static void channel_pixels(const struct run *run, const struct pixel *first, int64_t count,
			   int64_t block, const uint8_t **x, int64_t *step)
{
	const struct dots *d = run->d;
	const struct cpu_conv *g = &d->conv;
	int64_t channel = block * BLOCK, rest = d->columns - channel, fold = d->fold;
	struct cpu_channel_dots dots = {
		.x = x,
		.step = step,
		.taps = d->taps,
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

	for (int64_t tap = 0; tap < (d->taps + 3) / 4 * 4; tap++) {
		const uint8_t *at = tap < d->taps ? tap_at(run, first, tap / g->kw, tap % g->kw) :
						    d->padding;

		x[tap] = at == d->padding ? at : at + channel;
		step[tap] = at == d->padding ? 0 : (int64_t)g->attrs->strides[1] * g->in_c * fold;
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
 * Computes one row of a depthwise convolution: pixels whose windows reach padding one by one, those
 * between them together.
 */
static void channel_row(void *argument, int64_t item, unsigned int worker)
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

/* Divides the pixels into shares, so that all threads have work; returns the number of items. */
static int64_t divide(const struct cpu_context *cpu, const struct dots *d, struct run *run)
{
	int64_t work = d->pixels * d->taps * d->depth * d->columns;
	int64_t most = work / CPU_THREAD_MACS + 1, wanted = 4 * (int64_t)cpu->threads, groups;

	run->group = GROUP_BYTES / block_bytes(d) > 1 ? GROUP_BYTES / block_bytes(d) : 1;
	groups = (d->blocks + run->group - 1) / run->group;
	run->shares = cpu->threads > 1 ? (wanted + groups - 1) / groups : 1;
	run->shares = run->shares < most ? run->shares : most;
	run->per_share = (d->pixels + run->shares - 1) / run->shares;
	run->per_share = (run->per_share + CPU_DOT_ROWS - 1) / CPU_DOT_ROWS * CPU_DOT_ROWS;
	run->shares = (d->pixels + run->per_share - 1) / run->per_share;
	return groups * run->shares;
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
			cpu_round_up(
				(size_t)d->taps * CPU_DOT_ROWS * sizeof(void *) +
				(d->by_rows ? (size_t)(CPU_DOT_ROWS * d->taps * d->depth) : 0));
	scratch = cpu_scratch(cpu, 2 * columns + cpu->threads * work.worker_bytes);
	if (!scratch)
		return wnn_error_nomem(err, "an integer product");
	work.scratch = scratch + 2 * columns;
	work.bias = (int32_t *)(void *)scratch;
	work.scale = (float *)(void *)(scratch + columns);
	set_columns(d, in, (const int32_t *)(const void *)((const char *)packed + weights_bytes(d)),
		    (int32_t *)(void *)scratch, (float *)(void *)(scratch + columns));
	if (d->node->num_operands > 4 && d->node->operands[4]) {
		work.addend = in[4];
		work.addend_step = ir_type_elements(&d->node->operands[4]->type) > 1;
	}
	if (d->depthwise) {
		cpu_threads_run(cpu->workers, d->conv.batch * d->conv.out_h, channel_row, &work);
		return 0;
	}
	items = divide(cpu, d, &work);
	cpu_threads_run(cpu->workers, items, tiles, &work);
	return 0;
}

/* --- Preparing --- */

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

const char *cpu_integer_dots_refuses(const struct cpu_ask *ask)
{
	const struct ir_node *node = ask->node;
	const struct ir_integer_attrs *attrs =
		node->op == IR_OP_QCONV ? &node->attrs.qconv.integer : &node->attrs.qmatmul.integer;
	enum ir_dtype a = node->operands[0]->type.dtype, b = node->operands[1]->type.dtype;

	if (!ask->cpu->simd->channel_dots)
		return "this level of instructions has no dot products of bytes";
	if (!ask->packs)
		return "its weights are not constant";
	if ((a != IR_I8 && a != IR_U8) || (b != IR_I8 && b != IR_U8))
		return "its types are neither int8 nor uint8";
	if (attrs->b_zero != (b == IR_U8 ? 128 : 0))
		return "the zero point of its weights is neither 0 of int8 nor 128 of uint8";
	return node->op == IR_OP_QCONV ? conv_refuses(node) : matmul_refuses(node);
}

static void set_sizes(struct dots *d)
{
	const struct ir_node *node = d->node;

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
	d->taps = d->conv.kh * (d->by_rows ? 1 : d->conv.kw);
	d->depth = d->by_rows ? (d->conv.kw * d->conv.in_per_group + 3) / 4 * 4 :
				d->conv.in_per_group;
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
