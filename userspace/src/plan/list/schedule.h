/* SPDX-License-Identifier: MIT */
/*
 * The scheduler: chooses the order of execution and the preemption points of a plan, after
 * plan_finish().
 */
#ifndef WNN_PLAN_SCHEDULE_H
#define WNN_PLAN_SCHEDULE_H

#include "plan/list/plan.h"

/*
 * A window, the instructions that plan_schedule() orders together, ends at the first preemption
 * point after this many instructions. Windows are ordered separately, because the time of ordering
 * grows faster than the number of instructions.
 */
#define SCHEDULE_WINDOW 8192

/* Returns true if the preemption point `op` ends the window that began last. */
static inline bool schedule_fills_window(const struct plan *plan, size_t op)
{
	return op - plan->list.window >= SCHEDULE_WINDOW;
}

/*
 * Orders the instructions; a dry plan keeps its order. Returns the cycles of the program by the
 * cost model. Lack of memory fails the plan.
 */
uint64_t plan_schedule(struct plan *plan);
/* Returns the dependences of these instructions in the given order; NULL: no memory. */
struct plan_depend *schedule_follow(const struct plan *plan, const struct plan_op *ops,
				    size_t count);
/*
 * Sets waits and signals of all instructions from plan_list.ordered. Returns 0, or -1: no memory.
 */
int schedule_waits(struct plan *plan);
/* Restores the order in which kernels emitted: plan_split() can cut only that order into jobs. */
void plan_unschedule(struct plan *plan);

#endif
