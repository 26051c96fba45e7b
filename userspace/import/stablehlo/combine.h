/* SPDX-License-Identifier: MIT */
/* Combines arrays element by element, for reductions over processes. */
#ifndef SHLO_COMBINE_H
#define SHLO_COMBINE_H

#include "scalar.h"

/*
 * Sets sum[i] = op(x[i], y[i]), bit for bit as shlo_binary() does, with vectorised loops. Returns
 * false, with nothing done, for operations and types that only shlo_binary() has. @sum may be @x.
 */
bool shlo_combine(enum shlo_binary op, enum shlo_element element, void *sum, const void *x,
		  const void *y, size_t count);

/*
 * Adds the products of a row and the columns of a matrix to @sums, which has one for each column:
 * from the first to the last, each rounded to @element, which is SHLO_F32 or SHLO_F64.
 */
void shlo_add_products(enum shlo_element element, void *sums, const void *row, const void *matrix,
		       size_t inner, size_t columns);

#endif
