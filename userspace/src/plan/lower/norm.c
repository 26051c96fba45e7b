// SPDX-License-Identifier: MIT
/*
 * Lowers batch, instance and layer normalisation as vector programs, which subtract the mean (not
 * in RMS normalisation) and divide by the root of the mean square of the differences. Mean and
 * variance are operands of batch normalisation; the other operators compute them. The mean of
 * values around 1,000 has a rounding error that is large compared to small differences, so that the
 * mean of the differences is subtracted from them as well.
 */
#include "plan/kernel/vprog.h"
#include "plan/lower/lower.h"
#include "plan/place/place.h"

#include <string.h>

/* Adds an operand whose dim i is dim axes[i] of the space; returns its register. */
static int operand_along(struct plan *plan, struct vprog *prog, const struct ir_value *value,
			 const uint32_t *axes, uint32_t count)
{
	struct npu_view from = values_view(plan, value), view = from;

	view.rank = prog->rank;
	for (uint32_t i = 0; i < prog->rank; i++) {
		view.dim[i] = 1;
		view.stride[i] = 0;
	}
	for (uint32_t i = 0; i < count; i++) {
		view.dim[axes[i]] = from.dim[i];
		view.stride[axes[i]] = from.stride[i];
	}
	return vp_input(prog, &view);
}

/* Returns a view with a dim split into two, the first of which has `count` elements. */
static struct npu_view split_dim(struct npu_view view, uint32_t dim, int64_t count)
{
	for (uint32_t i = view.rank; i > dim; i--) {
		view.dim[i] = view.dim[i - 1];
		view.stride[i] = view.stride[i - 1];
	}
	view.rank++;
	view.dim[dim] = count;
	view.dim[dim + 1] /= count;
	view.stride[dim] = view.stride[dim + 1] * view.dim[dim + 1];
	return view;
}

/*
 * Adds the scale or bias of channels as an input with two dims: groups, and channels of a group.
 * Returns its register.
 */
static int operand_of_groups(struct plan *plan, struct vprog *prog, const struct ir_value *value,
			     uint32_t channel)
{
	struct npu_view view = values_view(plan, value);

	view = split_dim(view, 0, prog->dim[channel]);
	for (uint32_t i = prog->rank; i-- > 0;) {
		bool own = i == channel || i == channel + 1;

		view.dim[i] = own ? view.dim[i - channel] : 1;
		view.stride[i] = own ? view.stride[i - channel] : 0;
	}
	view.rank = prog->rank;
	return vp_input(prog, &view);
}

static const struct ir_value *optional(const struct ir_node *node, uint32_t i)
{
	return i < node->num_operands ? node->operands[i] : NULL;
}

/* Adds out = x * scale + bias; scale and bias may be absent (-1). */
static void scale_and_shift(struct vprog *prog, int out, int x, int scale, int bias)
{
	if (scale >= 0 && bias >= 0)
		vp_add(prog, ONPU_OP_VFMA, out, x, scale, bias);
	else if (scale >= 0)
		vp_add(prog, ONPU_OP_VMUL, out, x, scale, -1);
	else if (bias >= 0)
		vp_add(prog, ONPU_OP_VADD, out, x, bias, -1);
	else
		vp_add(prog, ONPU_OP_VMOV, out, x, -1, -1);
}

/* Adds sqrt(variance + epsilon); returns its register. */
static int deviation(struct vprog *prog, int variance, float epsilon)
{
	int shifted = vp_temp(prog, ONPU_DT_F32, prog->reg[variance].mask);
	int root = vp_temp(prog, ONPU_DT_F32, prog->reg[variance].mask);

	vp_scalar(prog, ONPU_OP_VLINEAR, shifted, variance, vp_f32(1), vp_f32(epsilon));
	vp_add(prog, ONPU_OP_VSQRT, root, shifted, -1, -1);
	return root;
}

static void lower_batchnorm(struct plan *plan, const struct ir_node *node)
{
	const struct ir_norm_attrs *attrs = &node->attrs.norm;
	struct vprog prog;
	int in = vp_begin_input(&prog, plan, "vector batchnorm", node->operands[0]),
	    operand[4] = { -1, -1, -1, -1 };
	int out = vp_result(&prog, plan, node->results[0]), diff, root, quotient;
	uint8_t all = (1u << prog.rank) - 1;

	for (uint32_t i = 0; i < 4; i++)
		if (optional(node, 1 + i))
			operand[i] =
				operand_along(plan, &prog, node->operands[1 + i], &attrs->axis, 1);
	root = deviation(&prog, operand[1], attrs->epsilon);
	diff = vp_temp(&prog, ONPU_DT_F32, all);
	quotient = vp_temp(&prog, ONPU_DT_F32, all);
	vp_add(&prog, ONPU_OP_VSUB, diff, in, operand[0], -1);
	vp_divide(&prog, quotient, diff, root, out);
	scale_and_shift(&prog, out, quotient, operand[2], operand[3]);
	vp_emit(plan, &prog);
}

