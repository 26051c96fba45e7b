// SPDX-License-Identifier: MIT
/*
 * Dense convolution of nchw images with pixels as columns of the product. Windows are packed one
 * tile at a time, and all output channels are then computed from that tile. They are packed
 * directly from the image when the filter is 1x1, else from a copy of a few rows in which every tap
 * reads contiguous pixels (struct cpu_planes). conv.c calls it.
 */
#include "cpu/kernel/conv_dense.h"

#include <string.h>

/*
 * The most elements of the sum in a step, unless one input channel has more: a step of the windows
 * and of the filter then stays in the first-level cache.
 */
#define DEPTH 256

struct columns {
	const struct cpu_conv_run *run;
	bool direct; /* whether windows are packed directly from the image: see is_direct() */
	struct cpu_planes planes;
	int64_t plane; /* pixels of a channel of the result */
	int64_t step;  /* depth of a step of the sum */
	/* [step]: offset in the image, or in the planes, of each row of the matrix of windows */
	int64_t *at;
	struct cpu_split panels;
	struct cpu_split shares;
	int64_t together;      /* panels whose filters for a step stay in the cache */
	int64_t block, blocks; /* direct: columns of a block; else its output rows */
	bool keeps;	       /* whether packed tiles of a block are used more than once */
	char *scratch;
	size_t planes_bytes, worker_bytes;
};

static bool is_direct(const struct cpu_conv *g)
{
	const struct ir_conv_attrs *a = g->attrs;

	return g->kh == 1 && g->kw == 1 && a->strides[0] == 1 && a->strides[1] == 1 &&
	       !a->padding[0] && !a->padding[1] && !a->padding[2] && !a->padding[3];
}

/*
 * Returns whether the convolution is faster with pixels as columns of the product than with output
 * channels as columns: vectors then have about as many lanes in use, or more, and results need not
 * be transposed. False for nhwc.
 */
bool cpu_conv_by_columns(const struct cpu_simd *simd, const struct cpu_conv *g)
{
	int64_t lanes = simd->lanes, plane = g->out_h * g->out_w, used, rows;

	if (g->nhwc || plane < lanes)
		return false;
	used = (plane + lanes - 1) / lanes * lanes;
	rows = (g->out_per_group + lanes - 1) / lanes * lanes;
	return (double)plane / (double)used > 0.9 * (double)g->out_per_group / (double)rows;
}

size_t cpu_conv_columns_pack_bytes(const struct cpu_simd *simd, const struct cpu_conv *g)
{
	(void)simd;
	return (size_t)(g->out_c * g->in_per_group * g->kh * g->kw) * sizeof(float);
}

/* Packs the filter to [group][panel][input channel, kh, kw][rows of the panel]. */
void cpu_conv_columns_pack(const struct cpu_simd *simd, const struct cpu_conv *g, const float *from,
			   float *to)
{
	struct cpu_split panels = cpu_split(g->out_per_group, simd->rows);
	int64_t s[4];

	cpu_conv_filter_strides(g, s);
	for (int64_t group = 0; group < g->attrs->groups; group++)
		for (int64_t p = 0; p < panels.parts; p++) {
			int64_t rows = cpu_split_size(&panels, p);
			const float *f =
				from +
				(group * g->out_per_group + cpu_split_first(&panels, p)) * s[0];

			for (int64_t i = 0; i < g->in_per_group; i++)
				for (int64_t t = 0; t < g->kh * g->kw; t++)
					for (int64_t r = 0; r < rows; r++)
						*to++ = f[r * s[0] + i * s[1] + t / g->kw * s[2] +
							  t % g->kw * s[3]];
		}
}

/* An item of work: a block of pixels of one group of one image, and a share of the panels. */
struct item {
	int64_t batch, group, first, size; /* first, size: columns */
	int64_t panel, end;
	float *planes, *packed;
};

static struct item item_of(const struct columns *c, int64_t i, unsigned int worker)
{
	const struct cpu_conv *g = &c->run->conv;
	int64_t unit = c->direct ? 1 : g->out_w, share = i % c->shares.parts;
	char *scratch = c->scratch + worker * c->worker_bytes;
	struct item item = {
		.panel = cpu_split_first(&c->shares, share),
		.planes = (float *)scratch,
		.packed = (float *)(scratch + c->planes_bytes),
	};

	item.end = item.panel + cpu_split_size(&c->shares, share);
	i /= c->shares.parts;
	item.first = i % c->blocks * c->block * unit;
	item.size = c->plane - item.first;
	item.size = item.size < c->block * unit ? item.size : c->block * unit;
	i /= c->blocks;
	item.group = i % g->attrs->groups;
	item.batch = i / g->attrs->groups;
	return item;
}

