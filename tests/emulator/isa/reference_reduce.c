// SPDX-License-Identifier: MIT
/*
 * Executes reductions, arg-reductions and the scan for the reference (isa.xml: #reduce,
 * #argreduce).
 */
#include "reference.h"

#include <math.h>
#include <string.h>

#define LANES ONPU_REDUCE_LANES

/* The accumulator of one lane: a float32, or a number of the integer type. */
union lane {
	float f;
	ref_int i;
};

static bool is_sum(enum onpu_op op)
{
	return op == ONPU_OP_RSUM || op == ONPU_OP_RSUMABS || op == ONPU_OP_RSUMSQ;
}

static union lane identity(enum onpu_op op, unsigned int dtype)
{
	union lane lane = { .i = 0 };

	if (ref_is_float(dtype))
		lane.f = op == ONPU_OP_RPROD ? 1 :
			 op == ONPU_OP_RMAX  ? -INFINITY :
			 op == ONPU_OP_RMIN  ? INFINITY :
					       0;
	else
		lane.i = op == ONPU_OP_RPROD ? 1 :
			 op == ONPU_OP_RMAX  ? ref_least(dtype) :
			 op == ONPU_OP_RMIN  ? ref_greatest(dtype) :
					       0;
	return lane;
}

static union lane join(enum onpu_op op, unsigned int dtype, union lane a, union lane b)
{
	union lane r = { .i = 0 };

	if (ref_is_float(dtype)) {
		r.f = is_sum(op)	  ? a.f + b.f :
		      op == ONPU_OP_RPROD ? a.f * b.f :
		      op == ONPU_OP_RMAX  ? ref_max(a.f, b.f) :
					    ref_min(a.f, b.f);
		return r;
	}
	if (is_sum(op))
		r.i = ref_wrap((uint64_t)(a.i + b.i), dtype);
	else if (op == ONPU_OP_RPROD)
		r.i = ref_wrap((uint64_t)a.i * (uint64_t)b.i, dtype);
	else if (op == ONPU_OP_RMAX)
		r.i = a.i > b.i ? a.i : b.i;
	else
		r.i = a.i < b.i ? a.i : b.i;
	return r;
}

static union lane step(enum onpu_op op, unsigned int dtype, union lane lane, union lane x)
{
	if (ref_is_float(dtype)) {
		if (op == ONPU_OP_RSUMSQ) {
			lane.f = fmaf(x.f, x.f, lane.f);
			return lane;
		}
		if (op == ONPU_OP_RSUMABS)
			x.f = fabsf(x.f);
	} else if (op == ONPU_OP_RSUMSQ) {
		x.i = ref_wrap((uint64_t)x.i * (uint64_t)x.i, dtype);
	} else if (op == ONPU_OP_RSUMABS) {
		x.i = ref_wrap((uint64_t)(x.i < 0 ? -x.i : x.i), dtype);
	}
	return join(op, dtype, lane, x);
}

static union lane load(struct ref_machine *m, const struct ref_tensor *x, const uint32_t *i)
{
	union lane lane = { .i = 0 };

	if (ref_is_float(x->dtype))
		lane.f = ref_load_float(m, x, i);
	else
		lane.i = ref_load_int(m, x, i);
	return lane;
}

static void store(struct ref_machine *m, const struct ref_tensor *x, const uint32_t *i,
		  union lane lane)
{
	if (ref_is_float(x->dtype))
		ref_store_float(m, x, i, lane.f);
	else
		ref_store_int(m, x, i, lane.i);
}

static union lane combine(enum onpu_op op, unsigned int dtype, union lane *lane)
{
	for (unsigned int w = LANES / 2; w; w /= 2)
		for (unsigned int j = 0; j < w; j++)
			lane[j] = join(op, dtype, lane[j], lane[j + w]);
	return lane[0];
}

/* Reduces all elements of S0 that belong to the element o of the result, in row-major order. */
static void reduce_one(struct ref_machine *m, const struct ref_op *op, const uint32_t *o,
		       union lane *lane)
{
	const struct ref_tensor *s0 = &op->x[1];
	uint32_t inner[ONPU_MAX_RANK];
	ref_index r = { 0 };
	unsigned int i = 0;

	for (unsigned int d = 0; d < s0->rank; d++)
		inner[d] = op->insn.axes >> d & 1 ? s0->dim[d] : 1;
	do {
		ref_index at;

		for (unsigned int d = 0; d < s0->rank; d++)
			at[d] = o[d] + r[d];
		lane[i % LANES] = step(op->insn.op, s0->dtype, lane[i % LANES], load(m, s0, at));
		i++;
	} while (ref_next(inner, s0->rank, r));
}

