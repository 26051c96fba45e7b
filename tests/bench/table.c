// SPDX-License-Identifier: MIT
/* Makes a WebNN graph from a table of layers. */
#include "table.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <jansson.h>

#include "util/float16.h"

#define MAX_RANK 4
#define BLOCK	 32 /* number of int4 weights or E2M1 numbers along the depth that share a scale */

struct net {
	WNNGraphBuilder builder;
	const float *weights;
	bool mapped; /* the weights are a mapped file: see bench_table_build() */
	enum bench_type type;
	WNNOperand *values;
	uint32_t inputs;
};

int bench_type_find(const char *name)
{
	static const char *const names[] = { "f32", "f16", "int8", "w8", "w4", "f8", "mx" };

	for (int i = 0; i < (int)(sizeof(names) / sizeof(names[0])); i++)
		if (!strcmp(names[i], name))
			return i;
	return -1;
}

void bench_fail(const char *what)
{
	WNNError error = WNN_ERROR_INIT;

	wnnGetLastError(&error);
	fprintf(stderr, "%s: %.*s\n", what, (int)error.message.length,
		error.message.data ? error.message.data : "");
	exit(1);
}

void bench_check(bool ok, const char *what)
{
	if (!ok)
		bench_fail(what);
}

static WNNOperand made(const struct net *net, WNNOperand operand)
{
	WNNError error = WNN_ERROR_INIT;

	if (operand)
		return operand;
	wnnGraphBuilderGetLastError(net->builder, &error);
	fprintf(stderr, "%.*s\n", (int)error.message.length, error.message.data);
	exit(1);
}

static uint32_t number(const json_t *layer, const char *key)
{
	return (uint32_t)json_integer_value(json_object_get(layer, key));
}

/*
 * Sets @values to the numbers of an array of the layer; returns their number, which is 0 when the
 * layer has no array @key. Ends the program when there are more than MAX_RANK.
 */
static uint32_t list(const json_t *layer, const char *key, uint32_t values[MAX_RANK])
{
	const json_t *array = json_object_get(layer, key);
	uint32_t n = (uint32_t)json_array_size(array);

	if (n > MAX_RANK) {
		fprintf(stderr, "\"%s\" of a layer has %u numbers; at most %u are allowed\n", key,
			n, MAX_RANK);
		exit(1);
	}
	for (uint32_t i = 0; i < n; i++)
		values[i] = (uint32_t)json_integer_value(json_array_get(array, i));
	return n;
}

/* Callback: gives the whole pages of a constant that the library released back to the kernel. */
static void give_back(void const *data, size_t size, void *userdata1, void *userdata2)
{
	uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
	uintptr_t begin = ((uintptr_t)data + page - 1) / page * page;
	uintptr_t end = ((uintptr_t)data + size) / page * page;

	(void)userdata1;
	(void)userdata2;
	if (begin < end)
		madvise((void *)begin, end - begin, MADV_DONTNEED);
}

static const float *numbers(const struct net *net, const json_t *layer, const char *key)
{
	return net->weights + json_integer_value(json_object_get(layer, key));
}

static uint64_t product(uint32_t rank, const uint32_t *dims)
{
	uint64_t count = 1;

	for (uint32_t i = 0; i < rank; i++)
		count *= dims[i];
	return count;
}

/* Returns a new constant with a copy of @data; exits when the library refuses the constant. */
static WNNOperand copied(const struct net *net, WNNOperandDataType type, uint32_t rank,
			 const uint32_t *dims, const void *data, uint64_t bytes)
{
	WNNOperandDescriptor desc = WNN_OPERAND_DESCRIPTOR_INIT;

	desc.dataType = type;
	desc.shape = (WNNUint32Array){ rank, dims };
	return made(net, wnnGraphBuilderConstant(net->builder, &desc, data, (size_t)bytes));
}

static void *room(uint64_t bytes)
{
	void *data = calloc(1, (size_t)bytes + 1);

	bench_check(data, "memory");
	return data;
}

static WNNOperandDataType float_type(const struct net *net)
{
	return net->type == BENCH_F32 || net->type == BENCH_INT8 ? WNNOperandDataType_Float32 :
								   WNNOperandDataType_Float16;
}

