/* SPDX-License-Identifier: MIT */
/* Integer products: what follows the sum. */
#ifndef WNN_PLAN_LOWER_INTEGER_H
#define WNN_PLAN_LOWER_INTEGER_H

#include "plan/kernel/contract.h"

/*
 * Makes a contraction whose operands and geometry are set one of 8-bit integers. Scale (float32) and
 * bias (int32, or NULL) are over the dims of the result, extent 1 where they repeat.
 */
void integer_contract(struct plan *plan, struct contract *c, const struct ir_integer_attrs *attrs,
		      const struct npu_view *scale, const struct npu_view *bias);
/*
 * The same on the vector unit, in float32, for windows whose sums are below 2^24, and so exact there.
 * Filter and bias are float32 already, the zero point taken away.
 */
void integer_windows(struct plan *plan, struct contract *c, const struct ir_integer_attrs *attrs,
		     const struct npu_view *scale, const struct npu_view *bias);

#endif
