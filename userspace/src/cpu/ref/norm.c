// SPDX-License-Identifier: MIT
/* Reference kernels for normalizations, in double. */
#include <math.h>

#include "cpu/element.h"
#include "cpu/ref/reference.h"

static double optional(const struct ir_node *node, const void *const *in, uint32_t operand,
		       int64_t i, double otherwise)
{
	if (node->num_operands <= operand || !node->operands[operand])
		return otherwise;
	return cpu_load(node->operands[operand]->type.dtype, in[operand], i);
}

void cpu_ref_batchnorm(const struct ir_node *node, const void *const *in, void *const *out)
{
	struct cpu_shape s = cpu_shape_of(&node->results[0]->type);
	uint32_t axis = node->attrs.norm.axis;
	enum ir_dtype dtype = node->results[0]->type.dtype;

	for (int64_t i = 0; i < s.count; i++) {
		int64_t c = i / s.stride[axis] % s.dim[axis];
		double x = cpu_load(dtype, in[0], i) - cpu_load(dtype, in[1], c);

		x /= sqrt(cpu_load(dtype, in[2], c) + (double)node->attrs.norm.epsilon);
		cpu_store(dtype, out[0], i,
			  optional(node, in, 3, c, 1) * x + optional(node, in, 4, c, 0));
	}
}

/*
 * Normalizes data of shape s over `axes` (a mask). Element i of the result uses scale and bias at
 * the offset that param_stride gives for its index.
 */
static void normalize(const struct ir_node *node, struct cpu_shape s, const void *const *in,
		      void *const *out, uint32_t axes, const int64_t *param_stride)
{
	enum ir_dtype dtype = node->results[0]->type.dtype;
	int64_t keep[IR_MAX_RANK], walk[IR_MAX_RANK];
	struct cpu_shape group = s, rest = s;

	group.count = rest.count = 1;
	for (uint32_t d = 0; d < s.rank; d++) {
		bool reduced = axes >> d & 1;

		group.dim[d] = reduced ? s.dim[d] : 1;
		rest.dim[d] = reduced ? 1 : s.dim[d];
		group.count *= group.dim[d];
		rest.count *= rest.dim[d];
		walk[d] = keep[d] = s.stride[d];
	}
	for (int64_t r = 0; r < rest.count; r++) {
		int64_t base = cpu_offset(&rest, r, keep),
			param = cpu_offset(&rest, r, param_stride);
		double mean = 0, variance = 0;

		for (int64_t i = 0; i < group.count && !node->attrs.norm.rms; i++)
			mean += cpu_load(dtype, in[0], base + cpu_offset(&group, i, walk));
		mean /= (double)group.count;
		for (int64_t i = 0; i < group.count; i++) {
			double d =
				cpu_load(dtype, in[0], base + cpu_offset(&group, i, walk)) - mean;

			variance += d * d;
		}
		variance /= (double)group.count;
		for (int64_t i = 0; i < group.count; i++) {
			int64_t at = base + cpu_offset(&group, i, walk);
			int64_t p = param + cpu_offset(&group, i, param_stride);
			double x = (cpu_load(dtype, in[0], at) - mean) /
				   sqrt(variance + (double)node->attrs.norm.epsilon);

			cpu_store(dtype, out[0], at,
				  optional(node, in, 1, p, 1) * x + optional(node, in, 2, p, 0));
		}
	}
}

/* Returns the shape with its channel axis divided in two: groups, and channels of a group. */
static struct cpu_shape split_channels(struct cpu_shape s, uint32_t channel, int64_t groups)
{
	for (uint32_t i = s.rank; i > channel; i--) {
		s.dim[i] = s.dim[i - 1];
		s.stride[i] = s.stride[i - 1];
	}
	s.rank++;
	s.dim[channel] = groups;
	s.dim[channel + 1] /= groups;
	s.stride[channel] = s.stride[channel + 1] * s.dim[channel + 1];
	return s;
}

void cpu_ref_instnorm(const struct ir_node *node, const void *const *in, void *const *out)
{
	const struct ir_norm_attrs *attrs = &node->attrs.norm;
	struct cpu_shape s = cpu_shape_of(&node->results[0]->type);
	uint32_t channel = attrs->layout == IR_NCHW ? 1 : s.rank - 1;
	int64_t groups = attrs->groups ? attrs->groups : s.dim[channel];
	int64_t stride[IR_MAX_RANK] = { 0 };

	stride[channel] = 1;
	if (attrs->groups) {
		s = split_channels(s, channel, groups);
		stride[channel] = s.dim[channel + 1];
		stride[channel + 1] = 1;
	}
	normalize(node, s, in, out, ((1u << s.rank) - 1) & ~(1u | 1u << channel), stride);
}

void cpu_ref_layernorm(const struct ir_node *node, const void *const *in, void *const *out)
{
	const struct ir_norm_attrs *attrs = &node->attrs.norm;
	int64_t stride[IR_MAX_RANK] = { 0 }, count = 1;
	uint32_t axes = 0;

	/* Scale and bias have their axes in the order of attrs->axes. */
	for (uint32_t i = attrs->num_axes; i-- > 0;) {
		axes |= 1u << attrs->axes[i];
		stride[attrs->axes[i]] = count;
		count *= ir_type_dim(&node->results[0]->type, attrs->axes[i]);
	}
	normalize(node, cpu_shape_of(&node->results[0]->type), in, out, axes, stride);
}
