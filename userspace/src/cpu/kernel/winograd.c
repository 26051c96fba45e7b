// SPDX-License-Identifier: MIT
/*
 * 3x3 convolutions without strides by Winograd's algorithm: 2x2 results from 4x4 pixels (a tile)
 * with 16 products for each pair of channels instead of 36. The products of many tiles are 16
 * products of matrices, on our own tiles (tile_product.c), or on oneDNN with AVX-512, where it does
 * not pack the filter at each call.
 *
 * The transforms before and after them turn infinities into NaN, also in results that do not depend
 * on them, and may overflow where the convolution does not. So, when a result is not finite, a
 * kernel that packs nothing computes the node again, with the original filter, which unpack()
 * restores, up to rounding, from the packed one.
 */
#include "cpu/kernel/winograd.h"

#include <math.h>
#include <stdatomic.h>
#include <string.h>

#include "cpu/kernel/conv.h"
#include "cpu/kernel/tile_product.h"
#include "util/malloc.h"
#include "cpu/kernel/kernels.h"
#include "cpu/tuning.h"

#define POINTS 16
/*
 * CHUNK_BYTES: bytes of the transformed pixels and products of a chunk of tiles; the most tiles of
 * a chunk are as many as have these bytes, but from MIN_CHUNK to MAX_CHUNK. Chunks depend on the
 * shape and on these numbers alone, so that bits do not depend on threads.
 */
#define CHUNK_BYTES (512 << 10)
#define MIN_CHUNK   64
#define MAX_CHUNK   128
/*
 * The least tiles of a chunk when tiles are divided into more chunks for the threads, since each
 * chunk reads the filter.
 */
#define FEWEST_TILES 32
/*
 * With at least MANY_CHUNKS chunks, each thread computes whole chunks, whose number is mostly a
 * multiple of MANY_CHUNKS. With fewer, the threads share the products of a chunk, divided into
 * SHARED_PARTS.
 */
#define MANY_CHUNKS  4
#define SHARED_PARTS 4
/*
 * The least tiles of a node: for fewer, reading the transformed filter, which is nearly twice as
 * large as the original, takes too long.
 */
#define MIN_TILES 32
#define TILE_ITEM 8 /* tiles of an item when threads share a chunk */

struct winograd {
	struct cpu_plan base;
	const struct cpu_simd *simd;
	struct cpu_conv shape;
	int64_t pitch; /* floats from one pixel of the result to the next */
	bool has_bias, limited;
	float lo, hi;
	/* tiles_h, tiles_w: tiles of an image; tiles: tiles of all images */
	int64_t tiles_h, tiles_w, tiles;
	/*
	 * chunk: tiles of a chunk; chunks: their number; parts: calls for the products of a chunk
	 */
	int64_t chunk, chunks, parts;
	struct cpu_winograd_products products;
	/* part_bytes: filter bytes of a call; scratch_bytes: scratch memory of a thread */
	size_t part_bytes, scratch_bytes;
	unsigned int threads;
	/* a zero for each channel: read as padding, and as the bias of a node without one */
	float *zeros;
};

/* The header of the packed filter, one cache line. */
union header {
	/* whether the unpacked filter follows, because some transformed numbers are too large */
	bool plain;
	char line[64];
};

struct run {
	struct winograd *w;
	struct cpu_context *cpu;
	const float *x, *bias;
	const char *filter;
	float *y;
	char *scratch;
	int64_t first, count; /* first tile and number of tiles of the chunk that threads share */
	atomic_bool failed, strange;
};

/*
 * The memory of a chunk: transformed pixels, products, and a row that gets results outside of the
 * image.
 */
struct room {
	float *v, *m, *outside;
	char *scratch;
};

static size_t room_bytes(const struct winograd *w)
{
	const struct cpu_conv *g = &w->shape;

	return cpu_round_up((size_t)((POINTS * w->chunk + 1) * (g->in_c + g->out_c)) *
			    sizeof(float)) +
	       w->scratch_bytes;
}

static struct room room_of(const struct run *run, unsigned int worker)
{
	const struct winograd *w = run->w;
	const struct cpu_conv *g = &w->shape;
	char *start = run->scratch + worker * room_bytes(w);
	struct room room = { .scratch = start, .v = (float *)(start + w->scratch_bytes) };

