// SPDX-License-Identifier: MIT
/* One row for each operator of ONNX that the importer knows. */
#include <string.h>

#include "ops.h"

#define ONNX "", /* the default domain */
#define MS   "com.microsoft",

static const struct onnx_op table[] = {
	/* Elementwise, as WebNN has them */
	{ ONNX "Abs", 1, 0, onnx_op_unary, onnx_fold_unary, U_ABS, "" },
	{ ONNX "Ceil", 1, 0, onnx_op_unary, onnx_fold_unary, U_CEIL, "" },
	{ ONNX "Cos", 7, 0, onnx_op_unary, NULL, U_COS, "" },
	{ ONNX "Erf", 9, 0, onnx_op_unary, NULL, U_ERF, "" },
	{ ONNX "Exp", 1, 0, onnx_op_unary, onnx_fold_unary, U_EXP, "" },
	{ ONNX "Floor", 1, 0, onnx_op_unary, onnx_fold_unary, U_FLOOR, "" },
	{ ONNX "HardSwish", 14, 0, onnx_op_unary, NULL, U_HARD_SWISH, "" },
	{ ONNX "IsNaN", 9, 0, onnx_op_unary, NULL, U_IS_NAN, "" },
	{ ONNX "Log", 1, 0, onnx_op_unary, onnx_fold_unary, U_LOG, "" },
	{ ONNX "Neg", 1, 0, onnx_op_unary, onnx_fold_unary, U_NEG, "" },
	{ ONNX "Not", 1, 0, onnx_op_unary, onnx_fold_unary, U_NOT, "" },
	{ ONNX "Reciprocal", 1, 0, onnx_op_unary, onnx_fold_unary, U_RECIPROCAL, "" },
	{ ONNX "Relu", 1, 0, onnx_op_unary, NULL, U_RELU, "" },
	{ ONNX "Round", 11, 0, onnx_op_unary, onnx_fold_unary, U_ROUND, "" },
	{ ONNX "Sigmoid", 1, 0, onnx_op_unary, NULL, U_SIGMOID, "" },
	{ ONNX "Sign", 9, 0, onnx_op_unary, onnx_fold_unary, U_SIGN, "" },
	{ ONNX "Sin", 7, 0, onnx_op_unary, NULL, U_SIN, "" },
	{ ONNX "Softplus", 1, 0, onnx_op_unary, NULL, U_SOFTPLUS, "" },
	{ ONNX "Softsign", 1, 0, onnx_op_unary, NULL, U_SOFTSIGN, "" },
	{ ONNX "Sqrt", 1, 0, onnx_op_unary, onnx_fold_unary, U_SQRT, "" },
	{ ONNX "Tan", 7, 0, onnx_op_unary, NULL, U_TAN, "" },
	{ ONNX "Tanh", 1, 0, onnx_op_unary, NULL, U_TANH, "" },
	{ ONNX "Add", 1, 0, onnx_op_binary, onnx_fold_binary, B_ADD, "" },
	{ ONNX "Sub", 1, 0, onnx_op_binary, onnx_fold_binary, B_SUB, "" },
	{ ONNX "Mul", 1, 0, onnx_op_binary, onnx_fold_binary, B_MUL, "" },
	{ ONNX "Div", 1, 0, onnx_op_binary, onnx_fold_binary, B_DIV, "" },
	{ ONNX "Pow", 1, 0, onnx_op_pow, onnx_fold_binary, B_POW, "" },
	{ ONNX "Equal", 1, 0, onnx_op_binary, onnx_fold_binary, B_EQUAL, "" },
	{ ONNX "Greater", 1, 0, onnx_op_binary, onnx_fold_binary, B_GREATER, "" },
	{ ONNX "GreaterOrEqual", 12, 0, onnx_op_binary, onnx_fold_binary, B_GREATER_OR_EQUAL, "" },
	{ ONNX "Less", 1, 0, onnx_op_binary, onnx_fold_binary, B_LESS, "" },
	{ ONNX "LessOrEqual", 12, 0, onnx_op_binary, onnx_fold_binary, B_LESS_OR_EQUAL, "" },
	{ ONNX "And", 1, 0, onnx_op_binary, onnx_fold_binary, B_AND, "" },
	{ ONNX "Or", 1, 0, onnx_op_binary, onnx_fold_binary, B_OR, "" },
	{ ONNX "Xor", 1, 0, onnx_op_binary, onnx_fold_binary, B_XOR, "" },
	{ ONNX "Max", 6, 0, onnx_op_variadic, onnx_fold_binary, B_MAX, "" },
	{ ONNX "Min", 6, 0, onnx_op_variadic, onnx_fold_binary, B_MIN, "" },
	{ ONNX "Sum", 6, 0, onnx_op_variadic, onnx_fold_binary, B_ADD, "" },
	{ ONNX "Mean", 6, 0, onnx_op_variadic, NULL, B_MEAN, "composed of add and div" },
	{ ONNX "Mod", 10, 0, onnx_op_mod, onnx_fold_binary, B_MOD, "composed of div, mul and sub" },
	{ ONNX "BitShift", 11, 0, onnx_op_bit_shift, NULL, 0, "composed of pow and mul or div" },
	{ ONNX "BitwiseAnd", 18, 0, onnx_op_bitwise, NULL, B_AND, "composed, bit by bit" },
	{ ONNX "BitwiseOr", 18, 0, onnx_op_bitwise, NULL, B_OR, "composed, bit by bit" },
	{ ONNX "BitwiseXor", 18, 0, onnx_op_bitwise, NULL, B_XOR, "composed, bit by bit" },
	{ ONNX "BitwiseNot", 18, 0, onnx_op_bitwise_not, NULL, 0, "composed of sub" },
	{ ONNX "Where", 9, 0, onnx_op_where, onnx_fold_where, 0, "" },
	{ ONNX "Cast", 6, 0, onnx_op_cast, onnx_fold_cast, 0,
	  "types that WebNN has not are refused" },
	{ ONNX "CastLike", 15, 0, onnx_op_cast, onnx_fold_cast, 1, "as Cast" },
	{ ONNX "Clip", 6, 0, onnx_op_clip, NULL, 0, "bounds may be computed" },
	{ ONNX "Dropout", 1, 0, onnx_op_dropout, NULL, 0,
	  "training with a ratio is refused: it is random" },
	{ ONNX "Identity", 1, 0, onnx_op_identity, NULL, 0, "" },

	/* Functions */
	{ ONNX "Acos", 7, 0, onnx_op_function, NULL, F_ACOS, "composed" },
	{ ONNX "Acosh", 9, 0, onnx_op_function, NULL, F_ACOSH, "composed" },
	{ ONNX "Asin", 7, 0, onnx_op_function, NULL, F_ASIN, "composed" },
	{ ONNX "Asinh", 9, 0, onnx_op_function, NULL, F_ASINH, "composed" },
	{ ONNX "Atan", 7, 0, onnx_op_function, NULL, F_ATAN, "composed" },
	{ ONNX "Atanh", 9, 0, onnx_op_function, NULL, F_ATANH, "composed" },
	{ ONNX "Cosh", 9, 0, onnx_op_function, NULL, F_COSH, "composed" },
	{ ONNX "Sinh", 9, 0, onnx_op_function, NULL, F_SINH, "composed" },
	{ ONNX "Mish", 18, 0, onnx_op_function, NULL, F_MISH, "composed" },
	{ ONNX "Elu", 1, 0, onnx_op_elu, NULL, 0, "" },
	{ ONNX "Celu", 12, 0, onnx_op_celu, NULL, 0, "composed of elu, mul and div" },
	{ ONNX "Selu", 1, 0, onnx_op_selu, NULL, 0, "composed of elu and linear" },
	{ ONNX "LeakyRelu", 1, 0, onnx_op_leaky_relu, NULL, 0, "" },
	{ ONNX "ThresholdedRelu", 1, 0, onnx_op_thresholded_relu, NULL, 0,
	  "composed of greater and where" },
	{ ONNX "HardSigmoid", 1, 0, onnx_op_hard_sigmoid, NULL, 0, "" },
	{ ONNX "Gelu", 20, 0, onnx_op_gelu, NULL, 0, "the approximation is composed" },
	{ ONNX "Shrink", 9, 0, onnx_op_shrink, NULL, 0, "composed of where" },
	{ ONNX "PRelu", 1, 0, onnx_op_prelu, NULL, 0, "" },
	{ ONNX "IsInf", 10, 0, onnx_op_is_inf, NULL, 0, "" },

	/* Reductions */
	{ ONNX "ReduceMax", 1, 0, onnx_op_reduce, onnx_fold_reduce, X_MAX, "" },
	{ ONNX "ReduceMin", 1, 0, onnx_op_reduce, onnx_fold_reduce, X_MIN, "" },
	{ ONNX "ReduceMean", 1, 0, onnx_op_reduce, NULL, X_MEAN, "" },
	{ ONNX "ReduceSum", 1, 0, onnx_op_reduce, onnx_fold_reduce, X_SUM, "" },
	{ ONNX "ReduceProd", 1, 0, onnx_op_reduce, onnx_fold_reduce, X_PRODUCT, "" },
	{ ONNX "ReduceL1", 1, 0, onnx_op_reduce, NULL, X_L1, "" },
	{ ONNX "ReduceL2", 1, 0, onnx_op_reduce, NULL, X_L2, "" },
	{ ONNX "ReduceLogSum", 1, 0, onnx_op_reduce, NULL, X_LOG_SUM, "" },
	{ ONNX "ReduceLogSumExp", 1, 0, onnx_op_reduce, NULL, X_LOG_SUM_EXP, "" },
	{ ONNX "ReduceSumSquare", 1, 0, onnx_op_reduce, NULL, X_SUM_SQUARE, "" },
	{ ONNX "Softmax", 1, 0, onnx_op_softmax, NULL, S_SOFTMAX, "" },
	{ ONNX "LogSoftmax", 1, 0, onnx_op_softmax, NULL, S_LOG, "composed" },
	{ ONNX "Hardmax", 1, 0, onnx_op_softmax, NULL, S_HARD, "composed of argMax and equal" },
	{ ONNX "ArgMax", 1, 0, onnx_op_arg, NULL, 0, "" },
	{ ONNX "ArgMin", 1, 0, onnx_op_arg, NULL, 1, "" },
	{ ONNX "CumSum", 11, 0, onnx_op_cum_sum, NULL, 0, "" },

	/* Products */
	{ ONNX "MatMul", 1, 0, onnx_op_matmul, NULL, 0, "float types" },
	{ ONNX "Gemm", 7, 0, onnx_op_gemm, NULL, 0, "float types" },
	{ ONNX "Einsum", 12, 0, onnx_op_einsum, NULL, 0,
	  "composed of matmul, or of mul and reduceSum" },
	{ MS "FusedMatMul", 1, 0, onnx_op_fused_matmul, NULL, 0, "transposed batches are refused" },
	{ ONNX "Conv", 1, 0, onnx_op_conv, NULL, 0, "one to three dimensions" },
	{ ONNX "ConvTranspose", 1, 0, onnx_op_conv_transpose, NULL, 0, "one to three dimensions" },
	{ MS "FusedConv", 1, 0, onnx_op_fused_conv, NULL, 0, "" },

	/* Pooling */
	{ ONNX "MaxPool", 1, 0, onnx_op_pool, NULL, P_MAX,
	  "one to three dimensions; Indices are composed" },
	{ ONNX "AveragePool", 1, 0, onnx_op_pool, NULL, P_AVERAGE, "one to three dimensions" },
	{ ONNX "LpPool", 1, 0, onnx_op_pool, NULL, P_L2, "one to three dimensions" },
	{ ONNX "GlobalMaxPool", 1, 0, onnx_op_global_pool, NULL, P_MAX, "as reduceMax" },
	{ ONNX "GlobalAveragePool", 1, 0, onnx_op_global_pool, NULL, P_AVERAGE, "as reduceMean" },
	{ ONNX "GlobalLpPool", 1, 0, onnx_op_global_pool, NULL, P_L2, "composed" },

	/* Normalisation */
	{ ONNX "BatchNormalization", 1, 0, onnx_op_batch_norm, NULL, 0,
	  "training mode is composed" },
	{ ONNX "InstanceNormalization", 1, 0, onnx_op_instance_norm, NULL, 0, "" },
	{ ONNX "LayerNormalization", 1, 0, onnx_op_layer_norm, NULL, 0, "" },
	{ ONNX "SimplifiedLayerNormalization", 1, 0, onnx_op_rms_norm, NULL, 0, "composed" },
	{ ONNX "RMSNormalization", 23, 0, onnx_op_rms_norm, NULL, 0, "composed" },
	{ ONNX "GroupNormalization", 18, 0, onnx_op_group_norm, NULL, 0, "composed" },
	{ ONNX "MeanVarianceNormalization", 9, 0, onnx_op_mean_variance_norm, NULL, 0, "composed" },
	{ ONNX "LRN", 1, 0, onnx_op_lrn, NULL, 0, "composed of averagePool2d" },
	{ ONNX "LpNormalization", 1, 0, onnx_op_lp_norm, NULL, 0, "composed" },
	{ MS "LayerNormalization", 1, 0, onnx_op_layer_norm, NULL, 0, "" },
	{ MS "SimplifiedLayerNormalization", 1, 0, onnx_op_rms_norm, NULL, 0, "composed" },
	{ MS "SkipLayerNormalization", 1, 0, onnx_op_skip_norm, NULL, 0, "outputs 0 and 3" },
	{ MS "SkipSimplifiedLayerNormalization", 1, 0, onnx_op_skip_norm, NULL, 1,
	  "outputs 0 and 3" },
	{ MS "Gelu", 1, 0, onnx_op_bias_gelu, NULL, 0, "" },
	{ MS "BiasGelu", 1, 0, onnx_op_bias_gelu, NULL, 0, "" },
	{ MS "FastGelu", 1, 0, onnx_op_bias_gelu, NULL, 1, "composed" },
	{ MS "QuickGelu", 1, 0, onnx_op_quick_gelu, NULL, 0, "composed" },

	/* Shapes and parts */
	{ ONNX "Shape", 1, 0, onnx_op_shape, NULL, 0, "computed at import" },
	{ ONNX "Size", 1, 0, onnx_op_size, NULL, 0, "computed at import" },
	{ ONNX "Reshape", 1, 0, onnx_op_reshape, NULL, 0, "the shape must be a constant" },
	{ ONNX "Flatten", 1, 0, onnx_op_flatten, NULL, 0, "" },
	{ ONNX "Squeeze", 1, 0, onnx_op_squeeze, NULL, 0, "axes must be constant" },
	{ ONNX "Unsqueeze", 1, 0, onnx_op_unsqueeze, NULL, 0, "axes must be constant" },
	{ ONNX "Transpose", 1, 0, onnx_op_transpose, NULL, 0, "" },
	{ ONNX "Concat", 1, 0, onnx_op_concat, NULL, 0, "" },
	{ ONNX "Split", 2, 0, onnx_op_split, NULL, 0, "" },
	{ ONNX "Slice", 1, 0, onnx_op_slice, NULL, 0,
	  "starts, ends, axes and steps must be constant" },
	{ ONNX "Expand", 8, 0, onnx_op_expand, NULL, 0, "the shape must be a constant" },
	{ ONNX "Tile", 6, 0, onnx_op_tile, NULL, 0, "repeats must be constant" },
	{ ONNX "Gather", 1, 0, onnx_op_gather, NULL, 0, "" },
	{ ONNX "GatherElements", 11, 0, onnx_op_gather_elements, NULL, 0, "" },
	{ ONNX "GatherND", 11, 0, onnx_op_gather_nd, NULL, 0, "" },
	{ ONNX "Range", 11, 0, NULL, onnx_fold_range, 0, "computed at import" },
	{ ONNX "NonZero", 9, 0, NULL, onnx_fold_non_zero, 0, "of constants only" },

	{ ONNX "Trilu", 14, 0, onnx_op_trilu, NULL, 0, "k must be a constant" },
	{ ONNX "Pad", 1, 0, onnx_op_pad, NULL, 0,
	  "pads and the value must be constant; wrap is composed" },
	{ ONNX "DepthToSpace", 1, 0, onnx_op_depth_space, NULL, 0,
	  "composed of reshape and transpose" },
	{ ONNX "SpaceToDepth", 1, 0, onnx_op_depth_space, NULL, 1,
	  "composed of reshape and transpose" },
	{ ONNX "Scatter", 9, 10, onnx_op_scatter, NULL, 0, "indices as long as the input" },
	{ ONNX "ScatterElements", 11, 0, onnx_op_scatter, NULL, 0,
	  "no reduction; indices as long as the input" },
	{ ONNX "ScatterND", 11, 0, onnx_op_scatter, NULL, 1, "no reduction" },
	{ ONNX "OneHot", 9, 0, onnx_op_one_hot, NULL, 0, "depth must be a constant" },
	{ ONNX "EyeLike", 9, 0, onnx_op_eye_like, NULL, 0, "computed at import" },
	{ ONNX "Compress", 9, 0, onnx_op_compress, NULL, 0, "the condition must be a constant" },

	/* Losses */
	{ ONNX "NegativeLogLikelihoodLoss", 12, 0, onnx_op_loss, NULL, 0,
	  "composed of gatherElements" },
	{ ONNX "SoftmaxCrossEntropyLoss", 12, 0, onnx_op_loss, NULL, 1,
	  "composed of gatherElements" },

	/* Quantisation */
	{ ONNX "QuantizeLinear", 10, 0, onnx_op_quantize, NULL, 0, "" },
	{ ONNX "DequantizeLinear", 10, 0, onnx_op_dequantize, NULL, 0, "" },
	{ ONNX "DynamicQuantizeLinear", 11, 0, onnx_op_dynamic_quantize, NULL, 0, "composed" },
	{ ONNX "QLinearMatMul", 10, 0, onnx_op_qlinear_matmul, NULL, 0, "composed" },
	{ ONNX "QLinearConv", 10, 0, onnx_op_qlinear_conv, NULL, 0, "composed" },
	{ ONNX "MatMulInteger", 10, 0, onnx_op_integer_product, NULL, 0,
	  "composed; exact below 2^24" },
	{ ONNX "ConvInteger", 10, 0, onnx_op_integer_product, NULL, 1,
	  "composed; exact below 2^24" },

	/* Recurrent networks */
	{ ONNX "LSTM", 7, 0, onnx_op_lstm, NULL, 0,
	  "no clip, no input_forget, no peepholes, full sequences" },
	{ ONNX "GRU", 7, 0, onnx_op_gru, NULL, 0, "no clip, full sequences" },

	/* Constants, branches and sequences */
	{ ONNX "Constant", 1, 0, onnx_op_constant, NULL, 0, "no strings, no sparse tensors" },
	{ ONNX "ConstantOfShape", 9, 0, onnx_op_constant_of_shape, NULL, 0, "" },
	{ ONNX "If", 1, 0, onnx_op_if, NULL, 0, "the condition must be a constant" },
	{ ONNX "SequenceEmpty", 11, 0, onnx_op_sequence_construct, NULL, 0, "unrolled" },
	{ ONNX "SequenceConstruct", 11, 0, onnx_op_sequence_construct, NULL, 0, "unrolled" },
	{ ONNX "SequenceAt", 11, 0, onnx_op_sequence_at, NULL, 0,
	  "the position must be a constant" },
	{ ONNX "SequenceLength", 11, 0, onnx_op_sequence_length, NULL, 0, "computed at import" },
	{ ONNX "SequenceInsert", 11, 0, onnx_op_sequence_edit, NULL, 1,
	  "the position must be a constant" },
	{ ONNX "SequenceErase", 11, 0, onnx_op_sequence_edit, NULL, 0,
	  "the position must be a constant" },
	{ ONNX "ConcatFromSequence", 11, 0, onnx_op_concat_from_sequence, NULL, 0, "" },
	{ ONNX "SplitToSequence", 11, 0, onnx_op_split_to_sequence, NULL, 0, "" },
	{ ONNX "Optional", 15, 0, onnx_op_identity, NULL, 0, "of a value that is there" },
	{ ONNX "OptionalGetElement", 15, 0, onnx_op_identity, NULL, 0, "" },
	{ ONNX "OptionalHasElement", 15, 0, onnx_op_optional_has, NULL, 0, "computed at import" },
};

const struct onnx_op *onnx_op_table(size_t *count)
{
	*count = sizeof(table) / sizeof(table[0]);
	return table;
}

const struct onnx_op *onnx_op_find(const char *domain, const char *name, int64_t version)
{
	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++)
		if (!strcmp(table[i].name, name) && !strcmp(table[i].domain, domain) &&
		    version >= table[i].since && (!table[i].until || version <= table[i].until))
			return &table[i];
	return NULL;
}
