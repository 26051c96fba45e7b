// SPDX-License-Identifier: MIT
/* Makes random operands of the DMA instructions: see generate.h. */
#include "generate.h"

#include <string.h>

#include "reference.h"

static void generate_copy(struct gen *g)
{
	unsigned int rank = gen_rank(g, 0, 8);
	uint32_t dims[ONPU_MAX_RANK];

	gen_dims(g, rank, g->budget, dims);
	gen_written(g, 0, rank, dims);
	gen_source(g, 1, rank, dims, STRIDES_RANDOM);
}

static uint64_t element(struct gen *g)
{
	uint64_t bits = gen_bits(g, g->dtype[0], FILL_SPECIAL);
	unsigned int width = ref_bits(g->dtype[0]);

	return width < 64 ? bits & ((1ull << width) - 1) : bits;
}

static void generate_fill(struct gen *g)
{
	struct onpu_slot_param_fill *p = &g->slot[ONPU_OPERAND_PARAM].fill;
	unsigned int rank = gen_rank(g, 0, 8);
	uint32_t dims[ONPU_MAX_RANK];

	gen_dims(g, rank, g->budget, dims);
	gen_written(g, 0, rank, dims);
	memset(p, 0, sizeof(*p));
	p->kind = ONPU_SLOT_PARAM;
	p->schema = ONPU_SCHEMA_FILL;
	p->value = element(g);
}

static void generate_pad(struct gen *g)
{
	struct onpu_slot_param_pad *p = &g->slot[ONPU_OPERAND_PARAM].pad;
	unsigned int rank = gen_rank(g, 0, 8);
	uint32_t dims[ONPU_MAX_RANK], inner[ONPU_MAX_RANK];

	memset(p, 0, sizeof(*p));
	p->kind = ONPU_SLOT_PARAM;
	p->schema = ONPU_SCHEMA_PAD;
	p->mode = (uint8_t)rng_below(&g->random, 4);
	if (p->mode == ONPU_PAD_CONSTANT)
		p->value = element(g);
	gen_dims(g, rank, g->budget, inner);
	memcpy(dims, inner, sizeof(dims));
	for (unsigned int d = 0; d < rank; d++) {
		int64_t most = p->mode == ONPU_PAD_REFLECTION ? (int64_t)inner[d] - 1 :
			       p->mode == ONPU_PAD_SYMMETRIC  ? inner[d] :
								5;

		if (rng_chance(&g->random, 50) || ref_product(dims, rank) > 100000)
			continue;
		most = most > 5 ? 5 : most;
		p->lo[d] = (uint32_t)rng_between(&g->random, 0, most);
		dims[d] += p->lo[d] + (uint32_t)rng_between(&g->random, 0, most);
	}
	gen_written(g, 0, rank, dims);
	gen_source(g, 1, rank, inner, STRIDES_RANDOM);
}

/*
 * Returns a random index for a dimension of @n elements. The index is negative or out of range only
 * if the instruction's flags `neg` and `clamp` make that valid.
 */
static uint64_t random_index(struct gen *g, unsigned int dtype, uint32_t n)
{
	int64_t low = g->insn.neg && dtype != ONPU_DT_U32 ? -(int64_t)n : 0;

	if (g->insn.clamp && rng_chance(&g->random, 30)) {
		int64_t far = (int64_t)gen_bits(g, dtype, FILL_ANY);

		/* Clamping alone does not make a negative index valid. */
		if (!g->insn.neg && dtype != ONPU_DT_U32)
			far &= 0x7fffffff;
		return (uint64_t)far;
	}
	return (uint64_t)rng_between(&g->random, low, (int64_t)n - 1);
}

/*
 * Draws the indices of S1. An index is for a dimension of n[last coordinate] elements; in the axis
 * and elem forms n has one element.
 */
static void fill_indices(struct gen *g, const uint32_t *n, bool tuples)
{
	const struct onpu_slot_tensor *t = &g->slot[2].tensor;
	ref_index i = { 0 };

	if (g->failed)
		return;
	if (t->space == ONPU_SPACE_SRAM)
		memset(g->job->sram + t->base, 0, t->size);
	else
		memset(g->job->memory + (t->base - RIG_BASE), 0, t->size);
	do {
		unsigned int which = tuples ? i[t->rank - 1] : 0;

		gen_set_bits(g, 2, i, random_index(g, t->dtype, n[which]));
	} while (ref_next(t->dim, t->rank, i));
}