/* Returns a new constant whose elements are all @number, in the network's float type. */
static WNNOperand filled(const struct net *net, uint32_t rank, const uint32_t *dims, float number)
{
	uint64_t count = product(rank, dims);
	WNNOperandDataType type = float_type(net);
	bool wide = type == WNNOperandDataType_Float32;
	WNNOperand operand;
	void *data = room(4 * count);

	for (uint64_t i = 0; i < count; i++) {
		if (wide)
			((float *)data)[i] = number;
		else
			((uint16_t *)data)[i] = wnn_float_to_half(number);
	}
	operand = copied(net, type, rank, dims, data, count * (wide ? 4 : 2));
	free(data);
	return operand;
}

/* Returns, as float16, @x rounded towards 0 to a number that E4M3 has; |x| must be below 1. */
static uint16_t e4m3(float x)
{
	/* 2^-9 is the distance of small numbers; others keep 3 bits of fraction. */
	return wnn_float_to_half((float)(int)(x * 512) / 512) & 0xff80;
}

/* Returns a new constant with the layer's numbers @key, in the network's float type. */
static WNNOperand constant(const struct net *net, const json_t *layer, const char *key,
			   uint32_t rank, const uint32_t *dims)
{
	WNNBorrowedConstant borrowed = WNN_BORROWED_CONSTANT_INIT;
	WNNOperandDescriptor desc = WNN_OPERAND_DESCRIPTOR_INIT;
	const float *data = numbers(net, layer, key);
	uint64_t count = product(rank, dims);
	WNNOperand operand;
	uint16_t *halves;

	if (float_type(net) == WNNOperandDataType_Float16) {
		halves = room(2 * count);
		for (uint64_t i = 0; i < count; i++)
			halves[i] = net->type == BENCH_F8 && !strcmp(key, "weight") ?
					    e4m3(data[i]) :
					    wnn_float_to_half(data[i]);
		operand = copied(net, WNNOperandDataType_Float16, rank, dims, halves, 2 * count);
		free(halves);
		return operand;
	}
	if (net->mapped)
		borrowed.releaseCallback = give_back;
	desc.nextInChain = &borrowed.chain;
	desc.dataType = WNNOperandDataType_Float32;
	desc.shape = (WNNUint32Array){ rank, dims };
	return made(net, wnnGraphBuilderConstant(net->builder, &desc, data,
						 (size_t)count * sizeof(float)));
}

static WNNOperand dequantized(const struct net *net, WNNOperand integers, uint32_t rank,
			      const uint32_t *scales, float scale, WNNOperandDataType type)
{
	uint64_t bytes = 4 * product(rank, scales);
	void *zeros = room(bytes);
	WNNOperand zero;

	if (type == WNNOperandDataType_Int4)
		bytes = bytes / 8 + (bytes / 4 & 1);
	else if (type == WNNOperandDataType_Int8)
		bytes /= 4;
	zero = copied(net, type, rank, scales, zeros, bytes);
	free(zeros);
	return made(net,
		    wnnGraphBuilderDequantizeLinear(net->builder, integers,
						    filled(net, rank, scales, scale), zero, NULL));
}

/*
 * Returns the layer's weights in the network's float type or, in a quantised network, dequantised
 * from integers. Their first dimension is the output channels.
 */
