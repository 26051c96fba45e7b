// SPDX-License-Identifier: MIT
/*
 * Dense convolution with pixels as rows of the product and output channels as columns: nhwc images,
 * and nchw images that are too small to fill vectors with their rows. Each block of pixels reads
 * the filter once; its windows are gathered DEPTH elements at a time. conv.c and matmul.c call it.
 */
#include "cpu/kernel/conv_dense.h"
#include "cpu/kernel/tile_product.h"
#include "cpu/tuning.h"

#include <string.h>

/* Depth of a step of the sum, with which a panel of the filter stays in the first-level cache. */
#define DEPTH 256
/* The most output channels of an item. */
#define MAX_CHANNELS 1024

struct rows {
	const struct cpu_conv_run *run;
	const float *x; /* the images that are read together, with padding around each */
	float *y;
	int64_t images;	    /* the most images that are read together */
	int64_t in_h, in_w; /* size of an image with padding */
	int64_t *at;	    /* [depth]: offset of each element of a window */
	const float *bias;  /* bias, with readable memory after it for whole vectors */
	int64_t panels, shares, per_share;
	int64_t block, blocks; /* pixels of a block; number of blocks */
	/* whether the windows of a block are copied one after the other, not transposed */
	bool as_they_are;
	char *scratch;
	size_t a_bytes, offsets_bytes, worker_bytes;
};

static int64_t panel_width(const struct cpu_simd *simd, const struct cpu_conv *g, int64_t panel)
{
	return cpu_panel_width(simd, g->out_per_group, panel * 2 * simd->lanes);
}

static int64_t group_width(const struct cpu_simd *simd, const struct cpu_conv *g)
{
	return (g->out_per_group + simd->lanes - 1) / simd->lanes * simd->lanes;
}

size_t cpu_conv_rows_pack_bytes(const struct cpu_simd *simd, const struct cpu_conv *g)
{
	return (size_t)(g->attrs->groups * group_width(simd, g) * g->in_per_group * g->kh * g->kw) *
	       sizeof(float);
}

/*
 * Sets *i, *h and *w to the input channel, row and column of element k of a window. The order of
 * the elements is input channel, row, column (nchw), or row, column, input channel (nhwc).
 */
static void window_position(const struct cpu_conv *g, int64_t k, int64_t *i, int64_t *h, int64_t *w)
{
	int64_t taps = g->kh * g->kw, t = g->nhwc ? k / g->in_per_group : k % taps;

	*i = g->nhwc ? k % g->in_per_group : k / taps;
	*h = t / g->kw;
	*w = t % g->kw;
}

/* Whether a filter has the elements of a window, in their order, one after the other. */
static bool is_in_order(const struct cpu_conv *g, const int64_t s[4])
{
	int64_t i = g->nhwc ? 1 : g->kh * g->kw, w = g->nhwc ? g->in_per_group : 1;

	return s[1] == i && s[2] == g->kw * w && s[3] == w;
}

/* Packs panel `item` % panels of group `item` / panels; see cpu_conv_rows_pack(). */
static void pack_panel(const struct cpu_simd *simd, const struct cpu_conv *g, const float *from,
		       float *packed, int64_t item)
{
	int64_t unit = 2 * simd->lanes, panels = (g->out_per_group + unit - 1) / unit;
	int64_t group = item / panels, panel = item % panels, column = panel * unit;
	int64_t width = panel_width(simd, g, panel), rest = g->out_per_group - column;
	int64_t n = rest < width ? rest : width, depth = g->in_per_group * g->kh * g->kw;
	float *to = packed + (group * group_width(simd, g) + column) * depth;
	int64_t s[4], i, h, w;

	cpu_conv_filter_strides(g, s);
	from += (group * g->out_per_group + column) * s[0];
	if (n < width)
		memset(to, 0, (size_t)(depth * width) * sizeof(*to));
	if (is_in_order(g, s)) {
		simd->transpose(to, width, from, s[0], n, depth);
		return;
	}
	for (int64_t k = 0; k < depth; k++, to += width) {
		window_position(g, k, &i, &h, &w);
		for (int64_t c = 0; c < n; c++)
			to[c] = from[c * s[0] + i * s[1] + h * s[2] + w * s[3]];
	}
}