static void gen_index_param(struct gen *g, unsigned int axis, unsigned int batch)
{
	struct onpu_slot_param_index *p = &g->slot[ONPU_OPERAND_PARAM].index;

	memset(p, 0, sizeof(*p));
	p->kind = ONPU_SLOT_PARAM;
	p->schema = ONPU_SCHEMA_INDEX;
	p->axis = (uint8_t)axis;
	p->batch_dims = (uint8_t)batch;
	g->insn.neg = rng_chance(&g->random, 50);
	g->insn.clamp = rng_chance(&g->random, 50);
}

/*
 * Places the indices without overlaps. An index that overlaps another one could be for dimensions
 * of different sizes.
 */
static void gen_indices(struct gen *g, unsigned int rank, const uint32_t *dims)
{
	int64_t low = g->taps_low[2];

	gen_written(g, 2, rank, dims);
	g->taps_low[2] = low;
}

static void generate_gather_axis(struct gen *g)
{
	unsigned int rank = gen_rank(g, 1, 8), ranks = gen_rank(g, 0, 8 - (rank - 1));
	unsigned int axis = (unsigned int)rng_below(&g->random, rank);
	uint32_t big[ONPU_MAX_RANK], index[ONPU_MAX_RANK], out[2 * ONPU_MAX_RANK];

	gen_dims(g, rank, g->budget, big);
	gen_dims(g, ranks, g->budget / (ref_product(big, rank) / big[axis]) + 1, index);
	memcpy(out, big, axis * sizeof(*out));
	memcpy(out + axis, index, ranks * sizeof(*out));
	memcpy(out + axis + ranks, big + axis + 1, (rank - axis - 1) * sizeof(*out));
	gen_index_param(g, axis, 0);
	gen_written(g, 0, rank - 1 + ranks, out);
	gen_source(g, 1, rank, big, STRIDES_RANDOM);
	gen_indices(g, ranks, index);
	fill_indices(g, &big[axis], false);
}

static void generate_elem(struct gen *g, bool scatter)
{
	unsigned int rank = gen_rank(g, 1, 8), axis = (unsigned int)rng_below(&g->random, rank);
	uint32_t big[ONPU_MAX_RANK], small[ONPU_MAX_RANK];

	gen_dims(g, rank, g->budget, big);
	memcpy(small, big, sizeof(small));
	small[axis] = (uint32_t)rng_between(&g->random, 1, 6);
	gen_index_param(g, axis, 0);
	gen_written(g, 0, rank, scatter ? big : small);
	gen_source(g, 1, rank, scatter ? small : big, STRIDES_RANDOM);
	gen_indices(g, rank, small);
	fill_indices(g, &big[axis], false);
}

static void generate_nd(struct gen *g, bool scatter)
{
	unsigned int rank = gen_rank(g, 1, 8), b = (unsigned int)rng_below(&g->random, rank);
	unsigned int c = 1 + (unsigned int)rng_below(&g->random, rank - b);
	unsigned int rest = rank - b - c,
		     extra = gen_rank(g, 0, 8 - b - rest < 7 - b ? 8 - b - rest : 7 - b);
	uint32_t big[ONPU_MAX_RANK], index[ONPU_MAX_RANK], small[ONPU_MAX_RANK];
	uint32_t middle[ONPU_MAX_RANK];

	gen_dims(g, rank, g->budget, big);
	gen_dims(g, extra, g->budget / (ref_product(big, b) * ref_product(big + b + c, rest)) + 1,
		 middle);
	memcpy(index, big, b * sizeof(*index));
	memcpy(index + b, middle, extra * sizeof(*index));
	memcpy(small, index, (b + extra) * sizeof(*small));
	index[b + extra] = c;
	memcpy(small + b + extra, big + b + c, rest * sizeof(*small));
	gen_index_param(g, 0, b);
	gen_written(g, 0, scatter ? rank : b + extra + rest, scatter ? big : small);
	gen_source(g, 1, scatter ? b + extra + rest : rank, scatter ? small : big, STRIDES_RANDOM);
	gen_indices(g, b + extra + 1, index);
	fill_indices(g, big + b, true);
}

void generate_dma(struct gen *g)
{
	g->insn.ch = rng_chance(&g->random, 50);
	switch (g->insn.op) {
	case ONPU_OP_DMA_COPY:
		generate_copy(g);
		break;
	case ONPU_OP_DMA_PAD:
		generate_pad(g);
		break;
	case ONPU_OP_DMA_FILL:
		generate_fill(g);
		break;
	case ONPU_OP_DMA_GATHER_AXIS:
		generate_gather_axis(g);
		break;
	case ONPU_OP_DMA_GATHER_ELEM:
		generate_elem(g, false);
		break;
	case ONPU_OP_DMA_SCATTER_ELEM:
		generate_elem(g, true);
		break;
	default:
		generate_nd(g, g->insn.op == ONPU_OP_DMA_SCATTER_ND);
	}
}