	room.m = room.v + POINTS * w->chunk * g->in_c;
	room.outside = room.m + POINTS * w->chunk * g->out_c;
	return room;
}

/* --- A tile --- */

struct place {
	int64_t image, row, column; /* image, row and column of the tile's first result */
};

static struct place position_of(const struct winograd *w, int64_t tile)
{
	int64_t in_image = tile % (w->tiles_h * w->tiles_w);

	return (struct place){ tile / (w->tiles_h * w->tiles_w), in_image / w->tiles_w * 2,
			       in_image % w->tiles_w * 2 };
}

static void spread_tile(const struct run *run, int64_t tile, int64_t step, float *v)
{
	const struct winograd *w = run->w;
	const struct cpu_conv *g = &w->shape;
	const uint32_t *padding = g->attrs->padding;
	struct place at = position_of(w, tile);
	const float *x[POINTS];

	for (int i = 0; i < 4; i++)
		for (int j = 0; j < 4; j++) {
			int64_t row = at.row + i - padding[0], column = at.column + j - padding[2];
			bool inside = row >= 0 && row < g->in_h && column >= 0 && column < g->in_w;

			x[4 * i + j] =
				inside ? run->x + ((at.image * g->in_h + row) * g->in_w + column) *
							  g->in_c :
					 w->zeros;
		}
	run->cpu->simd->winograd_in(v, step, x, g->in_c);
}

static void gather_tile(struct run *run, int64_t tile, int64_t step, const float *m, float *outside)
{
	const struct winograd *w = run->w;
	const struct cpu_conv *g = &w->shape;
	struct place at = position_of(w, tile);
	float *y[4];

	for (int i = 0; i < 4; i++) {
		int64_t row = at.row + i / 2, column = at.column + i % 2;

		y[i] = row < g->out_h && column < g->out_w ?
			       run->y + ((at.image * g->out_h + row) * g->out_w + column) *
						w->pitch :
			       outside;
	}
	if (!run->cpu->simd->winograd_out(y, m, step, run->bias, w->lo, w->hi, g->out_c))
		atomic_store_explicit(&run->strange, true, memory_order_relaxed);
}

/* Applies the activation to pixels of a row of results. */
static void activate_row(const struct run *run, float *y, int64_t pixels)
{
	const struct winograd *w = run->w;
	const struct cpu_conv *g = &w->shape;
	int64_t each = w->pitch == g->out_c ? pixels : 1;

	for (int64_t i = 0; i < pixels; i += each)
		cpu_activate(run->cpu->simd, &g->attrs->act, y + i * w->pitch, each * g->out_c);
}

/*
 * Applies the activation to the results of tiles, all of a row at once: a call for each pixel
 * takes longer than the function where channels are few.
 */
static void activate_tiles(const struct run *run, int64_t first, int64_t count)
{
	const struct winograd *w = run->w;
	const struct cpu_conv *g = &w->shape;
	int64_t end = first + count, next;

	for (int64_t tile = first; tile < end && !w->limited; tile = next) {
		struct place at = position_of(w, tile);
		int64_t pixels;

		next = tile + w->tiles_w - at.column / 2;
		next = next < end ? next : end;
		pixels = 2 * (next - tile);
		if (pixels > g->out_w - at.column)
			pixels = g->out_w - at.column;
		for (int64_t row = at.row; row < at.row + 2 && row < g->out_h; row++)
			activate_row(run,
				     run->y + ((at.image * g->out_h + row) * g->out_w + at.column) *
						      w->pitch,
				     pixels);
	}
}

/* Computes the results of tiles from their products, m; points are @step floats apart. */
static void gather_tiles(struct run *run, int64_t first, int64_t count, int64_t step,
			 const float *m, float *outside)
{
	int64_t n = run->w->shape.out_c;

	for (int64_t t = 0; t < count; t++)
		gather_tile(run, first + t, step, m + t * n, outside);
	activate_tiles(run, first, count);
}

/* --- A chunk --- */

static void multiply_own(const struct winograd *w, const struct cpu_winograd_call *call)
{
	const struct cpu_conv *g = &w->shape;

	for (int64_t i = 0; i < POINTS / w->parts; i++)
		cpu_tile_multiply(w->simd,
				  &(struct cpu_tile_product){
					  .m = call->tiles,
					  .k = g->in_c,
					  .n = g->out_c,
					  .a = call->v + i * call->tiles * g->in_c,
					  .b = (const float *)call->filter + i * g->in_c * g->out_c,
					  .c = call->m + i * call->tiles * g->out_c,
					  .ldc = g->out_c,
					  .lo = -INFINITY,
					  .hi = INFINITY,
				  },
				  (float *)call->scratch);
}

