// SPDX-License-Identifier: MIT
/*
 * The matrix unit.
 *
 * A product has two sides: the rows of S0 (several dimensions, m) and the columns of S1 (one
 * dimension, n). The strides of DST decide which side is spread over the vector registers and which
 * is broadcast: multiplication commutes, and the chain of multiply-adds of each element does not
 * change. The vector side is packed into panels. On the broadcast side float32 is read in place;
 * other types are converted in blocks first.
 */
#include <string.h>

#include "machine/sim.h"
#include "machine/walk.h"
#include "math/divide.h"

#define DST ONPU_OPERAND_DST
#define S0  ONPU_OPERAND_S0
#define S1  ONPU_OPERAND_S1
#define S2  ONPU_OPERAND_S2

/*
 * Rows of one task, which computes them for one panel: a multiple of the rows of a tile at every
 * SIMD level.
 */
#define ROW_BLOCK 240
/* Values of k that are packed at a time: a multiple of every length of a partial sum. */
#define DEPTH_BLOCK 1024
/* With fewer rows than this, packing does not pay. */
#define PACK_MIN_ROWS 16
/* Multiply-accumulates below which a second thread does not pay. */
#define PARALLEL_MIN 500000

/*
 * One side of the product: its dimensions, and the strides of each in DST and in the source
 * operand.
 */
struct side {
	const struct sim_tensor *t; /* source */
	unsigned int rank;
	uint32_t dim[ONPU_MAX_RANK];
	int64_t dst[ONPU_MAX_RANK], src[ONPU_MAX_RANK];
	uint64_t count;
	int64_t k_stride;
	const int64_t *tap;		   /* offset of each tap in the source */
	const struct sim_weights *weights; /* values of its elements; NULL: numbers of their type */
	uint32_t zero;			   /* value subtracted from each element (integers) */
	const struct sim_tensor *zeros;	   /* zero points by index, subtracted too, or NULL */
};

struct matrix {
	const struct sim_context *c;
	const struct sim_work *w;
	bool floats, acc;
	struct side rows, columns;
	struct sim_weights weights; /* of mma.w: the values of S1 */
	uint32_t depth, taps;
	uint32_t piece; /* products in a partial sum of a tap; 0: there are no partial sums */
	/* The contraction is done in blocks: several taps at a time, or a range of one tap. */
	uint32_t block_taps, block_depth, blocks;
	unsigned int batch_rank;
	uint32_t batch_dim[ONPU_MAX_RANK];
	int64_t batch_stride[3][ONPU_MAX_RANK]; /* DST, rows, columns */
	int64_t dst, row_base, column_base;
	uint32_t panel; /* columns of a whole panel */
	uint64_t panels, row_blocks;
	char *scratch;
	size_t scratch_each;
};

/* Columns of one panel that are equally spaced. */
struct segment {
	uint32_t first, count;
	int64_t dst, src;
};

/* The panel of columns that one thread works on. */
struct task {
	const struct matrix *m;
	int64_t dst, row_base, column_base;
	uint32_t width, vectors, padded; /* sizes of the panel; padded = vectors * vector */
	struct segment segment[MMA_MAX_COLS];
	unsigned int segments;
	uint32_t column_zero[MMA_MAX_COLS];
	uint32_t first_column, first_row; /* of the panel and the block, in the whole product */
	uint32_t rows;
	int64_t row_dst[ROW_BLOCK], row_src[ROW_BLOCK];
	/*
	 * Address of each row of a contraction block; the last tile repeats the last row for
	 * missing ones.
	 */
	const char *row[ROW_BLOCK + MMA_MAX_ROWS];
	uint32_t row_zero[ROW_BLOCK];
	char *pack, *converted, *acc;
};

/* ---- Geometry ---- */

/* An index into a side, with its offsets in DST and in the source. */
struct cursor {
	uint32_t at[ONPU_MAX_RANK];
	int64_t dst, src;
};

