// SPDX-License-Identifier: MIT
/*
 * bench-cpu-ort: runs a model in ONNX Runtime once for each line on standard input, as
 * bench-cpu-graph does with a network. It answers with the nanoseconds of the run, by the clock and
 * of processor time. The library's file name is an argument, so that releases other than that of
 * the header can be measured.
 */
#include <dlfcn.h>
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include <onnxruntime_c_api.h>

#define MAX_RANK 4

struct run {
	OrtSession *session;
	OrtMemoryInfo *memory;
	OrtValue *input;
	char *names[2];
	float *x;
};

static const OrtApi *api;

static void must(OrtStatus *status)
{
	if (!status)
		return;
	fprintf(stderr, "bench-cpu-ort: %s\n", api->GetErrorMessage(status));
	exit(1);
}

static const OrtApiBase *load(const char *library)
{
	const OrtApiBase *(*get)(void) = NULL;

	/* Search all libraries, not only the handle: onpu-ort-preload.so may stand in front. */
	if (dlopen(library, RTLD_NOW | RTLD_GLOBAL))
		*(void **)&get = dlsym(RTLD_DEFAULT, "OrtGetApiBase");
	if (!get) {
		fprintf(stderr, "bench-cpu-ort: %s\n", dlerror());
		exit(1);
	}
	return get();
}

/*
 * Returns the first @bytes bytes of a file in memory that the caller frees; a shorter file ends the
 * program.
 */
static void *read_file(const char *path, size_t bytes)
{
	FILE *f = fopen(path, "rb");
	void *data = malloc(bytes);

	if (!f || !data || fread(data, 1, bytes, f) != bytes) {
		perror(path);
		exit(1);
	}
	fclose(f);
	return data;
}

static void make_session(struct run *run, const char *model, int threads)
{
	OrtSessionOptions *options;
	OrtAllocator *allocator;
	OrtEnv *env;

	must(api->CreateEnv(ORT_LOGGING_LEVEL_ERROR, "bench", &env));
	must(api->CreateSessionOptions(&options));
	must(api->SetIntraOpNumThreads(options, threads));
	must(api->SetInterOpNumThreads(options, 1));
	must(api->SetSessionGraphOptimizationLevel(options, ORT_ENABLE_ALL));
	must(api->CreateSession(env, model, options, &run->session));
	api->ReleaseSessionOptions(options);
	must(api->GetAllocatorWithDefaultOptions(&allocator));
	must(api->SessionGetInputName(run->session, 0, allocator, &run->names[0]));
	must(api->SessionGetOutputName(run->session, 0, allocator, &run->names[1]));
}

/* Reads the input, floats of the given shape. @shape: numbers with commas between them */
static void read_input(struct run *run, const char *shape, const char *path)
{
	int64_t dims[MAX_RANK];
	size_t rank = 0, bytes = sizeof(float);
	char *end = (char *)shape;

	do {
		dims[rank] = strtoll(end, &end, 10);
		bytes *= (size_t)dims[rank++];
	} while (rank < MAX_RANK && *end++ == ',');
	run->x = read_file(path, bytes);
	must(api->CreateCpuMemoryInfo(OrtArenaAllocator, OrtMemTypeDefault, &run->memory));
	must(api->CreateTensorWithDataAsOrtValue(run->memory, run->x, bytes, dims, rank,
						 ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT, &run->input));
}

static OrtValue *infer(const struct run *run)
{
	OrtValue *output = NULL;

	must(api->Run(run->session, NULL, (const char *const *)&run->names[0],
		      (const OrtValue *const *)&run->input, 1, (const char *const *)&run->names[1],
		      1, &output));
	return output;
}

static void write_output(const struct run *run, const char *path)
{
	OrtTensorTypeAndShapeInfo *info;
	OrtValue *output = infer(run);
	FILE *f = fopen(path, "wb");
	size_t count;
	void *data;

	must(api->GetTensorTypeAndShape(output, &info));
	must(api->GetTensorShapeElementCount(info, &count));
	must(api->GetTensorMutableData(output, &data));
	if (!f || fwrite(data, sizeof(float), count, f) != count || fclose(f)) {
		perror(path);
		exit(1);
	}
	api->ReleaseTensorTypeAndShapeInfo(info);
	api->ReleaseValue(output);
}

static uint64_t nanoseconds(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

/*
 * Waits until the threads of ONNX Runtime sleep: until the process uses at most 2 ms of processor
 * time in 10 ms. After a run the threads spin for tens of milliseconds to find more work, and would
 * take a processor from the next run of the other process.
 */
static void wait_for_rest(void)
{
	const struct timespec pause = { 0, 10000000 };
	uint64_t before, used;

	do {
		before = nanoseconds(CLOCK_PROCESS_CPUTIME_ID);
		nanosleep(&pause, NULL);
		used = nanoseconds(CLOCK_PROCESS_CPUTIME_ID) - before;
	} while (used > 2000000);
}

int main(int argc, char **argv)
{
	const OrtApiBase *base;
	struct run run = { 0 };
	char line[64];

	if (argc != 7) {
		fprintf(stderr, "usage: bench-cpu-ort LIBRARY THREADS SHAPE MODEL INPUT OUTPUT\n");
		return 1;
	}
	base = load(*++argv);
	api = base->GetApi(ORT_API_VERSION);
	if (!api) {
		fprintf(stderr, "bench-cpu-ort: ONNX Runtime %s is older than the header\n",
			base->GetVersionString());
		return 1;
	}
	make_session(&run, argv[3], atoi(argv[1]));
	read_input(&run, argv[2], argv[4]);
	write_output(&run, argv[5]);
	printf("ready %s\n", base->GetVersionString());
	fflush(stdout);
	while (fgets(line, sizeof(line), stdin)) {
		uint64_t begin = nanoseconds(CLOCK_MONOTONIC);
		uint64_t cpu = nanoseconds(CLOCK_PROCESS_CPUTIME_ID);

		api->ReleaseValue(infer(&run));
		cpu = nanoseconds(CLOCK_PROCESS_CPUTIME_ID) - cpu;
		begin = nanoseconds(CLOCK_MONOTONIC) - begin;
		if (atoi(argv[1]) > 1)
			wait_for_rest();
		printf("%" PRIu64 " %" PRIu64 "\n", begin, cpu);
		fflush(stdout);
	}
	return 0;
}
