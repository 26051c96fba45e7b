/* SPDX-License-Identifier: MIT */
/* The waits between engines, for the emitter and the scheduler. */
#ifndef WNN_PLAN_HAZARDS_H
#define WNN_PLAN_HAZARDS_H

#include "plan/list/depend.h"

struct plan_hazards *hazards_create(void);
void hazards_destroy(struct plan_hazards *hazards);
/* Forgets all instructions but keeps the memory. */
void hazards_reset(struct plan_hazards *hazards);
/*
 * Notes that `op` is a preemption point: after it no engine has to wait for earlier instructions.
 */
void hazards_pause(struct plan_hazards *hazards, size_t op);
/*
 * For each engine, sets need[engine] to 1 + its last instruction that must end before `op` begins,
 * or to 0.
 */
void hazards_find(const struct plan_hazards *hazards, const struct plan_op *ops,
		  const struct plan_depend *depend, uint32_t op, uint32_t need[ONPU_ENG_COUNT]);
/*
 * hazards_wait - choose the waits of instruction `op`, without those that earlier waits imply
 *
 * @engine: the engine that executes the instruction
 * @op: index into plan.list.ops
 * @need: from hazards_find()
 *
 * Sets *waits to the mask of engines to wait for, and after[e] of each engine e in the mask to the
 * index of its instruction that must end first. Returns 0, or -1: no memory.
 */
int hazards_wait(struct plan_hazards *hazards, uint8_t engine, size_t op,
		 const uint32_t need[ONPU_ENG_COUNT], uint8_t *waits, size_t after[ONPU_ENG_COUNT]);

#endif
