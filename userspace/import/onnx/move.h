/* SPDX-License-Identifier: MIT */
/*
 * Functions that move elements without computing: of small constants at import, because shapes are
 * made of them; of all other values by operators of WebNN. Each returns NULL when the node is
 * refused.
 */
#ifndef ONNX_MOVE_H
#define ONNX_MOVE_H

#include "node.h"

/* Constants with more elements are moved by operators of WebNN, not here. */
#define ONNX_SMALL 65536

/* Whether the value is a constant of at most ONNX_SMALL elements, each of 8 bits or more. */
bool onnx_is_small(const struct onnx_value *value);
struct onnx_value *onnx_move_reshape(struct onnx_node *node, struct onnx_value *value,
				     const struct onnx_shape *shape);
struct onnx_value *onnx_move_transpose(struct onnx_node *node, struct onnx_value *value,
				       const uint32_t *permutation);
struct onnx_value *onnx_move_expand(struct onnx_node *node, struct onnx_value *value,
				    const struct onnx_shape *shape);
struct onnx_value *onnx_move_tile(struct onnx_node *node, struct onnx_value *value,
				  const int64_t *repeats);
/* @sizes are the sizes of the result; a stride may be negative, but not 0. */
struct onnx_value *onnx_move_slice(struct onnx_node *node, struct onnx_value *value,
				   const int64_t *starts, const int64_t *sizes,
				   const int64_t *strides);
struct onnx_value *onnx_move_concat(struct onnx_node *node, size_t count,
				    struct onnx_value **values, uint32_t axis);
struct onnx_value *onnx_move_gather(struct onnx_node *node, struct onnx_value *value,
				    struct onnx_value *indices, uint32_t axis);

#endif