/* One step of the sum: `depth` rows of the matrix of windows from row k0 on. */
struct step {
	int64_t k0, depth;
	struct cpu_pack pack;
	/*
	 * Direct: number of floats from the block's first pixel, in the last of these rows, to the
	 * input's end.
	 */
	int64_t room;
};

/*
 * Lists the contiguous runs of pixels first to first + n - 1 of a block: a run ends where a row
 * ends.
 */
static void find_runs(const struct columns *c, struct cpu_pack *pack, int64_t first, int64_t n)
{
	int64_t out_w = c->run->conv.out_w, line = first / out_w, column = first % out_w;

	pack->n = n;
	pack->runs = 0;
	pack->begin[0] = 0;
	pack->place[0] = first;
	if (c->direct) {
		pack->runs = 1;
		return;
	}
	for (int64_t at = 0; at < n; at += out_w - column, column = 0, line++) {
		pack->begin[pack->runs] = at;
		pack->place[pack->runs++] = line * c->planes.width + column;
	}
}

/*
 * Computes a tile with fewer columns than its vectors have lanes: its results go through a buffer.
 */
static void partial_tile(const struct columns *c, struct cpu_tile *tile, int64_t rows, int64_t n,
			 int64_t vecs)
{
	const struct cpu_simd *simd = c->run->cpu->simd;
	float buffer[CPU_MAX_ROWS * 2 * CPU_MAX_LANES], *y = tile->c;

	tile->c = buffer;
	tile->ldc = vecs * simd->lanes;
	for (int64_t r = 0; r < rows && tile->add; r++)
		memcpy(buffer + r * tile->ldc, y + r * c->plane, (size_t)n * sizeof(*y));
	simd->tile[rows][vecs](tile);
	for (int64_t r = 0; r < rows; r++)
		memcpy(y + r * c->plane, buffer + r * tile->ldc, (size_t)n * sizeof(*y));
}

/*
 * Multiplies one packed tile of n columns, from column `first` of the block on, with the panels
 * from `panel` to before `end`.
 */
static void multiply(const struct columns *c, const struct item *item, const struct step *step,
		     int64_t panel, int64_t end, int64_t first, int64_t n, const float *packed)
{
	const struct cpu_conv_run *run = c->run;
	const struct cpu_simd *simd = run->cpu->simd;
	int64_t vecs = n > simd->lanes ? 2 : 1, channels = run->conv.out_per_group;
	bool last = step->k0 + step->depth == run->depth;
	struct cpu_tile tile = {
		.depth = step->depth,
		.b = packed,
		.add = step->k0 > 0,
		.lo = last ? run->lo : -__builtin_inff(),
		.hi = last ? run->hi : __builtin_inff(),
	};

	for (; panel < end; panel++) {
		int64_t row = cpu_split_first(&c->panels, panel);
		int64_t rows = cpu_split_size(&c->panels, panel);
		int64_t channel = item->group * channels + row;

		tile.a = run->filter + channel * run->depth + step->k0 * rows;
		tile.row_bias = run->bias && last ? run->bias + channel : NULL;
		tile.c = run->y + (item->batch * run->conv.out_c + channel) * c->plane +
			 item->first + first;
		tile.ldc = c->plane;
		if (n == vecs * simd->lanes)
			simd->tile[rows][vecs](&tile);
		else
			partial_tile(c, &tile, rows, n, vecs);
	}
}

static void run_step(const struct columns *c, const struct item *item, struct step *step)
{
	const struct cpu_simd *simd = c->run->cpu->simd;
	int64_t unit = 2 * simd->lanes;

	for (int64_t panel = item->panel; panel < item->end; panel += c->together) {
		int64_t end = panel + c->together < item->end ? panel + c->together : item->end;

		for (int64_t f = 0; f < item->size; f += unit) {
			int64_t n = item->size - f < unit ? item->size - f : unit;
			float *packed = item->packed + (c->keeps ? f * c->step : 0);

			if (panel == item->panel) {
				find_runs(c, &step->pack, f, n);
				step->pack.to = packed;
				step->pack.loose = !c->direct || step->room - f >= unit;
				simd->pack(&step->pack);
			}
			multiply(c, item, step, panel, end, f, n, packed);
		}
	}
}

