/* SPDX-License-Identifier: MIT */
/* wnn-conformance: the table of all operators, their parameters and their options. */
#include <stddef.h>
#include <string.h>

#include "conformance_table.h"

/* --- Options --------------------------------------------------------------------------------- */

static const char *const layouts[] = { "nchw", "nhwc", NULL };
static const char *const conv_filters[] = { "oihw", "hwio", "ohwi", "ihwo", NULL };
static const char *const transpose_filters[] = { "iohw", "hwoi", "ohwi", NULL };
static const char *const gru_layouts[] = { "zrn", "rzn", NULL };
static const char *const lstm_layouts[] = { "iofg", "ifgo", NULL };
static const char *const directions[] = { "forward", "backward", "both", NULL };
static const char *const activation_names[] = { "relu", "sigmoid", "tanh", NULL };
static const char *const padding_modes[] = { "constant", "edge", "reflection", NULL };
static const char *const roundings[] = { "floor", "ceil", NULL };
static const char *const interpolations[] = { "nearest-neighbor", "linear", NULL };

/* The macros below name members of the struct `T` of their block. */
#define OPTION(member, kind)  { #member, kind, offsetof(T, member), NULL }
#define CHOICE(member, names) { #member, KIND_ENUM, offsetof(T, member), names }
#define ACTIVATIONS	      { "activations", KIND_ACTIVATIONS, offsetof(T, activations), activation_names }

