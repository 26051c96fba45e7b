// SPDX-License-Identifier: MIT
/*
 * Uses memory of the application on an NPU, for guest_share.sh:
 *
 *   driver-lend shared|private
 *
 * It lends memory from a shared or a private mapping to the input and the output tensor of a graph,
 * checks the result, and prints how many bytes of input and of output were copied. Then it saves
 * the graph, loads it again, and checks the result of the loaded graph. The status is 1 when a
 * result is wrong or no NPU has computed it.
 */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include <webnn/webnn.h>
#include <webnn/webnn_npu.h>

#define COUNT 4096u

static void check(WNNStatus status)
{
	WNNError error = WNN_ERROR_INIT;

	if (status == WNNStatus_Success)
		return;
	wnnGetLastError(&error);
	fprintf(stderr, "# " WNN_SV_FMT "\n", WNN_SV_ARG(error.message));
	exit(1);
}

static float *map(int kind)
{
	float *memory = mmap(NULL, COUNT * sizeof(float), PROT_READ | PROT_WRITE,
			     kind | MAP_ANONYMOUS, -1, 0);

	if (memory != MAP_FAILED)
		return memory;
	perror("# mmap");
	exit(1);
}

static WNNTensor lend(WNNContext context, float *data)
{
	WNNTensorHostMemory memory = WNN_TENSOR_HOST_MEMORY_INIT;
	WNNTensorDescriptor descriptor = WNN_TENSOR_DESCRIPTOR_INIT;
	WNNTensor tensor;

	memory.data = data;
	memory.size = COUNT * sizeof(float);
	descriptor.nextInChain = &memory.chain;
	descriptor.dataType = WNNOperandDataType_Float32;
	descriptor.shape = WNN_UINT32_LIST(COUNT);
	check(wnnContextCreateTensorSync(context, &descriptor, WNN_WAIT_FOREVER, &tensor));
	return tensor;
}

static WNNGraph relu(WNNContext context)
{
	WNNGraphBuilder builder = wnnContextCreateGraphBuilder(context);
	WNNOperandDescriptor operand = WNN_OPERAND_DESCRIPTOR_INIT;
	WNNNamedOperand y = { WNN_STR("y"), NULL };
	WNNGraph graph;

	operand.dataType = WNNOperandDataType_Float32;
	operand.shape = WNN_UINT32_LIST(COUNT);
	y.operand = wnnGraphBuilderRelu(
		builder, wnnGraphBuilderInput(builder, WNN_STR("x"), &operand), NULL);
	check(wnnGraphBuilderBuildSync(builder, 1, &y, WNN_WAIT_FOREVER, &graph));
	wnnGraphBuilderRelease(builder);
	return graph;
}

/*
 * Runs the graph with other numbers than in the last call, and sets *@copies to the bytes that were
 * copied. Returns whether an NPU has computed the right result.
 */
static bool computes(WNNContext context, WNNGraph graph, const float *y, float *x,
		     WNNNamedTensor tensors[2], WNNDispatchCopies *copies)
{
	WNNDispatchStatistics statistics = WNN_DISPATCH_STATISTICS_INIT;
	static int first;
	bool good = true;

	first += 100;
	statistics.nextInChain = &copies->chain;
	for (unsigned int i = 0; i < COUNT; i++)
		x[i] = (float)((int)i - first);
	check(wnnContextDispatchMeasuredSync(context, graph, 1, &tensors[0], 1, &tensors[1],
					     WNN_WAIT_FOREVER, &statistics));
	for (unsigned int i = 0; i < COUNT; i++)
		good = good && y[i] == (x[i] < 0 ? 0 : x[i]);
	return good && statistics.npuNodes;
}

int main(int argc, char **argv)
{
	const bool shared = argc == 2 && !strcmp(argv[1], "shared");
	const int kind = shared ? MAP_SHARED : MAP_PRIVATE;
	WNNDispatchCopies copies = WNN_DISPATCH_COPIES_INIT, again = copies;
	WNNInstance instance = wnnCreateInstance(NULL);
	char path[] = "/tmp/driver-lend.XXXXXX";
	float *x = map(kind), *y = map(kind);
	WNNNamedTensor tensors[2];
	WNNGraph graph, loaded;
	WNNContext context;
	bool good;

	if (!shared && (argc != 2 || strcmp(argv[1], "private") != 0)) {
		fprintf(stderr, "usage: driver-lend shared|private\n");
		return 2;
	}
	check(wnnInstanceCreateContextSync(instance, NULL, WNN_WAIT_FOREVER, &context));
	tensors[0] = (WNNNamedTensor){ WNN_STR("x"), lend(context, x) };
	tensors[1] = (WNNNamedTensor){ WNN_STR("y"), lend(context, y) };
	graph = relu(context);
	good = computes(context, graph, y, x, tensors, &copies);
	printf("%llu %llu\n", (unsigned long long)copies.bytesIn,
	       (unsigned long long)copies.bytesOut);
	if (mkstemp(path) < 0) {
		perror("# mkstemp");
		return 1;
	}
	check(wnnGraphSave(graph, WNN_STR(path)));
	check(wnnContextLoadGraphSync(context, WNN_STR(path), WNN_WAIT_FOREVER, &loaded));
	good = good && computes(context, loaded, y, x, tensors, &again);
	remove(path);
	wnnTensorRelease(tensors[0].tensor);
	wnnTensorRelease(tensors[1].tensor);
	wnnGraphRelease(graph);
	wnnGraphRelease(loaded);
	wnnContextRelease(context);
	wnnInstanceRelease(instance);
	return good ? 0 : 1;
}
