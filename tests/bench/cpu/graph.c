// SPDX-License-Identifier: MIT
/*
 * bench-cpu-graph: builds a network as a WebNN graph on the CPU, from a table of layers (models.py)
 * or from an ONNX file. The program runs the graph once for each line on standard input and answers
 * with the nanoseconds of the run, by the clock and of processor time. The file of weights is
 * mapped and lent to the library.
 */
#include <argp.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <webnn/onnx.h>
#include <webnn/webnn_npu.h>

#include "../table.h"
#include "util/float16.h"

struct options {
	const char *model;    /* an ONNX file that replaces table and weights, or NULL */
	const char *files[4]; /* table, weights, input, output */
	unsigned int count;
	uint32_t threads;
	enum bench_type type;
	uint32_t rank, input[4];
};

static void *map_file(const char *path)
{
	struct stat st;
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	void *data = MAP_FAILED;

	if (fd >= 0 && !fstat(fd, &st))
		data = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	if (data == MAP_FAILED) {
		fprintf(stderr, "bench-cpu-graph: %s: %s\n", path, strerror(errno));
		exit(1);
	}
	close(fd);
	return data;
}

/* --- Runs --- */

static WNNContext open_context(WNNInstance instance, uint32_t threads)
{
	WNNContextDeviceOptions device = WNN_CONTEXT_DEVICE_OPTIONS_INIT;
	WNNContextOptions options = WNN_CONTEXT_OPTIONS_INIT;
	WNNContext context;

	device.device = WNN_STR("cpu");
	device.threads = threads;
	options.nextInChain = &device.chain;
	bench_check(wnnInstanceCreateContextSync(instance, &options, WNN_WAIT_FOREVER, &context) ==
			    WNNStatus_Success,
		    "context");
	return context;
}

static WNNTensor make_tensor(WNNContext context, WNNOperandDataType type, WNNUint32Array shape,
			     bool input)
{
	WNNTensorDescriptor desc = WNN_TENSOR_DESCRIPTOR_INIT;
	WNNTensor tensor;

	desc.dataType = type;
	desc.shape = shape;
	desc.writable = input;
	desc.readable = !input;
	bench_check(wnnContextCreateTensorSync(context, &desc, WNN_WAIT_FOREVER, &tensor) ==
			    WNNStatus_Success,
		    "tensor");
	return tensor;
}

struct run {
	WNNContext context;
	WNNGraph graph;
	WNNNamedTensor input, output;
	bool halves; /* x and y are float16 */
	const void *x;
	size_t x_bytes, y_bytes;
	void *y;
};

static void infer(const struct run *run)
{
	bench_check(wnnContextWriteTensor(run->context, run->input.tensor, run->x, run->x_bytes) ==
			    WNNStatus_Success,
		    "write");
	bench_check(wnnContextDispatch(run->context, run->graph, 1, &run->input, 1, &run->output) ==
			    WNNStatus_Success,
		    "dispatch");
	bench_check(wnnContextReadTensorIntoSync(run->context, run->output.tensor, run->y,
						 run->y_bytes,
						 WNN_WAIT_FOREVER) == WNNStatus_Success,
		    "read");
}

