// SPDX-License-Identifier: MIT
/* webnn-run: how far two values are apart. */
#include "difference.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static double magnitude(const struct value *value)
{
	double largest = 0;

	for (size_t i = 0; i < value->count; i++) {
		double number = fabs(value_get(value, i));

		if (isfinite(number) && number > largest)
			largest = number;
	}
	return largest > 0 ? largest : 1;
}

static double error_of(double got, double expected)
{
	if ((isnan(got) && isnan(expected)) || got == expected)
		return 0;
	return isfinite(got) && isfinite(expected) ? fabs(got - expected) : (double)INFINITY;
}

struct difference difference_of(const struct value *got, const struct value *expected,
				struct tolerance tolerance)
{
	struct difference result = { 0 };
	bool exact = !value_is_float(expected) && !tolerance.given;

	for (size_t i = 0; i < got->count; i++) {
		double a = value_get(got, i), b = value_get(expected, i);
		double error = error_of(a, b);

		if (i && !(error > result.largest))
			continue;
		result.largest = error;
		result.index = i;
		result.got = a;
		result.expected = b;
	}
	result.relative = result.largest / magnitude(expected);
	result.differs = result.relative > (exact ? 0 : tolerance.part);
	/* Integers of 64 bits that are one double may still be two numbers. */
	if (exact && got->size == expected->size && memcmp(got->data, expected->data, got->size))
		result.differs = true;
	return result;
}

void difference_describe(const struct difference *difference, char *text, size_t room)
{
	snprintf(text, room, "largest error %.3g (%.3g of the range) at %zu: %.9g, expected %.9g",
		 difference->largest, difference->relative, difference->index, difference->got,
		 difference->expected);
}

static json_t *real(double number)
{
	return isfinite(number) ? json_real(number) : json_null();
}

json_t *difference_json(const struct difference *difference)
{
	return json_pack("{s:o, s:o, s:I, s:o, s:o, s:b}", "largest_error",
			 real(difference->largest), "relative_error", real(difference->relative),
			 "index", (json_int_t)difference->index, "got", real(difference->got),
			 "expected", real(difference->expected), "differs", difference->differs);
}
