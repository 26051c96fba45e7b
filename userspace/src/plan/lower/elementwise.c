// SPDX-License-Identifier: MIT
/*
 * Lowers element-wise operators as vector programs: unary, binary, compare, where, cast,
 * triangular, rotary.
 */
#include "plan/kernel/vprog.h"
#include "plan/lower/lower.h"
#include "plan/lower/supports.h"
#include "plan/place/place.h"

#include <string.h>

bool supports_unary(const struct ir_node *node, struct npu_reason *reason)
{
	return supports_function(&node->attrs.unary, node->operands[0]->type.dtype, reason);
}

bool supports_binary(const struct ir_node *node, struct npu_reason *reason)
{
	if (vp_binary_insn(node->attrs.binary.kind) == ONPU_OP_NOP)
		return supports_not(
			reason, NPU_REASON_OPERATOR,
			"the NPU has no instructions for bitwise operators, shifts and remainders");
	return supports_fused(&node->attrs.binary.act, node->results[0]->type.dtype, reason);
}

/* ---- unary functions */

static const struct {
	enum onpu_op op;
	uint8_t scalars;
} unary_table[IR_UNARY_COUNT] = {
	[IR_ABS] = { ONPU_OP_VABS, 0 },
	[IR_NEG] = { ONPU_OP_VNEG, 0 },
	[IR_SIGN] = { ONPU_OP_VSIGN, 0 },
	[IR_CEIL] = { ONPU_OP_VCEIL, 0 },
	[IR_FLOOR] = { ONPU_OP_VFLOOR, 0 },
	[IR_ROUND_EVEN] = { ONPU_OP_VROUNDEVEN, 0 },
	[IR_RECIPROCAL] = { ONPU_OP_VRECIP, 0 },
	[IR_SQRT] = { ONPU_OP_VSQRT, 0 },
	[IR_EXP] = { ONPU_OP_VEXP, 0 },
	[IR_LOG] = { ONPU_OP_VLOG, 0 },
	[IR_SIN] = { ONPU_OP_VSIN, 0 },
	[IR_COS] = { ONPU_OP_VCOS, 0 },
	[IR_TAN] = { ONPU_OP_VTAN, 0 },
	[IR_TANH] = { ONPU_OP_VTANH, 0 },
	[IR_ERF] = { ONPU_OP_VERF, 0 },
	[IR_SIGMOID] = { ONPU_OP_VSIGMOID, 0 },
	[IR_GELU] = { ONPU_OP_VGELU, 0 },
	[IR_SOFTPLUS] = { ONPU_OP_VSOFTPLUS, 0 },
	[IR_SOFTSIGN] = { ONPU_OP_VSOFTSIGN, 0 },
	[IR_ELU] = { ONPU_OP_VELU, 1 },
	[IR_LEAKY_RELU] = { ONPU_OP_VLEAKYRELU, 1 },
	[IR_HARD_SIGMOID] = { ONPU_OP_VHARDSIGMOID, 2 },
	[IR_HARD_SWISH] = { ONPU_OP_VHARDSWISH, 0 },
	[IR_RELU] = { ONPU_OP_VRELU, 0 },
	[IR_CLAMP] = { ONPU_OP_VCLAMP, 2 },
	[IR_LINEAR] = { ONPU_OP_VLINEAR, 2 },
	[IR_LOGICAL_NOT] = { ONPU_OP_VNOT, 0 },
	[IR_IS_NAN] = { ONPU_OP_VISNAN, 0 },
	[IR_IS_INFINITE] = { ONPU_OP_VISINF, 0 },
};

static bool is_unsigned(uint8_t dtype)
{
	return dtype == ONPU_DT_U8 || dtype == ONPU_DT_U16 || dtype == ONPU_DT_U32 ||
	       dtype == ONPU_DT_U64;
}

