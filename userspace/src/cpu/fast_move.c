// SPDX-License-Identifier: MIT
/* Fast movement of elements of every type: runs that are contiguous on both sides are copied whole. */
#include "cpu/element.h"

#include <string.h>

#include "cpu/fast.h"

/* Elements that are worth a thread of their own. */
#define GRAIN 16384

static int concat(struct cpu_context *cpu, const struct ir_node *node, const void *const *in,
		  void *const *out, struct wnn_error *err)
{
	const struct ir_type *type = &node->results[0]->type;
	struct cpu_shape y = cpu_shape_of(type);
	size_t element = ir_dtype_bits(type->dtype) / 8;
	uint32_t axis = node->attrs.axis;
	size_t row = (size_t)(y.dim[axis] * y.stride[axis]) * element, at = 0;

	(void)cpu;
	(void)err;
	for (uint32_t k = 0; k < node->num_operands; k++) {
		size_t run =
			(size_t)(ir_type_dim(&node->operands[k]->type, axis) * y.stride[axis]) *
			element;
		const char *from = in[k];
		char *to = (char *)out[0] + at;

		for (int64_t i = 0; i < y.count / (y.dim[axis] * y.stride[axis]); i++)
			memcpy(to + (size_t)i * row, from + (size_t)i * run, run);
		at += run;
	}
	return 0;
}

/* Runs of a source, one for each index of a line, at equal distances. */
struct strided {
	struct cpu_shape y;
	int64_t stride[IR_MAX_RANK]; /* of the source, in elements; may be 0 or negative */
	int64_t run, line, step;     /* elements of a run, runs of a line, distance of runs */
	size_t element;
	const char *from;
	char *to;
};

#define COPY_RUNS(bytes)                      \
	for (int64_t k = 0; k < s->line; k++) \
	memcpy(to + k * (int64_t)(bytes), from + k * step, bytes)

static void copy_lines(void *argument, int64_t begin, int64_t end)
{
	const struct strided *s = argument;
	int64_t element = (int64_t)s->element, step = s->step * element;
	size_t run = (size_t)s->run * s->element;

	for (int64_t i = begin * s->line * s->run; i < end * s->line * s->run;
	     i += s->line * s->run) {
		const char *from = s->from + cpu_offset(&s->y, i, s->stride) * element;
		char *to = s->to + i * element;

		/* Copies of a constant size are single instructions. */
		switch (run) {
		case 1:
			COPY_RUNS(1);
			break;
		case 2:
			COPY_RUNS(2);
			break;
		case 4:
			COPY_RUNS(4);
			break;
		case 8:
			COPY_RUNS(8);
			break;
		default:
			COPY_RUNS(run);
		}
	}
}

/* s->stride is set; element 0 is read from `base`. */
static void move_strided(struct cpu_context *cpu, struct strided *s, const struct ir_node *node,
			 const void *const *in, void *const *out, int64_t base)
{
	uint32_t d;

	s->y = cpu_shape_of(&node->results[0]->type);
	s->element = ir_dtype_bits(node->results[0]->type.dtype) / 8;
	s->from = (const char *)in[0] + base * (int64_t)s->element;
	s->to = out[0];
	s->run = s->line = 1;
	/* The innermost dims that lie alike in the source. */
	for (d = s->y.rank; d > 0 && (s->stride[d - 1] == s->run || s->y.dim[d - 1] == 1); d--)
		s->run *= s->y.dim[d - 1];
	if (d) {
		s->line = s->y.dim[d - 1];
		s->step = s->stride[d - 1];
	}
	cpu_parallel_ranges(cpu, s->y.count / (s->line * s->run), GRAIN / (s->line * s->run) + 1,
			    copy_lines, s);
}

static int transpose(struct cpu_context *cpu, const struct ir_node *node, const void *const *in,
		     void *const *out, struct wnn_error *err)
{
	struct cpu_shape x = cpu_shape_of(&node->operands[0]->type);
	struct strided s = { .run = 1 };

	(void)err;
	for (uint32_t i = 0; i < x.rank; i++)
		s.stride[i] = x.stride[node->attrs.transpose.perm[i]];
	move_strided(cpu, &s, node, in, out, 0);
	return 0;
}

static int slice(struct cpu_context *cpu, const struct ir_node *node, const void *const *in,
		 void *const *out, struct wnn_error *err)
{
	struct cpu_shape x = cpu_shape_of(&node->operands[0]->type);
	struct strided s = { .run = 1 };
	int64_t base = 0;

	(void)err;
	for (uint32_t i = 0; i < x.rank; i++) {
		base += node->attrs.slice.starts[i] * x.stride[i];
		s.stride[i] = node->attrs.slice.strides[i] * x.stride[i];
	}
	move_strided(cpu, &s, node, in, out, base);
	return 0;
}

static int expand(struct cpu_context *cpu, const struct ir_node *node, const void *const *in,
		  void *const *out, struct wnn_error *err)
{
	struct cpu_shape x = cpu_shape_of(&node->operands[0]->type);
	struct cpu_shape y = cpu_shape_of(&node->results[0]->type);
	struct strided s = { .run = 1 };

	(void)err;
	cpu_broadcast_strides(&x, &y, s.stride);
	move_strided(cpu, &s, node, in, out, 0);
	return 0;
}

static int reverse(struct cpu_context *cpu, const struct ir_node *node, const void *const *in,
		   void *const *out, struct wnn_error *err)
{
	struct cpu_shape x = cpu_shape_of(&node->operands[0]->type);
	struct strided s = { .run = 1 };
	int64_t base = 0;

	(void)err;
	for (uint32_t i = 0; i < x.rank; i++) {
		bool reversed = node->attrs.axes >> i & 1;

		base += reversed ? (x.dim[i] - 1) * x.stride[i] : 0;
		s.stride[i] = reversed ? -x.stride[i] : x.stride[i];
	}
	move_strided(cpu, &s, node, in, out, base);
	return 0;
}

enum { CONCAT, TRANSPOSE, SLICE, EXPAND, REVERSE };

static const struct cpu_fast_kernel kernels[] = {
	[CONCAT] = { .name = "cpu/concat", .run = concat },
	[TRANSPOSE] = { .name = "cpu/transpose", .run = transpose },
	[SLICE] = { .name = "cpu/slice", .run = slice },
	[EXPAND] = { .name = "cpu/expand", .run = expand },
	[REVERSE] = { .name = "cpu/reverse", .run = reverse },
};

static const struct cpu_fast_kernel *find(const struct ir_node *node)
{
	if (ir_dtype_bits(node->results[0]->type.dtype) < 8)
		return NULL;
	switch (node->op) {
	case IR_OP_CONCAT:
		return &kernels[CONCAT];
	case IR_OP_TRANSPOSE:
		return &kernels[TRANSPOSE];
	case IR_OP_SLICE:
		return &kernels[SLICE];
	case IR_OP_EXPAND:
		return &kernels[EXPAND];
	default:
		return &kernels[REVERSE];
	}
}

const struct cpu_fast_family cpu_fast_move = CPU_FAST_FAMILY(kernels, find);
