/* SPDX-License-Identifier: MIT */
/* webnn-run: a model with the values of its inputs, and what it is on a device. */
#ifndef ONPU_TOOLS_RUN_SUBJECT_H
#define ONPU_TOOLS_RUN_SUBJECT_H

#include <webnn/onnx.h>
#include <webnn/webnn_npu.h>

#include "run.h"
#include "value.h"

/* Functions return DONE, or an exit code after a message. */

/* A context, the graph on it, its tensors. */
struct target {
	WNNInstance instance;
	WNNContext context;
	WNNDeviceInfo device;
	/* NULL where no output has elements: then there is nothing to dispatch. */
	WNNGraph graph;
	/* Draws random numbers; NULL: the graph has none. */
	WNNOnnxModel model;
	uint64_t seed, dispatches;
	uint64_t build_ns,
		dispatch_ns; /* how long the last of each took; of a program, both in one */
	size_t input_count, output_count;
	WNNNamedTensor *inputs, *outputs;
	size_t empty_count;    /* outputs without elements, behind the others in the results */
	struct value *results; /* of the outputs */
};

/*
 * A model, once its dimensions are set, or a graph that compile has saved; values_read() adds the
 * values.
 */
struct subject {
	const struct options *options;
	WNNOnnxModel model;   /* NULL: a saved graph */
	bool told;	      /* what the first build did that the user may not expect */
	uint64_t load_ns;     /* how long it took to load */
	struct value *values; /* of all inputs, in the order of the file */
	size_t value_count;
	/* A saved graph has these: */
	bool saved, profile;  /* profile: it has time stamps, though nobody asked for them */
	struct target *first; /* has its context and graph until it is taken over */
	WNNGraph described;   /* a reference, as saved_inputs has its texts */
	WNNOnnxValueInfoArray saved_inputs;
};

int subject_open(struct subject *subject, const struct options *options);
/* Returns the inputs of the model, until a dimension is set. */
WNNOnnxValueInfoArray subject_inputs(const struct subject *subject);
/* Whether the shape of an input is open; then the text says how to set it. */
bool subject_is_open(const struct subject *subject, char *text, size_t room);
void subject_close(struct subject *subject);

/*
 * Shapes first: those that the file leaves open come from --input. Then all values; those that
 * are not given are drawn when @otherwise is not NULL, from this seed, else they are demanded.
 */
int values_read(struct subject *subject, const uint64_t *otherwise);

/*
 * Reads a .npy file, the array of this name in a .npz file, or a tensor of ONNX, with the shape
 * that it says.
 */
bool value_file_has_shape(const char *path);
int value_load(const char *path, const char *name, struct value *value);
int value_save(const struct value *value, const char *path);
/* FOLDER/NAME.npy, with an underscore for each slash of the name; NULL: memory is exhausted. */
char *value_path(const char *folder, const char *name);

int target_open(struct target *target, const struct options *options, const char *device);
/* With the subject's options; a saved graph may be there already. */
int target_open_for(struct target *target, struct subject *subject, const char *device);
/* Inputs that the model needs as constants become such, where they were given. No message. */
WNNStatus target_try_build(struct target *target, struct subject *subject);
int target_build(struct target *target, struct subject *subject);
/* Makes the tensors and writes the inputs. */
int target_prepare(struct target *target, const struct subject *subject);
/* One dispatch, through to the end. */
int target_dispatch(struct target *target);
/* Reads all outputs into the results. */
int target_read(struct target *target);
/* Build, prepare, dispatch and read. */
int target_run(struct target *target, struct subject *subject);
/* Graph and tensors; the context stays. */
void target_clear(struct target *target);
void target_close(struct target *target);

#endif