static void cursor_set(struct cursor *cursor, const struct side *side, uint64_t index)
{
	cursor->dst = 0;
	cursor->src = 0;
	for (unsigned int i = side->rank; i-- > 0;) {
		cursor->at[i] = (uint32_t)(index % side->dim[i]);
		index /= side->dim[i];
		cursor->dst += side->dst[i] * cursor->at[i];
		cursor->src += side->src[i] * cursor->at[i];
	}
}

/* Advances a cursor by @n, which must not pass the end of the innermost dimension. */
static void cursor_add(struct cursor *cursor, const struct side *side, uint32_t n)
{
	unsigned int i = side->rank - 1;

	cursor->at[i] += n;
	cursor->dst += side->dst[i] * n;
	cursor->src += side->src[i] * n;
	for (; cursor->at[i] == side->dim[i] && i; i--) {
		cursor->dst += side->dst[i - 1] - side->dst[i] * side->dim[i];
		cursor->src += side->src[i - 1] - side->src[i] * side->dim[i];
		cursor->at[i] = 0;
		cursor->at[i - 1]++;
	}
}

static uint32_t side_zero(const struct matrix *m, const struct side *side, uint64_t index)
{
	uint32_t z = 0;

	if (side->zeros)
		memcpy(&z,
		       sim_at(m->c, (int64_t)side->zeros->start +
					    side->zeros->stride[0] * (int64_t)index),
		       sizeof(z));
	return side->zero + z;
}

static void task_panel(struct task *t, uint64_t panel)
{
	const struct matrix *m = t->m;
	const struct side *side = &m->columns;
	uint64_t first = panel * m->panel, left = side->count - first;
	uint32_t vector = m->c->kernels->mma_vector;
	struct cursor cursor;

	t->first_column = (uint32_t)first;
	t->width = left < m->panel ? (uint32_t)left : m->panel;
	t->vectors = (uint32_t)onpu_div_up(t->width, vector);
	t->padded = t->vectors * vector;
	t->segments = 0;
	cursor_set(&cursor, side, first);
	for (uint32_t j = 0; j < t->width;) {
		uint32_t room = side->dim[side->rank - 1] - cursor.at[side->rank - 1];
		uint32_t n = t->width - j < room ? t->width - j : room;

		t->segment[t->segments++] = (struct segment){ j, n, cursor.dst, cursor.src };
		cursor_add(&cursor, side, n);
		j += n;
	}
	for (uint32_t j = 0; !m->floats && j < t->width; j++)
		t->column_zero[j] = side_zero(m, side, first + j);
}

static void task_rows(struct task *t, uint64_t block)
{
	const struct matrix *m = t->m;
	uint64_t first = block * ROW_BLOCK, left = m->rows.count - first;
	const unsigned int last = m->rows.rank - 1;
	struct cursor cursor;

	t->first_row = (uint32_t)first;
	t->rows = left < ROW_BLOCK ? (uint32_t)left : ROW_BLOCK;
	cursor_set(&cursor, &m->rows, first);
	for (uint32_t i = 0; i < t->rows;) {
		uint32_t room = m->rows.dim[last] - cursor.at[last];
		uint32_t n = t->rows - i < room ? t->rows - i : room;

		for (uint32_t j = 0; j < n; j++, i++) {
			t->row_dst[i] = cursor.dst + m->rows.dst[last] * j;
			t->row_src[i] = cursor.src + m->rows.src[last] * j;
		}
		cursor_add(&cursor, &m->rows, n);
	}
	for (uint32_t i = 0; !m->floats && i < t->rows; i++)
		t->row_zero[i] = side_zero(m, &m->rows, first + i);
}

/* ---- Packing ---- */

/* Converts @n elements to float32, or to 32-bit integers minus their zero point. */
static void convert(const struct matrix *m, const struct side *side, uint32_t *out, const char *src,
		    int64_t stride, uint32_t n, uint32_t zero)
{
	if (m->floats) {
		m->c->kernels->load_f32[side->t->dtype - ONPU_DT_F16]((float *)out, src, stride, n);
	} else if (side->t->dtype == ONPU_DT_I8) {
		for (uint32_t i = 0; i < n; i++)
			out[i] = (uint32_t)(int32_t)(int8_t)src[i * stride] - zero;
	} else {
		for (uint32_t i = 0; i < n; i++)
			out[i] = (uint32_t)(uint8_t)src[i * stride] - zero;
	}
}

