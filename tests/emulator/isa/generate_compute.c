// SPDX-License-Identifier: MIT
/* Makes random operands of the matrix and vector instructions: see generate.h. */
#include "generate.h"

#include <string.h>

#include "reference.h"

static unsigned int any_style(struct gen *g)
{
	return (unsigned int)rng_below(&g->random, FILL_STYLES);
}

static void gen_tri(struct gen *g, const uint32_t *dims, unsigned int rank)
{
	struct onpu_slot_param_tri *p = &g->slot[ONPU_OPERAND_PARAM].tri;
	int64_t reach = dims[rank - 1] > dims[rank - 2] ? dims[rank - 1] : dims[rank - 2];

	memset(p, 0, sizeof(*p));
	p->kind = ONPU_SLOT_PARAM;
	p->schema = ONPU_SCHEMA_TRI;
	p->flags = (uint8_t)rng_below(&g->random, 2);
	p->diagonal = rng_between(&g->random, -reach - 1, reach + 1);
	if (rng_chance(&g->random, 5))
		p->diagonal = rng_chance(&g->random, 50) ? INT64_MIN : INT64_MAX;
}

void generate_elementwise(struct gen *g)
{
	unsigned int rank = gen_rank(g, g->info->schema == ONPU_SCHEMA_TRI ? 2 : 0, 8);
	uint32_t dims[ONPU_MAX_RANK];
	unsigned int style = any_style(g);

	gen_dims(g, rank, g->budget, dims);
	gen_written(g, 0, rank, dims);
	for (unsigned int x = 1; x < 4; x++) {
		if (!g->has[x])
			continue;
		gen_source(g, x, rank, dims, STRIDES_RANDOM);
		/* Operands of similar magnitude give interesting results more often. */
		if (rng_chance(&g->random, 70))
			gen_fill(g, x, style);
	}
	if (g->insn.op == ONPU_OP_VWHERE && rng_chance(&g->random, 60))
		for (uint64_t i = 0; !g->failed && i < g->slot[1].tensor.size; i++)
			g->job->sram[g->slot[1].tensor.base + i] &= 1;
	if (g->info->schema == ONPU_SCHEMA_SCALAR)
		gen_scalar(g, g->dtype[1]);
	else if (g->info->schema == ONPU_SCHEMA_TRI)
		gen_tri(g, dims, rank);
}

/*
 * Returns a random size of a matrix product: at most 4 in half of the cases, else at most 90 or
 * @budget, whichever is less, but at least 1.
 */
static uint32_t extent(struct gen *g, uint64_t budget)
{
	uint64_t most = rng_chance(&g->random, 50) ? 4 : budget > 90 ? 90 : budget;

	return (uint32_t)rng_between(&g->random, 1, (int64_t)(most ? most : 1));
}

/* Draws scales [kb, n] or [2, kb, n]; kb is a divisor of k. */
static void gen_scales(struct gen *g, uint32_t k, uint32_t n, unsigned int style)
{
	uint32_t kb = (uint32_t)rng_between(&g->random, 1, k), zeros = rng_below(&g->random, 2);
	uint32_t dims[ONPU_MAX_RANK] = { 2 };

	while (k % kb)
		kb--;
	dims[zeros] = kb;
	dims[zeros + 1] = n;
	gen_source(g, 3, 2 + zeros, dims, STRIDES_RANDOM);
	gen_fill(g, 3, style);
}