static void find_source(const struct columns *c, const struct item *item, struct step *step)
{
	const struct cpu_conv *g = &c->run->conv;
	int64_t taps = g->kh * g->kw, plane = g->in_h * g->in_w, first = step->k0 / taps;
	int64_t image = item->batch * g->in_c + item->group * g->in_per_group;
	const float *x = c->run->x + (image + first) * plane;

	step->pack.at = c->at;
	step->pack.depth = step->depth;
	if (c->direct) {
		step->pack.from = x + item->first;
		step->room = (g->batch * g->in_c - image - step->k0 - step->depth + 1) * plane -
			     item->first;
		return;
	}
	for (int64_t i = 0; i < step->depth / taps; i++)
		cpu_planes_fill(c->run->cpu->simd, &c->planes, x + i * plane,
				item->first / g->out_w, item->planes + i * c->planes.size);
	step->pack.from = item->planes;
}

static void activate(const struct columns *c, const struct item *item)
{
	const struct cpu_conv *g = &c->run->conv;
	int64_t row = cpu_split_first(&c->panels, item->panel);
	int64_t end = cpu_split_first(&c->panels, item->end);
	float *y = c->run->y + (item->batch * g->out_c + item->group * g->out_per_group) * c->plane;

	for (; row < end; row++)
		cpu_activate(c->run->cpu->simd, &g->attrs->act, y + row * c->plane + item->first,
			     item->size);
}

static void run_item(void *argument, int64_t i, unsigned int worker)
{
	const struct columns *c = argument;
	struct item item = item_of(c, i, worker);

	if (!c->direct)
		for (int64_t k = 0; k < c->step / (c->run->conv.kh * c->run->conv.kw); k++)
			cpu_planes_pad(&c->planes, item.first / c->run->conv.out_w,
				       item.planes + k * c->planes.size);
	for (int64_t k = 0; k < c->run->depth; k += c->step) {
		int64_t rest = c->run->depth - k;
		struct step step = { .k0 = k, .depth = rest < c->step ? rest : c->step };

		find_source(c, &item, &step);
		run_step(c, &item, &step);
	}
	if (!c->run->limited)
		activate(c, &item);
}

/* --- The convolution --- */

static void describe_axes(struct columns *c)
{
	const struct cpu_conv *g = &c->run->conv;
	const struct ir_conv_attrs *a = g->attrs;

	c->planes.h = (struct cpu_axis){ .in = g->in_h,
					 .out = g->out_h,
					 .taps = g->kh,
					 .stride = a->strides[0],
					 .dilation = a->dilations[0],
					 .pad = a->padding[0] };
	c->planes.w = (struct cpu_axis){ .in = g->in_w,
					 .out = g->out_w,
					 .taps = g->kw,
					 .stride = a->strides[1],
					 .dilation = a->dilations[1],
					 .pad = a->padding[2] };
}

/*
 * Divides the sum into steps of whole input channels and nearly equal size. Sums are rounded after
 * each step, so that the size of steps depends on the shape alone, not on caches or threads.
 */
static void plan_steps(struct columns *c)
{
	const struct cpu_conv *g = &c->run->conv;
	int64_t taps = g->kh * g->kw, most = taps < DEPTH ? DEPTH / taps : 1;
	int64_t steps = (g->in_per_group + most - 1) / most;

	c->step = (g->in_per_group + steps - 1) / steps * taps;
}

/*
 * Returns the cost of the tiles of n columns: a tile of one vector takes two thirds of the time of
 * one of two vectors.
 */
static int64_t tiles_cost(int64_t n, int64_t lanes)
{
	int64_t rest = n % (2 * lanes);

	return n / (2 * lanes) * 3 + (rest > lanes ? 3 : rest ? 2 : 0);
}

/*
 * Returns the number of output rows of a block, at most `most` and more than half of it, for which
 * the tiles of all blocks cost least: few lanes stay unused then.
 */
static int64_t best_rows(const struct columns *c, int64_t most)
{
	int64_t width = c->run->conv.out_w, height = c->run->conv.out_h, best = most, least = 0;

	for (int64_t lines = most; lines > most / 2; lines--) {
		int64_t lanes = c->run->cpu->simd->lanes;
		int64_t cost = height / lines * tiles_cost(lines * width, lanes) +
			       tiles_cost(height % lines * width, lanes);

		if (lines == most || cost < least) {
			least = cost;
			best = lines;
		}
	}
	return best;
}

/*
 * Chooses the size of blocks: their packed tiles stay in the cache for all panels, and there are
 * enough blocks for all threads unless blocks would become too small.
 */
