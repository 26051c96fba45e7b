/* SPDX-License-Identifier: MIT */
/*
 * Emits vector programs of one scan, or of one argmin or argmax, whose rows do not fit into SRAM.
 */
#ifndef WNN_PLAN_ROWS_H
#define WNN_PLAN_ROWS_H

#include "plan/kernel/vprog.h"

void rows_scan(struct plan *plan, const struct vprog *prog);
void rows_arg(struct plan *plan, const struct vprog *prog);

#endif