static WNNOperand weights(const struct net *net, const json_t *layer, uint32_t rank,
			  const uint32_t *dims)
{
	/* Twice the numbers of E2M1. */
	static const uint8_t twice[8] = { 0, 1, 2, 3, 4, 6, 8, 12 };
	bool packed = net->type == BENCH_W4, mx = net->type == BENCH_MX;
	uint32_t scales[MAX_RANK] = { dims[0], packed || mx ? dims[1] / BLOCK : 1, 1, 1 };
	const float *data = numbers(net, layer, "weight");
	uint64_t count = product(rank, dims);
	WNNOperandDataType type = packed ? WNNOperandDataType_Int4 : WNNOperandDataType_Int8;
	float scale = packed ? .01f : mx ? 1.f / 256 : .0005f;
	WNNOperand operand;
	uint8_t *integers;

	if (net->type == BENCH_F32 || net->type == BENCH_F16 || net->type == BENCH_F8)
		return constant(net, layer, "weight", rank, dims);
	integers = room(count);
	for (uint64_t i = 0; i < count; i++) {
		int value = (int)(data[i] / scale);

		/*
		 * The weights are between -.05 and .05, so that with the scale 1/256 the integer is
		 * from -12 to 12.
		 */
		if (mx)
			value = value < 0 ? -twice[-value * 7 / 12] : twice[value * 7 / 12];
		if (packed)
			integers[i / 2] |= (uint8_t)((value & 0xf) << (i % 2 * 4));
		else
			integers[i] = (uint8_t)(int8_t)value;
	}
	operand = copied(net, type, rank, dims, integers, packed ? (count + 1) / 2 : count);
	free(integers);
	return dequantized(net, operand, rank, scales, scale, type);
}

/*
 * Returns the layer's bias. In an int8 network the bias is dequantised from int32, with the scale
 * of the products.
 */
static WNNOperand bias(const struct net *net, const json_t *layer, uint32_t channels)
{
	const float *data = numbers(net, layer, "bias");
	const float scale = .0005f / 32;
	WNNOperand operand;
	int32_t *integers;

	if (net->type != BENCH_INT8)
		return constant(net, layer, "bias", 1, &channels);
	integers = room(4 * (uint64_t)channels);
	for (uint32_t i = 0; i < channels; i++)
		integers[i] = (int32_t)(data[i] / scale);
	operand = copied(net, WNNOperandDataType_Int32, 1, &channels, integers,
			 4 * (uint64_t)channels);
	free(integers);
	return dequantized(net, operand, 1, &channels, scale, WNNOperandDataType_Int32);
}

/*
 * Quantises x to uint8 and returns the dequantised value, as a model quantised for ONNX Runtime
 * does after each operator.
 */
static WNNOperand requantized(const struct net *net, WNNOperand x)
{
	static const uint32_t ones[MAX_RANK] = { 1, 1, 1, 1 };
	static const uint8_t middle = 128;
	uint32_t rank = (uint32_t)wnnOperandGetShape(x).count;
	WNNOperand zero = copied(net, WNNOperandDataType_Uint8, rank, ones, &middle, 1);
	WNNOperand scale = filled(net, rank, ones, 1.f / 32);

	x = made(net, wnnGraphBuilderQuantizeLinear(net->builder, x, scale, zero, NULL));
	return wnnGraphBuilderDequantizeLinear(net->builder, x, scale, zero, NULL);
}

static WNNOperand new_input(struct net *net, uint32_t rank, const uint32_t *shape)
{
	WNNOperandDescriptor desc = WNN_OPERAND_DESCRIPTOR_INIT;
	char name[12] = "x";

	if (net->inputs)
		snprintf(name, sizeof(name), "x%u", net->inputs);
	net->inputs++;
	desc.dataType = float_type(net);
	desc.shape = (WNNUint32Array){ rank, shape };
	return wnnGraphBuilderInput(net->builder, (WNNStringView){ name, strlen(name) }, &desc);
}

static WNNOperand add_conv(const struct net *net, const json_t *layer, WNNOperand x)
{
	WNNConv2dOptions options = WNN_CONV2D_OPTIONS_INIT;
	uint32_t filter[MAX_RANK], stride = number(layer, "stride"), pad = number(layer, "pad");

	list(layer, "filter", filter);
	options.strides = WNN_UINT32_LIST(stride, stride);
	options.padding = WNN_UINT32_LIST(pad, pad, pad, pad);
	options.groups = number(layer, "groups");
	options.bias = bias(net, layer, filter[0]);
	return wnnGraphBuilderConv2d(net->builder, x, weights(net, layer, 4, filter), &options);
}

static WNNOperand add_linear(const struct net *net, const json_t *layer, WNNOperand x)
{
	WNNGemmOptions options = WNN_GEMM_OPTIONS_INIT;
	uint32_t shape[MAX_RANK];

	list(layer, "matrix", shape);
	options.bTranspose = WNN_TRUE;
	if (json_object_get(layer, "bias"))
		options.c = bias(net, layer, shape[0]);
	return wnnGraphBuilderGemm(net->builder, x, weights(net, layer, 2, shape), &options);
}

