/* SPDX-License-Identifier: MIT */
/* Products of 8-bit integers on dot products of bytes. */
#ifndef WNN_CPU_INTEGER_DOTS_H
#define WNN_CPU_INTEGER_DOTS_H

#include "cpu/fast.h"

/* Whether the kernel computes a node on a level of vector instructions. */
bool cpu_integer_dots_takes(const struct cpu_simd *simd, const struct ir_node *node);
/* Prepares a node; NULL when the kernel does not take it, or memory is exhausted. */
struct cpu_prepared *cpu_integer_dots_prepare(const struct cpu_simd *simd,
					      const struct ir_node *node);

#endif
