/* SPDX-License-Identifier: MIT */
/* Element-wise functions of float32 whose operands or result lie in steps, so that no part has to be copied. */
#ifndef WNN_CPU_ELEMENTWISE_H
#define WNN_CPU_ELEMENTWISE_H

#include "cpu/cpu.h"

/* NULL when a node is none of them. */
struct cpu_prepared *cpu_elementwise_arrangeable(const struct cpu_context *cpu,
						 const struct ir_node *node);

#endif
