/* SPDX-License-Identifier: MIT */
/* The networks of the demo and the benchmarks, built with the public API from weights in files. */
#ifndef ONPU_TOOLS_MODELS_H
#define ONPU_TOOLS_MODELS_H

#include <stdbool.h>

#include <webnn/webnn.h>

#define MODEL_MAX_OUTPUTS 2

struct model {
	const char *name;
	const char *input; /* name of the only input */
	uint32_t input_rank, input_dim[4];
	size_t num_outputs;
	struct {
		const char *name;
		size_t count; /* number of elements, all float32 */
	} outputs[MODEL_MAX_OUTPUTS];
	WNNGraph graph;
};

/* The folders of the models; if a folder does not exist, its models are absent. */
struct model_paths {
	const char *digits; /* userspace/demo/digits */
	const char *models; /* ../shared/models, or NULL */
};

/*
 * Returns whether the files of a model are there: digits, squeezenet, lenet or mobilenetv2. An
 * unknown name has no files.
 */
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
 * Queues one dispatch and does not wait for its end. The tensors are float32, those of the outputs
 * in the model's order. Returns 0, or -1 after a message.
 */
int model_run(const struct model *model, WNNContext context, WNNTensor input,
	      WNNTensor const *outputs);

struct model_tensors {
	WNNTensor input, outputs[MODEL_MAX_OUTPUTS];
};

/*
 * Creates tensors for the input and all outputs. Returns 0, or -1 after a message; the caller calls
 * model_tensors_release() in both cases.
 */
int model_tensors_create(struct model_tensors *tensors, const struct model *model,
			 WNNContext context);
void model_tensors_release(struct model_tensors *tensors);

/* Writes the input, dispatches, and reads all outputs. Returns 0, or -1 after a message. */
int model_infer(const struct model *model, WNNContext context, const struct model_tensors *tensors,
		const float *input, float *const *outputs);

struct model_device {
	const char *name;     /* "npu", "sim", "cpu"; NULL: the device of WEBNN_DEVICE */
	bool npu_only;	      /* refuse a graph when one of its nodes would run on the CPU */
	bool profile;	      /* keep profiles of dispatches */
	bool full;	      /* sim simulates firmware, registers and page tables, too */
	const char *firmware; /* firmware of the full mode; NULL: the installed one */
	uint64_t sram_bytes;  /* SRAM of sim; 0: that of the machine */
	uint32_t threads;     /* threads of the CPU back end and of sim */
};

/* Opens a context; NULL after a message on stderr. */
WNNContext model_context(WNNInstance instance, const struct model_device *device);

#endif
