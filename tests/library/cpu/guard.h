/* SPDX-License-Identifier: MIT */
/* Memory that ends, or begins, where the next access faults. */
#ifndef TESTS_CPU_GUARD_H
#define TESTS_CPU_GUARD_H

#include <stdbool.h>
#include <stddef.h>

struct guard {
	float *data;
	void *pages;
	size_t size;
};

/* n floats filled with numbers from -1 to 1; nothing is readable behind them, or (low) before them. */
struct guard guard_make(size_t n, bool low);
void guard_free(struct guard *guard);

#endif
