// SPDX-License-Identifier: MIT
/*
 * A program that uses ONNX Runtime's C interface: client LIBRARY PROVIDER DEVICE MODEL [THREADS RUNS]
 *
 * LIBRARY is libonnxruntime.so. PROVIDER is our library, or "-": the program knows of no provider.
 * It runs MODEL, whose inputs are of float and of one shape each, on two sessions with threads of
 * their own; the first is closed when its threads have ended, while the second goes on. It prints
 * the sum of each output, and whether all runs gave the same bits. LIBRARY is opened in such a way
 * that a preloaded OrtGetApiBase takes precedence.
 */
#include <dirent.h>
#include <dlfcn.h>
#include <malloc.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../userspace/ort/ort.h"

#define MAX_PORTS 8
#define WARM_RUNS 200

struct run_options;

/* Functions of ONNX Runtime that only programs use. */
#define SLOT(table, place, version, result, name, arguments) result(*name) arguments;
static struct {
#include "client.def"
} client;
#undef SLOT

static struct ort_api api;

struct port {
	char *name;
	float *data;
	size_t count;
	struct ort_value *value;
};

struct model {
	struct ort_session *session;
	size_t input_count, output_count;
	struct port inputs[MAX_PORTS], outputs[MAX_PORTS];
	struct ort_memory_info *memory;
	struct ort_allocator *allocator; /* ONNX Runtime's, which has the names */
	int runs;
};

static void check(struct ort_status *status)
{
	if (!status)
		return;
	fprintf(stderr, "%s\n", api.GetErrorMessage(status));
	exit(1);
}

static void open_library(const char *path)
{
	const struct ort_api_base *(*get)(void);
	const struct ort_api_base *base;
	const char *table;
	void *symbol;

	if (!dlopen(path, RTLD_NOW | RTLD_GLOBAL)) {
		fprintf(stderr, "%s\n", dlerror());
		exit(77);
	}
	symbol = dlsym(RTLD_DEFAULT, "OrtGetApiBase");
	memcpy(&get, &symbol, sizeof(get));
	base = get();
	if (!ort_api_open(&api, base)) {
		fprintf(stderr, "skipped: ONNX Runtime is %s\n", base->GetVersionString());
		exit(77);
	}
	table = base->GetApi(api.version);
#define SLOT(table_name, place, version, result, name, arguments) \
	memcpy(&client.name, table + (place) * sizeof(void *), sizeof(void *));
#include "client.def"
#undef SLOT
	printf("ONNX Runtime %s\n", base->GetVersionString());
}

static void add_provider(struct ort_env *env, const char *device,
			 struct ort_session_options *options)
{
	static const char *const keys[] = { "device" };
	const struct ort_ep_device *const *devices;
	size_t count;

	check(api.GetEpDevices(env, &devices, &count));
	for (size_t i = 0; i < count; i++) {
		if (strcmp(api.EpDevice_EpName(devices[i]), "OnpuExecutionProvider"))
			continue;
		check(api.SessionOptionsAppendExecutionProvider_V2(options, env, &devices[i], 1,
								   keys, &device, 1));
		return;
	}
	fprintf(stderr, "ONNX Runtime does not list our provider\n");
	exit(1);
}

static void make_input(struct model *m, size_t index)
{
	const struct ort_tensor_info *tensor;
	struct port *port = &m->inputs[index];
	struct ort_type_info *type;
	int64_t dims[8];
	size_t rank;

	check(client.SessionGetInputName(m->session, index, m->allocator, &port->name));
	check(client.SessionGetInputTypeInfo(m->session, index, &type));
	check(api.CastTypeInfoToTensorInfo(type, &tensor));
	check(api.GetDimensionsCount(tensor, &rank));
	check(api.GetDimensions(tensor, dims, rank));
	port->count = 1;
	for (size_t i = 0; i < rank; i++) {
		if (dims[i] < 0)
			dims[i] = 1;
		port->count *= (size_t)dims[i];
	}
	client.ReleaseTypeInfo(type);
	port->data = malloc(port->count * sizeof(float));
	for (size_t i = 0; i < port->count; i++)
		port->data[i] = (float)(i * 7919 % 1000) / 1000 - 0.5f;
	check(client.CreateTensorWithDataAsOrtValue(
		m->memory, port->data, port->count * sizeof(float), dims, rank, 1, &port->value));
}

static void open_model(struct model *m, struct ort_env *env,
		       const struct ort_session_options *options, const char *path)
{
	check(api.CreateSession(env, path, options, &m->session));
	check(client.GetAllocatorWithDefaultOptions(&m->allocator));
	check(client.CreateCpuMemoryInfo(0, 0, &m->memory));
	check(client.SessionGetInputCount(m->session, &m->input_count));
	check(client.SessionGetOutputCount(m->session, &m->output_count));
	if (m->input_count > MAX_PORTS || m->output_count > MAX_PORTS)
		exit(1);
	for (size_t i = 0; i < m->input_count; i++)
		make_input(m, i);
	for (size_t i = 0; i < m->output_count; i++)
		check(client.SessionGetOutputName(m->session, i, m->allocator,
						  &m->outputs[i].name));
}

static void run(struct model *m, struct ort_value **results)
{
	const char *input_names[MAX_PORTS], *output_names[MAX_PORTS];
	const struct ort_value *inputs[MAX_PORTS];

	for (size_t i = 0; i < m->input_count; i++) {
		input_names[i] = m->inputs[i].name;
		inputs[i] = m->inputs[i].value;
	}
	for (size_t i = 0; i < m->output_count; i++) {
		output_names[i] = m->outputs[i].name;
		results[i] = NULL;
	}
	check(client.Run(m->session, NULL, input_names, inputs, m->input_count, output_names,
			 m->output_count, results));
}

