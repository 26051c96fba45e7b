/* SPDX-License-Identifier: MIT */
/* Encodes a plan as slots, instruction words and patches. */
#ifndef WNN_CODEGEN_ENCODE_H
#define WNN_CODEGEN_ENCODE_H

#include "codegen/program.h"
#include "plan/list/plan.h"

/* The number of the semaphore that engine `from` signals and engine `to` waits for. */
#define SEMAPHORE(from, to)	    ((from) * 8u + (to))
#define SEMAPHORE_WAITER(semaphore) ((semaphore) % 8u)

/*
 * Fills in jobs, insns, slots and patches of *program, which the caller releases also after a
 * failure. Returns 0, or -1 with plan->report.failed set.
 */
int encode_plan(struct plan *plan, bool profile, struct npu_program *program);

#endif
