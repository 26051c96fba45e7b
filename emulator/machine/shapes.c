// SPDX-License-Identifier: MIT
/* Checks the dimensions of an instruction's operands and computes its cost from them. */
#include <string.h>

#include "machine/cost.h"
#include "math/resample_axis.h"
#include "machine/sim.h"
#include "onpu/machines.h"

#define DST   ONPU_OPERAND_DST
#define S0    ONPU_OPERAND_S0
#define S1    ONPU_OPERAND_S1
#define S2    ONPU_OPERAND_S2
#define PARAM ONPU_OPERAND_PARAM

static bool dims_equal(const struct sim_tensor *a, const struct sim_tensor *b)
{
	return a->rank == b->rank && !memcmp(a->dim, b->dim, sizeof(a->dim));
}

/* Returns the first source whose dimensions differ from the destination's, or -1. */
static int elementwise(const struct sim_work *w)
{
	for (int i = S0; i <= S2; i++) {
		if (w->t[i].present && !dims_equal(&w->t[DST], &w->t[i]))
			return i;
	}
	return -1;
}

/* Returns whether scales are [kb, n], or [2, kb, n] with zero points, and kb divides k. */
static bool shape_scales(const struct sim_tensor *z, uint32_t k, uint32_t n)
{
	unsigned int last = z->rank - 1;

	if (z->rank < 2 || z->rank > 3 || (z->rank == 3 && z->dim[0] != 2))
		return false;
	return z->dim[last] == n && !(k % z->dim[last - 1]);
}

/* Checks DST [L, n], S0 [L, k] and S1 [L, k, n]; returns the operand at fault, or -1. */
static int shape_mma(const struct sim_work *w)
{
	const struct sim_tensor *d = &w->t[DST], *a = &w->t[S0], *b = &w->t[S1], *z = &w->t[S2];
	unsigned int r = d->rank;

	if (r < 1 || r >= ONPU_MAX_RANK)
		return DST;
	if (a->rank != r || memcmp(a->dim, d->dim, (r - 1) * sizeof(a->dim[0])))
		return S0;
	if (b->rank != r + 1 || memcmp(b->dim, d->dim, (r - 1) * sizeof(b->dim[0])) ||
	    b->dim[r - 1] != a->dim[r - 1] || b->dim[r] != d->dim[r - 1])
		return S1;
	if (z->present && w->insn.op == ONPU_OP_MMA_W)
		return shape_scales(z, a->dim[r - 1], d->dim[r - 1]) ? -1 : S2;
	if (z->present && (z->rank != 1 || z->dim[0] != d->dim[r - 1]))
		return S2;
	if (sim_taps_move(w) &&
	    (!w->insn.acc || (w->insn.op != ONPU_OP_MMA_I8 && d->dtype != ONPU_DT_F32)))
		return PARAM;
	return -1;
}

/*
 * Checks that DST has the dimensions of S0 with 1 in place of the reduced ones, followed by the
 * lanes if @part is 1. Returns the operand at fault, or -1.
 */
static int shape_reduce_whole(const struct sim_work *w, unsigned int part)
{
	const struct sim_tensor *d = &w->t[DST], *s = &w->t[S0];
	unsigned int q = s->rank;

	if (w->insn.axes >> q)
		return S0;
	if (d->rank != q + part || (part && (q >= ONPU_MAX_RANK || d->dim[q] != ONPU_REDUCE_LANES)))
		return DST;
	for (unsigned int i = 0; i < q; i++) {
		if (d->dim[i] != (w->insn.axes >> i & 1 ? 1 : s->dim[i]))
			return DST;
	}
	return -1;
}

/*
 * Checks that S0 has the dimensions of DST followed by the lanes, and size 1 along the axes that
 * are reduced. Returns the operand at fault, or -1.
 */
static int shape_reduce_lanes(const struct sim_work *w)
{
	const struct sim_tensor *d = &w->t[DST], *s = &w->t[S0];
	unsigned int q = s->rank - 1;

	if (!s->rank || s->dim[q] != ONPU_REDUCE_LANES || w->insn.axes >> q)
		return S0;
	for (unsigned int i = 0; i < q; i++) {
		if ((w->insn.axes >> i & 1) && s->dim[i] != 1)
			return S0;
	}
	return d->rank != q || memcmp(d->dim, s->dim, q * sizeof(d->dim[0])) ? DST : -1;
}

/*
 * Checks that operand @reduced has the dimensions of S0, with 1 in place of the axis. Returns -1,
 * or the operand whose shape is wrong.
 */
