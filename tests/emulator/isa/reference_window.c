// SPDX-License-Identifier: MIT
/*
 * Executes matrix products, windows and resampling for the reference (isa.xml: #taps, #mma,
 * #window, resample.nearest, resample.linear).
 */
#include "reference.h"

#include <math.h>
#include <string.h>

void ref_tap_first(struct ref_tap *tap, const struct ref_op *op)
{
	tap->taps = op->has[ONPU_OPERAND_PARAM] ? &op->slot[ONPU_OPERAND_PARAM].taps : NULL;
	memset(tap->t, 0, sizeof(tap->t));
}

bool ref_tap_next(struct ref_tap *tap)
{
	uint32_t counts[ONPU_TAPS_LOOPS];

	if (!tap->taps)
		return false;
	for (unsigned int l = 0; l < ONPU_TAPS_LOOPS; l++)
		counts[l] = tap->taps->loop[l].count;
	return ref_next(counts, ONPU_TAPS_LOOPS, tap->t);
}

struct ref_tensor ref_moved(const struct ref_tap *tap, const struct ref_op *op, unsigned int x)
{
	struct ref_tensor moved = op->x[x];

	for (unsigned int l = 0; tap->taps && l < ONPU_TAPS_LOOPS; l++) {
		const struct onpu_slot_param_taps_loop *loop = &tap->taps->loop[l];
		int64_t by = x == ONPU_OPERAND_DST ? loop->dst_step :
			     x == ONPU_OPERAND_S0  ? loop->s0_step :
						     loop->s1_step;

		if (x != ONPU_OPERAND_S2)
			moved.shift += (ref_int)tap->t[l] * by;
	}
	return moved;
}

/* The accumulator of one element of DST. */
union acc {
	float f;
	uint32_t i;
};

static union acc load_acc(struct ref_machine *m, const struct ref_tensor *dst, const uint32_t *i)
{
	union acc acc;

	if (ref_is_float(dst->dtype))
		acc.f = ref_load_float(m, dst, i);
	else
		acc.i = (uint32_t)ref_load_bits(m, dst, i);
	return acc;
}

static void store_acc(struct ref_machine *m, const struct ref_tensor *dst, const uint32_t *i,
		      union acc acc)
{
	if (ref_is_float(dst->dtype))
		ref_store_float(m, dst, i, acc.f);
	else
		ref_store_bits(m, dst, i, acc.i);
}

/*
 * Returns the weight at the index @b of S1, rounded to the type of S0 (float16 or bfloat16). S2, if
 * there is one, has the scale and, with rank 3, the zero point for row @p and column @j.
 */
static float weight(struct ref_machine *m, const struct ref_op *op, const uint32_t *b, uint32_t p,
		    uint32_t j)
{
	const struct ref_tensor *s2 = &op->x[3];
	unsigned int q = s2->rank == 3, r = op->x[0].rank;
	float w = ref_load_float(m, &op->x[2], b);

	if (op->has[ONPU_OPERAND_S2]) {
		ref_index at = { 0 };

		at[q] = p / (op->x[1].dim[r - 1] / s2->dim[q]);
		at[q + 1] = j;
		if (q) {
			at[0] = 1;
			w = w - ref_load_float(m, s2, at);
			at[0] = 0;
		}
		w = w * ref_load_float(m, s2, at);
	}
	return op->x[1].dtype == ONPU_DT_F16 ? ref_from_half(ref_to_half(w)) :
					       ref_from_bfloat(ref_to_bfloat(w));
}

/*
 * Adds the products of one tap, p ascending, for the element @l of DST, whose last index is j;
 * returns the sum.
 */
static union acc mma_tap(struct ref_machine *m, const struct ref_op *op, const struct ref_tap *tap,
			 const uint32_t *l, union acc acc)
{
	struct ref_tensor s0 = ref_moved(tap, op, ONPU_OPERAND_S0);
	struct ref_tensor s1 = ref_moved(tap, op, ONPU_OPERAND_S1);
	unsigned int r = op->x[0].rank;
	uint32_t j = l[r - 1];
	ref_index a = { 0 }, b = { 0 };
	uint32_t zero_a = 0, zero_b = 0, k = s0.dim[r - 1];
	/* Without partial sums (.piece), the products are added to the accumulator one by one. */
	uint32_t size = op->insn.piece ? (uint32_t)ONPU_PIECE_UNIT << op->insn.piece : k;
	float part = op->insn.piece || op->insn.op == ONPU_OP_MMA_I8 ? 0 : acc.f;

	memcpy(a, l, (r - 1) * sizeof(*a));
	memcpy(b, l, (r - 1) * sizeof(*b));
	b[r] = j;
	if (op->insn.op == ONPU_OP_MMA_I8) {
		zero_a = tap->taps ? (uint32_t)tap->taps->zero_a : 0;
		zero_b = tap->taps ? (uint32_t)tap->taps->zero_b : 0;
		if (op->has[ONPU_OPERAND_S2])
			zero_b += (uint32_t)ref_load_bits(m, &op->x[ONPU_OPERAND_S2], &j);
	}
	for (uint32_t p = 0; p < k; p++) {
		a[r - 1] = b[r - 1] = p;
		if (op->insn.op == ONPU_OP_MMA_I8)
			acc.i += ((uint32_t)ref_load_int(m, &s0, a) - zero_a) *
				 ((uint32_t)ref_load_int(m, &s1, b) - zero_b);
		else if (op->insn.op == ONPU_OP_MMA_W)
			part = fmaf(ref_load_float(m, &s0, a), weight(m, op, b, p, j), part);
		else
			part = fmaf(ref_load_float(m, &s0, a), ref_load_float(m, &s1, b), part);
		if (op->insn.op != ONPU_OP_MMA_I8 && ((p + 1) % size == 0 || p + 1 == k)) {
			acc.f = op->insn.piece ? acc.f + part : part;
			part = 0;
		}
	}
	return acc;
}

