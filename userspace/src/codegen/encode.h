/* SPDX-License-Identifier: MIT */
/* From a plan to slots, instruction words and patches. It makes no decisions. */
#ifndef WNN_CODEGEN_ENCODE_H
#define WNN_CODEGEN_ENCODE_H

#include "codegen/program.h"
#include "plan/list/plan.h"

/* Semaphore from engine `from` to engine `to`: one signaller, one waiter. */
#define SEMAPHORE(from, to)	    ((from) * 8u + (to))
#define SEMAPHORE_WAITER(semaphore) ((semaphore) % 8u)

/* Fills insns, slots and patches of *program; 0, or -1 with plan->report.failed and its error. */
int encode_plan(struct plan *plan, bool profile, struct npu_program *program);

#endif
