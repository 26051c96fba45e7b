/* SPDX-License-Identifier: MIT */
/* Computes where elements of gather, scatter and windows come from, for kernels and for graphs. */
#ifndef SHLO_PLACES_H
#define SHLO_PLACES_H

#include "numbers.h"

struct shlo_tensor;

/* The starting point in the operand that a position within the batch dimensions says. */
void shlo_start_of(const struct shlo_gather_numbers *n, const struct shlo_tensor *indices,
		   const int64_t *batch, int rank, int64_t *start);
/* Adds the place that batching dimensions say. */
void shlo_add_batching(const struct shlo_gather_numbers *n, const int64_t *batch, int64_t *place);
/* Parts an index of the result, or of the updates, into that of the batch and of the window. */
void shlo_part(const struct shlo_gather_numbers *n, int rank, const int64_t *index,
	       int operand_rank, int64_t *batch, int64_t *window);
/* A start within 0 and @most; large unsigned numbers look negative. */
int64_t shlo_clamped(int64_t value, int64_t most, bool is_unsigned);
/* The element of the operand under a cell of a window, or -1 for padding. */
int64_t shlo_under(const struct shlo_window *w, const int64_t *dims, const int64_t *position,
		   const int64_t *cell);

#endif
