/* SPDX-License-Identifier: MIT */
/* The order of execution, and where preemption points are; after plan_finish(). */
#ifndef WNN_PLAN_SCHEDULE_H
#define WNN_PLAN_SCHEDULE_H

#include "plan/list/plan.h"

/* Instructions that are ordered together: the time that takes grows faster than their number. */
#define SCHEDULE_WINDOW 8192

/* Whether the preemption point `op` ends the window that began last. */
static inline bool schedule_fills_window(const struct plan *plan, size_t op)
{
	return op - plan->list.window >= SCHEDULE_WINDOW;
}

/* Returns how long the program takes by the cost model. */
uint64_t plan_schedule(struct plan *plan);
/* Returns the dependences of these instructions in the order given; NULL: no memory. */
struct plan_depend *schedule_follow(const struct plan *plan, const struct plan_op *ops,
				    size_t count);
/* Emits waits and signals for the order in plan_list.ordered; -1: no memory. */
int schedule_waits(struct plan *plan);
/* Restores the order in which kernels emitted: only that order can be cut into jobs. */
void plan_unschedule(struct plan *plan);

#endif
