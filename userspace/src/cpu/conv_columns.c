// SPDX-License-Identifier: MIT
/*
 * Dense convolution of nchw images with pixels as columns of the product. Vectors are read straight
 * from the image when the filter is 1x1, else from a copy of a few lines in which every tap reads
 * neighbours (struct cpu_planes): there is no copy of the windows.
 */
#include "cpu/conv_dense.h"

#include <string.h>

/* Columns of a block: their results go through a buffer. */
#define MAX_COLUMNS 1024

struct columns {
	const struct cpu_conv_run *run;
	bool direct;
	struct cpu_planes planes;
	int64_t plane;		 /* pixels of a result */
	int64_t *at;		 /* [depth] */
	struct cpu_split panels; /* rows: output channels of a group */
	struct cpu_split shares; /* of the panels among items */
	int64_t block, blocks;	 /* direct: of columns; else of lines */
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
 * Which form wastes less of its vectors: along columns they also take the padding between lines, along rows
 * only the last vector of output channels is not full.
 */
bool cpu_conv_by_columns(const struct cpu_simd *simd, const struct cpu_conv *g)
{
	int64_t lanes = simd->lanes, plane = g->out_h * g->out_w, used, rows;
	int64_t reach = (g->kw - 1) * g->attrs->dilations[1] / g->attrs->strides[1];

	if (g->nhwc || plane < lanes)
		return false;
	used = is_direct(g) ? plane : (g->out_h - 1) * (g->out_w + reach) + g->out_w;
	used = (used + lanes - 1) / lanes * lanes;
	rows = (g->out_per_group + lanes - 1) / lanes * lanes;
	/* Results of rows have to be transposed as well. */
	return (double)plane / (double)used > 0.9 * (double)g->out_per_group / (double)rows;
}

size_t cpu_conv_columns_pack_bytes(const struct cpu_simd *simd, const struct cpu_conv *g)
{
	(void)simd;
	return (size_t)(g->out_c * g->in_per_group * g->kh * g->kw) * sizeof(float);
}

/* [group][panel][input channel, kh, kw][rows of the panel] */
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

/* A tile whose columns go beyond the image is done further left, and its new columns are copied. */
static void last_tile(const struct columns *c, struct cpu_tile *tile, int64_t rows, int64_t vecs,
		      int64_t column, float *y)
{
	const struct cpu_simd *simd = c->run->cpu->simd;
	float buffer[CPU_MAX_ROWS * 2 * CPU_MAX_LANES];
	int64_t width = vecs * simd->lanes, back = column + width - c->plane;

	tile->b -= back;
	tile->c = buffer;
	tile->ldc = width;
	simd->tile[rows][vecs](tile);
	for (int64_t r = 0; r < rows; r++)
		memcpy(y + r * c->plane + column, buffer + r * width + back,
		       (size_t)(width - back) * sizeof(float));
}

static void direct_panel(const struct columns *c, struct cpu_tile *tile, int64_t rows,
			 int64_t first, int64_t n, const float *x, float *y)
{
	const struct cpu_simd *simd = c->run->cpu->simd;

	for (int64_t f = first; f < first + n;) {
		int64_t rest = first + n - f;
		int64_t vecs = rest > simd->lanes && c->plane >= 2 * simd->lanes ? 2 : 1;

		tile->b = x + f;
		if (f + vecs * simd->lanes > c->plane) {
			last_tile(c, tile, rows, vecs, f, y);
		} else {
			tile->c = y + f;
			tile->ldc = c->plane;
			simd->tile[rows][vecs](tile);
		}
		f += vecs * simd->lanes;
	}
}

static void planes_panel(const struct columns *c, struct cpu_tile *tile, int64_t rows, int64_t line,
			 int64_t lines, const float *x, float *buffer, float *y)
{
	const struct cpu_simd *simd = c->run->cpu->simd;
	int64_t width = c->planes.width, out_w = c->planes.w.out;
	int64_t n = (lines - 1) * width + out_w;

	tile->ldc = n + CPU_SLACK;
	for (int64_t f = 0; f < n; f += 2 * simd->lanes) {
		tile->b = x + f;
		tile->c = buffer + f;
		simd->tile[rows][n - f > simd->lanes ? 2 : 1](tile);
	}
	for (int64_t r = 0; r < rows; r++)
		simd->copy_lines(&(struct cpu_lines){ .to = y + r * c->plane + line * out_w,
						      .to_step = out_w,
						      .from = buffer + r * tile->ldc,
						      .from_step = width,
						      .from_size = tile->ldc,
						      .n = out_w,
						      .lines = lines,
						      .every = 1 });
}

/* What an item is: a block of one group of one image, and a share of the panels. */
struct item {
	int64_t batch, group, first, size, share;
};

static struct item item_of(const struct columns *c, int64_t i)
{
	const struct cpu_conv *g = &c->run->conv;
	int64_t all = c->direct ? c->plane : g->out_h;
	struct item item = { .share = i % c->shares.parts };

