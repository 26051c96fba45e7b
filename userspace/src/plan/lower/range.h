/* SPDX-License-Identifier: MIT */
/* Turns a range of nodes into the whole plan of a program. */
#ifndef WNN_PLAN_LOWER_RANGE_H
#define WNN_PLAN_LOWER_RANGE_H

#include "plan/list/plan.h"

/*
 * plan_places - choose the memory of values, the first half of planning
 *
 * @plan: has a graph, a range and the capabilities of a device
 * @live_out: ids of values that are read after the program
 *
 * Returns 0, or -1 with plan->report.failed.
 */
int plan_places(struct plan *plan, const uint32_t *live_out, uint32_t num_live_out);
/*
 * plan_nodes - emit and order the instructions, the second half of planning
 *
 * Sets *cycles by the cost model. Returns 0, or -1 with plan->report.failed; plan->report.refusals
 * has the nodes that failed.
 */
int plan_nodes(struct plan *plan, uint64_t *cycles);
/*
 * From plan_remember() to plan_forget(), plans that are copied from this one share the tiles that
 * they choose.
 */
void plan_remember(struct plan *plan);
void plan_forget(struct plan *plan);
/* Call before plan_places(): gives the plan the memory of lists that plan_keep() has kept. */
void plan_lend(struct plan *plan, struct plan_list *kept);
/* plan_release(), but keeps the memory of lists for the next plan; plan_list_release() frees it. */
void plan_keep(struct plan *plan, struct plan_list *kept);
void plan_list_release(struct plan_list *list);
/* Frees what a plan holds, but not the plan itself. */
void plan_release(struct plan *plan);

#endif
