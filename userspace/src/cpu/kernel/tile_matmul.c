// SPDX-License-Identifier: MIT
/*
 * Products of two computed matrices on our own tiles: the second one is packed panel by panel, just
 * before all rows of the first one, which is not packed, are multiplied with the panel. With
 * vectors of 8 floats this takes less time than OpenBLAS, which packs both: 8 % at 256x256x256, a
 * fifth for the matrices of an attention. The sum of an element is the same whatever is computed
 * together with it, so that no division among threads changes a bit.
 */
#include <string.h>

#include "cpu/kernel/conv_dense.h"
#include "cpu/element.h"
#include "cpu/kernel/tile_product.h"
#include "util/malloc.h"
#include "cpu/kernel/kernels.h"
#include "cpu/tuning.h"

/* The most rows of an item when there are too few panels for the threads. */
#define SLICE_ROWS 192

struct matmul {
	struct cpu_plan base;
	const struct cpu_simd *simd;
	const struct ir_matmul_attrs *attrs;
	struct cpu_shape y;
	/*
	 * Strides of the batch axes in a, b and the result, by axis of the result; the last two are
	 * 0.
	 */
	int64_t sa[IR_MAX_RANK], sb[IR_MAX_RANK], sc[IR_MAX_RANK];
	/* row strides; ldb: of the rows of b in memory, also when b is transposed */
	int64_t lda, ldb, ldc;
	int64_t m, n, k, batches, min_lines;
	/* whether b is transposed: its rows in memory are columns of the matrix */
	bool transposed;
	bool has_bias, limited; /* limited: whether the limits lo and hi are the whole activation */
	float lo, hi;
	int64_t at[]; /* offset of each row of b, unless b is transposed */
};

/* One run, and the division of its work: an item has some panels and some rows of a matrix. */
struct run {
	const struct matmul *mm;
	const float *a, *b, *bias;
	float *c;
	int64_t columns, slices; /* columns of an item; items in a row of the result */
	struct cpu_split lines;
	char *scratch;
	size_t worker_bytes;
};

/*
 * The memory of a worker. The last panel may be wider than the columns that exist: its results go
 * through `edge`.
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

/*
 * Packs a panel of `width` columns from @column on; only @n of them exist, and the others become 0.
 */
static void pack_panel(const struct matmul *mm, const float *b, int64_t column, int64_t width,
		       int64_t n, float *panel)
{
	struct cpu_pack pack = { .to = panel,
				 .from = b + column,
				 .at = mm->at,
				 .depth = mm->k,
				 .n = n,
				 .loose = n == width,
				 .runs = 1 };

	if (n < width)
		memset(panel, 0, (size_t)(mm->k * width) * sizeof(*panel));
	if (!mm->transposed)
		mm->simd->pack(&pack);
	else
		mm->simd->transpose(panel, width, b + column * mm->ldb, mm->ldb, n, mm->k);
}

/*
 * Prefetches a share of the next panel's rows: they are too far apart for the processor's
 * prefetcher.
 */
static void fetch_next(const struct matmul *mm, const float *next, int64_t part, int64_t parts)
{
	int64_t end = (part + 1) * mm->k / parts;

	for (int64_t k = part * mm->k / parts; k < end; k++)
		__builtin_prefetch(next + mm->at[k], 0, 2);
}

static void multiply_panel(const struct run *run, struct worker *worker, const float *a,
			   const float *b, float *c, int64_t lines, int64_t column)
{
	const struct matmul *mm = run->mm;
	int64_t width = cpu_panel_width(mm->simd, mm->n, column), rest = mm->n - column;
	int64_t n = rest < width ? rest : width;
	struct cpu_split rows = cpu_split(lines, mm->simd->rows);
	struct cpu_tile tile = { .depth = mm->k,
				 .lda = mm->lda,
				 .b = worker->panel,
				 .ldc = n < width ? width : mm->ldc,
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

		if (!mm->transposed && rest >= 2 * width)
			fetch_next(mm, b + column + width, i, rows.parts);
		tile.a = a + row * mm->lda;
		tile.c = n < width ? worker->edge : c + row * mm->ldc + column;
		mm->simd->tile[size][width / mm->simd->lanes](&tile);
		for (int64_t r = 0; r < size && n < width; r++)
			memcpy(c + (row + r) * mm->ldc + column, worker->edge + r * width,
			       (size_t)n * sizeof(*c));
	}
}

/* Applies the activation to rows of which only some columns may have been computed. */
static void activate(const struct matmul *mm, float *c, int64_t lines, int64_t columns)
{
	if (mm->limited)
		return;
	for (int64_t i = 0; i < lines && columns < mm->ldc; i++)
		cpu_activate(mm->simd, &mm->attrs->act, c + i * mm->ldc, columns);
	if (columns == mm->ldc)
		cpu_activate(mm->simd, &mm->attrs->act, c, lines * columns);
}