static void combine_lanes(struct ref_machine *m, const struct ref_op *op)
{
	const struct ref_tensor *dst = &op->x[0], *s0 = &op->x[1];
	ref_index o = { 0 };

	do {
		union lane lane[LANES];
		ref_index at;

		memcpy(at, o, sizeof(at));
		for (unsigned int l = 0; l < LANES; l++) {
			at[dst->rank] = l;
			lane[l] = load(m, s0, at);
		}
		store(m, dst, o, combine(op->insn.op, s0->dtype, lane));
	} while (ref_next(dst->dim, dst->rank, o));
}

void ref_reduce(struct ref_machine *m, const struct ref_op *op)
{
	const struct ref_tensor *dst = &op->x[0], *s0 = &op->x[1];
	ref_index o = { 0 };

	if (op->insn.lanes) {
		combine_lanes(m, op);
		return;
	}
	do {
		union lane lane[LANES];
		ref_index at;

		memcpy(at, o, sizeof(at));
		for (unsigned int l = 0; l < LANES; l++) {
			lane[l] = identity(op->insn.op, s0->dtype);
			if (!op->insn.acc)
				continue;
			at[s0->rank] = l;
			lane[l] = load(m, dst, at);
		}
		reduce_one(m, op, o, lane);
		if (!op->insn.part) {
			store(m, dst, o, combine(op->insn.op, s0->dtype, lane));
			continue;
		}
		for (unsigned int l = 0; l < LANES; l++) {
			at[s0->rank] = l;
			store(m, dst, at, lane[l]);
		}
		/*
		 * With .part, o counts through the dimensions that DST has in front of the lanes.
		 */
	} while (ref_next(dst->dim, s0->rank, o));
}

/* Returns whether the later element b replaces a as the best one. */
static bool better(const struct ref_op *op, unsigned int dtype, union lane a, union lane b)
{
	bool last = op->insn.last, less = op->insn.op == ONPU_OP_RARGMIN;

	if (!ref_is_float(dtype))
		return (less ? b.i < a.i : b.i > a.i) || (last && b.i == a.i);
	if (isnan(b.f))
		return !isnan(a.f) || last;
	if (isnan(a.f))
		return false;
	return (less ? b.f < a.f : b.f > a.f) || (last && b.f == a.f);
}

void ref_argreduce(struct ref_machine *m, const struct ref_op *op)
{
	const struct ref_tensor *dst = &op->x[0], *s0 = &op->x[1];
	unsigned int axis = op->insn.axis;
	uint64_t base = op->has[ONPU_OPERAND_PARAM] ? op->slot[ONPU_OPERAND_PARAM].scalar.alpha : 0;
	ref_index o = { 0 };

	do {
		uint32_t best = 0;

		for (uint32_t i = 1; i < s0->dim[axis]; i++) {
			ref_index a, b;

			memcpy(a, o, sizeof(a));
			memcpy(b, o, sizeof(b));
			a[axis] = best;
			b[axis] = i;
			if (better(op, s0->dtype, load(m, s0, a), load(m, s0, b)))
				best = i;
		}
		ref_store_bits(m, dst, o, best + base);
	} while (ref_next(dst->dim, dst->rank, o));
}

static void scan_line(struct ref_machine *m, const struct ref_op *op, ref_index i)
{
	const struct ref_tensor *dst = &op->x[0], *s0 = &op->x[1], *carry = &op->x[2];
	unsigned int axis = op->insn.axis, dtype = s0->dtype;
	uint32_t n = s0->dim[axis];
	union lane acc = { .i = 0 };

	if (!op->has[ONPU_OPERAND_S1] && ref_is_float(dtype))
		acc.f = 0;
	i[axis] = 0;
	if (op->has[ONPU_OPERAND_S1])
		acc = load(m, carry, i);
	for (uint32_t a = 0; a < n; a++) {
		i[axis] = op->insn.rev ? n - 1 - a : a;
		union lane x = load(m, s0, i);

		if (op->insn.excl)
			store(m, dst, i, acc);
		acc = join(ONPU_OP_RSUM, dtype, acc, x);
		if (!op->insn.excl)
			store(m, dst, i, acc);
	}
	i[axis] = 0;
	if (op->has[ONPU_OPERAND_S1])
		store(m, carry, i, acc);
}

void ref_scan(struct ref_machine *m, const struct ref_op *op)
{
	uint32_t lines[ONPU_MAX_RANK];
	ref_index i = { 0 };

	memcpy(lines, op->x[1].dim, sizeof(lines));
	lines[op->insn.axis] = 1;
	do {
		scan_line(m, op, i);
	} while (ref_next(lines, op->x[1].rank, i));
}
