// SPDX-License-Identifier: MIT
/* Walking over the elements of tensors; see walk.h. */
#include <string.h>

#include "machine/walk.h"
#include "math/divide.h"

/* With fewer elements than this a second thread does not pay. */
#define PARALLEL_MIN (16 * KERNEL_CHUNK)
/* Rows shorter than this are put together in a block, whatever their layout. */
#define SHORT_ROW 32

void walk_init(struct walk *walk, unsigned int rank, const uint32_t *dim)
{
	walk->rank = rank;
	walk->operands = 0;
	walk->takes_rows = false;
	memset(walk->start, 0, sizeof(walk->start));
	memcpy(walk->dim, dim, rank * sizeof(*dim));
}

void walk_operand(struct walk *walk, uint64_t start, const int64_t *stride)
{
	unsigned int i = walk->operands++;

	walk->start[i] = (int64_t)start;
	memcpy(walk->stride[i], stride, walk->rank * sizeof(*stride));
}

void walk_tensor(struct walk *walk, const struct sim_tensor *t)
{
	walk_operand(walk, t->start, t->stride);
}

static void move_dim(struct walk *walk, unsigned int to, unsigned int from)
{
	walk->dim[to] = walk->dim[from];
	for (unsigned int i = 0; i < walk->operands; i++)
		walk->stride[i][to] = walk->stride[i][from];
}

static void swap_dims(struct walk *walk, unsigned int a, unsigned int b)
{
	uint32_t dim = walk->dim[a];

	walk->dim[a] = walk->dim[b];
	walk->dim[b] = dim;
	for (unsigned int i = 0; i < walk->operands; i++) {
		int64_t stride = walk->stride[i][a];

		walk->stride[i][a] = walk->stride[i][b];
		walk->stride[i][b] = stride;
	}
}

static uint64_t distance(int64_t stride)
{
	return stride < 0 ? -(uint64_t)stride : (uint64_t)stride;
}

static bool mergeable(const struct walk *walk, unsigned int outer, unsigned int inner)
{
	if ((uint64_t)walk->dim[outer] * walk->dim[inner] > UINT32_MAX)
		return false;
	for (unsigned int i = 0; i < walk->operands; i++) {
		/* Addresses wrap, so strides that are equal modulo 2^64 are equal. */
		if ((uint64_t)walk->stride[i][outer] !=
		    (uint64_t)walk->stride[i][inner] * walk->dim[inner])
			return false;
	}
	return true;
}

void walk_simplify(struct walk *walk)
{
	unsigned int rank = 0;

	for (unsigned int i = 0; i < walk->rank; i++) {
		if (walk->dim[i] != 1)
			move_dim(walk, rank++, i);
	}
	walk->rank = rank;
	for (unsigned int i = 1; i < rank; i++) {
		for (unsigned int j = i;
		     j && distance(walk->stride[0][j - 1]) < distance(walk->stride[0][j]); j--)
			swap_dims(walk, j - 1, j);
	}
	for (unsigned int i = rank; i-- > 1;) {
		if (!mergeable(walk, i - 1, i))
			continue;
		walk->dim[i] *= walk->dim[i - 1];
		for (unsigned int j = i; j < walk->rank; j++)
			move_dim(walk, j - 1, j);
		walk->rank--;
	}
	if (!walk->rank) {
		walk->rank = 1;
		walk->dim[0] = 1;
		for (unsigned int i = 0; i < walk->operands; i++)
			walk->stride[i][0] = 0;
	}
}

/* A walk divided into blocks: outer dimensions, then blocks of rows, then blocks of columns. */
struct walk_plan {
	const struct walk *walk;
	const struct sim_context *c;
	walk_fn fn;
	void *arg;
	uint32_t rows, columns; /* sizes of a whole block */
	uint32_t total_rows, total_columns;
	unsigned int rank; /* number of counters, for the outer dimensions */
	uint32_t dim[ONPU_MAX_RANK + 1];
	int64_t stride[WALK_MAX][ONPU_MAX_RANK + 1];
	uint64_t blocks;
	unsigned int parts;
};

