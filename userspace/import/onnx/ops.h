/* SPDX-License-Identifier: MIT */
/*
 * The translators of operators, by source file, and the variants of translators that serve several
 * operators.
 */
#ifndef ONNX_OPS_H
#define ONNX_OPS_H

#include "../common/integers.h"
#include "node.h"

#define ONNX_INDICES ((int64_t)1 << 22) /* most positions that one operator stores as constants */

/* op_elementwise.c */
enum {
	U_ABS,
	U_CEIL,
	U_COS,
	U_ERF,
	U_EXP,
	U_FLOOR,
	U_LOG,
	U_NEG,
	U_RECIPROCAL,
	U_ROUND,
	U_SIGMOID,
	U_SIGN,
	U_SIN,
	U_SOFTPLUS,
	U_SOFTSIGN,
	U_SQRT,
	U_TAN,
	U_TANH,
	U_RELU,
	U_HARD_SWISH,
	U_NOT,
	U_IS_NAN
};
enum {
	B_ADD,
	B_SUB,
	B_MUL,
	B_DIV,
	B_MAX,
	B_MIN,
	B_MEAN,
	B_MOD,
	B_POW,
	B_EQUAL,
	B_GREATER,
	B_GREATER_OR_EQUAL,
	B_LESS,
	B_LESS_OR_EQUAL,
	B_AND,
	B_OR,
	B_XOR
};
int onnx_op_unary(struct onnx_node *node);
int onnx_op_binary(struct onnx_node *node);
int onnx_op_variadic(struct onnx_node *node);
int onnx_op_pow(struct onnx_node *node);
int onnx_op_bitwise(struct onnx_node *node);
int onnx_op_bitwise_not(struct onnx_node *node);
int onnx_op_where(struct onnx_node *node);
int onnx_op_clip(struct onnx_node *node);
int onnx_op_dropout(struct onnx_node *node);
int onnx_op_identity(struct onnx_node *node);

/* op_mod.c */
int onnx_op_mod(struct onnx_node *node);
/* op_bits.c */
int onnx_op_bit_cast(struct onnx_node *node);
int onnx_op_bit_shift(struct onnx_node *node);
int onnx_fold_bit_cast(struct onnx_node *node);

/* op_cast.c */
int onnx_op_cast(struct onnx_node *node);

/* op_activation.c */
WNNOperand onnx_activate(struct onnx_node *node, WNNOperand y);
enum { F_ACOS, F_ACOSH, F_ASIN, F_ASINH, F_ATAN, F_ATANH, F_COSH, F_SINH, F_MISH };
WNNOperand onnx_gelu(struct onnx_node *node, WNNOperand x, bool approximate);
int onnx_op_function(struct onnx_node *node);
int onnx_op_elu(struct onnx_node *node);
int onnx_op_celu(struct onnx_node *node);
int onnx_op_selu(struct onnx_node *node);
int onnx_op_leaky_relu(struct onnx_node *node);
int onnx_op_thresholded_relu(struct onnx_node *node);
int onnx_op_hard_sigmoid(struct onnx_node *node);
int onnx_op_gelu(struct onnx_node *node);
int onnx_op_bias_gelu(struct onnx_node *node);
int onnx_op_quick_gelu(struct onnx_node *node);
int onnx_op_shrink(struct onnx_node *node);
int onnx_op_prelu(struct onnx_node *node);
int onnx_op_is_inf(struct onnx_node *node);
int onnx_op_swish(struct onnx_node *node);

/* op_reduce.c */
enum { S_SOFTMAX, S_LOG, S_HARD };
int onnx_op_reduce(struct onnx_node *node);
int onnx_op_softmax(struct onnx_node *node);
int onnx_op_arg(struct onnx_node *node);
int onnx_op_cum_sum(struct onnx_node *node);
int onnx_op_cum_prod(struct onnx_node *node);

/* op_resize.c */
int onnx_op_resize(struct onnx_node *node);

/* op_matmul.c */
WNNOperand onnx_matmul(struct onnx_node *node, WNNOperand a, WNNOperand b);
int onnx_op_matmul(struct onnx_node *node);
int onnx_op_gemm(struct onnx_node *node);
int onnx_op_fused_matmul(struct onnx_node *node);
int onnx_op_einsum(struct onnx_node *node);

/* op_attention.c */
int onnx_op_multi_head_attention(struct onnx_node *node);
int onnx_op_attention(struct onnx_node *node);

/* op_scaled_attention.c */
int onnx_op_scaled_attention(struct onnx_node *node);
int onnx_op_flex_attention(struct onnx_node *node);

/* op_linear_attention.c */
int onnx_op_linear_attention(struct onnx_node *node);
int onnx_op_causal_conv(struct onnx_node *node);

/* op_cache.c */
int onnx_op_tensor_scatter(struct onnx_node *node);

/* op_group_query.c */
int onnx_op_group_query_attention(struct onnx_node *node);

/* op_rotary.c */
int onnx_op_rotary(struct onnx_node *node);
int onnx_op_rotary_embedding(struct onnx_node *node);