bool ref_moving(const struct ref_op *op)
{
	const struct onpu_slot_param_taps *taps = &op->slot[ONPU_OPERAND_PARAM].taps;

	return op->has[ONPU_OPERAND_PARAM] &&
	       (taps->loop[0].dst_step || taps->loop[1].dst_step || taps->loop[2].dst_step);
}

static void mma_moving(struct ref_machine *m, const struct ref_op *op)
{
	struct ref_tap tap;

	ref_tap_first(&tap, op);
	do {
		struct ref_tensor dst = ref_moved(&tap, op, ONPU_OPERAND_DST);
		ref_index l = { 0 };

		do {
			store_acc(m, &dst, l, mma_tap(m, op, &tap, l, load_acc(m, &dst, l)));
		} while (ref_next(dst.dim, dst.rank, l));
	} while (ref_tap_next(&tap));
}

void ref_mma(struct ref_machine *m, const struct ref_op *op)
{
	const struct ref_tensor *dst = &op->x[0];
	ref_index l = { 0 };

	if (ref_moving(op)) {
		mma_moving(m, op);
		return;
	}
	do {
		union acc acc = { .i = 0 };
		struct ref_tap tap;

		if (op->insn.acc)
			acc = load_acc(m, dst, l);
		ref_tap_first(&tap, op);
		do {
			acc = mma_tap(m, op, &tap, l, acc);
		} while (ref_tap_next(&tap));
		store_acc(m, dst, l, acc);
	} while (ref_next(dst->dim, dst->rank, l));
}

static ref_int window_max_int(struct ref_machine *m, const struct ref_op *op, const uint32_t *i)
{
	struct ref_tap tap;
	bool first = !op->insn.acc;
	ref_int acc = first ? 0 : ref_load_int(m, &op->x[0], i);

	ref_tap_first(&tap, op);
	do {
		struct ref_tensor s0 = ref_moved(&tap, op, ONPU_OPERAND_S0);
		ref_int x = ref_load_int(m, &s0, i);

		if (first || x > acc)
			acc = x;
		first = false;
	} while (ref_tap_next(&tap));
	return acc;
}

static float window_float(struct ref_machine *m, const struct ref_op *op, const uint32_t *i)
{
	struct ref_tap tap;
	bool first = !op->insn.acc;
	float acc = first ? 0 : ref_load_float(m, &op->x[0], i);

	ref_tap_first(&tap, op);
	do {
		struct ref_tensor s0 = ref_moved(&tap, op, ONPU_OPERAND_S0);
		float x = ref_load_float(m, &s0, i);

		switch (op->insn.op) {
		case ONPU_OP_WIN_MAX:
			acc = first ? x : ref_max(acc, x);
			break;
		case ONPU_OP_WIN_SUM:
			acc = acc + x;
			break;
		case ONPU_OP_WIN_SUMSQ:
			acc = fmaf(x, x, acc);
			break;
		default: {
			struct ref_tensor s1 = ref_moved(&tap, op, ONPU_OPERAND_S1);

			acc = fmaf(x, ref_load_float(m, &s1, i), acc);
		}
		}
		first = false;
	} while (ref_tap_next(&tap));
	return acc;
}

void ref_window(struct ref_machine *m, const struct ref_op *op)
{
	const struct ref_tensor *dst = &op->x[0];
	ref_index i = { 0 };

	do {
		if (ref_is_float(dst->dtype))
			ref_store_float(m, dst, i, window_float(m, op, i));
		else
			ref_store_int(m, dst, i, window_max_int(m, op, i));
	} while (ref_next(dst->dim, dst->rank, i));
}

/* Returns the source index of one axis, relative to S0's first element. */
static ref_int nearest(const struct onpu_slot_param_resample *p, unsigned int e, uint32_t k)
{
	ref_int in = p->in_size[e], out = p->out_size[e], o = (ref_int)p->out_base[e] + k;

	return ref_limit(ref_ceil_div((2 * o + 1) * in, 2 * out) - 1, 0, in - 1) - p->in_base[e];
}