/*
 * Returns whether the walk's kernel can use the rows of all operands in place: they are dense
 * floats and not too short.
 */
static bool rows_lie_dense(const struct walk *walk, uint32_t columns)
{
	if (!walk->takes_rows || columns < WALK_ROW_MIN)
		return false;
	for (unsigned int i = 0; i < walk->operands; i++)
		if (walk->stride[i][walk->rank - 1] != sizeof(float))
			return false;
	return true;
}

/*
 * Returns the number of rows in a block. There are several when rows are short, when nothing is
 * copied, or when they are contiguous in the first operand: then only operands that are broadcast
 * along the rows have to be copied.
 */
static uint32_t rows_in_block(const struct walk *walk, uint32_t columns, uint32_t rows)
{
	unsigned int last = walk->rank - 1;
	uint32_t fit = KERNEL_CHUNK / columns;
	bool follow = walk->rank > 1 &&
		      walk->stride[0][last - 1] == walk->stride[0][last] * (int64_t)walk->dim[last];

	if (columns >= SHORT_ROW && !follow && !rows_lie_dense(walk, columns))
		return 1;
	return fit < rows ? fit : rows;
}

static void plan_init(struct walk_plan *plan, const struct walk *walk)
{
	unsigned int outer = walk->rank > 1 ? walk->rank - 2 : 0, last = walk->rank - 1;

	plan->walk = walk;
	plan->total_columns = walk->dim[last];
	plan->total_rows = walk->rank > 1 ? walk->dim[last - 1] : 1;
	plan->columns = plan->total_columns < KERNEL_CHUNK ? plan->total_columns : KERNEL_CHUNK;
	plan->rows = rows_in_block(walk, plan->columns, plan->total_rows);
	plan->rank = outer + 2;
	memcpy(plan->dim, walk->dim, outer * sizeof(plan->dim[0]));
	plan->dim[outer] = (uint32_t)onpu_div_up(plan->total_rows, plan->rows);
	plan->dim[outer + 1] = (uint32_t)onpu_div_up(plan->total_columns, plan->columns);
	plan->blocks = 1;
	for (unsigned int i = 0; i < plan->rank; i++)
		plan->blocks *= plan->dim[i];
	for (unsigned int i = 0; i < walk->operands; i++) {
		memcpy(plan->stride[i], walk->stride[i], outer * sizeof(int64_t));
		plan->stride[i][outer] = walk->rank > 1 ? walk->stride[i][last - 1] * plan->rows :
							  0;
		plan->stride[i][outer + 1] = walk->stride[i][last] * plan->columns;
	}
}

static void plan_range(const struct walk_plan *plan, uint64_t first, uint64_t end)
{
	const struct walk *walk = plan->walk;
	unsigned int last = walk->rank - 1, top = plan->rank - 1;
	uint32_t count[ONPU_MAX_RANK + 1];
	struct walk_block block;
	uint64_t rest = first;

	memcpy(block.at, walk->start, sizeof(block.at));
	for (unsigned int d = plan->rank; d-- > 0;) {
		count[d] = (uint32_t)(rest % plan->dim[d]);
		rest /= plan->dim[d];
		for (unsigned int i = 0; i < walk->operands; i++)
			block.at[i] += plan->stride[i][d] * count[d];
	}
	for (unsigned int i = 0; i < walk->operands; i++) {
		block.step[i] = walk->stride[i][last];
		block.row_step[i] = walk->rank > 1 ? walk->stride[i][last - 1] : 0;
	}
	for (uint64_t n = first; n < end && !sim_stop(plan->c, n); n++) {
		uint32_t rows = plan->total_rows - count[top - 1] * plan->rows;
		uint32_t columns = plan->total_columns - count[top] * plan->columns;

		block.rows = rows < plan->rows ? rows : plan->rows;
		block.columns = columns < plan->columns ? columns : plan->columns;
		plan->fn(plan->arg, &block);
		for (unsigned int d = plan->rank; d-- > 0;) {
			bool wrap = ++count[d] == plan->dim[d];
			int64_t steps = wrap ? -(int64_t)(plan->dim[d] - 1) : 1;

			for (unsigned int i = 0; i < walk->operands; i++)
				block.at[i] += plan->stride[i][d] * steps;
			if (!wrap)
				break;
			count[d] = 0;
		}
	}
}

