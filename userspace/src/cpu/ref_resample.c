// SPDX-License-Identifier: MIT
/* Reference: resampling along two axes. Integers are rounded half to even. */
#include <math.h>

#include "cpu/element.h"
#include "cpu/reference.h"

/* Where along an axis a result comes from. */
struct position {
	int64_t lo, hi;
	double weight;			/* of hi */
};

static struct position position_of(bool linear, int64_t i, int64_t in, int64_t out)
{
	double x = ((double)i + 0.5) * (double)in / (double)out - 0.5;
	struct position p;

	x = fmin(fmax(x, 0), (double)(in - 1));
	if (linear) {
		p.lo = (int64_t)floor(x);
		p.hi = (int64_t)ceil(x);
		p.weight = x - floor(x);
	} else {
		p.lo = p.hi = (int64_t)ceil(x - 0.5);
		p.weight = 0;
	}
	return p;
}

static double load(enum ir_dtype dtype, const void *p, int64_t i)
{
	return ir_dtype_is_float(dtype) ? cpu_load(dtype, p, i) : (double)cpu_load_int(dtype, p, i);
}

/* A weight of 0 leaves the other value out, which may be infinite. */
static double blend(double lo, double hi, double weight)
{
	return weight == 0 ? lo : lo * (1 - weight) + hi * weight;
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
		struct position p = position_of(linear, ia, x.dim[a], y.dim[a]);
		struct position q = position_of(linear, ib, x.dim[b], y.dim[b]);
		double row[2], v;

		for (uint32_t d = 0; d < y.rank; d++)
			if (d != a && d != b)
				rest += i / y.stride[d] % y.dim[d] * x.stride[d];
		for (int k = 0; k < 2; k++) {
			int64_t at = rest + (k ? p.hi : p.lo) * x.stride[a];

			row[k] = blend(load(dtype, in[0], at + q.lo * x.stride[b]),
				       load(dtype, in[0], at + q.hi * x.stride[b]), q.weight);
		}
		v = blend(row[0], row[1], p.weight);
		if (ir_dtype_is_float(dtype))
			cpu_store(dtype, out[0], i, v);
		else
			cpu_store_int(dtype, out[0], i, (int64_t)nearbyint(v));
	}
}
