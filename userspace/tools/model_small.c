// SPDX-License-Identifier: MIT
/*
 * The digits network of this project, and LeNet. demo/digits/train.py and the models' README
 * describe their structures.
 */
#include <err.h>
#include <stdio.h>
#include <stdlib.h>

#include "models_internal.h"

static WNNOperand conv(struct net *net, WNNOperand x, WNNOperand filter, WNNOperand bias,
		       uint32_t padding, const char *label)
{
	WNNConv2dOptions options = WNN_CONV2D_OPTIONS_INIT;

	options.label = WNN_STR(label);
	options.padding = WNN_UINT32_LIST(padding, padding, padding, padding);
	options.bias = bias;
	if (net->failed)
		return NULL;
	return net_check(net, wnnGraphBuilderConv2d(net->builder, x, filter, &options));
}

static WNNOperand dense(struct net *net, WNNOperand x, WNNOperand weight, WNNOperand bias,
			bool transposed, const char *label)
{
	WNNGemmOptions options = WNN_GEMM_OPTIONS_INIT;

	options.label = WNN_STR(label);
	options.c = bias;
	options.bTranspose = transposed;
	return net->failed ? NULL :
			     net_check(net, wnnGraphBuilderGemm(net->builder, x, weight, &options));
}

static WNNOperand softmax(struct net *net, WNNOperand x)
{
	WNNOperatorOptions options = WNN_OPERATOR_OPTIONS_INIT;

	options.label = WNN_STR("softmax");
	return net->failed ? NULL :
			     net_check(net, wnnGraphBuilderSoftmax(net->builder, x, 1, &options));
}

int model_digits(struct net *net, struct model *model, uint32_t batch, WNNOperand *outputs)
{
	const WNNInputOperandLayout nchw = WNNInputOperandLayout_Nchw;
	WNNOperand x;

	model->input = "pixels";
	model->input_rank = 4;
	model->input_dim[0] = batch;
	model->input_dim[1] = 1;
	model->input_dim[2] = model->input_dim[3] = 8;
	model->num_outputs = 1;
	model->outputs[0].name = "probabilities";
	model->outputs[0].count = (size_t)batch * 10;

	x = net_input(net, model);
	x = conv(net, x, net_file(net, "conv1_w.npy"), net_file(net, "conv1_b.npy"), 1, "conv1");
	x = net_relu(net, x, "relu1");
	x = conv(net, x, net_file(net, "conv2_w.npy"), net_file(net, "conv2_b.npy"), 1, "conv2");
	x = net_relu(net, x, "relu2");
	x = net_pool(net, true, x, 2, 2, nchw, "pool2");
	x = conv(net, x, net_file(net, "conv3_w.npy"), net_file(net, "conv3_b.npy"), 1, "conv3");
	x = net_relu(net, x, "relu3");
	x = net_pool(net, false, x, 2, 2, nchw, "pool3");
	x = net_reshape(net, x, batch, 96, "flatten");
	x = dense(net, x, net_file(net, "dense_w.npy"), net_file(net, "dense_b.npy"), false,
		  "dense");
	outputs[0] = softmax(net, x);
	return outputs[0] ? 0 : -1;
}

/* Numbers of floats in lenet.bin before and after 16 bytes that hold no weights and are skipped. */
#define LENET_CONVS (500 + 20 + 25000 + 50)
#define LENET_DENSE (400000 + 500 + 5000 + 10)

static float *lenet_read(const char *folder)
{
	char path[4200];
	float *data = malloc((LENET_CONVS + LENET_DENSE) * sizeof(float));
	FILE *f;

	snprintf(path, sizeof(path), "%s/lenet.bin", folder);
	f = fopen(path, "rb");
	if (!f || !data || fread(data, 4, LENET_CONVS, f) != LENET_CONVS ||
	    fseek(f, 16, SEEK_CUR) || fread(data + LENET_CONVS, 4, LENET_DENSE, f) != LENET_DENSE) {
		warnx("%s: cannot read its %d numbers", path, LENET_CONVS + LENET_DENSE);
		free(data);
		data = NULL;
	}
	if (f)
		fclose(f);
	return data;
}

static WNNOperand lenet_part(struct net *net, const float **data, uint32_t rank,
			     const uint32_t *dims)
{
	WNNOperand operand;

	if (net->failed)
		return NULL;
	operand = net_data(net, *data, rank, dims);
	for (uint32_t i = 0, n = 1; i < rank; i++) {
		n *= dims[i];
		if (i == rank - 1)
			*data += n;
	}
	return operand;
}

int model_lenet(struct net *net, struct model *model, uint32_t batch, WNNOperand *outputs)
{
	static const uint32_t dims[8][4] = { { 20, 1, 5, 5 }, { 20 },  { 50, 20, 5, 5 }, { 50 },
					     { 500, 800 },    { 500 }, { 10, 500 },	 { 10 } };
	static const uint32_t ranks[8] = { 4, 1, 4, 1, 2, 1, 2, 1 };
	const WNNInputOperandLayout nchw = WNNInputOperandLayout_Nchw;
	WNNOperand p[8], x;
	float *data = lenet_read(net->folder);
	const float *at = data;

	(void)batch;
	if (!data)
		return -1;
	model->input = "pixels";
	model->input_rank = 4;
	model->input_dim[0] = model->input_dim[1] = 1;
	model->input_dim[2] = model->input_dim[3] = 28;
	model->num_outputs = 2;
	model->outputs[0].name = "logits";
	model->outputs[1].name = "probabilities";
	model->outputs[0].count = model->outputs[1].count = 10;

	for (int i = 0; i < 8; i++)
		p[i] = lenet_part(net, &at, ranks[i], dims[i]);
	free(data);
	x = net_input(net, model);
	x = conv(net, x, p[0], p[1], 0, "conv1");
	x = net_pool(net, true, x, 2, 2, nchw, "pool1");
	x = conv(net, x, p[2], p[3], 0, "conv2");
	x = net_pool(net, true, x, 2, 2, nchw, "pool2");
	x = net_reshape(net, x, 1, 800, "flatten");
	x = net_relu(net, dense(net, x, p[4], p[5], true, "dense1"), "relu1");
	outputs[0] = dense(net, x, p[6], p[7], true, "dense2");
	outputs[1] = softmax(net, outputs[0]);
	return outputs[1] ? 0 : -1;
}
