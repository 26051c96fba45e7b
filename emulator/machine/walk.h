/* SPDX-License-Identifier: MIT */
/*
 * Walks over the elements of tensors with equal dimensions, in blocks that fit a kernel.
 *
 * Dimensions of size 1 are dropped. The others are sorted by the first operand's strides and merged
 * where all operands allow it, so that the innermost dimension is long and dense when it can be.
 * The order of elements is therefore unspecified: use a walk only for instructions where each
 * destination element depends on its own sources.
 */
#ifndef ONPU_MACHINE_WALK_H
#define ONPU_MACHINE_WALK_H

#include "machine/sim.h"

#define WALK_MAX 4
/*
 * The least length of a row for a call of its own: to copy a shorter one costs less than the call.
 */
#define WALK_ROW_MIN 16

struct walk {
	unsigned int rank, operands;
	uint32_t dim[ONPU_MAX_RANK];
	int64_t start[WALK_MAX];
	int64_t stride[WALK_MAX][ONPU_MAX_RANK];
	/*
	 * All operands are float32, and rows for which walk_has_rows() is true are used in place,
	 * whatever their number.
	 */
	bool takes_rows;
};

/* A block of a walk: rows x columns elements, together at most KERNEL_CHUNK. */
struct walk_block {
	uint32_t rows, columns;
	int64_t at[WALK_MAX];	/* position of the first element in each operand */
	int64_t step[WALK_MAX]; /* units from column to column */
	int64_t row_step[WALK_MAX];
};

/* Returns the number of elements of a block. */
static inline size_t walk_block_size(const struct walk_block *block)
{
	return (size_t)block->rows * block->columns;
}

typedef void (*walk_fn)(void *arg, const struct walk_block *block);

void walk_init(struct walk *walk, unsigned int rank, const uint32_t *dim);
/* Adds an operand: its position and its strides along the dimensions of walk_init(). */
void walk_operand(struct walk *walk, uint64_t start, const int64_t *stride);
void walk_tensor(struct walk *walk, const struct sim_tensor *t);
/* Calls @fn for each block; with @parallel false, on the calling thread only. */
void walk_run(struct walk *walk, const struct sim_context *c, bool parallel, walk_fn fn, void *arg);
/* Drops dimensions of size 1, sorts and merges; walk_run() calls it. */
void walk_simplify(struct walk *walk);

/*
 * Returns whether the rows of a block are contiguous float32 numbers, long enough that a kernel
 * uses them in place rather than a copy of the whole block.
 */
static inline bool walk_has_rows(const struct sim_tensor *t, const struct walk_block *p,
				 unsigned int operand)
{
	return p->columns >= WALK_ROW_MIN && t->dtype == ONPU_DT_F32 &&
	       p->step[operand] == sizeof(float);
}

static inline float *walk_row(const struct sim_context *c, const struct walk_block *p,
			      unsigned int operand, uint32_t row)
{
	return (float *)sim_at(c, p->at[operand] + row * p->row_step[operand]);
}

/*
 * Returns the elements of a block as a dense array: in the tensor's own memory where they are dense
 * and of the right type, else in @buf.
 */
const float *walk_load_f32(const struct sim_context *c, const struct sim_tensor *t,
			   const struct walk_block *p, unsigned int operand, float *buf);
const int64_t *walk_load_s64(const struct sim_context *c, const struct sim_tensor *t,
			     const struct walk_block *p, unsigned int operand, int64_t *buf);
/* Returns the elements of a block without conversion, esize bytes each. */
const void *walk_load_raw(const struct sim_context *c, const struct sim_tensor *t,
			  const struct walk_block *p, unsigned int operand, void *buf);

/*
 * Returns the memory into which a kernel may write float results: the tensor's own, or @buf, which
 * walk_store_f32() then stores.
 */
float *walk_target_f32(const struct sim_context *c, const struct sim_tensor *t,
		       const struct walk_block *p, unsigned int operand, float *buf);
void walk_store_f32(const struct sim_context *c, const struct sim_tensor *t,
		    const struct walk_block *p, unsigned int operand, const float *src);
void walk_store_s64(const struct sim_context *c, const struct sim_tensor *t,
		    const struct walk_block *p, unsigned int operand, const int64_t *src);
void walk_store_raw(const struct sim_context *c, const struct sim_tensor *t,
		    const struct walk_block *p, unsigned int operand, const void *src);

#endif
