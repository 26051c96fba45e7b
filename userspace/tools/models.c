// SPDX-License-Identifier: MIT
/* Builds and runs models: the functions that all models share. */
#include <err.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <webnn/webnn_npu.h>

#include "models_internal.h"
#include "npy.h"

static const struct {
	const char *name, *probe; /* probe: a file that exists when the model is present */
	/* whether its files are in the folder of the demo, not in that of the shared models */
	bool own;
	model_fn build;
} models[] = {
	{ "digits", "conv1_w.npy", true, model_digits },
	{ "squeezenet", "weights/conv1_kernel.npy", false, model_squeezenet },
	{ "lenet", "lenet.bin", false, model_lenet },
	{ "mobilenetv2", "weights/conv_0_weight.npy", false, model_mobilenetv2 },
};

static int find(const char *name)
{
	for (size_t i = 0; i < sizeof(models) / sizeof(models[0]); i++)
		if (!strcmp(models[i].name, name))
			return (int)i;
	return -1;
}

static bool folder_of(int model, const struct model_paths *paths, char *folder, size_t size)
{
	int n;

	if (models[model].own)
		n = snprintf(folder, size, "%s", paths->digits);
	else if (paths->models)
		n = snprintf(folder, size, "%s/%s", paths->models, models[model].name);
	else
		return false;
	return n > 0 && (size_t)n < size;
}

bool model_present(const char *name, const struct model_paths *paths)
{
	char folder[4096], file[4200];
	int i = find(name);

	if (i < 0 || !folder_of(i, paths, folder, sizeof(folder)))
		return false;
	snprintf(file, sizeof(file), "%s/%s", folder, models[i].probe);
	return access(file, R_OK) == 0;
}

WNNOperand net_check(struct net *net, WNNOperand operand)
{
	WNNError error = WNN_ERROR_INIT;

	if (operand || net->failed)
		return operand;
	net->failed = true;
	wnnGraphBuilderGetLastError(net->builder, &error);
	warnx("%.*s", (int)error.message.length, error.message.data);
	return NULL;
}

WNNOperand net_data(struct net *net, const float *data, uint32_t rank, const uint32_t *dims)
{
	WNNOperandDescriptor desc = WNN_OPERAND_DESCRIPTOR_INIT;
	size_t count = 1;

	for (uint32_t i = 0; i < rank; i++)
		count *= dims[i];
	desc.dataType = WNNOperandDataType_Float32;
	desc.shape = rank ? (WNNUint32Array){ rank, dims } : WNN_UINT32_EMPTY;
	return net_check(net,
			 wnnGraphBuilderConstant(net->builder, &desc, data, count * sizeof(float)));
}

WNNOperand net_file(struct net *net, const char *format, ...)
{
	char name[256], path[4400];
	WNNOperand operand;
	struct npy array;
	va_list ap;

	if (net->failed)
		return NULL;
	va_start(ap, format);
	vsnprintf(name, sizeof(name), format, ap);
	va_end(ap);
	snprintf(path, sizeof(path), "%s/%s", net->folder, name);
	if (npy_load(&array, path)) {
		net->failed = true;
		return NULL;
	}
	if (array.type != WNNOperandDataType_Float32) {
		warnx("%s: its type is not float32", path);
		net->failed = true;
		npy_free(&array);
		return NULL;
	}
	operand = net_data(net, array.data, array.rank, array.dim);
	npy_free(&array);
	return operand;
}

WNNOperand net_input(struct net *net, struct model *model)
{
	WNNOperandDescriptor desc = WNN_OPERAND_DESCRIPTOR_INIT;

	desc.dataType = WNNOperandDataType_Float32;
	desc.shape = (WNNUint32Array){ model->input_rank, model->input_dim };
	return net_check(net, wnnGraphBuilderInput(net->builder, WNN_STR(model->input), &desc));
}

