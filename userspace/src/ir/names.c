// SPDX-License-Identifier: MIT
/* Names of operators and functions, as the printer and messages show them. */
#include "ir/ir.h"

#include <stdio.h>
#include <string.h>

#include "util/number.h"
#include "util/printable.h"

static const char *const op_names[] = {
	[IR_OP_CONV] = "conv",
	[IR_OP_MATMUL] = "matmul",
	[IR_OP_POOL] = "pool",
	[IR_OP_UNARY] = "unary",
	[IR_OP_BINARY] = "binary",
	[IR_OP_COMPARE] = "compare",
	[IR_OP_WHERE] = "where",
	[IR_OP_CAST] = "cast",
	[IR_OP_COPY] = "copy",
	[IR_OP_RESHAPE] = "reshape",
	[IR_OP_TRANSPOSE] = "transpose",
	[IR_OP_CONCAT] = "concat",
	[IR_OP_SLICE] = "slice",
	[IR_OP_EXPAND] = "expand",
	[IR_OP_PAD] = "pad",
	[IR_OP_REVERSE] = "reverse",
	[IR_OP_TILE] = "tile",
	[IR_OP_REDUCE] = "reduce",
	[IR_OP_SOFTMAX] = "softmax",
	[IR_OP_ARG] = "arg",
	[IR_OP_CUMSUM] = "cumsum",
	[IR_OP_TRIANGULAR] = "triangular",
	[IR_OP_BATCHNORM] = "batchnorm",
	[IR_OP_INSTNORM] = "instnorm",
	[IR_OP_LAYERNORM] = "layernorm",
	[IR_OP_RESAMPLE] = "resample",
	[IR_OP_QUANTIZE] = "quantize",
	[IR_OP_DEQUANTIZE] = "dequantize",
	[IR_OP_GATHER] = "gather",
	[IR_OP_SCATTER] = "scatter",
	[IR_OP_GRU] = "gru",
	[IR_OP_LSTM] = "lstm",
};
_Static_assert(ARRAY_SIZE(op_names) == IR_OP_COUNT, "a name for every operator");

static const char *const unary_names[] = {
	[IR_ABS] = "abs",
	[IR_NEG] = "neg",
	[IR_SIGN] = "sign",
	[IR_CEIL] = "ceil",
	[IR_FLOOR] = "floor",
	[IR_ROUND_EVEN] = "round_even",
	[IR_RECIPROCAL] = "reciprocal",
	[IR_SQRT] = "sqrt",
	[IR_EXP] = "exp",
	[IR_LOG] = "log",
	[IR_SIN] = "sin",
	[IR_COS] = "cos",
	[IR_TAN] = "tan",
	[IR_TANH] = "tanh",
	[IR_ERF] = "erf",
	[IR_SIGMOID] = "sigmoid",
	[IR_GELU] = "gelu",
	[IR_SOFTPLUS] = "softplus",
	[IR_SOFTSIGN] = "softsign",
	[IR_ELU] = "elu",
	[IR_LEAKY_RELU] = "leaky_relu",
	[IR_HARD_SIGMOID] = "hard_sigmoid",
	[IR_HARD_SWISH] = "hard_swish",
	[IR_RELU] = "relu",
	[IR_CLAMP] = "clamp",
	[IR_LINEAR] = "linear",
	[IR_LOGICAL_NOT] = "logical_not",
	[IR_IS_NAN] = "is_nan",
	[IR_IS_INFINITE] = "is_infinite",
};
_Static_assert(ARRAY_SIZE(unary_names) == IR_UNARY_COUNT, "a name for every function");

static const char *const binary_names[] = {
	[IR_ADD] = "add", [IR_SUB] = "sub", [IR_MUL] = "mul", [IR_DIV] = "div",
	[IR_MAX] = "max", [IR_MIN] = "min", [IR_POW] = "pow", [IR_PRELU] = "prelu",
	[IR_AND] = "and", [IR_OR] = "or",   [IR_XOR] = "xor", [IR_EQ] = "eq",
	[IR_NE] = "ne",	  [IR_GT] = "gt",   [IR_GE] = "ge",   [IR_LT] = "lt",
	[IR_LE] = "le",
};
_Static_assert(ARRAY_SIZE(binary_names) == IR_BINARY_COUNT, "a name for every function");

static const char *const reduce_names[] = {
	[IR_REDUCE_SUM] = "sum",	 [IR_REDUCE_PROD] = "prod",
	[IR_REDUCE_MAX] = "max",	 [IR_REDUCE_MIN] = "min",
	[IR_REDUCE_MEAN] = "mean",	 [IR_REDUCE_L1] = "l1",
	[IR_REDUCE_L2] = "l2",		 [IR_REDUCE_SUM_SQUARE] = "sum_square",
	[IR_REDUCE_LOG_SUM] = "log_sum", [IR_REDUCE_LOG_SUM_EXP] = "log_sum_exp",
};
_Static_assert(ARRAY_SIZE(reduce_names) == IR_REDUCE_COUNT, "a name for every reduction");

const char *ir_op_name(enum ir_op op)
{
	return op_names[op];
}

const char *ir_unary_name(int kind)
{
	return kind == IR_UNARY_NONE ? "none" : unary_names[kind];
}

const char *ir_binary_name(enum ir_binary kind)
{
	return binary_names[kind];
}

const char *ir_reduce_name(enum ir_reduce kind)
{
	return reduce_names[kind];
}

const char *ir_filter_layout_name(enum ir_filter_layout layout)
{
#define NAME(id, name, ...) [IR_##id] = name,
	static const char *const names[] = { IR_FILTER_LAYOUTS(NAME) };
#undef NAME

	return names[layout];
}

const uint8_t *ir_filter_axes(enum ir_filter_layout layout)
{
#define AXES(id, name, ...) [IR_##id] = { __VA_ARGS__ },
	static const uint8_t axes[][4] = { IR_FILTER_LAYOUTS(AXES) };
#undef AXES

	return axes[layout];
}

const char *ir_node_name(const struct ir_node *node, char *buffer, size_t size)
{
	char label[96];

	if (!node)
		snprintf(buffer, size, "the graph");
	else if (wnn_text_printable(label, sizeof(label), node->label, strlen(node->label)))
		snprintf(buffer, size, "%s \"%s\"", node->source, label);
	else
		snprintf(buffer, size, "%s", node->source);
	return buffer;
}
