/* SPDX-License-Identifier: MIT */
/* Makes the plan of a program from a range of nodes. */
#ifndef WNN_PLAN_LOWER_RANGE_H
#define WNN_PLAN_LOWER_RANGE_H

#include "plan/list/plan.h"

/*
 * plan_locate - choose the memory of values, the first half of planning
 *
 * @plan: has a graph, a range and the capabilities of a device
 * @live_out: ids of values that are read after the program
 *
 * Returns 0, or -1 with plan->report.failed set.
 */
int plan_locate(struct plan *plan, const uint32_t *live_out, uint32_t num_live_out);
/*
 * plan_nodes - emit and order the instructions, the second half of planning
 *
 * Sets *cycles to the cycles of the program by the cost model. Returns 0, or -1 with
 * plan->report.failed set; plan_refuse() has been called for each node that was lowered.
 */
int plan_nodes(struct plan *plan, uint64_t *cycles);
/*
 * plan_remember() creates a cache of tile sizes for this plan and all plans that are copied from
 * it; plan_forget() destroys the cache.
 */
void plan_remember(struct plan *plan);
void plan_forget(struct plan *plan);
/* Gives the plan the memory that plan_keep() has kept in *kept; to call before plan_locate(). */
void plan_lend(struct plan *plan, struct plan_list *kept);
/*
 * Releases a plan like plan_release(), but keeps the memory of its lists in *kept for the next
 * plan; plan_list_release() frees the memory of *kept.
 */
void plan_keep(struct plan *plan, struct plan_list *kept);
void plan_list_release(struct plan_list *list);
/* Frees what a plan holds, but not the plan itself. */
void plan_release(struct plan *plan);

#endif
