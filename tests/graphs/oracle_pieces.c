// SPDX-License-Identifier: MIT
/* Helpers for the bounds of all operators: runs on other operands, and units in the last place. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cpu/element.h"
#include "oracle.h"

double sum_loss(double n)
{
	return U32 * (4 + 2 * sqrt(n));
}

double unit_in_last_place(enum ir_dtype dtype, double x)
{
	int bits = dtype == IR_F16 ? 10 : 23, least = dtype == IR_F16 ? -14 : -126;
	int most = dtype == IR_F16 ? 15 : 127, e = least;

	x = fabs(x);
	if (!ir_dtype_is_float(dtype))
		return 1;
	if (x > 0 && isfinite(x))
		e = ilogb(x);
	e = isinf(x) || e > most ? most : e < least ? least : e;
	return ldexp(1, e - bits);
}

/*
 * Returns the error of storing a result: one unit in the last place of binary32, and 1 for
 * integers. For binary16, half a unit, and two units of binary32 for the result that is rounded to
 * it.
 */
double rounding(enum ir_dtype dtype, double x)
{
	return unit_in_last_place(dtype, x) * (dtype == IR_F16 ? 0.5 + 0x1p-12 : 1);
}

double *widened(const struct operand *in)
{
	double *data = new_doubles(in->count);

	for (int64_t i = 0; i < in->count; i++)
		data[i] = in->is_float ? in->wide[i] :
			  in->type->dtype == IR_U64 ?
					 (double)(uint64_t)cpu_load_int(IR_U64, in->native, i) :
					 (double)cpu_load_int(in->type->dtype, in->native, i);
	return data;
}

static double *absolute(const struct operand *in, bool grown, double least)
{
	double *data = widened(in);

	for (int64_t i = 0; i < in->count; i++) {
		data[i] = fabs(data[i]) + (grown && in->slack ? in->slack[i] : 0);
		data[i] = data[i] < least ? least : data[i];
	}
	return data;
}

double *slack_of(const struct operand *in)
{
	double *data = new_doubles(in->count);

	if (in->slack)
		memcpy(data, in->slack, (size_t)in->count * sizeof(*data));
	return data;
}

static double *stand_in(const struct operand *in, enum stand_in which)
{
	return which == SLACK ? slack_of(in) : absolute(in, which != ABSOLUTE, which == RAISED);
}

double *run_on(const struct work *work, enum stand_in which, uint32_t mask,
	       void (*change)(struct ir_node *node), uint32_t r)
{
	double *data[ORACLE_MAX_OPERANDS] = { NULL };
	struct kernel kernel;
	double *out;

	kernel_init(&kernel, work);
	kernel_widen_result(&kernel);
	for (uint32_t i = 0; i < work->num_operands; i++)
		if (work->in[i].type && mask >> i & 1) {
			data[i] = stand_in(&work->in[i], which);
			kernel_set(&kernel, i, data[i]);
		}
	if (change)
		change(&kernel.node);
	out = kernel_run(&kernel, r);
	for (uint32_t i = 0; i < work->num_operands; i++)
		free(data[i]);
	return out;
}

/* Returns whether x is in the range of the type and within 2^53, where doubles are exact. */
bool fits_integer(enum ir_dtype dtype, double x)
{
	double most = ldexp(1, ir_dtype_bits(dtype) - (cpu_int_min(dtype) < 0 ? 1 : 0));

	return x < most && x >= (cpu_int_min(dtype) < 0 ? -most : 0) && fabs(x) <= 0x1p53;
}

void taint(double *bound, const double *slack, int64_t count)
{
	for (int64_t i = 0; i < count; i++)
		if (slack[i] > 0 || isnan(slack[i]))
			bound[i] = INFINITY;
}

void sample_slack(const struct work *work, uint32_t r, double times, double *bound)
{
	struct truth *out = work->out[r];
	struct rng rng = { 1 };

	for (int round = 0; round < 4; round++) {
		double *data[ORACLE_MAX_OPERANDS] = { NULL }, *moved;
		struct kernel kernel;

		kernel_init(&kernel, work);
		for (uint32_t i = 0; i < work->num_operands; i++) {
			if (!work->in[i].slack)
				continue;
			data[i] = widened(&work->in[i]);
			for (int64_t k = 0; k < work->in[i].count; k++)
				data[i][k] += rng_chance(&rng, 50) ? work->in[i].slack[k] :
								     -work->in[i].slack[k];
			kernel_set(&kernel, i, data[i]);
		}
		moved = kernel_run(&kernel, r);
		for (int64_t i = 0; i < out->count; i++) {
			double distance = times * fabs(moved[i] - out->exact[i]);

			if (isnan(distance))
				distance = INFINITY;
			bound[i] = fmax(bound[i], distance);
		}
		free(moved);
		for (uint32_t i = 0; i < work->num_operands; i++)
			free(data[i]);
	}
}

double largest(const double *data, int64_t count)
{
	double most = 0;

	for (int64_t i = 0; data && i < count; i++)
		if (!isnan(data[i]))
			most = fmax(most, data[i]);
	return most;
}
