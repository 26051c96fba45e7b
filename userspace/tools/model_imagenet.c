// SPDX-License-Identifier: MIT
/*
 * SqueezeNet 1.0 (nhwc) and the feature extractor of MobileNetV2 (nchw), as the models' README
 * describes them.
 */
#include <stdio.h>

#include "models_internal.h"

/* --- SqueezeNet ------------------------------------------------------------------------------ */

static WNNOperand sq_conv(struct net *net, WNNOperand x, const char *kernel, const char *bias,
			  uint32_t stride, uint32_t begin, uint32_t end)
{
	WNNConv2dOptions options = WNN_CONV2D_OPTIONS_INIT;
	WNNOperand filter = net_file(net, "weights/%s_kernel.npy", kernel);

	options.label = WNN_STR(kernel);
	options.strides = WNN_UINT32_LIST(stride, stride);
	options.padding = WNN_UINT32_LIST(begin, end, begin, end);
	options.inputLayout = WNNInputOperandLayout_Nhwc;
	options.filterLayout = WNNConv2dFilterOperandLayout_Ohwi;
	options.bias = net_file(net, "weights/%s_Conv2D_bias.npy", bias);
	if (net->failed)
		return NULL;
	x = net_check(net, wnnGraphBuilderConv2d(net->builder, x, filter, &options));
	return net_relu(net, x, kernel);
}

static WNNOperand sq_fire(struct net *net, WNNOperand x, int n)
{
	WNNOperatorOptions options = WNN_OPERATOR_OPTIONS_INIT;
	WNNOperand branch[2];
	char name[32];

	snprintf(name, sizeof(name), "fire%d_squeeze", n);
	x = sq_conv(net, x, name, name, 1, 0, 0);
	snprintf(name, sizeof(name), "fire%d_e1x1", n);
	branch[0] = sq_conv(net, x, name, name, 1, 0, 0);
	snprintf(name, sizeof(name), "fire%d_e3x3", n);
	branch[1] = sq_conv(net, x, name, name, 1, 1, 1);
	snprintf(name, sizeof(name), "fire%d_concat", n);
	options.label = WNN_STR(name);
	if (net->failed)
		return NULL;
	return net_check(net, wnnGraphBuilderConcat(net->builder, 2, branch, 3, &options));
}

int model_squeezenet(struct net *net, struct model *model, uint32_t batch, WNNOperand *outputs)
{
	const WNNInputOperandLayout nhwc = WNNInputOperandLayout_Nhwc;
	WNNOperatorOptions options = WNN_OPERATOR_OPTIONS_INIT;
	WNNOperand x;

	(void)batch;
	model->input = "image";
	model->input_rank = 4;
	model->input_dim[0] = 1;
	model->input_dim[1] = model->input_dim[2] = 224;
	model->input_dim[3] = 3;
	model->num_outputs = 1;
	model->outputs[0].name = "probabilities";
	model->outputs[0].count = 1001;

	x = sq_conv(net, net_input(net, model), "conv1", "conv1", 2, 2, 3);
	x = net_pool(net, true, x, 3, 2, nhwc, "maxpool1");
	for (int n = 2; n <= 4; n++)
		x = sq_fire(net, x, n);
	x = net_pool(net, true, x, 3, 2, nhwc, "maxpool4");
	for (int n = 5; n <= 8; n++)
		x = sq_fire(net, x, n);
	x = net_pool(net, true, x, 3, 2, nhwc, "maxpool8");
	x = sq_fire(net, x, 9);
	x = sq_conv(net, x, "conv10", "conv10", 1, 0, 0);
	x = net_pool(net, false, x, 13, 1, nhwc, "average");
	x = net_reshape(net, x, 1, 1001, "flatten");
	if (net->failed)
		return -1;
	options.label = WNN_STR("softmax");
	outputs[0] = net_check(net, wnnGraphBuilderSoftmax(net->builder, x, 1, &options));
	return outputs[0] ? 0 : -1;
}

/* --- MobileNetV2 ----------------------------------------------------------------------------- */

struct mb_block {
	uint32_t channels, stride;
	int conv[3]; /* indices of the convolutions: expand (or -1), depthwise, project */
};