struct linear {
	ref_int first, second, rest, units;
	float frac;
};

static struct linear linear(const struct onpu_slot_param_resample *p, unsigned int e, uint32_t k)
{
	ref_int in = p->in_size[e], out = p->out_size[e], o = (ref_int)p->out_base[e] + k;
	ref_int num = ref_limit((2 * o + 1) * in - out, 0, (in - 1) * 2 * out);
	struct linear at = { .first = num / (2 * out) };

	at.units = 2 * out;
	at.rest = num % at.units;
	at.second = at.first + 1 < in - 1 ? at.first + 1 : in - 1;
	at.frac = (float)((double)(num % (2 * out)) / (double)(2 * out));
	at.first -= p->in_base[e];
	at.second -= p->in_base[e];
	return at;
}

/* Checks the "bounds" of both resamplings; returns fault BOUNDS of S0 at address 0, or none. */
struct ref_fault ref_check_resample(const struct ref_op *op)
{
	const struct onpu_slot_param_resample *p = &op->slot[ONPU_OPERAND_PARAM].resample;
	struct ref_fault fault = { .operand = ONPU_OPERAND_S0 };

	for (unsigned int e = 0; e < 2; e++) {
		unsigned int a = e ? p->axis1 : p->axis0;
		ref_int limit = op->x[1].dim[a];

		for (uint32_t k = 0; k < op->x[0].dim[a]; k++) {
			struct linear at = linear(p, e, k);

			if (op->insn.op == ONPU_OP_RESAMPLE_NEAREST)
				at.first = at.second = nearest(p, e, k);
			if (at.first < 0 || at.first >= limit || at.second < 0 ||
			    at.second >= limit) {
				fault.code = ONPU_FAULT_BOUNDS;
				return fault;
			}
		}
	}
	return fault;
}

void ref_resample_nearest(struct ref_machine *m, const struct ref_op *op)
{
	const struct onpu_slot_param_resample *p = &op->slot[ONPU_OPERAND_PARAM].resample;
	const struct ref_tensor *dst = &op->x[0], *s0 = &op->x[1];
	ref_index i = { 0 };

	do {
		ref_index j;

		memcpy(j, i, sizeof(j));
		j[p->axis0] = (uint32_t)nearest(p, 0, i[p->axis0]);
		j[p->axis1] = (uint32_t)nearest(p, 1, i[p->axis1]);
		if (s0->dtype == dst->dtype)
			ref_store_bits(m, dst, i, ref_load_bits(m, s0, j));
		else
			ref_store_float(m, dst, i, ref_load_float(m, s0, j));
	} while (ref_next(dst->dim, dst->rank, i));
}

static float lerp(float u, float v, float f)
{
	float rest = 1 - f, part = rest * u;

	return f == 0 || u == v ? u : fmaf(f, v, part);
}

static float resample_float(const struct linear a[2], float x[2][2])
{
	return lerp(lerp(x[0][0], x[0][1], a[1].frac), lerp(x[1][0], x[1][1], a[1].frac),
		    a[0].frac);
}

static ref_int resample_int(const struct linear a[2], ref_int x[2][2])
{
	ref_int sum = 0, d = a[0].units * a[1].units, whole, rest;

	for (unsigned int u = 0; u < 4; u++)
		sum += (u / 2 ? a[0].rest : a[0].units - a[0].rest) *
		       (u % 2 ? a[1].rest : a[1].units - a[1].rest) * x[u / 2][u % 2];
	/* Take the floor; then round up from one half on, a half itself to the even number. */
	whole = sum >= 0 ? sum / d : -((-sum + d - 1) / d);
	rest = sum - whole * d;
	if (rest * 2 > d || (rest * 2 == d && whole % 2))
		whole++;
	return whole;
}

void ref_resample_linear(struct ref_machine *m, const struct ref_op *op)
{
	const struct onpu_slot_param_resample *p = &op->slot[ONPU_OPERAND_PARAM].resample;
	const struct ref_tensor *dst = &op->x[0], *s0 = &op->x[1];
	ref_index i = { 0 };

	do {
		struct linear a[2] = { linear(p, 0, i[p->axis0]), linear(p, 1, i[p->axis1]) };
		ref_int ints[2][2];
		float x[2][2];
		ref_index j;

		memcpy(j, i, sizeof(j));
		for (unsigned int u = 0; u < 4; u++) {
			j[p->axis0] = (uint32_t)(u / 2 ? a[0].second : a[0].first);
			j[p->axis1] = (uint32_t)(u % 2 ? a[1].second : a[1].first);
			if (ref_is_float(s0->dtype))
				x[u / 2][u % 2] = ref_load_float(m, s0, j);
			else
				ints[u / 2][u % 2] = ref_load_int(m, s0, j);
		}
		if (ref_is_float(dst->dtype))
			ref_store_float(m, dst, i, resample_float(a, x));
		else
			ref_store_int(m, dst, i, resample_int(a, ints));
	} while (ref_next(dst->dim, dst->rank, i));
}
