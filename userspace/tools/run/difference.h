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
	double part; /* of the largest magnitude of the expected value */
};

struct difference {
	double largest; /* INFINITY when only one of them is a finite number */
	double relative;
	double mean;   /* of the errors; INFINITY as largest */
	double cosine; /* of the angle between both; NAN when that is none */
	double share;  /* of elements whose error is above the tolerance */
	size_t index;
	double got, expected;
	bool differs;
};

/*
 * Compares two values with equal numbers of elements. Integers must be equal unless a tolerance was
 * given.
 */
struct difference difference_of(const struct value *got, const struct value *expected,
				struct tolerance tolerance);

/* "largest error 0.5 (0.1 of the range) at 3: 1.5, expected 1; mean error …". */
void difference_describe(const struct difference *difference, char *text, size_t room);

/* Numbers that JSON does not have are null. */
json_t *difference_json(const struct difference *difference);

#endif
