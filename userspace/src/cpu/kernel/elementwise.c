// SPDX-License-Identifier: MIT
/* Fast element-wise functions for float32 on all threads. whole.c has those for integers. */
#include "cpu/kernel/kernels.h"

#include "cpu/fast.h"
#include "cpu/kernel/walk.h"
#include "cpu/ref/reference.h"
#include "util/malloc.h"

/* The least elements of an item of work. */
#define GRAIN 16384
/* Elements to which the activation is applied while they are in the first-level cache. */
#define CHUNK 2048
/*
 * With strides, MANY_ROWS or more rows that are shorter than ROW take longer than copying the
 * operands first.
 */
#define ROW	  64
#define MANY_ROWS 64

/* y = function of x, element by element; x may be y. */
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

/* The index of the result among the operands of a struct cpu_walk. */
#define RESULT 2

struct map {
	const struct cpu_simd *simd;
	const struct ir_node *node;
	const float *a, *b;
	float *y;
	/* has the operand RESULT only after a call of cpu_plan_arrange() */
	const struct cpu_walk *walk;
};

static void map_range(void *argument, int64_t begin, int64_t end)
{
	const struct map *m = argument;
	const struct ir_node *node = m->node;
	const struct cpu_walk *w = m->walk;

	for (int64_t i = begin; i < end;) {
		int64_t size = cpu_walk_row(w, i, end < i + CHUNK ? end : i + CHUNK);
		const float *a = m->a + cpu_walk_at(w, 0, i);
		float *y = m->y + (w->operands > RESULT ? cpu_walk_at(w, RESULT, i) : i);

		if (node->op == IR_OP_UNARY) {
			apply(m->simd, &node->attrs.unary, y, a, size);
		} else {
			m->simd->binary((int)node->attrs.binary.kind, y, a, cpu_walk_step(w, 0),
					m->b + cpu_walk_at(w, 1, i), cpu_walk_step(w, 1), size);
			cpu_activate(m->simd, &node->attrs.binary.act, y, size);
		}
		i += size;
	}
}

static void map_pairs(void *argument, void *y, const void *a, const void *b, int64_t n)
{
	const struct map *m = argument;

	m->simd->binary((int)m->node->attrs.binary.kind, y, a, 1, b, 1, n);
	cpu_activate(m->simd, &m->node->attrs.binary.act, y, n);
}

/* Does the same as map_range() for a binary function one of whose operands repeats its rows. */
static void map_repeated(void *argument, int64_t begin, int64_t end)
{
	const struct map *m = argument;
	float room[CPU_REPEATS];

	cpu_walk_repeated(m->walk, cpu_walk_repeats(m->walk), sizeof(*room), room,
			  (const void *const[]){ m->a, m->b }, m->y, begin, end, map_pairs,
			  argument);
}

static void map(struct cpu_context *cpu, const struct ir_node *node, const struct cpu_walk *walk,
		const void *const *in, void *const *out)
{
	struct map m = { .simd = cpu->simd,
			 .node = node,
			 .a = in[0],
			 .b = in[node->num_operands - 1],
			 .y = out[0],
			 .walk = walk };

	cpu_parallel_ranges(cpu, walk->shape.count, GRAIN,
			    node->op == IR_OP_BINARY && cpu_walk_repeats(walk) >= 0 ? map_repeated :
										      map_range,
			    &m);
}

struct elementwise {
	struct cpu_plan base;
	/*
	 * given: has the strides that cpu_plan_arrange() sets, dense ones at first; walk: `given`
	 * with axes merged
	 */
	struct cpu_walk given, walk;
};

static int run(struct cpu_plan *plan, struct cpu_context *cpu, const void *packed,
	       const void *const *in, void *const *out, struct wnn_error *err)
{
	const struct elementwise *e = (const struct elementwise *)plan;

	(void)packed;
	(void)err;
	map(cpu, plan->node, &e->walk, in, out);
	return 0;
}

/* ---- operands and results with strides */

/*
 * Whether the kernel can use the strides: along a row the result is contiguous, and each operand is
 * contiguous or one element. False for many short rows, too.
 */
static bool walks_well(const struct cpu_walk *w)
{
	int64_t line = w->shape.dim[w->shape.rank - 1];

	return cpu_walk_step(w, 0) <= 1 && cpu_walk_step(w, 1) <= 1 &&
	       cpu_walk_step(w, RESULT) == 1 && (line >= ROW || w->shape.count / line < MANY_ROWS);
}

static bool arrange(struct cpu_plan *plan, const struct ir_node *node, int operand,
		    const int64_t *strides)
{
	struct elementwise *e = (struct elementwise *)plan;
	const struct ir_type *type = operand < 0 ? &node->results[0]->type :
						   &node->operands[operand]->type;
	int64_t *given = e->given.stride[operand < 0 ? RESULT : operand], old[IR_MAX_RANK];
	uint32_t lead = e->given.shape.rank - type->rank;

	memcpy(old, given, sizeof(old));
	for (uint32_t d = lead; d < e->given.shape.rank; d++)
		given[d] = ir_type_dim(type, d - lead) == 1 ? 0 : strides[d - lead];
	e->walk = e->given;
	cpu_walk_merge(&e->walk);
	if (walks_well(&e->walk))
		return true;
	memcpy(given, old, sizeof(old));
	e->walk = e->given;
	cpu_walk_merge(&e->walk);
	return false;
}

/* Returns why the kernel for float32 cannot compute a node; NULL: it can. */
const char *cpu_elementwise_refuses(const struct cpu_ask *ask)
{
	const struct ir_node *node = ask->node;

	if (node->operands[0]->type.dtype != IR_F32)
		return "its type is not float32";
	if (node->op == IR_OP_UNARY && ir_unary_class(node->attrs.unary.kind) == IR_UNARY_TEST)
		return "its result is a condition";
	return node->op == IR_OP_UNARY || node->attrs.binary.kind <= IR_PRELU ?
		       NULL :
		       "it has no kernel for this function";
}

struct cpu_plan *cpu_elementwise_plan(const struct cpu_ask *ask)
{
	const struct ir_node *node = ask->node;
	struct elementwise *e = wnn_calloc(1, sizeof(*e));

	if (!e)
		return NULL;
	e->base.run = run;
	e->base.arrange = arrange;
	e->walk = cpu_walk_of(node, (int)node->num_operands);
	e->given = cpu_walk_unmerged(node, (int)node->num_operands);
	e->given.operands = RESULT + 1;
	memcpy(e->given.stride[RESULT], e->given.shape.stride, sizeof(e->given.stride[RESULT]));
	return &e->base;
}

const char *cpu_whole_refuses(const struct cpu_ask *ask)
{
	enum ir_dtype dtype = ask->node->operands[0]->type.dtype;

	if (ir_dtype_is_float(dtype))
		return "its type is not an integer";
	return ir_dtype_bits(dtype) < 8 ? "its elements have fewer than 8 bits" : NULL;
}

const char *cpu_unary_says_refuses(const struct cpu_ask *ask)
{
	enum ir_dtype dtype = ask->node->operands[0]->type.dtype;

	if (ir_unary_class(ask->node->attrs.unary.kind) != IR_UNARY_TEST)
		return "its result is not a condition";
	return ir_dtype_is_float(dtype) && ir_dtype_bits(dtype) <= 32 ?
		       NULL :
		       "its type is neither float32 nor float16";
}
