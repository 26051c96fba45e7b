// SPDX-License-Identifier: MIT
/* Computes the cycles of an instruction (isa.xml: #cost, #runs). */
#include "reference.h"

#include <string.h>

/* One side of a copy, reduced to the values that #runs uses. */
struct view {
	unsigned int rank;
	ref_int dim[ONPU_MAX_RANK], stride[ONPU_MAX_RANK];
};

/* Returns the dimensions of a tensor from @from on. */
static struct view view_of(const struct ref_tensor *x, unsigned int from)
{
	struct view v = { .rank = 0 };

	for (unsigned int d = from; d < x->rank; d++, v.rank++) {
		v.dim[v.rank] = x->dim[d];
		v.stride[v.rank] = x->stride[d];
	}
	return v;
}

static void drop(struct view *v, unsigned int d)
{
	v->rank--;
	memmove(v->dim + d, v->dim + d + 1, (v->rank - d) * sizeof(*v->dim));
	memmove(v->stride + d, v->stride + d + 1, (v->rank - d) * sizeof(*v->stride));
}

static bool mergeable(const struct view *v, unsigned int n, unsigned int d)
{
	for (unsigned int i = 0; i < n; i++)
		if (v[i].stride[d] != v[i].stride[d + 1] * v[i].dim[d + 1])
			return false;
	return true;
}

static void drop_ones(struct view *v, unsigned int n)
{
	for (unsigned int d = v[0].rank; d-- > 0;)
		for (unsigned int i = 0; i < n; i++)
			if (v[i].dim[d] == 1)
				drop(&v[i], d);
}

static void merge(struct view *v, unsigned int n)
{
	for (unsigned int d = 0; d + 1 < v[0].rank;) {
		if (!mergeable(v, n, d)) {
			d++;
			continue;
		}
		for (unsigned int i = 0; i < n; i++) {
			v[i].dim[d + 1] *= v[i].dim[d];
			drop(&v[i], d);
		}
		d = 0;
	}
}

static ref_int run_cost(const struct ref_machine *m, struct view *v, unsigned int n,
			unsigned int size)
{
	ref_int runs = 1, elements = 1;
	bool contiguous = true;

	drop_ones(v, n);
	merge(v, n);
	for (unsigned int d = 0; d < v[0].rank; d++)
		runs = ref_mul(runs, v[0].dim[d]);
	for (unsigned int i = 0; i < n; i++)
		contiguous &= v[i].rank > 0 && v[i].stride[v[i].rank - 1] == size;
	if (contiguous) {
		elements = v[0].dim[v[0].rank - 1];
		runs = 1;
		for (unsigned int d = 0; d + 1 < v[0].rank; d++)
			runs = ref_mul(runs, v[0].dim[d]);
	}
	return ref_mul(runs, ref_ceil_div(ref_mul(elements, size), m->dma_bytes));
}

static ref_int dma_cost(const struct ref_machine *m, const struct ref_op *op)
{
	unsigned int n = op->insn.op == ONPU_OP_DMA_COPY ? 2 : 1;
	struct view v[2];

	for (unsigned int i = 0; i < n; i++)
		v[i] = view_of(&op->x[i], 0);
	return op->info->factor + run_cost(m, v, n, ref_size(op->x[0].dtype));
}

static ref_int gather_cost(const struct ref_machine *m, const struct ref_op *op)
{
	const struct ref_tensor *dst = &op->x[0], *s0 = &op->x[1], *s1 = &op->x[2];
	const struct onpu_slot_param_index *p = &op->slot[ONPU_OPERAND_PARAM].index;
	ref_int slices = ref_count(s1), each = 1;
	unsigned int rest = 0; /* dimensions of a slice: the last ones of both sides */

	if (op->insn.op == ONPU_OP_DMA_GATHER_AXIS) {
		slices = ref_mul(slices, ref_product(s0->dim, p->axis));
		rest = s0->rank - p->axis - 1;
	} else if (op->insn.op == ONPU_OP_DMA_GATHER_ND || op->insn.op == ONPU_OP_DMA_SCATTER_ND) {
		const struct ref_tensor *big = op->insn.op == ONPU_OP_DMA_GATHER_ND ? s0 : dst;
		uint32_t c = s1->dim[s1->rank - 1];

		slices = ref_product(s1->dim, s1->rank - 1);
		rest = big->rank - p->batch_dims - c;
	}
	if (rest) {
		struct view v[2] = {
			view_of(dst, dst->rank - rest),
			view_of(s0, s0->rank - rest),
		};

		each = run_cost(m, v, 2, ref_size(dst->dtype));
	}
	return op->info->factor +
	       ref_ceil_div(ref_mul(ref_count(s1), ref_size(s1->dtype)), m->dma_bytes) +
	       ref_mul(slices, each);
}

