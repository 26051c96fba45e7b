// SPDX-License-Identifier: MIT
/*
 * Decides which nodes the planner can lower, and says why it cannot lower others: checks for all
 * operators, and checks that families of operators share.
 */
#include "plan/lower/supports.h"

#include "plan/kernel/contract.h"
#include "plan/kernel/vprog.h"
#include "plan/lower/lower.h"

bool supports_not(struct npu_reason *reason, enum npu_reason_class class, const char *why)
{
	if (reason)
		*reason = (struct npu_reason){ class, why };
	return false;
}

/*
 * Returns true if an operator may have operands of a type. Only the kernels of operators with
 * `nibbles` unpack 4-bit types.
 */
static bool dtype_known(enum ir_dtype dtype, enum ir_op op)
{
	switch (dtype) {
	case IR_I4:
	case IR_U4:
		return op < IR_OP_COUNT && plan_operators[op].nibbles;
	case IR_F32:
	case IR_F16:
	case IR_I32:
	case IR_U32:
	case IR_I64:
	case IR_U64:
	case IR_I8:
	case IR_U8:
		return true;
	default:
		return false;
	}
}

static bool values_fit(const struct ir_node *node, struct npu_reason *reason)
{
	uint32_t total = node->num_operands + node->num_results;

	for (uint32_t i = 0; i < total; i++) {
		const struct ir_value *value = i < node->num_operands ?
						       node->operands[i] :
						       node->results[i - node->num_operands];

		if (!value)
			continue;
		if (!dtype_known(value->type.dtype, node->op))
			return supports_not(
				reason, NPU_REASON_DATA_TYPE,
				"the NPU takes tensors of float32, float16 and integers of 8, 32 "
				"and 64 bits; int4 and uint4 it takes only as weights, in "
				"quantizeLinear and in dequantizeLinear");
		for (uint32_t d = 0; d < value->type.rank; d++)
			if (value->type.dim[d].symbol)
				return supports_not(
					reason, NPU_REASON_RANK,
					"internal error, please report it: a dimension without a "
					"number has reached the NPU's compiler");
		if (ir_type_bytes(&value->type) >= (int64_t)1 << 40)
			return supports_not(
				reason, NPU_REASON_SIZE,
				"a tensor has 2^40 bytes or more, which the NPU cannot address");
	}
	return true;
}

bool supports_is_float(const struct ir_value *value)
{
	return value->type.dtype == IR_F32 || value->type.dtype == IR_F16;
}

bool supports_same_types(const struct ir_node *node)
{
	for (uint32_t i = 1; i < node->num_operands; i++)
		if (node->operands[i] &&
		    node->operands[i]->type.dtype != node->operands[0]->type.dtype)
			return false;
	return true;
}

bool supports_insn_takes(enum onpu_op op, enum ir_dtype dtype)
{
	return onpu_op_info[op].operands[ONPU_OPERAND_S0].dtypes >> plan_dtype(dtype) & 1;
}

/* Returns true if a function takes floats only. */
static bool needs_floats(int kind)
{
	enum ir_unary_class class = ir_unary_class(kind);

	return class == IR_UNARY_FLOATS || class == IR_UNARY_TEST;
}

bool supports_function(const struct ir_unary_attrs *unary, enum ir_dtype dtype,
		       struct npu_reason *reason)
{
	struct unary_step steps[UNARY_MAX_STEPS];

	if (unary->kind < 0 || unary->kind >= IR_UNARY_COUNT)
		return supports_not(
			reason, NPU_REASON_OPERATOR,
			"internal error, please report it: the NPU's compiler does not know the "
			"function");
	unary_steps(unary, plan_dtype(dtype), steps);
	if (!supports_insn_takes(steps[0].op, dtype) ||
	    (needs_floats(unary->kind) && dtype != IR_F32 && dtype != IR_F16))
		return supports_not(
			reason, NPU_REASON_DATA_TYPE,
			"the NPU computes this function only of float32 and float16: cast the "
			"input");
	return true;
}

bool supports_fused(const struct ir_unary_attrs *act, enum ir_dtype dtype,
		    struct npu_reason *reason)
{
	return act->kind == IR_UNARY_NONE || supports_function(act, dtype, reason);
}

bool supports_contraction(const struct ir_node *node, const struct ir_unary_attrs *act,
			  struct npu_reason *reason)
{
	if (!supports_is_float(node->operands[0]) || !supports_same_types(node))
		return supports_not(
			reason, NPU_REASON_DATA_TYPE,
			"the NPU multiplies only operands that are both float32 or both float16, "
			"or integers that dequantizeLinear reads: cast the operands");
	return supports_fused(act, IR_F32, reason);
}

bool supports_strides(const struct ir_conv_attrs *attrs, struct npu_reason *reason)
{
	_Static_assert(CONTRACT_MAX_PHASES == 4096, "the message below has this number");

	if (!attrs->transposed ||
	    (uint64_t)attrs->strides[0] * attrs->strides[1] <= CONTRACT_MAX_PHASES)
		return true;
	return supports_not(
		reason, NPU_REASON_SIZE,
		"the strides of the transposed convolution multiply to more than 4096, the most "
		"that the NPU takes: make them smaller");
}

bool supports_float_only(const struct ir_node *node, struct npu_reason *reason)
{
	if (!supports_is_float(node->operands[0]) || !supports_same_types(node))
		return supports_not(
			reason, NPU_REASON_DATA_TYPE,
			"the NPU computes this operator only when its operands are all float32 or "
			"all float16: cast them");
	return true;
}

static bool operator_fits(const struct ir_node *node, struct npu_reason *reason)
{
	if (node->op >= IR_OP_COUNT)
		return supports_not(
			reason, NPU_REASON_OPERATOR,
			"internal error, please report it: the NPU's compiler does not know the "
			"operator");
	return !plan_operators[node->op].supports ||
	       plan_operators[node->op].supports(node, reason);
}

bool npu_supports(const struct ir_node *node, const struct npu_caps *caps,
		  struct npu_reason *reason)
{
	if (caps->sram_bytes < 16384)
		return supports_not(
			reason, NPU_REASON_SIZE,
			"this NPU has less than 16 KiB of SRAM, the least that a program of the "
			"NPU needs");
	return values_fit(node, reason) && operator_fits(node, reason);
}