/*
 * Values of k that are packed together when k is the dense direction, so that the cache lines of
 * the panel that are written stay in the cache.
 */
#define PACK_STEPS 64

/* Packs the panel's columns of weights, which are one run, from row @k on. */
static void pack_weights(const struct task *t, float *out, uint32_t k, uint32_t depth)
{
	const struct side *side = &t->m->columns;
	int64_t at = t->column_base + t->segment[0].src + k * side->k_stride;

	if (t->padded != t->width)
		memset(out, 0, (size_t)depth * t->padded * sizeof(*out));
	for (uint32_t i = 0; i < depth; i++, at += side->k_stride, out += t->padded)
		sim_weights_line(t->m->c, side->weights, at, k + i, t->first_column, false,
				 t->width, out, 1);
}

/* Packs one tap of the panel, column by column: k is dense, and the columns are not. */
static void pack_columns(const struct task *t, uint32_t *out, const char *base, uint32_t count)
{
	const struct side *side = &t->m->columns;
	int64_t step = side->src[side->rank - 1];
	uint32_t line[PACK_STEPS];

	for (uint32_t first = 0; first < count; first += PACK_STEPS) {
		uint32_t n = count - first < PACK_STEPS ? count - first : PACK_STEPS;
		uint32_t *block = out + (size_t)first * t->padded;

		for (unsigned int s = 0; s < t->segments; s++) {
			const struct segment *g = &t->segment[s];

			for (uint32_t j = 0; j < g->count; j++) {
				convert(t->m, side, line,
					base + g->src + j * step + first * side->k_stride,
					side->k_stride, n, t->column_zero[g->first + j]);
				for (uint32_t k = 0; k < n; k++)
					block[(size_t)k * t->padded + g->first + j] = line[k];
			}
		}
	}
}

/*
 * Packs one tap of the panel, one k after the other, for strides that pack_columns() does not take.
 */
static void pack_steps(const struct task *t, uint32_t *out, const char *base, uint32_t count)
{
	const struct side *side = &t->m->columns;
	int64_t step = side->src[side->rank - 1];

	for (uint32_t k = 0; k < count; k++, out += t->padded, base += side->k_stride) {
		for (unsigned int s = 0; s < t->segments; s++) {
			const struct segment *g = &t->segment[s];

			convert(t->m, side, out + g->first, base + g->src, step, g->count, 0);
		}
		for (uint32_t j = 0; !t->m->floats && j < t->width; j++)
			out[j] -= t->column_zero[j];
	}
}

/* Returns whether the panel is one run of dense float32 columns. */
static bool columns_dense(const struct task *t)
{
	const struct side *side = &t->m->columns;

	return t->m->floats && side->t->dtype == ONPU_DT_F32 && t->segments == 1 &&
	       side->src[side->rank - 1] == sizeof(float);
}

static void pack_block(const struct task *t, uint32_t tap, uint32_t taps, uint32_t k,
		       uint32_t depth)
{
	const struct side *side = &t->m->columns;
	uint32_t *out = (uint32_t *)t->pack;
	bool dense = columns_dense(t);

	if (side->weights) {
		pack_weights(t, (float *)t->pack, k, depth);
		return;
	}
	if (!dense && t->padded != t->width)
		memset(out, 0, (size_t)taps * depth * t->padded * sizeof(*out));
	for (uint32_t i = tap; i < tap + taps; i++) {
		const char *base =
			sim_at(t->m->c, t->column_base + side->tap[i]) + k * side->k_stride;

		if (dense)
			t->m->c->kernels->mma_pack((float *)out, base + t->segment[0].src,
						   side->k_stride, t->width, depth);
		else if (side->k_stride == side->t->esize &&
			 side->src[side->rank - 1] != side->t->esize)
			pack_columns(t, out, base, depth);
		else
			pack_steps(t, out, base, depth);
		out += (size_t)depth * t->padded;
	}
}

