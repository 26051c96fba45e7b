/* SPDX-License-Identifier: MIT */
/* The waits between engines, for the emitter and the scheduler. */
#ifndef WNN_PLAN_HAZARDS_H
#define WNN_PLAN_HAZARDS_H

#include "plan/list/depend.h"

struct plan_hazards *hazards_create(void);
void hazards_destroy(struct plan_hazards *hazards);
/* Empties them but keeps their memory. */
void hazards_reset(struct plan_hazards *hazards);
/* A preemption point: all engines are idle and know of each other's instructions. */
void hazards_pause(struct plan_hazards *hazards, size_t op);
/*
 * For each engine, sets need[engine] to 1 + its last instruction that must end before `op` begins,
 * or to 0.
 */
void hazards_find(const struct plan_hazards *hazards, const struct plan_op *ops,
		  const struct plan_depend *depend, uint32_t op, uint32_t need[ONPU_ENG_COUNT]);
/*
 * hazards_wait - reduce what instruction `op` needs to the waits that are not implied by earlier
 * ones
 *
 * @op: index into plan.list.ops; it runs on `engine`
 *
 * Sets *waits to a mask of engines, and after[engine] to the instruction of each of these. -1: no
 * memory.
 */
int hazards_wait(struct plan_hazards *hazards, uint8_t engine, size_t op,
		 const uint32_t need[ONPU_ENG_COUNT], uint8_t *waits, size_t after[ONPU_ENG_COUNT]);

#endif