static void set_scalars(struct unary_step *step, enum onpu_op op, float alpha, float beta)
{
	*step = (struct unary_step){ .op = op, .has_param = true };
	step->param.schema = PLAN_SCALAR;
	step->param.scalar.alpha = vp_f32(alpha);
	step->param.scalar.beta = vp_f32(beta);
}

static void set_plain(struct unary_step *step, const struct ir_unary_attrs *unary, uint8_t dtype)
{
	uint8_t scalars = unary_table[unary->kind].scalars;

	set_scalars(step, unary_table[unary->kind].op, scalars > 0 ? unary->alpha : 0,
		    scalars > 1 ? unary->beta : 0);
	step->has_param = scalars > 0;
	if (unary->kind == IR_CLAMP && !plan_dtype_is_float(dtype)) {
		step->param.scalar.alpha = is_unsigned(dtype) ? unary->ulo : (uint64_t)unary->ilo;
		step->param.scalar.beta = is_unsigned(dtype) ? unary->uhi : (uint64_t)unary->ihi;
	}
}

/*
 * Writes the instructions that compute the factor by which a gate multiplies its operand; returns
 * the number of instructions, 0 for functions that are no gates.
 */
static uint32_t gate_steps(const struct ir_unary_attrs *unary, struct unary_step *steps)
{
	uint32_t count = 0;

	switch (unary->kind) {
	case IR_SWISH:
		if (unary->alpha != 1)
			set_scalars(&steps[count++], ONPU_OP_VLINEAR, unary->alpha, 0);
		steps[count++].op = ONPU_OP_VSIGMOID;
		return count;
	case IR_MISH:
		steps[count++].op = ONPU_OP_VSOFTPLUS;
		steps[count++].op = ONPU_OP_VTANH;
		return count;
	case IR_GELU_TANH:
		steps[count++] = (struct unary_step){ .op = ONPU_OP_VMUL, .by_operand = true };
		set_scalars(&steps[count++], ONPU_OP_VLINEAR, unary->alpha, unary->beta);
		steps[count++] = (struct unary_step){ .op = ONPU_OP_VMUL, .by_operand = true };
		steps[count++].op = ONPU_OP_VSIGMOID;
		return count;
	case IR_HARD_GATE:
		set_scalars(&steps[count++], ONPU_OP_VHARDSIGMOID, unary->alpha, unary->beta);
		return count;
	case IR_STEP_GATE:
		set_scalars(&steps[count++], ONPU_OP_VLINEAR, 1, -unary->alpha);
		steps[count++].op = ONPU_OP_VRELU;
		steps[count++].op = ONPU_OP_VSIGN;
		return count;
	default:
		return 0;
	}
}

uint32_t unary_steps(const struct ir_unary_attrs *unary, uint8_t dtype,
		     struct unary_step steps[UNARY_MAX_STEPS])
{
	uint32_t count;

	memset(steps, 0, UNARY_MAX_STEPS * sizeof(*steps));
	if (unary->kind == IR_SCALED_TANH) {
		set_scalars(&steps[0], ONPU_OP_VLINEAR, unary->beta, 0);
		steps[1].op = ONPU_OP_VTANH;
		set_scalars(&steps[2], ONPU_OP_VLINEAR, unary->alpha, 0);
		return 3;
	}
	count = gate_steps(unary, steps);
	if (count)
		steps[count] = (struct unary_step){ .op = ONPU_OP_VMUL, .by_operand = true };
	else
		set_plain(&steps[count], unary, dtype);
	return count + 1;
}

void vp_unary(struct vprog *prog, const struct ir_unary_attrs *unary, int dst, int src)
{
	struct unary_step steps[UNARY_MAX_STEPS];
	uint32_t count = unary_steps(unary, prog->reg[src].dtype, steps);
	int spare = count > 1 ? vp_temp(prog, ONPU_DT_F32, prog->reg[src].mask) : -1;

	for (uint32_t i = 0; i < count; i++) {
		struct vp_op *op = vp_add(prog, steps[i].op, i + 1 < count ? spare : dst,
					  i ? spare : src, steps[i].by_operand ? src : -1, -1);

		op->has_param = steps[i].has_param;
		op->param = steps[i].param;
	}
}

