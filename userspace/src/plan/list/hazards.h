/* SPDX-License-Identifier: MIT */
/* What engines wait for. */
#ifndef WNN_PLAN_HAZARDS_H
#define WNN_PLAN_HAZARDS_H

#include "plan/list/depend.h"

struct plan_hazards *hazards_create(void);
void hazards_destroy(struct plan_hazards *hazards);
/* As they were when they were made, but for the memory that they have. */
void hazards_reset(struct plan_hazards *hazards);
/* A preemption point: all engines are idle and know of each other's instructions. */
void hazards_pause(struct plan_hazards *hazards, size_t op);
/* Sets need[engine] to 1 + the last instruction of each engine that the last one of @depend must not precede, or 0. */
void hazards_find(const struct plan_hazards *hazards, const struct plan_op *ops,
		  const struct plan_depend *depend, uint32_t op, uint32_t need[ONPU_ENG_COUNT]);
/*
 * What instruction `op` (index into plan.list.ops) of `engine` waits for, of what it needs: sets *waits to the engines,
 * and after[engine] to the instruction of each of these. -1: no memory.
 */
int hazards_wait(struct plan_hazards *hazards, uint8_t engine, size_t op,
		 const uint32_t need[ONPU_ENG_COUNT], uint8_t *waits, size_t after[ONPU_ENG_COUNT]);

#endif
