/* SPDX-License-Identifier: MIT */
/* Loads for the next job of the same program. */
#ifndef WNN_PLAN_AHEAD_H
#define WNN_PLAN_AHEAD_H

#include "plan/list/plan.h"

/*
 * Of a plan whose instructions have their order: puts the first loads of constants, plan->list.ahead in number,
 * before all other instructions, and loads like them between the last ones, when later jobs are shorter by that.
 */
void plan_load_ahead(struct plan *plan);

#endif