/* ---- binary functions */

static const enum onpu_op binary_table[IR_BINARY_COUNT] = {
	[IR_ADD] = ONPU_OP_VADD, [IR_SUB] = ONPU_OP_VSUB,     [IR_MUL] = ONPU_OP_VMUL,
	[IR_DIV] = ONPU_OP_VDIV, [IR_MAX] = ONPU_OP_VMAX,     [IR_MIN] = ONPU_OP_VMIN,
	[IR_POW] = ONPU_OP_VPOW, [IR_PRELU] = ONPU_OP_VPRELU, [IR_AND] = ONPU_OP_VAND,
	[IR_OR] = ONPU_OP_VOR,	 [IR_XOR] = ONPU_OP_VXOR,     [IR_EQ] = ONPU_OP_VEQ,
	[IR_NE] = ONPU_OP_VNE,	 [IR_GT] = ONPU_OP_VGT,	      [IR_GE] = ONPU_OP_VGE,
	[IR_LT] = ONPU_OP_VLT,	 [IR_LE] = ONPU_OP_VLE,
};

enum onpu_op vp_binary_insn(enum ir_binary kind)
{
	return binary_table[kind];
}

void vp_begin_like(struct vprog *prog, const char *kernel, const struct ir_value *result)
{
	int64_t dim[IR_MAX_RANK] = { 1 };

	for (uint32_t i = 0; i < result->type.rank; i++)
		dim[i] = ir_type_dim(&result->type, i);
	vp_begin(prog, kernel, result->type.rank ? result->type.rank : 1, dim);
}

static void build_binary(struct plan *plan, struct vprog *prog, const struct ir_node *node)
{
	const struct ir_binary_attrs *attrs = &node->attrs.binary;
	int a = vp_operand(prog, plan, node->operands[0]);
	int b = vp_operand(prog, plan, node->operands[1]);
	int out = vp_result(prog, plan, node->results[0]), sum = out;
	bool act = node->op == IR_OP_BINARY && attrs->act.kind != IR_UNARY_NONE;

	prog->kernel = "vector binary";
	/* The operand of a fused activation stays float32, so that the result is rounded once. */
	if (act)
		sum = vp_temp(prog,
			      plan_dtype_is_float(prog->reg[out].dtype) ? ONPU_DT_F32 :
									  prog->reg[out].dtype,
			      prog->reg[out].mask);
	vp_add(prog, binary_table[attrs->kind], sum, a, b, -1);
	if (act)
		vp_unary(prog, &attrs->act, out, sum);
}

static void build_triangular(struct vprog *prog, const struct ir_node *node, int in, int out)
{
	struct vp_op *op = vp_add(prog, ONPU_OP_TRI, out, in, -1, -1);

	prog->kernel = "vector triangular";
	prog->fixed = 3u << (prog->rank - 2);
	op->has_param = true;
	op->param.schema = PLAN_TRI;
	op->param.tri.upper = node->attrs.triangular.upper;
	op->param.tri.diagonal = node->attrs.triangular.diagonal;
}

static void build_unary(struct plan *plan, struct vprog *prog, const struct ir_node *node)
{
	int in = vp_operand(prog, plan, node->operands[0]);
	int out = vp_result(prog, plan, node->results[0]);

	prog->kernel = "vector unary";
	if (node->op == IR_OP_CAST)
		vp_add(prog, ONPU_OP_CVT, out, in, -1, -1);
	else if (node->op == IR_OP_TRIANGULAR)
		build_triangular(prog, node, in, out);
	else
		vp_unary(prog, &node->attrs.unary, out, in);
}

