// SPDX-License-Identifier: MIT
/*
 * Runs one graph for texts of any length from 1 to 512: attention of one query over the rows of a
 * table. The lengths are arguments of the program.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include <webnn/webnn_npu.h>

#define LONGEST 512
#define WIDTH	4

static void check(WNNStatus status)
{
	WNNError error = WNN_ERROR_INIT;

	if (status == WNNStatus_Success)
		return;
	wnnGetLastError(&error);
	fprintf(stderr, "%.*s\n", (int)error.message.length, error.message.data);
	exit(1);
}

/* The table has a dimension that is known only at dispatch; those of the query are fixed. */
static WNNGraph build(WNNContext context)
{
	WNNGraphBuilder b = wnnContextCreateGraphBuilder(context);
	WNNOperandDescriptor table = WNN_OPERAND_DESCRIPTOR_INIT, query = table;
	WNNDimensionRanges ranges = WNN_DIMENSION_RANGES_INIT;
	const WNNDimensionRange of_table[] = { { WNN_STR("length"), 1, LONGEST },
					       WNN_DIMENSION_RANGE_INIT };
	WNNOperand q, rows, scores, weights, mean;
	WNNNamedOperand outputs[2];
	WNNGraph graph = NULL;
	uint32_t length;

	ranges.rangeCount = 2;
	ranges.ranges = of_table;
	table.nextInChain = &ranges.chain;
	table.dataType = query.dataType = WNNOperandDataType_Float32;
	/* The shape has the largest size. */
	table.shape = WNN_UINT32_LIST(LONGEST, WIDTH);
	query.shape = WNN_UINT32_LIST(1, WIDTH);
	rows = wnnGraphBuilderInput(b, WNN_STR("rows"), &table);
	q = wnnGraphBuilderInput(b, WNN_STR("query"), &query);
	scores = wnnGraphBuilderMatmul(b, q, wnnGraphBuilderTranspose(b, rows, NULL), NULL);
	scores = wnnGraphBuilderSoftmax(b, scores, 1, NULL);
	mean = wnnGraphBuilderMatmul(b, scores, rows, NULL);
	/* Makes a number that stands for the length in a list of sizes. */
	length = wnnGraphBuilderDimension(b, WNN_STR("length"), 1, 0, 1);
	weights = wnnGraphBuilderReshape(b, scores, WNN_UINT32_LIST(length), NULL);
	outputs[0] = (WNNNamedOperand){ WNN_STR("mean"), mean };
	outputs[1] = (WNNNamedOperand){ WNN_STR("weights"), weights };
	/* A call that failed gave NULL, which is refused here with the first message. */
	check(wnnGraphBuilderBuildSync(b, 2, outputs, WNN_WAIT_FOREVER, &graph));
	wnnGraphBuilderRelease(b);
	return graph;
}

static WNNTensor make_tensor(WNNContext context, WNNUint32Array shape)
{
	WNNTensorDescriptor descriptor = WNN_TENSOR_DESCRIPTOR_INIT;
	WNNTensor tensor = NULL;

	descriptor.dataType = WNNOperandDataType_Float32;
	descriptor.shape = shape;
	descriptor.readable = descriptor.writable = WNN_TRUE;
	check(wnnContextCreateTensorSync(context, &descriptor, WNN_WAIT_FOREVER, &tensor));
	return tensor;
}

static void run(WNNContext context, WNNGraph graph, WNNTensor query, uint32_t length)
{
	WNNTensor rows = make_tensor(context, WNN_UINT32_LIST(length, WIDTH));
	WNNNamedTensor in[] = { { WNN_STR("query"), query }, { WNN_STR("rows"), rows } }, out[2];
	WNNNamedOperandDescriptors shapes = WNN_NAMED_OPERAND_DESCRIPTORS_INIT;
	float data[LONGEST * WIDTH], mean[WIDTH];

	for (uint32_t i = 0; i < length * WIDTH; i++)
		data[i] = (float)(i % 8) / 8;
	check(wnnContextWriteTensor(context, rows, data, length * WIDTH * sizeof(*data)));
	check(wnnGraphComputeShapes(graph, 2, in, &shapes));
	for (size_t i = 0; i < shapes.count; i++)
		out[i] = (WNNNamedTensor){ shapes.data[i].name,
					   make_tensor(context, shapes.data[i].shape) };
	check(wnnContextDispatch(context, graph, 2, in, 2, out));
	check(wnnContextReadTensorIntoSync(context, out[0].tensor, mean, sizeof(mean),
					   WNN_WAIT_FOREVER));
	printf("%" PRIu32 " rows: %" PRIu32 " weights, mean %.3f %.3f %.3f %.3f\n", length,
	       shapes.data[1].shape.data[0], (double)mean[0], (double)mean[1], (double)mean[2],
	       (double)mean[3]);
	for (size_t i = 0; i < shapes.count; i++)
		wnnTensorRelease(out[i].tensor);
	wnnNamedOperandDescriptorsFreeMembers(shapes);
	wnnTensorRelease(rows);
}

int main(int argc, char **argv)
{
	static const float ones[WIDTH] = { 1, 1, 1, 1 };
	WNNInstance instance = wnnCreateInstance(NULL);
	WNNContext context = NULL;
	WNNString text = WNN_STRING_INIT;
	WNNTensor query;
	WNNGraph graph;

	check(wnnInstanceCreateContextSync(instance, NULL, WNN_WAIT_FOREVER, &context));
	graph = build(context);
	query = make_tensor(context, WNN_UINT32_LIST(1, WIDTH));
	check(wnnContextWriteTensor(context, query, ones, sizeof(ones)));
	run(context, graph, query, 2);
	run(context, graph, query, 100);
	for (int i = 1; i < argc; i++)
		run(context, graph, query, (uint32_t)strtoul(argv[i], NULL, 10));
	/* Prints the sizes that are compiled, and the time and memory that each took. */
	check(wnnGraphGetText(graph, WNNGraphText_Dimensions, &text));
	printf("%s", text.data);
	wnnStringFreeMembers(text);
	wnnTensorRelease(query);
	wnnGraphRelease(graph);
	wnnContextRelease(context);
	wnnInstanceRelease(instance);
	return 0;
}
