/* SPDX-License-Identifier: MIT */
/* webnn-run: the tensors of a model's main graph by name: inputs, weights and outputs of nodes. */
#ifndef ONPU_TOOLS_RUN_TENSORS_H
#define ONPU_TOOLS_RUN_TENSORS_H

#include <stdbool.h>
#include <stddef.h>

#include "onnx.pb-c.h"

#define NO_NODE SIZE_MAX

/* The file's entries for a name; NULL, NO_NODE or false when there is none. */
struct tensor {
	const char *name;
	size_t node; /* the node that computes it */
	const Onnx__TensorProto *initializer;
	const Onnx__SparseTensorProto *sparse;
	/* entry with its type, as an input, output or inner value */
	const Onnx__ValueInfoProto *info;
	bool is_input;
	/* For cut_mark(): cut: a new input of the model; needed: kept. */
	bool cut, needed;
};

struct tensors {
	const Onnx__GraphProto *graph;
	struct tensor *items; /* sorted by name */
	size_t count;
};

/* Indexes the graph, which is borrowed. Returns 0, or -1 when memory is exhausted. */
int tensors_init(struct tensors *tensors, const Onnx__GraphProto *graph);
void tensors_exit(struct tensors *tensors);

/* Returns the tensor of this name; NULL: there is none. */
struct tensor *tensors_find(const struct tensors *tensors, const char *name);

/* Writes "; similar are a, b", or "; info lists inputs and outputs" when no name is similar. */
void tensors_similar(const struct tensors *tensors, const char *name, char *text, size_t room);

/*
 * Returns the element type by TensorProto.DataType: from the file, or derived from the operators;
 * 0: neither is known.
 */
int tensors_type(const struct tensors *tensors, const char *name);

#endif