/* op_weights.c */
int onnx_op_matmul_bits(struct onnx_node *node);
int onnx_op_gather_blocks(struct onnx_node *node);

/* op_conv.c */
WNNOperand onnx_conv(struct onnx_node *node, WNNOperand x, WNNOperand filter, WNNOperand bias);
int onnx_op_conv(struct onnx_node *node);
int onnx_op_fused_conv(struct onnx_node *node);
int onnx_op_conv_nhwc(struct onnx_node *node);
int onnx_op_conv_transpose(struct onnx_node *node);

/* op_pool.c */
enum { P_MAX, P_AVERAGE, P_L2 };
WNNOperand onnx_average_pool(struct onnx_node *node, WNNOperand x);
int onnx_op_pool(struct onnx_node *node);
int onnx_op_max_pool_nhwc(struct onnx_node *node);
int onnx_op_global_pool(struct onnx_node *node);

/* op_norm.c */
WNNOperand onnx_layer_norm(struct onnx_node *node, WNNOperand x, uint32_t axis, WNNOperand scale,
			   WNNOperand bias, double epsilon);
WNNOperand onnx_rms_norm(struct onnx_node *node, WNNOperand x, uint32_t axis, WNNOperand scale,
			 double epsilon);
int onnx_op_batch_norm(struct onnx_node *node);
/*
 * Whether BatchNormalization computes the statistics of the batch: training_mode says so; up to set
 * 13, the use of an output after the first.
 */
bool onnx_batch_norm_trains(struct onnx_node *node);
int onnx_op_instance_norm(struct onnx_node *node);
int onnx_op_layer_norm(struct onnx_node *node);
int onnx_op_rms_norm(struct onnx_node *node);
int onnx_op_skip_norm(struct onnx_node *node);
int onnx_op_group_norm(struct onnx_node *node);
int onnx_op_mean_variance_norm(struct onnx_node *node);
int onnx_op_lrn(struct onnx_node *node);
int onnx_op_lp_norm(struct onnx_node *node);

/* op_shape.c */
int onnx_op_shape(struct onnx_node *node);
int onnx_op_size(struct onnx_node *node);
int onnx_op_reshape(struct onnx_node *node);
int onnx_op_flatten(struct onnx_node *node);
int onnx_op_squeeze(struct onnx_node *node);
int onnx_op_unsqueeze(struct onnx_node *node);
int onnx_op_transpose(struct onnx_node *node);
int onnx_op_concat(struct onnx_node *node);
int onnx_op_split(struct onnx_node *node);
int onnx_op_slice(struct onnx_node *node);
int onnx_op_expand(struct onnx_node *node);
int onnx_op_tile(struct onnx_node *node);
int onnx_op_gather(struct onnx_node *node);
int onnx_op_gather_elements(struct onnx_node *node);
int onnx_op_gather_nd(struct onnx_node *node);

/* op_control.c */
int onnx_op_constant(struct onnx_node *node);
int onnx_op_constant_of_shape(struct onnx_node *node);
int onnx_op_if(struct onnx_node *node);
int onnx_op_sequence_construct(struct onnx_node *node);
int onnx_op_sequence_at(struct onnx_node *node);
int onnx_op_sequence_length(struct onnx_node *node);
int onnx_op_sequence_edit(struct onnx_node *node);
int onnx_op_concat_from_sequence(struct onnx_node *node);
int onnx_op_split_to_sequence(struct onnx_node *node);
int onnx_op_optional(struct onnx_node *node);
int onnx_op_optional_has(struct onnx_node *node);

/* op_data.c */
int onnx_op_trilu(struct onnx_node *node);
int onnx_op_pad(struct onnx_node *node);
int onnx_op_depth_space(struct onnx_node *node);
int onnx_op_one_hot(struct onnx_node *node);
int onnx_op_eye_like(struct onnx_node *node);
int onnx_op_compress(struct onnx_node *node);

/* op_grid.c */
int onnx_op_grid_sample(struct onnx_node *node);

/* op_scatter.c */
int onnx_op_scatter(struct onnx_node *node);

/* op_select.c */
int onnx_op_top_k(struct onnx_node *node);
int onnx_op_reverse_sequence(struct onnx_node *node);

/* op_deform.c */
int onnx_op_deform_conv(struct onnx_node *node);

/* op_det.c */
int onnx_op_det(struct onnx_node *node);

/* op_image.c */
int onnx_op_affine_grid(struct onnx_node *node);
int onnx_op_center_crop_pad(struct onnx_node *node);
int onnx_op_col2im(struct onnx_node *node);
int onnx_op_max_unpool(struct onnx_node *node);

/* op_region.c */
int onnx_op_roi_align(struct onnx_node *node);

/* op_text.c */
int onnx_op_tf_idf(struct onnx_node *node);

/* op_fused.c */
int onnx_op_embed_norm(struct onnx_node *node);
int onnx_op_group_norm_nhwc(struct onnx_node *node);
int onnx_op_bias_add(struct onnx_node *node);
int onnx_op_bias_split_gelu(struct onnx_node *node);
int onnx_op_gemm_fast_gelu(struct onnx_node *node);

