/* SPDX-License-Identifier: MIT */
/* Memory whose end, or beginning, is next to an inaccessible page. */
#ifndef TESTS_CPU_GUARD_H
#define TESTS_CPU_GUARD_H

#include <stdbool.h>
#include <stddef.h>

struct guard {
	float *data;
	void *pages;
	size_t size;
};

/*
 * Returns n floats with numbers from -1 to 1, which end at an inaccessible page or, with @low,
 * begin after one. guard_free() frees them.
 */
struct guard guard_make(size_t n, bool low);
void guard_free(struct guard *guard);

#endif
