/* SPDX-License-Identifier: MIT */
/* Integer products: what follows the sum. */
#ifndef WNN_PLAN_LOWER_INTEGER_H
#define WNN_PLAN_LOWER_INTEGER_H

#include "plan/kernel/contract.h"

/* The further operands of a product, over the dims of the result, extent 1 where they repeat; NULL: none. */
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
 * The same on the vector unit, in float32, for windows whose sums are below 2^24, and so exact there.
 * Filter and bias are float32 already, the zero point taken away.
 */
void integer_windows(struct plan *plan, struct contract *c, const struct integer_finish *finish);

/* An average of integers: what comes before the sum is divided by the taps, and what comes after. */
void integer_average_begin(struct plan *plan, struct contract *c,
			   const struct ir_qpool_attrs *attrs);
void integer_average_end(struct plan *plan, struct contract *c, const struct ir_qpool_attrs *attrs,
			 const struct npu_view *scale);

#endif
