// SPDX-License-Identifier: MIT
/* Shows on the device model: a borrowed constant, mapped tensors, the placement report. */
#include <stdio.h>

#include <webnn/webnn_npu.h>

#define N 16

static float weights[N]; /* neither copied nor freed by the library */
static int released;

static void on_release(void const *data, size_t size, void *userdata1, void *userdata2)
{
	(void)data;
	(void)size;
	(void)userdata2;
	__atomic_store_n((int *)userdata1, 1, __ATOMIC_SEQ_CST);
}

static WNNContext open_device(WNNInstance instance)
{
	WNNContextDeviceOptions device = WNN_CONTEXT_DEVICE_OPTIONS_INIT;
	WNNContextOptions options = WNN_CONTEXT_OPTIONS_INIT;
	WNNContext context = NULL;

	device.device = WNN_STR("sim");
	device.placementPolicy = WNNPlacementPolicy_NPUOnly;
	options.nextInChain = &device.chain;
	wnnInstanceCreateContextSync(instance, &options, WNN_WAIT_FOREVER, &context);
	return context;
}

static WNNGraph build(WNNContext context)
{
	const uint32_t shape[] = { N };
	WNNOperandDescriptor descriptor = WNN_OPERAND_DESCRIPTOR_INIT;
	WNNBorrowedConstant borrowed = WNN_BORROWED_CONSTANT_INIT;
	WNNGraphBuilder b = wnnContextCreateGraphBuilder(context);
	WNNNamedOperand output = { WNN_STR("y"), NULL };
	WNNGraph graph = NULL;
	WNNOperand x, w;

	descriptor.dataType = WNNOperandDataType_Float32;
	descriptor.shape = WNN_UINT32_ARRAY(shape);
	x = wnnGraphBuilderInput(b, WNN_STR("x"), &descriptor);
	borrowed.releaseCallback = on_release;
	borrowed.userdata1 = &released;
	descriptor.nextInChain = &borrowed.chain;
	w = wnnGraphBuilderConstant(b, &descriptor, weights, sizeof(weights));
	output.operand = wnnGraphBuilderTanh(b, wnnGraphBuilderMul(b, x, w, NULL), NULL);
	wnnGraphBuilderBuildSync(b, 1, &output, WNN_WAIT_FOREVER, &graph);
	wnnGraphBuilderRelease(b);
	return graph;
}

static void print_placement(WNNGraph graph)
{
	WNNGraphPlacement placement = WNN_GRAPH_PLACEMENT_INIT;

	wnnGraphGetPlacement(graph, &placement);
	for (size_t i = 0; i < placement.nodeCount; i++) {
		const WNNNodePlacement *node = &placement.nodes[i];

		printf("%.*s: %.*s\n", (int)node->operatorName.length, node->operatorName.data,
		       (int)node->reasonText.length, node->reasonText.data);
	}
}

static WNNTensor make_tensor(WNNContext context)
{
	const uint32_t shape[] = { N };
	WNNTensorDescriptor descriptor = WNN_TENSOR_DESCRIPTOR_INIT;
	WNNTensor tensor = NULL;

	descriptor.dataType = WNNOperandDataType_Float32;
	descriptor.shape = WNN_UINT32_ARRAY(shape);
	descriptor.readable = descriptor.writable = WNN_TRUE;
	wnnContextCreateTensorSync(context, &descriptor, WNN_WAIT_FOREVER, &tensor);
	return tensor;
}

int main(void)
{
	WNNInstance instance = wnnCreateInstance(NULL);
	WNNContext context = open_device(instance);
	WNNNamedTensor in = { WNN_STR("x"), NULL }, out = { WNN_STR("y"), NULL };
	WNNGraph graph;
	void *memory;
	float first;

	weights[0] = 100;
	graph = build(context);
	if (!graph)
		return 1;
	print_placement(graph);
	in.tensor = make_tensor(context);
	out.tensor = make_tensor(context);
	/*
	 * Maps the tensor's own memory: no copy. Nothing else may use the tensor until
	 * wnnTensorUnmap().
	 */
	if (wnnContextMapTensorSync(context, in.tensor, WNNMapMode_Write, WNN_WAIT_FOREVER,
				    &memory))
		return 1;
	((float *)memory)[0] = 1;
	wnnTensorUnmap(in.tensor);
	wnnContextDispatch(context, graph, 1, &in, 1, &out);
	if (wnnContextMapTensorSync(context, out.tensor, WNNMapMode_Read, WNN_WAIT_FOREVER,
				    &memory))
		return 1;
	first = *(float *)memory;
	wnnTensorUnmap(out.tensor);
	printf("tanh(100) = %g\n", first);
	wnnTensorRelease(in.tensor);
	wnnTensorRelease(out.tensor);
	wnnGraphRelease(graph);
	wnnContextRelease(context);
	wnnInstanceRelease(instance);
	return first == 1 ? 0 : 1;
}
