/* SPDX-License-Identifier: MIT */
/* Loops whose course is known before a program runs, as operations in a row. */
#ifndef SHLO_UNROLL_H
#define SHLO_UNROLL_H

#include "module.h"

struct shlo_unroll {
	struct shlo_arena *arena;
	uint64_t loop_limit; /* a loop that turns more often stays, so that it is an error */
	uint64_t limit;	     /* operations that all turns of a loop may have */
};

/*
 * The module with such loops replaced, for a device: what is in place of them is operations that become
 * graphs, calls in them included. It shares with @module what is the same, and does not change it.
 */
const struct shlo_module *shlo_unroll(const struct shlo_unroll *unroll,
				      const struct shlo_module *module);

#endif
