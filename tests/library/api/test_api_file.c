// SPDX-License-Identifier: MIT
/* Tests that a saved graph is the same when it is loaded, and that no other file is accepted. */
#include "fixture.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "api/graph_file.h"
#include "util/bytes.h"

#define N 24

struct folder {
	char path[64], file[96];
	WNNInstance instance;
};

static int setup(void **state)
{
	static struct folder folder;

	snprintf(folder.path, sizeof(folder.path), "/tmp/test-api-file-XXXXXX");
	if (!mkdtemp(folder.path))
		return -1;
	snprintf(folder.file, sizeof(folder.file), "%s/graph", folder.path);
	folder.instance = wnnCreateInstance(NULL);
	*state = &folder;
	return folder.instance ? 0 : -1;
}

static int teardown(void **state)
{
	struct folder *f = *state;

	wnnInstanceRelease(f->instance);
	unlink(f->file);
	return rmdir(f->path);
}

/* ---- files as bytes */

struct bytes {
	uint8_t *data;
	size_t size;
};

static struct bytes read_file(const char *path)
{
	FILE *file = fopen(path, "rb");
	struct stat status;
	struct bytes b;

	assert_non_null(file);
	assert_int_equal(fstat(fileno(file), &status), 0);
	b.size = (size_t)status.st_size;
	b.data = malloc(b.size + 1);
	assert_int_equal(fread(b.data, 1, b.size, file), b.size);
	fclose(file);
	return b;
}

static void write_file(const char *path, const void *data, size_t size)
{
	FILE *file = fopen(path, "wb");

	assert_non_null(file);
	assert_int_equal(fwrite(data, 1, size, file), size);
	assert_int_equal(fclose(file), 0);
}

static struct graph_file_header *header_of(const struct bytes *b)
{
	return (void *)b->data;
}

/* Sets both checksums of the file to those of its present contents. */
static void sign(const struct bytes *b)
{
	header_of(b)->content_hash = graph_file_content(header_of(b), b->data);
	header_of(b)->checksum = graph_file_checksum(header_of(b));
}

/* ---- graphs */

static WNNContext open_policy(const struct folder *f, const char *device, WNNPlacementPolicy policy)
{
	WNNContextDeviceOptions options = WNN_CONTEXT_DEVICE_OPTIONS_INIT;

	options.device = WNN_STR(device);
	options.placementPolicy = policy;
	options.simSramBytes = strcmp(device, "sim") != 0 ? 0 : 65536;
	return open_context_with(f->instance, &options);
}

/*
 * Builds y = -sum(spread(relu(x * w - 3))), where spread is a transposed convolution whose strides
 * are too wide for the NPU, so that it divides the NPU's program. The output "twice" is y once
 * more; "relu" is the result of relu.
 */
static WNNGraph build_all(WNNContext context)
{
	static float weights[N * N], filter = 2;
	WNNGraphBuilder b = wnnContextCreateGraphBuilder(context);
	WNNConvTranspose2dOptions spread = WNN_CONV_TRANSPOSE2D_OPTIONS_INIT;
	WNNOperandDescriptor one = WNN_OPERAND_DESCRIPTOR_INIT;
	WNNOperatorOptions label = WNN_OPERATOR_OPTIONS_INIT;
	WNNNamedOperand outputs[3];
	WNNOperand v, relu;
	WNNGraph graph = NULL;

	for (int i = 0; i < N * N; i++)
		weights[i] = (float)(i % 7) - 3;
	one.dataType = WNNOperandDataType_Float32;
	one.shape = WNN_UINT32_LIST(1, 1, 1, 1);
	v = wnnGraphBuilderMatmul(b, make_input(b, "x", N, N), make_constant(b, weights, N, N),
				  NULL);
	v = wnnGraphBuilderAdd(b, v, make_constant(b, weights, 1, 1), NULL);
	label.label = WNN_STR("the \"relu\"");
	relu = v = wnnGraphBuilderRelu(b, v, &label);
	v = wnnGraphBuilderReshape(b, v, WNN_UINT32_LIST(1, 1, N, N), NULL);
	spread.strides = WNN_UINT32_LIST(1, 4097);
	spread.label = WNN_STR("wide");
	v = wnnGraphBuilderConvTranspose2d(
		b, v, wnnGraphBuilderConstant(b, &one, &filter, sizeof(filter)), &spread);
	v = wnnGraphBuilderReduceSum(b, v, NULL);
	v = wnnGraphBuilderReshape(b, v, WNN_UINT32_LIST(1, 1), NULL);
	outputs[0] = (WNNNamedOperand){ WNN_STR("y"), wnnGraphBuilderNeg(b, v, NULL) };
	outputs[1] = (WNNNamedOperand){ WNN_STR("twice"), outputs[0].operand };
	outputs[2] = (WNNNamedOperand){ WNN_STR("relu"), relu };
	assert_ok(wnnGraphBuilderBuildSync(b, 3, outputs, GENEROUS, &graph));
	wnnGraphBuilderRelease(b);
	return graph;
}

