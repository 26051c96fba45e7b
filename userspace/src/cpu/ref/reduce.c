// SPDX-License-Identifier: MIT
/* Reference kernels for reductions, softmax, argMin, argMax, topk, cumulativeSum and triangular. */
#include <math.h>

#include "cpu/element.h"
#include "cpu/ref/reference.h"

/*
 * Elements of a tensor that are reduced together: they differ only in the axes of the mask `axes`.
 * The caller sets `base`, which selects one such group.
 */
struct group {
	struct cpu_shape from;
	uint32_t axes;
	int64_t base; /* offset of the first element */
	int64_t count;
};

static struct group group_make(const struct ir_type *type, uint32_t axes)
{
	struct group g = { .from = cpu_shape_of(type), .axes = axes, .count = 1 };

	for (uint32_t i = 0; i < g.from.rank; i++)
		if (axes >> i & 1)
			g.count *= g.from.dim[i];
	return g;
}

/* Returns the offset of row-major position `i` among the axes with (axes >> d & 1) == which. */
static int64_t group_offset(const struct group *g, int64_t i, uint32_t which)
{
	int64_t offset = 0;

	for (uint32_t d = g->from.rank; d-- > 0;) {
		if ((g->axes >> d & 1) != which)
			continue;
		offset += i % g->from.dim[d] * g->from.stride[d];
		i /= g->from.dim[d];
	}
	return offset;
}

static int64_t group_at(const struct group *g, int64_t i)
{
	return g->base + group_offset(g, i, 1);
}

static double log_sum_exp(const struct group *g, enum ir_dtype dtype, const void *in, bool shifted)
{
	double max = -INFINITY, sum = 0;

	for (int64_t i = 0; i < g->count; i++) {
		double x = cpu_load(dtype, in, group_at(g, i));

		if (isnan(x))
			return x;
		max = x > max ? x : max;
	}
	if (isinf(max))
		return shifted ? NAN : max;
	for (int64_t i = 0; i < g->count; i++)
		sum += exp(cpu_load(dtype, in, group_at(g, i)) - max);
	return max + log(sum);
}

static double step(enum ir_reduce kind, double acc, double x)
{
	switch (kind) {
	case IR_REDUCE_PROD:
		return acc * x;
	case IR_REDUCE_MAX:
		return isnan(acc) || acc > x ? acc : x;
	case IR_REDUCE_MIN:
		return isnan(acc) || acc < x ? acc : x;
	case IR_REDUCE_L1:
		return acc + fabs(x);
	case IR_REDUCE_L2:
	case IR_REDUCE_SUM_SQUARE:
		return acc + x * x;
	default:
		return acc + x;
	}
}

double cpu_finish_reduce(enum ir_reduce kind, double acc, int64_t count)
{
	switch (kind) {
	case IR_REDUCE_MEAN:
		return acc / (double)count;
	case IR_REDUCE_L2:
		return sqrt(acc);
	case IR_REDUCE_LOG_SUM:
		return log(acc);
	default:
		return acc;
	}
}

static double reduce_float(const struct group *g, enum ir_reduce kind, enum ir_dtype dtype,
			   const void *in)
{
	double acc = kind == IR_REDUCE_PROD ? 1 :
		     kind == IR_REDUCE_MAX  ? -INFINITY :
		     kind == IR_REDUCE_MIN  ? INFINITY :
					      0;

	if (kind == IR_REDUCE_LOG_SUM_EXP || kind == IR_REDUCE_SHIFTED_LOG_SUM_EXP)
		return log_sum_exp(g, dtype, in, kind == IR_REDUCE_SHIFTED_LOG_SUM_EXP);
	for (int64_t i = 0; i < g->count; i++)
		acc = step(kind, acc, cpu_load(dtype, in, group_at(g, i)));
	return cpu_finish_reduce(kind, acc, g->count);
}

