// SPDX-License-Identifier: MIT
/* Computes the error bounds of products, pools and reductions. */
#include <math.h>
#include <stdlib.h>

#include "cpu/element.h"
#include "oracle.h"

/*
 * Returns the error of a sum: @share of the sum of its terms' absolute values, or INFINITY when
 * that may overflow.
 */
static double loss_of(double terms, double share)
{
	return terms > MAY_OVERFLOW ? INFINITY : terms * share;
}

static int by_value(const void *a, const void *b)
{
	const double *x = a, *y = b;

	return *x < *y ? -1 : *x > *y;
}

/*
 * Returns the relative error of sums of n terms of an operand. Equal terms, such as those that
 * reached a limit, are all rounded to the same side while the sum is between two powers of two,
 * each by up to half a unit in the last place of the sum; zeros are not rounded.
 */
static double share_of_terms(const struct operand *in, double n)
{
	double *data = widened(in), equal = 0;
	int64_t first = 0;

	for (int64_t i = 0; i < in->count; i++)
		data[i] = isnan(data[i]) ? 0 : data[i];
	qsort(data, (size_t)in->count, sizeof(*data), by_value);
	for (int64_t i = 0; i < in->count; i++) {
		if (data[i] != data[first])
			first = i;
		if (data[i] != 0 && i > first)
			equal = fmax(equal, (double)(i - first + 1));
	}
	free(data);
	return sum_loss(n) + U32 * fmin(equal, n);
}

static double depth_of(const struct ir_node *node)
{
	const struct ir_type *a = &node->operands[0]->type, *f;
	uint32_t last;

	if (node->op == IR_OP_MATMUL) {
		last = a->rank - (node->attrs.matmul.a_transpose ? 2 : 1);
		return (double)ir_type_dim(a, last);
	}
	f = &node->operands[1]->type;
	return (double)ir_type_elements(f) /
	       (double)(node->attrs.conv.transposed ? node->attrs.conv.groups : 1);
}

double fused_loss(const struct ir_value *value)
{
	if (!value->def || (value->def->op != IR_OP_MATMUL && value->def->op != IR_OP_CONV))
		return 0;
	return sum_loss(depth_of(value->def));
}

static void positive_factors(struct ir_node *node)
{
	if (node->op == IR_OP_MATMUL) {
		node->attrs.matmul.alpha = fabsf(node->attrs.matmul.alpha);
		node->attrs.matmul.beta = fabsf(node->attrs.matmul.beta);
	}
}

/*
 * Returns the error of products with constant float16 weights, relative to the sum of absolute
 * values: a device may scale the weights, and so round them once more. 0 for other weights.
 */
static double weights_loss(const struct ir_node *node)
{
	const struct ir_value *weights = node->operands[1];

	return weights->kind == IR_VALUE_CONSTANT && weights->type.dtype == IR_F16 ? 0x1p-11 : 0;
}

double *bound_product(const struct work *work, uint32_t r)
{
	struct truth *out = work->out[r];
	double *bound = run_on(work, ABSOLUTE, ALL, positive_factors, r);
	double *grown = work->slack ? run_on(work, GROWN, ALL, positive_factors, r) : NULL;
	double depth = depth_of(work->node);

	for (int64_t i = 0; i < out->count; i++) {
		double more = grown ? grown[i] - bound[i] : 0;

		bound[i] = loss_of(bound[i], sum_loss(depth)) +
			   bound[i] * weights_loss(work->node) + more +
			   rounding(out->type.dtype, out->exact[i]);
	}
	free(grown);
	return bound;
}

static void as_average(struct ir_node *node)
{
	node->attrs.pool.kind = IR_POOL_AVERAGE;
}

/*
 * Returns the error of v, the root of a sum of n binary32 squares: squares of small numbers become
 * 0. INFINITY: the sum may overflow, although its root does not.
 */
static double square_loss(double v, double n)
{
	return v * v > 0x1p126 ? INFINITY : 0x1p-74 * sqrt(n);
}

double *bound_pool(const struct work *work, uint32_t r)
{
	const struct ir_pool_attrs *pool = &work->node->attrs.pool;
	double n = (double)pool->window[0] * pool->window[1], *bound, *slack, share;
	struct truth *out = work->out[r];

	slack = work->slack ? run_on(work, SLACK, ALL, NULL, r) : NULL;
	if (pool->kind == IR_POOL_MAX) {
		/* The bound is the largest error in the window; an empty window has none. */
		for (int64_t i = 0; slack && i < out->count; i++)
			slack[i] = slack[i] < 0 ? 0 : slack[i];
		return slack;
	}
	bound = run_on(work, ABSOLUTE, ALL, pool->kind == IR_POOL_AVERAGE ? as_average : NULL, r);
	share = share_of_terms(&work->in[0], n);
	for (int64_t i = 0; i < out->count; i++)
		bound[i] = loss_of(bound[i] * (pool->kind == IR_POOL_AVERAGE ? n : 1), share) /
				   (pool->kind == IR_POOL_AVERAGE ? n : 1) +
			   (slack ? slack[i] : 0) + rounding(out->type.dtype, out->exact[i]) +
			   (pool->kind == IR_POOL_L2 ? square_loss(out->exact[i], n) : 0);
	free(slack);
	return bound;
}