struct results {
	float y, twice, relu[N * N];
};

static void run_all(WNNContext context, WNNGraph graph, struct results *results)
{
	WNNTensor x = make_tensor(context, N, N), y = make_tensor(context, 1, 1);
	WNNTensor twice = make_tensor(context, 1, 1), relu = make_tensor(context, N, N);
	const WNNNamedTensor inputs[] = { { WNN_STR("x"), x } };
	const WNNNamedTensor outputs[] = { { WNN_STR("y"), y },
					   { WNN_STR("twice"), twice },
					   { WNN_STR("relu"), relu } };
	float data[N * N];

	for (int i = 0; i < N * N; i++)
		data[i] = (float)(i % 11) - 5;
	assert_ok(wnnContextWriteTensor(context, x, data, sizeof(data)));
	assert_ok(wnnContextDispatch(context, graph, 1, inputs, 3, outputs));
	assert_ok(wnnContextReadTensorIntoSync(context, y, &results->y, sizeof(float), GENEROUS));
	assert_ok(wnnContextReadTensorIntoSync(context, twice, &results->twice, sizeof(float),
					       GENEROUS));
	assert_ok(
		wnnContextReadTensorIntoSync(context, relu, results->relu, sizeof(data), GENEROUS));
	wnnTensorRelease(x);
	wnnTensorRelease(y);
	wnnTensorRelease(twice);
	wnnTensorRelease(relu);
}

static WNNStatus load(WNNContext context, const char *path, WNNGraph *graph)
{
	return wnnContextLoadGraphSync(context, WNN_STR(path), GENEROUS, graph);
}

/* Builds y = the indices of the two smallest elements of each row of relu(x). */
static WNNGraph build_selection(WNNContext context)
{
	WNNGraphBuilder b = wnnContextCreateGraphBuilder(context);
	WNNArgMinMaxDetails details = WNN_ARG_MIN_MAX_DETAILS_INIT;
	WNNArgMinMaxOptions options = WNN_ARG_MIN_MAX_OPTIONS_INIT;
	WNNDeviceInfo info = WNN_DEVICE_INFO_INIT, same = info;
	WNNNamedOperand output = { WNN_STR("y"), NULL };
	WNNGraph graph = NULL;

	assert_ok(wnnGraphBuilderGetDeviceInfo(b, &info));
	assert_ok(wnnContextGetDeviceInfo(context, &same));
	assert_ptr_equal(info.device.data, same.device.data);
	assert_int_equal(info.accelerated, same.accelerated);
	details.count = 2;
	options.nextInChain = &details.chain;
	output.operand = wnnGraphBuilderArgMin(
		b, wnnGraphBuilderRelu(b, make_input(b, "x", 2, 4), NULL), 1, &options);
	assert_ok(wnnGraphBuilderBuildSync(b, 1, &output, GENEROUS, &graph));
	wnnGraphBuilderRelease(b);
	return graph;
}

