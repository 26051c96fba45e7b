// SPDX-License-Identifier: MIT
/* Loops over many float32 numbers; see floats.h. */
#include "util/floats.h"

#include <string.h>

/*
 * The loops are compiled for all processors of the architecture, once more for x86 processors with
 * AVX2, and scale() also for those with AVX-512. A product in double precision has no sum that
 * could be fused with it, so that all versions round alike.
 */
#define LANES 8

typedef int32_t ints __attribute__((vector_size(4 * LANES)));
typedef float floats __attribute__((vector_size(4 * LANES)));
typedef double doubles __attribute__((vector_size(8 * LANES)));

/* Bits of numbers without sign have the order of the numbers, and NaN is the largest. */
static inline __attribute__((always_inline)) uint32_t largest(const float *numbers, int64_t count)
{
	ints most[2] = { 0 };
	int32_t last = 0;
	int64_t i = 0;

	for (; i + 2 * LANES <= count; i += 2 * LANES)
		for (int k = 0; k < 2; k++) {
			ints own, larger;

			memcpy(&own, numbers + i + k * LANES, sizeof(own));
			own &= INT32_MAX;
			larger = own > most[k];
			most[k] = (own & larger) | (most[k] & ~larger);
		}
	for (; i < count; i++) {
		int32_t own;

		memcpy(&own, numbers + i, sizeof(own));
		own &= INT32_MAX;
		last = own > last ? own : last;
	}
	for (int k = 0; k < 2 * LANES; k++) {
		int32_t own = most[k / LANES][k % LANES];

		last = own > last ? own : last;
	}
	return (uint32_t)last;
}

static inline __attribute__((always_inline)) void scale(float *to, const float *from, int64_t count,
							double factor)
{
	int64_t i = 0;

	for (; i + LANES <= count; i += LANES) {
		floats own;

		memcpy(&own, from + i, sizeof(own));
		own = __builtin_convertvector(__builtin_convertvector(own, doubles) * factor,
					      floats);
		memcpy(to + i, &own, sizeof(own));
	}
	for (; i < count; i++)
		to[i] = (float)((double)from[i] * factor);
}

#ifdef __x86_64__
__attribute__((target("avx2"))) static uint32_t largest_wide(const float *numbers, int64_t count)
{
	return largest(numbers, count);
}

__attribute__((target("avx2"))) static void scale_wide(float *to, const float *from, int64_t count,
						       double factor)
{
	scale(to, from, count, factor);
}

/* Eight doubles in one register take two thirds of the time of those in two. */
__attribute__((target("avx512f"))) static void scale_widest(float *to, const float *from,
							    int64_t count, double factor)
{
	scale(to, from, count, factor);
}

static int is_wide(void)
{
	return __builtin_cpu_supports("avx2");
}

static int is_widest(void)
{
	return __builtin_cpu_supports("avx512f");
}
#else
#define largest_wide largest
#define scale_wide   scale
#define scale_widest scale

static int is_wide(void)
{
	return 0;
}

static int is_widest(void)
{
	return 0;
}
#endif

uint32_t wnn_floats_largest(const float *numbers, int64_t count)
{
	return is_wide() ? largest_wide(numbers, count) : largest(numbers, count);
}

void wnn_floats_scale(float *to, const float *from, int64_t count, double factor)
{
	if (is_widest())
		scale_widest(to, from, count, factor);
	else if (is_wide())
		scale_wide(to, from, count, factor);
	else
		scale(to, from, count, factor);
}
