/* SPDX-License-Identifier: MIT */
/*
 * Tells which instructions must follow which, from the bytes that they touch. The emitter, the
 * scheduler and prefetches use it.
 */
#ifndef WNN_PLAN_DEPEND_H
#define WNN_PLAN_DEPEND_H

#include "plan/list/plan.h"

struct hazard_access {
	enum npu_base base;
	uint32_t binding; /* with NPU_BASE_VALUE: index of the binding */
	int64_t lo, hi;	  /* bytes [lo, hi) of the base */
	/*
	 * The instruction touches only the first `run` bytes of each `pitch` bytes from lo on, as a
	 * tile of some channels does; pitch 0: it may touch all bytes.
	 */
	int64_t pitch, run;
	bool write;
};

/*
 * Returns the number to add to byte offsets of a base, so that the bytes of all bases have one
 * order and different bases never overlap. SRAM is last: most changes of the sorted ranges are
 * there, and all ranges after a change have to move.
 */
static inline int64_t hazard_key(const struct hazard_access *access)
{
	int64_t space = access->base == NPU_BASE_NONE ? (INT64_C(1) << 19) - 1 : access->base;

	if (access->base == NPU_BASE_VALUE)
		space += access->binding;
	return space << 44;
}

#define PLAN_MAX_ACCESSES 6
/*
 * Lists the bytes that an instruction reads and writes, without reads of memory that the program
 * never writes; returns the number of accesses.
 */
uint32_t plan_accesses(const struct plan *plan, const struct plan_op *op,
		       struct hazard_access access[PLAN_MAX_ACCESSES]);

/* An edge of the dependence graph: an instruction must follow `from`. */
struct depend_edge {
	uint32_t from : 31;
	uint32_t data : 1; /* the instruction reads bytes that `from` writes */
};

struct plan_depend *depend_create(void);
void depend_destroy(struct plan_depend *depend);
/* Empties the graph but keeps its memory. */
void depend_reset(struct plan_depend *depend);
/*
 * Forgets which bytes instructions have touched, because a preemption point separates them from
 * later instructions; keeps the edges.
 */
void depend_forget(struct plan_depend *depend);
/*
 * depend_add - add the next instruction, with the bytes that it touches
 *
 * @op: the instruction's number, higher than all before and below 2^31
 *
 * Adds the edges to the instructions that it must follow; edges that others imply may be missing.
 * Returns 0, or -1 when memory is exhausted.
 */
int depend_add(struct plan_depend *depend, const struct hazard_access *access, uint32_t count,
	       uint32_t op);
/*
 * Returns the edges to the instructions that instruction @op must follow, valid until the next
 * depend_add(), and sets *count; NULL and 0 when it follows none.
 */
const struct depend_edge *depend_edges(const struct plan_depend *depend, size_t op, size_t *count);

#endif
