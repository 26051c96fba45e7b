// SPDX-License-Identifier: MIT
/* Compares the results of a device with the expected ones. */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cpu/element.h"
#include "graph.h"

struct element {
	double is, wanted, bound;
	bool agrees;
};

static double most_of(enum ir_dtype dtype)
{
	return dtype == IR_F16 ? 65519.99 : 0x1.ffffffp127;
}

/*
 * Returns whether two numbers agree within the bound, including zeros, overflow and NaN. With
 * @signs, a zero whose bound is 0 must have the right sign.
 */
static bool floats_agree(enum ir_dtype dtype, double is, double wanted, double bound, bool signs)
{
	if (isinf(bound))
		return true;
	if (isnan(wanted) || isnan(is))
		return isnan(wanted) && isnan(is);
	if (isinf(is))
		return fabs(wanted) + bound >= most_of(dtype) && signbit(is) == signbit(wanted);
	if (isinf(wanted))
		return false;
	if (signs && bound == 0 && is == 0 && signbit(is) != signbit(wanted))
		return false;
	return fabs(is - wanted) <= bound;
}

static struct element look(const struct truth *truth, const void *actual, int64_t i, bool signs)
{
	enum ir_dtype dtype = truth->type.dtype;
	struct element e = { .bound = truth->bound ? truth->bound[i] : 0 };

	if (truth->exact) {
		e.is = cpu_load(dtype, actual, i);
		/*
		 * The bound of an inexact element is a distance from the exact value, before it is
		 * rounded to the type.
		 */
		e.wanted = truth->bound && truth->bound[i] > 0 ? truth->exact[i] :
								 cpu_load(dtype, truth->native, i);
		e.agrees = floats_agree(dtype, e.is, e.wanted, e.bound, signs);
	} else {
		int64_t is = cpu_load_int(dtype, actual, i);
		int64_t wanted = cpu_load_int(dtype, truth->native, i);

		e.is = dtype == IR_U64 ? (double)(uint64_t)is : (double)is;
		e.wanted = dtype == IR_U64 ? (double)(uint64_t)wanted : (double)wanted;
		e.agrees = is == wanted || (e.bound > 0 && fabs(e.is - e.wanted) <= e.bound);
	}
	return e;
}

static void compare_value(const struct truth *truth, const void *actual, int value, bool signs,
			  struct comparison *out)
{
	for (int64_t i = 0; i < truth->count; i++) {
		struct element e = look(truth, actual, i, signs);
		double error = fabs(e.is - e.wanted);

		out->checked++;
		if (isinf(e.bound))
			out->unbounded++;
		if (!e.agrees && out->agree) {
			out->agree = false;
			out->value = value;
			out->element = i;
			out->bound = e.bound;
			snprintf(out->is, sizeof(out->is), "%.9g", e.is);
			snprintf(out->wanted, sizeof(out->wanted), "%.12g", e.wanted);
		}
		if (!isfinite(e.bound) || !isfinite(error) || error == 0)
			continue;
		out->ulps =
			fmax(out->ulps, error / unit_in_last_place(truth->type.dtype, e.wanted));
		out->share = fmax(out->share, error / e.bound);
	}
}

/*
 * Returns whether the signs of zeros in the results are defined. They are not after max and min,
 * which may return either of two zeros.
 */
static bool zeros_have_signs(const struct graph *graph)
{
	for (uint32_t n = 0; n < graph->num_nodes; n++) {
		switch (graph->nodes[n].op) {
		case WNN_OP_MAX:
		case WNN_OP_MIN:
		case WNN_OP_MAX_POOL2D:
		case WNN_OP_REDUCE_MAX:
		case WNN_OP_REDUCE_MIN:
			return false;
		default:
			break;
		}
	}
	return true;
}

void compare_outputs(const struct graph *graph, const struct truths *truths, const struct run *run,
		     struct comparison *out)
{
	const struct ir_graph *ir = truths->recording->graph;
	bool signs = zeros_have_signs(graph);

	memset(out, 0, sizeof(*out));
	out->agree = true;
	for (uint32_t i = 0; i < ir->num_outputs; i++) {
		unsigned long v = strtoul(ir->outputs[i].name + 1, NULL, 10);

		if (v < graph->num_values && run->outputs[v])
			compare_value(&truths->values[ir->outputs[i].value->id], run->outputs[v],
				      (int)v, signs, out);
	}
}