WNNOperand net_relu(struct net *net, WNNOperand x, const char *label)
{
	WNNOperatorOptions options = WNN_OPERATOR_OPTIONS_INIT;

	options.label = WNN_STR(label);
	return net->failed ? NULL : net_check(net, wnnGraphBuilderRelu(net->builder, x, &options));
}

WNNOperand net_pool(struct net *net, bool max, WNNOperand x, uint32_t window, uint32_t stride,
		    WNNInputOperandLayout layout, const char *label)
{
	WNNPool2dOptions options = WNN_POOL2D_OPTIONS_INIT;

	options.label = WNN_STR(label);
	options.windowDimensions = WNN_UINT32_LIST(window, window);
	options.strides = WNN_UINT32_LIST(stride, stride);
	options.layout = layout;
	if (net->failed)
		return NULL;
	return net_check(net, max ? wnnGraphBuilderMaxPool2d(net->builder, x, &options) :
				    wnnGraphBuilderAveragePool2d(net->builder, x, &options));
}

WNNOperand net_reshape(struct net *net, WNNOperand x, uint32_t rows, uint32_t cols,
		       const char *label)
{
	WNNOperatorOptions options = WNN_OPERATOR_OPTIONS_INIT;

	options.label = WNN_STR(label);
	if (net->failed)
		return NULL;
	return net_check(net, wnnGraphBuilderReshape(net->builder, x, WNN_UINT32_LIST(rows, cols),
						     &options));
}

static int build(struct net *net, struct model *model, int which, uint32_t batch)
{
	WNNNamedOperand named[MODEL_MAX_OUTPUTS];
	WNNOperand outputs[MODEL_MAX_OUTPUTS];
	WNNError error = WNN_ERROR_INIT;

	if (models[which].build(net, model, batch, outputs) || net->failed)
		return -1;
	for (size_t i = 0; i < model->num_outputs; i++)
		named[i] = (WNNNamedOperand){ WNN_STR(model->outputs[i].name), outputs[i] };
	if (wnnGraphBuilderBuildSync(net->builder, model->num_outputs, named, WNN_WAIT_FOREVER,
				     &model->graph) == WNNStatus_Success)
		return 0;
	wnnGetLastError(&error);
	warnx("%s: %.*s", model->name, (int)error.message.length, error.message.data);
	return -1;
}

int model_build(struct model *model, const char *name, const struct model_paths *paths,
		WNNContext context, uint32_t batch)
{
	struct net net = { 0 };
	int which = find(name), ret;

	memset(model, 0, sizeof(*model));
	if (which < 0) {
		warnx("there is no model '%s'; there are digits, squeezenet, lenet and mobilenetv2",
		      name);
		return -1;
	}
	model->name = models[which].name;
	if (!folder_of(which, paths, net.folder, sizeof(net.folder))) {
		warnx("%s: no folder of the shared models is given, or its path is too long: "
		      "--models names one",
		      name);
		return -1;
	}
	net.builder = wnnContextCreateGraphBuilder(context);
	if (!net.builder) {
		warnx("%s: no graph builder", name);
		return -1;
	}
	ret = build(&net, model, which, batch);
	wnnGraphBuilderRelease(net.builder);
	return ret;
}

void model_release(struct model *model)
{
	if (model->graph)
		wnnGraphRelease(model->graph);
	model->graph = NULL;
}

static int failed(const char *what)
{
	WNNError error = WNN_ERROR_INIT;

	wnnGetLastError(&error);
	warnx("%s: %.*s", what, (int)error.message.length, error.message.data);
	return -1;
}

int model_run(const struct model *model, WNNContext context, WNNTensor input,
	      WNNTensor const *outputs)
{
	WNNNamedTensor in = { WNN_STR(model->input), input }, out[MODEL_MAX_OUTPUTS];

	for (size_t i = 0; i < model->num_outputs; i++)
		out[i] = (WNNNamedTensor){ WNN_STR(model->outputs[i].name), outputs[i] };
	if (wnnContextDispatch(context, model->graph, 1, &in, model->num_outputs, out) !=
	    WNNStatus_Success)
		return failed("the model did not run");
	return 0;
}

