// SPDX-License-Identifier: MIT
/*
 * bench-cpu-graph: a network from a table of layers (models.py) as a WebNN graph on the CPU. Runs once for each line on
 * standard input and answers with the nanoseconds it took, by the clock and of the processor's time. The file of weights is
 * mapped and lent to the library.
 */
#include <argp.h>
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

#include <cblas.h>

#include <webnn/webnn_npu.h>

#include "../table.h"

struct options {
	const char *files[4]; /* table, weights, input, output */
	unsigned int count;
	uint32_t threads;
	enum bench_type type;
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

static WNNTensor make_tensor(WNNContext context, WNNUint32Array shape, bool input)
{
	WNNTensorDescriptor desc = WNN_TENSOR_DESCRIPTOR_INIT;
	WNNTensor tensor;

	desc.dataType = WNNOperandDataType_Float32;
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
	const float *x;
	size_t x_bytes, y_bytes;
	float *y;
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

static void run_lines(const struct run *run, const char *output)
{
	char line[64];
	FILE *f;

	infer(run);
	f = fopen(output, "wb");
	if (!f || fwrite(run->y, 1, run->y_bytes, f) != run->y_bytes || fclose(f)) {
		perror(output);
		exit(1);
	}
	printf("ready %s\n", openblas_get_corename());
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
	case ARGP_KEY_ARG:
		if (options->count == 4)
			argp_usage(state);
		options->files[options->count++] = arg;
		return 0;
	case ARGP_KEY_END:
		if (options->count < 4)
			argp_usage(state);
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

int main(int argc, char **argv)
{
	static const struct argp_option known[] = {
		{ "threads", 't', "N", 0, "Threads (default 1)", 0 },
		{ "type", 'T', "TYPE", 0, "f32 or int8 (default f32)", 0 },
		{ 0 }
	};
	static const struct argp argp = {
		known, parse, "TABLE WEIGHTS INPUT OUTPUT", "Runs a network of bench_cpu.py.", NULL,
		NULL,  NULL
	};
	struct options options = { .threads = 1 };
	WNNInstance instance;
	struct run run = { 0 };
	WNNNamedOperandDescriptorArray outputs;

	argp_parse(&argp, argc, argv, 0, NULL, &options);
	instance = wnnCreateInstance(NULL);
	bench_check(instance, "instance");
	run.context = open_context(instance, options.threads);
	run.graph = bench_table_build(run.context, options.files[0], map_file(options.files[1]),
				      options.type, 4, (const uint32_t[]){ 1, 3, 224, 224 });
	outputs = wnnGraphGetOutputs(run.graph);
	run.input = (WNNNamedTensor){
		WNN_STR("x"),
		make_tensor(run.context,
			    (WNNUint32Array){ 4, (const uint32_t[]){ 1, 3, 224, 224 } }, true)
	};
	run.output = (WNNNamedTensor){ WNN_STR("y"),
				       make_tensor(run.context, outputs.data[0].shape, false) };
	run.x = map_file(options.files[2]);
	run.x_bytes = 3 * 224 * 224 * sizeof(float);
	run.y_bytes = 1000 * sizeof(float);
	run.y = malloc(run.y_bytes);
	bench_check(run.y, "memory");
	run_lines(&run, options.files[3]);
	free(run.y);
	wnnTensorRelease(run.input.tensor);
	wnnTensorRelease(run.output.tensor);
	wnnGraphRelease(run.graph);
	wnnContextRelease(run.context);
	wnnInstanceRelease(instance);
	return 0;
}
