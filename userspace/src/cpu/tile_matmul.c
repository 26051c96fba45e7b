// SPDX-License-Identifier: MIT
/*
 * Products of two computed matrices on our own tiles: the second one is packed panel by panel, just
 * before all rows of the first, unpacked, are multiplied with the panel. With vectors of 8 floats
 * this takes less time than OpenBLAS, which packs both: 8 % at 256x256x256, a fifth for the
 * matrices of an attention. The sum of an element is the same whatever is computed together with
 * it, so that no division among threads changes a bit.
 */
#include "cpu/tile_matmul.h"

#include <string.h>

#include "cpu/conv_dense.h"
#include "cpu/element.h"
#include "cpu/tile_product.h"
#include "util/malloc.h"

/* For fewer rows, packing the other matrix takes longer than the product. */
#define MIN_LINES 32
/* With longer rows, neither a panel nor the rows of a tile stay in the first caches. */
#define MAX_DEPTH 2048
/* Rows of an item, where there are too few panels for the threads. */
#define PIECE_LINES 192

struct matmul {
	struct cpu_prepared base;
	const struct cpu_simd *simd;
	const struct ir_matmul_attrs *attrs;
	struct cpu_shape y;
	int64_t sa[IR_MAX_RANK], sb[IR_MAX_RANK];
	int64_t m, n, k, batches;
	bool has_bias, limited; /* limited: the activation is lo and hi */
	float lo, hi;
	int64_t *at; /* the begin of each row of the second matrix; NULL: it is transposed */
};

/* The division of the work: some panels and some rows of a matrix. */
struct run {
	const struct matmul *mm;
	const float *a, *b, *bias;
	float *c;
	int64_t columns, pieces; /* columns of an item; items of a row of the result */
	struct cpu_split lines;
	char *scratch;
	size_t worker_bytes;
};

/*
 * The memory of a worker. The last panel may be wider than the columns that are left: its results
 * go through a block of their own.
 */
struct worker {
	float edge[CPU_MAX_ROWS * 2 * CPU_MAX_LANES], bias[2 * CPU_MAX_LANES];
	float panel[];
};

static size_t worker_bytes(const struct matmul *mm)
{
	return cpu_round_up(sizeof(struct worker) +
			    (size_t)(mm->k * 2 * mm->simd->lanes + CPU_SLACK) * sizeof(float));
}

/* @n of the panel's columns from @column on are there. */
static void pack_panel(const struct matmul *mm, const float *b, int64_t column, int64_t width,
		       int64_t n, float *panel)
{
	struct cpu_pack pack = { .to = panel,
				 .from = b + column,
				 .at = mm->at,
				 .depth = mm->k,
				 .n = n,
				 .loose = n == width,
				 .pieces = 1 };

	if (n < width)
		memset(panel, 0, (size_t)(mm->k * width) * sizeof(*panel));
	if (mm->at)
		mm->simd->pack(&pack);
	else
		mm->simd->transpose(panel, width, b + column * mm->k, mm->k, n, mm->k);
}

/*
 * Prefetches a share of the rows in which the next panel begins: they are too far apart for the
 * processor to predict.
 */
static void fetch_next(const struct matmul *mm, const float *next, int64_t part, int64_t parts)
{
	int64_t end = (part + 1) * mm->k / parts;

	for (int64_t k = part * mm->k / parts; k < end; k++)
		__builtin_prefetch(next + mm->at[k], 0, 2);
}

/* Multiplies some rows with one panel. */
static void multiply_panel(const struct run *run, struct worker *worker, const float *a,
			   const float *b, float *c, int64_t lines, int64_t column)
{
	const struct matmul *mm = run->mm;
	int64_t width = cpu_panel_width(mm->simd, mm->n, column), rest = mm->n - column;
	int64_t n = rest < width ? rest : width;
	struct cpu_split rows = cpu_split(lines, mm->simd->rows);
	struct cpu_tile tile = { .depth = mm->k,
				 .lda = mm->k,
				 .b = worker->panel,
				 .ldc = n < width ? width : mm->n,
				 .scaled = mm->attrs->alpha != 1,
				 .factor = mm->attrs->alpha,
				 .column_bias = run->bias ? run->bias + column : NULL,
				 .lo = mm->lo,
				 .hi = mm->hi };

	pack_panel(mm, b, column, width, n, worker->panel);
	if (run->bias && n < width)
		tile.column_bias = memcpy(worker->bias, tile.column_bias, (size_t)n * sizeof(*c));
	for (int64_t i = 0; i < rows.parts; i++) {
		int64_t row = cpu_split_first(&rows, i), size = cpu_split_size(&rows, i);

		if (mm->at && rest >= 2 * width)
			fetch_next(mm, b + column + width, i, rows.parts);
		tile.a = a + row * mm->k;
		tile.c = n < width ? worker->edge : c + row * mm->n + column;
		mm->simd->tile[size][width / mm->simd->lanes](&tile);
		for (int64_t r = 0; r < size && n < width; r++)
			memcpy(c + (row + r) * mm->n + column, worker->edge + r * width,
			       (size_t)n * sizeof(*c));
	}
}

/* Applies the activation to rows of which only some columns were computed. */
static void activate(const struct matmul *mm, float *c, int64_t lines, int64_t columns)
{
	if (mm->limited)
		return;
	for (int64_t i = 0; i < lines && columns < mm->n; i++)
		cpu_activate(mm->simd, &mm->attrs->act, c + i * mm->n, columns);
	if (columns == mm->n)
		cpu_activate(mm->simd, &mm->attrs->act, c, lines * columns);
}