static int shape_axis(const struct sim_work *w, unsigned int reduced)
{
	const struct sim_tensor *r = &w->t[reduced], *s = &w->t[S0];
	unsigned int axis = w->insn.axis;

	if (axis >= s->rank)
		return S0;
	if (r->rank != s->rank)
		return reduced;
	for (unsigned int i = 0; i < s->rank; i++) {
		if (r->dim[i] != (i == axis ? 1 : s->dim[i]))
			return reduced;
	}
	return -1;
}

static int shape_scan(const struct sim_work *w)
{
	if (w->insn.axis >= w->t[S0].rank)
		return S0;
	if (!dims_equal(&w->t[DST], &w->t[S0]))
		return DST;
	return w->t[S1].present ? shape_axis(w, S1) : -1;
}

static int shape_resample(const struct sim_work *w)
{
	const struct onpu_slot_param_resample *p = &w->param.resample;
	const struct sim_tensor *d = &w->t[DST], *s = &w->t[S0];

	if (p->axis0 >= d->rank || p->axis1 >= d->rank || p->axis0 == p->axis1)
		return PARAM;
	if (s->rank != d->rank)
		return S0;
	for (unsigned int i = 0; i < d->rank; i++) {
		if (i != p->axis0 && i != p->axis1 && s->dim[i] != d->dim[i])
			return S0;
	}
	for (unsigned int i = 0; i < 2; i++) {
		unsigned int axis = i ? p->axis1 : p->axis0;

		if ((uint64_t)p->in_base[i] + s->dim[axis] > p->in_size[i] ||
		    (uint64_t)p->out_base[i] + d->dim[axis] > p->out_size[i])
			return PARAM;
	}
	return -1;
}

static int shape_pad(const struct sim_work *w)
{
	const struct onpu_slot_param_pad *p = &w->param.pad;
	const struct sim_tensor *d = &w->t[DST], *s = &w->t[S0];

	if (s->rank != d->rank)
		return S0;
	for (unsigned int i = 0; i < d->rank; i++) {
		uint64_t lo = p->lo[i], hi;
		/* The most elements that one reflection reaches. */
		uint64_t reach = p->mode == ONPU_PAD_REFLECTION ? s->dim[i] - 1 : s->dim[i];

		if (lo + s->dim[i] > d->dim[i])
			return PARAM;
		hi = d->dim[i] - s->dim[i] - lo;
		if (p->mode >= ONPU_PAD_REFLECTION && (lo > reach || hi > reach))
			return PARAM;
	}
	return -1;
}

static int shape_gather_axis(const struct sim_work *w)
{
	const struct sim_tensor *d = &w->t[DST], *s = &w->t[S0], *x = &w->t[S1];
	unsigned int axis = w->param.index.axis;

	if (axis >= s->rank)
		return PARAM;
	if (d->rank != s->rank + x->rank - 1)
		return DST;
	for (unsigned int i = 0; i < d->rank; i++) {
		uint32_t want = i < axis	   ? s->dim[i] :
				i < axis + x->rank ? x->dim[i - axis] :
						     s->dim[i - x->rank + 1];

		if (d->dim[i] != want)
			return DST;
	}
	return -1;
}

/* Returns whether the dimensions are equal, except the one at @axis. */
static bool equal_but(const struct sim_tensor *a, const struct sim_tensor *b, unsigned int axis)
{
	if (a->rank != b->rank)
		return false;
	for (unsigned int i = 0; i < a->rank; i++) {
		if (i != axis && a->dim[i] != b->dim[i])
			return false;
	}
	return true;
}

static int shape_gather_elem(const struct sim_work *w)
{
	unsigned int axis = w->param.index.axis;

	if (axis >= w->t[S0].rank)
		return PARAM;
	if (!equal_but(&w->t[S1], &w->t[S0], axis))
		return S1;
	return dims_equal(&w->t[DST], &w->t[S1]) ? -1 : DST;
}

static int shape_scatter_elem(const struct sim_work *w)
{
	unsigned int axis = w->param.index.axis;

	if (axis >= w->t[DST].rank)
		return PARAM;
	if (!equal_but(&w->t[S0], &w->t[DST], axis))
		return S0;
	return dims_equal(&w->t[S1], &w->t[S0]) ? -1 : S1;
}

/*
 * Checks that operand @part has the dimensions of S1 without the last one, and then those of
 * operand @full that are neither batch nor indexed. Returns the operand at fault, or -1.
 */
