// SPDX-License-Identifier: MIT
/*
 * Fast gather and scatter: converts indices to byte offsets, a chunk at a time, then copies whole
 * runs that are contiguous in source and destination.
 */
#include "cpu/element.h"

#include <string.h>

#include "cpu/fast.h"
#include "cpu/kernel/kernels.h"

#define CHUNK 256
/* The least bytes that are worth a thread. */
#define GRAIN 65536

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

/*
 * Converts the n indices at positions at, at + step, ... to indices from 0 to dim - 1: adds dim to
 * negative ones, and limits those that are still outside.
 */
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
		/* There are no branches, which mixed signs would make slow. */
		int64_t v = to[i] + (dim & to[i] >> 63), beyond;

		v &= ~(v >> 63);
		beyond = v - (dim - 1);
		to[i] = v - (beyond & ~(beyond >> 63));
	}
}

struct indexed {
	struct mover mover;
	struct cpu_shape data, indices;
	enum ir_dtype index_type;
	const void *index;
	uint32_t axis;
	int64_t element; /* bytes of an element */
	/*
	 * number of runs of a line; a call of offsets() gets runs of one line only
	 */
	int64_t line;
	void (*offsets)(const struct indexed *x, int64_t at, int64_t n, int64_t *offset);
};

/*
 * along_axis() and the three functions after it set offset[i] to the byte offset, in the tensor
 * that is addressed by index, of run at + i of the dense tensor. All n runs are in one line of
 * x->line runs.
 */
static void along_axis(const struct indexed *x, int64_t at, int64_t n, int64_t *offset)
{
	int64_t dim = x->data.dim[x->axis], inner = x->data.stride[x->axis] * x->element;
	int64_t o = at / x->line;

	load_indices(x->index_type, x->index, at - o * x->line, 1, n, dim, offset);
	for (int64_t i = 0; i < n; i++)
		offset[i] = (o * dim + offset[i]) * inner;
}

/*
 * For gatherElements and scatterElements: the runs of a line are single elements whose positions
 * differ only in the dimensions after the axis.
 */
static void of_elements(const struct indexed *x, int64_t at, int64_t n, int64_t *offset)
{
	int64_t dim = x->data.dim[x->axis], r = at / x->line, j = at - r * x->line;
	int64_t element = x->element, row = x->line * element;
	int64_t base = r / x->indices.dim[x->axis] * dim * row + j * element;

	load_indices(x->index_type, x->index, at, 1, n, dim, offset);
	for (int64_t i = 0; i < n; i++)
		offset[i] = base + offset[i] * row + i * element;
}

/*
 * Does the work of of_elements() for the last axis, where each line of of_elements() would be a
 * single element.
 */
static void of_last_elements(const struct indexed *x, int64_t at, int64_t n, int64_t *offset)
{
	int64_t dim = x->data.dim[x->axis], first = at / x->line * dim, element = x->element;

	load_indices(x->index_type, x->index, at, 1, n, dim, offset);
	for (int64_t i = 0; i < n; i++)
		offset[i] = (first + offset[i]) * element;
}

static void of_coordinates(const struct indexed *x, int64_t at, int64_t n, int64_t *offset)
{
	int64_t depth = x->indices.dim[x->indices.rank - 1], part[CHUNK];

	memset(offset, 0, (size_t)n * sizeof(*offset));
	for (int64_t d = 0; d < depth; d++) {
		int64_t step = x->data.stride[d] * x->element;

		load_indices(x->index_type, x->index, at * depth + d, depth, n, x->data.dim[d],
			     part);
		for (int64_t i = 0; i < n; i++)
			offset[i] += part[i] * step;
	}
}

static void move_range(void *argument, int64_t begin, int64_t end)
{
	const struct indexed *x = argument;
	int64_t offset[CHUNK], n;

	for (int64_t at = begin; at < end; at += n) {
		int64_t rest = x->line - at % x->line;

		n = rest < end - at ? rest : end - at;
		n = n < CHUNK ? n : CHUNK;
		x->offsets(x, at, n, offset);
		move(&x->mover, at, offset, n);
	}
}

static void run(struct cpu_context *cpu, const struct ir_node *node, const void *const *in,
		void *const *out, bool scatter)
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
	int64_t run = 1, count = x.indices.count;

	if (node->attrs.gather.kind == IR_GATHER_AXIS) {
		run = x.data.stride[x.axis];
		x.line = count;
		count *= x.data.count / run / x.data.dim[x.axis];
		x.offsets = along_axis;
	} else if (node->attrs.gather.kind == IR_GATHER_ND) {
		run = x.data.stride[x.indices.dim[x.indices.rank - 1] - 1];
		x.line = count /= x.indices.dim[x.indices.rank - 1];
		x.offsets = of_coordinates;
	} else if (x.axis == x.data.rank - 1) {
		x.line = x.indices.dim[x.axis];
		x.offsets = of_last_elements;
	} else {
		x.line = x.data.stride[x.axis];
		x.offsets = of_elements;
	}
	x.mover.run = (size_t)(run * x.element);
	/*
	 * If two indices select one destination, the last run must stay there: one thread copies
	 * all runs in order.
	 */
	if (scatter)
		move_range(&x, 0, count);
	else
		cpu_parallel_ranges(cpu, count, GRAIN / (run * x.element) + 1, move_range, &x);
}

int cpu_gather(struct cpu_context *cpu, const struct ir_node *node, const void *const *in,
	       void *const *out, struct wnn_error *err)
{
	(void)err;
	run(cpu, node, in, out, false);
	return 0;
}

int cpu_scatter(struct cpu_context *cpu, const struct ir_node *node, const void *const *in,
		void *const *out, struct wnn_error *err)
{
	(void)err;
	if (!node->attrs.gather.in_place)
		memcpy(out[0], in[0], (size_t)ir_type_bytes(&node->results[0]->type));
	run(cpu, node, in, out, true);
	return 0;
}