/* Adds a constant: the number of elements over `axes`; returns its register. */
static int count_operand(struct plan *plan, struct vprog *prog, uint8_t axes)
{
	struct npu_view view = { .base = NPU_BASE_CONST, .dtype = ONPU_DT_F32, .rank = prog->rank };
	float count = 1;

	for (uint32_t i = 0; i < prog->rank; i++) {
		if (axes >> i & 1)
			count *= (float)prog->dim[i];
		view.dim[i] = 1;
	}
	view.window = plan_constant(plan, &count, sizeof(count));
	view.window_bytes = sizeof(count);
	return vp_input(prog, &view);
}

/* Adds in - mean(in) over `axes`; returns its register. */
static int centre(struct vprog *prog, int in, int count, uint8_t axes)
{
	uint8_t all = (1u << prog->rank) - 1, rows = all & ~axes;
	int sum = vp_temp(prog, ONPU_DT_F32, rows), mean = vp_temp(prog, ONPU_DT_F32, rows);
	int diff = vp_temp(prog, ONPU_DT_F32, all);

	vp_reduce(prog, ONPU_OP_RSUM, sum, in, axes);
	vp_add(prog, ONPU_OP_VDIV, mean, sum, count, -1);
	vp_add(prog, ONPU_OP_VSUB, diff, in, mean, -1);
	return diff;
}

/*
 * Adds a normalisation with mean and variance over `axes`, and emits the program. operand[]: the
 * registers of scale and bias; -1: there is none.
 */
static void normalise(struct plan *plan, const struct ir_node *node, struct vprog *prog, int in,
		      int out, const int *operand, uint8_t axes)
{
	int count = count_operand(plan, prog, axes);
	uint8_t all = (1u << prog->rank) - 1, rows = all & ~axes;
	int squares = vp_temp(prog, ONPU_DT_F32, rows);
	int variance = vp_temp(prog, ONPU_DT_F32, rows), diff = in, root, quotient;

	for (int pass = 0; pass < 2 && !node->attrs.norm.rms; pass++)
		diff = centre(prog, diff, count, axes);
	vp_reduce(prog, ONPU_OP_RSUMSQ, squares, diff, axes);
	vp_add(prog, ONPU_OP_VDIV, variance, squares, count, -1);
	root = deviation(prog, variance, node->attrs.norm.epsilon);
	quotient = vp_temp(prog, ONPU_DT_F32, all);
	vp_divide(prog, quotient, diff, root, out);
	scale_and_shift(prog, out, quotient, operand[0], operand[1]);
	vp_emit(plan, prog);
}

static void lower_layernorm(struct plan *plan, const struct ir_node *node)
{
	const struct ir_norm_attrs *attrs = &node->attrs.norm;
	struct vprog prog;
	int in = vp_begin_input(&prog, plan, "vector layernorm", node->operands[0]);
	int out = vp_result(&prog, plan, node->results[0]), operand[2] = { -1, -1 };
	uint8_t axes = 0;

	for (uint32_t i = 0; i < attrs->num_axes; i++)
		axes |= 1u << attrs->axes[i];
	for (uint32_t i = 0; i < 2; i++)
		if (optional(node, 1 + i))
			operand[i] = operand_along(plan, &prog, node->operands[1 + i], attrs->axes,
						   attrs->num_axes);
	normalise(plan, node, &prog, in, out, operand, axes);
}

static void lower_instnorm(struct plan *plan, const struct ir_node *node)
{
	const struct ir_norm_attrs *attrs = &node->attrs.norm;
	struct npu_view from = values_view(plan, node->operands[0]);
	struct npu_view to = values_view(plan, node->results[0]);
	uint32_t channel = attrs->layout == IR_NHWC ? from.rank - 1 : 1;
	int in, out, operand[2] = { -1, -1 };
	struct vprog prog;

	if (attrs->groups) {
		from = split_dim(from, channel, attrs->groups);
		to = split_dim(to, channel, attrs->groups);
	}
	vp_begin(&prog, "vector instancenorm", from.rank, from.dim);
	in = vp_input(&prog, &from);
	out = vp_output(&prog, &to);
	for (uint32_t i = 0; i < 2; i++) {
		const struct ir_value *value = optional(node, 1 + i);

		if (value)
			operand[i] = attrs->groups ?
					     operand_of_groups(plan, &prog, value, channel) :
					     operand_along(plan, &prog, value, &channel, 1);
	}
	normalise(plan, node, &prog, in, out, operand,
		  ((1u << prog.rank) - 1) & ~(1u | 1u << channel));
}

void lower_norm(struct plan *plan, const struct ir_node *node)
{
	if (node->op == IR_OP_BATCHNORM)
		lower_batchnorm(plan, node);
	else if (node->op == IR_OP_INSTNORM)
		lower_instnorm(plan, node);
	else
		lower_layernorm(plan, node);
}