/*
 * Converts the task's rows, for @taps taps from @tap on and @depth values of k, to 32-bit numbers
 * in the order [row][tap][k]. Not called for float32 rows, which are used in place.
 */
static void convert_rows(const struct task *t, uint32_t tap, uint32_t taps, uint32_t k,
			 uint32_t depth)
{
	const struct side *side = &t->m->rows;
	uint32_t *out = (uint32_t *)t->converted;

	for (uint32_t r = 0; r < t->rows; r++) {
		if (side->weights) {
			sim_weights_line(t->m->c, side->weights,
					 t->row_base + t->row_src[r] + k * side->k_stride, k,
					 t->first_row + r, true, depth, (float *)out, 1);
			out += depth;
			continue;
		}
		for (uint32_t i = tap; i < tap + taps; i++, out += depth)
			convert(t->m, side, out,
				sim_at(t->m->c, t->row_base + t->row_src[r] + side->tap[i]) +
					k * side->k_stride,
				side->k_stride, depth, t->row_zero[r]);
	}
}

/* ---- Accumulators ---- */

static void load_acc(const struct task *t, uint32_t row, uint32_t rows, char *acc)
{
	const struct matrix *m = t->m;
	const struct sim_tensor *d = &m->w->t[DST];
	int64_t step = m->columns.dst[m->columns.rank - 1];
	size_t line = (size_t)t->padded * sizeof(float);

	memset(acc, 0, line * m->c->kernels->mma_rows);
	for (uint32_t r = 0; r < rows; r++) {
		for (unsigned int s = 0; s < t->segments; s++) {
			const struct segment *g = &t->segment[s];
			char *to = acc + r * line + g->first * sizeof(float);
			const char *from = sim_at(m->c, t->dst + t->row_dst[row + r] + g->dst);

			if (m->floats)
				m->c->kernels->load_f32[d->dtype - ONPU_DT_F16]((float *)to, from,
										step, g->count);
			else
				m->c->kernels->copy[SIZE_4](to, sizeof(int32_t), from, step,
							    g->count);
		}
	}
}

/*
 * Prefetches a tile's rows of DST before it is computed, so that they are in the cache for the
 * store.
 */
static void want_rows(const struct task *t, uint32_t row, uint32_t rows)
{
	for (uint32_t r = 0; r < rows; r++)
		__builtin_prefetch(
			sim_at(t->m->c, t->dst + t->segment[0].dst + t->row_dst[row + r]), 1);
}

static void store_acc(const struct task *t, uint32_t row, uint32_t rows, const char *acc)
{
	const struct matrix *m = t->m;
	const struct sim_tensor *d = &m->w->t[DST];
	int64_t step = m->columns.dst[m->columns.rank - 1];
	size_t line = (size_t)t->padded * sizeof(float);

	if (d->dtype == ONPU_DT_F32 && t->segments == 1 && step == sizeof(float)) {
		m->c->kernels->mma_store(sim_at(m->c, t->dst + t->segment[0].dst), t->row_dst + row,
					 (const float *)acc, rows, t->width);
		return;
	}
	for (uint32_t r = 0; r < rows; r++) {
		for (unsigned int s = 0; s < t->segments; s++) {
			const struct segment *g = &t->segment[s];
			const char *from = acc + r * line + g->first * sizeof(float);
			char *to = sim_at(m->c, t->dst + t->row_dst[row + r] + g->dst);

			if (m->floats)
				m->c->kernels->store_f32[d->dtype - ONPU_DT_F16](
					to, step, (const float *)from, g->count);
			else
				m->c->kernels->copy[SIZE_4](to, step, from, sizeof(int32_t),
							    g->count);
		}
	}
}

/* ---- The product ---- */

/* Returns whether dense columns are read in place, without packing: the rows are too few. */
static bool columns_in_place(const struct task *t)
{
	return columns_dense(t) && t->padded == t->width && t->m->rows.count < PACK_MIN_ROWS;
}

