// SPDX-License-Identifier: MIT
/* Executes a decoded instruction: finds the function that computes it. */
#include "machine/sim.h"

static void count_elements(struct sim_context *c, const struct sim_work *w)
{
	bool reduce = w->info->cost == ONPU_COST_REDUCE;

	if (w->engine == ONPU_ENG_VPU && w->t[ONPU_OPERAND_DST].present)
		c->counters->elements +=
			sim_elements(&w->t[reduce ? ONPU_OPERAND_S0 : ONPU_OPERAND_DST]);
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

bool sim_execute(struct sim_context *c, const struct sim_work *w)
{
	count_elements(c, w);
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
