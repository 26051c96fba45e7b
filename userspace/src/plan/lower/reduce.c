// SPDX-License-Identifier: MIT
/* Lowers reductions, softmax, argmin, argmax and cumulative sums as vector programs. */
#include "plan/kernel/vprog.h"
#include "plan/lower/lower.h"
#include "plan/lower/supports.h"
#include "plan/place/place.h"

#include <float.h>
#include <string.h>

bool supports_reduce(const struct ir_node *node, struct npu_reason *reason)
{
	enum ir_reduce kind = node->attrs.reduce.kind;
	bool by_float = kind == IR_REDUCE_MEAN || kind == IR_REDUCE_L2 ||
			kind == IR_REDUCE_LOG_SUM || kind == IR_REDUCE_LOG_SUM_EXP ||
			kind == IR_REDUCE_SHIFTED_LOG_SUM_EXP;

	if (by_float && !supports_is_float(node->operands[0]))
		return supports_not(
			reason, NPU_REASON_DATA_TYPE,
			"the NPU computes this reduction (mean, L2 or one with a logarithm) only "
			"of float32 and float16: cast the input");
	return true;
}

bool supports_arg(const struct ir_node *node, struct npu_reason *reason)
{
	enum ir_dtype dtype = node->results[0]->type.dtype;

	if (dtype != IR_I32 && dtype != IR_I64)
		return supports_not(
			reason, NPU_REASON_DATA_TYPE,
			"the NPU gives the indices of argMin and argMax as int32 or int64 only: "
			"ask for one of these types");
	return true;
}

static uint8_t all_dims(const struct vprog *prog)
{
	return (1u << prog->rank) - 1;
}

/*
 * Adds the result with the dims of the space, 1 for reduced dims, also when the value does not keep
 * them; returns its register.
 */
static int reduced_result(struct plan *plan, struct vprog *prog, const struct ir_value *result,
			  uint8_t axes, bool keep_dims)
{
	struct npu_view from = values_view(plan, result), view = from;
	uint32_t at = 0;

	view.rank = prog->rank;
	for (uint32_t i = 0; i < prog->rank; i++) {
		bool reduced = axes >> i & 1;

		view.dim[i] = reduced || !from.rank ? 1 : from.dim[keep_dims ? i : at];
		view.stride[i] = reduced || !from.rank ? 0 : from.stride[keep_dims ? i : at];
		at += !reduced;
	}
	return vp_output(prog, &view);
}

/* Adds a number to the constants, as an operand that is broadcast; returns its register. */
static int number_operand(struct plan *plan, struct vprog *prog, const void *number, uint8_t dtype)
{
	struct npu_view view = { .base = NPU_BASE_CONST, .dtype = dtype, .rank = prog->rank };

	for (uint32_t i = 0; i < prog->rank; i++)
		view.dim[i] = 1;
	view.window_bytes = (uint64_t)plan_dtype_bytes(dtype);
	view.window = plan_constant(plan, number, view.window_bytes);
	return vp_input(prog, &view);
}

/* Adds a constant operand: the number of elements that are reduced to one; returns its register. */
static int count_operand(struct plan *plan, struct vprog *prog, uint8_t axes)
{
	float count = 1;

	for (uint32_t i = 0; i < prog->rank; i++)
		if (axes >> i & 1)
			count *= (float)prog->dim[i];
	return number_operand(plan, prog, &count, ONPU_DT_F32);
}

/* ---- reductions */

/* Adds a reduction, and instruction `then` on its result (ONPU_OP_NOP: none). */
static void reduce_simple(struct vprog *prog, enum onpu_op op, enum onpu_op then, int in, int out,
			  uint8_t axes)
{
	int sum;

	if (then == ONPU_OP_NOP) {
		vp_reduce(prog, op, out, in, axes);
		return;
	}
	sum = vp_temp(prog, ONPU_DT_F32, all_dims(prog) & ~axes);
	vp_reduce(prog, op, sum, in, axes);
	vp_add(prog, then, out, sum, -1, -1);
}

