/* SPDX-License-Identifier: MIT */
/* Exact source coordinates of the resample instructions, along one axis. */
#ifndef ONPU_MATH_RESAMPLE_AXIS_H
#define ONPU_MATH_RESAMPLE_AXIS_H

#include <stdint.h>

/* An axis: full sizes of source and destination, both at least 1. */
struct sim_resample_axis {
	uint32_t in, out;
};

struct sim_resample_pair {
	uint32_t i0, i1;
	float fraction; /* weight of i1 */
	int64_t rest;	/* the weight in units of 1 / (2 * out) */
};

__extension__ typedef __int128 resample_s128;

/* Returns the source index: clamp(ceil((2o + 1) * in / (2 * out)) - 1, 0, in - 1). */
static inline uint32_t sim_resample_nearest(const struct sim_resample_axis *r, uint32_t o)
{
	resample_s128 num = (2 * (resample_s128)o + 1) * r->in, den = 2 * (resample_s128)r->out;
	resample_s128 i = (num + den - 1) / den - 1;

	return i < 0 ? 0 : i > r->in - 1 ? r->in - 1 : (uint32_t)i;
}

/* Returns @n / @d with d > 0, rounded to the nearest integer, ties to even. */
static inline int64_t sim_resample_round(resample_s128 n, resample_s128 d)
{
	resample_s128 q = n / d - (n % d < 0), twice = 2 * (n - q * d);

	return (int64_t)(q + (twice > d || (twice == d && q & 1)));
}

/*
 * Returns the two neighbours and their weights. num = clamp((2o + 1) * in - out, 0, (in - 1) * 2 *
 * out) is the source coordinate in units of 1 / (2 * out).
 */
static inline struct sim_resample_pair sim_resample_linear(const struct sim_resample_axis *r,
							   uint32_t o)
{
	resample_s128 num = (2 * (resample_s128)o + 1) * r->in - r->out;
	resample_s128 den = 2 * (resample_s128)r->out, last = (resample_s128)(r->in - 1) * den;
	struct sim_resample_pair p;

	num = num < 0 ? 0 : num > last ? last : num;
	p.i0 = (uint32_t)(num / den);
	p.i1 = p.i0 + 1 < r->in ? p.i0 + 1 : r->in - 1;
	p.rest = (int64_t)(num % den);
	p.fraction = (float)((double)p.rest / (double)(int64_t)den);
	return p;
}

#endif