static void run_slice(void *argument, int64_t item, unsigned int worker)
{
	const struct run *run = argument;
	const struct matmul *mm = run->mm;
	int64_t begin = item % run->slices * run->columns, end = begin + run->columns;
	int64_t part = item / run->slices % run->lines.parts;
	int64_t at = item / run->slices / run->lines.parts * mm->m * mm->n;
	int64_t line = cpu_split_first(&run->lines, part);
	int64_t lines = cpu_split_size(&run->lines, part);
	const float *a = run->a + cpu_offset(&mm->y, at, mm->sa) + line * mm->lda;
	const float *b = run->b + cpu_offset(&mm->y, at, mm->sb);
	float *c = run->c + cpu_offset(&mm->y, at, mm->sc) + line * mm->ldc;

	end = end < mm->n ? end : mm->n;
	for (int64_t column = begin; column < end; column += 2 * mm->simd->lanes)
		multiply_panel(run, (struct worker *)(run->scratch + worker * run->worker_bytes), a,
			       b, c, lines, column);
	activate(mm, c + begin, lines, end - begin);
}

/*
 * Divides the work: whole matrices if there are enough for the threads, else panels of each matrix,
 * and also rows when there are too few panels.
 */
static void share(struct run *run, unsigned int threads)
{
	const struct matmul *mm = run->mm;
	int64_t width = 2 * mm->simd->lanes, panels = (mm->n + width - 1) / width;
	bool parts = threads > 1 && mm->batches < 2 * (int64_t)threads;

	run->columns = parts ? cpu_tile_share(panels, threads) * width : panels * width;
	run->slices = (mm->n + run->columns - 1) / run->columns;
	run->lines = cpu_split(mm->m, parts && panels < (int64_t)threads ? SLICE_ROWS : mm->m);
}

static int run(struct cpu_plan *plan, struct cpu_context *cpu, const void *packed,
	       const void *const *in, void *const *out, struct wnn_error *err)
{
	const struct matmul *mm = (const struct matmul *)plan;
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
	cpu_threads_run(cpu->workers, mm->batches * r.lines.parts * r.slices, run_slice, &r);
	return 0;
}

/*
 * Sets mm->m to the number of rows that are multiplied as one matrix: the rows of all matrices that
 * have the same second matrix and whose rows continue at one stride. Sets mm->batches to the number
 * of such products.
 */
static void set_rows(struct matmul *mm)
{
	const struct cpu_shape *y = &mm->y;
	int64_t lines = y->dim[y->rank - 2];

	mm->m = lines;
	for (uint32_t d = y->rank - 2; d-- > 0;) {
		if (y->dim[d] == 1)
			continue;
		if (mm->sb[d] || mm->sa[d] != mm->m * mm->lda || mm->sc[d] != mm->m * mm->ldc)
			break;
		mm->m *= y->dim[d];
	}
	mm->batches = y->count / (mm->m * mm->n);
}

static void set_positions(struct matmul *mm)
{
	for (int64_t i = 0; i < mm->k && !mm->transposed; i++)
		mm->at[i] = i * mm->ldb;
}

/* Sets what follows from the node: sizes, strides, whether there is a bias, and the limits. */
static void set_shape(struct matmul *mm, const struct ir_node *node)
{
	const struct ir_matmul_attrs *attrs = &node->attrs.matmul;
	struct cpu_shape a = cpu_shape_of(&node->operands[0]->type);
	struct cpu_shape b = cpu_shape_of(&node->operands[1]->type);
	uint32_t rank;

	mm->attrs = attrs;
	mm->y = cpu_shape_of(&node->results[0]->type);
	rank = mm->y.rank;
	mm->n = mm->y.dim[rank - 1];
	mm->k = a.dim[a.rank - 1];
	mm->lda = mm->k;
	mm->transposed = attrs->b_transpose;
	mm->ldb = mm->transposed ? mm->k : mm->n;
	mm->ldc = mm->n;
	cpu_broadcast_strides(&a, &mm->y, mm->sa);
	cpu_broadcast_strides(&b, &mm->y, mm->sb);
	memcpy(mm->sc, mm->y.stride, sizeof(mm->sc));
	for (uint32_t d = rank - 2; d < rank; d++)
		mm->sa[d] = mm->sb[d] = mm->sc[d] = 0;
	set_rows(mm);
	mm->has_bias = node->num_operands > 2 && node->operands[2];
	mm->limited = cpu_act_limits(&attrs->act, &mm->lo, &mm->hi);
}

