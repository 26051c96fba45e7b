/* SPDX-License-Identifier: MIT */
/*
 * Checks that the supports_* functions of several operator families share. The reason may be NULL
 * in all of them.
 */
#ifndef WNN_PLAN_LOWER_SUPPORTS_H
#define WNN_PLAN_LOWER_SUPPORTS_H

#include "plan/list/plan.h"

/* Fills in the reason with a static sentence; returns false in any case. */
bool supports_not(struct npu_reason *reason, enum npu_reason_class class, const char *why);
/* Returns true if the value has type float32 or float16. */
bool supports_is_float(const struct ir_value *value);
/* Returns true if all operands have the data type of the first one. */
bool supports_same_types(const struct ir_node *node);
/* Returns true if the first source of an instruction may have that type. */
bool supports_insn_takes(enum onpu_op op, enum ir_dtype dtype);
/* Returns true if the vector unit can compute a function for that type. */
bool supports_function(const struct ir_unary_attrs *unary, enum ir_dtype dtype,
		       struct npu_reason *reason);
/* Returns true if the vector unit can compute an activation, or when there is none. */
bool supports_fused(const struct ir_unary_attrs *act, enum ir_dtype dtype,
		    struct npu_reason *reason);
/* Returns true if the operands are floats of one type and the activation can be computed. */
bool supports_contraction(const struct ir_node *node, const struct ir_unary_attrs *act,
			  struct npu_reason *reason);
/* Returns true if a convolution is not transposed, or has at most CONTRACT_MAX_PHASES phases. */
bool supports_strides(const struct ir_conv_attrs *attrs, struct npu_reason *reason);

#endif