void generate_mma(struct gen *g)
{
	unsigned int r = gen_rank(g, 1, rng_chance(&g->random, 50) ? 3 : 7);
	uint64_t budget = g->job->size == RIG_LARGE ? 9000 : g->budget;
	bool moving = g->has[ONPU_OPERAND_PARAM] && rng_chance(&g->random, 35);
	uint32_t dims[ONPU_MAX_RANK], n = extent(g, budget), k = extent(g, budget);
	unsigned int style = rng_chance(&g->random, 60) ? FILL_PLAIN : any_style(g);
	unsigned int zero = rng_chance(&g->random, 60) ? 0xff : (unsigned int)rng_bits(&g->random);
	uint32_t column[ONPU_MAX_RANK] = { 0 };

	if (g->job->size == RIG_LARGE) {
		r = gen_rank(g, 2, 3);
		n = (uint32_t)rng_between(&g->random, 17, 110);
		k = (uint32_t)rng_between(&g->random, 17, 110);
	}
	g->insn.acc = moving || rng_chance(&g->random, 40);
	if (g->insn.op == ONPU_OP_MMA_F32)
		g->insn.piece = (uint8_t)rng_between(&g->random, 0, 3);
	if (moving && g->insn.op != ONPU_OP_MMA_I8)
		g->dtype[0] = ONPU_DT_F32;
	if (g->has[ONPU_OPERAND_PARAM])
		gen_taps(g, g->job->size == RIG_LARGE ? 2 : 9, moving);
	gen_dims(g, r - 1, budget / n + 1, dims);
	dims[r - 1] = n;
	gen_written(g, 0, r, dims);
	gen_fill(g, 0, style);
	dims[r - 1] = k;
	gen_source(g, 1, r, dims, 0);
	gen_fill(g, 1, style);
	dims[r] = n;
	gen_source(g, 2, r + 1, dims, zero & ((1u << (r - 1)) - 1));
	gen_fill(g, 2, style);
	column[0] = n;
	if (g->has[3] && g->insn.op == ONPU_OP_MMA_W)
		gen_scales(g, k, n, style);
	else if (g->has[3])
		gen_source(g, 3, 1, column, STRIDES_RANDOM);
	if (g->insn.op == ONPU_OP_MMA_I8 && g->has[ONPU_OPERAND_PARAM]) {
		g->slot[ONPU_OPERAND_PARAM].taps.zero_a = (int32_t)gen_bits(g, ONPU_DT_I32, style);
		g->slot[ONPU_OPERAND_PARAM].taps.zero_b = (int32_t)gen_bits(g, ONPU_DT_I32, style);
	}
}

void generate_window(struct gen *g)
{
	unsigned int rank = gen_rank(g, 0, 8), style = any_style(g);
	uint32_t dims[ONPU_MAX_RANK];

	g->insn.acc = rng_chance(&g->random, 40);
	gen_taps(g, 12, false);
	gen_dims(g, rank, g->budget, dims);
	gen_written(g, 0, rank, dims);
	gen_fill(g, 0, style);
	gen_source(g, 1, rank, dims, STRIDES_RANDOM);
	gen_fill(g, 1, style);
	if (g->has[2]) {
		gen_source(g, 2, rank, dims, STRIDES_RANDOM);
		gen_fill(g, 2, style);
	}
}

static void generate_lanes(struct gen *g)
{
	unsigned int q = gen_rank(g, 0, 7);
	uint32_t dims[ONPU_MAX_RANK];

	g->insn.lanes = 1;
	g->dtype[1] = ref_is_float(g->dtype[0]) ? ONPU_DT_F32 : g->dtype[0];
	gen_dims(g, q, g->budget / ONPU_REDUCE_LANES + 1, dims);
	for (unsigned int d = 0; d < q; d++)
		if (dims[d] == 1 && rng_chance(&g->random, 50))
			g->insn.axes |= (uint8_t)(1u << d);
	gen_written(g, 0, q, dims);
	dims[q] = ONPU_REDUCE_LANES;
	gen_source(g, 1, q + 1, dims, STRIDES_RANDOM);
}

void generate_reduce(struct gen *g)
{
	unsigned int form = (unsigned int)rng_below(&g->random, 5);
	unsigned int rank = gen_rank(g, 0, form > 1 ? 7 : 8), style = any_style(g);
	uint32_t dims[ONPU_MAX_RANK], reduced[ONPU_MAX_RANK];

	if (form == 4) {
		generate_lanes(g);
		return;
	}
	g->insn.part = form > 1;
	g->insn.acc = form == 3;
	if (g->insn.part)
		g->dtype[0] = ref_is_float(g->dtype[1]) ? ONPU_DT_F32 : g->dtype[1];
	gen_dims(g, rank, g->budget, dims);
	g->insn.axes = (uint8_t)rng_below(&g->random, 1u << rank);
	memcpy(reduced, dims, sizeof(reduced));
	for (unsigned int d = 0; d < rank; d++)
		if (g->insn.axes >> d & 1)
			reduced[d] = 1;
	if (g->insn.part)
		reduced[rank] = ONPU_REDUCE_LANES;
	gen_written(g, 0, rank + g->insn.part, reduced);
	gen_fill(g, 0, style);
	gen_source(g, 1, rank, dims, STRIDES_RANDOM);
	gen_fill(g, 1, style);
}

