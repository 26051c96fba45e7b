/* SPDX-License-Identifier: MIT */
/* Constants for compositions that choose elements. */
#ifndef ONNX_SELECT_H
#define ONNX_SELECT_H

#include "node.h"

/* Returns the smallest or largest number of a type; for floats, an infinity. */
WNNOperand onnx_extreme(struct onnx_node *node, WNNOperandDataType type, bool largest);
/*
 * Returns a constant of this rank with the int32 numbers from 0 to @count - 1 along @axis; other
 * dimensions are 1. NULL: refused, because @count is too large, or no memory.
 */
WNNOperand onnx_iota(struct onnx_node *node, uint32_t rank, uint32_t axis, int64_t count);

#endif