static int64_t count_panels(const struct cpu_simd *simd, const struct cpu_conv *g)
{
	int64_t unit = 2 * simd->lanes;

	return g->attrs->groups * ((g->out_per_group + unit - 1) / unit);
}

/*
 * Packs the filter to [group][panel][window][columns of the panel], with 0 after the last channel.
 */
void cpu_conv_rows_pack(const struct cpu_simd *simd, const struct cpu_conv *g, const float *from,
			float *to)
{
	for (int64_t item = 0; item < count_panels(simd, g); item++)
		pack_panel(simd, g, from, to, item);
}

struct packing {
	const struct cpu_conv_run *run;
	const float *from;
	float *to;
};

static void pack_item(void *argument, int64_t item, unsigned int worker)
{
	const struct packing *p = argument;

	(void)worker;
	pack_panel(p->run->cpu->simd, &p->run->conv, p->from, p->to, item);
}

/* --- One item: a block of pixels and a share of the filter's panels --- */

struct block {
	int64_t image;	     /* which of the images that are read together */
	int64_t first, size; /* first pixel of the block and number of its pixels */
	struct cpu_split panels;
	float *a, *c;
	int64_t *place; /* [size]: offset of the first element of a pixel's window */
	/* column: the first column of the share; ldc: stride of the rows of c */
	int64_t column, ldc;
};

/* Copies n floats, four at a time; the last four may overlap those before. n is small. */
static inline void copy_floats(float *to, const float *from, int64_t n)
{
	if (n < 4) {
		for (int64_t i = 0; i < n; i++)
			to[i] = from[i];
		return;
	}
	for (int64_t i = 0; i + 4 < n; i += 4)
		memcpy(to + i, from + i, 4 * sizeof(*to));
	memcpy(to + n - 4, from + n - 4, 4 * sizeof(*to));
}

typedef float four __attribute__((vector_size(16), may_alias, aligned(4)));

/*
 * Gathers n elements, at least 4, of the windows of four pixels, and transposes them: `to` has rows
 * of four pixels that are `step` floats apart.
 */
static void gather_four(float *to, int64_t step, const float *from, const int64_t *place, int64_t n)
{
	for (int64_t at = 0; at < n; at += 4) {
		int64_t i = at + 4 > n ? n - 4 : at;
		four a = *(const four *)(from + place[0] + i);
		four b = *(const four *)(from + place[1] + i);
		four c = *(const four *)(from + place[2] + i);
		four d = *(const four *)(from + place[3] + i);
		four ab = __builtin_shufflevector(a, b, 0, 4, 1, 5);
		four cd = __builtin_shufflevector(c, d, 0, 4, 1, 5);

		*(four *)(to + i * step) = __builtin_shufflevector(ab, cd, 0, 1, 4, 5);
		*(four *)(to + (i + 1) * step) = __builtin_shufflevector(ab, cd, 2, 3, 6, 7);
		ab = __builtin_shufflevector(a, b, 2, 6, 3, 7);
		cd = __builtin_shufflevector(c, d, 2, 6, 3, 7);
		*(four *)(to + (i + 2) * step) = __builtin_shufflevector(ab, cd, 0, 1, 4, 5);
		*(four *)(to + (i + 3) * step) = __builtin_shufflevector(ab, cd, 2, 3, 6, 7);
	}
}

