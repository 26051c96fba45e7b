// SPDX-License-Identifier: MIT
/*
 * Translates operators on tensors without elements. WebNN has no such tensors: here they are
 * constants, and the results of operators are computed from their shapes.
 */
#include <string.h>

#include "ops.h"

/*
 * Sets shape and type of the first output from those of the inputs. Returns 0; -1: refused; 1: the
 * rule cannot tell shape and type.
 */
typedef int (*shape_rule)(struct onnx_node *node, struct onnx_shape *shape, int *type);

static int as_first(struct onnx_node *node, struct onnx_shape *shape, int *type)
{
	*shape = node->inputs[0]->shape;
	*type = node->inputs[0]->type;
	return 0;
}

static int as_all(struct onnx_node *node, struct onnx_shape *shape, int *type)
{
	*shape = node->inputs[0]->shape;
	*type = node->inputs[0]->type;
	for (size_t i = 1; i < node->input_count; i++)
		if (node->inputs[i] && !onnx_shape_broadcast(shape, &node->inputs[i]->shape, shape))
			return onnx_refuse(node, "", "%s and %s cannot be broadcast",
					   onnx_shape_text(node->import->arena, shape),
					   onnx_shape_text(node->import->arena,
							   &node->inputs[i]->shape));
	return 0;
}

static int as_compared(struct onnx_node *node, struct onnx_shape *shape, int *type)
{
	int ret = as_all(node, shape, type);

	if (node->op->translate == onnx_op_is_inf || node->op->variant >= B_EQUAL)
		*type = ONNX_BOOL;
	return ret;
}

static int as_unary(struct onnx_node *node, struct onnx_shape *shape, int *type)
{
	as_first(node, shape, type);
	if (node->op->variant == U_NOT || node->op->variant == U_IS_NAN)
		*type = ONNX_BOOL;
	return 0;
}

static int as_selected(struct onnx_node *node, struct onnx_shape *shape, int *type)
{
	int ret = as_all(node, shape, type);

	*type = onnx_in_type(node, 1);
	return ret;
}

static int as_cast(struct onnx_node *node, struct onnx_shape *shape, int *type)
{
	*shape = node->inputs[0]->shape;
	*type = node->op->variant ? onnx_in_type(node, 1) : (int)onnx_attr_int(node, "to", 0);
	return onnx_type_bits(*type) ? 0 : 1;
}

static int as_quantised(struct onnx_node *node, struct onnx_shape *shape, int *type)
{
	*shape = node->inputs[0]->shape;
	*type = (int)onnx_attr_int(node, "output_dtype", 0);
	*type = onnx_has(node, 2) ? onnx_in_type(node, 2) : *type ? *type : ONNX_UINT8;
	return 0;
}

static int as_dequantised(struct onnx_node *node, struct onnx_shape *shape, int *type)
{
	*shape = node->inputs[0]->shape;
	*type = onnx_in_type(node, 1);
	return 0;
}

/*
 * Sets shape and type of a product of matrices. Its elements become 0, because the matrices' common
 * dimension is 0 and a sum without terms is 0.
 */
static int as_product(struct onnx_node *node, struct onnx_shape *shape, int *type)
{
	struct onnx_shape a = *onnx_in_shape(node, 0), b = *onnx_in_shape(node, 1), y;
	uint32_t rank;

	if (!a.rank || !b.rank)
		return 1;
	if (a.dim[a.rank - 1] != b.dim[b.rank > 1 ? b.rank - 2 : 0])
		return onnx_refuse(node, "", "the matrices do not fit together: the inputs are %s",
				   onnx_inputs_text(node));
	/* Only the batch dimensions are left. */
	a.rank = a.rank > 2 ? a.rank - 2 : 0;
	b.rank = b.rank > 2 ? b.rank - 2 : 0;
	if (!onnx_shape_broadcast(&a, &b, &y))
		return 1;
	rank = onnx_in_shape(node, 0)->rank;
	if (rank > 1)
		y.dim[y.rank++] = onnx_in_shape(node, 0)->dim[rank - 2];
	rank = onnx_in_shape(node, 1)->rank;
	if (rank > 1)
		y.dim[y.rank++] = onnx_in_shape(node, 1)->dim[rank - 1];
	*shape = y;
	*type = onnx_in_type(node, 0);
	return 0;
}

static int as_arg(struct onnx_node *node, struct onnx_shape *shape, int *type)
{
	struct onnx_shape from = node->inputs[0]->shape;
	uint32_t axis;

	if (onnx_axis(node, "axis", onnx_attr_int(node, "axis", 0), from.rank, &axis))
		return -1;
	*shape = (struct onnx_shape){ 0 };
	for (uint32_t i = 0; i < from.rank; i++)
		if (i != axis)
			shape->dim[shape->rank++] = from.dim[i];
		else if (onnx_attr_int(node, "keepdims", 1))
			shape->dim[shape->rank++] = 1;
	*type = ONNX_INT64;
	return onnx_shape_elements(shape) ? 1 : 0;
}

/*
 * Sets *shape to that of the indices and *type to that of the data, which the result of a lookup
 * has. Returns 1 when there are indices, 0 when there are none.
 */
