/* SPDX-License-Identifier: MIT */
/* The times at which instructions run, by the cost model, in the order of emission. */
#ifndef WNN_PLAN_TIMELINE_H
#define WNN_PLAN_TIMELINE_H

#include "plan/list/plan.h"

/*
 * Returns true if ST can begin a transfer earlier than LD, when the instructions that the transfer
 * waits for end at @ready; @by_itself decides when both can begin at the same time.
 */
bool timeline_prefers_st(const struct plan *plan, bool by_itself, uint64_t ready);
/* Adds an instruction and charges its node for the cycles by which the end of the program moves. */
void timeline_add(struct plan *plan, struct plan_op *op, uint64_t ready);
/* Adds a preemption point: it starts when all engines are idle. */
void timeline_drain(struct plan *plan, struct plan_op *op);

#endif