static void multiply(struct run *run, int64_t part, unsigned int worker, int64_t tiles,
		     const struct room *room)
{
	struct winograd *w = run->w;
	const struct cpu_conv *g = &w->shape;
	int64_t point = part * POINTS / w->parts;
	const struct cpu_winograd_call call = {
		.worker = worker,
		.tiles = tiles,
		.v = room->v + point * tiles * g->in_c,
		.filter = run->filter + (size_t)part * w->part_bytes,
		.m = room->m + point * tiles * g->out_c,
		.scratch = room->scratch,
	};

	if (!w->products.state)
		multiply_own(w, &call);
	else if (!w->products.multiply(w->products.state, &call))
		atomic_store(&run->failed, true);
}

static void run_chunk(void *argument, int64_t item, unsigned int worker)
{
	struct run *run = argument;
	const struct winograd *w = run->w;
	const struct cpu_conv *g = &w->shape;
	struct room room = room_of(run, worker);
	int64_t first = item * w->chunk, rest = w->tiles - first;
	int64_t count = rest < w->chunk ? rest : w->chunk;

	for (int64_t t = 0; t < count; t++)
		spread_tile(run, first + t, count * g->in_c, room.v + t * g->in_c);
	multiply(run, 0, worker, count, &room);
	gather_tiles(run, first, count, count * g->out_c, room.m, room.outside);
}

/*
 * The next three functions compute the chunk that begins at tile run->first. Each is a step that
 * the threads share: transform pixels, multiply, transform back.
 */
static void spread_some(void *argument, int64_t item, unsigned int worker)
{
	struct run *run = argument;
	struct room room = room_of(run, 0);
	int64_t n = run->w->shape.in_c, begin = item * TILE_ITEM, end = begin + TILE_ITEM;

	(void)worker;
	for (int64_t t = begin; t < end && t < run->count; t++)
		spread_tile(run, run->first + t, run->count * n, room.v + t * n);
}

static void multiply_some(void *argument, int64_t item, unsigned int worker)
{
	struct run *run = argument;
	struct room room = room_of(run, 0);

	room.scratch = room_of(run, worker).scratch;
	multiply(run, item, worker, run->count, &room);
}

static void gather_some(void *argument, int64_t item, unsigned int worker)
{
	struct run *run = argument;
	struct room room = room_of(run, 0);
	int64_t n = run->w->shape.out_c, begin = item * TILE_ITEM, rest = run->count - begin;

	room.outside = room_of(run, worker).outside;
	gather_tiles(run, run->first + begin, rest < TILE_ITEM ? rest : TILE_ITEM, run->count * n,
		     room.m + begin * n, room.outside);
}

static void run_chunks(struct run *run)
{
	const struct winograd *w = run->w;
	struct cpu_threads *workers = run->cpu->workers;

	if (w->parts == 1) {
		cpu_threads_run(workers, w->chunks, run_chunk, run);
		return;
	}
	for (run->first = 0; run->first < w->tiles; run->first += w->chunk) {
		int64_t rest = w->tiles - run->first, items;

		run->count = rest < w->chunk ? rest : w->chunk;
		items = (run->count + TILE_ITEM - 1) / TILE_ITEM;
		cpu_threads_run(workers, items, spread_some, run);
		cpu_threads_run(workers, w->parts, multiply_some, run);
		cpu_threads_run(workers, items, gather_some, run);
	}
}

/* --- The filter --- */

/*
 * spread_three() transforms a row of three filter elements to four numbers; the function after it
 * transforms them back.
 */
static void spread_three(const double *g, int64_t step, double *u, int64_t to_step)
{
	u[0] = g[0];
	u[to_step] = (g[0] + g[step] + g[2 * step]) / 2;
	u[2 * to_step] = (g[0] - g[step] + g[2 * step]) / 2;
	u[3 * to_step] = g[2 * step];
}

static void gather_three(const double *u, int64_t step, double *g, int64_t to_step)
{
	g[0] = u[0];
	g[to_step] = u[step] - u[2 * step];
	g[2 * to_step] = u[3 * step];
}