static void check_selection(WNNContext context, WNNGraph graph)
{
	const float data[] = { 3, -1, 0, 2, 5, 6, 4, 4 };
	const int32_t expected[] = { 1, 2, 2, 3 };
	WNNNamedTensor x = { WNN_STR("x"), make_tensor(context, 2, 4) };
	WNNTensorDescriptor integers = WNN_TENSOR_DESCRIPTOR_INIT;
	WNNNamedTensor y = { WNN_STR("y"), NULL };
	int32_t found[4];

	integers.dataType = WNNOperandDataType_Int32;
	integers.shape = WNN_UINT32_LIST(2, 2);
	integers.readable = WNN_TRUE;
	assert_ok(wnnContextCreateTensorSync(context, &integers, GENEROUS, &y.tensor));
	assert_ok(wnnContextWriteTensor(context, x.tensor, data, sizeof(data)));
	assert_ok(wnnContextDispatch(context, graph, 1, &x, 1, &y));
	assert_ok(wnnContextReadTensorIntoSync(context, y.tensor, found, sizeof(found), GENEROUS));
	assert_memory_equal(found, expected, sizeof(expected));
	wnnTensorRelease(x.tensor);
	wnnTensorRelease(y.tensor);
}

static void check_view(WNNStringView a, WNNStringView b)
{
	assert_int_equal(a.length, b.length);
	assert_memory_equal(a.data, b.data, a.length);
}

static void check_same_placement(WNNGraph built, WNNGraph loaded)
{
	WNNGraphPlacement a = WNN_GRAPH_PLACEMENT_INIT, b = WNN_GRAPH_PLACEMENT_INIT;
	WNNGraphPlacementRules rules[2] = { WNN_GRAPH_PLACEMENT_RULES_INIT,
					    WNN_GRAPH_PLACEMENT_RULES_INIT };

	a.nextInChain = &rules[0].chain;
	b.nextInChain = &rules[1].chain;
	assert_ok(wnnGraphGetPlacement(built, &a));
	assert_ok(wnnGraphGetPlacement(loaded, &b));
	assert_int_equal(a.nodeCount, b.nodeCount);
	assert_int_equal(a.npuCount, b.npuCount);
	assert_int_equal(a.cpuCount, b.cpuCount);
	assert_int_equal(a.foldedCount, b.foldedCount);
	assert_int_equal(a.compilerLimitCount, b.compilerLimitCount);
	for (size_t i = 0; i < a.nodeCount; i++) {
		check_view(a.nodes[i].operatorName, b.nodes[i].operatorName);
		check_view(a.nodes[i].label, b.nodes[i].label);
		check_view(a.nodes[i].kernel, b.nodes[i].kernel);
		check_view(a.nodes[i].reasonText, b.nodes[i].reasonText);
		check_view(rules[0].rules[i], rules[1].rules[i]);
		assert_int_equal(a.nodes[i].device, b.nodes[i].device);
		assert_int_equal(a.nodes[i].reason, b.nodes[i].reason);
		assert_int_equal(a.nodes[i].exactness, b.nodes[i].exactness);
		assert_int_equal(a.nodes[i].fusedInto, b.nodes[i].fusedInto);
		assert_int_equal(a.nodes[i].estimatedCycles, b.nodes[i].estimatedCycles);
	}
}

static void check_ports(WNNNamedOperandDescriptorArray a, WNNNamedOperandDescriptorArray b)
{
	assert_int_equal(a.count, b.count);
	for (size_t i = 0; i < a.count; i++) {
		check_view(a.data[i].name, b.data[i].name);
		assert_int_equal(a.data[i].dataType, b.data[i].dataType);
		assert_int_equal(a.data[i].shape.count, b.data[i].shape.count);
		assert_memory_equal(a.data[i].shape.data, b.data[i].shape.data,
				    a.data[i].shape.count * sizeof(uint32_t));
	}
}

/* ---- loading what was saved */

static void check_round_trip(struct folder *f, const char *device, WNNPlacementPolicy policy)
{
	WNNContext context = open_policy(f, device, policy), other;
	WNNGraph built = build_all(context), loaded = NULL;
	struct results before, after;
	struct bytes first, second;

	run_all(context, built, &before);
	assert_ok(wnnGraphSave(built, WNN_STR(f->file)));
	first = read_file(f->file);
	other = open_policy(f, device, policy);
	assert_ok(load(other, f->file, &loaded));
	check_same_placement(built, loaded);
	check_ports(wnnGraphGetInputs(built), wnnGraphGetInputs(loaded));
	check_ports(wnnGraphGetOutputs(built), wnnGraphGetOutputs(loaded));
	assert_int_equal(wnnGraphGetNodeCount(built), wnnGraphGetNodeCount(loaded));
	/* The loaded graph works without the built one and without the file. */
	wnnGraphRelease(built);
	wnnContextRelease(context);
	assert_ok(wnnGraphSave(loaded, WNN_STR(f->file)));
	second = read_file(f->file);
	assert_int_equal(first.size, second.size);
	assert_memory_equal(first.data, second.data, first.size);
	unlink(f->file);
	for (int i = 0; i < 3; i++) {
		memset(&after, 0, sizeof(after));
		run_all(other, loaded, &after);
		assert_memory_equal(&before, &after, sizeof(before));
		assert_true(after.y == after.twice && after.y != 0);
	}
	wnnGraphDestroy(loaded);
	assert_failed(wnnGraphSave(loaded, WNN_STR(f->file)), WNNStatus_InvalidStateError,
		      "the graph is destroyed");
	wnnGraphRelease(loaded);
	wnnContextRelease(other);
	free(first.data);
	free(second.data);
}