static void gather_neighbours(float *to, const float *from, const int64_t *place, int64_t rows,
			      int64_t n)
{
	if (rows < 4 || n < 4) {
		for (int64_t k = 0; k < n; k++, to += rows)
			for (int64_t m = 0; m < rows; m++)
				to[m] = from[place[m] + k];
		return;
	}
	for (int64_t at = 0; at < rows; at += 4) {
		int64_t m = at + 4 > rows ? rows - 4 : at;

		gather_four(to + m, rows, from, place + m, n);
	}
}

/* Returns how many consecutive elements of a window are contiguous in the image. */
static int64_t neighbours(const struct cpu_conv *g)
{
	bool whole = g->in_per_group == g->in_c && g->attrs->dilations[1] == 1;

	return !g->nhwc ? 1 : whole ? g->kw * g->in_c : g->in_per_group;
}

/*
 * Gathers windows whose elements are apart, from pixels that are next to each other when
 * `side_by_side`.
 */
static void gather_apart(const int64_t *at, const float *x, const int64_t *place, int64_t rows,
			 int64_t depth, float *to, bool side_by_side)
{
	for (int64_t k = 0; k < depth; k++, to += rows) {
		const float *from = x + at[k];

		if (side_by_side)
			copy_floats(to, from + place[0], rows);
		else
			for (int64_t m = 0; m < rows; m++)
				to[m] = from[place[m]];
	}
}

static void gather_panel(const struct rows *r, const float *x, const int64_t *place, int64_t rows,
			 int64_t k0, int64_t depth, float *to)
{
	int64_t together = neighbours(&r->run->conv), n;

	if (together == 1) {
		gather_apart(r->at + k0, x, place, rows, depth, to,
			     place[rows - 1] - place[0] == rows - 1);
		return;
	}
	for (int64_t k = 0; k < depth; k += n, to += n * rows) {
		n = together - (k0 + k) % together;
		n = n < depth - k ? n : depth - k;
		gather_neighbours(to, x + r->at[k0 + k], place, rows, n);
	}
}

static void copy_windows(const struct rows *r, const float *x, const struct block *b, int64_t k0,
			 int64_t depth)
{
	int64_t together = neighbours(&r->run->conv), n;
	float *to = b->a;

	for (int64_t p = 0; p < b->size; p++)
		for (int64_t k = k0; k < k0 + depth; k += n, to += n) {
			n = together - k % together;
			n = n < k0 + depth - k ? n : k0 + depth - k;
			copy_floats(to, x + b->place[p] + r->at[k], n);
		}
}

/*
 * Gathers windows to b->a, as [panel][depth][rows of the panel], or as [pixel][depth] with
 * r->as_they_are.
 */
static void gather(const struct rows *r, const struct block *b, int64_t group, int64_t k0,
		   int64_t depth)
{
	const struct cpu_conv *g = &r->run->conv;
	const float *x = r->x + b->image * g->in_c * r->in_h * r->in_w +
			 group * g->in_per_group * (g->nhwc ? 1 : r->in_h * r->in_w);
	float *to = b->a;

	if (r->as_they_are) {
		copy_windows(r, x, b, k0, depth);
		return;
	}
	for (int64_t p = 0; p < b->panels.parts; p++) {
		int64_t rows = cpu_split_size(&b->panels, p);

		gather_panel(r, x, b->place + cpu_split_first(&b->panels, p), rows, k0, depth, to);
		to += depth * rows;
	}
}

