/* SPDX-License-Identifier: MIT */
/* Faults of the NPU as error messages. */
#ifndef WNN_RUN_FAULT_H
#define WNN_RUN_FAULT_H

#include "ir/ir.h"
#include "winsys/winsys.h"

/*
 * Sets an OperationError that names operator, label and fault as far as they are known; @node may
 * be NULL.
 */
void run_fault_error(const struct winsys_result *result, const struct ir_node *node,
		     struct wnn_error *err);

#endif
