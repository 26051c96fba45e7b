/* SPDX-License-Identifier: MIT */
/* Products with a constant matrix, and 1x1 convolutions, on our own tiles. */
#ifndef WNN_CPU_TILE_ROWS_H
#define WNN_CPU_TILE_ROWS_H

#include "cpu/fast.h"

/*
 * Prepares a node; NULL when another kernel is faster for it on this processor, or this one does
 * not take it.
 */
struct cpu_prepared *cpu_tile_rows_prepare(const struct cpu_context *cpu,
					   const struct ir_node *node);

#endif
