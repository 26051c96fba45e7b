/* SPDX-License-Identifier: MIT */
/* Cuts a plan into several jobs, when it needs more slots than a job has. */
#ifndef WNN_PLAN_SPLIT_H
#define WNN_PLAN_SPLIT_H

#include "plan/list/plan.h"

/*
 * Sets ->cut of the first instruction of each job but the first, so that no job has more than
 * max_slots slots. plan_finish() must have run. Returns 0, or -1 when a part of a node that cannot
 * be cut takes more slots, or memory is exhausted.
 */
int plan_split(struct plan *plan, uint32_t max_slots);
/*
 * Returns true if a kernel should leave SRAM empty before its next tile, instead of prefetching
 * that tile's operands: the program has grown so much that it may have to be cut there.
 */
bool plan_pause(struct plan *plan);
/*
 * Does what plan_pause() does, for a kernel that keeps more than tiles in SRAM and leaves SRAM
 * empty less often. *paused_at belongs to the kernel, and is 0 at first.
 */
bool plan_pause_since(struct plan *plan, size_t *paused_at);

#endif