static void reduce_mean(struct plan *plan, struct vprog *prog, int in, int out, uint8_t axes)
{
	int count = count_operand(plan, prog, axes);
	int sum = vp_temp(prog, ONPU_DT_F32, all_dims(prog) & ~axes);

	vp_reduce(prog, ONPU_OP_RSUM, sum, in, axes);
	vp_add(prog, ONPU_OP_VDIV, out, sum, count, -1);
}

/* Adds the maximum of each row; returns its register. */
static int largest(struct vprog *prog, int in, uint8_t axes)
{
	int max = vp_temp(prog, ONPU_DT_F32, all_dims(prog) & ~axes);

	vp_reduce(prog, ONPU_OP_RMAX, max, in, axes);
	return max;
}

/*
 * Adds log(sum(exp(x - m))) + m, with m the largest element of a row. When `bounded`, m is clamped
 * to finite numbers, so that infinities do not become NaN.
 */
static void reduce_log_sum_exp(struct vprog *prog, int in, int out, uint8_t axes, bool bounded)
{
	uint8_t all = all_dims(prog), rows = all & ~axes;
	int max = largest(prog, in, axes), top = max;
	int diff = vp_temp(prog, ONPU_DT_F32, all), power = vp_temp(prog, ONPU_DT_F32, all);
	int sum = vp_temp(prog, ONPU_DT_F32, rows), log = vp_temp(prog, ONPU_DT_F32, rows);

	if (bounded) {
		top = vp_temp(prog, ONPU_DT_F32, rows);
		vp_scalar(prog, ONPU_OP_VCLAMP, top, max, vp_f32(-FLT_MAX), vp_f32(FLT_MAX));
	}
	vp_add(prog, ONPU_OP_VSUB, diff, in, top, -1);
	vp_add(prog, ONPU_OP_VEXP, power, diff, -1, -1);
	vp_reduce(prog, ONPU_OP_RSUM, sum, power, axes);
	vp_add(prog, ONPU_OP_VLOG, log, sum, -1, -1);
	vp_add(prog, ONPU_OP_VADD, out, log, top, -1);
}

void lower_reduce(struct plan *plan, const struct ir_node *node)
{
	static const enum onpu_op simple[IR_REDUCE_COUNT][2] = {
		[IR_REDUCE_SUM] = { ONPU_OP_RSUM, ONPU_OP_NOP },
		[IR_REDUCE_PROD] = { ONPU_OP_RPROD, ONPU_OP_NOP },
		[IR_REDUCE_MAX] = { ONPU_OP_RMAX, ONPU_OP_NOP },
		[IR_REDUCE_MIN] = { ONPU_OP_RMIN, ONPU_OP_NOP },
		[IR_REDUCE_L1] = { ONPU_OP_RSUMABS, ONPU_OP_NOP },
		[IR_REDUCE_L2] = { ONPU_OP_RSUMSQ, ONPU_OP_VSQRT },
		[IR_REDUCE_SUM_SQUARE] = { ONPU_OP_RSUMSQ, ONPU_OP_NOP },
		[IR_REDUCE_LOG_SUM] = { ONPU_OP_RSUM, ONPU_OP_VLOG },
	};
	const struct ir_reduce_attrs *attrs = &node->attrs.reduce;
	struct vprog prog;
	int in = vp_begin_input(&prog, plan, "vector reduce", node->operands[0]);
	int out = reduced_result(plan, &prog, node->results[0], attrs->axes, attrs->keep_dims);

	if (attrs->kind == IR_REDUCE_MEAN)
		reduce_mean(plan, &prog, in, out, attrs->axes);
	else if (attrs->kind == IR_REDUCE_LOG_SUM_EXP ||
		 attrs->kind == IR_REDUCE_SHIFTED_LOG_SUM_EXP)
		reduce_log_sum_exp(&prog, in, out, attrs->axes,
				   attrs->kind == IR_REDUCE_LOG_SUM_EXP);
	else
		reduce_simple(&prog, simple[attrs->kind][0], simple[attrs->kind][1], in, out,
			      attrs->axes);
	vp_emit(plan, &prog);
}