static void plan_part(void *arg, unsigned int part, unsigned int thread)
{
	const struct walk_plan *plan = arg;

	(void)thread;
	plan_range(plan, plan->blocks * part / plan->parts,
		   plan->blocks * (part + 1) / plan->parts);
}

void walk_run(struct walk *walk, const struct sim_context *c, bool parallel, walk_fn fn, void *arg)
{
	struct walk_plan plan;

	walk_simplify(walk);
	plan_init(&plan, walk);
	plan.c = c;
	plan.fn = fn;
	plan.arg = arg;
	plan.parts = 1;
	if (parallel && plan.blocks > 1 && plan.blocks * plan.rows * plan.columns >= PARALLEL_MIN)
		plan.parts = onpu_pool_threads(c->pool);
	onpu_pool_run(c->pool, plan_part, &plan, plan.parts, sim_idle, c);
}

/* ---- Loads and stores of blocks ---- */

/* Returns whether a block is one dense array in an operand's memory. */
static bool dense(const struct walk_block *p, unsigned int operand, unsigned int esize)
{
	return p->step[operand] == esize &&
	       (p->rows == 1 || p->row_step[operand] == (int64_t)esize * p->columns);
}

/*
 * Copies rows of a few dense float32 numbers, at least 4, 16 bytes at a time; the last 16 bytes of
 * a row may overlap those before. A call for each row would cost more than the row.
 */
static void copy_short_rows(float *dst, const char *src, int64_t row_step, uint32_t rows,
			    uint32_t columns)
{
	for (uint32_t r = 0; r < rows; r++, src += row_step, dst += columns) {
		uint32_t last = columns - 4;

		for (uint32_t j = 0; j < last; j += 4)
			memcpy(dst + j, src + j * sizeof(float), 4 * sizeof(float));
		memcpy(dst + last, src + last * sizeof(float), 4 * sizeof(float));
	}
}

const float *walk_load_f32(const struct sim_context *c, const struct sim_tensor *t,
			   const struct walk_block *p, unsigned int operand, float *buf)
{
	kernel_load_f32 load = c->kernels->load_f32[t->dtype - ONPU_DT_F16];

	if (t->dtype == ONPU_DT_F32 && dense(p, operand, sizeof(float)))
		return (const float *)sim_at(c, p->at[operand]);
	if (t->dtype == ONPU_DT_F32 && p->step[operand] == sizeof(float) && p->columns >= 4 &&
	    p->columns < SHORT_ROW) {
		copy_short_rows(buf, sim_at(c, p->at[operand]), p->row_step[operand], p->rows,
				p->columns);
		return buf;
	}
	for (uint32_t r = 0; r < p->rows; r++)
		load(buf + (size_t)r * p->columns,
		     sim_at(c, p->at[operand] + r * p->row_step[operand]), p->step[operand],
		     p->columns);
	return buf;
}

static int64_t load_nibble(const struct sim_context *c, const struct sim_tensor *t, int64_t at)
{
	unsigned int byte = c->sram[at >> 1];
	int nibble = at & 1 ? byte >> 4 : byte & 15;

	return t->dtype == ONPU_DT_I4 && nibble >= 8 ? nibble - 16 : nibble;
}

static void load_nibbles(const struct sim_context *c, const struct sim_tensor *t,
			 const struct walk_block *p, unsigned int operand, int64_t *buf)
{
	for (uint32_t r = 0; r < p->rows; r++) {
		int64_t at = p->at[operand] + r * p->row_step[operand];

		for (uint32_t i = 0; i < p->columns; i++, at += p->step[operand])
			*buf++ = load_nibble(c, t, at);
	}
}

