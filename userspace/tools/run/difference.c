// SPDX-License-Identifier: MIT
/* webnn-run: computes how much two values differ. */
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

/*
 * Returns the cosine of the angle between two values as vectors; 1 if both are zero, 0 if one is.
 */
static double cosine_of(const struct value *got, const struct value *expected)
{
	double both = 0, one = 0, other = 0;

	for (size_t i = 0; i < got->count; i++) {
		double a = value_get(got, i), b = value_get(expected, i);

		both += a * b;
		one += a * a;
		other += b * b;
	}
	if (one == 0 || other == 0)
		return one == other ? 1 : isfinite(one) && isfinite(other) ? 0 : (double)NAN;
	both /= sqrt(one) * sqrt(other);
	/* Rounding must not give a result beyond -1 or 1. */
	return both > 1 ? 1 : both < -1 ? -1 : both;
}

/* Returns the number of elements that differ; both values are integers of whole bytes. */
static size_t count_unequal(const struct value *got, const struct value *expected)
{
	size_t size = got->count ? got->size / got->count : 0, count = 0;

	for (size_t i = 0; i < got->count; i++)
		count += memcmp((const char *)got->data + i * size,
				(const char *)expected->data + i * size, size) != 0;
	return count;
}

struct difference difference_of(const struct value *got, const struct value *expected,
				struct tolerance tolerance)
{
	struct difference result = { 0 };
	bool exact = !value_is_float(expected) && !tolerance.given;
	double most = exact ? 0 : tolerance.part, range = magnitude(expected), sum = 0;
	size_t above = 0;

	for (size_t i = 0; i < got->count; i++) {
		double a = value_get(got, i), b = value_get(expected, i);
		double error = error_of(a, b);

		sum += error;
		above += error / range > most;
		if (i && !(error > result.largest))
			continue;
		result.largest = error;
		result.index = i;
		result.got = a;
		result.expected = b;
	}
	result.relative = result.largest / range;
	result.mean = got->count ? sum / (double)got->count : 0;
	result.cosine = cosine_of(got, expected);
	/* Two 64-bit integers may differ although they are one number as double. */
	if (exact && got->size == expected->size)
		above = count_unequal(got, expected);
	result.differs = result.relative > most || (exact && above);
	result.share = got->count ? (double)above / (double)got->count : 0;
	return result;
}

void difference_describe(const struct difference *difference, char *text, size_t room)
{
	snprintf(text, room,
		 "largest error %.3g (%.3g of the range) at %zu: %.9g, expected %.9g; mean error "
		 "%.3g, cosine %.9g, %.3g%% of the elements differ",
		 difference->largest, difference->relative, difference->index, difference->got,
		 difference->expected, difference->mean, difference->cosine,
		 100 * difference->share);
}

static json_t *real(double number)
{
	return isfinite(number) ? json_real(number) : json_null();
}

json_t *difference_json(const struct difference *difference)
{
	return json_pack("{s:o, s:o, s:o, s:o, s:f, s:I, s:o, s:o, s:b}", "largest_error",
			 real(difference->largest), "relative_error", real(difference->relative),
			 "mean_error", real(difference->mean), "cosine", real(difference->cosine),
			 "share_differing", difference->share, "index",
			 (json_int_t)difference->index, "got", real(difference->got), "expected",
			 real(difference->expected), "differs", difference->differs);
}