static WNNOperand add_pool(const struct net *net, const json_t *layer, bool max, WNNOperand x)
{
	WNNPool2dOptions options = WNN_POOL2D_OPTIONS_INIT;
	uint32_t kernel = number(layer, "kernel"), stride = number(layer, "stride");
	uint32_t pad = number(layer, "pad");

	options.windowDimensions = WNN_UINT32_LIST(kernel, kernel);
	options.strides = WNN_UINT32_LIST(stride, stride);
	options.padding = WNN_UINT32_LIST(pad, pad, pad, pad);
	return max ? wnnGraphBuilderMaxPool2d(net->builder, x, &options) :
		     wnnGraphBuilderAveragePool2d(net->builder, x, &options);
}

static WNNOperand add_relu6(const struct net *net, WNNOperand x)
{
	WNNClampOptions options = WNN_CLAMP_OPTIONS_INIT;

	options.minValue = WNN_NUMBER_DOUBLE(0);
	options.maxValue = WNN_NUMBER_DOUBLE(6);
	return wnnGraphBuilderClamp(net->builder, x, &options);
}

static WNNOperand add_flatten(const struct net *net, WNNOperand x)
{
	WNNUint32Array shape = wnnOperandGetShape(x);
	uint32_t size = 1;

	for (size_t i = 1; i < shape.count; i++)
		size *= shape.data[i];
	return wnnGraphBuilderReshape(net->builder, x, WNN_UINT32_LIST(shape.data[0], size), NULL);
}

/*
 * Returns x of shape [rows, heads * n] as one matrix for each head of an attention: [heads, rows,
 * n] or, when the layer is "transposed", [heads, n, rows]. Returns x of shape [heads, rows, n] as
 * [rows, heads * n].
 */
static WNNOperand add_heads(const struct net *net, const json_t *layer, WNNOperand x)
{
	WNNTransposeOptions order = WNN_TRANSPOSE_OPTIONS_INIT;
	WNNUint32Array shape = wnnOperandGetShape(x);
	uint32_t heads = number(layer, "heads"), last = number(layer, "transposed");
	uint32_t rows, n;

	if (shape.count == 3) {
		rows = shape.data[1];
		n = shape.data[0] * shape.data[2];
		order.permutation = WNN_UINT32_LIST(1, 0, 2);
		x = made(net, wnnGraphBuilderTranspose(net->builder, x, &order));
		return wnnGraphBuilderReshape(net->builder, x, WNN_UINT32_LIST(rows, n), NULL);
	}
	rows = shape.data[0];
	n = shape.data[1] / heads;
	x = made(net,
		 wnnGraphBuilderReshape(net->builder, x, WNN_UINT32_LIST(rows, heads, n), NULL));
	order.permutation = last ? WNN_UINT32_LIST(1, 2, 0) : WNN_UINT32_LIST(1, 0, 2);
	return wnnGraphBuilderTranspose(net->builder, x, &order);
}

static WNNOperand add_layernorm(const struct net *net, const json_t *layer, WNNOperand x)
{
	WNNLayerNormalizationOptions options = WNN_LAYER_NORMALIZATION_OPTIONS_INIT;
	uint32_t last = (uint32_t)wnnOperandGetShape(x).count - 1;
	uint32_t size = wnnOperandGetShape(x).data[last];

	options.axes = WNN_UINT32_LIST(last);
	options.scale = constant(net, layer, "weight", 1, &size);
	options.bias = constant(net, layer, "bias", 1, &size);
	return wnnGraphBuilderLayerNormalization(net->builder, x, &options);
}

