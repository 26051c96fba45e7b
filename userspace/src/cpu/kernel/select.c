// SPDX-License-Identifier: MIT
/*
 * Fast comparisons and selections (where) for all types of 8 bits and more but float64, in rows
 * along which each operand is contiguous or one element.
 */
#include <string.h>

#include "cpu/fast.h"
#include "cpu/kernel/walk.h"
#include "cpu/kernel/kernels.h"

/* The least elements of an item of work. */
#define GRAIN 16384
/* Elements of float16 that are converted at a time. */
#define CHUNK 1024

#define INLINE static inline __attribute__((always_inline))

struct selection {
	const struct ir_node *node;
	struct cpu_walk walk;
	const void *in[3];
	void *y;
};

static const char *element_at(const struct selection *s, int k, int64_t i)
{
	size_t size = ir_dtype_bits(s->node->operands[k]->type.dtype) / 8;

	return (const char *)s->in[k] + (size_t)cpu_walk_at(&s->walk, k, i) * size;
}

/* --- Comparisons: "less" is "greater" with the operands exchanged --- */

#define HOLDS(operator)                 \
	for (int64_t i = 0; i < n; i++) \
		y[i] = a[i * sa] operator b[i * sb];

#define COMPARE(type)                                                                          \
	INLINE void compare_steps_##type(enum ir_binary kind, uint8_t *y, const type *a,       \
					 const int64_t sa, const type *b, const int64_t sb,    \
					 int64_t n)                                            \
	{                                                                                      \
		if (kind == IR_EQ)                                                             \
			HOLDS(==)                                                              \
		else if (kind == IR_NE)                                                        \
			HOLDS(!=)                                                              \
		else if (kind == IR_GT)                                                        \
			HOLDS(>)                                                               \
		else                                                                           \
			HOLDS(>=)                                                              \
	}                                                                                      \
	static void compare_##type(enum ir_binary kind, uint8_t *y, const void *a, int64_t sa, \
				   const void *b, int64_t sb, int64_t n)                       \
	{                                                                                      \
		if (kind == IR_LT || kind == IR_LE)                                            \
			compare_##type(kind == IR_LT ? IR_GT : IR_GE, y, b, sb, a, sa, n);     \
		else if (sa && sb)                                                             \
			compare_steps_##type(kind, y, a, 1, b, 1, n);                          \
		else if (sa)                                                                   \
			compare_steps_##type(kind, y, a, 1, b, 0, n);                          \
		else                                                                           \
			compare_steps_##type(kind, y, a, 0, b, sb, n);                         \
	}

COMPARE(float)
COMPARE(int8_t)
COMPARE(uint8_t)
COMPARE(int32_t)
COMPARE(uint32_t)
COMPARE(int64_t)
COMPARE(uint64_t)

typedef void (*compare_fn)(enum ir_binary kind, uint8_t *y, const void *a, int64_t sa,
			   const void *b, int64_t sb, int64_t n);

static const compare_fn comparisons[] = {
	[IR_F32] = compare_float,    [IR_I8] = compare_int8_t,	  [IR_U8] = compare_uint8_t,
	[IR_I32] = compare_int32_t,  [IR_U32] = compare_uint32_t, [IR_I64] = compare_int64_t,
	[IR_U64] = compare_uint64_t,
};

static void load_halves(float *to, const char *from, int64_t step, int64_t n)
{
	for (int64_t i = 0; i < (step ? n : 1); i++)
		to[i] = wnn_half_to_float(((const uint16_t *)from)[i]);
}

static void compare_range(void *argument, int64_t begin, int64_t end)
{
	const struct selection *s = argument;
	enum ir_dtype dtype = s->node->operands[0]->type.dtype;
	enum ir_binary kind = s->node->attrs.binary.kind;
	int64_t sa = cpu_walk_step(&s->walk, 0), sb = cpu_walk_step(&s->walk, 1), n;
	float a[CHUNK], b[CHUNK];

	for (int64_t i = begin; i < end; i += n) {
		const char *from[2] = { element_at(s, 0, i), element_at(s, 1, i) };
		uint8_t *y = (uint8_t *)s->y + i;

		n = cpu_walk_row(&s->walk, i, end);
		if (dtype != IR_F16) {
			comparisons[dtype](kind, y, from[0], sa, from[1], sb, n);
			continue;
		}
		n = n < CHUNK ? n : CHUNK;
		load_halves(a, from[0], sa, n);
		load_halves(b, from[1], sb, n);
		compare_float(kind, y, a, sa, b, sb, n);
	}
}