/* The offset of each tap of a filter in memory. */
static void find_taps(const int64_t strides[4], int64_t taps[9])
{
	for (int t = 0; t < 9; t++)
		taps[t] = t / 3 * strides[2] + t % 3 * strides[3];
}

/* Transforms the filter; false when a transformed number is not finite. */
static bool spread_filter(const struct cpu_conv *g, const float *filter, float *points)
{
	int64_t s[4], tap[9];
	double taps[9], rows[12], u[POINTS];
	bool finite = true;

	cpu_conv_filter_strides(g, s);
	find_taps(s, tap);
	for (int64_t i = 0; i < g->in_c; i++)
		for (int64_t o = 0; o < g->out_c; o++) {
			for (int t = 0; t < 9; t++)
				taps[t] = (double)filter[o * s[0] + i * s[1] + tap[t]];
			for (int r = 0; r < 3; r++)
				spread_three(taps + 3 * r, 1, rows + 4 * r, 1);
			for (int c = 0; c < 4; c++)
				spread_three(rows + c, 4, u + c, 4);
			for (int p = 0; p < POINTS; p++) {
				float *to = points + (p * g->in_c + i) * g->out_c + o;

				*to = (float)u[p];
				finite = finite && isfinite(*to);
			}
		}
	return finite;
}

static void gather_filter(const struct cpu_conv *g, const float *points, float *filter)
{
	int64_t s[4], tap[9];
	double taps[9], rows[12], u[POINTS];

	cpu_conv_filter_strides(g, s);
	find_taps(s, tap);
	for (int64_t i = 0; i < g->in_c; i++)
		for (int64_t o = 0; o < g->out_c; o++) {
			for (int p = 0; p < POINTS; p++)
				u[p] = (double)points[(p * g->in_c + i) * g->out_c + o];
			for (int c = 0; c < 4; c++)
				gather_three(u + c, 4, rows + c, 4);
			for (int r = 0; r < 3; r++)
				gather_three(rows + 4 * r, 1, taps + 3 * r, 1);
			for (int t = 0; t < 9; t++)
				filter[o * s[0] + i * s[1] + tap[t]] = (float)taps[t];
		}
}

static size_t filter_bytes(const struct cpu_conv *g, size_t taps)
{
	return (size_t)(g->in_c * g->out_c) * taps * sizeof(float);
}

/* Converts the filter of one call from the plain order to the layout of its products, or back. */
static void pack_part(const struct winograd *w, int64_t part, float *points, char *packed,
		      bool back)
{
	const struct cpu_conv *g = &w->shape;
	int64_t each = g->in_c * g->out_c, count = POINTS / w->parts;

	points += part * count * each;
	packed += (size_t)part * w->part_bytes;
	if (w->products.state) {
		w->products.repack(w->products.state, points, packed, back);
		return;
	}
	for (int64_t i = 0; i < count; i++)
		if (back)
			cpu_tile_unpack(w->simd, g->in_c, g->out_c, (float *)packed + i * each,
					points + i * each);
		else
			cpu_tile_pack(w->simd, g->in_c, g->out_c, points + i * each,
				      (float *)packed + i * each);
}

static int pack(const struct cpu_plan *plan, const void *from, void *to, struct wnn_error *err)
{
	const struct winograd *w = (const struct winograd *)plan;
	const struct cpu_conv *g = &w->shape;
	union header *header = to;
	float *points = wnn_malloc(filter_bytes(g, POINTS));
	char *packed = (char *)(header + 1);

	if (!points)
		return wnn_error_nomem(err, "a filter");
	memset(to, 0, w->base.packed_bytes);
	header->plain = !spread_filter(g, from, points);
	if (header->plain)
		memcpy(packed, from, filter_bytes(g, 9));
	for (int64_t i = 0; i < w->parts && !header->plain; i++)
		pack_part(w, i, points, packed, false);
	wnn_free(points);
	return 0;
}

static int unpack(const struct winograd *w, const char *packed, float *filter,
		  struct wnn_error *err)
{
	float *points = wnn_malloc(filter_bytes(&w->shape, POINTS));

	if (!points)
		return wnn_error_nomem(err, "a filter");
	for (int64_t i = 0; i < w->parts; i++)
		pack_part(w, i, points, (char *)packed, true);
	gather_filter(&w->shape, points, filter);
	wnn_free(points);
	return 0;
}

