/* SPDX-License-Identifier: MIT */
/*
 * webnn-run: what follows from the shapes of a model: its multiply-accumulates, the bytes of its
 * weights.
 */
#ifndef ONPU_TOOLS_RUN_COST_H
#define ONPU_TOOLS_RUN_COST_H

#include <stdbool.h>
#include <stdint.h>
#include <webnn/onnx.h>

#include "onnx.pb-c.h"

/* Values of a model by their names. */
struct shapes {
	const WNNOnnxValueInfo **values;
	size_t count;
};

/*
 * Collects the shapes of the model's inputs, its weights and the outputs of its nodes, which belong
 * to @model. Returns 0, or -1 when memory is exhausted.
 */
int shapes_init(struct shapes *shapes, WNNOnnxModel model);
void shapes_exit(struct shapes *shapes);
/* NULL: there is none of this name. */
const WNNOnnxValueInfo *shapes_find(const struct shapes *shapes, const char *name);
/* Whether all its dimensions are known. */
bool shape_is_static(const WNNOnnxValueInfo *value);

/*
 * Multiply-accumulates of a node of the main graph: those of convolutions, products of matrices,
 * recurrent networks and attention; other operators have none. Returns false when they are not
 * known: shapes are open, or the node has graphs or code of its own.
 */
bool cost_macs(const Onnx__NodeProto *node, const struct shapes *shapes, uint64_t *macs);

/* Bytes of the elements; 0 for strings. */
uint64_t cost_bytes(const Onnx__TensorProto *tensor);

#endif
