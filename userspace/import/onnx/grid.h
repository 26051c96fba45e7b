/* SPDX-License-Identifier: MIT */
/* Samples of images at positions that are computed. */
#ifndef ONNX_GRID_H
#define ONNX_GRID_H

#include "node.h"

#define ONNX_GRID_SPATIAL 3

/* The value of positions outside of the image. */
enum onnx_padding { ONNX_PAD_ZEROS, ONNX_PAD_BORDER, ONNX_PAD_REFLECTION };

struct onnx_grid {
	enum onnx_padding padding;
	bool corners;	/* reflection is at the middle of the outermost elements */
	uint32_t rank;	/* spatial dimensions */
	uint32_t reach; /* elements of one dimension that a result is made of: 1, 2 or 4 */
	int64_t batch, channels, points;
	struct onnx_shape image; /* [batch, channels, spatial dimensions] */
};

/*
 * Samples x at positions of float32 in elements, [batch, points, 1] for each spatial dimension: [batch,
 * points, channels], of the type of x where only one element is taken, else of float32.
 */
WNNOperand onnx_grid_sample(struct onnx_node *node, const struct onnx_grid *g, WNNOperand x,
			    const WNNOperand *positions);

#endif
