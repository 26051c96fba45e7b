/* SPDX-License-Identifier: MIT */
/*
 * Adds the instructions that scale and round the exact sums of integer products, for convolutions,
 * matrix products and pools.
 */
#ifndef WNN_PLAN_LOWER_INTEGER_H
#define WNN_PLAN_LOWER_INTEGER_H

#include "plan/kernel/contract.h"

/*
 * The further operands of a product; views have the dims of the contraction's result, with extent 1
 * where they are broadcast. NULL: there is none.
 */
struct integer_finish {
	const struct ir_integer_attrs *attrs;
	const struct ir_unary_attrs *act; /* the activation of a float result */
	const struct npu_view *scale;	  /* float32 */
	const struct npu_view *bias;	  /* int32, or float32 for windows */
	const struct npu_view *addend;	  /* only with a float result, of the result's type */
};

/* Return the bias (operand 3) and the addend (operand 4) of a node; NULL: it has none. */
const struct ir_value *integer_bias(const struct ir_node *node);
const struct ir_value *integer_addend(const struct ir_node *node);

/* Completes a contraction of 8-bit integers for the matrix unit; operands and geometry are set. */
void integer_contract(struct plan *plan, struct contract *c, const struct integer_finish *finish);
/*
 * Completes an integer contraction for the vector unit, which computes in float32: sums of windows
 * must be below 2^24, where they are exact. Filter and bias are float32 already, and the filter's
 * zero point is subtracted.
 */
void integer_windows(struct plan *plan, struct contract *c, const struct integer_finish *finish);

/*
 * Complete an average pool of integers. The caller adds the division by the number of taps between
 * integer_average_begin(), which sets up the sum, and integer_average_end(), which adds the
 * rounding.
 */
void integer_average_begin(struct plan *plan, struct contract *c,
			   const struct ir_qpool_attrs *attrs);
void integer_average_end(struct plan *plan, struct contract *c, const struct ir_qpool_attrs *attrs,
			 const struct npu_view *scale);

#endif