static void plan_blocks(struct columns *c)
{
	const struct cpu_conv *g = &c->run->conv;
	const struct cpu_context *cpu = c->run->cpu;
	int64_t unit = 2 * cpu->simd->lanes, parts = cpu->threads > 1 ? 2 * cpu->threads : 1;
	int64_t most = cpu->cache / (c->step * (int64_t)sizeof(float)) / unit * unit;
	int64_t all = c->direct ? c->plane : g->out_h, part = (all + parts - 1) / parts;
	int64_t line, room;

	if (c->direct) {
		part = (part + unit - 1) / unit * unit;
		most = most < part ? most : part;
		c->block = most > 2 * unit ? most : 2 * unit;
	} else {
		line = c->planes.width * c->planes.h.phases * c->planes.w.phases * c->step /
		       (g->kh * g->kw) * (int64_t)sizeof(float);
		room = cpu->cache / 2 / line - c->planes.h.reach;
		most = most / g->out_w < room ? most / g->out_w : room;
		/*
		 * Two neighbouring blocks both copy the rows between them, which takes too long
		 * when a block has only a few vectors.
		 */
		if (part * g->out_w >= 8 * cpu->simd->lanes && part < most)
			most = part;
		most = most < g->out_h ? most : g->out_h;
		c->block = most > 1 ? best_rows(c, most) : 1;
	}
	c->block = c->block < all ? c->block : all;
	c->blocks = (all + c->block - 1) / c->block;
}

static void plan_at(struct columns *c)
{
	int64_t taps = c->run->conv.kh * c->run->conv.kw;

	for (int64_t k = 0; k < c->step; k++) {
		c->at[k] = c->direct ? k * c->plane :
				       k / taps * c->planes.size + c->planes.at[k % taps];
	}
}

/*
 * Returns the number of items. When there are too few blocks for the threads, items share the
 * panels of a block.
 */
static int64_t plan_items(struct columns *c)
{
	const struct cpu_conv *g = &c->run->conv;
	int64_t items = g->batch * g->attrs->groups * c->blocks, threads = c->run->cpu->threads;
	int64_t shares = 1, rows = c->run->cpu->simd->rows;

	if (threads > 1 && items < 2 * threads)
		shares = (4 * threads + items - 1) / items;
	shares = shares < c->panels.parts ? shares : c->panels.parts;
	c->shares = cpu_split(c->panels.parts, (c->panels.parts + shares - 1) / shares);
	c->together = c->run->cpu->cache / (rows * c->step * (int64_t)sizeof(float));
	c->together = c->together > 1 ? c->together : 1;
	c->keeps = c->together < c->shares.size + (c->shares.longer > 0);
	return items * c->shares.parts;
}

static size_t packed_bytes(const struct columns *c)
{
	int64_t unit = 2 * c->run->cpu->simd->lanes;
	int64_t columns = c->direct ? c->block : c->block * c->run->conv.out_w;

	columns = c->keeps ? (columns + unit - 1) / unit * unit : unit;
	return cpu_round_up((size_t)(columns * c->step + CPU_SLACK) * sizeof(float));
}

int cpu_conv_columns(struct cpu_conv_run *run, const float *unpacked, struct wnn_error *err)
{
	const struct cpu_conv *g = &run->conv;
	struct cpu_context *cpu = run->cpu;
	size_t tables = cpu_round_up(cpu_planes_tables(g->kh, g->kw)), fixed, at;
	size_t packed = run->filter ? 0 : cpu_round_up(cpu_conv_columns_pack_bytes(cpu->simd, g));
	struct columns c = { .run = run, .direct = is_direct(g), .plane = g->out_h * g->out_w };
	char *scratch = cpu_scratch(cpu, tables);
	int64_t items;

	if (!scratch)
		return wnn_error_nomem(err, "the tables of a convolution");
	describe_axes(&c);
	cpu_planes_init(&c.planes, 1, scratch);
	c.panels = cpu_split(g->out_per_group, cpu->simd->rows);
	plan_steps(&c);
	plan_blocks(&c);
	items = plan_items(&c);
	if (!c.direct) {
		cpu_planes_init(&c.planes, c.block, scratch);
		c.planes_bytes = cpu_round_up(
			(size_t)(c.step / (g->kh * g->kw) * c.planes.size + CPU_SLACK) *
			sizeof(float));
	}
	c.worker_bytes = c.planes_bytes + packed_bytes(&c);
	at = cpu_round_up((size_t)c.step * sizeof(int64_t));
	fixed = tables + at + packed;
	scratch = cpu_scratch(cpu, fixed + cpu->threads * c.worker_bytes);
	if (!scratch)
		return wnn_error_nomem(err, "the lines of a convolution");
	cpu_planes_init(&c.planes, c.direct ? 1 : c.block, scratch);
	c.at = (int64_t *)(scratch + tables);
	plan_at(&c);
	if (packed) {
		run->filter = (float *)(scratch + tables + at);
		cpu_conv_columns_pack(cpu->simd, g, unpacked, (float *)(scratch + tables + at));
	}
	c.scratch = scratch + fixed;
	cpu_threads_run(cpu->workers, items, run_item, &c);
	return 0;
}
