// SPDX-License-Identifier: MIT
/*
 * Lowers operators on 8-bit integers. The matrix unit computes exact sums of products, and the
 * vector unit scales and rounds them. Element-wise functions are vector programs that dequantise,
 * compute in float32 and quantise in SRAM.
 */
#include "plan/lower/integer.h"

#include "plan/kernel/vprog.h"
#include "plan/lower/lower.h"
#include "plan/lower/supports.h"

bool supports_integer_product(const struct ir_node *node, struct npu_reason *reason)
{
	const struct ir_conv_attrs *attrs = &node->attrs.conv;
	bool conv = node->op == IR_OP_QCONV;

	if (ir_dtype_is_float(node->results[0]->type.dtype) &&
	    !supports_fused(conv ? &attrs->act : &node->attrs.matmul.act, IR_F32, reason))
		return false;
	return !conv || supports_strides(attrs, reason);
}

bool supports_qunary(const struct ir_node *node, struct npu_reason *reason)
{
	return supports_fused(&node->attrs.unary, IR_F32, reason);
}

bool supports_qbinary(const struct ir_node *node, struct npu_reason *reason)
{
	return supports_fused(&node->attrs.binary.act, IR_F32, reason);
}

/* Adds a number to the constants; returns its view, which is broadcast to the whole result. */
static struct npu_view scalar_view(struct plan *plan, uint8_t dtype, uint64_t bits)
{
	uint32_t bytes = plan_dtype_bytes(dtype);
	struct npu_view v = { .base = NPU_BASE_CONST, .dtype = dtype, .rank = CD_RANK };

	for (int i = 0; i < CD_RANK; i++)
		v.dim[i] = 1;
	v.window = plan_constant(plan, &bits, bytes);
	v.window_bytes = bytes;
	return v;
}

static int add_extra(struct contract *c, const struct npu_view *mem)
{
	c->extra[c->num_extras] = (struct contract_extra){ .mem = *mem, .scale = 1 };
	return (int)c->num_extras++;
}

/* Adds the clamp of the result, unless its limits are those of the type. */
static void add_limits(struct contract *c, const struct ir_integer_attrs *attrs)
{
	bool is_signed = c->out.dtype == ONPU_DT_I8;
	struct contract_post *post = &c->post[c->num_posts];

	if (attrs->lo <= (is_signed ? INT8_MIN : 0) &&
	    attrs->hi >= (is_signed ? INT8_MAX : UINT8_MAX))
		return;
	*post = (struct contract_post){ .op = ONPU_OP_VCLAMP, .has_param = true, .extra = -1 };
	post->param.schema = PLAN_SCALAR;
	post->param.scalar.alpha = (uint64_t)attrs->lo;
	post->param.scalar.beta = (uint64_t)attrs->hi;
	c->num_posts++;
}

/* Adds an instruction to the epilogue; `operand`: its second source, or NULL. */
static void add_post(struct contract *c, enum onpu_op op, const struct npu_view *operand)
{
	c->post[c->num_posts++] = (struct contract_post){
		.op = op,
		.extra = operand ? add_extra(c, operand) : -1,
	};
}

/* Adds the instructions that scale an int32 sum, add the zero point and clamp the result. */
static void add_scaling(struct plan *plan, struct contract *c, const struct integer_finish *f)
{
	struct contract_post *post = &c->post[c->num_posts];
	struct npu_view zero;

	add_post(c, ONPU_OP_REQUANT, f->scale);
	if (f->attrs->zero) {
		zero = scalar_view(plan, c->out.dtype, (uint8_t)f->attrs->zero);
		post->third = 1 + add_extra(c, &zero);
	}
	add_limits(c, f->attrs);
}

/*
 * Adds the instructions of a float result: `scale`, which multiplies the sum by its scale, then the
 * addend and the activation.
 */
static void add_real(struct contract *c, enum onpu_op scale, const struct integer_finish *f)
{
	add_post(c, scale, f->scale);
	if (f->addend)
		add_post(c, ONPU_OP_VADD, f->addend);
	contract_add_function(c, f->act);
}

/*
 * Returns true if writing the bias with the matrix unit takes no more cycles than the windows on
 * the vector unit; with few channels, most of the matrix unit is idle.
 */
static bool begins_with_bias(const struct plan *plan, const struct contract *c)
{
	uint64_t channels = (uint64_t)c->dim[CD_G];

	return c->dim[CD_N] == 1 &&
	       wnn_div_up(channels, plan->caps->mxu_cols) * plan->caps->lanes <=
		       channels * c->taps[0] * c->taps[1];
}

