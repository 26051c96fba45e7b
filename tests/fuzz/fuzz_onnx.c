// SPDX-License-Identifier: MIT
/*
 * Fuzz target of the ONNX importer: the input is a model. Whatever it holds, loading it and adding
 * it to a builder end with a status. Nothing is built or run: fuzz_builder.c does that.
 */
#include <stdlib.h>
#include <webnn/onnx.h>
#include <webnn/webnn_npu.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static WNNContext context;

static void open_context(void)
{
	WNNContextDeviceOptions device = WNN_CONTEXT_DEVICE_OPTIONS_INIT;
	WNNContextOptions options = WNN_CONTEXT_OPTIONS_INIT;
	WNNInstance instance = wnnCreateInstance(NULL);

	device.device = WNN_STR("cpu");
	options.nextInChain = &device.chain;
	if (wnnInstanceCreateContextSync(instance, &options, WNN_WAIT_FOREVER, &context))
		abort();
	wnnInstanceRelease(instance);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	WNNNamedOperand const *outputs;
	WNNOnnxValueInfoArray inputs;
	WNNGraphBuilder builder;
	WNNOnnxModel model;
	size_t count;

	if (!context)
		open_context();
	if (wnnOnnxLoadMemory(data, size, NULL, &model))
		return 0;
	inputs = wnnOnnxModelGetInputs(model);
	wnnOnnxModelGetOutputs(model);
	/* Unknown dimensions become 2. */
	for (size_t i = 0; i < inputs.count; i++)
		for (size_t k = 0;
		     inputs.data[i].rank != WNN_ONNX_RANK_UNKNOWN && k < inputs.data[i].rank; k++)
			if (inputs.data[i].dimensions[k].size < 0)
				wnnOnnxModelSetDimension(model, inputs.data[i].dimensions[k].name,
							 2);
	builder = wnnContextCreateGraphBuilder(context);
	wnnOnnxModelAddToBuilder(model, builder, &count, &outputs);
	wnnGraphBuilderRelease(builder);
	wnnOnnxModelRelease(model);
	return 0;
}
