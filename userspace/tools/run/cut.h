/* SPDX-License-Identifier: MIT */
/* webnn-run: the part of a model that lies between given tensors. */
#ifndef ONPU_TOOLS_RUN_CUT_H
#define ONPU_TOOLS_RUN_CUT_H

#include "model_file.h"
#include "tensors.h"

/*
 * Marks what of the graph @outputs need when the tensors whose member cut is set are given. @nodes
 * has room for a mark of each node. Returns 0, or -1 when memory is exhausted.
 */
int cut_mark(struct tensors *tensors, const char *const *outputs, size_t output_count, bool *nodes);

/*
 * Leaves what cut_mark() has marked, with these outputs, and as inputs the tensors that are cut and
 * then those of the model that are needed. The tensors are of no use any more. Returns 0, or -1
 * when memory is exhausted; then the model may only be freed.
 */
int cut_apply(Onnx__ModelProto *model, struct tensors *tensors, const char *const *inputs,
	      size_t input_count, const char *const *outputs, size_t output_count,
	      const bool *nodes);

/*
 * An entry without a type, which onnx__value_info_proto__free_unpacked() frees; NULL: memory is
 * exhausted.
 */
Onnx__ValueInfoProto *cut_value(const char *name);

#endif
