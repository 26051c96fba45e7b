/* SPDX-License-Identifier: MIT */
/* Who touched which bytes last. */
#ifndef WNN_PLAN_HAZARDS_H
#define WNN_PLAN_HAZARDS_H

#include "plan/list/plan.h"

struct plan_hazards *hazards_create(void);
void hazards_destroy(struct plan_hazards *hazards);
/* All engines are idle and know of each other's instructions: nothing before matters any more. */
void hazards_forget(struct plan_hazards *hazards);
struct hazard_access {
	enum npu_base base;
	uint32_t binding;
	int64_t lo, hi;
	bool write;
};

/*
 * Bytes of all bases in one order, where those of different ones never meet. SRAM is last: most changes of sorted lists
 * are there, and what lies behind a change has to move.
 */
static inline int64_t hazard_key(const struct hazard_access *access)
{
	int64_t space = access->base == NPU_BASE_NONE ? (INT64_C(1) << 19) - 1 : access->base;

	if (access->base == NPU_BASE_VALUE)
		space += access->binding;
	return space << 44;
}

/* Sets need[engine] to 1 + the last instruction of each engine that these must not precede, or 0. */
void hazards_find(const struct plan_hazards *hazards, const struct hazard_access *access,
		  uint32_t count, uint32_t need[ONPU_ENG_COUNT]);
#define PLAN_MAX_ACCESSES 6
/* What an instruction touches; their number. */
uint32_t plan_accesses(const struct plan *plan, const struct plan_op *op,
		       struct hazard_access access[PLAN_MAX_ACCESSES]);
/*
 * What instruction `op` (index into plan.list.ops) of `engine` waits for, of what it needs: sets *waits to the engines,
 * and after[engine] to the instruction of each of these. -1: no memory, as below.
 */
int hazards_wait(struct plan_hazards *hazards, uint8_t engine, size_t op,
		 const uint32_t need[ONPU_ENG_COUNT], uint8_t *waits, size_t after[ONPU_ENG_COUNT]);
/* The instruction has touched these. */
int hazards_record(struct plan_hazards *hazards, uint8_t engine, size_t op,
		   const struct hazard_access *access, uint32_t count);

#endif
