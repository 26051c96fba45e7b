/* SPDX-License-Identifier: MIT */
/* Models whose dimensions have ranges. */
#ifndef ONNX_RANGE_H
#define ONNX_RANGE_H

#include <webnn/webnn_npu.h>

#include "model.h"

/*
 * Adds a model with ranges to a builder of the context and sets *outputs to its *count outputs, as
 * wnnOnnxModelAddToBuilder() does: the graph is then one for all sizes of the ranges. Returns
 * WNNStatus_Success, or the first error.
 */
WNNStatus onnx_range_add(struct onnx_model *model, WNNContext context, WNNGraphBuilder builder,
			 size_t *count, WNNNamedOperand const **outputs);

#endif
