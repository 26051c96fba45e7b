// SPDX-License-Identifier: MIT
/* Executes the DMA instructions for the reference (isa.xml: dma.*, #index). */
#include "reference.h"

#include <string.h>

/* A list of indices under construction. */
struct list {
	ref_index i;
	unsigned int n;
};

static void append(struct list *list, const uint32_t *from, unsigned int n)
{
	memcpy(list->i + list->n, from, n * sizeof(*from));
	list->n += n;
}

static void append_one(struct list *list, uint32_t v)
{
	append(list, &v, 1);
}

static void copy(struct ref_machine *m, const struct ref_op *op, const uint32_t *d,
		 const uint32_t *s, struct ref_fault *fault)
{
	ref_touch(m, op, ONPU_OPERAND_S0, s, fault);
	ref_touch(m, op, ONPU_OPERAND_DST, d, fault);
	if (!fault->code)
		ref_store_bits(m, &op->x[0], d, ref_load_bits(m, &op->x[1], s));
}

static void put(struct ref_machine *m, const struct ref_op *op, const uint32_t *d, uint64_t value,
		struct ref_fault *fault)
{
	ref_touch(m, op, ONPU_OPERAND_DST, d, fault);
	if (!fault->code)
		ref_store_bits(m, &op->x[0], d, value);
}

static void dma_copy(struct ref_machine *m, const struct ref_op *op, struct ref_fault *fault)
{
	const struct ref_tensor *dst = &op->x[0];
	ref_index i = { 0 };

	do {
		copy(m, op, i, i, fault);
	} while (!fault->code && ref_next(dst->dim, dst->rank, i));
}

static void dma_fill(struct ref_machine *m, const struct ref_op *op, struct ref_fault *fault)
{
	const struct ref_tensor *dst = &op->x[0];
	ref_index i = { 0 };

	do {
		put(m, op, i, op->slot[ONPU_OPERAND_PARAM].fill.value, fault);
	} while (!fault->code && ref_next(dst->dim, dst->rank, i));
}

static ref_int padded(unsigned int mode, ref_int p, ref_int s)
{
	switch (mode) {
	case ONPU_PAD_EDGE:
		return ref_limit(p, 0, s - 1);
	case ONPU_PAD_REFLECTION:
		return p < 0 ? -p : p >= s ? 2 * (s - 1) - p : p;
	case ONPU_PAD_SYMMETRIC:
		return p < 0 ? -p - 1 : p >= s ? 2 * s - 1 - p : p;
	default:
		return p;
	}
}

static void dma_pad(struct ref_machine *m, const struct ref_op *op, struct ref_fault *fault)
{
	const struct onpu_slot_param_pad *pad = &op->slot[ONPU_OPERAND_PARAM].pad;
	const struct ref_tensor *dst = &op->x[0], *s0 = &op->x[1];
	ref_index i = { 0 };

	do {
		bool outside = false;
		ref_index j;

		for (unsigned int d = 0; d < dst->rank; d++) {
			ref_int p = padded(pad->mode, (ref_int)i[d] - pad->lo[d], s0->dim[d]);

			outside |= p < 0 || p >= s0->dim[d];
			j[d] = (uint32_t)p;
		}
		if (pad->mode == ONPU_PAD_CONSTANT && outside)
			put(m, op, i, pad->value, fault);
		else
			copy(m, op, i, j, fault);
	} while (!fault->code && ref_next(dst->dim, dst->rank, i));
}

/* Returns value(j) of #index; sets *fault when it is out of range or cannot be read. */
static uint32_t value(struct ref_machine *m, const struct ref_op *op, const uint32_t *j, ref_int n,
		      struct ref_fault *fault)
{
	const struct ref_tensor *s1 = &op->x[ONPU_OPERAND_S1];
	ref_int v, at = 0;

	ref_touch(m, op, ONPU_OPERAND_S1, j, fault);
	if (fault->code)
		return 0;
	v = ref_load_int(m, s1, j);
	if (op->insn.clamp)
		v = ref_limit(v, -n, n - 1);
	if (op->insn.neg && v < 0)
		v += n;
	if (v >= 0 && v < n)
		return (uint32_t)v;
	for (unsigned int d = 0; d < s1->rank; d++)
		at = at * s1->dim[d] + j[d];
	fault->code = ONPU_FAULT_INDEX_RANGE;
	fault->operand = ONPU_OPERAND_S1;
	fault->address = (uint64_t)at;
	return 0;
}