static bool rows_in_place(const struct matrix *m)
{
	return m->floats && m->rows.t->dtype == ONPU_DT_F32;
}

/* One block of the contraction: a range of taps, and a range of k. */
struct block {
	uint32_t tap, taps, k, depth;
};

static struct block block_at(const struct matrix *m, uint32_t b)
{
	uint32_t per_tap = (uint32_t)onpu_div_up(m->depth, m->block_depth);
	struct block block = { 0, 0, 0, m->depth };

	if (per_tap > 1) {
		block.tap = b / per_tap;
		block.taps = 1;
		block.k = b % per_tap * m->block_depth;
		block.depth = m->depth - block.k < m->block_depth ? m->depth - block.k :
								    m->block_depth;
	} else {
		block.tap = b * m->block_taps;
		block.taps = m->taps - block.tap < m->block_taps ? m->taps - block.tap :
								   m->block_taps;
	}
	return block;
}

static void set_rows(struct task *t, const struct block *b)
{
	const struct matrix *m = t->m;
	size_t converted = (size_t)b->taps * b->depth * sizeof(float);
	const char *base = sim_at(m->c, t->row_base) + b->k * m->rows.k_stride;

	if (rows_in_place(m)) {
		for (uint32_t r = 0; r < t->rows; r++)
			t->row[r] = base + t->row_src[r];
	} else {
		for (uint32_t r = 0; r < t->rows; r++)
			t->row[r] = t->converted + r * converted;
	}
	for (uint32_t r = 1; r < m->c->kernels->mma_rows; r++)
		t->row[t->rows - 1 + r] = t->row[t->rows - 1];
}

static void task_block(struct task *t, uint32_t index, bool packed)
{
	const struct matrix *m = t->m;
	const struct onpu_kernels *k = m->c->kernels;
	const struct block b = block_at(m, index);
	int64_t dense_rows[DEPTH_BLOCK], dense_columns[DEPTH_BLOCK];
	const kernel_mma(*kernels)[4] = m->piece  ? k->mma_partial :
					m->floats ? k->mma_f32 :
						    k->mma_i32;
	struct mma_tile tile = {
		.acc = t->acc,
		.fresh = !index && !m->acc,
		.taps = b.taps,
		.depth = b.depth,
		.piece = m->piece,
		.k_stride = m->rows.k_stride,
		.row_tap = m->rows.tap + b.tap,
		.col = sim_at(m->c, t->column_base + t->segment[0].src) + b.k * m->columns.k_stride,
		.col_k_stride = m->columns.k_stride,
		.col_tap = m->columns.tap + b.tap,
	};

	for (uint32_t i = 0; i < b.taps; i++) {
		dense_rows[i] = (int64_t)i * b.depth * sizeof(float);
		dense_columns[i] = dense_rows[i] * t->padded;
	}
	if (!rows_in_place(m)) {
		convert_rows(t, b.tap, b.taps, b.k, b.depth);
		tile.k_stride = sizeof(float);
		tile.row_tap = dense_rows;
	}
	if (!columns_in_place(t)) {
		if (!packed)
			pack_block(t, b.tap, b.taps, b.k, b.depth);
		tile.col = t->pack;
		tile.col_k_stride = t->padded * sizeof(float);
		tile.col_tap = dense_columns;
	}
	set_rows(t, &b);
	for (uint32_t r = 0; r < t->rows; r += k->mma_rows) {
		uint32_t rows = t->rows - r < k->mma_rows ? t->rows - r : k->mma_rows;

		tile.row = t->row + r;
		if (index + 1 == m->blocks)
			want_rows(t, r, rows);
		/* With one block all tiles use the same accumulators, which stay in the cache. */
		if (m->blocks > 1)
			tile.acc = t->acc + (size_t)r * t->padded * sizeof(float);
		if (!index && m->acc)
			load_acc(t, r, rows, tile.acc);
		kernels[rows][t->vectors](&tile);
		if (index + 1 == m->blocks)
			store_acc(t, r, rows, tile.acc);
	}
}

