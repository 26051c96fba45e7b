/* SPDX-License-Identifier: MIT */
/* Operations on arrays, element by element, for reductions over processes and for chains. */
#ifndef SHLO_COMBINE_H
#define SHLO_COMBINE_H

#include "program.h"

/*
 * Sets sum[i] = op(x[i], y[i]), bit for bit as shlo_binary() does, with vectorised loops. Returns
 * false, with nothing done, for operations and types that only shlo_binary() has. @sum may be @x.
 */
bool shlo_combine(enum shlo_binary op, enum shlo_element element, void *sum, const void *x,
		  const void *y, size_t count);

/*
 * Sets out[i] to the result of a step on in[k][i], bit for bit as shlo_run_step() does, with
 * vectorised loops. Returns false, with nothing done, for steps that only shlo_run_step() has. With
 * @by_one, all elements of in[1] are equal. @out overlaps no operand.
 */
bool shlo_combine_step(const struct shlo_step *step, void *out, const void *const *in, bool by_one,
		       size_t count);

/*
 * Adds to sums[i], for each of @columns columns i, the products row[k] * matrix[k][i] for k from 0
 * to @inner - 1, in this order. Each step is rounded to @element, SHLO_F32 or SHLO_F64.
 */
void shlo_add_products(enum shlo_element element, void *sums, const void *row, const void *matrix,
		       size_t inner, size_t columns);

#endif
