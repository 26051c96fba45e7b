// SPDX-License-Identifier: MIT
/*
 * Emits transposed convolutions by phases. A phase is each `up`-th result of an axis, which is a
 * convolution of the data with each `every`-th tap; it needs no zeros between the data, which a
 * single contraction would multiply. The phases of a block of results are collected in SRAM and
 * stored in long runs; when too few results fit into SRAM for that, each phase stores its results
 * by itself.
 */
#include "plan/kernel/contract.h"

#include <string.h>

#include "util/malloc.h"

/* The least positions of a phase in a block; with fewer, its tiles are too small. */
#define MIN_POSITIONS 16

bool phases_apply(const struct contract *c)
{
	uint64_t phases = (uint64_t)c->up[0] * c->up[1];

	/*
	 * The choice must not depend on the size of the SRAM: a zero between the data gives NaN
	 * with an infinite filter, and phases have no such zeros, so that results would differ.
	 */
	return phases > 1 && phases <= CONTRACT_MAX_PHASES;
}

/*
 * Narrows the contraction to the phase of results at, at + up, ... of an axis. A phase that no tap
 * reaches gets a tap that reads only padding. Phases have one length, so that strided rows do not
 * overlap (#destination in the reference of the instruction set); each of the results that remain
 * at the end is a phase by itself.
 */
static void take_phase(struct contract *c, int axis, int64_t at)
{
	int64_t up = c->up[axis], dilation = c->dilation[axis], every = 1, first = 0;
	int64_t whole = c->dim[CD_H + axis] / up;

	while (every * dilation % up)
		every++;
	while (first < every && (at + first * dilation - c->pad[axis]) % up)
		first++;
	c->dim[CD_H + axis] = at < whole * up ? whole : 1;
	if (first < every && first < c->taps[axis]) {
		c->taps[axis] = (c->taps[axis] - 1 - first) / every + 1;
		c->pad[axis] = (c->pad[axis] - at - first * dilation) / up;
	} else {
		first = 0;
		c->taps[axis] = 1;
		c->pad[axis] = c->dim[CD_H + axis];
	}
	c->dilation[axis] = every * dilation / up;
	c->up[axis] = 1;
	c->out.offset += at * c->out.stride[CD_H + axis];
	c->out.stride[CD_H + axis] *= up;
	c->out.dim[CD_H + axis] = c->dim[CD_H + axis];
	c->b.offset += first * c->b.stride[CB_KH + axis];
	c->b.stride[CB_KH + axis] *= every;
	c->b.dim[CB_KH + axis] = c->taps[axis];
}

/* Returns the first result of the next phase of an axis; the result's extent or more: none. */
static int64_t next_phase(const struct contract *c, int axis, int64_t at)
{
	int64_t up = c->up[axis], whole = c->dim[CD_H + axis] / up * up;

	return at + 1 == up && whole ? whole : at + 1;
}

/* Returns an upper bound of the number of phases, including those of the results at the end. */
static size_t max_phases(const struct contract *c)
{
	return (size_t)(2 * c->up[0]) * (size_t)(2 * c->up[1]);
}

/*
 * Emits all phases of a contraction. `prepared` has an element for each phase, all 0 or filled in
 * by an earlier call for a contraction of equal dims.
 */
static void emit_all(struct plan *plan, const struct contract *c,
		     struct contract_prepared *prepared)
{
	for (int64_t h = 0; h < c->dim[CD_H]; h = next_phase(c, 0, h))
		for (int64_t w = 0; w < c->dim[CD_W] && !plan->report.failed;
		     w = next_phase(c, 1, w)) {
			struct contract phase = *c;

			take_phase(&phase, 0, h);
			take_phase(&phase, 1, w);
			phase.piece =
				contract_piece(phase.op, phase.k, phase.taps[0] * phase.taps[1]);
			plan_macs(plan, view_elements(&phase.out) * phase.k * phase.taps[0] *
						phase.taps[1]);
			contract_emit_again(plan, &phase, prepared++);
		}
}

/* ---- the filter */

/* Packs a constant filter once for all phases, in an order in which tiles have long runs. */
static void place_filter(struct plan *plan, struct contract *c)
{
	struct npu_view view = contract_filter_view(c, 0, c->b.dim);

	view.window = constants_take(&plan->constants, view.window_bytes);
	contract_pack(plan, c, &view, c->b_offset, view.window);
	view.base = NPU_BASE_CONST;
	c->b = view;
	c->b_constant = NULL;
}

/* ---- blocks of results in SRAM */

struct blocks {
	int64_t dim[2];		 /* rows and columns of a block */
	uint64_t bytes, address; /* bytes of a block; SRAM address of the first of two */
	/* by phase: for blocks of dim[1] columns, then for narrower blocks at the end of a row */
	struct contract_prepared *prepared;
	int64_t rows; /* number of rows of the blocks that `prepared` is for */
};

