/* SPDX-License-Identifier: MIT */
/* webnn-run: the part of a model between given tensors. */
#ifndef ONPU_TOOLS_RUN_CUT_H
#define ONPU_TOOLS_RUN_CUT_H

#include "model_file.h"
#include "tensors.h"

/*
 * Marks the tensors and nodes that @outputs need when the tensors whose member cut is true are
 * given. @nodes has a mark for each node, all false before. Returns 0, or -1 when memory is
 * exhausted.
 */
int cut_mark(struct tensors *tensors, const char *const *outputs, size_t output_count, bool *nodes);

/*
 * Keeps what cut_mark() has marked. The model then has the outputs @outputs; its inputs are
 * @inputs, which are the cut tensors, and the old inputs that are still needed. @tensors is invalid
 * afterwards. Returns 0, or -1 when memory is exhausted; the model may then only be freed.
 */
int cut_apply(Onnx__ModelProto *model, struct tensors *tensors, const char *const *inputs,
	      size_t input_count, const char *const *outputs, size_t output_count,
	      const bool *nodes);

/*
 * Returns an entry with a name and no type, which onnx__value_info_proto__free_unpacked() frees;
 * NULL: memory is exhausted.
 */
Onnx__ValueInfoProto *cut_value(const char *name);

#endif