static int64_t reduce_int(const struct group *g, enum ir_reduce kind, enum ir_dtype dtype,
			  const void *in)
{
	uint64_t acc = kind == IR_REDUCE_PROD;

	for (int64_t i = 0; i < g->count; i++) {
		int64_t x = cpu_load_int(dtype, in, group_at(g, i));
		int order = i ? cpu_compare_int(dtype, x, (int64_t)acc) : 0;

		if (kind == IR_REDUCE_PROD)
			acc *= (uint64_t)x;
		else if (kind == IR_REDUCE_MAX)
			acc = !i || order > 0 ? (uint64_t)x : acc;
		else if (kind == IR_REDUCE_MIN)
			acc = !i || order < 0 ? (uint64_t)x : acc;
		else if (kind == IR_REDUCE_SUM_SQUARE)
			acc += (uint64_t)x * (uint64_t)x;
		else if (kind == IR_REDUCE_L1 && dtype != IR_U64 && x < 0)
			acc -= (uint64_t)x;
		else
			acc += (uint64_t)x;
	}
	return (int64_t)acc;
}

void cpu_ref_reduce(const struct ir_node *node, const void *const *in, void *const *out)
{
	enum ir_dtype dtype = node->operands[0]->type.dtype;
	struct group g = group_make(&node->operands[0]->type, node->attrs.reduce.axes);
	int64_t results = g.from.count / g.count;

	for (int64_t i = 0; i < results; i++) {
		g.base = group_offset(&g, i, 0);
		if (ir_dtype_is_float(dtype))
			cpu_store(dtype, out[0], i,
				  reduce_float(&g, node->attrs.reduce.kind, dtype, in[0]));
		else
			cpu_store_int(dtype, out[0], i,
				      reduce_int(&g, node->attrs.reduce.kind, dtype, in[0]));
	}
}

static double softmax_of(const struct ir_softmax_attrs *attrs, double x, double max, double sum)
{
	double y = attrs->log ? x - max - log(sum) : exp(x - max) / sum;

	return isnan(y) && attrs->nan_to_zero ? 0 : y;
}

void cpu_ref_softmax(const struct ir_node *node, const void *const *in, void *const *out)
{
	const struct ir_softmax_attrs *attrs = &node->attrs.softmax;
	enum ir_dtype dtype = node->operands[0]->type.dtype;
	struct group g = group_make(&node->operands[0]->type, 1u << node->attrs.axis);
	int64_t rows = g.from.count / g.count;

	for (int64_t r = 0; r < rows; r++) {
		double max = -INFINITY, sum = 0;

		g.base = group_offset(&g, r, 0);
		for (int64_t i = 0; i < g.count; i++)
			max = step(IR_REDUCE_MAX, max, cpu_load(dtype, in[0], group_at(&g, i)));
		if (attrs->guarded && isinf(max))
			max = 0;
		for (int64_t i = 0; i < g.count; i++)
			sum += exp(cpu_load(dtype, in[0], group_at(&g, i)) - max);
		for (int64_t i = 0; i < g.count; i++)
			cpu_store(dtype, out[0], group_at(&g, i),
				  softmax_of(attrs, cpu_load(dtype, in[0], group_at(&g, i)), max,
					     sum));
	}
}

/*
 * Whether element `a` replaces `b`, the best element before it. A NaN is better than all numbers;
 * of equal elements or NaNs the first one stays, or with attrs.arg.last the last.
 */
static bool beats(const struct ir_node *node, const void *in, int64_t a, int64_t b)
{
	enum ir_dtype dtype = node->operands[0]->type.dtype;
	bool max = node->attrs.arg.max, last = node->attrs.arg.last;
	int order;

	if (ir_dtype_is_float(dtype)) {
		double x = cpu_load(dtype, in, a), y = cpu_load(dtype, in, b);

		if (isnan(y))
			return last && isnan(x);
		if (isnan(x))
			return true;
		order = (x > y) - (x < y);
	} else {
		order = cpu_compare_int(dtype, cpu_load_int(dtype, in, a),
					cpu_load_int(dtype, in, b));
	}
	return order == 0 ? last : (order > 0) == max;
}

void cpu_ref_arg(const struct ir_node *node, const void *const *in, void *const *out)
{
	struct group g = group_make(&node->operands[0]->type, 1u << node->attrs.arg.axis);
	int64_t results = g.from.count / g.count;

	for (int64_t r = 0; r < results; r++) {
		int64_t best = 0;

		g.base = group_offset(&g, r, 0);
		for (int64_t i = 1; i < g.count; i++)
			if (beats(node, in[0], group_at(&g, i), group_at(&g, best)))
				best = i;
		cpu_store_int(node->results[0]->type.dtype, out[0], r, best);
	}
}

