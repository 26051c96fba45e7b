/* SPDX-License-Identifier: MIT */
/*
 * Products of integers: the instructions that follow the exact sum, for convolutions, matrix
 * products and pools.
 */
#ifndef WNN_PLAN_LOWER_INTEGER_H
#define WNN_PLAN_LOWER_INTEGER_H

#include "plan/kernel/contract.h"

/*
 * The further operands of a product, over the dims of the result, extent 1 where they repeat; NULL:
 * absent.
 */
struct integer_finish {
	const struct ir_integer_attrs *attrs;
	const struct ir_unary_attrs *act; /* of a float result */
	const struct npu_view *scale;	  /* float32 */
	const struct npu_view *bias;	  /* int32, or float32 for windows */
	const struct npu_view *addend;	  /* of the type of a float result */
};

/* Operand 3, and operand 4, of a node, or NULL. */
const struct ir_value *integer_bias(const struct ir_node *node);
const struct ir_value *integer_addend(const struct ir_node *node);

/* Makes a contraction whose operands and geometry are set one of 8-bit integers. */
void integer_contract(struct plan *plan, struct contract *c, const struct integer_finish *finish);
/*
 * Makes an integer contraction for the vector unit, in float32: the sums of its windows are below
 * 2^24, and so exact there. Filter and bias are float32 already, with the zero point subtracted.
 */
void integer_windows(struct plan *plan, struct contract *c, const struct integer_finish *finish);

/*
 * Adds the instructions around an average of integers: the first function those before the sum is
 * divided by the taps, the second those behind it.
 */
void integer_average_begin(struct plan *plan, struct contract *c,
			   const struct ir_qpool_attrs *attrs);
void integer_average_end(struct plan *plan, struct contract *c, const struct ir_qpool_attrs *attrs,
			 const struct npu_view *scale);

#endif
