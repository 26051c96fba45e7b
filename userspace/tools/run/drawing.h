/* SPDX-License-Identifier: MIT */
/*
 * webnn-run: a picture of a model, drawn by the program dot, with colours for the devices of its
 * nodes.
 */
#ifndef ONPU_TOOLS_RUN_DRAWING_H
#define ONPU_TOOLS_RUN_DRAWING_H

#include "cost.h"
#include "run.h"

/*
 * Where the operators run that a node became, or that the node was refused. Several marks are set
 * if operators of one node run in different places.
 */
enum mark { MARK_NPU = 1, MARK_CPU = 2, MARK_FOLDED = 4, MARK_REFUSED = 8 };

struct drawing {
	const char *title;
	const Onnx__GraphProto *graph;
	const struct shapes *shapes;
	/* marks of each node of the graph; MARK_FOLDED is in none that has another mark */
	const unsigned int *marks;
};

/*
 * Writes an SVG file, or with @page an HTML page that contains it. Returns DONE, or an exit code
 * after a message.
 */
int drawing_write(const struct drawing *drawing, const char *path, bool page);

#endif