static void loaded_graphs_are_the_same(void **state)
{
	check_round_trip(*state, "cpu", WNNPlacementPolicy_PreferNPU);
	check_round_trip(*state, "sim", WNNPlacementPolicy_PreferNPU);
	check_round_trip(*state, "sim", WNNPlacementPolicy_CPUOnly);
}

static void loading_is_asynchronous(void **state)
{
	struct folder *f = *state;
	WNNContext context = open_context(f->instance, "sim");
	struct notes *notes = notes_create();
	WNNGraph graph = build_add_relu(context, 4, 4);

	assert_ok(wnnGraphSave(graph, WNN_STR(f->file)));
	wnnGraphRelease(graph);
	wnnContextLoadGraph(context, WNN_STR(f->file),
			    note_build(notes, WNNCallbackMode_AllowSpontaneous, 1));
	wnnContextLoadGraph(context, WNN_STR("/nowhere/at all"),
			    note_build(notes, WNNCallbackMode_AllowSpontaneous, 2));
	assert_true(notes_wait(notes, 2));
	assert_int_equal(notes_get(notes, 0).tag, 1);
	assert_int_equal(notes_get(notes, 0).status, WNNStatus_Success);
	wnnGraphRelease(notes_get(notes, 0).object);
	assert_int_equal(notes_get(notes, 1).status, WNNStatus_OperationError);
	assert_null(notes_get(notes, 1).object);
	wnnContextDestroy(context);
	assert_failed(load(context, f->file, &graph), WNNStatus_InvalidStateError, "");
	assert_null(graph);
	wnnContextRelease(context);
}

/* ---- refusals */

/* Checks that loading the file fails, with `text` in the message. */
static void refused(WNNContext context, const char *path, WNNStatus status, const char *text)
{
	WNNGraph graph = (WNNGraph)&graph;

	assert_failed(load(context, path, &graph), status, text);
	assert_null(graph);
}

static void paths_that_are_wrong(void **state)
{
	struct folder *f = *state;
	WNNContext context = open_context(f->instance, "cpu");
	WNNGraph graph = build_add_relu(context, 2, 2);
	const WNNStringView nul = { "a\0b", 3 };
	WNNGraph loaded;
	char path[128];

	refused(context, "", WNNStatus_TypeError, "load: the path is empty");
	assert_failed(wnnContextLoadGraphSync(context, nul, GENEROUS, &loaded), WNNStatus_TypeError,
		      "load: the path has a NUL in it");
	unlink(f->file);
	refused(context, f->file, WNNStatus_OperationError, "graph\" cannot be opened: No such");
	refused(context, f->path, WNNStatus_OperationError, "is not a saved graph");
	assert_failed(wnnGraphSave(graph, WNN_STR("")), WNNStatus_TypeError,
		      "save: the path is empty");
	assert_failed(wnnGraphSave(graph, nul), WNNStatus_TypeError,
		      "save: the path has a NUL in it");
	snprintf(path, sizeof(path), "%s/none/graph", f->path);
	assert_failed(wnnGraphSave(graph, WNN_STR(path)), WNNStatus_OperationError,
		      "graph\" cannot be made: No such file or directory");
	assert_failed(wnnGraphSave(graph, WNN_STR(f->path)), WNNStatus_OperationError,
		      "cannot be replaced: it is not a regular file");
	assert_failed(wnnGraphSave(graph, WNN_STR("/dev/null")), WNNStatus_OperationError,
		      "\"/dev/null\" cannot be replaced: it is not a regular file");
	wnnGraphRelease(graph);
	wnnContextRelease(context);
}

