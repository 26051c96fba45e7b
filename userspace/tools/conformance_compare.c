// SPDX-License-Identifier: MIT
/*
 * wnn-conformance: compares results with expected values.
 *
 * ULP counts units in the last place as the Web Platform Tests do: equal values (so +0 and -0) have
 * distance 0, other values the difference of their bit patterns, for floats taken as sign and
 * magnitude; NaN equals NaN only. ATOL and RTOL demand |actual - expected| <= value, or <= atol +
 * value * |expected|; equal infinities and two NaN agree, an infinity agrees with nothing else.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "conformance.h"

static const char *const metrics[] = {
	[METRIC_ULP] = "ULP",
	[METRIC_ATOL] = "ATOL",
	[METRIC_RTOL] = "RTOL",
};

const char *metric_name(enum metric metric)
{
	return metrics[metric];
}

static int read_bound(const json_t *json, const char *key, double *bound, char *reason)
{
	if (!value_to_double(json_object_get(json, key), bound) && *bound >= 0)
		return 0;
	snprintf(reason, REASON_SIZE, "the tolerance has no '%s' that is a number, 0 or more", key);
	return -1;
}

int tolerance_read(const json_t *json, struct tolerance *tolerance, char *reason)
{
	const char *name = json_string_value(json_object_get(json, "metric"));

	tolerance->atol = 0;
	for (size_t i = 0; name && i < ARRAY_SIZE(metrics); i++) {
		if (strcmp(name, metrics[i]))
			continue;
		tolerance->metric = (enum metric)i;
		if (json_object_get(json, "atol") &&
		    read_bound(json, "atol", &tolerance->atol, reason))
			return -1;
		return read_bound(json, "value", &tolerance->value, reason);
	}
	snprintf(reason, REASON_SIZE, "the tolerance has no metric ULP, ATOL or RTOL");
	return -1;
}

static bool is_float(WNNOperandDataType type)
{
	return type == WNNOperandDataType_Float32 || type == WNNOperandDataType_Float16;
}

/* Returns the bit pattern of a float as an integer that grows with the value. */
static int64_t float_order(const struct values *values, const void *data, size_t index)
{
	size_t size = wnnOperandDataTypeGetSize(values->type);
	uint32_t bits = 0, sign = UINT32_C(1) << (8 * size - 1);
	uint16_t half;

	if (size == sizeof(half)) {
		memcpy(&half, (const char *)data + index * size, sizeof(half));
		bits = half;
	} else {
		memcpy(&bits, (const char *)data + index * size, sizeof(bits));
	}
	return bits & sign ? -(int64_t)(bits & ~sign) : (int64_t)bits;
}

static double integer_distance(const struct values *values, const void *a, const void *b,
			       size_t index)
{
	const int64_t *sa = a, *sb = b;
	const uint64_t *ua = a, *ub = b;

	if (values->type == WNNOperandDataType_Int64)
		return (double)(sa[index] > sb[index] ? (uint64_t)sa[index] - (uint64_t)sb[index] :
							(uint64_t)sb[index] - (uint64_t)sa[index]);
	if (values->type == WNNOperandDataType_Uint64)
		return (double)(ua[index] > ub[index] ? ua[index] - ub[index] :
							ub[index] - ua[index]);
	return fabs(values_get(values, a, index) - values_get(values, b, index));
}

/* Returns the error in units of the metric; infinity when no tolerance makes the two agree. */
static double distance(const struct values *expected, const void *actual, size_t index,
		       enum metric metric)
{
	double e, a;

	if (!is_float(expected->type))
		return integer_distance(expected, expected->data, actual, index);
	e = values_get(expected, expected->data, index);
	a = values_get(expected, actual, index);
	if (a == e || (isnan(a) && isnan(e)))
		return 0;
	if (isnan(a) || isnan(e))
		return INFINITY;
	if (metric == METRIC_ULP)
		return fabs((double)(float_order(expected, expected->data, index) -
				     float_order(expected, actual, index)));
	return fabs(a - e);
}

static double allowed(const struct values *expected, const struct tolerance *tolerance,
		      size_t index)
{
	double e;

	if (tolerance->metric != METRIC_RTOL)
		return tolerance->value;
	e = values_get(expected, expected->data, index);
	return isfinite(e) ? tolerance->atol + tolerance->value * fabs(e) : 0;
}

void compare_values(const struct values *expected, const void *actual,
		    const struct tolerance *tolerance, struct comparison *out)
{
	double furthest = -INFINITY;

	*out = (struct comparison){ .agree = true };
	for (size_t i = 0; i < expected->count; i++) {
		double error = distance(expected, actual, i, tolerance->metric);
		double bound = allowed(expected, tolerance, i);

		if (error > out->error)
			out->error = error;
		/* An infinite error disagrees even under an unlimited tolerance. */
		if (error > bound || isinf(error))
			out->agree = false;
		if (error - bound > furthest) {
			furthest = error - bound;
			out->index = i;
		}
	}
}