/* Returns x / sqrt(mean(x * x) + 1e-5) * weight; the mean is over the last dimension. */
static WNNOperand add_rmsnorm(const struct net *net, const json_t *layer, WNNOperand x)
{
	WNNReduceOptions options = WNN_REDUCE_OPTIONS_INIT;
	uint32_t last = (uint32_t)wnnOperandGetShape(x).count - 1, one = 1;
	uint32_t size = wnnOperandGetShape(x).data[last];
	WNNOperand y = made(net, wnnGraphBuilderMul(net->builder, x, x, NULL));

	options.axes = WNN_UINT32_LIST(last);
	options.keepDimensions = WNN_TRUE;
	y = made(net, wnnGraphBuilderReduceMean(net->builder, y, &options));
	y = made(net, wnnGraphBuilderAdd(net->builder, y, filled(net, 1, &one, 1e-5f), NULL));
	y = made(net, wnnGraphBuilderSqrt(net->builder, y, NULL));
	y = made(net, wnnGraphBuilderDiv(net->builder, x, y, NULL));
	return wnnGraphBuilderMul(net->builder, y, constant(net, layer, "weight", 1, &size), NULL);
}

/*
 * Returns the rotary embedding of x of shape [heads, rows, n]: x * cos + swapped * sin. swapped is
 * x with the halves of the last dimension exchanged and the upper half, now first, negated.
 */
static WNNOperand add_rotary(const struct net *net, const json_t *layer, WNNOperand x)
{
	WNNUint32Array shape = wnnOperandGetShape(x);
	uint32_t heads = shape.data[0], rows = shape.data[1], n = shape.data[2];
	WNNOperand half[2], swapped, sine, cosine;

	half[1] = made(net, wnnGraphBuilderSlice(net->builder, x, WNN_UINT32_LIST(0, 0, 0),
						 WNN_UINT32_LIST(heads, rows, n / 2), NULL));
	half[0] = made(net, wnnGraphBuilderSlice(net->builder, x, WNN_UINT32_LIST(0, 0, n / 2),
						 WNN_UINT32_LIST(heads, rows, n / 2), NULL));
	half[0] = made(net, wnnGraphBuilderNeg(net->builder, half[0], NULL));
	swapped = made(net, wnnGraphBuilderConcat(net->builder, 2, half, 2, NULL));
	cosine = constant(net, layer, "weight", 1, &n);
	sine = constant(net, layer, "bias", 1, &n);
	x = made(net, wnnGraphBuilderMul(net->builder, x, cosine, NULL));
	swapped = made(net, wnnGraphBuilderMul(net->builder, swapped, sine, NULL));
	return wnnGraphBuilderAdd(net->builder, x, swapped, NULL);
}

static WNNOperand add_scale(const struct net *net, const json_t *layer, WNNOperand x)
{
	float factor = (float)json_number_value(json_object_get(layer, "factor"));
	uint32_t one = 1;

	return wnnGraphBuilderMul(net->builder, x, filled(net, 1, &one, factor), NULL);
}

static WNNOperand add_shaped(struct net *net, const json_t *layer, bool input, WNNOperand x)
{
	uint32_t shape[MAX_RANK], rank = list(layer, "dims", shape);

	if (input)
		return new_input(net, rank, shape);
	return wnnGraphBuilderReshape(net->builder, x, (WNNUint32Array){ rank, shape }, NULL);
}

static WNNOperand add_concat(const struct net *net, const json_t *layer, const WNNOperand *x)
{
	json_t *axis = json_object_get(layer, "axis");

	return wnnGraphBuilderConcat(net->builder, 2, x,
				     axis ? (uint32_t)json_integer_value(axis) : 1, NULL);
}

static WNNOperand add_transpose(const struct net *net, WNNOperand x)
{
	WNNTransposeOptions order = WNN_TRANSPOSE_OPTIONS_INIT;

	order.permutation = WNN_UINT32_LIST(0, 2, 1);
	return wnnGraphBuilderTranspose(net->builder, x, &order);
}

/* Returns x * weight + bias, with one weight and one bias for each channel of a picture. */
static WNNOperand add_affine(const struct net *net, const json_t *layer, WNNOperand x)
{
	uint32_t dims[3] = { wnnOperandGetShape(x).data[1], 1, 1 };

	x = made(net, wnnGraphBuilderMul(net->builder, x, constant(net, layer, "weight", 3, dims),
					 NULL));
	return wnnGraphBuilderAdd(net->builder, x, constant(net, layer, "bias", 3, dims), NULL);
}