/*
 * When the new file is larger than the process may write, the old one stays and nothing is left
 * beside it.
 */
static void files_that_cannot_be_written(void **state)
{
	struct folder *f = *state;
	WNNContext context = open_context(f->instance, "cpu");
	WNNGraph graph = build_add_relu(context, 2, 2);
	struct rlimit before, small;

	assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
	small = before;
	small.rlim_cur = 5000;
	signal(SIGXFSZ, SIG_IGN);
	write_file(f->file, "before", 6);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
	assert_failed(wnnGraphSave(graph, WNN_STR(f->file)), WNNStatus_OperationError,
		      "graph\" cannot be written: File too large");
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
	refused(context, f->file, WNNStatus_OperationError, "it is too short");
	assert_ok(wnnGraphSave(graph, WNN_STR(f->file)));
	wnnGraphRelease(graph);
	wnnContextRelease(context);
}

static void files_of_others(void **state)
{
	struct folder *f = *state;
	WNNContext context = open_context(f->instance, "sim"), other;
	WNNContextDeviceOptions options = WNN_CONTEXT_DEVICE_OPTIONS_INIT;
	WNNGraph graph = build_add_relu(context, 4, 4);
	struct graph_file_header *h;
	struct bytes b;

	assert_ok(wnnGraphSave(graph, WNN_STR(f->file)));
	b = read_file(f->file);
	h = header_of(&b);
	wnnGraphRelease(graph);
	other = open_context(f->instance, "cpu");
	refused(other, f->file, WNNStatus_NotSupportedError, "this is cpu with 0");
	wnnContextRelease(other);
	options.device = WNN_STR("sim");
	options.simSramBytes = 16384;
	other = open_context_with(f->instance, &options);
	refused(other, f->file, WNNStatus_NotSupportedError,
		"was saved for the device onpu-custom with 65536 bytes of SRAM, this is "
		"onpu-custom with 16384");
	wnnContextRelease(other);
	options.simSramBytes = 65536;
	options.profile = WNN_TRUE;
	other = open_context_with(f->instance, &options);
	refused(other, f->file, WNNStatus_NotSupportedError,
		"was saved without profile, this context was made with it: make it without");
	wnnContextRelease(other);
	h->isa_major++;
	sign(&b);
	write_file(f->file, b.data, b.size);
	refused(context, f->file, WNNStatus_NotSupportedError,
		"has programs of version 3 of the instruction set, this library makes those of "
		"version 2");
	h->isa_major--;
	memset(h->packing, 0, sizeof(h->packing));
	memcpy(h->packing, "abacus", 7);
	sign(&b);
	write_file(f->file, b.data, b.size);
	refused(context, f->file, WNNStatus_NotSupportedError,
		"was saved for the CPU's kernels abacus, this context has ");
	memcpy(h->version, "0.9.7", 6);
	sign(&b);
	write_file(f->file, b.data, b.size);
	refused(context, f->file, WNNStatus_NotSupportedError,
		"was saved by version 0.9.7 of the library, this is 1.");
	memcpy(h->version, WNN_VERSION_TEXT, sizeof(WNN_VERSION_TEXT));
	h->form_hash++;
	sign(&b);
	write_file(f->file, b.data, b.size);
	refused(context, f->file, WNNStatus_NotSupportedError, " of another build");
	h->form_hash--;
	h->header_bytes++;
	sign(&b);
	write_file(f->file, b.data, b.size);
	refused(context, f->file, WNNStatus_OperationError,
		"is damaged: the checksum of its header is wrong; copy it again");
	h->header_bytes--;
	h->form_hash++;
	h->format++;
	sign(&b);
	write_file(f->file, b.data, b.size);
	refused(context, f->file, WNNStatus_NotSupportedError,
		"has format 9, this library reads format 8");
	free(b.data);
	wnnContextRelease(context);
}

/*
 * A graph that was saved for one machine is refused by the other, with a message that names both;
 * its own machine takes it.
 */