/* Whether element k of a row comes before its element `at`; two elements never tie. */
static bool comes_before(const struct ir_node *node, const void *in, const struct group *g,
			 int64_t k, int64_t at)
{
	enum ir_dtype dtype = node->operands[0]->type.dtype;
	int64_t a = group_at(g, k), b = group_at(g, at);
	int order;

	if (ir_dtype_is_float(dtype)) {
		double x = cpu_load(dtype, in, a), y = cpu_load(dtype, in, b);

		order = isnan(x) || isnan(y) ? !!isnan(x) - !!isnan(y) : (x > y) - (x < y);
	} else {
		order = cpu_compare_int(dtype, cpu_load_int(dtype, in, a),
					cpu_load_int(dtype, in, b));
	}
	return order ? (order > 0) == node->attrs.arg.max : k < at;
}

/*
 * Finds the indices of the first k elements of each row: each result is the index of the element
 * that comes first among those that come after the element of the previous result.
 */
void cpu_ref_topk(const struct ir_node *node, const void *const *in, void *const *out)
{
	const struct ir_type *type = &node->results[0]->type;
	uint32_t axis = node->attrs.arg.axis;
	struct group g = group_make(&node->operands[0]->type, 1u << axis);
	struct group to = group_make(type, 1u << axis);
	int64_t lines = g.from.count / g.count;

	for (int64_t r = 0; r < lines; r++) {
		int64_t last = -1;

		g.base = group_offset(&g, r, 0);
		to.base = group_offset(&to, r, 0);
		for (int64_t k = 0; k < to.count; k++) {
			int64_t best = -1;

			for (int64_t i = 0; i < g.count; i++)
				if ((last < 0 || comes_before(node, in[0], &g, last, i)) &&
				    (best < 0 || comes_before(node, in[0], &g, i, best)))
					best = i;
			cpu_store_int(type->dtype, out[0], group_at(&to, k), best);
			last = best;
		}
	}
}

void cpu_ref_cumsum(const struct ir_node *node, const void *const *in, void *const *out)
{
	enum ir_dtype dtype = node->operands[0]->type.dtype;
	struct group g = group_make(&node->operands[0]->type, 1u << node->attrs.cumsum.axis);
	bool is_float = ir_dtype_is_float(dtype), exclusive = node->attrs.cumsum.exclusive;
	int64_t rows = g.from.count / g.count;

	for (int64_t r = 0; r < rows; r++) {
		double sum = 0;
		uint64_t isum = 0;

		g.base = group_offset(&g, r, 0);
		for (int64_t k = 0; k < g.count; k++) {
			int64_t at =
				group_at(&g, node->attrs.cumsum.reversed ? g.count - 1 - k : k);
			double x = is_float ? cpu_load(dtype, in[0], at) : 0;
			int64_t ix = is_float ? 0 : cpu_load_int(dtype, in[0], at);

			if (is_float)
				cpu_store(dtype, out[0], at, exclusive ? sum : sum + x);
			else
				cpu_store_int(dtype, out[0], at,
					      (int64_t)(exclusive ? isum : isum + (uint64_t)ix));
			sum += x;
			isum += (uint64_t)ix;
		}
	}
}

void cpu_ref_triangular(const struct ir_node *node, const void *const *in, void *const *out)
{
	struct cpu_shape s = cpu_shape_of(&node->results[0]->type);
	int64_t rows = s.dim[s.rank - 2], cols = s.dim[s.rank - 1];
	int64_t diagonal = node->attrs.triangular.diagonal;
	static const uint64_t zero;

	for (int64_t i = 0; i < s.count; i++) {
		int64_t col = i % cols, row = i / cols % rows;
		bool keep = node->attrs.triangular.upper ? col >= row + diagonal :
							   col <= row + diagonal;

		cpu_copy_element(node->results[0]->type.dtype, out[0], i, keep ? in[0] : &zero,
				 keep ? i : 0);
	}
}
