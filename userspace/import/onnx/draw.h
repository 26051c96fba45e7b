/* SPDX-License-Identifier: MIT */
/* Random numbers: they are inputs of the graph, which the program fills before each dispatch. */
#ifndef ONNX_DRAW_H
#define ONNX_DRAW_H

#include "value.h"

enum onnx_draw_kind {
	DRAW_UNIFORM, /* at least @a, rounded to the type, and below @b */
	DRAW_NORMAL,  /* mean @a, standard deviation @b */
	/* Gumbel noise: the argmax of logits plus this noise is a sample of their distribution */
	DRAW_GUMBEL,
};

struct onnx_draw {
	enum onnx_draw_kind kind;
	double a, b;
	uint32_t own_seed; /* bits of the attribute seed of the node; 0: it has none */
};

/* A graph input whose elements are drawn. */
struct onnx_random {
	const char *name;
	uint64_t number; /* index of the input among those that are drawn, from 0 */
	struct onnx_draw draw;
	int type;     /* type of the input of the graph */
	int own_type; /* type in the model, to which the numbers are rounded first */
	struct onnx_shape shape;
	struct onnx_random *next;
};

/* Fills @data with the random numbers of the input for one dispatch. */
void onnx_draw_fill(const struct onnx_random *random, uint64_t seed, uint64_t dispatch, void *data);

#endif
