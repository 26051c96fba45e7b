// SPDX-License-Identifier: MIT
/* Fast movement of elements of every type: runs that are contiguous on both sides are copied whole. */
#include "cpu/element.h"
#include "cpu/fast.h"

static int concat(struct cpu_context *cpu, const struct ir_node *node, const void *const *in,
		  void *const *out, struct wnn_error *err)
{
	const struct ir_type *type = &node->results[0]->type;
	struct cpu_shape y = cpu_shape_of(type);
	size_t element = ir_dtype_bits(type->dtype) / 8;
	uint32_t axis = node->attrs.axis;
	size_t row = (size_t)(y.dim[axis] * y.stride[axis]) * element, at = 0;

	(void)cpu;
	(void)err;
	for (uint32_t k = 0; k < node->num_operands; k++) {
		size_t run = (size_t)(ir_type_dim(&node->operands[k]->type, axis) * y.stride[axis]) *
			     element;
		const char *from = in[k];
		char *to = (char *)out[0] + at;

		for (int64_t i = 0; i < y.count / (y.dim[axis] * y.stride[axis]); i++)
			memcpy(to + (size_t)i * row, from + (size_t)i * run, run);
		at += run;
	}
	return 0;
}

static void strided(const struct ir_node *node, const void *const *in, void *const *out, int64_t base,
		    const int64_t *stride)
{
	struct cpu_shape y = cpu_shape_of(&node->results[0]->type);
	size_t element = ir_dtype_bits(node->results[0]->type.dtype) / 8;
	int64_t run = 1;
	uint32_t d = y.rank;

	/* The innermost dims that lie alike in the source. */
	while (d > 0 && (stride[d - 1] == run || y.dim[d - 1] == 1))
		run *= y.dim[--d];
	for (int64_t i = 0; i < y.count; i += run)
		memcpy((char *)out[0] + (size_t)i * element,
		       (const char *)in[0] + (size_t)(base + cpu_offset(&y, i, stride)) * element,
		       (size_t)run * element);
}

static int transpose(struct cpu_context *cpu, const struct ir_node *node, const void *const *in,
		     void *const *out, struct wnn_error *err)
{
	struct cpu_shape x = cpu_shape_of(&node->operands[0]->type);
	int64_t stride[IR_MAX_RANK];

	(void)cpu;
	(void)err;
	for (uint32_t i = 0; i < x.rank; i++)
		stride[i] = x.stride[node->attrs.transpose.perm[i]];
	strided(node, in, out, 0, stride);
	return 0;
}

static int slice(struct cpu_context *cpu, const struct ir_node *node, const void *const *in,
		 void *const *out, struct wnn_error *err)
{
	struct cpu_shape x = cpu_shape_of(&node->operands[0]->type);
	int64_t stride[IR_MAX_RANK], base = 0;

	(void)cpu;
	(void)err;
	for (uint32_t i = 0; i < x.rank; i++) {
		base += node->attrs.slice.starts[i] * x.stride[i];
		stride[i] = node->attrs.slice.strides[i] * x.stride[i];
	}
	strided(node, in, out, base, stride);
	return 0;
}

enum { CONCAT, TRANSPOSE, SLICE };

static const struct cpu_fast_kernel kernels[] = {
	[CONCAT] = { .name = "cpu/concat", .run = concat },
	[TRANSPOSE] = { .name = "cpu/transpose", .run = transpose },
	[SLICE] = { .name = "cpu/slice", .run = slice },
};

static const struct cpu_fast_kernel *find(const struct ir_node *node)
{
	if (ir_dtype_bits(node->results[0]->type.dtype) < 8)
		return NULL;
	return &kernels[node->op == IR_OP_CONCAT    ? CONCAT :
			node->op == IR_OP_TRANSPOSE ? TRANSPOSE : SLICE];
}

const struct cpu_fast_family cpu_fast_move = CPU_FAST_FAMILY(kernels, find);
