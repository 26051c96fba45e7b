// SPDX-License-Identifier: MIT
/*
 * Fast element-wise functions for float32, on all threads; those of integers are in fast_whole.c.
 */
#include "cpu/fast.h"
#include "cpu/lines.h"
#include "cpu/reference.h"

/* The least elements of an item of work. */
#define GRAIN 16384
/* An activation follows while the elements are in the first-level cache. */
#define CHUNK 2048

/* x may be y. */
static void apply(const struct cpu_simd *simd, const struct ir_unary_attrs *act, float *y,
		  const float *x, int64_t n)
{
	if (!simd->unary(act->kind, act->alpha, act->beta, y, x, n))
		for (int64_t i = 0; i < n; i++)
			y[i] = (float)cpu_apply_unary(act, (double)x[i]);
	if (act->half)
		simd->round_halves(y, n);
}

void cpu_activate(const struct cpu_simd *simd, const struct ir_unary_attrs *act, float *x,
		  int64_t n)
{
	int64_t chunk = act->half ? CHUNK : n;

	if (act->kind == IR_UNARY_NONE && !act->half)
		return;
	for (int64_t i = 0; i < n; i += chunk)
		apply(simd, act, x + i, x + i, chunk < n - i ? chunk : n - i);
}

struct map {
	const struct cpu_simd *simd;
	const struct ir_node *node;
	const float *a, *b;
	float *y;
	struct cpu_walk walk;
};

static void unary_range(void *argument, int64_t begin, int64_t end)
{
	const struct map *m = argument;

	for (int64_t i = begin; i < end; i += CHUNK)
		apply(m->simd, &m->node->attrs.unary, m->y + i, m->a + i,
		      CHUNK < end - i ? CHUNK : end - i);
}

static int unary(struct cpu_context *cpu, const struct ir_node *node, const void *const *in,
		 void *const *out, struct wnn_error *err)
{
	struct map m = { .simd = cpu->simd, .node = node, .a = in[0], .y = out[0] };

	(void)err;
	cpu_parallel_ranges(cpu, ir_type_elements(&node->results[0]->type), GRAIN, unary_range, &m);
	return 0;
}

static void binary_range(void *argument, int64_t begin, int64_t end)
{
	const struct map *m = argument;
	const struct ir_binary_attrs *attrs = &m->node->attrs.binary;
	const struct cpu_walk *w = &m->walk;

	for (int64_t i = begin; i < end;) {
		int64_t size = cpu_walk_line(w, i, end < i + CHUNK ? end : i + CHUNK);

		m->simd->binary((int)attrs->kind, m->y + i, m->a + cpu_walk_at(w, 0, i),
				cpu_walk_step(w, 0), m->b + cpu_walk_at(w, 1, i),
				cpu_walk_step(w, 1), size);
		cpu_activate(m->simd, &attrs->act, m->y + i, size);
		i += size;
	}
}

static int binary(struct cpu_context *cpu, const struct ir_node *node, const void *const *in,
		  void *const *out, struct wnn_error *err)
{
	struct map m = { .simd = cpu->simd,
			 .node = node,
			 .a = in[0],
			 .b = in[1],
			 .y = out[0],
			 .walk = cpu_walk_of(node, 2) };

	(void)err;
	cpu_parallel_ranges(cpu, m.walk.shape.count, GRAIN, binary_range, &m);
	return 0;
}

enum { UNARY, BINARY, UNARY_WHOLE, BINARY_WHOLE, UNARY_SAYS };

static const struct cpu_fast_kernel kernels[] = {
	[UNARY] = { .name = "cpu/unary", .run = unary },
	[BINARY] = { .name = "cpu/binary", .run = binary },
	[UNARY_WHOLE] = { .name = "cpu/unary-integers", .run = cpu_unary_whole },
	[BINARY_WHOLE] = { .name = "cpu/binary-integers", .run = cpu_binary_whole },
	[UNARY_SAYS] = { .name = "cpu/unary-says", .run = cpu_unary_says },
};

static const struct cpu_fast_kernel *find_whole(const struct ir_node *node)
{
	if (ir_dtype_bits(node->operands[0]->type.dtype) < 8)
		return NULL;
	return &kernels[node->op == IR_OP_UNARY ? UNARY_WHOLE : BINARY_WHOLE];
}

static const struct cpu_fast_kernel *find(const struct ir_node *node)
{
	enum ir_dtype dtype = node->operands[0]->type.dtype;
	int kind = node->op == IR_OP_UNARY ? node->attrs.unary.kind : IR_UNARY_NONE;

	if (!ir_dtype_is_float(dtype))
		return find_whole(node);
	if (kind == IR_IS_NAN || kind == IR_IS_INFINITE)
		return ir_dtype_bits(dtype) <= 32 ? &kernels[UNARY_SAYS] : NULL;
	if (dtype != IR_F32)
		return NULL;
	if (node->op == IR_OP_UNARY)
		return &kernels[UNARY];
	return node->attrs.binary.kind <= IR_PRELU ? &kernels[BINARY] : NULL;
}

const struct cpu_fast_family cpu_fast_elementwise = CPU_FAST_FAMILY(kernels, find);