/* --- Selections --- */

/* Selects without branches: conditions may be random, and branches would be mispredicted. */
#define CHOOSE(type)                                                                       \
	INLINE void choose_steps_##type(type *y, const uint8_t *c, const type *a,          \
					const int64_t sa, const type *b, const int64_t sb, \
					int64_t n)                                         \
	{                                                                                  \
		for (int64_t i = 0; i < n; i++) {                                          \
			type mask = (type) - (c[i] != 0);                                  \
                                                                                           \
			y[i] = (type)((a[i * sa] & mask) | (b[i * sb] & ~mask));           \
		}                                                                          \
	}                                                                                  \
	static void choose_##type(void *y, const uint8_t *c, int64_t sc, const void *a,    \
				  int64_t sa, const void *b, int64_t sb, int64_t n)        \
	{                                                                                  \
		const type *one = c[0] ? a : b;                                            \
		int64_t step = c[0] ? sa : sb;                                             \
                                                                                           \
		if (!sc && step)                                                           \
			memcpy(y, one, (size_t)n * sizeof(type));                          \
		else if (!sc)                                                              \
			for (int64_t i = 0; i < n; i++)                                    \
				((type *)y)[i] = *one;                                     \
		else if (sa && sb)                                                         \
			choose_steps_##type(y, c, a, 1, b, 1, n);                          \
		else if (sa)                                                               \
			choose_steps_##type(y, c, a, 1, b, 0, n);                          \
		else                                                                       \
			choose_steps_##type(y, c, a, 0, b, sb, n);                         \
	}

CHOOSE(uint8_t)
CHOOSE(uint16_t)
CHOOSE(uint32_t)
CHOOSE(uint64_t)

static void where_range(void *argument, int64_t begin, int64_t end)
{
	const struct selection *s = argument;
	uint32_t bits = ir_dtype_bits(s->node->results[0]->type.dtype);
	int64_t sc = cpu_walk_step(&s->walk, 0), sa = cpu_walk_step(&s->walk, 1),
		sb = cpu_walk_step(&s->walk, 2), n;

	for (int64_t i = begin; i < end; i += n) {
		const uint8_t *c = (const uint8_t *)element_at(s, 0, i);
		const char *a = element_at(s, 1, i), *b = element_at(s, 2, i);
		char *y = (char *)s->y + (size_t)i * bits / 8;

		n = cpu_walk_row(&s->walk, i, end);
		if (bits == 8)
			choose_uint8_t(y, c, sc, a, sa, b, sb, n);
		else if (bits == 16)
			choose_uint16_t(y, c, sc, a, sa, b, sb, n);
		else if (bits == 32)
			choose_uint32_t(y, c, sc, a, sa, b, sb, n);
		else
			choose_uint64_t(y, c, sc, a, sa, b, sb, n);
	}
}

int cpu_select(struct cpu_context *cpu, const struct ir_node *node, const void *const *in,
	       void *const *out, struct wnn_error *err)
{
	bool where = node->op == IR_OP_WHERE;
	struct selection s = { .node = node,
			       .walk = cpu_walk_of(node, where ? 3 : 2),
			       .in = { in[0], in[1], where ? in[2] : NULL },
			       .y = out[0] };

	(void)err;
	cpu_parallel_ranges(cpu, s.walk.shape.count, GRAIN, where ? where_range : compare_range,
			    &s);
	return 0;
}

const char *cpu_select_refuses(const struct cpu_ask *ask)
{
	enum ir_dtype dtype = ask->node->operands[1]->type.dtype;

	return ir_dtype_bits(dtype) < 8 || dtype == IR_F64 ?
		       "its type is float64 or has fewer than 8 bits" :
		       NULL;
}
