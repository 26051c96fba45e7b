// SPDX-License-Identifier: MIT
/* Which nodes the planner can lower, and why not. */
#include "plan/kernel/contract.h"
#include "plan/kernel/vprog.h"
#include "plan/lower/lower.h"
#include "plan/place/place.h"

static bool no(struct npu_reason *reason, enum npu_reason_class class, const char *why)
{
	if (reason)
		*reason = (struct npu_reason){ class, why };
	return false;
}

/* 4-bit types take detours that only quantisation has. */
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
			return no(reason, NPU_REASON_DATA_TYPE,
				  "the DMA engines move no 4-bit elements and no reserved types");
		for (uint32_t d = 0; d < value->type.rank; d++)
			if (value->type.dim[d].symbol)
				return no(reason, NPU_REASON_RANK,
					  "a dimension is known only at dispatch");
		if (ir_type_bytes(&value->type) >= (int64_t)1 << 40)
			return no(reason, NPU_REASON_SIZE,
				  "an operand exceeds the address space of the device");
	}
	return true;
}

static bool is_float(const struct ir_value *value)
{
	return value->type.dtype == IR_F32 || value->type.dtype == IR_F16;
}

static bool same_types(const struct ir_node *node)
{
	for (uint32_t i = 1; i < node->num_operands; i++)
		if (node->operands[i] &&
		    node->operands[i]->type.dtype != node->operands[0]->type.dtype)
			return false;
	return true;
}

static bool insn_takes(enum onpu_op op, enum ir_dtype dtype)
{
	return onpu_op_info[op].operands[ONPU_OPERAND_S0].dtypes >> plan_dtype(dtype) & 1;
}

static bool is_transcendental(int kind)
{
	return kind != IR_ABS && kind != IR_NEG && kind != IR_SIGN && kind != IR_RELU &&
	       kind != IR_CLAMP && kind != IR_LOGICAL_NOT;
}

static bool unary_fits(const struct ir_unary_attrs *unary, enum ir_dtype dtype,
		       struct npu_reason *reason)
{
	struct plan_param param;
	bool has_param;

	if (unary->kind < 0 || unary->kind >= IR_UNARY_COUNT)
		return no(reason, NPU_REASON_OPERATOR,
			  "the unary function is unknown to the vector unit");
	if (!insn_takes(unary_insn(unary, plan_dtype(dtype), &param, &has_param), dtype) ||
	    (is_transcendental(unary->kind) && dtype != IR_F32 && dtype != IR_F16))
		return no(reason, NPU_REASON_DATA_TYPE,
			  "the vector unit computes this function on float32 and float16 only");
	return true;
}

static bool fused_fits(const struct ir_unary_attrs *act, enum ir_dtype dtype,
		       struct npu_reason *reason)
{
	return act->kind == IR_UNARY_NONE || unary_fits(act, dtype, reason);
}

static bool contraction_fits(const struct ir_node *node, const struct ir_unary_attrs *act,
			     struct npu_reason *reason)
{
	if (!is_float(node->operands[0]) || !same_types(node))
		return no(reason, NPU_REASON_DATA_TYPE,
			  "products of integers are not lowered to the matrix unit");
	return fused_fits(act, IR_F32, reason);
}

bool supports_conv(const struct ir_node *node, struct npu_reason *reason)
{
	const struct ir_conv_attrs *attrs = &node->attrs.conv;

	if (attrs->transposed &&
	    (uint64_t)attrs->strides[0] * attrs->strides[1] > CONTRACT_MAX_PHASES)
		return no(reason, NPU_REASON_SIZE,
			  "the strides of the transposed convolution multiply to more than 1024");
	return contraction_fits(node, &attrs->act, reason);
}

#define MAX_PADDED_TAPS 65536

bool supports_pool(const struct ir_node *node, struct npu_reason *reason)
{
	const struct ir_pool_attrs *attrs = &node->attrs.pool;
	const struct ir_type *input = &node->operands[0]->type;
	uint32_t h = attrs->layout == IR_NHWC ? 1 : 2;
	enum ir_dtype dtype = input->dtype;

	/* Loops run over all taps, also over those that reach only padding. */
	if ((uint64_t)attrs->window[0] * attrs->window[1] > MAX_PADDED_TAPS &&
	    (attrs->window[0] > ir_type_dim(input, h) ||
	     attrs->window[1] > ir_type_dim(input, h + 1)))
		return no(reason, NPU_REASON_SIZE,
			  "the window is large and reaches beyond the input");
	if (attrs->kind != IR_POOL_MAX && !is_float(node->operands[0]))
		return no(reason, NPU_REASON_DATA_TYPE,
			  "the vector unit averages float32 and float16 only");
	return insn_takes(ONPU_OP_WIN_MAX, dtype) ||
	       no(reason, NPU_REASON_DATA_TYPE, "the type is not one of the vector unit");
}