/*
 * Adds an LSTM or a GRU of one direction over x of shape [steps, batch, n]; returns the states of
 * all steps, [steps, batch, hidden].
 */
static WNNOperand add_recurrent(const struct net *net, const json_t *layer, bool lstm, WNNOperand x)
{
	uint32_t hidden = number(layer, "hidden"), rows = number(layer, "gates") * hidden;
	WNNUint32Array shape = wnnOperandGetShape(x);
	uint32_t steps = shape.data[0], batch = shape.data[1];
	WNNOperand weight =
		constant(net, layer, "weight", 3, (uint32_t[]){ 1, rows, shape.data[2] });
	WNNOperand recurrent =
		constant(net, layer, "recurrent", 3, (uint32_t[]){ 1, rows, hidden });
	WNNOperand added = constant(net, layer, "bias", 2, (uint32_t[]){ 1, rows });
	WNNLstmOptions lstm_options = WNN_LSTM_OPTIONS_INIT;
	WNNGruOptions gru_options = WNN_GRU_OPTIONS_INIT;
	WNNOperand results[3] = { NULL };

	lstm_options.returnSequence = gru_options.returnSequence = WNN_TRUE;
	lstm_options.bias = gru_options.bias = added;
	if (lstm)
		wnnGraphBuilderLstm(net->builder, x, weight, recurrent, steps, hidden,
				    &lstm_options, 3, results);
	else
		wnnGraphBuilderGru(net->builder, x, weight, recurrent, steps, hidden, &gru_options,
				   2, results);
	return wnnGraphBuilderReshape(net->builder, made(net, results[lstm ? 2 : 1]),
				      WNN_UINT32_LIST(steps, batch, hidden), NULL);
}

/*
 * Adds a layer that has no weights and no attributes; returns its result, or NULL when the library
 * refuses it. Ends the program when @op is not known.
 */
static WNNOperand add_plain(const struct net *net, const char *op, const WNNOperand *x)
{
	if (!strcmp(op, "relu"))
		return wnnGraphBuilderRelu(net->builder, x[0], NULL);
	if (!strcmp(op, "relu6"))
		return add_relu6(net, x[0]);
	if (!strcmp(op, "gelu"))
		return wnnGraphBuilderGelu(net->builder, x[0], NULL);
	if (!strcmp(op, "hardsigmoid"))
		return wnnGraphBuilderHardSigmoid(net->builder, x[0], NULL);
	if (!strcmp(op, "hardswish"))
		return wnnGraphBuilderHardSwish(net->builder, x[0], NULL);
	if (!strcmp(op, "instancenorm"))
		return wnnGraphBuilderInstanceNormalization(net->builder, x[0], NULL);
	if (!strcmp(op, "sigmoid"))
		return wnnGraphBuilderSigmoid(net->builder, x[0], NULL);
	if (!strcmp(op, "add"))
		return wnnGraphBuilderAdd(net->builder, x[0], x[1], NULL);
	if (!strcmp(op, "mul"))
		return wnnGraphBuilderMul(net->builder, x[0], x[1], NULL);
	if (!strcmp(op, "matmul"))
		return wnnGraphBuilderMatmul(net->builder, x[0], x[1], NULL);
	if (!strcmp(op, "flatten"))
		return add_flatten(net, x[0]);
	if (!strcmp(op, "transpose"))
		return add_transpose(net, x[0]);
	if (!strcmp(op, "softmax"))
		return wnnGraphBuilderSoftmax(net->builder, x[0],
					      (uint32_t)wnnOperandGetShape(x[0]).count - 1, NULL);
	fprintf(stderr, "unknown layer '%s'\n", op);
	exit(1);
}