/*
 * Computes the convolution with a kernel that writes dense results, also when the plan's are not.
 * Returns 0 or -1.
 */
static int run_dense(const struct run *run, const void *const *operands, struct wnn_error *err)
{
	const struct winograd *w = run->w;
	int64_t n = w->shape.out_c, pixels = w->shape.batch * w->shape.out_h * w->shape.out_w;
	bool apart = w->pitch != n;
	float *y = apart ? wnn_malloc((size_t)(pixels * n + CPU_SLACK) * sizeof(*y)) : run->y;
	void *out[] = { y };
	int ret;

	if (!y)
		return wnn_error_nomem(err, "the result of a convolution");
	ret = cpu_run_node(run->cpu, CPU_FAST, w->base.node, operands, out, err);
	for (int64_t i = 0; i < pixels && apart; i++)
		memcpy(run->y + i * w->pitch, y + i * n, (size_t)n * sizeof(*y));
	if (apart)
		wnn_free(y);
	return ret;
}

/* Computes the convolution with another kernel and the original filter. Returns 0 or -1. */
static int run_plainly(const struct run *run, const void *packed, const void *const *in,
		       struct wnn_error *err)
{
	const struct winograd *w = run->w;
	const union header *header = packed;
	const char *stored = (const char *)(header + 1);
	float *filter = wnn_malloc(filter_bytes(&w->shape, 9));
	const void *operands[3] = { in[0], filter, w->has_bias ? in[2] : NULL };
	int ret = 0;

	if (!filter)
		return wnn_error_nomem(err, "a filter");
	if (header->plain)
		memcpy(filter, stored, filter_bytes(&w->shape, 9));
	else
		ret = unpack(w, stored, filter, err);
	if (!ret)
		ret = run_dense(run, operands, err);
	wnn_free(filter);
	return ret;
}

static int run(struct cpu_plan *plan, struct cpu_context *cpu, const void *packed,
	       const void *const *in, void *const *out, struct wnn_error *err)
{
	struct winograd *w = (struct winograd *)plan;
	const union header *header = packed;
	struct run r = { .w = w,
			 .cpu = cpu,
			 .x = in[0],
			 .bias = w->has_bias ? in[2] : w->zeros,
			 .filter = (const char *)(header + 1),
			 .y = out[0] };

	if (header->plain)
		return run_plainly(&r, packed, in, err);
	r.scratch = cpu_scratch(cpu, w->threads * room_bytes(w));
	if (!r.scratch)
		return wnn_error_nomem(err, "a convolution");
	run_chunks(&r);
	if (atomic_load(&r.failed))
		return w->products.fail(err);
	return atomic_load(&r.strange) ? run_plainly(&r, packed, in, err) : 0;
}

static bool arrange(struct cpu_plan *plan, const struct ir_node *node, int operand,
		    const int64_t *strides)
{
	struct winograd *w = (struct winograd *)plan;
	int64_t pitch = operand == CPU_RESULT ? cpu_conv_pitch(node, strides) : 0;

	if (pitch)
		w->pitch = pitch;
	return pitch > 0;
}

static void destroy(struct cpu_plan *plan)
{
	struct winograd *w = (struct winograd *)plan;

	if (w->products.state)
		w->products.destroy(w->products.state);
	wnn_free(w->zeros);
	wnn_free(w);
}

static int make_products(struct winograd *w, cpu_winograd_make_fn make, const void *library)
{
	const struct cpu_conv *g = &w->shape;
	const struct cpu_winograd_shape shape = { .points = POINTS / w->parts,
						  .tiles = w->chunk,
						  .rest = w->tiles % w->chunk,
						  .in_c = g->in_c,
						  .out_c = g->out_c,
						  .threads = w->threads };
	int64_t most = g->in_c > g->out_c ? g->in_c : g->out_c;

	w->zeros = wnn_calloc((size_t)most, sizeof(*w->zeros));
	if (!w->zeros || (make && make(library, &shape, &w->products)))
		return -1;
	if (w->products.state) {
		w->scratch_bytes = w->products.scratch_bytes;
		w->part_bytes = w->products.filter_bytes;
	} else {
		if (make || g->out_c % w->simd->lanes)
			return -1;
		w->scratch_bytes = cpu_tile_scratch(w->chunk);
		w->part_bytes = filter_bytes(g, POINTS) / (size_t)w->parts;
	}
	w->base.packed_bytes = sizeof(union header) + (size_t)w->parts * w->part_bytes;
	return 0;
}