static void multiply(const struct rows *r, const struct block *b, int64_t group, int64_t panel,
		     int64_t k0, int64_t depth)
{
	const struct cpu_conv_run *run = r->run;
	const struct cpu_simd *simd = run->cpu->simd;
	int64_t width = panel_width(simd, &run->conv, panel), column = panel * 2 * simd->lanes;
	int64_t share = depth * width / b->panels.parts;
	bool last = k0 + depth == run->depth;
	struct cpu_tile tile = {
		.depth = depth,
		.lda = r->as_they_are ? depth : 0,
		.b = run->filter + (group * group_width(simd, &run->conv) + column) * run->depth +
		     k0 * width,
		.ldc = b->ldc,
		.add = k0 > 0,
		.column_bias =
			r->bias && last ? r->bias + group * run->conv.out_per_group + column : NULL,
		.lo = last ? run->lo : -__builtin_inff(),
		.hi = last ? run->hi : __builtin_inff(),
	};

	for (int64_t p = 0; p < b->panels.parts; p++) {
		int64_t row = cpu_split_first(&b->panels, p);

		if (column + 2 * width <= run->conv.out_per_group)
			cpu_fetch_ahead(tile.b + run->depth * width + p * share, share);
		tile.a = b->a + row * depth;
		tile.c = b->c + row * b->ldc + column - b->column;
		simd->tile[cpu_split_size(&b->panels, p)][width / simd->lanes](&tile);
	}
}

/*
 * Whether the tiles store directly in the result: a pixel's channels are contiguous and fill whole
 * vectors.
 */
static bool is_in_place(const struct rows *r)
{
	const struct cpu_conv *g = &r->run->conv;

	return g->nhwc && g->out_per_group % r->run->cpu->simd->lanes == 0;
}

/*
 * Applies the activation to n channels of each pixel of a block, and copies them from the block's
 * buffer to the result unless the tiles stored them there.
 */
static void finish_block(const struct rows *r, const struct block *b, int64_t channel, int64_t n)
{
	const struct cpu_conv *g = &r->run->conv;
	const struct cpu_simd *simd = r->run->cpu->simd;
	int64_t plane = g->out_h * g->out_w;
	float *y = r->y + b->image * g->out_c * plane;

	for (int64_t p = 0; p < b->size && !r->run->limited; p++)
		cpu_activate(simd, &g->attrs->act, b->c + p * b->ldc, n);
	if (is_in_place(r))
		return;
	for (int64_t p = 0; p < b->size && g->nhwc; p++)
		memcpy(y + (b->first + p) * g->out_c + channel, b->c + p * b->ldc,
		       (size_t)n * sizeof(float));
	if (!g->nhwc)
		simd->transpose(y + channel * plane + b->first, plane, b->c, b->ldc, b->size, n);
}

static void find_offsets(const struct rows *r, const struct block *b)
{
	const struct cpu_conv *g = &r->run->conv;

	for (int64_t p = 0; p < b->size; p++) {
		int64_t oh = (b->first + p) / g->out_w, ow = (b->first + p) % g->out_w;

		b->place[p] = (oh * g->attrs->strides[0] * r->in_w + ow * g->attrs->strides[1]) *
			      (g->nhwc ? g->in_c : 1);
	}
}

static void run_item(void *argument, int64_t item, unsigned int worker)
{
	const struct rows *r = argument;
	const struct cpu_conv_run *run = r->run;
	const struct cpu_simd *simd = run->cpu->simd;
	int64_t pixels = run->conv.out_h * run->conv.out_w;
	int64_t groups = run->conv.attrs->groups;
	int64_t group = item / (r->blocks * r->shares) % groups;
	int64_t share = item / r->blocks % r->shares;
	int64_t first = share * r->per_share, end = first + r->per_share;
	int64_t column = first * 2 * simd->lanes, n = run->conv.out_per_group - column;
	int64_t channel = group * run->conv.out_per_group + column;
	char *scratch = r->scratch + worker * r->worker_bytes;
	struct block b = {
		.image = item / (r->blocks * r->shares * groups),
		.first = item % r->blocks * r->block,
		.a = (float *)scratch,
		.place = (int64_t *)(scratch + r->a_bytes),
		.c = (float *)(scratch + r->a_bytes + r->offsets_bytes),
		.column = column,
		.ldc = r->per_share * 2 * simd->lanes,
	};

	n = n < b.ldc ? n : b.ldc;
	if (is_in_place(r)) {
		b.c = r->y + (b.image * pixels + b.first) * run->conv.out_c + channel;
		b.ldc = run->conv.out_c;
	}
	end = end < r->panels ? end : r->panels;
	b.size = pixels - b.first < r->block ? pixels - b.first : r->block;
	b.panels = cpu_split(b.size, simd->rows);
	find_offsets(r, &b);
	for (int64_t k = 0; k < run->depth; k += DEPTH) {
		int64_t depth = run->depth - k < DEPTH ? run->depth - k : DEPTH;

		gather(r, &b, group, k, depth);
		for (int64_t panel = first; panel < end; panel++)
			multiply(r, &b, group, panel, k, depth);
	}
	finish_block(r, &b, channel, n);
}

