// SPDX-License-Identifier: MIT
/*
 * Widens compositions on float16 to float32: an intermediate square or sum may be beyond the range
 * of float16 although the result is not.
 */
#include "ops.h"

/* the most elements of a constant that stays one, so that the translator can read it */
#define COPIED 65536

static bool several_inputs(struct onnx_node *node)
{
	return node->input_count > 2 || node->op->variant == B_MEAN;
}

static bool is_log(struct onnx_node *node)
{
	return node->op->variant == S_LOG;
}

static bool is_lp(struct onnx_node *node)
{
	return node->op->variant == P_L2;
}

static bool has_factor(struct onnx_node *node)
{
	return onnx_attr_float(node, "alpha", 1) != 1;
}

static const struct {
	int (*translate)(struct onnx_node *node);
	/* condition under which the operator is widened; NULL: always */
	bool (*when)(struct onnx_node *node);
} compositions[] = {
	{ onnx_op_affine_grid, NULL },
	{ onnx_op_batch_norm, onnx_batch_norm_trains },
	{ onnx_op_bias_add, NULL },
	{ onnx_op_bias_gelu, NULL },
	{ onnx_op_bias_split_gelu, NULL },
	{ onnx_op_celu, NULL },
	{ onnx_op_col2im, NULL },
	{ onnx_op_det, NULL },
	{ onnx_op_dft, NULL },
	{ onnx_op_einsum, several_inputs },
	{ onnx_op_embed_norm, NULL },
	{ onnx_op_fused_matmul, has_factor },
	{ onnx_op_gelu, NULL },
	{ onnx_op_global_pool, is_lp },
	{ onnx_op_group_norm, NULL },
	{ onnx_op_group_norm_nhwc, NULL },
	{ onnx_op_loss, NULL },
	{ onnx_op_lp_norm, NULL },
	{ onnx_op_lrn, NULL },
	{ onnx_op_mean_variance_norm, NULL },
	{ onnx_op_mod, NULL },
	{ onnx_op_pool, is_lp },
	{ onnx_op_quick_gelu, NULL },
	{ onnx_op_rms_norm, NULL },
	{ onnx_op_selu, NULL },
	{ onnx_op_shrink, NULL },
	{ onnx_op_skip_norm, NULL },
	{ onnx_op_softmax, is_log },
	{ onnx_op_stft, NULL },
	{ onnx_op_variadic, several_inputs },
};

static bool composes(struct onnx_node *node)
{
	for (size_t i = 0; i < sizeof(compositions) / sizeof(compositions[0]); i++)
		if (compositions[i].translate == node->op->translate)
			return !compositions[i].when || compositions[i].when(node);
	return false;
}

static struct onnx_value *widened(struct onnx_node *node, struct onnx_value *value)
{
	int64_t elements = onnx_shape_elements(&value->shape);
	struct onnx_value *wide;
	float *data;

	if (!value->data || elements > COPIED) {
		wide = onnx_value_of(
			node, x_cast(node, onnx_operand(node, value), WNNOperandDataType_Float32),
			ONNX_FLOAT);
		return wide;
	}
	wide = onnx_new_value(node);
	data = onnx_node_alloc(node, (size_t)elements * sizeof(*data) + 1);
	if (!wide || !data)
		return NULL;
	for (int64_t i = 0; i < elements; i++)
		data[i] = (float)onnx_value_float(value, (size_t)i);
	*wide = (struct onnx_value){ .type = ONNX_FLOAT, .shape = value->shape, .data = data };
	return wide;
}

int onnx_wide_begin(struct onnx_node *node)
{
	node->wide = false;
	if (!composes(node))
		return 0;
	for (size_t i = 0; i < node->input_count; i++) {
		struct onnx_value *value = node->inputs[i];

		if (!value || value->sequence || value->type != ONNX_FLOAT16)
			continue;
		value = widened(node, value);
		if (!value)
			return -1;
		value->origin = node->inputs[i]->origin;
		node->inputs[i] = value;
		node->wide = true;
	}
	return 0;
}

int onnx_wide_end(struct onnx_node *node)
{
	for (size_t i = 0; node->wide && i < node->output_count; i++) {
		struct onnx_value *value = node->outputs[i];

		if (!value || value->sequence || value->type != ONNX_FLOAT)
			continue;
		value = onnx_value_of(
			node, x_cast(node, onnx_operand(node, value), WNNOperandDataType_Float16),
			ONNX_FLOAT16);
		if (!value)
			return -1;
		node->outputs[i] = value;
	}
	return 0;
}
