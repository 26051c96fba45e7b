// SPDX-License-Identifier: MIT
/*
 * Products of 8-bit integers with the dot-product instructions of AVX-512 VNNI: four unsigned bytes
 * times four signed bytes are added to an int32. Sums are exact, and results are defined to the
 * bit.
 */
#include "cpu/simd/fill.h"

#include <immintrin.h>

#define INLINE static inline __attribute__((always_inline))
#define LANES  16

/* Numbers beyond this are outside of both 8-bit types, whatever the zero point. */
#define BEYOND 1000.0f

/* The zero point and limits of results, in each lane. */
struct ends {
	__m512i zero, lo, hi;
};

INLINE struct ends ends_of(const struct cpu_finish *f)
{
	return (struct ends){ _mm512_set1_epi32((int)f->zero), _mm512_set1_epi32((int)f->lo),
			      _mm512_set1_epi32((int)f->hi) };
}

/* Returns roundEven(sum * scale) + zero, not limited yet; NaN becomes a number below all limits. */
INLINE __m512i scaled(__m512i sum, __m512 scale, const struct ends *ends)
{
	__m512 v = _mm512_mul_ps(_mm512_cvtepi32_ps(sum), scale);

	/* When an operand is NaN, the result is the second one. */
	v = _mm512_max_ps(v, _mm512_set1_ps(-BEYOND));
	v = _mm512_min_ps(v, _mm512_set1_ps(BEYOND));
	return _mm512_add_epi32(_mm512_cvtps_epi32(v), ends->zero);
}

INLINE __m512i limited(__m512i y, const struct ends *ends)
{
	return _mm512_min_epi32(_mm512_max_epi32(y, ends->lo), ends->hi);
}

/*
 * Converts four vectors of sums, in the order of cpu_dot_channel(), to 64 results in order. The
 * results of unsigned types are from 0 to 255, which the two steps of packing keep.
 */
INLINE __m512i pack(const __m512i sum[4], const float *scale, bool is_signed,
		    const struct ends *ends)
{
	__m512i y[4], low, high;

#pragma GCC unroll 4
	for (int j = 0; j < 4; j++)
		y[j] = limited(scaled(sum[j], _mm512_loadu_ps(scale + j * LANES), ends), ends);
	low = _mm512_packs_epi32(y[0], y[1]);
	high = _mm512_packs_epi32(y[2], y[3]);
	return is_signed ? _mm512_packs_epi16(low, high) : _mm512_packus_epi16(low, high);
}

INLINE __mmask64 first_bytes(int64_t n)
{
	return n >= 64 ? ~0ull : (1ull << n) - 1;
}

/* --- Tiles of a product --- */

INLINE __m512i dword(const uint8_t *at)
{
	int32_t four;

	__builtin_memcpy(&four, at, sizeof(four));
	return _mm512_set1_epi32(four);
}

/* Stores a row of results. */
INLINE void store_row(const struct cpu_dots *t, int row, const int vecs, const __m512i sum[4],
		      const struct ends *ends)
{
	char *to = (char *)t->out + row * t->out_step;

	if (t->raw) {
#pragma GCC unroll 4
		for (int v = 0; v < vecs; v++)
			_mm512_storeu_si512(to + v * 64, sum[v]);
		return;
	}
	if (vecs == 4) {
		_mm512_mask_storeu_epi8(to, first_bytes(t->columns),
					pack(sum, t->finish.scale, t->is_signed, ends));
		return;
	}
#pragma GCC unroll 4
	for (int v = 0; v < vecs; v++) {
		__m512 scale = _mm512_loadu_ps(t->finish.scale + v * LANES);
		__m512i y = limited(scaled(sum[v], scale, ends), ends);

		_mm_mask_storeu_epi8(to + v * LANES, (__mmask16)first_bytes(t->columns - v * LANES),
				     _mm512_cvtepi32_epi8(y));
	}
}

