/* SPDX-License-Identifier: MIT */
/* Random numbers: inputs of the graph, which the program has drawn in front of each dispatch. */
#ifndef ONNX_DRAW_H
#define ONNX_DRAW_H

#include "value.h"

enum onnx_draw_kind {
	DRAW_UNIFORM, /* from @a on, below @b */
	DRAW_NORMAL,  /* mean @a, standard deviation @b */
	DRAW_GUMBEL,  /* whose largest of several is a choice among them */
};

/* How the elements of a value are drawn. */
struct onnx_draw {
	enum onnx_draw_kind kind;
	double a, b;
	uint32_t own_seed; /* bits of the attribute of the node; 0: none */
};

/* An input of the graph whose elements are drawn. */
struct onnx_random {
	const char *name;
	uint64_t number; /* counted from 0 */
	struct onnx_draw draw;
	int type;
	struct onnx_shape shape;
	struct onnx_random *next;
};

/* Fills @data with the numbers of a dispatch. */
void onnx_draw_fill(const struct onnx_random *random, uint64_t seed, uint64_t dispatch, void *data);

#endif