static int as_indices(struct onnx_node *node, struct onnx_shape *shape, int *type)
{
	*shape = *onnx_in_shape(node, 1);
	*type = onnx_in_type(node, 0);
	return onnx_shape_elements(shape) ? 1 : 0;
}

static const struct {
	int (*translate)(struct onnx_node *node);
	shape_rule rule;
} rules[] = {
	{ onnx_op_arg, as_arg },
	{ onnx_op_batch_norm, as_first },
	{ onnx_op_bias_gelu, as_all },
	{ onnx_op_binary, as_compared },
	{ onnx_op_bit_shift, as_all },
	{ onnx_op_bitwise, as_all },
	{ onnx_op_bitwise_not, as_first },
	{ onnx_op_cast, as_cast },
	{ onnx_op_celu, as_first },
	{ onnx_op_clip, as_first },
	{ onnx_op_cum_sum, as_first },
	{ onnx_op_dequantize, as_dequantised },
	{ onnx_op_elu, as_first },
	{ onnx_op_function, as_first },
	{ onnx_op_gather_elements, as_indices },
	{ onnx_op_gelu, as_first },
	{ onnx_op_group_norm, as_first },
	{ onnx_op_hard_sigmoid, as_first },
	{ onnx_op_instance_norm, as_first },
	{ onnx_op_is_inf, as_compared },
	{ onnx_op_layer_norm, as_first },
	{ onnx_op_leaky_relu, as_first },
	{ onnx_op_lp_norm, as_first },
	{ onnx_op_lrn, as_first },
	{ onnx_op_matmul, as_product },
	{ onnx_op_mean_variance_norm, as_first },
	{ onnx_op_mod, as_all },
	{ onnx_op_pow, as_all },
	{ onnx_op_prelu, as_first },
	{ onnx_op_quantize, as_quantised },
	{ onnx_op_quick_gelu, as_first },
	{ onnx_op_rms_norm, as_first },
	{ onnx_op_selu, as_first },
	{ onnx_op_shrink, as_first },
	{ onnx_op_softmax, as_first },
	{ onnx_op_thresholded_relu, as_first },
	{ onnx_op_trilu, as_first },
	{ onnx_op_unary, as_unary },
	{ onnx_op_variadic, as_all },
	{ onnx_op_where, as_selected },
};

static bool has_empty(const struct onnx_node *node)
{
	bool found = false;

	for (size_t i = 0; i < node->input_count; i++) {
		const struct onnx_value *value = node->inputs[i];

		if (value && value->sequence)
			return false;
		found = found || (value && !onnx_shape_elements(&value->shape));
	}
	return found;
}

static bool has_first(const struct onnx_node *node)
{
	return node->input_count && node->inputs[0];
}

/*
 * Handles a scatter without updates: the result is the input. Returns 0; -1: refused; 1: there are
 * updates.
 */
static int scatter_nothing(struct onnx_node *node)
{
	if (onnx_shape_elements(&node->inputs[0]->shape) && onnx_has(node, 1) &&
	    onnx_shape_elements(onnx_in_shape(node, 1)))
		return 1;
	return onnx_out_value(node, 0, node->inputs[0]);
}

int onnx_empty(struct onnx_node *node)
{
	struct onnx_shape shape;
	int type, ret;

	if (!has_empty(node))
		return 1;
	if ((node->op->translate == onnx_op_scatter ||
	     node->op->translate == onnx_op_tensor_scatter) &&
	    has_first(node)) {
		ret = scatter_nothing(node);
		if (ret <= 0)
			return ret;
	}
	/* The rules are for the first output. */
	for (size_t i = 1; i < node->output_count; i++)
		if (onnx_wants(node, i))
			return node->op->translate ? onnx_infer_empty(node) : 1;
	for (size_t i = 0; has_first(node) && i < sizeof(rules) / sizeof(rules[0]); i++) {
		void *data;

		if (rules[i].translate != node->op->translate)
			continue;
		ret = rules[i].rule(node, &shape, &type);
		if (ret < 0)
			return ret;
		if (ret)
			break;
		/*
		 * A result with elements means that only a parameter is empty: the translator runs,
		 * so that the builder refuses the parameter by its name.
		 */
		if (onnx_shape_elements(&shape) && node->op->translate != onnx_op_matmul)
			break;
		data = onnx_out_constant(node, 0, type, &shape);
		if (!data)
			return -1;
		memset(data, 0, onnx_data_size(type, onnx_shape_elements(&shape)));
		return 0;
	}
	return node->op->translate ? onnx_infer_empty(node) : 1;
}

struct onnx_value *onnx_empty_value(struct onnx_node *node, int type,
				    const struct onnx_shape *shape)
{
	struct onnx_value *value = onnx_new_value(node);

	if (value) {
		value->type = type;
		value->shape = *shape;
		value->data = "";
	}
	return value;
}

int onnx_out_empty(struct onnx_node *node, size_t output, int type, const struct onnx_shape *shape)
{
	struct onnx_value *value = onnx_empty_value(node, type, shape);

	return value ? onnx_out_value(node, output, value) : -1;
}
