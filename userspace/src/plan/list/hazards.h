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
/* Sets after[engine] to 1 + the last instruction of each engine that these must not precede, or 0. */
void hazards_find(const struct plan_hazards *hazards, const struct hazard_access *access,
		  uint32_t count, uint32_t after[ONPU_ENG_COUNT]);
#define PLAN_MAX_ACCESSES 6
/* What an instruction touches; their number. */
uint32_t plan_accesses(const struct plan *plan, const struct plan_op *op,
		       struct hazard_access access[PLAN_MAX_ACCESSES]);
/*
 * Registers instruction `op` (index into plan.list.ops) of `engine`; sets *waits to the engines it must
 * wait for and after[engine] to the instruction of that engine.
 */
int hazards_add(struct plan_hazards *hazards, uint8_t engine, size_t op,
		const struct hazard_access *access, uint32_t count, uint8_t *waits,
		size_t after[ONPU_ENG_COUNT]);

#endif
