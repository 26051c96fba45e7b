/* SPDX-License-Identifier: MIT */
/* webnn-run: a model with the values of its inputs, and its graph on a device. */
#ifndef ONPU_TOOLS_RUN_SUBJECT_H
#define ONPU_TOOLS_RUN_SUBJECT_H

#include <webnn/onnx.h>
#include <webnn/webnn_npu.h>

#include "run.h"
#include "value.h"

/* The functions of type int below return DONE, or an exit code after a message. */

/* A context, a graph on it, and its tensors. */
struct target {
	WNNInstance instance;
	WNNContext context;
	WNNDeviceInfo device; /* its name is device_name */
	char *device_name;    /* such as npu:1, see device_name_of() */
	/* NULL when no output has elements: then nothing is dispatched. */
	WNNGraph graph;
	/* The model that draws random numbers or has computed inputs; NULL: there are none. */
	WNNOnnxModel model;
	uint64_t seed, dispatches;
	/* duration of the last build and dispatch; for a program, dispatch_ns has both */
	uint64_t build_ns, dispatch_ns;
	size_t input_count, output_count;
	WNNNamedTensor *inputs, *outputs;
	size_t empty_count; /* outputs without elements, which come last in the results */
	struct value *results;
};

/* A model with its dimensions set, or a saved graph; values_read() adds the values. */
struct subject {
	const struct options *options;
	WNNOnnxModel model;   /* NULL: it is a saved graph */
	bool told;	      /* whether the notices of the first build have been printed */
	uint64_t load_ns;     /* time to load */
	struct value *values; /* one for each input, in the order of the file */
	size_t value_count;
	size_t compiled, taken; /* graphs that were compiled, and that --keep had */
	/* Members for a saved graph. */
	bool saved, profile;  /* profile: records time stamps although the options do not ask */
	struct target *first; /* holds context and graph until a target takes them over */
	WNNGraph described;   /* a reference that keeps the texts of saved_inputs */
	WNNOnnxValueInfoArray saved_inputs;
};

int subject_open(struct subject *subject, const struct options *options);
/* Returns the inputs of the model; valid until a dimension or an input is set. */
WNNOnnxValueInfoArray subject_inputs(const struct subject *subject);
/* Returns whether the shape of an input is open; @text then tells how to set it. */
bool subject_is_open(const struct subject *subject, char *text, size_t room);
void subject_close(struct subject *subject);

/*
 * Sets shapes that the file leaves open from the files of --input, then reads all values. Inputs
 * without a value are drawn from the seed of --random, or else from *otherwise. Without a seed
 * (@otherwise is NULL) they are missing if the model is cut, else an error.
 */
int values_read(struct subject *subject, const uint64_t *otherwise);

/*
 * value_load() reads a .npy file, the array of this name in a .npz file, or an ONNX tensor, with
 * the shape in the file. value_file_has_shape() returns whether a file is one of these.
 */
bool value_file_has_shape(const char *path);
int value_load(const char *path, const char *name, struct value *value);
int value_save(const struct value *value, const char *path);
/*
 * Returns FOLDER/NAME.npy, with an underscore for each slash in the name; NULL: memory is
 * exhausted.
 */
char *value_path(const char *folder, const char *name);

int target_open(struct target *target, const struct options *options, const char *device);
/* Opens the device with the subject's options, or takes over the first target of a saved graph. */
int target_open_for(struct target *target, struct subject *subject, const char *device);
/*
 * Builds the graph; inputs that the model needs as constants become constants, if they were given.
 * Prints notices, also of what became constant, but no message about a failure, unless the device
 * fails to compute a value that shapes depend on. Returns the status of libwebnn-onnx.
 */
WNNStatus target_try_build(struct target *target, struct subject *subject);
/*
 * Prints where a graph that was built runs; on_cpu: the number of its operators on the CPU, which
 * the line tells when the device is not the CPU itself.
 */
void target_print_runs(const struct target *target, size_t on_cpu);
/* Builds the graph like target_try_build(), or loads the saved graph. */
int target_build(struct target *target, struct subject *subject);
/* Creates the tensors and writes the inputs. */
int target_prepare(struct target *target, const struct subject *subject);
/* Runs one dispatch and waits for its end. */
int target_dispatch(struct target *target);
/* Reads all outputs into the results. */
int target_read(struct target *target);
/* Builds, prepares, dispatches and reads. */
int target_run(struct target *target, struct subject *subject);
/* Releases graph and tensors; the context stays. */
void target_clear(struct target *target);
void target_close(struct target *target);

#endif
