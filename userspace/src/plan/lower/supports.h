/* SPDX-License-Identifier: MIT */
/*
 * Building blocks of the supports_* functions of the operator families. The reason may be NULL in
 * all of them.
 */
#ifndef WNN_PLAN_LOWER_SUPPORTS_H
#define WNN_PLAN_LOWER_SUPPORTS_H

#include "plan/list/plan.h"

/* Fills in the reason; always false. The sentence is static. */
bool supports_not(struct npu_reason *reason, enum npu_reason_class class, const char *why);
/* Whether the value has type float32 or float16. */
bool supports_is_float(const struct ir_value *value);
/* Whether all operands have the data type of the first. */
bool supports_same_types(const struct ir_node *node);
/* Whether the first source of an instruction may have that type. */
bool supports_insn_takes(enum onpu_op op, enum ir_dtype dtype);
/* Whether the vector unit has a function for that type. */
bool supports_function(const struct ir_unary_attrs *unary, enum ir_dtype dtype,
		       struct npu_reason *reason);
/* supports_function() for an activation, which may be absent. */
bool supports_fused(const struct ir_unary_attrs *act, enum ir_dtype dtype,
		    struct npu_reason *reason);
/* Whether the matrix unit takes the operands, and the vector unit the activation behind it. */
bool supports_contraction(const struct ir_node *node, const struct ir_unary_attrs *act,
			  struct npu_reason *reason);

#endif