static void gather_axis(struct ref_machine *m, const struct ref_op *op, struct ref_fault *fault)
{
	const struct ref_tensor *s0 = &op->x[1], *s1 = &op->x[2];
	unsigned int a = op->slot[ONPU_OPERAND_PARAM].index.axis;
	unsigned int rest = s0->rank - a - 1;
	ref_index o = { 0 };

	do {
		ref_index j = { 0 };

		do {
			uint32_t v = value(m, op, j, s0->dim[a], fault);
			ref_index i = { 0 };

			if (fault->code)
				return;
			do {
				struct list d = { .n = 0 }, s = { .n = 0 };

				append(&d, o, a);
				append(&d, j, s1->rank);
				append(&d, i, rest);
				append(&s, o, a);
				append_one(&s, v);
				append(&s, i, rest);
				copy(m, op, d.i, s.i, fault);
			} while (!fault->code && ref_next(s0->dim + a + 1, rest, i));
		} while (!fault->code && ref_next(s1->dim, s1->rank, j));
	} while (!fault->code && ref_next(s0->dim, a, o));
}

/* Executes both elem forms: the index replaces coordinate a of the operand that is indexed. */
static void move_elem(struct ref_machine *m, const struct ref_op *op, struct ref_fault *fault)
{
	bool scatter = op->insn.op == ONPU_OP_DMA_SCATTER_ELEM;
	unsigned int a = op->slot[ONPU_OPERAND_PARAM].index.axis;
	const struct ref_tensor *s1 = &op->x[2];
	ref_index j = { 0 };

	do {
		uint32_t v = value(m, op, j, op->x[scatter ? 0 : 1].dim[a], fault);
		ref_index with;

		if (fault->code)
			return;
		memcpy(with, j, sizeof(with));
		with[a] = v;
		copy(m, op, scatter ? with : j, scatter ? j : with, fault);
	} while (!fault->code && ref_next(s1->dim, s1->rank, j));
}

/* Executes both nd forms: big is the tensor that is indexed, small the other. */
static void move_nd(struct ref_machine *m, const struct ref_op *op, struct ref_fault *fault)
{
	bool scatter = op->insn.op == ONPU_OP_DMA_SCATTER_ND;
	const struct ref_tensor *big = &op->x[scatter ? 0 : 1], *s1 = &op->x[2];
	unsigned int b = op->slot[ONPU_OPERAND_PARAM].index.batch_dims;
	unsigned int outer = s1->rank - 1, c = s1->dim[outer], rest = big->rank - b - c;
	ref_index j = { 0 };

	do {
		struct list large = { .n = 0 };
		ref_index i = { 0 };

		append(&large, j, b);
		for (uint32_t e = 0; e < c; e++) {
			struct list at = { .n = 0 };

			append(&at, j, outer);
			append_one(&at, e);
			append_one(&large, value(m, op, at.i, big->dim[b + e], fault));
			if (fault->code)
				return;
		}
		do {
			struct list one = large, other = { .n = 0 };

			append(&one, i, rest);
			append(&other, j, outer);
			append(&other, i, rest);
			copy(m, op, scatter ? one.i : other.i, scatter ? other.i : one.i, fault);
		} while (!fault->code && ref_next(big->dim + b + c, rest, i));
	} while (!fault->code && ref_next(s1->dim, outer, j));
}

struct ref_fault ref_dma(struct ref_machine *m, const struct ref_op *op)
{
	struct ref_fault fault = { .operand = ONPU_OPERAND_NONE };

	switch (op->insn.op) {
	case ONPU_OP_DMA_COPY:
		dma_copy(m, op, &fault);
		break;
	case ONPU_OP_DMA_FILL:
		dma_fill(m, op, &fault);
		break;
	case ONPU_OP_DMA_PAD:
		dma_pad(m, op, &fault);
		break;
	case ONPU_OP_DMA_GATHER_AXIS:
		gather_axis(m, op, &fault);
		break;
	case ONPU_OP_DMA_GATHER_ELEM:
	case ONPU_OP_DMA_SCATTER_ELEM:
		move_elem(m, op, &fault);
		break;
	default:
		move_nd(m, op, &fault);
		break;
	}
	return fault;
}
