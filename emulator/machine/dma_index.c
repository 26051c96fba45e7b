// SPDX-License-Identifier: MIT
/* Gathers and scatters: copies of slices whose positions come from an index tensor. */
#include <string.h>

#include "machine/dma.h"

#define DST ONPU_OPERAND_DST
#define S0  ONPU_OPERAND_S0
#define S1  ONPU_OPERAND_S1

struct gather {
	struct sim_context *c;
	const struct sim_work *w;
	struct dma_copy slice;
	unsigned int full; /* the operand that is indexed: S0 of a gather, DST of a scatter */
	unsigned int part; /* the other operand, which has only the indexed elements */
};

/*
 * Gets the index number @n of S1 (row-major, at @address), and applies it to a dimension of @size
 * elements. Returns false after a fault, when the index is out of range or cannot be read.
 */
static bool index_value(const struct gather *g, uint64_t address, uint64_t n, uint32_t size,
			uint32_t *value)
{
	const struct sim_tensor *x = &g->w->t[S1];
	int64_t v = 0, limit = size;
	uint64_t raw = 0;

	if (x->space == ONPU_SPACE_SRAM)
		memcpy(&raw, sim_at(g->c, (int64_t)address), x->esize);
	else if (!sim_read(g->c, S1, address, &raw, x->esize))
		return false;
	v = x->dtype == ONPU_DT_I32 ? (int32_t)(uint32_t)raw : (int64_t)raw;
	if (g->w->insn.clamp)
		v = v < -limit ? -limit : v > limit - 1 ? limit - 1 : v;
	if (g->w->insn.neg && v < 0)
		v += limit;
	if (v < 0 || v >= limit)
		return sim_fail(g->c, ONPU_FAULT_INDEX_RANGE, S1, n);
	*value = (uint32_t)v;
	return true;
}

static bool copy_slice(const struct gather *g, uint64_t full, uint64_t part)
{
	return g->full == S0 ? dma_copy_run(&g->slice, part, full) :
			       dma_copy_run(&g->slice, full, part);
}

/* Sets up the copy of a slice: the last @rank dimensions of both operands. */
static void slice_init(struct gather *g, unsigned int rank)
{
	struct sim_tensor t[2];

	for (unsigned int i = 0; i < 2; i++) {
		unsigned int skip = g->w->t[i].rank - rank;

		t[i] = g->w->t[i];
		t[i].rank = rank;
		memmove(t[i].dim, t[i].dim + skip, rank * sizeof(t[i].dim[0]));
		memmove(t[i].stride, t[i].stride + skip, rank * sizeof(t[i].stride[0]));
	}
	dma_copy_init(&g->slice, g->c, &t[DST], &t[S0]);
}

/* A row-major counter over some dimensions that keeps an address in each of three views. */
struct counter {
	unsigned int rank;
	uint32_t dim[ONPU_MAX_RANK], at[ONPU_MAX_RANK];
	int64_t stride[3][ONPU_MAX_RANK];
	uint64_t address[3];
};

static void counter_dim(struct counter *n, uint32_t dim, int64_t a, int64_t b, int64_t c)
{
	n->dim[n->rank] = dim;
	n->at[n->rank] = 0;
	n->stride[0][n->rank] = a;
	n->stride[1][n->rank] = b;
	n->stride[2][n->rank++] = c;
}

static bool counter_next(struct counter *n)
{
	for (unsigned int d = n->rank; d-- > 0;) {
		bool wrap = ++n->at[d] == n->dim[d];

		for (unsigned int i = 0; i < 3; i++)
			n->address[i] +=
				(uint64_t)n->stride[i][d] * (wrap ? 1 - (uint64_t)n->dim[d] : 1);
		if (!wrap)
			return true;
		n->at[d] = 0;
	}
	return false;
}

/*
 * Executes dma.gather.axis: DST has the dimensions [outer, indices, slice] and S0 has [outer, axis,
 * slice]. Returns false when the job is given up or an index or an access faults.
 */