/* op_fourier.c */
int onnx_op_dft(struct onnx_node *node);
int onnx_op_stft(struct onnx_node *node);

/* op_loop.c */
int onnx_op_loop(struct onnx_node *node);
int onnx_op_scan(struct onnx_node *node);
int onnx_op_scan_batches(struct onnx_node *node);
int onnx_op_sequence_map(struct onnx_node *node);

/* op_loss.c */
int onnx_op_loss(struct onnx_node *node);

/* op_quantise.c */
WNNOperand onnx_filled(struct onnx_node *node, WNNOperandDataType type,
		       const struct onnx_shape *shape, int64_t number);
#define ONNX_NO_SCALE SIZE_MAX
WNNOperand onnx_dequantise_at(struct onnx_node *node, size_t input, size_t scale_at, size_t zero_at,
			      int64_t axis);
/* Returns a scale or zero point with the rank of the tensor @like; NULL: absent or refused. */
WNNOperand onnx_fit_scale(struct onnx_node *node, size_t input, const struct onnx_shape *like,
			  int64_t axis);
/*
 * onnx_dequantise() and onnx_quantise() read scale and zero point from two inputs in a row:
 * onnx_dequantise() from first + 1 on, with the tensor at @first, onnx_quantise() from @scale_at
 * on.
 */
WNNOperand onnx_dequantise(struct onnx_node *node, size_t first, int64_t axis);
WNNOperand onnx_quantise(struct onnx_node *node, WNNOperand x, size_t scale_at, int64_t axis,
			 int type);
/* Results of DynamicQuantizeLinear; full_scale and full_zero have the rank of the tensor. */
struct onnx_dynamic {
	WNNOperand integers, scale, zero, full_scale, full_zero;
};
/* Quantises x to uint8 by the range of its own elements. Returns 0; -1: the builder refused. */
int onnx_range(struct onnx_node *node, WNNOperand x, struct onnx_dynamic *dynamic);
int onnx_op_dequantize(struct onnx_node *node);
int onnx_op_quantize(struct onnx_node *node);
int onnx_op_qlinear_matmul(struct onnx_node *node);
int onnx_op_qlinear_conv(struct onnx_node *node);
int onnx_op_integer_product(struct onnx_node *node);
int onnx_op_dynamic_quantize(struct onnx_node *node);

/*
 * op_quantise_few.c: types that WebNN's operators have not. Inputs 0 to 2 are the tensor, its scale
 * and its zero point.
 */
WNNOperand onnx_dequantise_few(struct onnx_node *node, int64_t axis);
WNNOperand onnx_quantise_few(struct onnx_node *node, int64_t axis, int type);

/* op_qlinear.c */
enum { Q_SIGMOID, Q_LEAKY_RELU, Q_SOFTMAX };
int onnx_op_qlinear_binary(struct onnx_node *node);
int onnx_op_qlinear_unary(struct onnx_node *node);
int onnx_op_qlinear_concat(struct onnx_node *node);
int onnx_op_qlinear_pool(struct onnx_node *node);
int onnx_op_qlinear_reduce_mean(struct onnx_node *node);
int onnx_op_qlinear_where(struct onnx_node *node);
int onnx_op_qgemm(struct onnx_node *node);
int onnx_op_matmul_integer_to_float(struct onnx_node *node);
int onnx_op_dynamic_quantize_matmul(struct onnx_node *node);

/* op_boxes.c */
/* Reads a number if the input has one; without elements it counts as absent. Returns 0 or -1. */
int onnx_threshold(struct onnx_node *node, size_t input, const char *name, double *number);
int onnx_op_non_max_suppression(struct onnx_node *node);

/* op_random.c */
enum { R_UNIFORM = 0, R_NORMAL = 1, R_LIKE = 2 };
int onnx_op_random(struct onnx_node *node);
int onnx_op_bernoulli(struct onnx_node *node);
int onnx_op_multinomial(struct onnx_node *node);

/* op_recurrent.c */
int onnx_op_rnn(struct onnx_node *node);
int onnx_op_lstm(struct onnx_node *node);
int onnx_op_dynamic_quantize_lstm(struct onnx_node *node);
int onnx_op_gru(struct onnx_node *node);

/* fold.c: constants at import */
int onnx_fold_unary(struct onnx_node *node);
int onnx_fold_binary(struct onnx_node *node);
int onnx_fold_where(struct onnx_node *node);
int onnx_fold_cast(struct onnx_node *node);
int onnx_fold_reduce(struct onnx_node *node);
int onnx_fold_clip(struct onnx_node *node);
int onnx_fold_range(struct onnx_node *node);
int onnx_fold_non_zero(struct onnx_node *node);

/* fold_unique.c */
int onnx_fold_unique(struct onnx_node *node);

/* fold_windows.c */
enum { W_BLACKMAN, W_HAMMING, W_HANN };
int onnx_fold_window(struct onnx_node *node);
int onnx_fold_mel(struct onnx_node *node);

/* fold_boxes.c */
int onnx_fold_non_max_suppression(struct onnx_node *node);

#endif