static void files_of_another_machine(void **state)
{
	static const char *const machines[2] = { "onpu-ref1", "onpu-ref2" };
	WNNContextDeviceOptions options = WNN_CONTEXT_DEVICE_OPTIONS_INIT;
	struct folder *f = *state;

	options.device = WNN_STR("sim");
	for (int i = 0; i < 2; i++) {
		WNNContext context;
		WNNGraph graph;
		char text[160];

		setenv("WEBNN_SIM_MACHINE", machines[i], 1);
		context = open_context_with(f->instance, &options);
		graph = build_add_relu(context, 4, 4);
		assert_ok(wnnGraphSave(graph, WNN_STR(f->file)));
		wnnGraphRelease(graph);
		assert_ok(load(context, f->file, &graph));
		wnnGraphRelease(graph);
		wnnContextRelease(context);
		setenv("WEBNN_SIM_MACHINE", machines[!i], 1);
		context = open_context_with(f->instance, &options);
		snprintf(text, sizeof(text),
			 "was saved for the device %s with 4194304 bytes of SRAM, this is %s with "
			 "4194304, or one that differs otherwise; build the graph and save it anew",
			 machines[i], machines[!i]);
		refused(context, f->file, WNNStatus_NotSupportedError, text);
		wnnContextRelease(context);
	}
	unsetenv("WEBNN_SIM_MACHINE");
}

static void policies_that_do_not_suit(void **state)
{
	struct folder *f = *state;
	WNNContext prefers = open_policy(f, "sim", WNNPlacementPolicy_PreferNPU);
	WNNContext npu = open_policy(f, "sim", WNNPlacementPolicy_NPUOnly);
	WNNContext cpu = open_policy(f, "sim", WNNPlacementPolicy_CPUOnly);
	WNNGraph graph = build_all(prefers);

	assert_ok(wnnGraphSave(graph, WNN_STR(f->file)));
	refused(npu, f->file, WNNStatus_OperationError,
		"does not suit the placement policy: its convTranspose2d \"wide\" runs on the CPU");
	refused(cpu, f->file, WNNStatus_OperationError,
		"does not suit the placement policy: its matmul runs on the NPU; choose another "
		"policy");
	wnnGraphRelease(graph);
	wnnContextRelease(prefers);
	wnnContextRelease(npu);
	wnnContextRelease(cpu);
}

/* Returns whether a checksum covers the byte at @at: none covers those between the sections. */
static bool is_covered(const struct graph_file_header *h, size_t at)
{
	if (at < sizeof(*h))
		return true;
	for (int i = 0; i < GRAPH_FILE_PARTS; i++)
		if (at >= h->part[i].offset && at - h->part[i].offset < h->part[i].bytes)
			return true;
	return false;
}

static void damaged_files(void **state)
{
	struct folder *f = *state;
	WNNContext context = open_context(f->instance, "sim");
	WNNGraph graph = build_all(context);
	struct graph_file_header *h;
	struct bytes b;
	size_t last;

	assert_ok(wnnGraphSave(graph, WNN_STR(f->file)));
	b = read_file(f->file);
	h = header_of(&b);
	for (size_t size = 0; size < b.size; size += size < sizeof(*h) ? 37 : 1021) {
		write_file(f->file, b.data, size);
		refused(context, f->file, WNNStatus_OperationError,
			size < sizeof(*h) ? "it is too short" : "is damaged: it has ");
	}
	b.data[b.size] = 0;
	write_file(f->file, b.data, b.size + 1);
	refused(context, f->file, WNNStatus_OperationError, "is damaged: it has ");
	for (size_t at = last = 0; at < b.size; at += at < sizeof(*h) ? 1 : 61) {
		WNNStatus status;

		if (!is_covered(h, at))
			continue;
		last = at;
		b.data[at] ^= 1 << at % 8;
		write_file(f->file, b.data, b.size);
		status = load(context, f->file, &graph);
		assert_true(status == WNNStatus_OperationError ||
			    (at < 40 && status == WNNStatus_NotSupportedError));
		b.data[at] ^= 1 << at % 8;
	}
	assert_true(last > h->part[GRAPH_FILE_CODE].offset);
	write_file(f->file, b.data, b.size);
	assert_ok(load(context, f->file, &graph));
	wnnGraphRelease(graph);
	b.data[0] = '#';
	write_file(f->file, b.data, b.size);
	refused(context, f->file, WNNStatus_OperationError, "it begins with other bytes");
	free(b.data);
	wnnContextRelease(context);
}

