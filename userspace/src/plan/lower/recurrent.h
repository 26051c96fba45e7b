/* SPDX-License-Identifier: MIT */
/* What recurrent networks need beside their operands. */
#ifndef WNN_PLAN_RECURRENT_H
#define WNN_PLAN_RECURRENT_H

#include "ir/ir.h"

/* Bytes in the arena for the time that the node runs. */
uint64_t recurrent_scratch(const struct ir_node *node);

#endif
