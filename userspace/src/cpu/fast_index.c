// SPDX-License-Identifier: MIT
/*
 * Fast gather and scatter: converts indices to byte offsets, a chunk at a time, then copies whole
 * runs that are contiguous in source and destination.
 */
#include "cpu/element.h"

#include <string.h>

#include "cpu/fast.h"

#define CHUNK 256

/* Copies runs of bytes between a dense tensor and one that is addressed by index. */
struct mover {
	const char *from;
	char *to;
	size_t run;   /* bytes of a run */
	bool scatter; /* whether the destination is addressed by index, else the source */
};

#define MOVE(bytes)                                                     \
	for (int64_t i = 0; i < n; i++)                                 \
	memcpy(m->scatter ? m->to + offset[i] : dense_to + i * (bytes), \
	       m->scatter ? dense_from + i * (bytes) : m->from + offset[i], (size_t)(bytes))

/* Moves n runs, which begin at run `at` of the dense tensor. */
static void move(const struct mover *m, int64_t at, const int64_t *offset, int64_t n)
{
	char *dense_to = m->to + (m->scatter ? 0 : at * (int64_t)m->run);
	const char *dense_from = m->from + (m->scatter ? at * (int64_t)m->run : 0);

	/* Copies of a constant size are single instructions. */
	switch (m->run) {
	case 1:
		MOVE(1);
		break;
	case 2:
		MOVE(2);
		break;
	case 4:
		MOVE(4);
		break;
	case 8:
		MOVE(8);
		break;
	default:
		MOVE((int64_t)m->run);
	}
}

#define LOAD(type)                      \
	for (int64_t i = 0; i < n; i++) \
	to[i] = ((const type *)p)[at + i * step]

/* Converts the n indices at positions at, at + step, ... to indices from 0 to dim - 1. */
static void load_indices(enum ir_dtype dtype, const void *p, int64_t at, int64_t step, int64_t n,
			 int64_t dim, int64_t *to)
{
	if (dtype == IR_I32)
		LOAD(int32_t);
	else if (dtype == IR_U32)
		LOAD(uint32_t);
	else
		LOAD(int64_t);
	for (int64_t i = 0; i < n; i++) {
		int64_t v = to[i] < -dim ? -dim : to[i];

		v = v > dim - 1 ? dim - 1 : v;
		to[i] = v < 0 ? v + dim : v;
	}
}

struct indexed {
	struct mover mover;
	struct cpu_shape data, indices;
	enum ir_dtype index_type;
	const void *index;
	uint32_t axis;
	int64_t element; /* bytes of an element */
};

static int64_t shorter(int64_t a, int64_t b)
{
	return a < b ? a : b;
}

static void along_axis(const struct indexed *x)
{
	int64_t dim = x->data.dim[x->axis], inner = x->data.stride[x->axis] * x->element;
	int64_t outer = x->data.count / x->data.stride[x->axis] / dim, offset[CHUNK];

	for (int64_t o = 0; o < outer; o++)
		for (int64_t k = 0; k < x->indices.count; k += CHUNK) {
			int64_t n = shorter(CHUNK, x->indices.count - k);

			load_indices(x->index_type, x->index, k, 1, n, dim, offset);
			for (int64_t i = 0; i < n; i++)
				offset[i] = (o * dim + offset[i]) * inner;
			move(&x->mover, o * x->indices.count + k, offset, n);
		}
}

static void of_elements(const struct indexed *x)
{
	int64_t dim = x->data.dim[x->axis], inner = x->data.stride[x->axis], offset[CHUNK];
	int64_t rows = x->indices.count / inner, per_outer = x->indices.dim[x->axis];

	/* A row is the indices that differ only in the dimensions behind the axis. */
	for (int64_t r = 0; r < rows; r++)
		for (int64_t j = 0; j < inner; j += CHUNK) {
			int64_t n = shorter(CHUNK, inner - j), base = r / per_outer * dim;

			load_indices(x->index_type, x->index, r * inner + j, 1, n, dim, offset);
			for (int64_t i = 0; i < n; i++)
				offset[i] = ((base + offset[i]) * inner + j + i) * x->element;
			move(&x->mover, r * inner + j, offset, n);
		}
}

