/* SPDX-License-Identifier: MIT */
/* Samples images at computed positions, for GridSample and DeformConv. */
#ifndef ONNX_GRID_H
#define ONNX_GRID_H

#include "node.h"

#define ONNX_GRID_SPATIAL 3

/* How positions outside of the image are treated. */
enum onnx_padding { ONNX_PAD_ZEROS, ONNX_PAD_BORDER, ONNX_PAD_REFLECTION };

struct onnx_grid {
	enum onnx_padding padding;
	/* reflection is at the centres of the outermost elements, not at their edges */
	bool corners;
	uint32_t rank;	/* spatial dimensions */
	uint32_t reach; /* elements of one dimension that each result combines: 1, 2 or 4 */
	int64_t batch, channels, points;
	struct onnx_shape image; /* [batch, channels, spatial dimensions] */
};

/*
 * Samples x and returns [batch, points, channels], in the type of x where reach is 1, else float32.
 * @positions holds for each spatial dimension float32 positions [batch, points, 1], in elements.
 */
WNNOperand onnx_grid_sample(struct onnx_node *node, const struct onnx_grid *g, WNNOperand x,
			    const WNNOperand *positions);

#endif
