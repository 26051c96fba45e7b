/* SPDX-License-Identifier: MIT */
/* From a range of nodes to the whole plan of a program. */
#ifndef WNN_PLAN_LOWER_RANGE_H
#define WNN_PLAN_LOWER_RANGE_H

#include "plan/list/plan.h"

/*
 * The first half: where values lie, for a plan that has a graph, a range and the capabilities of a device.
 * Values of live_out are read after the program. -1: plan->report.failed.
 */
int plan_places(struct plan *plan, const uint32_t *live_out, uint32_t num_live_out);
/*
 * The second half: the instructions; sets *cycles to what they take by the cost model. -1: plan->report.failed,
 * and the nodes that failed are noted in plan->report.refusals.
 */
int plan_nodes(struct plan *plan, uint64_t *cycles);
/* What plans that are copied from this one find out about a kernel, those after them know, until plan_forget(). */
void plan_remember(struct plan *plan);
void plan_forget(struct plan *plan);
/* Before plan_places(): lists get the memory of those that plan_keep() has kept. */
void plan_lend(struct plan *plan, struct plan_list *kept);
/* plan_release(), but for the memory of lists, which the next plan can have; for plan_list_release(). */
void plan_keep(struct plan *plan, struct plan_list *kept);
void plan_list_release(struct plan_list *list);
/* Frees what a plan holds, but not the plan itself. */
void plan_release(struct plan *plan);

#endif