static void task_batch(struct task *t, uint64_t batch)
{
	const struct matrix *m = t->m;

	t->dst = m->dst;
	t->row_base = m->row_base;
	t->column_base = m->column_base;
	for (unsigned int i = m->batch_rank; i-- > 0;) {
		int64_t at = (int64_t)(batch % m->batch_dim[i]);

		batch /= m->batch_dim[i];
		t->dst += at * m->batch_stride[0][i];
		t->row_base += at * m->batch_stride[1][i];
		t->column_base += at * m->batch_stride[2][i];
	}
}

struct matrix_run {
	const struct matrix *m;
	uint64_t tasks;
	unsigned int parts;
};

/*
 * Computes a share of the tasks, ordered by batch, panel, row block. If the contraction is a single
 * block, a panel is packed once for all its row blocks.
 */
static void matrix_part(void *arg, unsigned int part, unsigned int thread)
{
	const struct matrix_run *run = arg;
	const struct matrix *m = run->m;
	uint64_t first = run->tasks * part / run->parts;
	uint64_t end = run->tasks * (part + 1) / run->parts;
	char *scratch = m->scratch + thread * m->scratch_each;
	struct task t = { .m = m };

	t.pack = scratch;
	t.acc = t.pack + sizeof(float) * DEPTH_BLOCK * MMA_MAX_COLS;
	t.converted = t.acc + sizeof(float) * (ROW_BLOCK + MMA_MAX_ROWS) * MMA_MAX_COLS;
	for (uint64_t i = first; i < end && !sim_given_up(m->c); i++) {
		uint64_t block = i % m->row_blocks, panel = i / m->row_blocks % m->panels;
		bool fresh = i == first || !block;

		if (fresh) {
			task_batch(&t, i / m->row_blocks / m->panels);
			task_panel(&t, panel);
		}
		if (i == first || m->row_blocks > 1)
			task_rows(&t, block);
		for (uint32_t b = 0; b < m->blocks && !sim_given_up(m->c); b++)
			task_block(&t, b, !fresh && m->blocks == 1);
	}
}

static void matrix_run(struct matrix *m)
{
	unsigned int threads = onpu_pool_threads(m->c->pool);
	struct matrix_run run = { .m = m };
	uint64_t batches = 1;

	m->block_depth = m->depth < DEPTH_BLOCK ? m->depth : DEPTH_BLOCK;
	m->block_taps = m->depth < DEPTH_BLOCK ? DEPTH_BLOCK / m->depth : 1;
	m->blocks = (uint32_t)(m->depth > DEPTH_BLOCK ?
				       m->taps * onpu_div_up(m->depth, DEPTH_BLOCK) :
				       onpu_div_up(m->taps, m->block_taps));
	m->panel = m->c->kernels->mma_vector * m->c->kernels->mma_vectors;
	m->panels = onpu_div_up(m->columns.count, m->panel);
	m->row_blocks = onpu_div_up(m->rows.count, ROW_BLOCK);
	for (unsigned int i = 0; i < m->batch_rank; i++)
		batches *= m->batch_dim[i];
	run.tasks = batches * m->panels * m->row_blocks;
	run.parts = batches * m->rows.count * m->columns.count * m->depth * m->taps < PARALLEL_MIN ?
			    1 :
			    threads;
	if (run.tasks < run.parts)
		run.parts = (unsigned int)run.tasks;
	onpu_pool_run(m->c->pool, matrix_part, &run, run.parts, sim_idle, m->c);
}

/* ---- From operands to sides ---- */

