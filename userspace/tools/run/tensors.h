/* SPDX-License-Identifier: MIT */
/* webnn-run: the tensors of a model's main graph by name, whoever makes them. */
#ifndef ONPU_TOOLS_RUN_TENSORS_H
#define ONPU_TOOLS_RUN_TENSORS_H

#include <stdbool.h>
#include <stddef.h>

#include "onnx.pb-c.h"

#define NO_NODE SIZE_MAX

/* The entries of the file for a name; NULL, NO_NODE and false for those that are absent. */
struct tensor {
	const char *name;
	size_t node; /* that makes it */
	const Onnx__TensorProto *initializer;
	const Onnx__SparseTensorProto *sparse;
	const Onnx__ValueInfoProto *info; /* its type, as an input, output or else */
	bool is_input;
	/* For model_cut(): where the model begins, and what is kept. */
	bool cut, needed;
};

struct tensors {
	const Onnx__GraphProto *graph;
	struct tensor *items; /* sorted by name */
	size_t count;
};

/* Borrows the graph. Returns 0, or -1 when memory is exhausted. */
int tensors_init(struct tensors *tensors, const Onnx__GraphProto *graph);
void tensors_exit(struct tensors *tensors);

/* NULL: there is none of that name. */
struct tensor *tensors_find(const struct tensors *tensors, const char *name);

/* "; similar are a, b", or "; info lists inputs and outputs" where none is. */
void tensors_similar(const struct tensors *tensors, const char *name, char *text, size_t room);

/*
 * The type of the elements, as TensorProto.DataType has it: what the file says, else what follows
 * from the operators; 0 where neither is known.
 */
int tensors_type(const struct tensors *tensors, const char *name);

#endif