void generate_argreduce(struct gen *g)
{
	unsigned int rank = gen_rank(g, 1, 8);
	uint32_t dims[ONPU_MAX_RANK];

	gen_dims(g, rank, g->budget, dims);
	g->insn.axis = (uint8_t)rng_below(&g->random, rank);
	g->insn.last = rng_chance(&g->random, 50);
	gen_source(g, 1, rank, dims, STRIDES_RANDOM);
	dims[g->insn.axis] = 1;
	gen_written(g, 0, rank, dims);
	if (g->has[ONPU_OPERAND_PARAM])
		gen_scalar(g, g->dtype[1]);
}

void generate_scan(struct gen *g)
{
	unsigned int rank = gen_rank(g, 1, 8), style = any_style(g);
	uint32_t dims[ONPU_MAX_RANK];

	gen_dims(g, rank, g->budget, dims);
	g->insn.axis = (uint8_t)rng_below(&g->random, rank);
	g->insn.excl = rng_chance(&g->random, 50);
	g->insn.rev = rng_chance(&g->random, 50);
	g->dtype[2] = ref_is_float(g->dtype[1]) ? ONPU_DT_F32 : g->dtype[1];
	gen_written(g, 0, rank, dims);
	gen_source(g, 1, rank, dims, STRIDES_RANDOM);
	gen_fill(g, 1, style);
	dims[g->insn.axis] = 1;
	if (g->has[2]) {
		gen_written(g, 2, rank, dims);
		gen_fill(g, 2, style);
	}
}

/*
 * Draws the full sizes of one axis of a resampling, and the tile of it that the instruction
 * computes. S0 has the elements that the tile needs, and sometimes a few more.
 */
static void resample_axis(struct gen *g, unsigned int e, uint32_t out, uint32_t *in)
{
	struct onpu_slot_param_resample *p = &g->slot[ONPU_OPERAND_PARAM].resample;
	bool huge = rng_chance(&g->random, 10);
	uint64_t in_size = (uint64_t)rng_between(&g->random, 1, huge ? 1 << 30 : 60);
	uint64_t room = (uint64_t)rng_between(&g->random, 0, huge ? (1 << 30) - out : 20);
	uint64_t out_size = out + room, base = rng_below(&g->random, room + 1), low, high;

	low = (2 * base + 1) * in_size / (2 * out_size);
	high = (2 * (base + out) - 1) * in_size / (2 * out_size) + 2;
	low = low < 2 ? 0 : low - 2;
	low -= rng_below(&g->random, low < 3 ? low + 1 : 3);
	high = high > in_size ? in_size : high;
	if (high - low > 3000) { /* the tile needs too much of S0 */
		g->failed = true;
		high = low + 1;
	}
	p->in_size[e] = (uint32_t)in_size;
	p->out_size[e] = (uint32_t)out_size;
	p->in_base[e] = (uint32_t)low;
	p->out_base[e] = (uint32_t)base;
	*in = (uint32_t)(high - low);
}

void generate_resample(struct gen *g)
{
	struct onpu_slot_param_resample *p = &g->slot[ONPU_OPERAND_PARAM].resample;
	unsigned int rank = gen_rank(g, 2, 8);
	uint32_t dims[ONPU_MAX_RANK];

	memset(p, 0, sizeof(*p));
	p->kind = ONPU_SLOT_PARAM;
	p->schema = ONPU_SCHEMA_RESAMPLE;
	p->axis0 = (uint8_t)rng_below(&g->random, rank);
	p->axis1 = (uint8_t)((p->axis0 + 1 + rng_below(&g->random, rank - 1)) % rank);
	gen_dims(g, rank, g->budget / 4 + 1, dims);
	gen_written(g, 0, rank, dims);
	resample_axis(g, 0, dims[p->axis0], &dims[p->axis0]);
	resample_axis(g, 1, dims[p->axis1], &dims[p->axis1]);
	gen_source(g, 1, rank, dims, STRIDES_RANDOM);
}
