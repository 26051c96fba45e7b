// SPDX-License-Identifier: MIT
/* Reference kernel for resampling along two axes. Integers are rounded half to even. */
#include "cpu/element.h"
#include "cpu/ref/reference.h"

/* The two elements along an axis that a result is interpolated from. */
struct position {
	int64_t lo, hi;
	int64_t rest, units; /* weight of hi: rest / units */
};

static int64_t limit(int64_t v, int64_t most)
{
	return v < 0 ? 0 : v > most ? most : v;
}

/*
 * Returns the position of result i, (i + 0.5) * in / out - 0.5. 2 * out times this number is an
 * integer.
 */
static struct position position_of(bool linear, int64_t i, int64_t in, int64_t out)
{
	struct position p = { .units = 2 * out };
	int64_t at;

	if (!linear) {
		/* Nearest element; a half is rounded down. */
		p.lo = p.hi = limit(((2 * i + 1) * in + 2 * out - 1) / p.units - 1, in - 1);
		return p;
	}
	at = limit((2 * i + 1) * in - out, (in - 1) * p.units);
	p.lo = at / p.units;
	p.rest = at % p.units;
	p.hi = p.lo + (p.rest > 0);
	return p;
}

/*
 * Returns the weighted sum. With a weight of 0 it leaves hi out: an infinite hi times 0 would be
 * NaN.
 */
static double blend(double lo, double hi, const struct position *p)
{
	double weight = (double)p->rest / (double)p->units;

	return p->rest ? lo * (1 - weight) + hi * weight : lo;
}

static void store_float(enum ir_dtype dtype, void *out, int64_t i, const void *in,
			const int64_t at[4], const struct position p[2])
{
	double lo = blend(cpu_load(dtype, in, at[0]), cpu_load(dtype, in, at[1]), &p[1]);
	double hi = blend(cpu_load(dtype, in, at[2]), cpu_load(dtype, in, at[3]), &p[1]);

	cpu_store(dtype, out, i, blend(lo, hi, &p[0]));
}

__extension__ typedef __int128 wide;

/* Stores an integer result. It is rounded once, at the end, so that ties are exact. */
static void store_int(enum ir_dtype dtype, void *out, int64_t i, const void *in,
		      const int64_t at[4], const struct position p[2])
{
	wide sum = 0, units = (wide)p[0].units * p[1].units, whole, twice;

	for (int k = 0; k < 4; k++) {
		int64_t a = k / 2 ? p[0].rest : p[0].units - p[0].rest;
		int64_t b = k % 2 ? p[1].rest : p[1].units - p[1].rest;

		sum += (wide)a * b * cpu_load_int(dtype, in, at[k]);
	}
	whole = sum / units - (sum % units < 0);
	twice = 2 * (sum - whole * units);
	cpu_store_int(dtype, out, i,
		      (int64_t)(whole + (twice > units || (twice == units && whole % 2))));
}

void cpu_ref_resample(const struct ir_node *node, const void *const *in, void *const *out)
{
	struct cpu_shape x = cpu_shape_of(&node->operands[0]->type);
	struct cpu_shape y = cpu_shape_of(&node->results[0]->type);
	enum ir_dtype dtype = node->results[0]->type.dtype;
	bool linear = node->attrs.resample.linear;
	uint32_t a = node->attrs.resample.axes[0], b = node->attrs.resample.axes[1];

	for (int64_t i = 0; i < y.count; i++) {
		int64_t ia = i / y.stride[a] % y.dim[a], ib = i / y.stride[b] % y.dim[b], rest = 0;
		struct position p[2] = { position_of(linear, ia, x.dim[a], y.dim[a]),
					 position_of(linear, ib, x.dim[b], y.dim[b]) };
		int64_t at[4];

		for (uint32_t d = 0; d < y.rank; d++)
			if (d != a && d != b)
				rest += i / y.stride[d] % y.dim[d] * x.stride[d];
		for (int k = 0; k < 4; k++)
			at[k] = rest + (k / 2 ? p[0].hi : p[0].lo) * x.stride[a] +
				(k % 2 ? p[1].hi : p[1].lo) * x.stride[b];
		if (ir_dtype_is_float(dtype))
			store_float(dtype, out[0], i, in[0], at, p);
		else
			store_int(dtype, out[0], i, in[0], at, p);
	}
}