/*
 * Files whose contents are damaged, with correct checksums; the last one's is correct for its
 * header only.
 */
static void unsound_files(void **state)
{
	static const struct {
		enum graph_file_part part;
		const char *text;
	} cases[] = {
		{ GRAPH_FILE_GRAPH, "is damaged inside: its placement report is damaged" },
		{ GRAPH_FILE_CODE, "is damaged inside: instruction " },
	};
	struct folder *f = *state;
	WNNContext context = open_context(f->instance, "sim");
	WNNGraph graph = build_all(context);
	struct graph_file_header *h;
	struct bytes b;

	assert_ok(wnnGraphSave(graph, WNN_STR(f->file)));
	wnnGraphRelease(graph);
	b = read_file(f->file);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct bytes bad = { malloc(b.size), b.size };

		memcpy(bad.data, b.data, b.size);
		h = header_of(&bad);
		memset(bad.data + h->part[cases[i].part].offset, 0xff, 64);
		sign(&bad);
		write_file(f->file, bad.data, bad.size);
		refused(context, f->file, WNNStatus_OperationError, cases[i].text);
		free(bad.data);
	}
	h = header_of(&b);
	h->part[GRAPH_FILE_CODE].bytes++;
	sign(&b);
	write_file(f->file, b.data, b.size);
	refused(context, f->file, WNNStatus_OperationError,
		"is damaged inside: there is more in it than its graph");
	h->part[GRAPH_FILE_CODE].bytes -= 4096;
	sign(&b);
	write_file(f->file, b.data, b.size);
	refused(context, f->file, WNNStatus_OperationError,
		"is damaged inside: its programs do not fit its code");
	h->part[GRAPH_FILE_CODE].offset++;
	header_of(&b)->checksum = graph_file_checksum(h);
	write_file(f->file, b.data, b.size);
	refused(context, f->file, WNNStatus_OperationError, "the checksum of its content is wrong");
	free(b.data);
	wnnContextRelease(context);
}

/* Kernels of the CPU rely on shapes, so a file whose shapes contradict each other is refused. */
static void shapes_that_do_not_fit(void **state)
{
	struct folder *f = *state;
	WNNContext context = open_context(f->instance, "cpu");
	WNNGraph graph = build_add_relu(context, 3, 5);
	/* Each dimension is a number of 64 bits and a symbol of 32. */
	const uint32_t dims[] = { 3, 0, 0, 5, 0, 0 };
	struct graph_file_header *h;
	uint8_t *part, *last = NULL;
	struct bytes b;

	assert_ok(wnnGraphSave(graph, WNN_STR(f->file)));
	wnnGraphRelease(graph);
	b = read_file(f->file);
	h = header_of(&b);
	part = b.data + h->part[GRAPH_FILE_GRAPH].offset;
	for (uint64_t i = 0; i + sizeof(dims) <= h->part[GRAPH_FILE_GRAPH].bytes; i++)
		if (!memcmp(part + i, dims, sizeof(dims)))
			last = part + i;
	/* The last match is the shape of the result: [3,5] becomes [2,5]. */
	assert_non_null(last);
	last[0] = 2;
	sign(&b);
	write_file(f->file, b.data, b.size);
	refused(context, f->file, WNNStatus_OperationError,
		"is damaged inside: node 0 (binary) of the saved graph, which the CPU computes, "
		"has shapes or types that do not fit each other");
	last[0] = 3;
	sign(&b);
	write_file(f->file, b.data, b.size);
	assert_ok(wnnContextLoadGraphSync(context, WNN_STR(f->file), GENEROUS, &graph));
	wnnGraphRelease(graph);
	free(b.data);
	wnnContextRelease(context);
}

/* Builds y = x * w + z, whose sum the CPU may fuse with the product. */
static WNNGraph build_sum(WNNContext context)
{
	static const float weights[16 * 16] = { 1 };
	WNNGraphBuilder b = wnnContextCreateGraphBuilder(context);
	WNNNamedOperand y = { WNN_STR("y"), NULL };
	WNNGraph graph = NULL;
	WNNOperand v;

	v = wnnGraphBuilderMatmul(b, make_input(b, "x", 16, 16), make_constant(b, weights, 16, 16),
				  NULL);
	y.operand = wnnGraphBuilderAdd(b, v, make_input(b, "z", 16, 16), NULL);
	assert_ok(wnnGraphBuilderBuildSync(b, 1, &y, GENEROUS, &graph));
	wnnGraphBuilderRelease(b);
	return graph;
}