static uint64_t nanoseconds(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

/* Writes the output as float32, also when the network is float16. */
static void write_output(const struct run *run, const char *path)
{
	size_t bytes = run->halves ? 2 : sizeof(float), count = run->y_bytes / bytes;
	FILE *f = fopen(path, "wb");
	bool written = f != NULL;

	for (size_t i = 0; i < count && written; i++) {
		float value = run->halves ? wnn_half_to_float(((const uint16_t *)run->y)[i]) :
					    ((const float *)run->y)[i];

		written = fwrite(&value, sizeof(value), 1, f) == 1;
	}
	if (!written || fclose(f)) {
		perror(path);
		exit(1);
	}
}

/*
 * Returns the core of OpenBLAS, or "none" if the library has not loaded OpenBLAS. The function does
 * not load it itself, which would take memory that the network does not need.
 */
static const char *openblas_core(void)
{
	void *handle = dlopen(OPENBLAS_SONAME, RTLD_NOW | RTLD_NOLOAD);
	char *(*core)(void) = NULL;

	if (handle)
		*(void **)&core = dlsym(handle, "openblas_get_corename");
	return core ? core() : "none";
}

static void run_lines(const struct run *run, const char *output)
{
	char line[64];

	infer(run);
	write_output(run, output);
	printf("ready %s\n", openblas_core());
	fflush(stdout);
	while (fgets(line, sizeof(line), stdin)) {
		uint64_t begin = nanoseconds(CLOCK_MONOTONIC);
		uint64_t cpu = nanoseconds(CLOCK_PROCESS_CPUTIME_ID);

		infer(run);
		cpu = nanoseconds(CLOCK_PROCESS_CPUTIME_ID) - cpu;
		printf("%" PRIu64 " %" PRIu64 "\n", nanoseconds(CLOCK_MONOTONIC) - begin, cpu);
		fflush(stdout);
	}
}

/*
 * Reads a shape, which is numbers with commas between them, into @options; returns false when the
 * text is no shape.
 */
static bool read_shape(struct options *options, const char *text)
{
	char *end = (char *)text;

	for (options->rank = 0; options->rank < 4; text = end + 1) {
		unsigned long size = strtoul(text, &end, 10);

		if (end == text || !size)
			return false;
		options->input[options->rank++] = (uint32_t)size;
		if (*end != ',')
			return !*end;
	}
	return false;
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct options *options = state->input;

	switch (key) {
	case 't':
		options->threads = (uint32_t)strtoul(arg, NULL, 0);
		return 0;
	case 'T':
		if (bench_type_find(arg) < 0)
			argp_error(state, "there is no type '%s'", arg);
		options->type = (enum bench_type)bench_type_find(arg);
		return 0;
	case 'm':
		options->model = arg;
		return 0;
	case 'i':
		if (!read_shape(options, arg))
			argp_error(state, "'%s' is no shape of up to four dimensions", arg);
		return 0;
	case ARGP_KEY_ARG:
		if (options->count == 4)
			argp_usage(state);
		options->files[options->count++] = arg;
		return 0;
	case ARGP_KEY_END:
		if (options->count != (options->model ? 2 : 4))
			argp_usage(state);
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static size_t count_of(WNNUint32Array shape)
{
	size_t count = 1;

	for (size_t i = 0; i < shape.count; i++)
		count *= shape.data[i];
	return count;
}

static uint16_t *narrowed(const float *x, size_t count)
{
	uint16_t *halves = malloc(count * sizeof(*halves));

	bench_check(halves, "memory");
	for (size_t i = 0; i < count; i++)
		halves[i] = wnn_float_to_half(x[i]);
	return halves;
}

static WNNGraph build_model(WNNContext context, const char *path)
{
	WNNError error = WNN_ERROR_INIT;
	WNNOnnxModel model;
	WNNGraph graph;

	if (wnnOnnxLoadFile((WNNStringView){ path, strlen(path) }, NULL, &model) ||
	    wnnOnnxModelBuildSync(model, context, WNN_WAIT_FOREVER, &graph)) {
		wnnOnnxGetLastError(&error);
		fprintf(stderr, "bench-cpu-graph: %s: %.*s\n", path, (int)error.message.length,
			error.message.data);
		exit(1);
	}
	wnnOnnxModelRelease(model);
	return graph;
}

/* Makes the graph, and the tensors and memory of its input and output. */
static void prepare(struct run *run, const struct options *options)
{
	WNNUint32Array shape = { options->rank, options->input };
	WNNNamedOperandDescriptorArray outputs;
	WNNOperandDataType type;
	size_t bytes;

	run->halves = options->type == BENCH_F16;
	type = run->halves ? WNNOperandDataType_Float16 : WNNOperandDataType_Float32;
	bytes = run->halves ? 2 : sizeof(float);
	if (options->model)
		run->graph = build_model(run->context, options->model);
	else
		run->graph = bench_table_build(run->context, options->files[0],
					       map_file(options->files[1]), true, options->type,
					       options->rank, options->input);
	outputs = wnnGraphGetOutputs(run->graph);
	run->input = (WNNNamedTensor){ wnnGraphGetInputs(run->graph).data[0].name,
				       make_tensor(run->context, type, shape, true) };
	run->output =
		(WNNNamedTensor){ outputs.data[0].name,
				  make_tensor(run->context, type, outputs.data[0].shape, false) };
	run->x = map_file(options->files[options->count - 2]);
	if (run->halves)
		run->x = narrowed(run->x, count_of(shape));
	run->x_bytes = count_of(shape) * bytes;
	run->y_bytes = count_of(outputs.data[0].shape) * bytes;
	run->y = malloc(run->y_bytes);
	bench_check(run->y, "memory");
}

int main(int argc, char **argv)
{
	static const struct argp_option known[] = {
		{ "threads", 't', "N", 0, "Threads (default 1)", 0 },
		{ "type", 'T', "TYPE", 0, "f32, f16 or int8 (default f32)", 0 },
		{ "model", 'm', "FILE", 0, "An ONNX file in place of TABLE and WEIGHTS", 0 },
		{ "input", 'i', "N,...", 0, "The shape of the input (default 1,3,224,224)", 0 },
		{ 0 }
	};
	static const struct argp argp = { known,
					  parse,
					  "[TABLE WEIGHTS] INPUT OUTPUT",
					  "Runs a network of bench_cpu.py.",
					  NULL,
					  NULL,
					  NULL };
	struct options options = { .threads = 1, .rank = 4, .input = { 1, 3, 224, 224 } };
	WNNInstance instance;
	struct run run = { 0 };

	argp_parse(&argp, argc, argv, 0, NULL, &options);
	instance = wnnCreateInstance(NULL);
	bench_check(instance, "instance");
	run.context = open_context(instance, options.threads);
	prepare(&run, &options);
	run_lines(&run, options.files[options.count - 1]);
	free(run.y);
	if (run.halves)
		free((void *)run.x);
	wnnTensorRelease(run.input.tensor);
	wnnTensorRelease(run.output.tensor);
	wnnGraphRelease(run.graph);
	wnnContextRelease(run.context);
	wnnInstanceRelease(instance);
	return 0;
}