/* Makes windows convert their data to float32, with the zero point subtracted. */
static void make_real(struct plan *plan, struct contract *c, int64_t zero_point)
{
	struct npu_view one = scalar_view(plan, ONPU_DT_F32, vp_f32(1));
	struct npu_view zero = scalar_view(plan, c->a.dtype, (uint8_t)zero_point);

	c->acc_dtype = ONPU_DT_F32;
	c->exact = true;
	c->pad_value = (uint8_t)zero_point;
	c->real_scale = 1 + add_extra(c, &one);
	c->real_zero = 1 + add_extra(c, &zero);
}

void integer_average_begin(struct plan *plan, struct contract *c,
			   const struct ir_qpool_attrs *attrs)
{
	c->kernel = "int8 win.sum";
	c->op = ONPU_OP_WIN_SUM;
	make_real(plan, c, attrs->a_zero);
}

void integer_average_end(struct plan *plan, struct contract *c, const struct ir_qpool_attrs *attrs,
			 const struct npu_view *scale)
{
	struct contract_post *post = &c->post[c->num_posts];
	struct npu_view zero = scalar_view(plan, c->out.dtype, (uint8_t)attrs->zero);

	add_post(c, ONPU_OP_QUANT, scale);
	post->third = 1 + add_extra(c, &zero);
}

void integer_windows(struct plan *plan, struct contract *c, const struct integer_finish *finish)
{
	c->kernel = "int8 win.mac";
	c->op = ONPU_OP_WIN_MAC;
	make_real(plan, c, finish->attrs->a_zero);
	if (finish->bias && begins_with_bias(plan, c)) {
		c->begin_one = c->real_scale;
		c->begin = 1 + add_extra(c, finish->bias);
	} else if (finish->bias) {
		add_post(c, ONPU_OP_VADD, finish->bias);
	}
	if (plan_dtype_is_float(c->out.dtype)) {
		add_real(c, ONPU_OP_VMUL, finish);
	} else {
		add_post(c, ONPU_OP_CVT, NULL);
		add_scaling(plan, c, finish);
	}
}

void integer_contract(struct plan *plan, struct contract *c, const struct integer_finish *finish)
{
	c->op = ONPU_OP_MMA_I8;
	c->acc_dtype = ONPU_DT_I32;
	c->exact = true;
	c->zero_a = (int32_t)finish->attrs->a_zero;
	c->zero_b = (int32_t)finish->attrs->b_zero;
	if (finish->bias)
		add_post(c, ONPU_OP_VADD, finish->bias);
	if (plan_dtype_is_float(c->out.dtype))
		add_real(c, ONPU_OP_DEQUANT, finish);
	else
		add_scaling(plan, c, finish);
}

const struct ir_value *integer_bias(const struct ir_node *node)
{
	return node->num_operands > 3 ? node->operands[3] : NULL;
}

const struct ir_value *integer_addend(const struct ir_node *node)
{
	return node->num_operands > 4 ? node->operands[4] : NULL;
}

/* ---- element-wise functions: each operand is followed by its scale and zero point */

/* Adds the dequantisation of operand `at`; returns the register of the float32 result. */
static int real_operand(struct vprog *prog, struct plan *plan, const struct ir_node *node,
			uint32_t at)
{
	int in = vp_operand(prog, plan, node->operands[at]);
	int scale = vp_operand(prog, plan, node->operands[at + 1]);
	int zero = vp_operand(prog, plan, node->operands[at + 2]);
	int real = vp_temp(prog, ONPU_DT_F32, prog->reg[in].mask);

	vp_add(prog, ONPU_OP_DEQUANT, real, in, scale, zero);
	return real;
}

void lower_integer_elementwise(struct plan *plan, const struct ir_node *node)
{
	bool binary = node->op == IR_OP_QBINARY;
	const struct ir_unary_attrs *act = binary ? &node->attrs.binary.act : &node->attrs.unary;
	uint32_t last = binary ? 6 : 3;
	struct vprog prog;
	int real, out, scale, zero;

	vp_begin_like(&prog, binary ? "int8 vector binary" : "int8 vector unary", node->results[0]);
	real = real_operand(&prog, plan, node, 0);
	out = vp_result(&prog, plan, node->results[0]);
	if (binary) {
		int b = real_operand(&prog, plan, node, 3);
		int both = vp_temp(&prog, ONPU_DT_F32, prog.reg[out].mask);

		vp_add(&prog, vp_binary_insn(node->attrs.binary.kind), both, real, b, -1);
		real = both;
	}
	if (act->kind != IR_UNARY_NONE) {
		int done = vp_temp(&prog, ONPU_DT_F32, prog.reg[real].mask);

		vp_unary(&prog, act, done, real);
		real = done;
	}
	scale = vp_operand(&prog, plan, node->operands[last]);
	zero = vp_operand(&prog, plan, node->operands[last + 1]);
	vp_add(&prog, ONPU_OP_QUANT, out, real, scale, zero);
	vp_emit(plan, &prog);
}