/*
 * Sets the strides of the batch axes of an operand or of the result, by axis of the result; 0 where
 * an operand is broadcast.
 */
static void set_steps(const struct matmul *mm, const struct ir_type *type, const int64_t *strides,
		      int64_t *steps)
{
	uint32_t lead = mm->y.rank - type->rank;

	for (uint32_t d = 0; d + 2 < mm->y.rank; d++)
		steps[d] = d < lead || ir_type_dim(type, d - lead) == 1 ? 0 : strides[d - lead];
}

/*
 * Makes the kernel use other strides for an operand or, with -1, for the result. Returns false,
 * with nothing changed, when the tiles cannot read or write with them.
 */
static bool arrange(struct cpu_plan *plan, const struct ir_node *node, int operand,
		    const int64_t *strides)
{
	struct matmul *mm = (struct matmul *)plan, old = *mm;
	const struct ir_type *type = operand < 0 ? &node->results[0]->type :
						   &node->operands[operand]->type;
	int64_t line = strides[type->rank - 2], element = strides[type->rank - 1];

	if (operand > 1)
		return false;
	if (operand == 1) {
		int64_t along = mm->attrs->b_transpose ? element : line;
		int64_t across = mm->attrs->b_transpose ? line : element;

		mm->transposed = across != 1;
		mm->ldb = mm->transposed ? across : along;
		if (mm->transposed && along != 1)
			mm->ldb = -1;
		set_steps(mm, type, strides, mm->sb);
	} else if (operand == 0) {
		mm->lda = element == 1 ? line : -1;
		set_steps(mm, type, strides, mm->sa);
	} else {
		mm->ldc = element == 1 ? line : -1;
		set_steps(mm, type, strides, mm->sc);
	}
	set_rows(mm);
	if (mm->lda <= 0 || mm->ldb <= 0 || mm->ldc <= 0 || mm->m < mm->min_lines) {
		*mm = old;
		return false;
	}
	set_positions(mm);
	return true;
}

const char *cpu_tile_matmul_refuses(const struct cpu_ask *ask)
{
	const struct ir_node *node = ask->node;

	if (node->operands[0]->type.dtype != IR_F32)
		return "its type is not float32";
	if (node->operands[1]->kind == IR_VALUE_CONSTANT)
		return "its second matrix is constant";
	if (node->attrs.matmul.a_transpose)
		return "its first matrix is transposed";
	return cpu_matmul_bias_is_plain(node) ?
		       NULL :
		       "its bias has a factor, or is not one number for each column";
}

/*
 * Returns why another kernel is faster although it may need dense copies of the operands, which
 * this kernel reads with strides; NULL: none is.
 */
static const char *loses_with_strides(const struct cpu_context *cpu, const struct matmul *mm)
{
	const struct cpu_tuning *t = cpu_tuning(cpu);

	if (!t->matmul_tiles)
		return "OpenBLAS is faster with this level of instructions";
	if (mm->m < t->min_lines)
		return "it has too few rows";
	if (mm->n < cpu->simd->lanes)
		return "it has too few columns";
	return mm->k > t->max_depth ? "its rows are too long for the near caches" : NULL;
}

const char *cpu_tile_matmul_loses(const struct cpu_ask *ask)
{
	const struct cpu_tuning *t = cpu_tuning(ask->cpu);
	struct matmul mm = { .simd = ask->cpu->simd };
	const char *why;

	set_shape(&mm, ask->node);
	why = loses_with_strides(ask->cpu, &mm);
	if (!why && mm.m * mm.n * mm.k > t->max_work)
		why = "oneDNN or OpenBLAS takes less time for so many multiplications";
	return why;
}

struct cpu_plan *cpu_tile_matmul_plan(const struct cpu_ask *ask)
{
	const struct ir_type *a = &ask->node->operands[0]->type;
	size_t depth = (size_t)ir_type_dim(a, a->rank - 1);
	struct matmul *mm = wnn_calloc(1, sizeof(*mm) + depth * sizeof(*mm->at));

	if (!mm)
		return NULL;
	mm->base.run = run;
	mm->base.arrange = arrange;
	mm->simd = ask->cpu->simd;
	mm->min_lines = cpu_tuning(ask->cpu)->min_lines;
	set_shape(mm, ask->node);
	set_positions(mm);
	return &mm->base;
}

bool cpu_tile_matmul_gains(const struct cpu_ask *ask)
{
	struct matmul mm = { .simd = ask->cpu->simd };

	if (cpu_tile_matmul_refuses(ask))
		return false;
	set_shape(&mm, ask->node);
	return !loses_with_strides(ask->cpu, &mm);
}
