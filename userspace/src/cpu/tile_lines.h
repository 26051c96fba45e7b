/* SPDX-License-Identifier: MIT */
/*
 * Products with a constant matrix, and convolutions that are such products, on the tiles of the
 * vector units.
 */
#ifndef WNN_CPU_TILE_LINES_H
#define WNN_CPU_TILE_LINES_H

#include "cpu/fast.h"

/* NULL when it is not the best for a node on this processor, or does not take it. */
struct cpu_prepared *cpu_tile_lines_prepare(const struct cpu_context *cpu,
					    const struct ir_node *node);

#endif