static void run_piece(void *argument, int64_t item, unsigned int worker)
{
	const struct run *run = argument;
	const struct matmul *mm = run->mm;
	int64_t begin = item % run->pieces * run->columns, end = begin + run->columns;
	int64_t part = item / run->pieces % run->lines.parts;
	int64_t at = item / run->pieces / run->lines.parts * mm->m * mm->n;
	int64_t line = cpu_split_first(&run->lines, part);
	int64_t lines = cpu_split_size(&run->lines, part);
	const float *a = run->a + cpu_offset(&mm->y, at, mm->sa) + line * mm->k;
	const float *b = run->b + cpu_offset(&mm->y, at, mm->sb);
	float *c = run->c + at + line * mm->n;

	end = end < mm->n ? end : mm->n;
	for (int64_t column = begin; column < end; column += 2 * mm->simd->lanes)
		multiply_panel(run, (struct worker *)(run->scratch + worker * run->worker_bytes), a,
			       b, c, lines, column);
	activate(mm, c + begin, lines, end - begin);
}

/*
 * Divides whole matrices among the threads if there are enough, else panels of each; and rows,
 * where there are too few panels.
 */
static void share(struct run *run, unsigned int threads)
{
	const struct matmul *mm = run->mm;
	int64_t width = 2 * mm->simd->lanes, panels = (mm->n + width - 1) / width;
	bool parts = threads > 1 && mm->batches < 2 * (int64_t)threads;

	run->columns = parts ? cpu_tile_share(panels, threads) * width : panels * width;
	run->pieces = (mm->n + run->columns - 1) / run->columns;
	run->lines = cpu_split(mm->m, parts && panels < (int64_t)threads ? PIECE_LINES : mm->m);
}

static int run(struct cpu_prepared *prepared, struct cpu_context *cpu, const void *packed,
	       const void *const *in, void *const *out, struct wnn_error *err)
{
	const struct matmul *mm = (const struct matmul *)prepared;
	struct run r = { .mm = mm,
			 .a = in[0],
			 .b = in[1],
			 .bias = mm->has_bias ? in[2] : NULL,
			 .c = out[0],
			 .worker_bytes = worker_bytes(mm) };

	(void)packed;
	r.scratch = cpu_scratch(cpu, cpu->threads * r.worker_bytes);
	if (!r.scratch)
		return wnn_error_nomem(err, "a product");
	share(&r, cpu->threads);
	cpu_threads_run(cpu->workers, mm->batches * r.lines.parts * r.pieces, run_piece, &r);
	return 0;
}

static void destroy(struct cpu_prepared *prepared)
{
	wnn_free(((struct matmul *)prepared)->at);
	wnn_free(prepared);
}

/* Sizes and steps; false where another kernel is better, or the only one. */
static bool set_shape(struct matmul *mm, const struct ir_node *node)
{
	const struct ir_matmul_attrs *attrs = &node->attrs.matmul;
	struct cpu_shape a = cpu_shape_of(&node->operands[0]->type);
	struct cpu_shape b = cpu_shape_of(&node->operands[1]->type);

	mm->attrs = attrs;
	mm->y = cpu_shape_of(&node->results[0]->type);
	mm->m = mm->y.dim[mm->y.rank - 2] * cpu_matmul_repeats(node);
	mm->n = mm->y.dim[mm->y.rank - 1];
	mm->k = a.dim[a.rank - 1];
	mm->batches = mm->y.count / (mm->m * mm->n);
	cpu_broadcast_strides(&a, &mm->y, mm->sa);
	cpu_broadcast_strides(&b, &mm->y, mm->sb);
	mm->has_bias = node->num_operands > 2 && node->operands[2];
	mm->limited = cpu_act_limits(&attrs->act, &mm->lo, &mm->hi);
	return !attrs->a_transpose && cpu_matmul_bias_is_plain(node) && mm->m >= MIN_LINES &&
	       mm->n >= mm->simd->lanes && mm->k <= MAX_DEPTH;
}

struct cpu_prepared *cpu_tile_matmul_prepare(const struct cpu_context *cpu,
					     const struct ir_node *node)
{
	struct matmul *mm;

	if (cpu->simd != cpu_simd_level(CPU_LEVEL_AVX2) || node->op != IR_OP_MATMUL ||
	    node->operands[0]->type.dtype != IR_F32 || node->operands[1]->kind == IR_VALUE_CONSTANT)
		return NULL;
	mm = wnn_calloc(1, sizeof(*mm));
	if (!mm)
		return NULL;
	mm->base =
		(struct cpu_prepared){ .name = "cpu/matmul-tiles", .run = run, .destroy = destroy };
	mm->simd = cpu->simd;
	if (!set_shape(mm, node)) {
		destroy(&mm->base);
		return NULL;
	}
	if (node->attrs.matmul.b_transpose)
		return &mm->base;
	mm->at = wnn_calloc((size_t)mm->k, sizeof(*mm->at));
	if (!mm->at) {
		destroy(&mm->base);
		return NULL;
	}
	for (int64_t i = 0; i < mm->k; i++)
		mm->at[i] = i * mm->n;
	return &mm->base;
}