/* @rows and @vecs are constants in each instance, so that sums are in registers. */
INLINE void tile(const struct cpu_dots *t, const int rows, const int vecs)
{
	const __m512i flip = _mm512_set1_epi8((char)t->flip);
	const int8_t *weights = t->weights;
	struct ends ends = ends_of(&t->finish);
	__m512i sum[CPU_DOT_ROWS][4], w[4];

#pragma GCC unroll 16
	for (int r = 0; r < rows; r++)
#pragma GCC unroll 4
		for (int v = 0; v < vecs; v++)
			sum[r][v] = _mm512_loadu_si512(t->finish.bias + v * LANES);
	for (int64_t tap = 0; tap < t->taps; tap++) {
		const uint8_t *const *x = t->rows + tap * CPU_DOT_ROWS;

		for (int64_t k = 0; k < t->depth; k += 4, weights += vecs * 4 * LANES) {
#pragma GCC unroll 4
			for (int v = 0; v < vecs; v++)
				w[v] = _mm512_loadu_si512(weights + v * 4 * LANES);
#pragma GCC unroll 16
			for (int r = 0; r < rows; r++) {
				__m512i a = _mm512_xor_si512(dword(x[r] + k), flip);

#pragma GCC unroll 4
				for (int v = 0; v < vecs; v++)
					sum[r][v] = _mm512_dpbusd_epi32(sum[r][v], a, w[v]);
			}
		}
	}
#pragma GCC unroll 16
	for (int r = 0; r < rows; r++)
		if (r < t->count)
			store_row(t, r, vecs, sum[r], &ends);
}

static void tile_1(const struct cpu_dots *t)
{
	tile(t, 12, 1);
}

static void tile_2(const struct cpu_dots *t)
{
	tile(t, 12, 2);
}

static void tile_3(const struct cpu_dots *t)
{
	tile(t, 6, 3);
}

static void tile_4(const struct cpu_dots *t)
{
	tile(t, 6, 4);
}

/* --- Windows of single channels --- */

/* Interleaves four taps of 64 channels, in the order of cpu_dot_channel(). */
INLINE void interleave(__m512i to[4], const __m512i x[4])
{
	__m512i low[2] = { _mm512_unpacklo_epi8(x[0], x[1]), _mm512_unpacklo_epi8(x[2], x[3]) };
	__m512i high[2] = { _mm512_unpackhi_epi8(x[0], x[1]), _mm512_unpackhi_epi8(x[2], x[3]) };

	to[0] = _mm512_unpacklo_epi16(low[0], low[1]);
	to[1] = _mm512_unpackhi_epi16(low[0], low[1]);
	to[2] = _mm512_unpacklo_epi16(high[0], high[1]);
	to[3] = _mm512_unpackhi_epi16(high[0], high[1]);
}

INLINE void channels(const struct cpu_channel_dots *d, const int64_t groups)
{
	const __m512i flip = _mm512_set1_epi8((char)d->flip);
	__mmask64 mask = first_bytes(d->channels);
	struct ends ends = ends_of(&d->finish);

	for (int64_t i = 0; i < d->count; i++) {
		__m512i sum[4];

#pragma GCC unroll 4
		for (int j = 0; j < 4; j++)
			sum[j] = _mm512_loadu_si512(d->finish.bias + j * LANES);
#pragma GCC unroll 3
		for (int64_t g = 0; g < groups; g++) {
			const int8_t *w = d->weights + g * 256;
			__m512i x[4], q[4];

#pragma GCC unroll 4
			for (int t = 0; t < 4; t++) {
				const int64_t tap = g * 4 + t;

				x[t] = _mm512_maskz_loadu_epi8(mask, d->x[tap] + i * d->step[tap]);
				x[t] = _mm512_xor_si512(x[t], flip);
			}
			interleave(q, x);
#pragma GCC unroll 4
			for (int j = 0; j < 4; j++)
				sum[j] = _mm512_dpbusd_epi32(sum[j], q[j],
							     _mm512_loadu_si512(w + j * 64));
		}
		_mm512_mask_storeu_epi8(d->out + i * d->out_step, mask,
					pack(sum, d->finish.scale, d->is_signed, &ends));
	}
}

static void channel_dots(const struct cpu_channel_dots *d)
{
	if (d->taps <= 12 && d->taps > 8)
		channels(d, 3);
	else
		channels(d, (d->taps + 3) / 4);
}

void cpu_fill_dots_avx512(struct cpu_simd *simd)
{
	static const int rows[] = { 0, 12, 12, 6, 6 };

	for (int v = 0; v < 5; v++)
		simd->dot_rows[v] = rows[v];
	simd->dots[1] = tile_1;
	simd->dots[2] = tile_2;
	simd->dots[3] = tile_3;
	simd->dots[4] = tile_4;
	simd->channel_dots = channel_dots;
}
