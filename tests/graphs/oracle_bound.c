// SPDX-License-Identifier: MIT
/*
 * How far a right result may be from the exact one. Two parts: what the operator itself may lose,
 * in units of the last place of its type and of binary32, in which sums are taken, times the sum
 * of the absolute values of the terms; and what the errors of the operands become, from runs of
 * the same reference kernel on absolute values, on the errors themselves, or at the ends of the
 * intervals.
 */
#include <math.h>
#include <stdlib.h>

#include "oracle.h"

static double *bound_of(const struct work *work, uint32_t r)
{
	switch (work->node->op) {
	case IR_OP_UNARY:
		return bound_unary(work, r);
	case IR_OP_BINARY:
		return bound_binary(work, r);
	case IR_OP_COMPARE:
		return bound_compare(work, r);
	case IR_OP_WHERE:
		return bound_where(work, r);
	case IR_OP_CAST:
		return bound_cast(work, r);
	case IR_OP_CONV:
	case IR_OP_MATMUL:
		return bound_product(work, r);
	case IR_OP_POOL:
		return bound_pool(work, r);
	case IR_OP_REDUCE:
		return bound_reduce(work, r);
	case IR_OP_CUMSUM:
		return bound_cumsum(work, r);
	case IR_OP_SOFTMAX:
		return bound_softmax(work, r);
	case IR_OP_ARG:
		return bound_arg(work, r);
	case IR_OP_BATCHNORM:
		return bound_batchnorm(work, r);
	case IR_OP_INSTNORM:
	case IR_OP_LAYERNORM:
		return bound_norm(work, r);
	case IR_OP_QUANTIZE:
		return bound_quantize(work, r);
	case IR_OP_DEQUANTIZE:
		return bound_dequantize(work, r);
	case IR_OP_RESAMPLE:
		return bound_resample(work, r);
	case IR_OP_GRU:
	case IR_OP_LSTM:
		return bound_recurrent(work, r);
	default:
		return bound_moved(work, r);
	}
}

double *oracle_bound(const struct work *work, uint32_t r)
{
	double *bound = bound_of(work, r);
	bool any = false;

	for (int64_t i = 0; bound && i < work->out[r]->count; i++) {
		/* What is not a number in double precision is none in any other. */
		if (!work->slack && work->out[r]->exact && isnan(work->out[r]->exact[i]))
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
