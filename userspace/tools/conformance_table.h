/* SPDX-License-Identifier: MIT */
/* wnn-conformance: how the arguments of each operator are named in JSON and given in C. */
#ifndef CONFORMANCE_TABLE_H
#define CONFORMANCE_TABLE_H

#include "conformance.h"

#define MAX_OPERANDS 5
#define MAX_NUMBERS  2
#define MAX_ARRAYS   2

/* What a value in JSON becomes, in the struct that holds it. */
enum kind {
	KIND_OPERAND,	  /* {"operand": name}: WNNOperand */
	KIND_OPERANDS,	  /* a list of these: struct operands */
	KIND_U32,	  /* uint32_t */
	KIND_I32,	  /* int32_t */
	KIND_BOOL,	  /* true, false, or a number: WNNBool */
	KIND_DOUBLE,	  /* double */
	KIND_NUMBER,	  /* WNNNumber */
	KIND_U32_ARRAY,	  /* WNNUint32Array */
	KIND_FLOAT_ARRAY, /* WNNFloatArray */
	KIND_STRING,	  /* WNNStringView */
	KIND_TYPE,	  /* the name of a data type: WNNOperandDataType */
	KIND_ENUM,	  /* one of ->names, the first of which is value 1 */
	KIND_ACTIVATIONS, /* a list of such: WNNRecurrentNetworkActivationArray */
};

struct member {
	const char *name;
	enum kind kind;
	size_t offset;
	const char *const *names; /* KIND_ENUM: ends with NULL */
};

struct operands {
	size_t count;
	WNNOperand *items;
};

union options {
	WNNOperatorOptions plain;
	WNNArgMinMaxOptions arg_min_max;
	WNNBatchNormalizationOptions batch_normalization;
	WNNClampOptions clamp;
	WNNConv2dOptions conv2d;
	WNNConvTranspose2dOptions conv_transpose2d;
	WNNCumulativeSumOptions cumulative_sum;
	WNNEluOptions elu;
	WNNGatherOptions gather;
	WNNGemmOptions gemm;
	WNNGruOptions gru;
	WNNGruCellOptions gru_cell;
	WNNHardSigmoidOptions hard_sigmoid;
	WNNInstanceNormalizationOptions instance_normalization;
	WNNLayerNormalizationOptions layer_normalization;
	WNNLeakyReluOptions leaky_relu;
	WNNLinearOptions linear;
	WNNLstmOptions lstm;
	WNNLstmCellOptions lstm_cell;
	WNNPadOptions pad;
	WNNPool2dOptions pool2d;
	WNNReduceOptions reduce;
	WNNResample2dOptions resample2d;
	WNNReverseOptions reverse;
	WNNScatterOptions scatter;
	WNNSliceOptions slice;
	WNNSplitOptions split;
	WNNTransposeOptions transpose;
	WNNTriangularOptions triangular;
};

/* The arguments of any operator. */
struct arguments {
	WNNOperand operand[MAX_OPERANDS];
	struct operands operands;
	uint32_t number[MAX_NUMBERS];
	WNNUint32Array array[MAX_ARRAYS];
	WNNOperandDataType type;
	union options options;
	size_t output_count;
	WNNOperand *outputs;
};

struct options_kind {
	const void *init;
	size_t size;
	const struct member *members;
	size_t count;
};

struct operator_kind {
	const char *name;
	/* Fills arguments->outputs; NULL there when the builder refused. */
	void (*call)(WNNGraphBuilder builder, const struct arguments *arguments);
	/* How many operands it gives, once the arguments are read; NULL: one. */
	size_t (*outputs)(const struct arguments *arguments);
	const struct options_kind *options;
	const struct member *parameters; /* in struct arguments; ends with a NULL name */
};

/* The row of the table; @equal: the overload of split that takes a number. */
const struct operator_kind *operator_find(const char *name, bool equal);

#endif