static uint64_t block_bytes(const struct contract *c, int64_t h, int64_t w)
{
	uint64_t bytes =
		(uint64_t)(c->dim[CD_G] * c->dim[CD_N] * h * w) * plan_dtype_bytes(c->out.dtype);

	return plan_align(bytes);
}

/*
 * Chooses the size of blocks, which grow along columns first, as these make long runs. Returns
 * false when blocks do not help, or do not fit.
 */
static bool choose_block(const struct plan *plan, const struct contract *c, struct blocks *blocks)
{
	int64_t size = plan_dtype_bytes(c->out.dtype), *dim = blocks->dim, positions = 1;
	bool whole = true;

	if (c->out.base == NPU_BASE_NONE ||
	    (c->out.stride[CD_N] == size && c->dim[CD_N] * size >= CONTRACT_SHORT_RUN))
		return false;
	for (int i = 0; i < 2; i++)
		dim[i] = c->up[i] < c->dim[CD_H + i] ? c->up[i] : c->dim[CD_H + i];
	for (int i = 1; i >= 0; i--)
		while (dim[i] < c->dim[CD_H + i] &&
		       block_bytes(c, dim[0] * (2 - i), dim[1] * (1 + i)) <= plan_sram(plan) / 4)
			dim[i] = dim[i] * 2 < c->dim[CD_H + i] ? dim[i] * 2 : c->dim[CD_H + i];
	for (int i = 0; i < 2; i++) {
		positions *= (int64_t)wnn_div_up(dim[i], c->up[i]);
		whole &= dim[i] == c->dim[CD_H + i];
	}
	blocks->bytes = block_bytes(c, dim[0], dim[1]);
	return blocks->bytes <= plan_sram(plan) / 4 && (whole || positions >= MIN_POSITIONS);
}

static void emit_block(struct plan *plan, const struct contract *c, struct blocks *blocks,
		       const int64_t *begin, uint64_t number)
{
	struct contract part = *c;
	struct npu_view mem;
	bool last;

	part.dim[CD_B] = 1;
	part.a.offset += begin[CD_B] * c->a.stride[CA_B];
	part.a.dim[CA_B] = 1;
	for (int i = 0; i < 2; i++) {
		int64_t left = c->dim[CD_H + i] - begin[CD_H + i];

		part.dim[CD_H + i] = left < blocks->dim[i] ? left : blocks->dim[i];
		part.pad[i] -= begin[CD_H + i];
	}
	mem = view_slice(&c->out, begin, part.dim);
	part.out = view_sram((uint32_t)(blocks->address + number % 2 * blocks->bytes), c->out.dtype,
			     CD_RANK, part.dim, c->out.stride);
	if (part.dim[CD_H] != blocks->rows)
		memset(blocks->prepared, 0, 2 * max_phases(c) * sizeof(*blocks->prepared));
	blocks->rows = part.dim[CD_H];
	last = part.dim[CD_W] < blocks->dim[1];
	plan_birth(plan, (int64_t)part.out.window, (int64_t)(part.out.window + blocks->bytes));
	emit_all(plan, &part, blocks->prepared + (last ? max_phases(c) : 0));
	plan_transfer(plan, mem, part.out, true);
}

static void emit_blocks(struct plan *plan, const struct contract *c, struct blocks *blocks)
{
	int64_t at[CD_RANK] = { 0 };
	uint64_t number = 0;

	blocks->address = plan->sram.base;
	plan->sram.base += 2 * blocks->bytes;
	for (at[CD_B] = 0; at[CD_B] < c->dim[CD_B]; at[CD_B]++)
		for (at[CD_H] = 0; at[CD_H] < c->dim[CD_H]; at[CD_H] += blocks->dim[0])
			for (at[CD_W] = 0; at[CD_W] < c->dim[CD_W] && !plan->report.failed;
			     at[CD_W] += blocks->dim[1])
				emit_block(plan, c, blocks, at, number++);
	plan->sram.base = blocks->address;
}

void phases_emit(struct plan *plan, const struct contract *c)
{
	struct blocks blocks = { .prepared =
					 wnn_calloc(2 * max_phases(c), sizeof(*blocks.prepared)) };
	struct contract placed = *c;

	if (!blocks.prepared)
		plan_nomem(plan);
	if (!plan->report.failed && placed.b_constant)
		place_filter(plan, &placed);
	if (!plan->report.failed && choose_block(plan, &placed, &blocks))
		emit_blocks(plan, &placed, &blocks);
	else if (!plan->report.failed)
		emit_all(plan, &placed, blocks.prepared);
	wnn_free(blocks.prepared);
}