static void as_sum(struct ir_node *node)
{
	node->attrs.reduce.kind = IR_REDUCE_SUM;
}

static void as_max(struct ir_node *node)
{
	node->attrs.reduce.kind = IR_REDUCE_MAX;
}

/* Returns the effect of the operand's errors on a reduction of floats. */
static double *reduced_slack(const struct work *work, uint32_t r, const double *absolute_result)
{
	enum ir_reduce kind = work->node->attrs.reduce.kind;
	struct truth *out = work->out[r];
	double *slack;

	switch (kind) {
	case IR_REDUCE_MAX:
	case IR_REDUCE_MIN:
	case IR_REDUCE_LOG_SUM_EXP:
		return run_on(work, SLACK, ALL, as_max, r);
	case IR_REDUCE_PROD:
	case IR_REDUCE_SUM_SQUARE:
		slack = run_on(work, GROWN, ALL, NULL, r);
		for (int64_t i = 0; i < out->count; i++)
			slack[i] -= absolute_result[i];
		return slack;
	case IR_REDUCE_LOG_SUM:
		slack = run_on(work, SLACK, ALL, as_sum, r);
		for (int64_t i = 0; i < out->count; i++) {
			double total = exp(out->exact[i]);

			slack[i] = slack[i] < total / 2 ? 2 * slack[i] / total : INFINITY;
		}
		return slack;
	default:
		return run_on(work, SLACK, ALL, NULL, r);
	}
}

/*
 * Returns the error of the reduction itself. @terms: the reduction of absolute values; @share: see
 * share_of_terms().
 */
static double reduce_loss(const struct work *work, double terms, double v, double n, double share)
{
	enum ir_dtype dtype = work->out[0]->type.dtype;

	switch (work->node->attrs.reduce.kind) {
	case IR_REDUCE_MAX:
	case IR_REDUCE_MIN:
		return 0;
	case IR_REDUCE_PROD:
		return U32 * 2 * n * terms + rounding(dtype, v);
	case IR_REDUCE_LOG_SUM: /* terms is the sum of absolute values */
		return loss_of(terms, share) / fabs(exp(v)) + 4 * unit_in_last_place(IR_F32, v) +
		       rounding(dtype, v);
	case IR_REDUCE_LOG_SUM_EXP: /* terms is the largest absolute value */
		return share + 4 * U32 * (terms + fabs(v)) + rounding(dtype, v);
	case IR_REDUCE_L2:
		return share * terms + rounding(dtype, v) + square_loss(v, n);
	case IR_REDUCE_MEAN: /* terms is the mean of absolute values */
		return loss_of(terms * n, share) / n + rounding(dtype, v);
	default:
		return loss_of(terms, share) + rounding(dtype, v);
	}
}

/*
 * Makes the bound infinite where products of some of the factors may be infinite or 0, whatever the
 * product of all is.
 */
static void add_partial_products(const struct work *work, uint32_t r, double n, double *bound)
{
	double *most = run_on(work, RAISED, ALL, NULL, r);

	for (int64_t i = 0; i < work->out[r]->count; i++)
		bound[i] += most[i] > MAY_OVERFLOW ? INFINITY : n * 0x1p-149 * most[i];
	free(most);
}

/* Makes the bound infinite where sums of integers may have wrapped around. */
static void taint_wrapped(const struct truth *out, double *bound)
{
	for (int64_t i = 0; i < out->count; i++) {
		double v = out->type.dtype == IR_U64 ?
				   (double)(uint64_t)cpu_load_int(IR_U64, out->native, i) :
				   (double)cpu_load_int(out->type.dtype, out->native, i);

		if (bound[i] > 0 && (!fits_integer(out->type.dtype, v - bound[i]) ||
				     !fits_integer(out->type.dtype, v + bound[i])))
			bound[i] = INFINITY;
	}
}