static void build_where(struct plan *plan, struct vprog *prog, const struct ir_node *node)
{
	int cond = vp_operand(prog, plan, node->operands[0]);
	int a = vp_operand(prog, plan, node->operands[1]);
	int b = vp_operand(prog, plan, node->operands[2]);
	int out = vp_result(prog, plan, node->results[0]);

	prog->kernel = "vector where";
	vp_add(prog, ONPU_OP_VWHERE, out, cond, a, b);
}

void lower_elementwise(struct plan *plan, const struct ir_node *node)
{
	struct vprog prog;

	vp_begin_like(&prog, "vector", node->results[0]);
	switch (node->op) {
	case IR_OP_BINARY:
	case IR_OP_COMPARE:
		build_binary(plan, &prog, node);
		break;
	case IR_OP_WHERE:
		build_where(plan, &prog, node);
		break;
	default:
		build_unary(plan, &prog, node);
	}
	vp_emit(plan, &prog);
}

/* ---- rotary embedding: computes both halves of each row at once */

bool supports_rotary(const struct ir_node *node, struct npu_reason *reason)
{
	return node->results[0]->type.rank < IR_MAX_RANK ||
	       supports_not(
		       reason, NPU_REASON_OPERATOR,
		       "the tensor of this rotary embedding has 8 dimensions, but the NPU takes at "
		       "most 7: reshape it");
}

/*
 * Returns a view with the last dim split into two halves. An operand with at most half a row is
 * broadcast to both halves.
 */
static struct npu_view halves_view(const struct vprog *prog, struct npu_view view)
{
	uint32_t last = prog->rank - 1;
	bool both;

	view = view_widen(view, prog->rank);
	/* The dim before the last numbers the halves: dims before it move one to the front. */
	for (uint32_t i = 1; i < last; i++) {
		view.dim[i - 1] = view.dim[i];
		view.stride[i - 1] = view.stride[i];
	}
	both = view.dim[last] == 2 * prog->dim[last];
	if (both)
		view.dim[last] /= 2;
	view.dim[last - 1] = both ? 2 : 1;
	view.stride[last - 1] = view.dim[last] * view.stride[last];
	return view;
}

void lower_rotary(struct plan *plan, const struct ir_node *node)
{
	const struct npu_view rows = values_view(plan, node->results[0]);
	int64_t dim[IR_MAX_RANK];
	uint32_t last = rows.rank;
	int in[3], out, product[4];
	struct npu_view view;
	struct vprog prog;

	memcpy(dim, rows.dim, last * sizeof(*dim));
	dim[last] = dim[last - 1] / 2;
	dim[last - 1] = 2;
	vp_begin(&prog, "vector rotary", rows.rank + 1, dim);
	for (uint32_t i = 0; i < 3; i++) {
		view = halves_view(&prog, values_view(plan, node->operands[i]));
		in[i] = vp_input(&prog, &view);
	}
	view = halves_view(&prog, rows);
	out = vp_output(&prog, &view);
	for (int i = 0; i < 4; i++)
		product[i] = vp_temp(&prog, ONPU_DT_F32,
				     (uint8_t)(((1u << prog.rank) - 1) & ~(1u << (last - 1))));
	for (uint32_t half = 0; half < 2; half++) {
		int *of = &product[2 * half];

		vp_add(&prog, ONPU_OP_VMUL, of[0], vp_slice(&prog, in[0], last - 1, half),
		       vp_slice(&prog, in[1], last - 1, half), -1);
		vp_add(&prog, ONPU_OP_VMUL, of[1], vp_slice(&prog, in[0], last - 1, !half),
		       vp_slice(&prog, in[2], last - 1, half), -1);
		vp_add(&prog, half ? ONPU_OP_VADD : ONPU_OP_VSUB,
		       vp_slice(&prog, out, last - 1, half), of[0], of[1], -1);
	}
	vp_emit(plan, &prog);
}
