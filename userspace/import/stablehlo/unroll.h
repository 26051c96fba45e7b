/* SPDX-License-Identifier: MIT */
/* Unrolls loops whose iterations can be computed before a program runs. */
#ifndef SHLO_UNROLL_H
#define SHLO_UNROLL_H

#include "module.h"

struct shlo_unroll {
	struct shlo_arena *arena;
	/* most iterations; a loop with more is kept, so that running it reports the error */
	uint64_t loop_limit;
	uint64_t limit; /* most operations that all iterations of a loop may have */
};

/*
 * Returns the module with loops whose iterations can be computed before a run, and the calls in
 * them, replaced by operations that graphs can hold. It shares unchanged objects with @module,
 * which it does not modify.
 */
const struct shlo_module *shlo_unroll(const struct shlo_unroll *unroll,
				      const struct shlo_module *module);

#endif