static size_t result_count(struct ort_value *value)
{
	struct ort_tensor_info *info;
	size_t count;

	check(api.GetTensorTypeAndShape(value, &info));
	check(client.GetTensorShapeElementCount(info, &count));
	api.ReleaseTensorTypeAndShapeInfo(info);
	return count;
}

static void first_run(struct model *m)
{
	struct ort_value *results[MAX_PORTS];

	run(m, results);
	for (size_t i = 0; i < m->output_count; i++) {
		struct port *port = &m->outputs[i];
		double sum = 0;
		void *data;

		port->count = result_count(results[i]);
		check(api.GetTensorMutableData(results[i], &data));
		port->data = malloc(port->count * sizeof(float));
		memcpy(port->data, data, port->count * sizeof(float));
		for (size_t k = 0; k < port->count; k++)
			sum += (double)port->data[k] * (double)(k % 13 + 1);
		printf("%s %.6g\n", port->name, sum);
		api.ReleaseValue(results[i]);
	}
}

static void *work(void *argument)
{
	struct model *m = argument;

	for (int i = 0; i < m->runs; i++) {
		struct ort_value *results[MAX_PORTS];

		run(m, results);
		for (size_t k = 0; k < m->output_count; k++) {
			void *data;

			check(api.GetTensorMutableData(results[k], &data));
			if (memcmp(data, m->outputs[k].data, m->outputs[k].count * sizeof(float))) {
				fprintf(stderr, "a run gave other bits\n");
				exit(1);
			}
			api.ReleaseValue(results[k]);
		}
	}
	return NULL;
}

static void close_model(struct model *m)
{
	for (size_t i = 0; i < m->input_count; i++) {
		api.ReleaseValue(m->inputs[i].value);
		free(m->inputs[i].data);
		m->allocator->deallocate(m->allocator, m->inputs[i].name);
	}
	for (size_t i = 0; i < m->output_count; i++) {
		free(m->outputs[i].data);
		m->allocator->deallocate(m->allocator, m->outputs[i].name);
	}
	api.ReleaseMemoryInfo(m->memory);
	client.ReleaseSession(m->session);
}

/* Memory, descriptors and mappings of the process; runs must not increase them. */
struct held {
	size_t heap, descriptors, mappings;
};

static size_t count_entries(const char *folder)
{
	DIR *entries = opendir(folder);
	size_t count = 0;

	while (entries && readdir(entries))
		count++;
	if (entries)
		closedir(entries);
	return count;
}

static size_t count_lines(const char *path)
{
	FILE *file = fopen(path, "r");
	size_t count = 0;
	int c;

	while (file && (c = fgetc(file)) != EOF)
		count += c == '\n';
	if (file)
		fclose(file);
	return count;
}

/*
 * Returns the bytes of the heap in use, the open files and the mappings of the process. Pages are
 * not counted, as their number depends on which threads freed memory and when.
 */
static struct held what_is_held(void)
{
	struct mallinfo2 heap = mallinfo2();

	return (struct held){ heap.uordblks + heap.hblkhd, count_entries("/proc/self/fd"),
			      count_lines("/proc/self/maps") };
}

/* Runs threads on both models at once; the first model is closed while the second still runs. */
static void run_threads(struct model models[2], size_t threads, int runs)
{
	pthread_t *ids = calloc(threads, sizeof(*ids));

	models[0].runs = runs;
	models[1].runs = 2 * runs;
	for (size_t i = 0; i < threads; i++)
		if (pthread_create(&ids[i], NULL, work, &models[i % 2]))
			exit(1);
	for (size_t i = 0; i < threads; i += 2)
		pthread_join(ids[i], NULL);
	close_model(&models[0]);
	for (size_t i = 1; i < threads; i += 2)
		pthread_join(ids[i], NULL);
	free(ids);
}

int main(int argc, char **argv)
{
	struct model models[2] = { 0 };
	struct ort_session_options *options;
	struct ort_env *env;
	struct held before, after;

	if (argc != 5 && argc != 7)
		return 2;
	open_library(argv[1]);
	check(client.CreateEnv(3, "client", &env));
	check(api.CreateSessionOptions(&options));
	if (strcmp(argv[2], "-")) {
		check(api.RegisterExecutionProviderLibrary(env, "onpu", argv[2]));
		add_provider(env, argv[3], options);
	}
	for (int i = 0; i < 2; i++) {
		open_model(&models[i], env, options, argv[4]);
		first_run(&models[i]);
	}
	if (argc == 7) {
		/* At both points the second session is open and the first has been closed. */
		run_threads(models, strtoul(argv[5], NULL, 10), WARM_RUNS);
		before = what_is_held();
		open_model(&models[0], env, options, argv[4]);
		first_run(&models[0]);
		run_threads(models, strtoul(argv[5], NULL, 10), atoi(argv[6]));
		after = what_is_held();
		printf("heap %zu %zu\ndescriptors %zu %zu\nmappings %zu %zu\n", before.heap,
		       after.heap, before.descriptors, after.descriptors, before.mappings,
		       after.mappings);
	} else {
		close_model(&models[0]);
	}
	close_model(&models[1]);
	api.ReleaseSessionOptions(options);
	client.ReleaseEnv(env);
	printf("done\n");
	return 0;
}
