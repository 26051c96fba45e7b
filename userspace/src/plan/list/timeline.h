/* SPDX-License-Identifier: MIT */
/* When instructions run, by the cost model. */
#ifndef WNN_PLAN_TIMELINE_H
#define WNN_PLAN_TIMELINE_H

#include "plan/list/plan.h"

/*
 * Whether ST comes to a transfer earlier than LD when what it needs has ended at @ready; the engine
 * that it has by itself if both come at the same time.
 */
bool timeline_prefers_st(const struct plan *plan, bool by_itself, uint64_t ready);
/* An instruction follows; its node is charged for what the whole takes longer. */
void timeline_add(struct plan *plan, struct plan_op *op, uint64_t ready);
/* A preemption point: all engines come to rest. */
void timeline_drain(struct plan *plan, struct plan_op *op);

#endif
