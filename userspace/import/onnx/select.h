/* SPDX-License-Identifier: MIT */
/* Constants for compositions that choose elements. */
#ifndef ONNX_SELECT_H
#define ONNX_SELECT_H

#include "node.h"

/* Returns the smallest or largest number of a type; for floats, an infinity. */
WNNOperand onnx_extreme(struct onnx_node *node, WNNOperandDataType type, bool largest);
/* Returns the int32 numbers from 0 on along one dimension. */
WNNOperand onnx_iota(struct onnx_node *node, uint32_t rank, uint32_t axis, int64_t count);

#endif