/* Divides the tiles into chunks of about equal size, by the shape alone. */
static void divide(struct winograd *w)
{
	const struct cpu_conv *g = &w->shape;
	int64_t tile = POINTS * (g->in_c + g->out_c) * (int64_t)sizeof(float);
	int64_t most = CHUNK_BYTES / tile;

	w->tiles_h = (g->out_h + 1) / 2;
	w->tiles_w = (g->out_w + 1) / 2;
	w->tiles = g->batch * w->tiles_h * w->tiles_w;
	most = most < MIN_CHUNK ? MIN_CHUNK : most > MAX_CHUNK ? MAX_CHUNK : most;
	w->chunks = (w->tiles + most - 1) / most;
	if (w->tiles >= MANY_CHUNKS * FEWEST_TILES)
		w->chunks = (w->chunks + MANY_CHUNKS - 1) / MANY_CHUNKS * MANY_CHUNKS;
	w->chunk = (w->tiles + w->chunks - 1) / w->chunks;
	w->chunks = (w->tiles + w->chunk - 1) / w->chunk;
	w->parts = w->chunks < MANY_CHUNKS ? SHARED_PARTS : 1;
}

const char *cpu_winograd_refuses(const struct cpu_ask *ask)
{
	const struct ir_node *node = ask->node;
	const struct ir_conv_attrs *attrs = &node->attrs.conv;
	struct cpu_conv g;

	if (node->operands[0]->type.dtype != IR_F32)
		return "its type is not float32";
	if (!ask->packs)
		return "its filter is not constant";
	if (attrs->transposed)
		return "it is transposed";
	if (attrs->layout != IR_NHWC)
		return "its channels do not come last";
	if (attrs->groups != 1 || attrs->strides[0] != 1 || attrs->strides[1] != 1 ||
	    attrs->dilations[0] != 1 || attrs->dilations[1] != 1)
		return "it has groups, strides or dilations";
	g = cpu_conv_of(node);
	if (g.kh != 3 || g.kw != 3)
		return "its filter is not 3x3";
	if (!cpu_conv_can_pack(node))
		return "its filter has a NaN or infinity, which padding must not be multiplied "
		       "with";
	return g.in_c >= CPU_MAX_LANES && g.out_c >= CPU_MAX_LANES &&
			       g.batch * ((g.out_h + 1) / 2) * ((g.out_w + 1) / 2) >= MIN_TILES ?
		       NULL :
		       "it has too few channels or pixels";
}

const char *cpu_winograd_tiles_refuses(const struct cpu_ask *ask)
{
	const char *why = cpu_winograd_refuses(ask);

	if (why)
		return why;
	return cpu_conv_of(ask->node).out_c % ask->cpu->simd->lanes ?
		       "its channels do not fill vectors" :
		       NULL;
}

const char *cpu_winograd_loses(const struct cpu_ask *ask)
{
	/* oneDNN is loaded already: its kernel was asked before. */
	bool onednn = ask->cpu->layer == CPU_ONEDNN && cpu_onednn_form();

	if (!onednn && !cpu_tuning(ask->cpu)->tiles)
		return "tiles were not measured to be faster with this level of instructions";
	return NULL;
}

struct cpu_plan *cpu_winograd_make(const struct cpu_ask *ask, cpu_winograd_make_fn make,
				   const void *library)
{
	const struct cpu_context *cpu = ask->cpu;
	struct winograd *w = wnn_calloc(1, sizeof(*w));

	if (!w)
		return NULL;
	w->base = (struct cpu_plan){
		.pack = pack, .run = run, .destroy = destroy, .arrange = arrange
	};
	w->simd = cpu->simd;
	w->shape = cpu_conv_of(ask->node);
	w->pitch = w->shape.out_c;
	w->has_bias = ask->node->num_operands > 2 && ask->node->operands[2];
	w->limited = cpu_act_limits(&w->shape.attrs->act, &w->lo, &w->hi);
	w->threads = cpu->threads;
	divide(w);
	if (!make_products(w, make, library))
		return &w->base;
	destroy(&w->base);
	return NULL;
}

struct cpu_plan *cpu_winograd_plan(const struct cpu_ask *ask)
{
	return cpu_winograd_make(ask, NULL, NULL);
}