static void side_m(struct matrix *m, struct side *side, const bool *batch)
{
	const struct sim_tensor *d = &m->w->t[DST], *a = &m->w->t[S0];
	struct walk walk;
	uint32_t dim[ONPU_MAX_RANK];
	int64_t dst[ONPU_MAX_RANK], src[ONPU_MAX_RANK];
	unsigned int rank = 0;

	for (unsigned int i = 0; i + 1 < d->rank; i++) {
		if (batch[i])
			continue;
		dim[rank] = d->dim[i];
		dst[rank] = d->stride[i];
		src[rank++] = a->stride[i];
	}
	walk_init(&walk, rank, dim);
	walk_operand(&walk, 0, dst);
	walk_operand(&walk, 0, src);
	walk_simplify(&walk);
	side->t = a;
	side->rank = walk.rank;
	side->count = 1;
	for (unsigned int i = 0; i < walk.rank; i++) {
		side->dim[i] = walk.dim[i];
		side->dst[i] = walk.stride[0][i];
		side->src[i] = walk.stride[1][i];
		side->count *= walk.dim[i];
	}
	side->k_stride = a->stride[a->rank - 1];
}

static void side_n(const struct matrix *m, struct side *side)
{
	const struct sim_tensor *d = &m->w->t[DST], *b = &m->w->t[S1];

	side->t = b;
	side->rank = 1;
	side->dim[0] = d->dim[d->rank - 1];
	side->dst[0] = d->stride[d->rank - 1];
	side->src[0] = b->stride[b->rank - 1];
	side->count = side->dim[0];
	side->k_stride = b->stride[b->rank - 2];
}

/* Returns whether n is the better side to spread over vectors. */
static bool prefer_n(const struct matrix *m, const struct side *n, const struct side *rows)
{
	unsigned int half = (m->c->kernels->mma_vector + 1) / 2;
	unsigned int esize = m->w->t[DST].esize;

	if (n->dst[0] == esize && n->count >= half)
		return true;
	if (rows->dst[rows->rank - 1] == esize && rows->dim[rows->rank - 1] >= half)
		return false;
	return n->count >= rows->count || n->count >= 2 * half;
}

static void matrix_sides(struct matrix *m, const int64_t *s0_tap, const int64_t *s1_tap)
{
	const struct sim_work *w = m->w;
	const struct sim_tensor *d = &w->t[DST], *a = &w->t[S0], *b = &w->t[S1];
	struct side rows = { 0 }, n = { 0 };
	bool batch[ONPU_MAX_RANK], by_n;

	for (unsigned int i = 0; i + 1 < d->rank; i++)
		batch[i] = b->stride[i] != 0;
	side_m(m, &rows, batch);
	side_n(m, &n);
	rows.tap = s0_tap;
	n.tap = s1_tap;
	if (!m->floats) {
		rows.zero = w->has_param ? (uint32_t)w->param.taps.zero_a : 0;
		n.zero = w->has_param ? (uint32_t)w->param.taps.zero_b : 0;
		n.zeros = w->t[S2].present ? &w->t[S2] : NULL;
	}
	if (w->insn.op == ONPU_OP_MMA_W) {
		sim_weights_init(&m->weights, w);
		n.weights = &m->weights;
	}
	by_n = prefer_n(m, &n, &rows);
	m->rows = by_n ? rows : n;
	m->columns = by_n ? n : rows;
	m->row_base = (int64_t)(by_n ? a : b)->start;
	m->column_base = (int64_t)(by_n ? b : a)->start;
	m->dst = (int64_t)d->start;
	for (unsigned int i = 0; i + 1 < d->rank; i++) {
		if (!batch[i])
			continue;
		m->batch_dim[m->batch_rank] = d->dim[i];
		m->batch_stride[0][m->batch_rank] = d->stride[i];
		m->batch_stride[1][m->batch_rank] = (by_n ? a : b)->stride[i];
		m->batch_stride[2][m->batch_rank++] = (by_n ? b : a)->stride[i];
	}
}

