// SPDX-License-Identifier: MIT
/*
 * Reference kernels for gather and scatter. Indices are clamped to [-n, n) in a dimension of n
 * elements, and negative ones count from the end. Updates of scatter are stored in the order of the
 * indices, so that the last of several updates for one element stays.
 */
#include "cpu/element.h"

#include <string.h>

#include "cpu/ref/reference.h"

struct indexed {
	const struct ir_node *node;
	struct cpu_shape data, indices;
	enum ir_dtype index_type;
	const void *index;
};

static struct indexed indexed_of(const struct ir_node *node, const void *const *in)
{
	return (struct indexed){ node, cpu_shape_of(&node->operands[0]->type),
				 cpu_shape_of(&node->operands[1]->type),
				 node->operands[1]->type.dtype, in[1] };
}

/*
 * Returns the offset in the input of element i of the result of gather, or of the updates of
 * scatter, whose shape is input.shape[0..axis) + indices.shape + input.shape(axis..].
 */
static int64_t along_axis(const struct indexed *x, int64_t i)
{
	uint32_t axis = x->node->attrs.gather.axis;
	int64_t n = x->data.dim[axis], inner = x->data.stride[axis];
	int64_t outer = i / inner / x->indices.count, k = i / inner % x->indices.count;
	int64_t at = cpu_load_index(x->index_type, x->index, k, n);

	return (outer * n + at) * inner + i % inner;
}

/*
 * Returns the offset in the input of the element that index i selects (gatherElements,
 * scatterElements).
 */
static int64_t of_elements(const struct indexed *x, int64_t i)
{
	uint32_t axis = x->node->attrs.gather.axis;
	int64_t offset = cpu_load_index(x->index_type, x->index, i, x->data.dim[axis]) *
			 x->data.stride[axis];

	for (uint32_t d = 0; d < x->data.rank; d++)
		if (d != axis)
			offset += i / x->indices.stride[d] % x->indices.dim[d] * x->data.stride[d];
	return offset;
}

/*
 * Returns the offset in the input of element i of the result of gatherND, or of the updates of
 * scatterND. Their shape is that of the indices without the last dimension, whose size is k, and
 * then that of the input from dimension k on.
 */
static int64_t of_coordinates(const struct indexed *x, int64_t i)
{
	int64_t k = x->indices.dim[x->indices.rank - 1], inner = x->data.stride[k - 1];
	int64_t offset = i % inner;

	for (int64_t d = 0; d < k; d++)
		offset +=
			cpu_load_index(x->index_type, x->index, i / inner * k + d, x->data.dim[d]) *
			x->data.stride[d];
	return offset;
}

/* Returns the offset in the input of element i of a gather's result or of a scatter's updates. */
static int64_t locate(const struct indexed *x, int64_t i)
{
	switch (x->node->attrs.gather.kind) {
	case IR_GATHER_AXIS:
		return along_axis(x, i);
	case IR_GATHER_ELEMENTS:
		return of_elements(x, i);
	default:
		return of_coordinates(x, i);
	}
}

void cpu_ref_gather(const struct ir_node *node, const void *const *in, void *const *out)
{
	const struct ir_type *type = &node->results[0]->type;
	struct indexed x = indexed_of(node, in);

	for (int64_t i = 0; i < ir_type_elements(type); i++)
		cpu_copy_element(type->dtype, out[0], i, in[0], locate(&x, i));
}

void cpu_ref_scatter(const struct ir_node *node, const void *const *in, void *const *out)
{
	const struct ir_type *updates = &node->operands[2]->type;
	struct indexed x = indexed_of(node, in);

	if (!node->attrs.gather.in_place)
		memcpy(out[0], in[0], (size_t)ir_type_bytes(&node->results[0]->type));
	for (int64_t i = 0; i < ir_type_elements(updates); i++)
		cpu_copy_element(updates->dtype, out[0], locate(&x, i), in[2], i);
}
