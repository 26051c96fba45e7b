// SPDX-License-Identifier: MIT
/*
 * Converts float16 to and from float32. The last elements, which fill no vector, are copied to a
 * vector, so that the same instructions compute them.
 */
#include <string.h>

#include "cpu/simd/simd.h"
#include "cpu/simd/fill.h"
#include "util/float16.h"

static inline void narrow(uint16_t *to, const float *from)
{
#if defined(__AVX512F__)
	_mm256_storeu_si256((__m256i *)to,
			    _mm512_cvtps_ph(_mm512_loadu_ps(from),
					    _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC));
#elif defined(__F16C__)
	_mm_storeu_si128((__m128i *)to,
			 _mm256_cvtps_ph(_mm256_loadu_ps(from), _MM_FROUND_TO_NEAREST_INT));
#else
	for (int i = 0; i < LANES; i++)
		to[i] = wnn_float_to_half(from[i]);
#endif
}

static inline void widen(float *to, const uint16_t *from)
{
#if defined(__AVX512F__)
	_mm512_storeu_ps(to, _mm512_cvtph_ps(_mm256_loadu_si256((const __m256i *)from)));
#elif defined(__F16C__)
	_mm256_storeu_ps(to, _mm256_cvtph_ps(_mm_loadu_si128((const __m128i *)from)));
#else
	for (int i = 0; i < LANES; i++)
		to[i] = wnn_half_to_float(from[i]);
#endif
}

static void to_halves(uint16_t *y, const float *x, int64_t n)
{
	float rest[LANES] = { 0 };
	uint16_t narrowed[LANES];
	int64_t i;

	for (i = 0; i + LANES <= n; i += LANES)
		narrow(y + i, x + i);
	if (i == n)
		return;
	memcpy(rest, x + i, (size_t)(n - i) * sizeof(*x));
	narrow(narrowed, rest);
	memcpy(y + i, narrowed, (size_t)(n - i) * sizeof(*y));
}

static void from_halves(float *y, const uint16_t *x, int64_t n)
{
	uint16_t rest[LANES] = { 0 };
	float widened[LANES];
	int64_t i;

	for (i = 0; i + LANES <= n; i += LANES)
		widen(y + i, x + i);
	if (i == n)
		return;
	memcpy(rest, x + i, (size_t)(n - i) * sizeof(*x));
	widen(widened, rest);
	memcpy(y + i, widened, (size_t)(n - i) * sizeof(*y));
}

static void round_halves(float *y, int64_t n)
{
	uint16_t narrowed[LANES];
	float rest[LANES] = { 0 };
	int64_t i;

	for (i = 0; i + LANES <= n; i += LANES) {
		narrow(narrowed, y + i);
		widen(y + i, narrowed);
	}
	if (i == n)
		return;
	memcpy(rest, y + i, (size_t)(n - i) * sizeof(*y));
	narrow(narrowed, rest);
	widen(rest, narrowed);
	memcpy(y + i, rest, (size_t)(n - i) * sizeof(*y));
}

void LEVEL_TABLE(fill_half)(struct cpu_simd *simd)
{
	simd->to_halves = to_halves;
	simd->from_halves = from_halves;
	simd->round_halves = round_halves;
}
