/* SPDX-License-Identifier: MIT */
/* Products of two computed matrices on our own tiles. */
#ifndef WNN_CPU_TILE_MATMUL_H
#define WNN_CPU_TILE_MATMUL_H

#include "cpu/fast.h"

/*
 * Prepares a node; NULL when another kernel is faster for it on this processor, or this one does
 * not take it.
 */
struct cpu_prepared *cpu_tile_matmul_prepare(const struct cpu_context *cpu,
					     const struct ir_node *node);
/*
 * Prepares a product whose operands or result are read or written with strides, which saves copies.
 * NULL when the tiles do not take the node.
 */
struct cpu_prepared *cpu_tile_matmul_arrangeable(const struct cpu_context *cpu,
						 const struct ir_node *node);

#endif
