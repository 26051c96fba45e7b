/* SPDX-License-Identifier: MIT */
/* The windows of convolutions and pooling, with one item for each spatial dimension. */
#ifndef ONNX_WINDOW_H
#define ONNX_WINDOW_H

#include "node.h"

#define ONNX_SPATIAL 3

struct onnx_window {
	uint32_t rank; /* number of spatial dimensions */
	bool ceil;     /* round the size of the output up */
	int64_t in[ONNX_SPATIAL], kernel[ONNX_SPATIAL], stride[ONNX_SPATIAL];
	int64_t dilation[ONNX_SPATIAL], begin[ONNX_SPATIAL], end[ONNX_SPATIAL];
	int64_t out[ONNX_SPATIAL];
};

/*
 * Reads kernel_shape (or takes @kernel), strides, dilations, pads, auto_pad and ceil_mode and
 * computes the size of the output. Returns 0, or -1 when refused.
 */
int onnx_window(struct onnx_node *node, const struct onnx_shape *input, const int64_t *kernel,
		struct onnx_window *window);
/*
 * Reads an attribute with one item for each spatial dimension into @list; when absent, all are
 * @fallback. Returns 0; -1: refused.
 */
int onnx_window_list(struct onnx_node *node, const char *name, uint32_t rank, int64_t fallback,
		     int64_t *list);

#endif
