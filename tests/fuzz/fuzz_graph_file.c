// SPDX-License-Identifier: MIT
/*
 * Fuzz target of files of compiled graphs: the input is a list of changes to a file that the
 * library has saved and then loads. A changed file without the right checksums must be refused; a
 * file with them that is accepted is inspected, saved again, and run.
 *
 * The lower half of the first byte chooses the file; the checksums are made right unless bits 4 and
 * 5 are both 0. A change is a byte for its kind, one for a section of the file, four for the offset
 * there, four for the value.
 */
#include "fuzz.h"

#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "api/graph_file.h"
#include "run/compiled_private.h"

#define FILES	  3
#define CHANGES	  24
#define MAX_BYTES (1 << 20) /* most bytes of tensors and arena of a graph that runs */
#define MAX_TAPS  1000	    /* most taps of a window of a graph that runs */

enum change { FLIP, SET_BYTE, SET_WORD, ADD, COPY, SET_LONG, TRUNCATE, NUM_CHANGES };

static WNNInstance instance;
static WNNContext contexts[2]; /* sim, cpu */
static struct {
	uint8_t *data;
	size_t size;
	int context;
} files[FILES];
static char folder[] = "/tmp/fuzz-graph-file-XXXXXX", path[64];

static WNNContext open_context(const char *name)
{
	WNNContextDeviceOptions device = WNN_CONTEXT_DEVICE_OPTIONS_INIT;
	WNNContextOptions options = WNN_CONTEXT_OPTIONS_INIT;
	WNNContext context;

	device.device = WNN_STR(name);
	device.threads = device.simThreads = 1;
	device.simSramBytes = strcmp(name, "sim") != 0 ? 0 : 65536;
	device.memoryLimit = 64 << 20;
	options.nextInChain = &device.chain;
	FUZZ_CHECK(!wnnInstanceCreateContextSync(instance, &options, WNN_WAIT_FOREVER, &context),
		   "no context");
	return context;
}

static WNNOperand constant(WNNGraphBuilder b, uint32_t rank, const uint32_t *shape)
{
	static const float data[256] = { 1, -2, 3 };
	WNNOperandDescriptor descriptor = WNN_OPERAND_DESCRIPTOR_INIT;
	size_t count = 1;

	for (uint32_t i = 0; i < rank; i++)
		count *= shape[i];
	descriptor.dataType = WNNOperandDataType_Float32;
	descriptor.shape = (WNNUint32Array){ rank, shape };
	return wnnGraphBuilderConstant(b, &descriptor, data, count * sizeof(*data));
}

/*
 * Returns a graph with the outputs y = softmax(x * w + b) and z, the largest element of a slice of
 * y. With @wide, a transposed convolution that the NPU does not take stands before the slice.
 */
static WNNGraph build(WNNContext context, bool wide)
{
	const uint32_t square[] = { 8, 8 }, row[] = { 8 }, one[] = { 1, 1, 1, 1 };
	WNNConvTranspose2dOptions spread = WNN_CONV_TRANSPOSE2D_OPTIONS_INIT;
	WNNGraphBuilder b = wnnContextCreateGraphBuilder(context);
	WNNOperandDescriptor descriptor = WNN_OPERAND_DESCRIPTOR_INIT;
	WNNNamedOperand outputs[2] = { { WNN_STR("y"), NULL }, { WNN_STR("z"), NULL } };
	WNNGraph graph = NULL;
	WNNOperand v;

	descriptor.dataType = WNNOperandDataType_Float32;
	descriptor.shape = WNN_UINT32_ARRAY(square);
	v = wnnGraphBuilderInput(b, WNN_STR("x"), &descriptor);
	v = wnnGraphBuilderMatmul(b, v, constant(b, 2, square), NULL);
	v = wnnGraphBuilderAdd(b, v, constant(b, 1, row), NULL);
	v = outputs[0].operand = wnnGraphBuilderSoftmax(b, v, 1, NULL);
	v = wnnGraphBuilderReshape(b, v, WNN_UINT32_LIST(1, 1, 8, 8), NULL);
	spread.strides = WNN_UINT32_LIST(1, 1030);
	if (wide)
		v = wnnGraphBuilderConvTranspose2d(b, v, constant(b, 4, one), &spread);
	v = wnnGraphBuilderSlice(b, v, WNN_UINT32_LIST(0, 0, 1, 2), WNN_UINT32_LIST(1, 1, 5, 3),
				 NULL);
	outputs[1].operand = wnnGraphBuilderReduceMax(b, v, NULL);
	FUZZ_CHECK(!wnnGraphBuilderBuildSync(b, 2, outputs, WNN_WAIT_FOREVER, &graph), "build");
	wnnGraphBuilderRelease(b);
	return graph;
}

