// SPDX-License-Identifier: MIT
/* Reference kernels for operators that only move elements. */
#include "cpu/element.h"

#include <string.h>

#include "cpu/ref/reference.h"

void cpu_ref_copy(const struct ir_node *node, const void *const *in, void *const *out)
{
	memcpy(out[0], in[0], (size_t)ir_type_bytes(&node->results[0]->type));
}

/* Sets result[i] = in[0][base + sum of index * stride]. */
static void gather_strided(const struct ir_node *node, const void *const *in, void *const *out,
			   int64_t base, const int64_t *stride)
{
	struct cpu_shape shape = cpu_shape_of(&node->results[0]->type);

	for (int64_t i = 0; i < shape.count; i++)
		cpu_copy_element(node->results[0]->type.dtype, out[0], i, in[0],
				 base + cpu_offset(&shape, i, stride));
}

void cpu_ref_transpose(const struct ir_node *node, const void *const *in, void *const *out)
{
	struct cpu_shape from = cpu_shape_of(&node->operands[0]->type);
	int64_t stride[IR_MAX_RANK];

	for (uint32_t i = 0; i < from.rank; i++)
		stride[i] = from.stride[node->attrs.transpose.perm[i]];
	gather_strided(node, in, out, 0, stride);
}

void cpu_ref_slice(const struct ir_node *node, const void *const *in, void *const *out)
{
	struct cpu_shape from = cpu_shape_of(&node->operands[0]->type);
	int64_t stride[IR_MAX_RANK], base = 0;

	for (uint32_t i = 0; i < from.rank; i++) {
		base += node->attrs.slice.starts[i] * from.stride[i];
		stride[i] = node->attrs.slice.strides[i] * from.stride[i];
	}
	gather_strided(node, in, out, base, stride);
}

void cpu_ref_expand(const struct ir_node *node, const void *const *in, void *const *out)
{
	struct cpu_shape from = cpu_shape_of(&node->operands[0]->type);
	struct cpu_shape to = cpu_shape_of(&node->results[0]->type);
	int64_t stride[IR_MAX_RANK];

	cpu_broadcast_strides(&from, &to, stride);
	gather_strided(node, in, out, 0, stride);
}

void cpu_ref_reverse(const struct ir_node *node, const void *const *in, void *const *out)
{
	struct cpu_shape from = cpu_shape_of(&node->operands[0]->type);
	int64_t stride[IR_MAX_RANK], base = 0;

	for (uint32_t i = 0; i < from.rank; i++) {
		bool reversed = node->attrs.axes >> i & 1;

		base += reversed ? (from.dim[i] - 1) * from.stride[i] : 0;
		stride[i] = reversed ? -from.stride[i] : from.stride[i];
	}
	gather_strided(node, in, out, base, stride);
}

void cpu_ref_tile(const struct ir_node *node, const void *const *in, void *const *out)
{
	struct cpu_shape from = cpu_shape_of(&node->operands[0]->type);
	struct cpu_shape to = cpu_shape_of(&node->results[0]->type);

	for (int64_t i = 0; i < to.count; i++) {
		int64_t rest = i, offset = 0;

		for (uint32_t d = to.rank; d-- > 0; rest /= to.dim[d])
			offset += rest % to.dim[d] % from.dim[d] * from.stride[d];
		cpu_copy_element(node->results[0]->type.dtype, out[0], i, in[0], offset);
	}
}

void cpu_ref_concat(const struct ir_node *node, const void *const *in, void *const *out)
{
	struct cpu_shape to = cpu_shape_of(&node->results[0]->type);
	uint32_t axis = node->attrs.axis;
	int64_t begin = 0;

	for (uint32_t k = 0; k < node->num_operands; k++) {
		struct cpu_shape from = cpu_shape_of(&node->operands[k]->type);

		for (int64_t i = 0; i < from.count; i++)
			cpu_copy_element(node->results[0]->type.dtype, out[0],
					 begin * to.stride[axis] + cpu_offset(&from, i, to.stride),
					 in[k], i);
		begin += from.dim[axis];
	}
}

void cpu_ref_pad(const struct ir_node *node, const void *const *in, void *const *out)
{
	struct cpu_shape from = cpu_shape_of(&node->operands[0]->type);
	struct cpu_shape to = cpu_shape_of(&node->results[0]->type);
	const struct ir_pad_attrs *attrs = &node->attrs.pad;
	enum ir_dtype dtype = node->results[0]->type.dtype;

	for (int64_t i = 0; i < to.count; i++) {
		int64_t rest = i, offset = 0;
		bool outside = false;

		for (uint32_t d = to.rank; d-- > 0; rest /= to.dim[d]) {
			int64_t at = cpu_pad_index(attrs->mode, rest % to.dim[d] - attrs->begin[d],
						   from.dim[d]);

			outside |= at < 0;
			offset += at * from.stride[d];
		}
		if (outside)
			cpu_copy_element(dtype, out[0], i, &attrs->value, 0);
		else
			cpu_copy_element(dtype, out[0], i, in[0], offset);
	}
}
