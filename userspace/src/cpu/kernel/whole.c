// SPDX-License-Identifier: MIT
/*
 * Fast element-wise functions of integers and booleans of 8 bits and more, and the tests of floats
 * for NaN and infinity.
 */
#include "cpu/fast.h"
#include "cpu/kernel/walk.h"
#include "cpu/ref/reference.h"
#include "cpu/kernel/kernels.h"

/* The least elements of an item of work. */
#define GRAIN 16384
/* Elements to which the activation is applied while they are in the first-level cache. */
#define CHUNK 2048

struct whole {
	const struct cpu_simd *simd;
	const struct ir_node *node;
	struct cpu_walk walk;
	const char *a, *b;
	char *y;
};

/*
 * y = function of x, element by element; y may be x. The reference handles bounds that the type
 * does not have.
 */
static void apply(const struct cpu_simd *simd, const struct ir_unary_attrs *attrs,
		  enum ir_dtype dtype, void *y, const void *x, int64_t n)
{
	bool is_unsigned = ir_dtype_is_unsigned(dtype);
	int64_t lo = is_unsigned ? (int64_t)attrs->ulo : attrs->ilo;
	int64_t hi = is_unsigned ? (int64_t)attrs->uhi : attrs->ihi;
	bool held = ir_dtype_bits(dtype) == 64 || attrs->kind != IR_CLAMP ||
		    (lo >= cpu_int_min(dtype) && lo <= cpu_int_max(dtype) &&
		     hi >= cpu_int_min(dtype) && hi <= cpu_int_max(dtype));

	if (held && simd->whole_unary((int)dtype, attrs->kind, lo, hi, y, x, n))
		return;
	for (int64_t i = 0; i < n; i++)
		cpu_store_int(dtype, y, i,
			      cpu_apply_unary_int(attrs, dtype, cpu_load_int(dtype, x, i)));
}

static void unary_range(void *argument, int64_t begin, int64_t end)
{
	const struct whole *w = argument;
	enum ir_dtype dtype = w->node->operands[0]->type.dtype;
	int64_t at = begin * (int64_t)(ir_dtype_bits(dtype) / 8);

	apply(w->simd, &w->node->attrs.unary, dtype, w->y + at, w->a + at, end - begin);
}

int cpu_unary_whole(struct cpu_context *cpu, const struct ir_node *node, const void *const *in,
		    void *const *out, struct wnn_error *err)
{
	struct whole w = { .simd = cpu->simd, .node = node, .a = in[0], .y = out[0] };

	(void)err;
	cpu_parallel_ranges(cpu, ir_type_elements(&node->results[0]->type), GRAIN, unary_range, &w);
	return 0;
}

static void binary_range(void *argument, int64_t begin, int64_t end)
{
	const struct whole *w = argument;
	const struct ir_binary_attrs *attrs = &w->node->attrs.binary;
	enum ir_dtype dtype = w->node->operands[0]->type.dtype;
	int64_t size = (int64_t)(ir_dtype_bits(dtype) / 8), n;
	bool acts = attrs->act.kind != IR_UNARY_NONE;

	for (int64_t i = begin; i < end; i += n) {
		char *y = w->y + i * size;

		n = cpu_walk_row(&w->walk, i, acts && end > i + CHUNK ? i + CHUNK : end);
		w->simd->whole_binary((int)dtype, (int)attrs->kind, y,
				      w->a + cpu_walk_at(&w->walk, 0, i) * size,
				      cpu_walk_step(&w->walk, 0),
				      w->b + cpu_walk_at(&w->walk, 1, i) * size,
				      cpu_walk_step(&w->walk, 1), n);
		if (acts)
			apply(w->simd, &attrs->act, dtype, y, y, n);
	}
}

static void pairs(void *argument, void *y, const void *a, const void *b, int64_t n)
{
	const struct whole *w = argument;
	const struct ir_binary_attrs *attrs = &w->node->attrs.binary;
	enum ir_dtype dtype = w->node->operands[0]->type.dtype;

	w->simd->whole_binary((int)dtype, (int)attrs->kind, y, a, 1, b, 1, n);
	if (attrs->act.kind != IR_UNARY_NONE)
		apply(w->simd, &attrs->act, dtype, y, y, n);
}

/* Does the same as binary_range() where an operand repeats its rows. */
static void binary_repeated(void *argument, int64_t begin, int64_t end)
{
	const struct whole *w = argument;
	int64_t room[CPU_REPEATS];

	cpu_walk_repeated(&w->walk, cpu_walk_repeats(&w->walk),
			  (int64_t)(ir_dtype_bits(w->node->operands[0]->type.dtype) / 8), room,
			  (const void *const[]){ w->a, w->b }, w->y, begin, end, pairs, argument);
}

int cpu_binary_whole(struct cpu_context *cpu, const struct ir_node *node, const void *const *in,
		     void *const *out, struct wnn_error *err)
{
	struct whole w = { .simd = cpu->simd,
			   .node = node,
			   .a = in[0],
			   .b = in[1],
			   .y = out[0],
			   .walk = cpu_walk_of(node, 2) };

	(void)err;
	cpu_parallel_ranges(cpu, w.walk.shape.count, GRAIN,
			    cpu_walk_repeats(&w.walk) >= 0 ? binary_repeated : binary_range, &w);
	return 0;
}

static void say_range(void *argument, int64_t begin, int64_t end)
{
	const struct whole *w = argument;
	enum ir_dtype dtype = w->node->operands[0]->type.dtype;

	w->simd->says((int)dtype, w->node->attrs.unary.kind, (uint8_t *)w->y + begin,
		      w->a + begin * (int64_t)(ir_dtype_bits(dtype) / 8), end - begin);
}

int cpu_unary_says(struct cpu_context *cpu, const struct ir_node *node, const void *const *in,
		   void *const *out, struct wnn_error *err)
{
	struct whole w = { .simd = cpu->simd, .node = node, .a = in[0], .y = out[0] };

	(void)err;
	cpu_parallel_ranges(cpu, ir_type_elements(&node->results[0]->type), GRAIN, say_range, &w);
	return 0;
}