/*
 * A file is refused if its kernels of the CPU, or the nodes that these fuse, are not those of this
 * build.
 */
static void kernels_of_another_build(void **state)
{
	static const char name[] = "cpu/matmul-";
	struct folder *f = *state;
	WNNContext context = open_context(f->instance, "cpu");
	WNNGraph graph = build_sum(context);
	uint8_t *part, *last = NULL, *place;
	struct graph_file_header *h;
	struct bytes b;
	bool joined;

	assert_ok(wnnGraphSave(graph, WNN_STR(f->file)));
	wnnGraphRelease(graph);
	b = read_file(f->file);
	h = header_of(&b);
	part = b.data + h->part[GRAPH_FILE_GRAPH].offset;
	for (uint64_t i = 0; i + strlen(name) <= h->part[GRAPH_FILE_GRAPH].bytes; i++)
		if (!memcmp(part + i, name, strlen(name)))
			last = part + i;
	/*
	 * `last` is the name of the kernel of the matmul. Before it are numbers of 32 bits: where
	 * each of the two nodes runs, the version of the packed operand, and the name's length.
	 */
	assert_non_null(last);
	last[4] = 'n';
	sign(&b);
	write_file(f->file, b.data, b.size);
	refused(context, f->file, WNNStatus_NotSupportedError,
		"cannot be used: the saved graph is of another build of the library, in which the "
		"CPU ran node 0 (matmul) with kernel cpu/natmul-");
	last[4] = 'm';
	/* For node 1, 0 means that it begins a step of the CPU; 2, that it is fused with node 0. */
	place = last - 3 * sizeof(uint32_t);
	joined = *place == 2;
	*place = joined ? 0 : 2;
	sign(&b);
	write_file(f->file, b.data, b.size);
	refused(context, f->file, WNNStatus_NotSupportedError,
		joined ? "where the CPU computed node 1 (binary) by itself, but here with the node "
			 "before" :
			 "where the CPU computed node 1 (binary) with the node before, but here by "
			 "itself");
	*place = joined ? 2 : 0;
	sign(&b);
	write_file(f->file, b.data, b.size);
	assert_ok(load(context, f->file, &graph));
	wnnGraphRelease(graph);
	free(b.data);
	wnnContextRelease(context);
}

/*
 * A selection of the smallest elements runs on the device where it is placed, also after loading.
 */
static void selections(void **state)
{
	static const char *const devices[] = { "cpu", "sim" };
	static const char *const kernels[] = { "cpu/topk", "vector topk" };
	struct folder *f = *state;

	for (int i = 0; i < 2; i++) {
		WNNContext context = open_policy(f, devices[i], WNNPlacementPolicy_PreferNPU);
		WNNGraph graph = build_selection(context), loaded = NULL;
		WNNGraphPlacement placement = WNN_GRAPH_PLACEMENT_INIT;

		assert_ok(wnnGraphGetPlacement(graph, &placement));
		assert_int_equal(placement.npuCount, 2 * i);
		assert_int_equal(
			strncmp(placement.nodes[1].kernel.data, kernels[i], strlen(kernels[i])), 0);
		check_selection(context, graph);
		assert_ok(wnnGraphSave(graph, WNN_STR(f->file)));
		assert_ok(load(context, f->file, &loaded));
		check_same_placement(graph, loaded);
		check_selection(context, loaded);
		wnnGraphRelease(graph);
		wnnGraphRelease(loaded);
		wnnContextRelease(context);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(loaded_graphs_are_the_same),
		cmocka_unit_test(loading_is_asynchronous),
		cmocka_unit_test(paths_that_are_wrong),
		cmocka_unit_test(files_that_cannot_be_written),
		cmocka_unit_test(files_of_others),
		cmocka_unit_test(files_of_another_machine),
		cmocka_unit_test(shapes_that_do_not_fit),
		cmocka_unit_test(policies_that_do_not_suit),
		cmocka_unit_test(damaged_files),
		cmocka_unit_test(unsound_files),
		cmocka_unit_test(kernels_of_another_build),
		cmocka_unit_test(selections),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
