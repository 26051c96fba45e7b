/* SPDX-License-Identifier: MIT */
/* Products of computed matrices on the tiles of the vector units. */
#ifndef WNN_CPU_TILE_MATMUL_H
#define WNN_CPU_TILE_MATMUL_H

#include "cpu/fast.h"

/* NULL when it is not the best for a node on this processor, or does not take it. */
struct cpu_prepared *cpu_tile_matmul_prepare(const struct cpu_context *cpu,
					     const struct ir_node *node);
/* The same, where operands or the result are to be read or written with strides: that saves copies. */
struct cpu_prepared *cpu_tile_matmul_arrangeable(const struct cpu_context *cpu,
						 const struct ir_node *node);

#endif