static bool gather_axis(struct gather *g)
{
	const struct sim_tensor *d = &g->w->t[DST], *s = &g->w->t[S0], *x = &g->w->t[S1];
	unsigned int axis = g->w->param.index.axis;
	struct counter n = { .address = { d->start, s->start, x->start } };
	uint64_t count = sim_elements(x), i = 0;
	uint32_t v;

	slice_init(g, s->rank - axis - 1);
	for (unsigned int k = 0; k < axis; k++)
		counter_dim(&n, s->dim[k], d->stride[k], s->stride[k], 0);
	for (unsigned int k = 0; k < x->rank; k++)
		counter_dim(&n, x->dim[k], d->stride[axis + k], 0, x->stride[k]);
	do {
		if (!index_value(g, n.address[2], i % count, s->dim[axis], &v) ||
		    !copy_slice(g, n.address[1] + (uint64_t)s->stride[axis] * v, n.address[0]))
			return false;
		i++;
	} while (counter_next(&n));
	return true;
}

/*
 * Executes dma.gather.elem and dma.scatter.elem, which move one element for each index. The
 * element's coordinates in the indexed operand are those of the index in S1, but along the axis the
 * value of the index. Returns false when the job is given up or an index or an access faults.
 */
static bool gather_elem(struct gather *g)
{
	const struct sim_tensor *f = &g->w->t[g->full], *p = &g->w->t[g->part];
	const struct sim_tensor *x = &g->w->t[S1];
	unsigned int axis = g->w->param.index.axis;
	struct counter n = { .address = { p->start, f->start, x->start } };
	uint64_t i = 0;
	uint32_t v;

	slice_init(g, 0);
	for (unsigned int k = 0; k < x->rank; k++)
		counter_dim(&n, x->dim[k], p->stride[k], k == axis ? 0 : f->stride[k],
			    x->stride[k]);
	do {
		if (!index_value(g, n.address[2], i++, f->dim[axis], &v) ||
		    !copy_slice(g, n.address[1] + (uint64_t)f->stride[axis] * v, n.address[0]))
			return false;
	} while (counter_next(&n));
	return true;
}

/*
 * Executes dma.gather.nd and dma.scatter.nd: the last dimension of the indices holds tuples of
 * coordinates. Returns false when the job is given up or an index or an access faults.
 */
static bool gather_nd(struct gather *g)
{
	const struct sim_tensor *f = &g->w->t[g->full], *p = &g->w->t[g->part];
	const struct sim_tensor *x = &g->w->t[S1];
	unsigned int batch = g->w->param.index.batch_dims, lead = x->rank - 1;
	uint32_t coordinates = x->dim[lead], v;
	struct counter n = { .address = { p->start, f->start, x->start } };
	uint64_t i = 0;

	slice_init(g, f->rank - batch - coordinates);
	for (unsigned int k = 0; k < lead; k++)
		counter_dim(&n, x->dim[k], p->stride[k], k < batch ? f->stride[k] : 0,
			    x->stride[k]);
	do {
		uint64_t full = n.address[1];

		for (uint32_t e = 0; e < coordinates; e++) {
			if (!index_value(g, n.address[2] + (uint64_t)x->stride[lead] * e, i++,
					 f->dim[batch + e], &v))
				return false;
			full += (uint64_t)f->stride[batch + e] * v;
		}
		if (!copy_slice(g, full, n.address[0]))
			return false;
	} while (counter_next(&n));
	return true;
}

bool sim_gather(struct sim_context *c, const struct sim_work *w)
{
	bool scatter = w->insn.op == ONPU_OP_DMA_SCATTER_ELEM ||
		       w->insn.op == ONPU_OP_DMA_SCATTER_ND;
	struct gather g = { .c = c, .w = w };

	g.full = scatter ? DST : S0;
	g.part = scatter ? S0 : DST;
	dma_count(c, NULL, &w->t[S1], sim_elements(&w->t[S1]));
	dma_count(c, &w->t[DST], &w->t[S0], sim_elements(&w->t[g.part]));
	switch (w->insn.op) {
	case ONPU_OP_DMA_GATHER_AXIS:
		return gather_axis(&g);
	case ONPU_OP_DMA_GATHER_ELEM:
	case ONPU_OP_DMA_SCATTER_ELEM:
		return gather_elem(&g);
	default:
		return gather_nd(&g);
	}
}