/* --- The convolution --- */

static void plan_tables(struct rows *r)
{
	const struct cpu_conv *g = &r->run->conv;
	const struct ir_conv_attrs *a = g->attrs;
	int64_t i, h, w;

	for (int64_t k = 0; k < r->run->depth; k++) {
		window_position(g, k, &i, &h, &w);
		h = h * a->dilations[0] * r->in_w + w * a->dilations[1];
		r->at[k] = g->nhwc ? h * g->in_c + i : i * r->in_h * r->in_w + h;
	}
}

/* Chooses the size of the items such that a block's windows and results stay in the cache. */
static void plan_items(struct rows *r)
{
	const struct cpu_conv *g = &r->run->conv;
	const struct cpu_context *cpu = r->run->cpu;
	int64_t unit = 2 * cpu->simd->lanes, pixels = g->out_h * g->out_w, items, channels;
	int64_t threads = cpu->threads;

	r->panels = (g->out_per_group + unit - 1) / unit;
	r->per_share = r->panels < MAX_CHANNELS / unit ? r->panels : MAX_CHANNELS / unit;
	channels = r->per_share * unit;
	r->block = cpu->cache / ((DEPTH + channels) * (int64_t)sizeof(float));
	r->block = r->block / cpu->simd->rows * cpu->simd->rows;
	r->block = r->block > 2 * cpu->simd->rows ? r->block : 2 * cpu->simd->rows;
	/*
	 * Each block reads the whole filter: one block that is somewhat larger is better than two.
	 */
	r->block = r->block + r->block / 4 < pixels ? r->block : pixels;
	r->blocks = (pixels + r->block - 1) / r->block;
	r->block = (pixels + r->blocks - 1) / r->blocks;
	r->blocks = (pixels + r->block - 1) / r->block;
	r->shares = (r->panels + r->per_share - 1) / r->per_share;
	items = r->images * g->attrs->groups * r->blocks * r->shares;
	if (threads > 1 && items < 2 * threads) {
		r->per_share = (r->panels + 2 * threads - 1) / (2 * threads);
		r->shares = (r->panels + r->per_share - 1) / r->per_share;
	}
}

struct padding {
	const struct rows *r;
	const float *from;
	float *to;
};

/* Copies images and adds padding: [channel][row] in nchw, [row][pixel][channel] in nhwc. */
static void pad_rows(void *argument, int64_t begin, int64_t end)
{
	const struct padding *p = argument;
	const struct cpu_conv *g = &p->r->run->conv;
	int64_t inner = g->nhwc ? g->in_c : 1, width = p->r->in_w * inner;
	int64_t left = g->attrs->padding[2] * inner, n = g->in_w * inner;

	for (int64_t line = begin; line < end; line++) {
		int64_t ih = line % p->r->in_h - g->attrs->padding[0];
		const float *from = p->from + (line / p->r->in_h * g->in_h + ih) * n;
		float *to = p->to + line * width;

		if (ih < 0 || ih >= g->in_h) {
			memset(to, 0, (size_t)width * sizeof(*to));
			continue;
		}
		memset(to, 0, (size_t)left * sizeof(*to));
		memcpy(to + left, from, (size_t)n * sizeof(*to));
		memset(to + left + n, 0, (size_t)(width - left - n) * sizeof(*to));
	}
}