ref_int ref_taps(const struct ref_op *op)
{
	ref_int taps = 1;

	for (unsigned int l = 0; op->has[ONPU_OPERAND_PARAM] && l < ONPU_TAPS_LOOPS; l++)
		taps = ref_mul(taps, op->slot[ONPU_OPERAND_PARAM].taps.loop[l].count);
	return taps;
}

static void mma_sizes(const struct ref_op *op, ref_int *batch, ref_int *m)
{
	const struct ref_tensor *dst = &op->x[0], *s1 = &op->x[2];

	*batch = *m = 1;
	for (unsigned int d = 0; d + 1 < dst->rank; d++) {
		ref_int *size = dst->dim[d] > 1 && s1->stride[d] ? batch : m;

		*size = ref_mul(*size, dst->dim[d]);
	}
}

static ref_int min_int(ref_int a, ref_int b)
{
	return a < b ? a : b;
}

static ref_int form_cost(ref_int batch, ref_int m, ref_int n, ref_int depth, uint64_t rows,
			 uint64_t cols)
{
	ref_int blocks = ref_mul(batch, ref_mul(ref_ceil_div(m, rows), ref_ceil_div(n, cols)));

	return rows + cols + ref_mul(blocks, depth);
}

static ref_int mma_cost(const struct ref_machine *machine, const struct ref_op *op)
{
	unsigned int r = op->x[0].rank;
	ref_int batch, m, depth, least;

	mma_sizes(op, &batch, &m);
	depth = ref_mul(op->x[1].dim[r - 1], op->info->factor);
	if (!ref_moving(op))
		depth = ref_mul(depth, ref_taps(op));
	if (depth < (ref_int)machine->rows)
		depth = machine->rows;
	if (ref_moving(op))
		depth = ref_mul(depth, ref_taps(op));
	least = form_cost(batch, m, op->x[0].dim[r - 1], depth, machine->rows, machine->cols);
	for (uint64_t i = 0, rows = machine->rows, cols = machine->cols; i < machine->forms; i++) {
		if (cols % 2)
			break;
		rows *= 2;
		cols /= 2;
		least = min_int(least, form_cost(batch, m, op->x[0].dim[r - 1], depth, rows, cols));
	}
	for (uint64_t i = 0, rows = machine->rows, cols = machine->cols; i < machine->forms; i++) {
		if (rows % 2)
			break;
		rows /= 2;
		cols *= 2;
		least = min_int(least, form_cost(batch, m, op->x[0].dim[r - 1], depth, rows, cols));
	}
	return 16 + least;
}

ref_int ref_macs(const struct ref_op *op)
{
	ref_int k = op->x[1].dim[op->x[1].rank - 1];

	return ref_mul(ref_mul(ref_count(&op->x[0]), k), ref_taps(op));
}

static ref_int vector_cycles(const struct ref_machine *m, const struct ref_op *op, unsigned int x)
{
	bool vector = op->info->cost == ONPU_COST_VECTOR;
	ref_int bits = 8;

	for (unsigned int i = 0; i < 4; i++)
		if (op->has[i] && ref_bits(op->x[i].dtype) > bits)
			bits = ref_bits(op->x[i].dtype);
	if (bits < 32 && (!m->packing || (vector && op->info->factor > 1) ||
			  (!vector && ref_is_float(op->x[1].dtype))))
		bits = 32;
	return ref_ceil_div(ref_mul(ref_count(&op->x[x]), bits), 32 * m->lanes);
}

ref_int ref_cost(const struct ref_machine *m, const struct ref_op *op)
{
	ref_int f = op->info->factor;

	switch (op->info->cost) {
	case ONPU_COST_DMA:
		return dma_cost(m, op);
	case ONPU_COST_GATHER:
		return gather_cost(m, op);
	case ONPU_COST_MMA:
		return mma_cost(m, op);
	case ONPU_COST_VECTOR:
	case ONPU_COST_SCAN:
		return 8 + ref_mul(vector_cycles(m, op, 0), f);
	case ONPU_COST_REDUCE:
		return 8 + vector_cycles(m, op, 1) + ref_mul(vector_cycles(m, op, 0), f);
	case ONPU_COST_WINDOW:
		return 8 + ref_mul(vector_cycles(m, op, 0), ref_taps(op));
	case ONPU_COST_DRAIN:
		return 1;
	default:
		return f;
	}
}
