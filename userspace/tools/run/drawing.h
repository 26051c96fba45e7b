/* SPDX-License-Identifier: MIT */
/*
 * webnn-run: a picture of a model, with colours for where its nodes run. The program dot draws it.
 */
#ifndef ONPU_TOOLS_RUN_DRAWING_H
#define ONPU_TOOLS_RUN_DRAWING_H

#include "cost.h"
#include "run.h"

/* The fate of a node; several marks hold where parts of it had different fates. */
enum mark { MARK_NPU = 1, MARK_CPU = 2, MARK_FOLDED = 4, MARK_REFUSED = 8 };

struct drawing {
	const char *title;
	const Onnx__GraphProto *graph;
	const struct shapes *shapes;
	const unsigned int *marks; /* for each node of the graph */
};

/* Writes SVG, or a page with it in @page. Returns DONE, or an exit code after a message. */
int drawing_write(const struct drawing *drawing, const char *path, bool page);

#endif