static void save(int number, int context, bool wide)
{
	WNNGraph graph = build(contexts[context], wide);
	struct stat status;
	FILE *file;

	FUZZ_CHECK(!wnnGraphSave(graph, WNN_STR(path)), "save");
	wnnGraphRelease(graph);
	file = fopen(path, "rb");
	FUZZ_CHECK(file && !fstat(fileno(file), &status), "open");
	files[number].size = (size_t)status.st_size;
	files[number].data = malloc(files[number].size);
	files[number].context = context;
	FUZZ_CHECK(fread(files[number].data, 1, files[number].size, file) == files[number].size,
		   "read");
	fclose(file);
}

static void clean_up(void)
{
	unlink(path);
	rmdir(folder);
}

static void set_up(void)
{
	instance = wnnCreateInstance(NULL);
	contexts[0] = open_context("sim");
	contexts[1] = open_context("cpu");
	FUZZ_CHECK(mkdtemp(folder), "no temporary folder");
	snprintf(path, sizeof(path), "%s/graph", folder);
	atexit(clean_up);
	save(0, 0, false);
	save(1, 0, true);
	save(2, 1, true);
}

/* ---- changes */

static void change(struct fuzz_input *in, uint8_t *file, size_t *size)
{
	const struct graph_file_header *h = (const void *)file;
	struct graph_file_header original;
	uint8_t head[2] = { 0 };
	uint32_t place, value;
	size_t begin = 0, bytes = sizeof(*h), at, from;
	uint64_t number;

	/* Sections keep their positions: a change of the header does not move later changes. */
	memcpy(&original, h, sizeof(original));
	fuzz_bytes(in, head, sizeof(head));
	fuzz_bytes(in, &place, sizeof(place));
	fuzz_bytes(in, &value, sizeof(value));
	if (head[1] % 4 < GRAPH_FILE_PARTS && original.part[head[1] % 4].bytes >= 16 &&
	    original.part[head[1] % 4].offset <= *size &&
	    original.part[head[1] % 4].bytes <= *size - original.part[head[1] % 4].offset) {
		begin = original.part[head[1] % 4].offset;
		bytes = original.part[head[1] % 4].bytes;
	}
	if (*size < begin + bytes || *size < sizeof(*h))
		return;
	at = begin + place % (bytes - 15);
	switch ((enum change)(head[0] % NUM_CHANGES)) {
	case FLIP:
		file[at] ^= (uint8_t)(1u << value % 8);
		break;
	case SET_BYTE:
		file[at] = (uint8_t)value;
		break;
	case SET_WORD:
		memcpy(file + (at & ~(size_t)3), &value, sizeof(value));
		break;
	case ADD:
		at &= ~(size_t)3;
		memcpy(&place, file + at, sizeof(place));
		place += value % 16 - 8;
		memcpy(file + at, &place, sizeof(place));
		break;
	case COPY:
		from = begin + value % (bytes - 15);
		memmove(file + at, file + from, 16);
		break;
	case SET_LONG:
		number = (uint64_t)value << value % 40;
		memcpy(file + (at & ~(size_t)3), &number, sizeof(number));
		break;
	default:
		*size = value % (*size + 1);
	}
}

/* Returns whether the bytes that the checksums cover are unchanged. */
static bool is_original(const uint8_t *file, size_t size, int number)
{
	const struct graph_file_header *h = (const void *)files[number].data;

	if (size != files[number].size || memcmp(file, h, sizeof(*h)) != 0)
		return false;
	for (int i = 0; i < GRAPH_FILE_PARTS; i++)
		if (memcmp(file + h->part[i].offset, files[number].data + h->part[i].offset,
			   h->part[i].bytes) != 0)
			return false;
	return true;
}

/* Makes the checksums match the changed content, as far as the header allows. */
static void sign(uint8_t *file, size_t size)
{
	struct graph_file_header *h = (void *)file;

	if (size < sizeof(*h))
		return;
	for (int i = 0; i < GRAPH_FILE_PARTS; i++)
		if (h->part[i].offset > size || h->part[i].bytes > size - h->part[i].offset)
			return;
	h->content_hash = graph_file_content(h, file);
	h->checksum = graph_file_checksum(h);
}

/* ---- a loaded graph */

