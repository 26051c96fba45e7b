/* SPDX-License-Identifier: MIT */
/*
 * Element-wise functions of float32 that read operands or write the result with strides, so that
 * slices need not be copied.
 */
#ifndef WNN_CPU_ELEMENTWISE_H
#define WNN_CPU_ELEMENTWISE_H

#include "cpu/cpu.h"

/*
 * Prepares a node for cpu_prepared_arrange(); NULL when it has no such kernel, or memory ran out.
 */
struct cpu_prepared *cpu_elementwise_arrangeable(const struct ir_node *node);

#endif