#define OPTIONS(id, INIT, ...)                                                                   \
	static const T id##_init = INIT;                                                         \
	static const struct member id##_members[] = { OPTION(label, KIND_STRING), __VA_ARGS__ }; \
	static const struct options_kind id = { &id##_init, sizeof(T), id##_members,             \
						ARRAY_SIZE(id##_members) }

#define T WNNOperatorOptions
OPTIONS(plain, WNN_OPERATOR_OPTIONS_INIT);
#undef T

#define T WNNArgMinMaxOptions
OPTIONS(arg_min_max, WNN_ARG_MIN_MAX_OPTIONS_INIT, OPTION(keepDimensions, KIND_BOOL),
	OPTION(outputDataType, KIND_TYPE));
#undef T

#define T WNNBatchNormalizationOptions
OPTIONS(batch_normalization, WNN_BATCH_NORMALIZATION_OPTIONS_INIT, OPTION(scale, KIND_OPERAND),
	OPTION(bias, KIND_OPERAND), OPTION(axis, KIND_U32), OPTION(epsilon, KIND_DOUBLE));
#undef T

#define T WNNClampOptions
OPTIONS(clamp, WNN_CLAMP_OPTIONS_INIT, OPTION(minValue, KIND_NUMBER),
	OPTION(maxValue, KIND_NUMBER));
#undef T

#define T WNNConv2dOptions
OPTIONS(conv2d, WNN_CONV2D_OPTIONS_INIT, OPTION(padding, KIND_U32_ARRAY),
	OPTION(strides, KIND_U32_ARRAY), OPTION(dilations, KIND_U32_ARRAY),
	OPTION(groups, KIND_U32), CHOICE(inputLayout, layouts), CHOICE(filterLayout, conv_filters),
	OPTION(bias, KIND_OPERAND));
#undef T

#define T WNNConvTranspose2dOptions
OPTIONS(conv_transpose2d, WNN_CONV_TRANSPOSE2D_OPTIONS_INIT, OPTION(padding, KIND_U32_ARRAY),
	OPTION(strides, KIND_U32_ARRAY), OPTION(dilations, KIND_U32_ARRAY),
	OPTION(outputPadding, KIND_U32_ARRAY), OPTION(outputSizes, KIND_U32_ARRAY),
	OPTION(groups, KIND_U32), CHOICE(inputLayout, layouts),
	CHOICE(filterLayout, transpose_filters), OPTION(bias, KIND_OPERAND));
#undef T

#define T WNNCumulativeSumOptions
OPTIONS(cumulative_sum, WNN_CUMULATIVE_SUM_OPTIONS_INIT, OPTION(exclusive, KIND_BOOL),
	OPTION(reversed, KIND_BOOL));
#undef T

#define T WNNEluOptions
OPTIONS(elu, WNN_ELU_OPTIONS_INIT, OPTION(alpha, KIND_DOUBLE));
#undef T

#define T WNNGatherOptions
OPTIONS(gather, WNN_GATHER_OPTIONS_INIT, OPTION(axis, KIND_U32));
#undef T

#define T WNNGemmOptions
OPTIONS(gemm, WNN_GEMM_OPTIONS_INIT, OPTION(c, KIND_OPERAND), OPTION(alpha, KIND_DOUBLE),
	OPTION(beta, KIND_DOUBLE), OPTION(aTranspose, KIND_BOOL), OPTION(bTranspose, KIND_BOOL));
#undef T

#define T WNNGruOptions
OPTIONS(gru, WNN_GRU_OPTIONS_INIT, OPTION(bias, KIND_OPERAND), OPTION(recurrentBias, KIND_OPERAND),
	OPTION(initialHiddenState, KIND_OPERAND), OPTION(resetAfter, KIND_BOOL),
	OPTION(returnSequence, KIND_BOOL), CHOICE(direction, directions),
	CHOICE(layout, gru_layouts), ACTIVATIONS);
#undef T

#define T WNNGruCellOptions
OPTIONS(gru_cell, WNN_GRU_CELL_OPTIONS_INIT, OPTION(bias, KIND_OPERAND),
	OPTION(recurrentBias, KIND_OPERAND), OPTION(resetAfter, KIND_BOOL),
	CHOICE(layout, gru_layouts), ACTIVATIONS);
#undef T

#define T WNNHardSigmoidOptions
OPTIONS(hard_sigmoid, WNN_HARD_SIGMOID_OPTIONS_INIT, OPTION(alpha, KIND_DOUBLE),
	OPTION(beta, KIND_DOUBLE));
#undef T

#define T WNNInstanceNormalizationOptions
OPTIONS(instance_normalization, WNN_INSTANCE_NORMALIZATION_OPTIONS_INIT,
	OPTION(scale, KIND_OPERAND), OPTION(bias, KIND_OPERAND), OPTION(epsilon, KIND_DOUBLE),
	CHOICE(layout, layouts));
#undef T

#define T WNNLayerNormalizationOptions
OPTIONS(layer_normalization, WNN_LAYER_NORMALIZATION_OPTIONS_INIT, OPTION(scale, KIND_OPERAND),
	OPTION(bias, KIND_OPERAND), OPTION(axes, KIND_U32_ARRAY), OPTION(epsilon, KIND_DOUBLE));
#undef T

#define T WNNLeakyReluOptions
OPTIONS(leaky_relu, WNN_LEAKY_RELU_OPTIONS_INIT, OPTION(alpha, KIND_DOUBLE));
#undef T

#define T WNNLinearOptions
OPTIONS(linear, WNN_LINEAR_OPTIONS_INIT, OPTION(alpha, KIND_DOUBLE), OPTION(beta, KIND_DOUBLE));
#undef T

#define T WNNLstmOptions
OPTIONS(lstm, WNN_LSTM_OPTIONS_INIT, OPTION(bias, KIND_OPERAND),
	OPTION(recurrentBias, KIND_OPERAND), OPTION(peepholeWeight, KIND_OPERAND),
	OPTION(initialHiddenState, KIND_OPERAND), OPTION(initialCellState, KIND_OPERAND),
	OPTION(returnSequence, KIND_BOOL), CHOICE(direction, directions),
	CHOICE(layout, lstm_layouts), ACTIVATIONS);
#undef T

#define T WNNLstmCellOptions
OPTIONS(lstm_cell, WNN_LSTM_CELL_OPTIONS_INIT, OPTION(bias, KIND_OPERAND),
	OPTION(recurrentBias, KIND_OPERAND), OPTION(peepholeWeight, KIND_OPERAND),
	CHOICE(layout, lstm_layouts), ACTIVATIONS);
#undef T

#define T WNNPadOptions
OPTIONS(pad, WNN_PAD_OPTIONS_INIT, CHOICE(mode, padding_modes), OPTION(value, KIND_NUMBER));
#undef T

#define T WNNPool2dOptions
OPTIONS(pool2d, WNN_POOL2D_OPTIONS_INIT, OPTION(windowDimensions, KIND_U32_ARRAY),
	OPTION(padding, KIND_U32_ARRAY), OPTION(strides, KIND_U32_ARRAY),
	OPTION(dilations, KIND_U32_ARRAY), CHOICE(layout, layouts),
	CHOICE(outputShapeRounding, roundings), OPTION(outputSizes, KIND_U32_ARRAY));
#undef T

#define T WNNReduceOptions
OPTIONS(reduce, WNN_REDUCE_OPTIONS_INIT, OPTION(axes, KIND_U32_ARRAY),
	OPTION(keepDimensions, KIND_BOOL));
#undef T

#define T WNNResample2dOptions
OPTIONS(resample2d, WNN_RESAMPLE2D_OPTIONS_INIT, CHOICE(mode, interpolations),
	OPTION(scales, KIND_FLOAT_ARRAY), OPTION(sizes, KIND_U32_ARRAY),
	OPTION(axes, KIND_U32_ARRAY));
#undef T

#define T WNNReverseOptions
OPTIONS(reverse, WNN_REVERSE_OPTIONS_INIT, OPTION(axes, KIND_U32_ARRAY));
#undef T

#define T WNNScatterOptions
OPTIONS(scatter, WNN_SCATTER_OPTIONS_INIT, OPTION(axis, KIND_U32));
#undef T

#define T WNNSliceOptions
OPTIONS(slice, WNN_SLICE_OPTIONS_INIT, OPTION(strides, KIND_U32_ARRAY));
#undef T

#define T WNNSplitOptions
OPTIONS(split, WNN_SPLIT_OPTIONS_INIT, OPTION(axis, KIND_U32));
#undef T

#define T WNNTransposeOptions
OPTIONS(transpose, WNN_TRANSPOSE_OPTIONS_INIT, OPTION(permutation, KIND_U32_ARRAY));
#undef T

#define T WNNTriangularOptions
OPTIONS(triangular, WNN_TRIANGULAR_OPTIONS_INIT, OPTION(upper, KIND_BOOL),
	OPTION(diagonal, KIND_I32));
#undef T

/* --- Operators ------------------------------------------------------------------------------- */

/* X(operator, its function, its options, its parameters, the arguments of the call) */

#define IN1   IN(0, input)
#define IN_AB IN(0, a), IN(1, b)

#define UNARY(X, name, Name)		   X(name, Name, plain, (IN1), o[0])
#define UNARY_A(X, name, Name)		   X(name, Name, plain, (IN(0, a)), o[0])
#define UNARY_WITH(X, name, Name, options) X(name, Name, options, (IN1), o[0])
#define BINARY(X, name, Name)		   X(name, Name, plain, (IN_AB), o[0], o[1])
#define AXIS(X, name, Name, options)	   X(name, Name, options, (IN1, U32(0, axis)), o[0], n[0])
#define SHAPE(X, name, Name, shape)	   X(name, Name, plain, (IN1, LIST(0, shape)), o[0], l[0])

/* Those that return one operand. */
#define OPERATORS(X)                                                                              \
	AXIS(X, argMin, ArgMin, arg_min_max)                                                      \
	AXIS(X, argMax, ArgMax, arg_min_max)                                                      \
	X(batchNormalization, BatchNormalization, batch_normalization,                            \
	  (IN1, IN(1, mean), IN(2, variance)), o[0], o[1], o[2])                                  \
	X(cast, Cast, plain, (IN1, TYPE(dataType)), o[0], a->type)                                \
	UNARY_WITH(X, clamp, Clamp, clamp)                                                        \
	X(concat, Concat, plain, (INS(inputs), U32(0, axis)), a->operands.count,                  \
	  a->operands.items, n[0])                                                                \
	X(conv2d, Conv2d, conv2d, (IN1, IN(1, filter)), o[0], o[1])                               \
	X(convTranspose2d, ConvTranspose2d, conv_transpose2d, (IN1, IN(1, filter)), o[0], o[1])   \
	AXIS(X, cumulativeSum, CumulativeSum, cumulative_sum)                                     \
	BINARY(X, add, Add)                                                                       \
	BINARY(X, sub, Sub)                                                                       \
	BINARY(X, mul, Mul)                                                                       \
	BINARY(X, div, Div)                                                                       \
	BINARY(X, max, Max)                                                                       \
	BINARY(X, min, Min)                                                                       \
	BINARY(X, pow, Pow)                                                                       \
	BINARY(X, equal, Equal)                                                                   \
	BINARY(X, notEqual, NotEqual)                                                             \
	BINARY(X, greater, Greater)                                                               \
	BINARY(X, greaterOrEqual, GreaterOrEqual)                                                 \
	BINARY(X, lesser, Lesser)                                                                 \
	BINARY(X, lesserOrEqual, LesserOrEqual)                                                   \
	UNARY_A(X, logicalNot, LogicalNot)                                                        \
	BINARY(X, logicalAnd, LogicalAnd)                                                         \
	BINARY(X, logicalOr, LogicalOr)                                                           \
	BINARY(X, logicalXor, LogicalXor)                                                         \
	UNARY_A(X, isNaN, IsNaN)                                                                  \
	UNARY_A(X, isInfinite, IsInfinite)                                                        \
	UNARY(X, abs, Abs)                                                                        \
	UNARY(X, ceil, Ceil)                                                                      \
	UNARY(X, cos, Cos)                                                                        \
	UNARY(X, erf, Erf)                                                                        \
	UNARY(X, exp, Exp)                                                                        \
	UNARY(X, floor, Floor)                                                                    \
	UNARY(X, identity, Identity)                                                              \
	UNARY(X, log, Log)                                                                        \
	UNARY(X, neg, Neg)                                                                        \
	UNARY(X, reciprocal, Reciprocal)                                                          \
	UNARY(X, roundEven, RoundEven)                                                            \
	UNARY(X, sin, Sin)                                                                        \
	UNARY(X, sign, Sign)                                                                      \
	UNARY(X, sqrt, Sqrt)                                                                      \
	UNARY(X, tan, Tan)                                                                        \
	X(dequantizeLinear, DequantizeLinear, plain, (IN1, IN(1, scale), IN(2, zeroPoint)), o[0], \
	  o[1], o[2])                                                                             \
	X(quantizeLinear, QuantizeLinear, plain, (IN1, IN(1, scale), IN(2, zeroPoint)), o[0],     \
	  o[1], o[2])                                                                             \
	UNARY_WITH(X, elu, Elu, elu)                                                              \
	SHAPE(X, expand, Expand, newShape)                                                        \
	X(gather, Gather, gather, (IN1, IN(1, indices)), o[0], o[1])                              \
	X(gatherElements, GatherElements, gather, (IN1, IN(1, indices)), o[0], o[1])              \
	X(gatherND, GatherND, plain, (IN1, IN(1, indices)), o[0], o[1])                           \
	UNARY(X, gelu, Gelu)                                                                      \
	X(gemm, Gemm, gemm, (IN_AB), o[0], o[1])                                                  \
	X(gruCell, GruCell, gru_cell,                                                             \
	  (IN1, IN(1, weight), IN(2, recurrentWeight), IN(3, hiddenState), U32(0, hiddenSize)),   \
	  o[0], o[1], o[2], o[3], n[0])                                                           \
	UNARY_WITH(X, hardSigmoid, HardSigmoid, hard_sigmoid)                                     \
	UNARY(X, hardSwish, HardSwish)                                                            \
	UNARY_WITH(X, instanceNormalization, InstanceNormalization, instance_normalization)       \
	UNARY_WITH(X, layerNormalization, LayerNormalization, layer_normalization)                \
	UNARY_WITH(X, leakyRelu, LeakyRelu, leaky_relu)                                           \
	UNARY_WITH(X, linear, Linear, linear)                                                     \
	BINARY(X, matmul, Matmul)                                                                 \
	X(pad, Pad, pad, (IN1, LIST(0, beginningPadding), LIST(1, endingPadding)), o[0], l[0],    \
	  l[1])                                                                                   \
	UNARY_WITH(X, averagePool2d, AveragePool2d, pool2d)                                       \
	UNARY_WITH(X, l2Pool2d, L2Pool2d, pool2d)                                                 \
	UNARY_WITH(X, maxPool2d, MaxPool2d, pool2d)                                               \
	X(prelu, Prelu, plain, (IN1, IN(1, slope)), o[0], o[1])                                   \
	UNARY_WITH(X, reduceL1, ReduceL1, reduce)                                                 \
	UNARY_WITH(X, reduceL2, ReduceL2, reduce)                                                 \
	UNARY_WITH(X, reduceLogSum, ReduceLogSum, reduce)                                         \
	UNARY_WITH(X, reduceLogSumExp, ReduceLogSumExp, reduce)                                   \
	UNARY_WITH(X, reduceMax, ReduceMax, reduce)                                               \
	UNARY_WITH(X, reduceMean, ReduceMean, reduce)                                             \
	UNARY_WITH(X, reduceMin, ReduceMin, reduce)                                               \
	UNARY_WITH(X, reduceProduct, ReduceProduct, reduce)                                       \
	UNARY_WITH(X, reduceSum, ReduceSum, reduce)                                               \
	UNARY_WITH(X, reduceSumSquare, ReduceSumSquare, reduce)                                   \
	UNARY(X, relu, Relu)                                                                      \
	UNARY_WITH(X, resample2d, Resample2d, resample2d)                                         \
	SHAPE(X, reshape, Reshape, newShape)                                                      \
	UNARY_WITH(X, reverse, Reverse, reverse)                                                  \
	X(scatterElements, ScatterElements, scatter, (IN1, IN(1, indices), IN(2, updates)), o[0], \
	  o[1], o[2])                                                                             \
	X(scatterND, ScatterND, plain, (IN1, IN(1, indices), IN(2, updates)), o[0], o[1], o[2])   \
	UNARY(X, sigmoid, Sigmoid)                                                                \
	X(slice, Slice, slice, (IN1, LIST(0, starts), LIST(1, sizes)), o[0], l[0], l[1])          \
	AXIS(X, softmax, Softmax, plain)                                                          \
	UNARY(X, softplus, Softplus)                                                              \
	UNARY(X, softsign, Softsign)                                                              \
	UNARY(X, tanh, Tanh)                                                                      \
	SHAPE(X, tile, Tile, repetitions)                                                         \
	UNARY_WITH(X, transpose, Transpose, transpose)                                            \
	UNARY_WITH(X, triangular, Triangular, triangular)                                         \
	X(where, Where, plain, (IN(0, condition), IN(1, trueValue), IN(2, falseValue)), o[0],     \
	  o[1], o[2])

/* Those that fill a list. */
#define OPERATORS_MANY(X)                                                                        \
	X(gru, Gru, gru,                                                                         \
	  (IN1, IN(1, weight), IN(2, recurrentWeight), U32(0, steps), U32(1, hiddenSize)), o[0], \
	  o[1], o[2], n[0], n[1])                                                                \
	X(lstm, Lstm, lstm,                                                                      \
	  (IN1, IN(1, weight), IN(2, recurrentWeight), U32(0, steps), U32(1, hiddenSize)), o[0], \
	  o[1], o[2], n[0], n[1])                                                                \
	X(lstmCell, LstmCell, lstm_cell,                                                         \
	  (IN1, IN(1, weight), IN(2, recurrentWeight), IN(3, hiddenState), IN(4, cellState),     \
	   U32(0, hiddenSize)),                                                                  \
	  o[0], o[1], o[2], o[3], o[4], n[0])                                                    \
	X(split, Split, split, (IN1, LIST(0, splits)), o[0], l[0])                               \
	X(splitEqual, SplitEqual, split, (IN1, U32(0, splits)), o[0], n[0])

static size_t gru_outputs(const struct arguments *arguments)
{
	return arguments->options.gru.returnSequence ? 2 : 1;
}

static size_t lstm_outputs(const struct arguments *arguments)
{
	return arguments->options.lstm.returnSequence ? 3 : 2;
}

static size_t lstmCell_outputs(const struct arguments *arguments)
{
	(void)arguments;
	return 2;
}

static size_t split_outputs(const struct arguments *arguments)
{
	return arguments->array[0].count;
}

static size_t splitEqual_outputs(const struct arguments *arguments)
{
	return arguments->number[0];
}

/* The functions that pass the arguments on. Not all of them use all of these. */
#define LOCALS                                                    \
	WNNOperand const *o __attribute__((unused)) = a->operand; \
	uint32_t const *n __attribute__((unused)) = a->number;    \
	WNNUint32Array const *l __attribute__((unused)) = a->array

#define CALL(name, Name, kind, parameters, ...)                                                 \
	static void call_##name(WNNGraphBuilder builder, const struct arguments *a)             \
	{                                                                                       \
		LOCALS;                                                                         \
                                                                                                \
		a->outputs[0] =                                                                 \
			wnnGraphBuilder##Name(builder, __VA_ARGS__, (const void *)&a->options); \
	}
OPERATORS(CALL)

#define CALL_MANY(name, Name, kind, parameters, ...)                                   \
	static void call_##name(WNNGraphBuilder builder, const struct arguments *a)    \
	{                                                                              \
		LOCALS;                                                                \
                                                                                       \
		wnnGraphBuilder##Name(builder, __VA_ARGS__, (const void *)&a->options, \
				      a->output_count, a->outputs);                    \
	}
OPERATORS_MANY(CALL_MANY)

#define PLACE(member) offsetof(struct arguments, member)
#define IN(i, name)   { #name, KIND_OPERAND, PLACE(operand[i]), NULL }
#define INS(name)     { #name, KIND_OPERANDS, PLACE(operands), NULL }
#define U32(i, name)  { #name, KIND_U32, PLACE(number[i]), NULL }
#define LIST(i, name) { #name, KIND_U32_ARRAY, PLACE(array[i]), NULL }
#define TYPE(name)    { #name, KIND_TYPE, PLACE(type), NULL }
#define EACH(...)     __VA_ARGS__

#define PARAMETERS(list)                            \
	.parameters = (const struct member[])       \
	{                                           \
		EACH list,                          \
		{                                   \
			NULL, KIND_OPERAND, 0, NULL \
		}                                   \
	}
#define ROW(id, Name, kind, list, ...) \
	{ .name = #id, .call = call_##id, .options = &kind, PARAMETERS(list) },
#define ROW_MANY(id, Name, kind, list, ...) \
	{ .name = #id,                      \
	  .call = call_##id,                \
	  .outputs = id##_outputs,          \
	  .options = &kind,                 \
	  PARAMETERS(list) },

static const struct operator_kind operators[] = { OPERATORS(ROW) OPERATORS_MANY(ROW_MANY) };

const struct operator_kind *operator_find(const char *name, bool equal)
{
	bool split = !strcmp(name, "split");

	/* The overload has no name of its own in the specification. */
	if (!strcmp(name, "splitEqual"))
		return NULL;
	for (size_t i = 0; i < ARRAY_SIZE(operators); i++)
		if (!strcmp(operators[i].name, split && equal ? "splitEqual" : name))
			return &operators[i];
	return NULL;
}
