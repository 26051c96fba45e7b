/* SPDX-License-Identifier: MIT */
/*
 * Computes offsets and indices of elements for gather, scatter and windows, for kernels and graphs.
 */
#ifndef SHLO_OFFSETS_H
#define SHLO_OFFSETS_H

#include "numbers.h"

struct shlo_tensor;

/* Sets @start to the start indices in the operand for an index of the batch dimensions. */
void shlo_start_of(const struct shlo_gather_numbers *n, const struct shlo_tensor *indices,
		   const int64_t *batch, int rank, int64_t *start);
/* Adds the indices of batching dimensions to @place. */
void shlo_add_batching(const struct shlo_gather_numbers *n, const int64_t *batch, int64_t *place);
/*
 * Splits an index of the result, or of the updates, into one of the batch and one of the window.
 * @window has an item for each dimension of the operand; those that are collapsed or of the batch
 * get 0.
 */
void shlo_split_index(const struct shlo_gather_numbers *n, int rank, const int64_t *index,
		      int operand_rank, int64_t *batch, int64_t *window);
/*
 * Returns a start clamped to 0 up to @most. With @is_unsigned, a negative @value stands for an
 * unsigned number from 2^63 on, and becomes @most.
 */
int64_t shlo_clamped(int64_t value, int64_t most, bool is_unsigned);
/* Returns the offset of the operand's element under a cell of a window; -1: the cell is padding. */
int64_t shlo_under(const struct shlo_window *w, const int64_t *dims, const int64_t *position,
		   const int64_t *cell);

#endif