static int shape_nd(const struct sim_work *w, unsigned int full, unsigned int part)
{
	const struct sim_tensor *f = &w->t[full], *p = &w->t[part], *x = &w->t[S1];
	unsigned int batch = w->param.index.batch_dims, lead, skip;

	if (x->rank < batch + 1)
		return S1;
	lead = x->rank - 1;
	if (batch > f->rank || x->dim[lead] > f->rank - batch ||
	    memcmp(x->dim, f->dim, batch * sizeof(x->dim[0])))
		return S1;
	skip = batch + x->dim[lead];
	if (p->rank != lead + f->rank - skip)
		return part;
	for (unsigned int i = 0; i < p->rank; i++) {
		if (p->dim[i] != (i < lead ? x->dim[i] : f->dim[i - lead + skip]))
			return part;
	}
	return -1;
}

int sim_check_shape(const struct sim_work *w)
{
	const struct sim_tensor *d = &w->t[DST];

	switch (w->insn.op) {
	case ONPU_OP_TIMESTAMP:
		return d->rank != 1 || d->dim[0] != 1 + ONPU_ENG_COUNT ? DST : -1;
	case ONPU_OP_DMA_PAD:
		return shape_pad(w);
	case ONPU_OP_DMA_GATHER_AXIS:
		return shape_gather_axis(w);
	case ONPU_OP_DMA_GATHER_ELEM:
		return shape_gather_elem(w);
	case ONPU_OP_DMA_GATHER_ND:
		return shape_nd(w, S0, DST);
	case ONPU_OP_DMA_SCATTER_ELEM:
		return shape_scatter_elem(w);
	case ONPU_OP_DMA_SCATTER_ND:
		return shape_nd(w, DST, S0);
	case ONPU_OP_RARGMAX:
	case ONPU_OP_RARGMIN:
		return shape_axis(w, DST);
	case ONPU_OP_TRI:
		return d->rank < 2 ? DST : elementwise(w);
	default:
		break;
	}
	switch (w->info->cost) {
	case ONPU_COST_MMA:
		return shape_mma(w);
	case ONPU_COST_REDUCE:
		return w->insn.lanes ? shape_reduce_lanes(w) : shape_reduce_whole(w, w->insn.part);
	case ONPU_COST_SCAN:
		return shape_scan(w);
	default:
		return w->info->schema == ONPU_SCHEMA_RESAMPLE ? shape_resample(w) : elementwise(w);
	}
}

bool sim_resample_inside(const struct sim_work *w)
{
	const struct onpu_slot_param_resample *p = &w->param.resample;
	bool linear = w->insn.op == ONPU_OP_RESAMPLE_LINEAR;

	for (unsigned int i = 0; i < 2; i++) {
		unsigned int axis = i ? p->axis1 : p->axis0;
		struct sim_resample_axis r = { p->in_size[i], p->out_size[i] };
		uint32_t last = p->out_base[i] + w->t[DST].dim[axis] - 1;
		uint32_t low = linear ? sim_resample_linear(&r, p->out_base[i]).i0 :
					sim_resample_nearest(&r, p->out_base[i]);
		uint32_t high = linear ? sim_resample_linear(&r, last).i1 :
					 sim_resample_nearest(&r, last);

		/* Source indices never decrease, so checking the first and the last is enough. */
		if (low < p->in_base[i] || high - p->in_base[i] >= w->t[S0].dim[axis])
			return false;
	}
	return true;
}

/* ---- Cost ---- */

static uint64_t elements(const struct sim_tensor *t)
{
	uint64_t n = 1;

	for (unsigned int i = 0; i < t->rank; i++)
		n = cost_mul(n, t->dim[i]);
	return n;
}

/*
 * Returns how many bytes of lanes an element occupies: as many as its widest operand has, and at
 * least a whole lane where the machine cannot divide lanes, in vector instructions with a factor
 * above 1, and where reductions, scans and windows accumulate floats.
 */
static unsigned int lane_bytes(const struct sim_work *w, const struct onpu_sim_config *config,
			       unsigned int factor)
{
	bool whole = w->info->cost == ONPU_COST_VECTOR ? factor > 1 : sim_is_float(w->t[S0].dtype);
	unsigned int bytes = whole || !(config->features & ONPU_CAP_FEATURES_PACKING__MASK) ? 4 : 1;

	for (unsigned int i = 0; i < PARAM; i++) {
		if (w->t[i].present && w->t[i].esize > bytes)
			bytes = w->t[i].esize;
	}
	return bytes;
}

static uint64_t taps_of(const struct sim_work *w)
{
	uint64_t taps = 1;

	for (unsigned int i = 0; w->has_param && i < ONPU_TAPS_LOOPS; i++)
		taps = cost_mul(taps, w->param.taps.loop[i].count);
	return taps;
}