/* ---- softmax */

/*
 * Adds out = found(y) ? 0 : y, with `found` an instruction that tests for NaN or infinity; out and
 * y have one type.
 */
static void clear(struct plan *plan, struct vprog *prog, enum onpu_op found, int out, int y)
{
	int at = vp_temp(prog, ONPU_DT_U8, prog->reg[y].mask);
	int zero = number_operand(plan, prog, &(float){ 0 }, prog->reg[out].dtype);

	vp_add(prog, found, at, y, -1, -1);
	vp_add(prog, ONPU_OP_VWHERE, out, at, zero, y);
}

void lower_softmax(struct plan *plan, const struct ir_node *node)
{
	const struct ir_softmax_attrs *attrs = &node->attrs.softmax;
	struct vprog prog;
	int in = vp_begin_input(&prog, plan, "vector softmax", node->operands[0]);
	int out = vp_result(&prog, plan, node->results[0]);
	uint8_t axes = 1u << attrs->axis, all = all_dims(&prog), rows = all & ~axes;
	int max = largest(&prog, in, axes), top = max;
	int diff = vp_temp(&prog, ONPU_DT_F32, all), power = vp_temp(&prog, ONPU_DT_F32, all);
	int sum = vp_temp(&prog, ONPU_DT_F32, rows), y = out;

	if (attrs->guarded) {
		top = vp_temp(&prog, ONPU_DT_F32, rows);
		clear(plan, &prog, ONPU_OP_VISINF, top, max);
	}
	if (attrs->nan_to_zero)
		y = vp_temp(&prog, prog.reg[out].dtype, all);
	vp_add(&prog, ONPU_OP_VSUB, diff, in, top, -1);
	vp_add(&prog, ONPU_OP_VEXP, power, diff, -1, -1);
	vp_reduce(&prog, ONPU_OP_RSUM, sum, power, axes);
	if (attrs->log) {
		int log = vp_temp(&prog, ONPU_DT_F32, rows);

		vp_add(&prog, ONPU_OP_VLOG, log, sum, -1, -1);
		vp_add(&prog, ONPU_OP_VSUB, y, diff, log, -1);
	} else {
		vp_divide(&prog, y, power, sum, out);
	}
	if (attrs->nan_to_zero)
		clear(plan, &prog, ONPU_OP_VISNAN, out, y);
	vp_emit(plan, &prog);
}

/* ---- argmin, argmax */

void lower_arg(struct plan *plan, const struct ir_node *node)
{
	struct vprog prog;
	int in = vp_begin_input(&prog, plan, "vector argreduce", node->operands[0]);
	uint8_t axes = 1u << node->attrs.arg.axis;
	int out = reduced_result(plan, &prog, node->results[0], axes, node->attrs.arg.keep_dims);

	vp_reduce(&prog, node->attrs.arg.max ? ONPU_OP_RARGMAX : ONPU_OP_RARGMIN, out, in, axes)
		->last = node->attrs.arg.last;
	vp_emit(plan, &prog);
}

/* ---- cumulative sum */

void lower_cumsum(struct plan *plan, const struct ir_node *node)
{
	struct vprog prog;
	int in = vp_begin_input(&prog, plan, "vector scan", node->operands[0]);
	int out = vp_result(&prog, plan, node->results[0]);
	struct vp_op *op = vp_add(&prog, ONPU_OP_SCAN_SUM, out, in, -1, -1);

	op->axes = 1u << node->attrs.cumsum.axis;
	op->excl = node->attrs.cumsum.exclusive;
	op->rev = node->attrs.cumsum.reversed;
	prog.whole = prog.fixed = op->axes;
	vp_emit(plan, &prog);
}