bool supports_reduce(const struct ir_node *node, struct npu_reason *reason)
{
	enum ir_reduce kind = node->attrs.reduce.kind;
	bool by_float = kind == IR_REDUCE_MEAN || kind == IR_REDUCE_L2 ||
			kind == IR_REDUCE_LOG_SUM || kind == IR_REDUCE_LOG_SUM_EXP;

	if (by_float && !is_float(node->operands[0]))
		return no(reason, NPU_REASON_DATA_TYPE,
			  "the vector unit computes this reduction on float32 and float16 only");
	return true;
}

bool supports_arg(const struct ir_node *node, struct npu_reason *reason)
{
	enum ir_dtype dtype = node->results[0]->type.dtype;

	if (dtype != IR_I32 && dtype != IR_I64)
		return no(reason, NPU_REASON_DATA_TYPE,
			  "indices of argMin and argMax are int32 or int64");
	return true;
}

bool supports_quantize(const struct ir_node *node, struct npu_reason *reason)
{
	const struct ir_value *real = node->op == IR_OP_QUANTIZE ? node->operands[0] :
								   node->results[0];

	if (!is_float(real) || !is_float(node->operands[1]))
		return no(reason, NPU_REASON_DATA_TYPE,
			  "quantisation is between float32 or float16 and integers");
	return true;
}

bool supports_resample(const struct ir_node *node, struct npu_reason *reason)
{
	for (int e = 0; e < 2; e++) {
		uint32_t axis = node->attrs.resample.axes[e];

		if (ir_type_dim(&node->operands[0]->type, axis) > ONPU_MAX_RESAMPLE_SIZE ||
		    ir_type_dim(&node->results[0]->type, axis) > ONPU_MAX_RESAMPLE_SIZE)
			return no(reason, NPU_REASON_SIZE,
				  "the vector unit resamples dimensions of at most 2^30");
	}
	return insn_takes(ONPU_OP_RESAMPLE_LINEAR, node->operands[0]->type.dtype) ||
	       no(reason, NPU_REASON_DATA_TYPE,
		  "the vector unit resamples float32, float16, int8 and uint8 only");
}

bool supports_float_only(const struct ir_node *node, struct npu_reason *reason)
{
	if (!is_float(node->operands[0]) || !same_types(node))
		return no(reason, NPU_REASON_DATA_TYPE,
			  "the operator is on float32 and float16 only");
	return true;
}

bool supports_recurrent(const struct ir_node *node, struct npu_reason *reason)
{
	uint32_t count = node->op == IR_OP_LSTM ? 3 : 2;

	for (uint32_t i = 0; i < count; i++) {
		const struct ir_unary_attrs act = { .kind = node->attrs.rnn.activations[i] };

		if (!unary_fits(&act, IR_F32, reason))
			return false;
	}
	return supports_float_only(node, reason);
}

bool supports_matmul(const struct ir_node *node, struct npu_reason *reason)
{
	return contraction_fits(node, &node->attrs.matmul.act, reason);
}

bool supports_unary(const struct ir_node *node, struct npu_reason *reason)
{
	return unary_fits(&node->attrs.unary, node->operands[0]->type.dtype, reason);
}

bool supports_binary(const struct ir_node *node, struct npu_reason *reason)
{
	return fused_fits(&node->attrs.binary.act, node->results[0]->type.dtype, reason);
}

static bool operator_fits(const struct ir_node *node, struct npu_reason *reason)
{
	if (node->op >= IR_OP_COUNT)
		return no(reason, NPU_REASON_OPERATOR, "the operator is unknown to the planner");
	return !plan_operators[node->op].supports ||
	       plan_operators[node->op].supports(node, reason);
}

bool npu_supports(const struct ir_node *node, const struct npu_caps *caps,
		  struct npu_reason *reason)
{
	if (caps->sram_bytes < 16384)
		return no(reason, NPU_REASON_SIZE, "the device has less than 16 KiB of SRAM");
	return values_fit(node, reason) && operator_fits(node, reason);
}