static uint64_t mma_cost(const struct sim_work *w, const struct onpu_sim_config *config,
			 unsigned int factor)
{
	const struct sim_tensor *d = &w->t[DST], *b = &w->t[S1];
	unsigned int last = d->rank - 1;
	uint64_t batch = 1, m = 1, taps = taps_of(w);
	unsigned int forms = (config->features & ONPU_CAP_FEATURES_MXU_FORMS__MASK) >>
			     ONPU_CAP_FEATURES_MXU_FORMS__SHIFT;

	for (unsigned int i = 0; i < last; i++) {
		uint64_t *n = b->stride[i] ? &batch : &m;

		*n = cost_mul(*n, d->dim[i]);
	}
	/* When taps move the destination, each tap is a product of its own. */
	if (sim_taps_move(w)) {
		batch = cost_mul(batch, taps);
		taps = 1;
	}
	return cost_mma(batch, m, d->dim[last], w->t[S0].dim[last], taps, config->mxu_rows,
			config->mxu_cols, forms, factor);
}

/*
 * Returns the cost of the runs of two views over @rank dimensions, each run dense in both. Merging
 * neighbours that are not dense changes neither number nor length of runs, so only the dense ones
 * count here.
 */
static uint64_t run_cost(unsigned int rank, unsigned int esize, const uint32_t *dim,
			 const int64_t *a, const int64_t *b, uint32_t bytes_per_cycle)
{
	uint64_t runs = 1, bytes = esize;
	bool dense = true;

	for (unsigned int i = rank; i-- > 0;) {
		if (dim[i] == 1)
			continue;
		dense = dense && (uint64_t)a[i] == bytes && (uint64_t)b[i] == bytes;
		if (dense)
			bytes = cost_mul(bytes, dim[i]);
		else
			runs = cost_mul(runs, dim[i]);
	}
	return cost_dma(runs, bytes, bytes_per_cycle, 0);
}

/* Returns the cost of reading the indices and of a copy for each slice that they select. */
static uint64_t gather_cost(const struct sim_work *w, const struct onpu_sim_config *config)
{
	const struct sim_tensor *d = &w->t[DST], *s = &w->t[S0], *x = &w->t[S1];
	uint32_t per_cycle = config->dma_bytes_per_cycle;
	uint64_t slices = elements(x), index_bytes = cost_mul(slices, x->esize);
	const struct onpu_slot_param_index *p = &w->param.index;
	unsigned int rank = 0;
	uint64_t each = 1;

	if (w->insn.op == ONPU_OP_DMA_GATHER_AXIS) {
		rank = s->rank - p->axis - 1;
		for (unsigned int i = 0; i < p->axis; i++)
			slices = cost_mul(slices, s->dim[i]);
	} else if (w->insn.op == ONPU_OP_DMA_GATHER_ND || w->insn.op == ONPU_OP_DMA_SCATTER_ND) {
		const struct sim_tensor *full = w->insn.op == ONPU_OP_DMA_GATHER_ND ? s : d;
		uint32_t coordinates = x->dim[x->rank - 1];

		rank = full->rank - p->batch_dims - coordinates;
		slices /= coordinates;
	}
	if (rank)
		each = run_cost(rank, d->esize, d->dim + d->rank - rank, d->stride + d->rank - rank,
				s->stride + s->rank - rank, per_cycle);
	return cost_add(cost_dma(1, index_bytes, per_cycle, w->info->factor),
			cost_mul(slices, each));
}

static uint64_t dma_cost(const struct sim_work *w, const struct onpu_sim_config *config)
{
	const struct sim_tensor *d = &w->t[DST];
	const struct sim_tensor *s = w->insn.op == ONPU_OP_DMA_COPY ? &w->t[S0] : d;

	return cost_add(w->info->factor, run_cost(d->rank, d->esize, d->dim, d->stride, s->stride,
						  config->dma_bytes_per_cycle));
}

uint64_t sim_cost(const struct sim_work *w, const struct onpu_sim_config *config)
{
	unsigned int factor = onpu_machine_factors(config->features)[w->insn.op];
	unsigned int bytes = lane_bytes(w, config, factor);
	uint64_t n = elements(&w->t[DST]);

	switch (w->info->cost) {
	case ONPU_COST_DMA:
		return dma_cost(w, config);
	case ONPU_COST_GATHER:
		return gather_cost(w, config);
	case ONPU_COST_MMA:
		return mma_cost(w, config, factor);
	case ONPU_COST_VECTOR:
	case ONPU_COST_SCAN:
		return cost_vector(n, bytes, config->lanes, factor);
	case ONPU_COST_REDUCE:
		return cost_reduce(elements(&w->t[S0]), n, bytes, config->lanes, factor);
	case ONPU_COST_WINDOW:
		return cost_vector(n, bytes, config->lanes, taps_of(w));
	default:
		return factor;
	}
}
