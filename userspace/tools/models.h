/* SPDX-License-Identifier: MIT */
/* The networks of the demo and the benchmarks, built with the public API from weights in files. */
#ifndef ONPU_TOOLS_MODELS_H
#define ONPU_TOOLS_MODELS_H

#include <stdbool.h>

#include <webnn/webnn.h>

#define MODEL_MAX_OUTPUTS 2

struct model {
	const char *name;
	const char *input; /* name of the one input */
	uint32_t input_rank, input_dim[4];
	size_t num_outputs;
	struct {
		const char *name;
		size_t count; /* elements, float32 */
	} outputs[MODEL_MAX_OUTPUTS];
	WNNGraph graph;
};

/* Where the models' files are; a folder that does not exist makes a model absent. */
struct model_paths {
	const char *digits; /* userspace/demo/digits */
	const char *models; /* ../shared/models, or NULL */
};

/* Is the folder of this model there? Names: digits, squeezenet, lenet, mobilenetv2. */
bool model_present(const char *name, const struct model_paths *paths);

/**
 * model_build - read the weights and build the graph on a context
 * @batch: pictures a dispatch; only the digits network takes more than one
 *
 * Returns 0, or -1 after a message on stderr. model_release() frees the graph.
 */
int model_build(struct model *model, const char *name, const struct model_paths *paths,
		WNNContext context, uint32_t batch);
void model_release(struct model *model);

/*
 * One dispatch: input and outputs are float32 in the model's order. Returns 0 or -1 after a
 * message.
 */
int model_run(const struct model *model, WNNContext context, WNNTensor input,
	      WNNTensor const *outputs);

/* Tensors for model_run(). */
struct model_tensors {
	WNNTensor input, outputs[MODEL_MAX_OUTPUTS];
};

int model_tensors_create(struct model_tensors *tensors, const struct model *model,
			 WNNContext context);
void model_tensors_release(struct model_tensors *tensors);

/* Write, dispatch, read all outputs. Returns 0 or -1 after a message. */
int model_infer(const struct model *model, WNNContext context, const struct model_tensors *tensors,
		const float *input, float *const *outputs);

struct model_device {
	const char *name;     /* "npu", "sim", "cpu"; NULL: as WEBNN_DEVICE says */
	bool npu_only;	      /* refuse what would run on the CPU */
	bool profile;	      /* keep profiles of dispatches */
	bool full;	      /* sim with firmware, registers and page tables */
	const char *firmware; /* of full mode; NULL: the installed one */
	uint64_t sram_bytes;  /* of sim; 0: the machine's */
	uint32_t threads;     /* of the CPU back end and of sim */
};

/* NULL after a message on stderr. */
WNNContext model_context(WNNInstance instance, const struct model_device *device);

#endif