int model_tensors_create(struct model_tensors *tensors, const struct model *model,
			 WNNContext context)
{
	WNNNamedOperandDescriptorArray outputs = wnnGraphGetOutputs(model->graph);
	WNNTensorDescriptor desc = WNN_TENSOR_DESCRIPTOR_INIT;

	memset(tensors, 0, sizeof(*tensors));
	desc.dataType = WNNOperandDataType_Float32;
	desc.shape = (WNNUint32Array){ model->input_rank, model->input_dim };
	desc.writable = WNN_TRUE;
	if (wnnContextCreateTensorSync(context, &desc, WNN_WAIT_FOREVER, &tensors->input) !=
	    WNNStatus_Success)
		return failed("the tensor of the input cannot be made");
	desc.writable = WNN_FALSE;
	desc.readable = WNN_TRUE;
	for (size_t i = 0; i < model->num_outputs; i++)
		for (size_t k = 0; k < outputs.count; k++) {
			WNNStringView name = outputs.data[k].name;

			if (name.length != strlen(model->outputs[i].name) ||
			    memcmp(name.data, model->outputs[i].name, name.length))
				continue;
			desc.shape = outputs.data[k].shape;
			if (wnnContextCreateTensorSync(context, &desc, WNN_WAIT_FOREVER,
						       &tensors->outputs[i]) != WNNStatus_Success)
				return failed("the tensor of an output cannot be made");
		}
	return 0;
}

void model_tensors_release(struct model_tensors *tensors)
{
	if (tensors->input)
		wnnTensorRelease(tensors->input);
	for (size_t i = 0; i < MODEL_MAX_OUTPUTS; i++)
		if (tensors->outputs[i])
			wnnTensorRelease(tensors->outputs[i]);
	memset(tensors, 0, sizeof(*tensors));
}

int model_infer(const struct model *model, WNNContext context, const struct model_tensors *tensors,
		const float *input, float *const *outputs)
{
	size_t count = 1;

	for (uint32_t i = 0; i < model->input_rank; i++)
		count *= model->input_dim[i];
	if (wnnContextWriteTensor(context, tensors->input, input, count * sizeof(float)) !=
	    WNNStatus_Success)
		return failed("the input cannot be written");
	if (model_run(model, context, tensors->input, tensors->outputs))
		return -1;
	for (size_t i = 0; i < model->num_outputs; i++)
		if (wnnContextReadTensorIntoSync(context, tensors->outputs[i], outputs[i],
						 model->outputs[i].count * sizeof(float),
						 WNN_WAIT_FOREVER) != WNNStatus_Success)
			return failed("an output cannot be read");
	/*
	 * Reading the tensors succeeds also after a fault of the device, and then gives stale
	 * bytes; this call reports the fault.
	 */
	if (wnnContextWaitIdle(context, WNN_WAIT_FOREVER) != WNNStatus_Success)
		return failed("the model did not run");
	return 0;
}

WNNContext model_context(WNNInstance instance, const struct model_device *device)
{
	WNNContextDeviceOptions chained = WNN_CONTEXT_DEVICE_OPTIONS_INIT;
	WNNContextOptions options = WNN_CONTEXT_OPTIONS_INIT;
	WNNContext context = NULL;

	if (device->name)
		chained.device = WNN_STR(device->name);
	if (device->npu_only)
		chained.placementPolicy = WNNPlacementPolicy_NPUOnly;
	chained.simMode = device->full ? WNNSimMode_Full : WNNSimMode_Flat;
	if (device->firmware)
		chained.simFirmwarePath = WNN_STR(device->firmware);
	chained.profile = device->profile;
	chained.simSramBytes = device->sram_bytes;
	chained.threads = device->threads;
	chained.simThreads = device->threads;
	options.nextInChain = &chained.chain;
	if (wnnInstanceCreateContextSync(instance, &options, WNN_WAIT_FOREVER, &context) !=
	    WNNStatus_Success)
		failed(device->name ? device->name : "context");
	return context;
}
