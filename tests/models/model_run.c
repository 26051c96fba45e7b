// SPDX-License-Identifier: MIT
/*
 * model-run: runs one of the built-in models on a device, with an input from a file. It writes the
 * outputs and explains the placement; with --step it runs once for each line on standard input and
 * answers with the nanoseconds that the run took, for benchmarks that alternate.
 */
#include <argp.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <webnn/webnn_npu.h>

#include "models.h"
#include "npy.h"
#include "placement.h"

struct options {
	struct model_paths paths;
	struct model_device device;
	const char *model, *input, *output;
	bool explain, step;
};

static uint64_t nanoseconds(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

static int explain(const struct model *model)
{
	WNNGraphStatistics s = WNN_GRAPH_STATISTICS_INIT;

	if (placement_print(model->graph))
		return -1;
	if (wnnGraphGetLastStatistics(model->graph, &s) == WNNStatus_Success && s.npuCycles)
		printf("%" PRIu64 " cycles, %" PRIu64 " MACs (%.1f%% of peak), %" PRIu64
		       " bytes read, %" PRIu64 " written\n",
		       s.npuCycles, s.macs,
		       s.peakMacs ? 100.0 * (double)s.macs / (double)s.peakMacs : 0, s.bytesRead,
		       s.bytesWritten);
	if (s.spilledPrograms)
		printf("%" PRIu64 " NPU programs leave nothing in SRAM between nodes\n",
		       s.spilledPrograms);
	return 0;
}

static int write_outputs(const struct model *model, float *const *outputs, const char *path)
{
	FILE *f = fopen(path, "wb");
	bool ok = f != NULL;

	for (size_t i = 0; ok && i < model->num_outputs; i++)
		ok = fwrite(outputs[i], sizeof(float), model->outputs[i].count, f) ==
		     model->outputs[i].count;
	if (f && fclose(f))
		ok = false;
	if (!ok)
		perror(path);
	return ok ? 0 : -1;
}

static int run(const struct options *options, WNNContext context, const struct model *model,
	       const struct model_tensors *tensors, const struct npy *input, float *const *outputs)
{
	char line[64];

	if (model_infer(model, context, tensors, input->data, outputs))
		return -1;
	if (options->output && write_outputs(model, outputs, options->output))
		return -1;
	if (options->explain && explain(model))
		return -1;
	if (!options->step)
		return 0;
	printf("ready\n");
	fflush(stdout);
	while (fgets(line, sizeof(line), stdin)) {
		uint64_t begin = nanoseconds();

		if (model_infer(model, context, tensors, input->data, outputs))
			return -1;
		printf("%" PRIu64 "\n", nanoseconds() - begin);
		fflush(stdout);
	}
	return 0;
}

static int load_input(const struct options *options, const struct model *model, struct npy *input)
{
	size_t count = 1;

	for (uint32_t i = 0; i < model->input_rank; i++)
		count *= model->input_dim[i];
	if (npy_load(input, options->input))
		return -1;
	if (input->type == WNNOperandDataType_Float32 && input->count == count)
		return 0;
	fprintf(stderr, "%s: expected %zu float32 numbers for %s\n", options->input, count,
		model->name);
	return -1;
}

static int run_model(const struct options *options, WNNContext context)
{
	struct model_tensors tensors = { 0 };
	float *outputs[MODEL_MAX_OUTPUTS] = { 0 };
	struct npy input = { 0 };
	struct model model = { 0 };
	int ret = -1;

	if (model_build(&model, options->model, &options->paths, context, 1) ||
	    load_input(options, &model, &input) || model_tensors_create(&tensors, &model, context))
		goto out;
	for (size_t i = 0; i < model.num_outputs; i++) {
		outputs[i] = malloc(model.outputs[i].count * sizeof(float));
		if (!outputs[i])
			goto out;
	}
	ret = run(options, context, &model, &tensors, &input, outputs);
out:
	for (size_t i = 0; i < MODEL_MAX_OUTPUTS; i++)
		free(outputs[i]);
	npy_free(&input);
	model_tensors_release(&tensors);
	model_release(&model);
	return ret;
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct options *options = state->input;

	switch (key) {
	case 'd':
		options->device.name = arg;
		return 0;
	case 'i':
		options->input = arg;
		return 0;
	case 'o':
		options->output = arg;
		return 0;
	case 's':
		options->device.sram_bytes = strtoull(arg, NULL, 0);
		return 0;
	case 't':
		options->device.threads = (uint32_t)strtoul(arg, NULL, 0);
		return 0;
	case 'e':
		options->explain = true;
		return 0;
	case 'S':
		options->step = true;
		return 0;
	case 'n':
		options->device.npu_only = true;
		return 0;
	case 'f':
		options->device.full = true;
		return 0;
	case 'F':
		options->device.firmware = arg;
		return 0;
	case 'm':
		options->paths.models = arg;
		return 0;
	case ARGP_KEY_ARG:
		if (options->model)
			argp_error(state, "only one model can be given; '%s' is a second one", arg);
		options->model = arg;
		return 0;
	case ARGP_KEY_END:
		if (!options->model || !options->input)
			argp_error(state, "a model and --input FILE are needed");
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

int main(int argc, char **argv)
{
	static const struct argp_option known[] = {
		{ "device", 'd', "NAME", 0,
		  "npu, npu:1, sim or cpu (default: as WEBNN_DEVICE says)", 0 },
		{ "input", 'i', "FILE", 0, "The input, a .npy file of float32", 0 },
		{ "output", 'o', "FILE", 0, "Write the outputs, float32 one after the other", 0 },
		{ "sram", 's', "BYTES", 0, "On sim: the size of the SRAM", 0 },
		{ "full", 'f', NULL, 0, "On sim: with firmware, registers and page tables", 0 },
		{ "firmware", 'F', "FILE", 0,
		  "Firmware for --full (default: the one of this build)", 0 },
		{ "threads", 't', "N", 0,
		  "Threads of the CPU back end and of the model (default 1)", 0 },
		{ "npu-only", 'n', NULL, 0, "Fail rather than use the CPU", 0 },
		{ "explain", 'e', NULL, 0, "Say where each operator ran and why", 0 },
		{ "step", 'S', NULL, 0,
		  "Run once for each line on standard input, print nanoseconds", 0 },
		{ "models", 'm', "DIR", 0, "Folder of the shared models", 0 },
		{ 0 }
	};
	static const struct argp argp = { known,   parse,
					  "MODEL", "Runs digits, squeezenet, lenet or mobilenetv2.",
					  NULL,	   NULL,
					  NULL };
	struct options options = {
		.paths = { ONPU_DIGITS_DIR, ONPU_MODELS_DIR },
		.device = { .threads = 1, .firmware = ONPU_FIRMWARE_IMAGE },
	};
	WNNInstance instance;
	WNNContext context;
	int ret = -1;

	argp_parse(&argp, argc, argv, 0, NULL, &options);
	instance = wnnCreateInstance(NULL);
	if (!instance) {
		fprintf(stderr, "no WebNN instance\n");
		return 1;
	}
	context = model_context(instance, &options.device);
	if (context) {
		ret = run_model(&options, context);
		wnnContextRelease(context);
	}
	wnnInstanceRelease(instance);
	return ret ? 1 : 0;
}
