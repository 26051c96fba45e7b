/* SPDX-License-Identifier: MIT */
/* Prefetches for the next job of the same program. */
#ifndef WNN_PLAN_AHEAD_H
#define WNN_PLAN_AHEAD_H

#include "plan/list/plan.h"

/*
 * plan_load_ahead - move first loads to the front, and prefetch them for later jobs
 *
 * @plan: scheduled
 *
 * Puts the first loads of constants before all other instructions, when that makes later jobs
 * shorter; plan->list.ahead then is the number of these loads. A load whose bytes of SRAM are
 * overwritten gets a prefetch of the same bytes after the last instruction that touches them.
 */
void plan_load_ahead(struct plan *plan);

#endif
