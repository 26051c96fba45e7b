/* SPDX-License-Identifier: MIT */
/*
 * Which instructions must follow which, from the bytes that they touch: used by the emitter, the
 * scheduler and prefetches.
 */
#ifndef WNN_PLAN_DEPEND_H
#define WNN_PLAN_DEPEND_H

#include "plan/list/plan.h"

struct hazard_access {
	enum npu_base base;
	uint32_t binding;
	int64_t lo, hi;
	bool write;
};

/*
 * Maps the bytes of all bases into one order in which different bases never overlap. SRAM is last:
 * most changes of the sorted lists are there, and everything behind a change has to move.
 */
static inline int64_t hazard_key(const struct hazard_access *access)
{
	int64_t space = access->base == NPU_BASE_NONE ? (INT64_C(1) << 19) - 1 : access->base;

	if (access->base == NPU_BASE_VALUE)
		space += access->binding;
	return space << 44;
}

#define PLAN_MAX_ACCESSES 6
/* Lists what an instruction touches; returns the number of accesses. */
uint32_t plan_accesses(const struct plan *plan, const struct plan_op *op,
		       struct hazard_access access[PLAN_MAX_ACCESSES]);

/* An edge of the dependence graph: an instruction must follow `from`. */
struct depend_edge {
	uint32_t from : 31;
	uint32_t data : 1; /* it reads what `from` writes, and does not only overwrite it */
};

struct plan_depend *depend_create(void);
void depend_destroy(struct plan_depend *depend);
/* Empties the graph but keeps its memory. */
void depend_reset(struct plan_depend *depend);
/* Forgets what was touched before; the edges stay. */
void depend_forget(struct plan_depend *depend);
/*
 * depend_add - note that the next instruction touches bytes
 *
 * @op: its number, higher than all before and below 2^31
 *
 * Finds what it must follow; edges that others imply may be missing. Returns 0, or -1 when memory
 * is exhausted.
 */
int depend_add(struct plan_depend *depend, const struct hazard_access *access, uint32_t count,
	       uint32_t op);
/*
 * Returns what an instruction follows, valid until the next call; no edges when its number was left
 * out.
 */
const struct depend_edge *depend_edges(const struct plan_depend *depend, size_t op, size_t *count);

#endif