static size_t make_tensors(WNNContext context, WNNNamedOperandDescriptorArray ports,
			   WNNNamedTensor *tensors, size_t most)
{
	size_t count = 0;

	for (; count < ports.count && count < most; count++) {
		WNNTensorDescriptor descriptor = WNN_TENSOR_DESCRIPTOR_INIT;

		descriptor.dataType = ports.data[count].dataType;
		descriptor.shape = ports.data[count].shape;
		tensors[count].name = ports.data[count].name;
		if (wnnContextCreateTensorSync(context, &descriptor, WNN_WAIT_FOREVER,
					       &tensors[count].tensor))
			break;
	}
	return count;
}

/* Returns whether the graph is quick enough to run: windows may be larger than any memory. */
static bool may_run(const struct run_compiled *c)
{
	uint64_t bytes = c->arena_bytes;

	for (uint32_t n = 0; n < c->graph->num_nodes; n++) {
		const struct ir_node *node = c->graph->nodes[n];
		const uint32_t *window = node->attrs.pool.window;

		if ((node->op == IR_OP_POOL || node->op == IR_OP_QPOOL) &&
		    (uint64_t)window[0] * window[1] > MAX_TAPS)
			return false;
	}
	for (uint32_t i = 0; i < c->graph->num_values; i++)
		bytes += (uint64_t)ir_type_bytes(&c->graph->values[i]->type);
	return bytes <= MAX_BYTES;
}

static void run(WNNContext context, WNNGraph graph)
{
	WNNNamedTensor in[4] = { 0 }, out[4] = { 0 };
	size_t inputs = make_tensors(context, wnnGraphGetInputs(graph), in, 4);
	size_t outputs = make_tensors(context, wnnGraphGetOutputs(graph), out, 4);

	if (!wnnContextDispatch(context, graph, inputs, in, outputs, out))
		wnnContextWaitIdle(context, WNN_WAIT_FOREVER);
	for (size_t i = 0; i < 4; i++) {
		wnnTensorRelease(in[i].tensor);
		wnnTensorRelease(out[i].tensor);
	}
}

static void look(WNNContext context, WNNGraph graph)
{
	WNNGraphPlacement placement = WNN_GRAPH_PLACEMENT_INIT;
	size_t length = 0;

	FUZZ_CHECK(!wnnGraphGetPlacement(graph, &placement), "placement");
	for (size_t i = 0; i < placement.nodeCount; i++)
		length += strlen(placement.nodes[i].label.data) +
			  strlen(placement.nodes[i].reasonText.data);
	for (WNNGraphText kind = WNNGraphText_Nodes; kind <= WNNGraphText_Program; kind++) {
		WNNString text = WNN_STRING_INIT;

		wnnGraphGetText(graph, kind, &text);
		length += text.length;
		wnnStringFreeMembers(text);
	}
	FUZZ_CHECK(length > 0, "no text");
	FUZZ_CHECK(!wnnGraphSave(graph, WNN_STR(path)), "save");
	if (may_run(graph->compiled))
		run(context, graph);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fuzz_input in = { data, size };
	uint8_t first = 0, *file;
	size_t bytes;
	WNNContext context;
	WNNGraph graph = NULL;
	char name[32];
	int number, fd;
	bool original;

	if (!instance)
		set_up();
	fuzz_bytes(&in, &first, 1);
	number = first % 16 % FILES;
	bytes = files[number].size;
	file = malloc(bytes);
	memcpy(file, files[number].data, bytes);
	for (int i = 0; i < CHANGES && in.left; i++)
		change(&in, file, &bytes);
	if (first / 16 % 4)
		sign(file, bytes);
	original = is_original(file, bytes, number);
	fd = memfd_create("graph", MFD_CLOEXEC);
	FUZZ_CHECK(fd >= 0 && write(fd, file, bytes) == (ssize_t)bytes, "no memory");
	snprintf(name, sizeof(name), "/proc/self/fd/%d", fd);
	context = contexts[files[number].context];
	wnnContextLoadGraphSync(context, WNN_STR(name), WNN_WAIT_FOREVER, &graph);
	FUZZ_CHECK(first / 16 % 4 || !graph == !original, "a damaged file was taken");
	FUZZ_CHECK(graph || !original, "a sound file was refused");
	if (graph)
		look(context, graph);
	wnnGraphRelease(graph);
	/* A fault may have made the context unusable. */
	if (graph && number == 0 && wnnContextWaitIdle(context, WNN_WAIT_FOREVER)) {
		wnnContextRelease(context);
		contexts[0] = open_context("sim");
	}
	close(fd);
	free(file);
	return 0;
}
