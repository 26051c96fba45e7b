/* SPDX-License-Identifier: MIT */
/* Programs that are cut into several jobs. */
#ifndef WNN_PLAN_SPLIT_H
#define WNN_PLAN_SPLIT_H

#include "plan/list/plan.h"

/* Sets ->cut of instructions so that no job has more than max_slots; after plan_finish(). */
int plan_split(struct plan *plan, uint32_t max_slots);
/*
 * Whether a kernel should once have nothing in SRAM between two tiles, rather than the next one's
 * operands, because the program has grown so much that it may have to be cut.
 */
bool plan_pause(struct plan *plan);

#endif