/* Computes the offsets of each tap, in the order in which taps are summed. */
static void tap_offsets(const struct sim_work *w, int64_t *s0, int64_t *s1, int64_t *dst)
{
	const struct onpu_slot_param_taps_loop *l = w->param.taps.loop;

	*s0 = *s1 = *dst = 0;
	if (!w->has_param)
		return;
	for (uint32_t i = 0; i < l[0].count; i++) {
		for (uint32_t j = 0; j < l[1].count; j++) {
			for (uint32_t k = 0; k < l[2].count; k++) {
				*s0++ = sim_tap_offset(w, S0, i, j, k);
				*s1++ = sim_tap_offset(w, S1, i, j, k);
				*dst++ = sim_tap_offset(w, DST, i, j, k);
			}
		}
	}
}

/*
 * Returns n if all taps form groups of n that follow each other in memory in both operands, so that
 * each group can be one long tap; else 1.
 */
static uint32_t taps_in_line(const struct matrix *m, const int64_t *s0, const int64_t *s1)
{
	const struct sim_tensor *a = &m->w->t[S0], *b = &m->w->t[S1];
	int64_t step0 = a->stride[a->rank - 1] * m->depth;
	int64_t step1 = b->stride[b->rank - 2] * m->depth;
	uint32_t n = 1;

	while (n < m->taps && s0[n] == s0[n - 1] + step0 && s1[n] == s1[n - 1] + step1)
		n++;
	for (uint32_t i = 0; i < m->taps; i++) {
		bool in_line = s0[i] == s0[i - i % n] + step0 * (i % n) &&
			       s1[i] == s1[i - i % n] + step1 * (i % n);

		if (m->taps % n || !in_line)
			return 1;
	}
	return n;
}

/*
 * Merges taps that follow each other in memory, such as those along a row of a convolution with few
 * channels: loops become longer. The order of a sum does not change, as the products of a tap come
 * after those of the tap before. Nothing is merged when there are partial sums: merging would
 * change their order.
 */
static void merge_taps(struct matrix *m, int64_t *s0, int64_t *s1)
{
	uint32_t n = m->piece ? 1 : taps_in_line(m, s0, s1);

	m->depth *= n;
	m->taps /= n;
	for (uint32_t i = 0; i < m->taps; i++) {
		s0[i] = s0[i * n];
		s1[i] = s1[i * n];
	}
}

bool sim_matrix(struct sim_context *c, const struct sim_work *w)
{
	uint32_t taps = sim_tap_count(w);
	size_t offsets = (taps * sizeof(int64_t) + 63) & ~(size_t)63;
	size_t each = sizeof(float) * ((size_t)DEPTH_BLOCK * (MMA_MAX_COLS + ROW_BLOCK) +
				       (size_t)(ROW_BLOCK + MMA_MAX_ROWS) * MMA_MAX_COLS);
	char *scratch = sim_scratch(c, 3 * offsets + each * onpu_pool_threads(c->pool));
	int64_t *s0_tap, *s1_tap, *dst_tap;
	const struct sim_tensor *d = &w->t[DST];
	struct matrix m = {
		.c = c,
		.w = w,
		.floats = w->insn.op != ONPU_OP_MMA_I8,
		.acc = w->insn.acc,
		.depth = w->t[S0].dim[d->rank - 1],
		.taps = taps,
		.piece = w->insn.piece ? (uint32_t)ONPU_PIECE_UNIT << w->insn.piece : 0,
		.scratch_each = each,
	};
	int64_t dst;

	if (!scratch)
		return false;
	s0_tap = (int64_t *)scratch;
	s1_tap = (int64_t *)(scratch + offsets);
	dst_tap = (int64_t *)(scratch + 2 * offsets);
	m.scratch = scratch + 3 * offsets;
	tap_offsets(w, s0_tap, s1_tap, dst_tap);
	matrix_sides(&m, s0_tap, s1_tap);
	c->counters->macs += sim_elements(d) * m.depth * taps;
	if (!sim_taps_move(w)) {
		merge_taps(&m, s0_tap, s1_tap);
		matrix_run(&m);
		return true;
	}
	m.taps = 1;
	dst = m.dst;
	for (uint32_t i = 0; i < taps && !sim_stop(c, i); i++) {
		m.dst = dst + dst_tap[i];
		matrix_run(&m);
		m.rows.tap++;
		m.columns.tap++;
	}
	return true;
}