const int64_t *walk_load_s64(const struct sim_context *c, const struct sim_tensor *t,
			     const struct walk_block *p, unsigned int operand, int64_t *buf)
{
	if (sim_is_nibble(t->dtype)) {
		load_nibbles(c, t, p, operand, buf);
		return buf;
	}
	if (t->esize == 8 && dense(p, operand, sizeof(int64_t)))
		return (const int64_t *)sim_at(c, p->at[operand]);
	for (uint32_t r = 0; r < p->rows; r++)
		c->kernels->load_s64[t->dtype](buf + (size_t)r * p->columns,
					       sim_at(c, p->at[operand] + r * p->row_step[operand]),
					       p->step[operand], p->columns);
	return buf;
}

const void *walk_load_raw(const struct sim_context *c, const struct sim_tensor *t,
			  const struct walk_block *p, unsigned int operand, void *buf)
{
	kernel_copy copy = c->kernels->copy[sim_size(t->esize)];

	if (dense(p, operand, t->esize))
		return sim_at(c, p->at[operand]);
	for (uint32_t r = 0; r < p->rows; r++)
		copy((char *)buf + (size_t)r * p->columns * t->esize, t->esize,
		     sim_at(c, p->at[operand] + r * p->row_step[operand]), p->step[operand],
		     p->columns);
	return buf;
}

float *walk_target_f32(const struct sim_context *c, const struct sim_tensor *t,
		       const struct walk_block *p, unsigned int operand, float *buf)
{
	if (t->dtype == ONPU_DT_F32 && dense(p, operand, sizeof(float)))
		return (float *)sim_at(c, p->at[operand]);
	return buf;
}

void walk_store_f32(const struct sim_context *c, const struct sim_tensor *t,
		    const struct walk_block *p, unsigned int operand, const float *src)
{
	kernel_store_f32 store = c->kernels->store_f32[t->dtype - ONPU_DT_F16];

	if ((const char *)src == sim_at(c, p->at[operand]))
		return;
	for (uint32_t r = 0; r < p->rows; r++)
		store(sim_at(c, p->at[operand] + r * p->row_step[operand]), p->step[operand],
		      src + (size_t)r * p->columns, p->columns);
}

static void store_nibbles(const struct sim_context *c, const struct walk_block *p,
			  unsigned int operand, const int64_t *src)
{
	for (uint32_t r = 0; r < p->rows; r++) {
		int64_t at = p->at[operand] + r * p->row_step[operand];

		for (uint32_t i = 0; i < p->columns; i++, at += p->step[operand]) {
			uint8_t *byte = &c->sram[at >> 1];
			unsigned int shift = at & 1 ? 4 : 0;

			*byte = (*byte & ~(15u << shift)) | ((unsigned int)*src++ & 15) << shift;
		}
	}
}

void walk_store_s64(const struct sim_context *c, const struct sim_tensor *t,
		    const struct walk_block *p, unsigned int operand, const int64_t *src)
{
	if (sim_is_nibble(t->dtype)) {
		store_nibbles(c, p, operand, src);
		return;
	}
	for (uint32_t r = 0; r < p->rows; r++)
		c->kernels->store_s64[sim_size(t->esize)](
			sim_at(c, p->at[operand] + r * p->row_step[operand]), p->step[operand],
			src + (size_t)r * p->columns, p->columns);
}

void walk_store_raw(const struct sim_context *c, const struct sim_tensor *t,
		    const struct walk_block *p, unsigned int operand, const void *src)
{
	kernel_copy copy = c->kernels->copy[sim_size(t->esize)];

	for (uint32_t r = 0; r < p->rows; r++)
		copy(sim_at(c, p->at[operand] + r * p->row_step[operand]), p->step[operand],
		     (const char *)src + (size_t)r * p->columns * t->esize, t->esize, p->columns);
}