/* Computes n images from image `first` on, which are copied to `padded` unless that is NULL. */
static void run_images(struct rows *r, int64_t first, int64_t n, float *padded)
{
	const struct cpu_conv *g = &r->run->conv;
	struct padding padding = { r, r->run->x + first * g->in_c * g->in_h * g->in_w, padded };
	int64_t lines = n * r->in_h * (g->nhwc ? 1 : g->in_c);

	r->y = r->run->y + first * g->out_c * g->out_h * g->out_w;
	r->x = padded ? padded : padding.from;
	if (padded)
		cpu_parallel_ranges(r->run->cpu, lines, 64, pad_rows, &padding);
	cpu_threads_run(r->run->cpu->workers, n * g->attrs->groups * r->blocks * r->shares,
			run_item, r);
}

/*
 * Returns the number of images that are read together: as many as have copies with padding that
 * stay in the caches, or all when there is no padding. The threads wait for each other after them.
 */
static int64_t images_together(const struct rows *r, size_t image)
{
	const struct cpu_context *cpu = r->run->cpu;
	int64_t most = image ? cpu->cache * (int64_t)cpu->threads / (int64_t)image :
			       r->run->conv.batch;

	most = most < r->run->conv.batch ? most : r->run->conv.batch;
	return most > 1 ? most : 1;
}

int cpu_conv_rows(struct cpu_conv_run *run, const float *unpacked, struct wnn_error *err)
{
	const struct cpu_conv *g = &run->conv;
	const uint32_t *pad = g->attrs->padding;
	struct cpu_context *cpu = run->cpu;
	struct rows r = { .run = run,
			  .in_h = g->in_h + pad[0] + pad[1],
			  .in_w = g->in_w + pad[2] + pad[3] };
	bool padded = pad[0] || pad[1] || pad[2] || pad[3];
	size_t tables = cpu_round_up((size_t)run->depth * sizeof(int64_t));
	size_t bias = cpu_round_up((size_t)(g->out_c + CPU_SLACK) * sizeof(float));
	size_t image = padded ? (size_t)(g->in_c * r.in_h * r.in_w) * sizeof(float) : 0;
	size_t packed = run->filter ? 0 : cpu_round_up(cpu_conv_rows_pack_bytes(cpu->simd, g));
	struct packing packing = { run, unpacked, NULL };
	char *scratch;

	r.images = images_together(&r, image);
	image = cpu_round_up((size_t)r.images * image);
	r.as_they_are = g->nhwc && cpu_tuning(cpu)->max_direct;
	plan_items(&r);
	r.a_bytes = cpu_round_up((size_t)(r.block * DEPTH) * sizeof(float));
	r.offsets_bytes = cpu_round_up((size_t)r.block * sizeof(int64_t));
	r.worker_bytes = r.a_bytes + r.offsets_bytes +
			 cpu_round_up((size_t)(r.block * r.per_share * 2 * cpu->simd->lanes) *
				      sizeof(float));
	scratch = cpu_scratch(cpu, tables + bias + image + packed + cpu->threads * r.worker_bytes);
	if (!scratch)
		return wnn_error_nomem(err, "the windows of a convolution");
	r.at = (int64_t *)scratch;
	plan_tables(&r);
	if (run->bias) {
		memset(scratch + tables, 0, bias);
		memcpy(scratch + tables, run->bias, (size_t)g->out_c * sizeof(float));
		r.bias = (float *)(scratch + tables);
	}
	if (packed) {
		packing.to = (float *)(scratch + tables + bias + image);
		cpu_threads_run(cpu->workers, count_panels(cpu->simd, g), pack_item, &packing);
		run->filter = packing.to;
	}
	r.scratch = scratch + tables + bias + image + packed;
	for (int64_t n = 0; n < g->batch; n += r.images)
		run_images(&r, n, n + r.images < g->batch ? r.images : g->batch - n,
			   padded ? (float *)(scratch + tables + bias) : NULL);
	return 0;
}
