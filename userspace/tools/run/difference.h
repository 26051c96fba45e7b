/* SPDX-License-Identifier: MIT */
/* webnn-run: the differences between two values. */
#ifndef ONPU_TOOLS_RUN_DIFFERENCE_H
#define ONPU_TOOLS_RUN_DIFFERENCE_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "value.h"

struct tolerance {
	bool given;
	double part; /* largest error, relative to the largest magnitude of the expected value */
};

struct difference {
	/*
	 * largest absolute error; INFINITY when two elements differ and one of them is not finite
	 */
	double largest;
	/*
	 * @largest divided by the largest finite magnitude of the expected value, or by 1 if that
	 * is 0
	 */
	double relative;
	double mean; /* mean of the absolute errors; INFINITY when largest is */
	/*
	 * cosine of the angle between both values as vectors: 1 if both are zero, 0 if one is; NAN
	 * when an element is not finite
	 */
	double cosine;
	double share; /* share of the elements whose error is above the tolerance */
	/* the element with the largest error: its index, and both of its values */
	size_t index;
	double got, expected;
	bool differs;
};

/*
 * Returns how two values with equal numbers of elements differ. Integers must be equal unless a
 * tolerance was given.
 */
struct difference difference_of(const struct value *got, const struct value *expected,
				struct tolerance tolerance);

/*
 * Writes a text such as "largest error 0.5 (0.1 of the range) at 3: 1.5, expected 1; mean error …".
 */
void difference_describe(const struct difference *difference, char *text, size_t room);

/* Returns the difference as JSON; NaN and infinities, which JSON lacks, are null. */
json_t *difference_json(const struct difference *difference);

#endif
