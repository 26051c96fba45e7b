// SPDX-License-Identifier: MIT
/* From a table of layers to a graph. */
#include "table.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

struct net {
	WNNGraphBuilder builder;
	const float *weights;
	WNNOperand *values;
};

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

static uint32_t list(const json_t *layer, const char *key, uint32_t *values)
{
	const json_t *array = json_object_get(layer, key);
	uint32_t n = (uint32_t)json_array_size(array);

	for (uint32_t i = 0; i < n && i < 4; i++)
		values[i] = (uint32_t)json_integer_value(json_array_get(array, i));
	return n;
}

static void nothing_to_release(void const *data, size_t size, void *userdata1, void *userdata2)
{
	(void)data;
	(void)size;
	(void)userdata1;
	(void)userdata2;
}

static WNNOperand constant(const struct net *net, const json_t *layer, const char *key,
			   uint32_t rank, const uint32_t *dims)
{
	WNNBorrowedConstant borrowed = WNN_BORROWED_CONSTANT_INIT;
	WNNOperandDescriptor desc = WNN_OPERAND_DESCRIPTOR_INIT;
	const float *data = net->weights + json_integer_value(json_object_get(layer, key));
	size_t count = 1;

	for (uint32_t i = 0; i < rank; i++)
		count *= dims[i];
	borrowed.releaseCallback = nothing_to_release;
	desc.nextInChain = &borrowed.chain;
	desc.dataType = WNNOperandDataType_Float32;
	desc.shape = (WNNUint32Array){ rank, dims };
	return made(net, wnnGraphBuilderConstant(net->builder, &desc, data, count * sizeof(float)));
}

static WNNOperand add_conv(const struct net *net, const json_t *layer, WNNOperand x)
{
	WNNConv2dOptions options = WNN_CONV2D_OPTIONS_INIT;
	uint32_t filter[4], stride = number(layer, "stride"), pad = number(layer, "pad");

	list(layer, "filter", filter);
	options.strides = WNN_UINT32_LIST(stride, stride);
	options.padding = WNN_UINT32_LIST(pad, pad, pad, pad);
	options.groups = number(layer, "groups");
	options.bias = constant(net, layer, "bias", 1, filter);
	return wnnGraphBuilderConv2d(net->builder, x, constant(net, layer, "weight", 4, filter),
				     &options);
}

static WNNOperand add_linear(const struct net *net, const json_t *layer, WNNOperand x)
{
	WNNGemmOptions options = WNN_GEMM_OPTIONS_INIT;
	uint32_t shape[4];

	list(layer, "matrix", shape);
	options.bTranspose = WNN_TRUE;
	options.c = constant(net, layer, "bias", 1, shape);
	return wnnGraphBuilderGemm(net->builder, x, constant(net, layer, "weight", 2, shape),
				   &options);
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

	for (size_t i = 0; i < shape.count; i++)
		size *= shape.data[i];
	return wnnGraphBuilderReshape(net->builder, x, WNN_UINT32_LIST(1, size), NULL);
}

/* To and from one matrix for each head of an attention: [rows, heads * n] and [heads, rows, n]. */
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

static WNNOperand add_layer(const struct net *net, const json_t *layer)
{
	const char *op = json_string_value(json_object_get(layer, "op"));
	uint32_t from[4] = { 0 };
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
	if (!strcmp(op, "relu"))
		return wnnGraphBuilderRelu(net->builder, x[0], NULL);
	if (!strcmp(op, "relu6"))
		return add_relu6(net, x[0]);
	if (!strcmp(op, "add"))
		return wnnGraphBuilderAdd(net->builder, x[0], x[1], NULL);
	if (!strcmp(op, "concat"))
		return wnnGraphBuilderConcat(net->builder, 2, x, 1, NULL);
	if (!strcmp(op, "flatten"))
		return add_flatten(net, x[0]);
	if (!strcmp(op, "matmul"))
		return wnnGraphBuilderMatmul(net->builder, x[0], x[1], NULL);
	if (!strcmp(op, "gelu"))
		return wnnGraphBuilderGelu(net->builder, x[0], NULL);
	if (!strcmp(op, "heads"))
		return add_heads(net, layer, x[0]);
	if (!strcmp(op, "layernorm"))
		return add_layernorm(net, layer, x[0]);
	if (!strcmp(op, "softmax"))
		return wnnGraphBuilderSoftmax(net->builder, x[0],
					      (uint32_t)wnnOperandGetShape(x[0]).count - 1, NULL);
	fprintf(stderr, "unknown layer '%s'\n", op);
	exit(1);
}

/* Values that are used by nothing are outputs, in their order. */
static uint32_t find_outputs(const json_t *layers, WNNOperand *values, WNNNamedOperand *outputs)
{
	static char names[BENCH_MAX_OUTPUTS][8];
	size_t count = json_array_size(layers), i;
	bool *used = calloc(count + 1, sizeof(*used));
	uint32_t num = 0, from[4];
	json_t *layer;

	bench_check(used, "memory");
	json_array_foreach(layers, i, layer)
	{
		uint32_t n = list(layer, "inputs", from);

		for (uint32_t k = 0; k < n && k < 4; k++)
			used[from[k]] = true;
	}
	for (i = 1; i <= count && num < BENCH_MAX_OUTPUTS; i++) {
		if (used[i])
			continue;
		snprintf(names[num], sizeof(names[num]), num ? "y%u" : "y", num);
		outputs[num] = (WNNNamedOperand){ WNN_STR(names[num]), values[i] };
		num++;
	}
	free(used);
	return num;
}

WNNGraph bench_table_build(WNNContext context, const char *table, const float *weights,
			   uint32_t rank, const uint32_t *input)
{
	WNNOperandDescriptor desc = WNN_OPERAND_DESCRIPTOR_INIT;
	json_error_t error;
	json_t *layers = json_load_file(table, 0, &error), *layer;
	struct net net = { .weights = weights };
	WNNNamedOperand outputs[BENCH_MAX_OUTPUTS];
	uint32_t num;
	WNNGraph graph;
	size_t i;

	if (!json_is_array(layers)) {
		fprintf(stderr, "%s: %s\n", table, error.text);
		exit(1);
	}
	net.values = calloc(json_array_size(layers) + 1, sizeof(WNNOperand));
	net.builder = wnnContextCreateGraphBuilder(context);
	bench_check(net.values && net.builder, "graph builder");
	desc.dataType = WNNOperandDataType_Float32;
	desc.shape = (WNNUint32Array){ rank, input };
	net.values[0] = made(&net, wnnGraphBuilderInput(net.builder, WNN_STR("x"), &desc));
	json_array_foreach(layers, i, layer) net.values[i + 1] = made(&net, add_layer(&net, layer));
	num = find_outputs(layers, net.values, outputs);
	bench_check(wnnGraphBuilderBuildSync(net.builder, num, outputs, WNN_WAIT_FOREVER, &graph) ==
			    WNNStatus_Success,
		    "build");
	wnnGraphBuilderRelease(net.builder);
	free(net.values);
	json_decref(layers);
	return graph;
}