/* Like of_elements() for the last axis, where each of its rows would be a single element. */
static void of_last_elements(const struct indexed *x)
{
	int64_t dim = x->data.dim[x->axis], per_row = x->indices.dim[x->axis], offset[CHUNK];

	for (int64_t r = 0; r < x->indices.count / per_row; r++)
		for (int64_t j = 0; j < per_row; j += CHUNK) {
			int64_t n = shorter(CHUNK, per_row - j);

			load_indices(x->index_type, x->index, r * per_row + j, 1, n, dim, offset);
			for (int64_t i = 0; i < n; i++)
				offset[i] = (r * dim + offset[i]) * x->element;
			move(&x->mover, r * per_row + j, offset, n);
		}
}

static void of_coordinates(const struct indexed *x)
{
	int64_t depth = x->indices.dim[x->indices.rank - 1], tuples = x->indices.count / depth;
	int64_t offset[CHUNK], part[CHUNK];

	for (int64_t t = 0; t < tuples; t += CHUNK) {
		int64_t n = shorter(CHUNK, tuples - t);

		memset(offset, 0, sizeof(offset));
		for (int64_t d = 0; d < depth; d++) {
			load_indices(x->index_type, x->index, t * depth + d, depth, n,
				     x->data.dim[d], part);
			for (int64_t i = 0; i < n; i++)
				offset[i] += part[i] * x->data.stride[d] * x->element;
		}
		move(&x->mover, t, offset, n);
	}
}

static void run(const struct ir_node *node, const void *const *in, void *const *out, bool scatter)
{
	struct indexed x = {
		.mover = { in[scatter ? 2 : 0], out[0], 0, scatter },
		.data = cpu_shape_of(&node->operands[0]->type),
		.indices = cpu_shape_of(&node->operands[1]->type),
		.index_type = node->operands[1]->type.dtype,
		.index = in[1],
		.axis = node->attrs.gather.axis,
		.element = (int64_t)ir_dtype_bits(node->results[0]->type.dtype) / 8,
	};
	int64_t run = 1;

	if (node->attrs.gather.kind == IR_GATHER_AXIS)
		run = x.data.stride[x.axis];
	else if (node->attrs.gather.kind == IR_GATHER_ND)
		run = x.data.stride[x.indices.dim[x.indices.rank - 1] - 1];
	x.mover.run = (size_t)(run * x.element);
	if (node->attrs.gather.kind == IR_GATHER_AXIS)
		along_axis(&x);
	else if (node->attrs.gather.kind == IR_GATHER_ND)
		of_coordinates(&x);
	else if (x.axis == x.data.rank - 1)
		of_last_elements(&x);
	else
		of_elements(&x);
}

static int gather(struct cpu_context *cpu, const struct ir_node *node, const void *const *in,
		  void *const *out, struct wnn_error *err)
{
	(void)cpu;
	(void)err;
	run(node, in, out, false);
	return 0;
}

static int scatter(struct cpu_context *cpu, const struct ir_node *node, const void *const *in,
		   void *const *out, struct wnn_error *err)
{
	(void)cpu;
	(void)err;
	memcpy(out[0], in[0], (size_t)ir_type_bytes(&node->results[0]->type));
	run(node, in, out, true);
	return 0;
}

enum { GATHER, SCATTER };

static const struct cpu_fast_kernel kernels[] = {
	[GATHER] = { .name = "cpu/gather", .run = gather },
	[SCATTER] = { .name = "cpu/scatter", .run = scatter },
};

static const struct cpu_fast_kernel *find(const struct ir_node *node)
{
	if (ir_dtype_bits(node->results[0]->type.dtype) < 8)
		return NULL;
	return &kernels[node->op == IR_OP_GATHER ? GATHER : SCATTER];
}

const struct cpu_fast_family cpu_fast_index = CPU_FAST_FAMILY(kernels, find);