	i /= c->shares.parts;
	item.first = i % c->blocks * c->block;
	item.size = all - item.first < c->block ? all - item.first : c->block;
	i /= c->blocks;
	item.group = i % g->attrs->groups;
	item.batch = i / g->attrs->groups;
	return item;
}

static void run_panel(const struct columns *c, const struct item *item, int64_t p, const float *x,
		      float *buffer)
{
	const struct cpu_conv_run *run = c->run;
	int64_t row = cpu_split_first(&c->panels, p), rows = cpu_split_size(&c->panels, p);
	int64_t channel = item->group * run->conv.out_per_group + row;
	float *y = run->y + (item->batch * run->conv.out_c + channel) * c->plane;
	struct cpu_tile tile = {
		.depth = run->depth,
		.a = run->filter + channel * run->depth,
		.at = c->at,
		.row_bias = run->bias ? run->bias + channel : NULL,
		.lo = run->lo,
		.hi = run->hi,
	};
	int64_t out_w = run->conv.out_w;

	if (c->direct)
		direct_panel(c, &tile, rows, item->first, item->size, x, y);
	else
		planes_panel(c, &tile, rows, item->first, item->size, x, buffer, y);
	for (int64_t r = 0; r < rows && !run->limited; r++)
		cpu_activate(run->cpu->simd, &run->conv.attrs->act,
			     y + r * c->plane + item->first * (c->direct ? 1 : out_w),
			     item->size * (c->direct ? 1 : out_w));
}

static void run_item(void *argument, int64_t i, unsigned int worker)
{
	const struct columns *c = argument;
	const struct cpu_conv *g = &c->run->conv;
	struct item item = item_of(c, i);
	int64_t first = cpu_split_first(&c->shares, item.share);
	int64_t in_plane = g->in_h * g->in_w;
	const float *x =
		c->run->x + (item.batch * g->in_c + item.group * g->in_per_group) * in_plane;
	float *planes = (float *)(c->scratch + worker * c->worker_bytes);
	float *buffer = (float *)((char *)planes + c->planes_bytes);

	if (!c->direct)
		for (int64_t k = 0; k < g->in_per_group; k++)
			cpu_planes_fill(c->run->cpu->simd, &c->planes, x + k * in_plane, item.first,
					planes + k * c->planes.size);
	for (int64_t p = first; p < first + cpu_split_size(&c->shares, item.share); p++)
		run_panel(c, &item, p, c->direct ? x : planes, buffer);
}

/* Columns that stay in the cache for all panels, and enough blocks for all threads. */
static void plan_direct(struct columns *c)
{
	const struct cpu_context *cpu = c->run->cpu;
	int64_t unit = 2 * cpu->simd->lanes, parts = cpu->threads > 1 ? 2 * cpu->threads : 1;
	int64_t most = cpu->cache / (c->run->depth * (int64_t)sizeof(float));
	int64_t part = (c->plane + parts - 1) / parts;

	most = most < part ? most : part;
	most = most / unit * unit;
	c->block = most > 2 * unit ? most : 2 * unit;
	c->blocks = (c->plane + c->block - 1) / c->block;
}

static void plan_lines(struct columns *c)
{
	const struct cpu_conv *g = &c->run->conv;
	const struct cpu_context *cpu = c->run->cpu;
	int64_t width = c->planes.width, parts = cpu->threads > 1 ? 2 * cpu->threads : 1;
	int64_t line = width * c->planes.h.phases * c->planes.w.phases * g->in_per_group;
	int64_t most = cpu->cache / (line * (int64_t)sizeof(float)) - c->planes.h.reach;
	int64_t part = (g->out_h + parts - 1) / parts;

	most = most < MAX_COLUMNS / width ? most : MAX_COLUMNS / width;
	/* Two blocks both copy the lines between them, which a block of less than some vectors is not worth. */
	if (part * width >= 8 * cpu->simd->lanes && part < most)
		most = part;
	most = most > 1 ? most : 1;
	c->blocks = (g->out_h + most - 1) / most;
	c->block = (g->out_h + c->blocks - 1) / c->blocks;
	c->blocks = (g->out_h + c->block - 1) / c->block;
}

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

static void plan_at(struct columns *c)
{
	int64_t taps = c->run->conv.kh * c->run->conv.kw, plane = c->plane;

	for (int64_t k = 0; k < c->run->depth; k++)
		c->at[k] = c->direct ? k * plane :
				       k / taps * c->planes.size + c->planes.at[k % taps];
}

/* Items for all threads: where there are too few blocks, the panels are shared among them. */
static int64_t plan_items(struct columns *c)
{
	const struct cpu_conv *g = &c->run->conv;
	int64_t items = g->batch * g->attrs->groups * c->blocks, threads = c->run->cpu->threads;
	int64_t shares = 1;

	if (threads > 1 && items < 2 * threads)
		shares = (4 * threads + items - 1) / items;
	shares = shares < c->panels.parts ? shares : c->panels.parts;
	c->shares = cpu_split(c->panels.parts, (c->panels.parts + shares - 1) / shares);
	return items * c->shares.parts;
}

int cpu_conv_columns(struct cpu_conv_run *run, const float *unpacked, struct wnn_error *err)
{
	const struct cpu_conv *g = &run->conv;
	struct cpu_context *cpu = run->cpu;
	size_t tables = cpu_round_up(cpu_planes_tables(g->kh, g->kw)), fixed, columns;
	size_t at = cpu_round_up((size_t)run->depth * sizeof(int64_t));
	size_t packed = run->filter ? 0 : cpu_round_up(cpu_conv_columns_pack_bytes(cpu->simd, g));
	struct columns c = { .run = run, .direct = is_direct(g), .plane = g->out_h * g->out_w };
	char *scratch = cpu_scratch(cpu, tables + at + packed);
	int64_t items;

	if (!scratch)
		return wnn_error_nomem(err, "the tables of a convolution");
	describe_axes(&c);
	cpu_planes_init(&c.planes, 1, scratch);
	c.panels = cpu_split(g->out_per_group, cpu->simd->rows);
	if (c.direct)
		plan_direct(&c);
	else
		plan_lines(&c);
	items = plan_items(&c);
	if (!c.direct) {
		cpu_planes_init(&c.planes, c.block, scratch);
		columns = (size_t)(c.block * c.planes.width + CPU_SLACK) * sizeof(float);
		c.planes_bytes = cpu_round_up(
			(size_t)(g->in_per_group * c.planes.size + CPU_SLACK) * sizeof(float));
		c.worker_bytes = cpu_round_up(c.planes_bytes + (size_t)cpu->simd->rows * columns);
	}
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
	/* Vectors read what lies behind the last line; it only has to be numbers. */
	for (unsigned int w = 0; w < cpu->threads && !c.direct; w++)
		memset(c.scratch + w * c.worker_bytes +
			       (size_t)(g->in_per_group * c.planes.size) * sizeof(float),
		       0, CPU_SLACK * sizeof(float));
	cpu_threads_run(cpu->workers, items, run_item, &c);
	return 0;
}
