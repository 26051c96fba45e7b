// SPDX-License-Identifier: MIT
/* Checks the "require" lines of the instructions, in the order of isa.xml. */
#include "reference.h"

#include <string.h>

#define REQUIRE(condition, who)                                 \
	do {                                                    \
		if (!(condition))                               \
			return shape_fault(ONPU_OPERAND_##who); \
	} while (0)

#define FINE ((struct ref_fault){ .operand = ONPU_OPERAND_NONE })

static struct ref_fault shape_fault(unsigned int operand)
{
	return (struct ref_fault){ .code = ONPU_FAULT_SHAPE, .operand = operand };
}

static bool equal(const uint32_t *a, const uint32_t *b, unsigned int n)
{
	return memcmp(a, b, n * sizeof(*a)) == 0;
}

static bool same_dims(const struct ref_tensor *a, const struct ref_tensor *b)
{
	return a->rank == b->rank && equal(a->dim, b->dim, a->rank);
}

/* Returns whether all dimensions but that of axis are equal. */
static bool same_but(const struct ref_tensor *a, const struct ref_tensor *b, unsigned int axis)
{
	for (unsigned int d = 0; d < a->rank; d++)
		if (d != axis && a->dim[d] != b->dim[d])
			return false;
	return a->rank == b->rank;
}

static struct ref_fault elementwise(const struct ref_op *op)
{
	for (unsigned int x = 1; x < 4; x++)
		if (op->has[x] && !same_dims(&op->x[0], &op->x[x]))
			return shape_fault(x);
	return FINE;
}

static struct ref_fault pad(const struct ref_op *op)
{
	const struct onpu_slot_param_pad *p = &op->slot[ONPU_OPERAND_PARAM].pad;
	const struct ref_tensor *dst = &op->x[0], *s0 = &op->x[1];

	REQUIRE(s0->rank == dst->rank, S0);
	for (unsigned int d = 0; d < dst->rank; d++) {
		ref_int s = s0->dim[d], lo = p->lo[d], hi = (ref_int)dst->dim[d] - s - lo;

		REQUIRE(hi >= 0, PARAM);
		REQUIRE(p->mode != ONPU_PAD_REFLECTION || (lo <= s - 1 && hi <= s - 1), PARAM);
		REQUIRE(p->mode != ONPU_PAD_SYMMETRIC || (lo <= s && hi <= s), PARAM);
	}
	return FINE;
}

static struct ref_fault gather_axis(const struct ref_op *op)
{
	const struct ref_tensor *dst = &op->x[0], *s0 = &op->x[1], *s1 = &op->x[2];
	unsigned int a = op->slot[ONPU_OPERAND_PARAM].index.axis;

	REQUIRE(a < s0->rank, PARAM);
	REQUIRE(dst->rank == s0->rank - 1 + s1->rank, DST);
	REQUIRE(equal(dst->dim, s0->dim, a) && equal(dst->dim + a, s1->dim, s1->rank) &&
			equal(dst->dim + a + s1->rank, s0->dim + a + 1, s0->rank - a - 1),
		DST);
	return FINE;
}

static struct ref_fault gather_elem(const struct ref_op *op)
{
	const struct ref_tensor *dst = &op->x[0], *s0 = &op->x[1], *s1 = &op->x[2];
	unsigned int a = op->slot[ONPU_OPERAND_PARAM].index.axis;

	REQUIRE(a < s0->rank, PARAM);
	REQUIRE(s1->rank == s0->rank && same_but(s1, s0, a), S1);
	REQUIRE(same_dims(dst, s1), DST);
	return FINE;
}

static struct ref_fault scatter_elem(const struct ref_op *op)
{
	const struct ref_tensor *dst = &op->x[0], *s0 = &op->x[1], *s1 = &op->x[2];
	unsigned int a = op->slot[ONPU_OPERAND_PARAM].index.axis;

	REQUIRE(a < dst->rank, PARAM);
	REQUIRE(s0->rank == dst->rank && same_but(s0, dst, a), S0);
	REQUIRE(same_dims(s1, s0), S1);
	return FINE;
}

/*
 * Returns the fault, if any, of the shapes of dma.gather.nd or dma.scatter.nd. `big` is the indexed
 * operand; `small` has a slice for each tuple of indices.
 */
static struct ref_fault move_nd(const struct ref_op *op)
{
	bool scatter = op->insn.op == ONPU_OP_DMA_SCATTER_ND;
	unsigned int small_operand = scatter ? ONPU_OPERAND_S0 : ONPU_OPERAND_DST;
	const struct ref_tensor *big = &op->x[scatter ? 0 : 1], *small = &op->x[small_operand];
	const struct ref_tensor *s1 = &op->x[2];
	unsigned int b = op->slot[ONPU_OPERAND_PARAM].index.batch_dims;
	unsigned int outer = s1->rank - 1;
	ref_int c;

	REQUIRE(s1->rank >= b + 1, S1);
	c = s1->dim[outer];
	REQUIRE(b + c <= big->rank && equal(s1->dim, big->dim, b), S1);
	if (small->rank != outer + big->rank - b - c || !equal(small->dim, s1->dim, outer) ||
	    !equal(small->dim + outer, big->dim + b + c, small->rank - outer))
		return shape_fault(small_operand);
	return FINE;
}

static struct ref_fault mma(const struct ref_op *op)
{
	const struct ref_tensor *dst = &op->x[0], *s0 = &op->x[1], *s1 = &op->x[2], *s2 = &op->x[3];
	const struct onpu_slot_param_taps *p = &op->slot[ONPU_OPERAND_PARAM].taps;
	unsigned int r = dst->rank;
	bool moving = false;

	REQUIRE(r >= 1 && r <= 7, DST);
	REQUIRE(s0->rank == r && equal(s0->dim, dst->dim, r - 1), S0);
	REQUIRE(s1->rank == r + 1 && equal(s1->dim, dst->dim, r - 1) &&
			s1->dim[r - 1] == s0->dim[r - 1] && s1->dim[r] == dst->dim[r - 1],
		S1);
	if (op->insn.op == ONPU_OP_MMA_W) {
		unsigned int q = s2->rank == 3;

		REQUIRE(!op->has[3] || s2->rank == 2 || (q && s2->dim[0] == 2), S2);
		REQUIRE(!op->has[3] || (s2->dim[q + 1] == dst->dim[r - 1] &&
					s0->dim[r - 1] % s2->dim[q] == 0),
			S2);
		return FINE;
	}
	REQUIRE(!op->has[3] || (s2->rank == 1 && s2->dim[0] == dst->dim[r - 1]), S2);
	for (unsigned int l = 0; op->has[ONPU_OPERAND_PARAM] && l < ONPU_TAPS_LOOPS; l++)
		moving |= p->loop[l].dst_step != 0;
	REQUIRE(!moving ||
			(op->insn.acc && (dst->dtype == ONPU_DT_F32 || dst->dtype == ONPU_DT_I32)),
		PARAM);
	return FINE;
}

static struct ref_fault reduce(const struct ref_op *op)
{
	const struct ref_tensor *dst = &op->x[0], *s0 = &op->x[1];
	unsigned int q = s0->rank - (op->insn.lanes ? 1 : 0), axes = op->insn.axes;
	bool dims = true;

	if (op->insn.lanes)
		REQUIRE(s0->rank >= 1 && s0->dim[q] == ONPU_REDUCE_LANES, S0);
	REQUIRE(!(axes >> q), S0);
	if (op->insn.lanes) {
		for (unsigned int d = 0; d < q; d++)
			REQUIRE(!(axes >> d & 1) || s0->dim[d] == 1, S0);
		REQUIRE(dst->rank == q && equal(dst->dim, s0->dim, q), DST);
		return FINE;
	}
	for (unsigned int d = 0; d < q; d++)
		dims &= dst->dim[d] == (axes >> d & 1 ? 1 : s0->dim[d]);
	if (op->insn.part)
		REQUIRE(q <= 7 && dst->rank == q + 1 && dims && dst->dim[q] == ONPU_REDUCE_LANES,
			DST);
	else
		REQUIRE(dst->rank == q && dims, DST);
	return FINE;
}

static struct ref_fault argreduce(const struct ref_op *op)
{
	const struct ref_tensor *dst = &op->x[0], *s0 = &op->x[1];

	REQUIRE(op->insn.axis < s0->rank, S0);
	REQUIRE(same_but(dst, s0, op->insn.axis) && dst->dim[op->insn.axis] == 1, DST);
	return FINE;
}

static struct ref_fault scan(const struct ref_op *op)
{
	const struct ref_tensor *dst = &op->x[0], *s0 = &op->x[1], *s1 = &op->x[2];

	REQUIRE(op->insn.axis < s0->rank, S0);
	REQUIRE(same_dims(dst, s0), DST);
	REQUIRE(!op->has[2] || (same_but(s1, s0, op->insn.axis) && s1->dim[op->insn.axis] == 1),
		S1);
	return FINE;
}

static struct ref_fault resample(const struct ref_op *op)
{
	const struct onpu_slot_param_resample *p = &op->slot[ONPU_OPERAND_PARAM].resample;
	const struct ref_tensor *dst = &op->x[0], *s0 = &op->x[1];
	const unsigned int axis[2] = { p->axis0, p->axis1 };

	REQUIRE(axis[0] < dst->rank && axis[1] < dst->rank && axis[0] != axis[1], PARAM);
	REQUIRE(s0->rank == dst->rank, S0);
	for (unsigned int d = 0; d < dst->rank; d++)
		REQUIRE(d == axis[0] || d == axis[1] || s0->dim[d] == dst->dim[d], S0);
	for (unsigned int e = 0; e < 2; e++)
		REQUIRE((ref_int)p->in_base[e] + s0->dim[axis[e]] <= p->in_size[e] &&
				(ref_int)p->out_base[e] + dst->dim[axis[e]] <= p->out_size[e],
			PARAM);
	return FINE;
}

struct ref_fault ref_check_shape(const struct ref_op *op)
{
	const struct ref_tensor *dst = &op->x[0];

	switch (op->insn.op) {
	case ONPU_OP_NOP ... ONPU_OP_PREEMPT:
	case ONPU_OP_TRAP:
		REQUIRE(op->insn.op != ONPU_OP_TIMESTAMP || (dst->rank == 1 && dst->dim[0] == 6),
			DST);
		return FINE;
	case ONPU_OP_DMA_PAD:
		return pad(op);
	case ONPU_OP_DMA_FILL:
		return FINE;
	case ONPU_OP_DMA_GATHER_AXIS:
		return gather_axis(op);
	case ONPU_OP_DMA_GATHER_ELEM:
		return gather_elem(op);
	case ONPU_OP_DMA_SCATTER_ELEM:
		return scatter_elem(op);
	case ONPU_OP_DMA_GATHER_ND:
	case ONPU_OP_DMA_SCATTER_ND:
		return move_nd(op);
	case ONPU_OP_MMA_I8 ... ONPU_OP_MMA_W:
		return mma(op);
	case ONPU_OP_RSUM ... ONPU_OP_RSUMSQ:
		return reduce(op);
	case ONPU_OP_RARGMAX:
	case ONPU_OP_RARGMIN:
		return argreduce(op);
	case ONPU_OP_SCAN_SUM:
		return scan(op);
	case ONPU_OP_RESAMPLE_NEAREST:
	case ONPU_OP_RESAMPLE_LINEAR:
		return resample(op);
	case ONPU_OP_TRI:
		REQUIRE(dst->rank >= 2, DST);
		return elementwise(op);
	default: /* dma.copy, windows and elementwise instructions */
		return elementwise(op);
	}
}