static const struct mb_block mb_blocks[] = {
	{ 16, 1, { -1, 2, 4 } },    { 24, 2, { 5, 7, 9 } },	{ 24, 1, { 10, 12, 14 } },
	{ 32, 2, { 16, 18, 20 } },  { 32, 1, { 21, 23, 25 } },	{ 32, 1, { 27, 29, 31 } },
	{ 64, 2, { 33, 35, 37 } },  { 64, 1, { 38, 40, 42 } },	{ 64, 1, { 44, 46, 48 } },
	{ 64, 1, { 50, 52, 54 } },  { 96, 1, { 56, 58, 60 } },	{ 96, 1, { 61, 63, 65 } },
	{ 96, 1, { 67, 69, 71 } },  { 160, 2, { 73, 75, 77 } }, { 160, 1, { 78, 80, 82 } },
	{ 160, 1, { 84, 86, 88 } }, { 320, 1, { 90, 92, 94 } },
};

static WNNOperand mb_conv(struct net *net, WNNOperand x, int k, uint32_t stride, uint32_t pad,
			  uint32_t groups, bool clamp)
{
	WNNConv2dOptions options = WNN_CONV2D_OPTIONS_INIT;
	WNNClampOptions bounds = WNN_CLAMP_OPTIONS_INIT;
	WNNOperand filter = net_file(net, "weights/conv_%d_weight.npy", k);
	char label[32];

	snprintf(label, sizeof(label), "conv_%d", k);
	options.label = WNN_STR(label);
	options.strides = WNN_UINT32_LIST(stride, stride);
	options.padding = WNN_UINT32_LIST(pad, pad, pad, pad);
	options.groups = groups;
	options.bias = net_file(net, "weights/conv_%d_bias.npy", k);
	if (net->failed)
		return NULL;
	x = net_check(net, wnnGraphBuilderConv2d(net->builder, x, filter, &options));
	if (!clamp || net->failed)
		return x;
	bounds.label = WNN_STR(label);
	bounds.minValue = WNN_NUMBER_DOUBLE(0);
	bounds.maxValue = WNN_NUMBER_DOUBLE(6);
	return net_check(net, wnnGraphBuilderClamp(net->builder, x, &bounds));
}

static WNNOperand mb_block(struct net *net, WNNOperand x, const struct mb_block *block)
{
	WNNOperatorOptions options = WNN_OPERATOR_OPTIONS_INIT;
	WNNOperand y = x;
	uint32_t channels;
	char label[32];

	if (net->failed)
		return NULL;
	if (block->conv[0] >= 0)
		y = mb_conv(net, y, block->conv[0], 1, 0, 1, true);
	if (net->failed)
		return NULL;
	channels = wnnOperandGetShape(y).data[1];
	y = mb_conv(net, y, block->conv[1], block->stride, 1, channels, true);
	y = mb_conv(net, y, block->conv[2], 1, 0, 1, false);
	if (net->failed || block->stride != 1 || wnnOperandGetShape(x).data[1] != block->channels)
		return y;
	snprintf(label, sizeof(label), "add_%d", block->conv[2]);
	options.label = WNN_STR(label);
	return net_check(net, wnnGraphBuilderAdd(net->builder, x, y, &options));
}

int model_mobilenetv2(struct net *net, struct model *model, uint32_t batch, WNNOperand *outputs)
{
	WNNOperand x;

	(void)batch;
	model->input = "image";
	model->input_rank = 4;
	model->input_dim[0] = 1;
	model->input_dim[1] = 3;
	model->input_dim[2] = model->input_dim[3] = 224;
	model->num_outputs = 2;
	model->outputs[0].name = "conv_94";
	model->outputs[0].count = 320 * 7 * 7;
	model->outputs[1].name = "features";
	model->outputs[1].count = 1280;

	x = mb_conv(net, net_input(net, model), 0, 2, 1, 1, true);
	for (size_t i = 0; i < sizeof(mb_blocks) / sizeof(mb_blocks[0]); i++)
		x = mb_block(net, x, &mb_blocks[i]);
	outputs[0] = x;
	x = mb_conv(net, x, 95, 1, 0, 1, true);
	x = net_pool(net, false, x, 7, 1, WNNInputOperandLayout_Nchw, "average");
	outputs[1] = net_reshape(net, x, 1, 1280, "features");
	return outputs[1] ? 0 : -1;
}
