/* SPDX-License-Identifier: MIT */
/*
 * webnn-run: costs of a model that follow from its shapes: multiply-accumulates, bytes of weights.
 */
#ifndef ONPU_TOOLS_RUN_COST_H
#define ONPU_TOOLS_RUN_COST_H

#include <stdbool.h>
#include <stdint.h>
#include <webnn/onnx.h>

#include "onnx.pb-c.h"

/* The values of a model, sorted by name. */
struct shapes {
	const WNNOnnxValueInfo **values;
	size_t count;
};

/*
 * Collects the shapes of the model's inputs, weights and outputs of nodes. They belong to @model.
 * Returns 0, or -1 when memory is exhausted.
 */
int shapes_init(struct shapes *shapes, WNNOnnxModel model);
void shapes_exit(struct shapes *shapes);
/* Returns NULL when there is no value of this name. */
const WNNOnnxValueInfo *shapes_find(const struct shapes *shapes, const char *name);
/* Returns whether all dimensions of the value are known. */
bool shape_is_static(const WNNOnnxValueInfo *value);

/*
 * Sets *macs to the multiply-accumulates of a node of the main graph: convolutions, matrix
 * products (also by Einsum), recurrent networks and attention have them; other operators have none.
 * Returns false when they are not known: shapes are open, the node contains graphs, its operator is
 * neither one of ONNX nor of com.microsoft, or its work is not counted here, such as that of
 * GroupQueryAttention or of an Einsum without exactly two operands.
 */
bool cost_macs(const Onnx__NodeProto *node, const struct shapes *shapes, uint64_t *macs);

/*
 * Returns the bytes of the elements; 0 for strings, and for dimensions that are negative or too
 * large.
 */
uint64_t cost_bytes(const Onnx__TensorProto *tensor);

#endif