double *bound_reduce(const struct work *work, uint32_t r)
{
	enum ir_reduce kind = work->node->attrs.reduce.kind;
	struct truth *out = work->out[r];
	double *terms, *slack, n, share;

	if (!work->slack && !out->exact)
		return NULL;
	if (!out->exact) {
		bool extreme = kind == IR_REDUCE_MAX || kind == IR_REDUCE_MIN;

		slack = run_on(work, SLACK, ALL, extreme ? as_max : as_sum, r);
		if (!extreme && kind != IR_REDUCE_SUM && kind != IR_REDUCE_L1)
			taint(slack, slack, out->count);
		else if (!extreme)
			taint_wrapped(out, slack);
		return slack;
	}
	n = (double)work->in[0].count / (double)out->count;
	terms = run_on(work, ABSOLUTE, ALL,
		       kind == IR_REDUCE_LOG_SUM     ? as_sum :
		       kind == IR_REDUCE_LOG_SUM_EXP ? as_max :
						       NULL,
		       r);
	slack = work->slack ? reduced_slack(work, r, terms) : NULL;
	share = share_of_terms(&work->in[0], n);
	for (int64_t i = 0; i < out->count; i++)
		terms[i] = reduce_loss(work, terms[i], out->exact[i], n, share) +
			   (slack ? slack[i] : 0);
	if (kind == IR_REDUCE_PROD)
		add_partial_products(work, r, n, terms);
	free(slack);
	return terms;
}

double *bound_cumsum(const struct work *work, uint32_t r)
{
	struct truth *out = work->out[r];
	double *bound, *slack, share;

	if (!work->slack && !out->exact)
		return NULL;
	slack = work->slack ? run_on(work, SLACK, ALL, NULL, r) : NULL;
	if (!out->exact) {
		taint_wrapped(out, slack);
		return slack;
	}
	bound = run_on(work, ABSOLUTE, ALL, NULL, r);
	share = share_of_terms(&work->in[0],
			       (double)ir_type_dim(&out->type, work->node->attrs.cumsum.axis));
	for (int64_t i = 0; i < out->count; i++)
		bound[i] = loss_of(bound[i], share) + (slack ? slack[i] : 0) +
			   rounding(out->type.dtype, out->exact[i]);
	free(slack);
	return bound;
}

double *bound_softmax(const struct work *work, uint32_t r)
{
	struct truth *out = work->out[r];
	double n = (double)ir_type_dim(&out->type, work->node->attrs.axis), most = 0, slack;
	double *bound = new_doubles(out->count);

	for (int64_t i = 0; i < out->count; i++)
		if (isfinite(work->in[0].wide[i]))
			most = fmax(most, fabs(work->in[0].wide[i]));
	slack = expm1(2 * largest(work->in[0].slack, out->count));
	for (int64_t i = 0; i < out->count; i++) {
		double v = out->exact[i];

		/* The difference from the largest element is rounded before exp() is applied. */
		bound[i] = v * (sum_loss(n) + U32 * (8 + 4 * fmin(most, 128))) +
			   rounding(out->type.dtype, v) + unit_in_last_place(IR_F32, 0);
		if (slack > 0)
			bound[i] += isinf(slack) ? INFINITY : v * slack;
	}
	return bound;
}

/*
 * Returns the largest distance from @place, the right index, of an element that may be the extreme
 * because of errors; 0 without errors, INFINITY if there are errors and a NaN.
 */
static double arg_spread(const double *x, const double *slack, int64_t n, int64_t step, bool max,
			 double place)
{
	double sign = max ? 1 : -1, sure = -INFINITY, most = 0;
	bool any = false;

	for (int64_t k = 0; k < n; k++) {
		any |= slack[k * step] > 0;
		if (isnan(x[k * step]))
			sure = NAN;
		else if (!isnan(sure))
			sure = fmax(sure, sign * x[k * step] - slack[k * step]);
	}
	if (!any || isnan(sure))
		return any ? INFINITY : 0;
	for (int64_t k = 0; k < n; k++)
		if (sign * x[k * step] + slack[k * step] >= sure)
			most = fmax(most, fabs((double)k - place));
	return most;
}

double *bound_arg(const struct work *work, uint32_t r)
{
	const struct ir_type *in = work->in[0].type;
	struct truth *out = work->out[r];
	uint32_t axis = work->node->attrs.arg.axis;
	int64_t n = ir_type_dim(in, axis), inner = 1;
	double *bound, *x, *slack;

	if (!work->slack)
		return NULL;
	for (uint32_t i = axis + 1; i < in->rank; i++)
		inner *= ir_type_dim(in, i);
	bound = new_doubles(out->count);
	x = widened(&work->in[0]);
	slack = slack_of(&work->in[0]);
	for (int64_t i = 0; i < out->count; i++) {
		int64_t first = i / inner * inner * n + i % inner;

		bound[i] = arg_spread(x + first, slack + first, n, inner, work->node->attrs.arg.max,
				      (double)cpu_load_int(out->type.dtype, out->native, i));
	}
	free(x);
	free(slack);
	return bound;
}