static WNNOperand add_layer(struct net *net, const json_t *layer)
{
	const char *op = json_string_value(json_object_get(layer, "op"));
	uint32_t from[MAX_RANK] = { 0 };
	WNNOperand x[2];

	list(layer, "inputs", from);
	x[0] = net->values[from[0]];
	x[1] = net->values[from[1]];
	if (!strcmp(op, "conv"))
		return add_conv(net, layer, x[0]);
	if (!strcmp(op, "linear"))
		return add_linear(net, layer, x[0]);
	if (!strcmp(op, "maxpool") || !strcmp(op, "averagepool"))
		return add_pool(net, layer, op[0] == 'm', x[0]);
	if (!strcmp(op, "concat"))
		return add_concat(net, layer, x);
	if (!strcmp(op, "heads"))
		return add_heads(net, layer, x[0]);
	if (!strcmp(op, "layernorm"))
		return add_layernorm(net, layer, x[0]);
	if (!strcmp(op, "affine"))
		return add_affine(net, layer, x[0]);
	if (!strcmp(op, "lstm") || !strcmp(op, "gru"))
		return add_recurrent(net, layer, op[0] == 'l', x[0]);
	if (!strcmp(op, "rmsnorm"))
		return add_rmsnorm(net, layer, x[0]);
	if (!strcmp(op, "rotary"))
		return add_rotary(net, layer, x[0]);
	if (!strcmp(op, "scale"))
		return add_scale(net, layer, x[0]);
	if (!strcmp(op, "input") || !strcmp(op, "reshape"))
		return add_shaped(net, layer, op[0] == 'i', x[0]);
	return add_plain(net, op, x);
}

static void add_layers(struct net *net, const json_t *layers)
{
	json_t *layer;
	size_t i;

	json_array_foreach(layers, i, layer)
	{
		WNNOperand y = made(net, add_layer(net, layer));

		if (net->type == BENCH_INT8 && json_is_true(json_object_get(layer, "quantize")))
			y = made(net, requantized(net, y));
		net->values[i + 1] = y;
	}
}

/*
 * Sets @outputs to the network's outputs, in order: the values that no layer uses and those whose
 * layer is marked as an output. Returns their number.
 */
static uint32_t find_outputs(const json_t *layers, WNNOperand *values, WNNNamedOperand *outputs)
{
	static char names[BENCH_MAX_OUTPUTS][8];
	size_t count = json_array_size(layers), i;
	bool *used = calloc(count + 1, sizeof(*used));
	uint32_t num = 0, from[MAX_RANK];
	json_t *layer;

	bench_check(used, "memory");
	json_array_foreach(layers, i, layer)
	{
		uint32_t n = list(layer, "inputs", from);

		for (uint32_t k = 0; k < n; k++)
			used[from[k]] = true;
	}
	for (i = 1; i <= count && num < BENCH_MAX_OUTPUTS; i++) {
		if (used[i] &&
		    !json_is_true(json_object_get(json_array_get(layers, i - 1), "output")))
			continue;
		snprintf(names[num], sizeof(names[num]), num ? "y%u" : "y", num);
		outputs[num] = (WNNNamedOperand){ WNN_STR(names[num]), values[i] };
		num++;
	}
	free(used);
	return num;
}

WNNGraph bench_table_build(WNNContext context, const char *table, const float *weights, bool mapped,
			   enum bench_type type, uint32_t rank, const uint32_t *input)
{
	json_error_t error;
	json_t *layers = json_load_file(table, 0, &error);
	struct net net = { .weights = weights, .mapped = mapped, .type = type };
	WNNNamedOperand outputs[BENCH_MAX_OUTPUTS];
	uint32_t num;
	WNNGraph graph;

	if (!json_is_array(layers)) {
		fprintf(stderr, "%s: %s\n", table, error.text);
		exit(1);
	}
	net.values = calloc(json_array_size(layers) + 1, sizeof(WNNOperand));
	net.builder = wnnContextCreateGraphBuilder(context);
	bench_check(net.values && net.builder, "graph builder");
	net.values[0] = made(&net, new_input(&net, rank, input));
	if (type == BENCH_INT8)
		net.values[0] = made(&net, requantized(&net, net.values[0]));
	add_layers(&net, layers);
	num = find_outputs(layers, net.values, outputs);
	bench_check(wnnGraphBuilderBuildSync(net.builder, num, outputs, WNN_WAIT_FOREVER, &graph) ==
			    WNNStatus_Success,
		    "build");
	wnnGraphBuilderRelease(net.builder);
	free(net.values);
	json_decref(layers);
	return graph;
}
