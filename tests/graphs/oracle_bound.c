// SPDX-License-Identifier: MIT
/*
 * Computes how far a correct result may be from the exact one. The bound has two terms. The first
 * is the error of the operator itself: units in the last place of its type and of binary32, in
 * which sums are computed, times the sum of the absolute values of the terms. The second is the
 * effect of the operands' errors: it is the result of runs of the reference kernel on absolute
 * values, on the errors themselves, or at the ends of the intervals.
 */
#include <float.h>
#include <math.h>
#include <stdlib.h>

#include "oracle.h"

static double *bound_of(const struct work *work, uint32_t r)
{
	static double *(*const functions[IR_OP_COUNT])(const struct work *work, uint32_t r) = {
#define GRAPH_DRAW(op, function, floats)
#define GRAPH_BOUND(op, function) [IR_OP_##op] = bound_##function,
#include "operators.def"
#undef GRAPH_DRAW
#undef GRAPH_BOUND
	};

	return (functions[work->node->op] ? functions[work->node->op] : bound_moved)(work, r);
}

/*
 * Returns the rounding error of a result that the errors of operands have moved: around the moved
 * value, neighbouring numbers of the type may be farther apart than at the exact one.
 */
static double rounding_of_moved(const struct truth *out, int64_t i, double bound)
{
	double exact = fabs(out->exact[i]);

	if (!isfinite(exact) || !isfinite(bound))
		return 0;
	return rounding(out->type.dtype, exact + bound) - rounding(out->type.dtype, exact);
}

/* Whether a result with this error may round to infinity, although the exact one does not. */
static bool may_overflow(const struct truth *out, int64_t i, double bound)
{
	/* Numbers of binary16 from here on round to infinity. */
	double most = out->type.dtype == IR_F16 ? 65520 : FLT_MAX;

	return fabs(out->exact[i]) < most && fabs(out->exact[i]) + bound >= most;
}

double *oracle_bound(const struct work *work, uint32_t r)
{
	const struct truth *out = work->out[r];
	bool may_move = work->slack && out->exact && ir_dtype_is_float(out->type.dtype);
	double *bound = bound_of(work, r);
	bool any = false;

	for (int64_t i = 0; bound && i < out->count; i++) {
		if (may_move && bound[i] > 0)
			bound[i] += rounding_of_moved(out, i, bound[i]);
		if (may_move && bound[i] > 0 && may_overflow(out, i, bound[i]))
			bound[i] = INFINITY;
		/* Where the exact result is NaN, the result of every type must be NaN. */
		if (!work->slack && out->exact && isnan(out->exact[i]))
			bound[i] = 0;
		if (isnan(bound[i]) || bound[i] > MAY_OVERFLOW)
			bound[i] = INFINITY;
		any |= bound[i] > 0;
	}
	if (!any) {
		free(bound);
		return NULL;
	}
	return bound;
}
