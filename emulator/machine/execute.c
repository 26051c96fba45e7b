// SPDX-License-Identifier: MIT
/* Executes a decoded instruction: finds the function that computes it. */
#include "machine/sim.h"
#include "onpu/silicon.h"

static void count_elements(struct sim_context *c, const struct sim_work *w)
{
	bool reduce = w->info->cost == ONPU_COST_REDUCE;

	if (w->engine == ONPU_ENG_VPU && w->t[ONPU_OPERAND_DST].present)
		c->counters->elements +=
			sim_elements(&w->t[reduce ? ONPU_OPERAND_S0 : ONPU_OPERAND_DST]);
}

static uint64_t bytes_of(const struct sim_tensor *t)
{
	uint64_t n = sim_elements(t);

	return sim_is_nibble(t->dtype) ? n / 2 : n * t->esize;
}

/*
 * Returns the bytes that an instruction with @macs products moves from and to SRAM. The matrix
 * array, taken as mxu_rows x mxu_cols cells, reads an element of S0 once for all its columns, and
 * one of S1 once for all its rows.
 */
static uint64_t sram_bytes(const struct sim_context *c, const struct sim_work *w, uint64_t macs)
{
	uint64_t rows = c->config->mxu_rows, cols = c->config->mxu_cols, n = 0;

	if (w->info->cost == ONPU_COST_MMA)
		return macs / rows * w->t[ONPU_OPERAND_S1].esize +
		       macs / cols * w->t[ONPU_OPERAND_S0].esize +
		       bytes_of(&w->t[ONPU_OPERAND_DST]);
	for (unsigned int i = 0; i < sizeof(w->t) / sizeof(w->t[0]); i++)
		if (w->t[i].present && w->t[i].space == ONPU_SPACE_SRAM)
			n += bytes_of(&w->t[i]);
	return n;
}

/*
 * Adds the energy of an instruction that was executed, as silicon.xml estimates it; @before: the
 * counters before it.
 */
static void add_energy(struct sim_context *c, const struct sim_work *w,
		       const struct onpu_counters *before)
{
	const struct onpu_counters *now = c->counters;
	uint64_t macs = now->macs - before->macs;
	uint64_t steps = macs + now->elements - before->elements;

	if (w->info->cost == ONPU_COST_WINDOW)
		steps *= sim_tap_count(w);
	c->energy += steps * onpu_silicon_energy[w->insn.op] +
		     sram_bytes(c, w, macs) * ONPU_SILICON_SRAM_BYTE +
		     (now->bytes_ld + now->bytes_st - before->bytes_ld - before->bytes_st) *
			     ONPU_SILICON_MEMORY_BYTE;
}

static bool execute_vector(struct sim_context *c, const struct sim_work *w)
{
	switch (w->insn.op) {
	case ONPU_OP_CVT:
	case ONPU_OP_QUANT:
	case ONPU_OP_DEQUANT:
	case ONPU_OP_REQUANT:
		sim_convert(c, w);
		return true;
	case ONPU_OP_TRI:
		sim_tri(c, w);
		return true;
	case ONPU_OP_RESAMPLE_NEAREST:
	case ONPU_OP_RESAMPLE_LINEAR:
		return sim_resample(c, w);
	default:
		break;
	}
	if (w->t[ONPU_OPERAND_S2].present)
		sim_ternary(c, w);
	else if (w->t[ONPU_OPERAND_S1].present)
		sim_binary(c, w);
	else
		sim_unary(c, w);
	return true;
}

void sim_idle(const void *context)
{
	sim_given_up(context);
}

static bool execute(struct sim_context *c, const struct sim_work *w)
{
	switch (w->info->cost) {
	case ONPU_COST_DMA:
		return sim_dma(c, w);
	case ONPU_COST_GATHER:
		return sim_gather(c, w);
	case ONPU_COST_MMA:
		return sim_matrix(c, w);
	case ONPU_COST_VECTOR:
		return execute_vector(c, w);
	case ONPU_COST_REDUCE:
		if (w->insn.op == ONPU_OP_RARGMAX || w->insn.op == ONPU_OP_RARGMIN)
			sim_arg(c, w);
		else
			sim_reduce(c, w);
		return true;
	case ONPU_COST_SCAN:
		sim_scan(c, w);
		return true;
	case ONPU_COST_WINDOW:
		sim_window(c, w);
		return true;
	default:
		/* machine.c handles semaphores; their instructions have no other effect. */
		return true;
	}
}

bool sim_execute(struct sim_context *c, const struct sim_work *w)
{
	const struct onpu_counters before = *c->counters;
	bool ok;

	count_elements(c, w);
	ok = execute(c, w);
	add_energy(c, w, &before);
	return ok;
}
