// SPDX-License-Identifier: MIT
/*
 * Products of 8-bit integers on processors with AVX2 that have no dot-product instructions of
 * bytes: bytes are widened to 16 bits, and each instruction multiplies pairs of them and adds the
 * two products as an int32. Sums are exact, and results are defined to the bit. (The instruction
 * that multiplies pairs of bytes saturates sums at 16 bits.)
 */
#include "cpu/simd/fill.h"

#include <immintrin.h>
#include <string.h>

#define INLINE static inline __attribute__((always_inline))
#define STRIP  16 /* columns of two vectors of sums */
#define ROWS   6  /* rows of a tile, whose sums are in 12 of 16 registers */
#define BLOCK  4  /* the most strips of a call */
/*
 * Elements of a row that are multiplied before the next strip is: the weights of a strip, 8 KiB,
 * and as many elements of six rows stay in the first-level cache.
 */
#define CHUNK 512

/* Numbers above this are above both 8-bit types, whatever the zero point. */
#define BEYOND 1000.0f

/* --- From sums to bytes --- */

/* The zero point of results in each 16-bit lane, and their limits in each byte. */
struct ends {
	__m256i zero, lo, hi;
	bool is_signed;
};

INLINE struct ends ends_of(float zero, float lo, float hi, bool is_signed)
{
	return (struct ends){ _mm256_set1_epi16((short)zero), _mm256_set1_epi8((char)(int)lo),
			      _mm256_set1_epi8((char)(int)hi), is_signed };
}

/*
 * Returns roundEven(v). Numbers below all limits and NaN become the least integer, which stays
 * below all limits in the saturating steps after this.
 */
INLINE __m256i rounded(__m256 v)
{
	/* When an operand is NaN, the result is the second one. */
	return _mm256_cvtps_epi32(_mm256_min_ps(_mm256_set1_ps(BEYOND), v));
}

/* Packs two rows of 16 bits to bytes: the first row is in the low half of the result. */
INLINE __m256i bytes_of(__m256i first, __m256i second, const struct ends *ends)
{
	__m256i v;

	first = _mm256_adds_epi16(first, ends->zero);
	second = _mm256_adds_epi16(second, ends->zero);
	if (ends->is_signed)
		v = _mm256_min_epi8(_mm256_max_epi8(_mm256_packs_epi16(first, second), ends->lo),
				    ends->hi);
	else
		v = _mm256_min_epu8(_mm256_max_epu8(_mm256_packus_epi16(first, second), ends->lo),
				    ends->hi);
	return _mm256_permute4x64_epi64(v, _MM_SHUFFLE(3, 1, 2, 0));
}

INLINE __m256 scaled(__m256i sum, const float *scale)
{
	return _mm256_mul_ps(_mm256_cvtepi32_ps(sum), _mm256_loadu_ps(scale));
}

/* Returns the results of a strip's sums, of 16 bits and in ascending order of their columns. */
INLINE __m256i shorts_of(const __m256i sum[2], const float *scale)
{
	return _mm256_packs_epi32(rounded(scaled(sum[0], scale)),
				  rounded(scaled(sum[1], scale + 8)));
}

/* Loads n of 16 bytes; the others are 0. */
INLINE __m128i load_bytes(const void *from, int n)
{
	uint8_t copy[STRIP] = { 0 };

	if (n >= STRIP)
		return _mm_loadu_si128(from);
	memcpy(copy, from, (size_t)n);
	return _mm_loadu_si128((const __m128i *)copy);
}

INLINE void store_bytes(void *to, __m128i v, int n)
{
	uint8_t copy[STRIP];

	if (n >= STRIP) {
		_mm_storeu_si128(to, v);
		return;
	}
	_mm_storeu_si128((__m128i *)copy, v);
	memcpy(to, copy, (size_t)n);
}

/* The constants of the operation after a product, each in all lanes of a vector. */
struct constants {
	__m256 lo, hi, shift, a_scale, b_scale, inverse, rest;
	__m256i b_zero;
	__m128i b_flip;
};

INLINE struct constants constants_of(const struct cpu_dots *t)
{
	const struct cpu_finish *f = &t->finish;
	const struct cpu_integers *o = t->after;

	return (struct constants){
		.lo = _mm256_set1_ps(f->lo - f->zero),
		.hi = _mm256_set1_ps(f->hi - f->zero),
		.shift = _mm256_set1_ps(f->zero - (float)o->a_zero),
		.a_scale = _mm256_set1_ps(o->a_scale),
		.b_scale = _mm256_set1_ps(o->b_scale),
		.inverse = _mm256_set1_ps(o->inverse),
		.rest = _mm256_set1_ps(o->inverse_rest),
		.b_zero = _mm256_set1_epi32(o->b_zero + (o->b_signed ? 128 : 0)),
		.b_flip = _mm_set1_epi8(o->b_signed ? -128 : 0),
	};
}

/*
 * Computes t->after from v, a vector of scaled sums, and with `adds` from as many bytes of the
 * addend, widened to 32 bits. Returns the rounded quotients, to which the zero point is not added
 * yet.
 */
INLINE __m256i function(const struct constants *c, __m256 v, bool adds, __m256i bytes)
{
	/* When an operand is NaN, the result is the second one. */
	v = _mm256_max_ps(v, c->lo);
	v = _mm256_min_ps(v, c->hi);
	v = _mm256_add_ps(_mm256_round_ps(v, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC),
			  c->shift);
	v = _mm256_mul_ps(v, c->a_scale);
	if (adds) {
		__m256 b = _mm256_cvtepi32_ps(_mm256_sub_epi32(bytes, c->b_zero));

		v = _mm256_add_ps(v, _mm256_mul_ps(b, c->b_scale));
	}
	/* cpu_integers_are_tame() says why this rounds to the integer of the quotient. */
	return _mm256_cvtps_epi32(_mm256_fmadd_ps(v, c->inverse, _mm256_mul_ps(v, c->rest)));
}

/* Does the work of shorts_of() for results of t->after. @addend: n bytes, or NULL. */
INLINE __m256i shorts_after(const struct constants *c, const __m256i sum[2], const float *scale,
			    const uint8_t *addend, int n)
{
	const __m256i none = _mm256_setzero_si256();
	__m256i wide = none;

	if (addend)
		wide = _mm256_cvtepu8_epi16(_mm_xor_si128(load_bytes(addend, n), c->b_flip));
	return _mm256_packs_epi32(
		function(c, scaled(sum[0], scale), addend, _mm256_unpacklo_epi16(wide, none)),
		function(c, scaled(sum[1], scale + 8), addend, _mm256_unpackhi_epi16(wide, none)));
}

/* Stores the results of one row's sums, as bytes or, of a raw tile, as they are. */
INLINE void store_rows(const struct cpu_dots *t, int strip, __m256i (*const sums)[BLOCK][2],
		       const struct ends *ends, const struct constants *c)
{
	const float *scale = t->finish.scale + (int64_t)strip * STRIP;
	int n = t->columns - strip * STRIP;

	for (int r = 0; r < t->count; r += 2) {
		char *out = (char *)t->out + r * t->out_step + strip * STRIP;
		bool two = r + 1 < t->count;
		__m256i v[2] = { 0 };

		for (int i = 0; i < 1 + two; i++) {
			const uint8_t *addend = t->addend;

			if (addend)
				addend += (r + i) * t->addend_step + strip * STRIP;
			v[i] = t->after ? shorts_after(c, sums[r + i][strip], scale, addend, n) :
					  shorts_of(sums[r + i][strip], scale);
		}
		v[0] = bytes_of(v[0], v[1], ends);
		store_bytes(out, _mm256_castsi256_si128(v[0]), n);
		if (two)
			store_bytes(out + t->out_step, _mm256_extracti128_si256(v[0], 1), n);
	}
}

static void store_block(const struct cpu_dots *t, int strips, __m256i (*const sums)[BLOCK][2])
{
	const struct cpu_integers *o = t->after;
	const struct ends ends =
		o ? ends_of(o->zero, o->least, o->most, o->least < 0) :
		    ends_of(t->finish.zero, t->finish.lo, t->finish.hi, t->is_signed);
	struct constants c = { 0 };

	for (int r = 0; r < t->count && t->raw; r++)
		memcpy((char *)t->out + r * t->out_step, sums[r],
		       (size_t)strips * sizeof(sums[r][0]));
	if (t->raw)
		return;
	if (o)
		c = constants_of(t);
	for (int s = 0; s < strips; s++)
		store_rows(t, s, sums, &ends, &c);
}

/* --- Tiles of a product --- */

/* Returns 16 weights, widened to 16 bits. */
INLINE __m256i widened(const int8_t *weights)
{
	return _mm256_cvtepi8_epi16(_mm_loadu_si128((const void *)weights));
}

/* Returns two elements of a row in all lanes. */
INLINE __m256i pair(const int16_t *at)
{
	int32_t two;

	memcpy(&two, at, sizeof(two));
	return _mm256_set1_epi32(two);
}

/*
 * Adds the products of n elements of @rows rows, from x on, with the weights of a strip. @rows is
 * a constant in each instance, so that sums are in registers.
 */
INLINE void add_products(const int16_t *x, int64_t step, const int8_t *weights, int64_t n,
			 const int rows, __m256i (*sums)[BLOCK][2])
{
	__m256i sum[ROWS][2];

#pragma GCC unroll 6
	for (int r = 0; r < rows; r++) {
		sum[r][0] = sums[r][0][0];
		sum[r][1] = sums[r][0][1];
	}
	for (int64_t k = 0; k < n; k += 2, weights += 2 * STRIP) {
		__m256i low = widened(weights), high = widened(weights + STRIP);

#pragma GCC unroll 6
		for (int r = 0; r < rows; r++) {
			__m256i a = pair(x + r * step + k);

			sum[r][0] = _mm256_add_epi32(sum[r][0], _mm256_madd_epi16(a, low));
			sum[r][1] = _mm256_add_epi32(sum[r][1], _mm256_madd_epi16(a, high));
		}
	}
#pragma GCC unroll 6
	for (int r = 0; r < rows; r++) {
		sums[r][0][0] = sum[r][0];
		sums[r][0][1] = sum[r][1];
	}
}

#define PRODUCTS(rows)                                                                     \
	static void products_##rows(const int16_t *x, int64_t step, const int8_t *weights, \
				    int64_t n, __m256i(*sums)[BLOCK][2])                   \
	{                                                                                  \
		add_products(x, step, weights, n, rows, sums);                             \
	}
PRODUCTS(1)
PRODUCTS(2)
PRODUCTS(3)
PRODUCTS(4)
PRODUCTS(5)
PRODUCTS(6)

typedef void (*products_fn)(const int16_t *x, int64_t step, const int8_t *weights, int64_t n,
			    __m256i (*sums)[BLOCK][2]);

static const products_fn products[ROWS + 1] = {
	[1] = products_1, [2] = products_2, [3] = products_3,
	[4] = products_4, [5] = products_5, [6] = products_6
};

/*
 * Multiplies t->count rows with the columns of up to four strips, in chunks of the rows. All tiles
 * of a strip read its weights before the next strip is read.
 */
static void block(const struct cpu_dots *t)
{
	int strips = (t->columns + STRIP - 1) / STRIP;
	int64_t length = t->taps * t->depth;
	__m256i sums[CPU_DOT_ROWS][BLOCK][2];

	for (int r = 0; r < t->count; r++)
		memcpy(sums[r], t->finish.bias, (size_t)strips * sizeof(sums[r][0]));
	for (int64_t k = 0; k < length; k += CHUNK) {
		int64_t n = length - k < CHUNK ? length - k : CHUNK;

		for (int s = 0; s < strips; s++) {
			const int8_t *weights = t->weights + (s * length + k) * STRIP;

			for (int r = 0; r < t->count; r += ROWS) {
				int rows = t->count - r < ROWS ? t->count - r : ROWS;

				products[rows](t->wide + r * length + k, length, weights, n,
					       (void *)&sums[r][s]);
			}
		}
	}
	store_block(t, strips, sums);
}

/* --- Windows of single channels --- */

/* Reads n of 16 channels, widened to 16 bits; the others are 0 or their flip. */
INLINE __m256i channels_of(const uint8_t *from, const int n, __m128i flip, const bool flips)
{
	__m128i x = load_bytes(from, n);

	return _mm256_cvtepu8_epi16(flips ? _mm_xor_si128(x, flip) : x);
}

/* Adds the products of two taps of 16 channels with their weights. */
INLINE void add_taps(__m256i sum[2], __m256i a, __m256i b, __m256i low, __m256i high)
{
	sum[0] = _mm256_add_epi32(sum[0], _mm256_madd_epi16(_mm256_unpacklo_epi16(a, b), low));
	sum[1] = _mm256_add_epi32(sum[1], _mm256_madd_epi16(_mm256_unpackhi_epi16(a, b), high));
}

#define MAX_TAPS 32 /* taps whose weights are widened once for all pixels */

/*
 * Computes up to 16 channels, from `from` on, of all pixels: n of them. @taps: their even number,
 * at most MAX_TAPS, which is a constant in the instances for common windows.
 */
INLINE void channels(const struct cpu_channel_dots *d, int64_t from, const int n, const bool flips,
		     const int taps)
{
	const struct ends ends = ends_of(d->finish.zero, d->finish.lo, d->finish.hi, d->is_signed);
	const __m128i flip = _mm_set1_epi8((char)d->flip);
	const uint8_t *x[MAX_TAPS];
	int64_t step[MAX_TAPS];
	__m256i weights[MAX_TAPS], bias[2];

	for (int t = 0; t < taps; t++) {
		const int8_t *w = d->weights + (int64_t)t / 2 * 128 + from * 2 + t % 2 * STRIP;

		x[t] = d->x[t] + from;
		step[t] = d->step[t];
		weights[t] = widened(w);
	}
	bias[0] = _mm256_loadu_si256((const void *)(d->finish.bias + from));
	bias[1] = _mm256_loadu_si256((const void *)(d->finish.bias + from + 8));
	for (int64_t i = 0; i < d->count; i++) {
		__m256i sum[2] = { bias[0], bias[1] };

#pragma GCC unroll 5
		for (int t = 0; t < taps; t += 2) {
			__m256i a = channels_of(x[t], n, flip, flips);
			__m256i b = channels_of(x[t + 1], n, flip, flips);

			add_taps(sum, a, b, weights[t], weights[t + 1]);
		}
		for (int t = 0; t < taps; t++)
			x[t] += step[t];
		sum[0] = shorts_of(sum, d->finish.scale + from);
		store_bytes(d->out + i * d->out_step + from,
			    _mm256_castsi256_si128(bytes_of(sum[0], sum[0], &ends)), n);
	}
}

/* Computes channels() for windows of more taps, whose weights are widened for each pixel. */
static void many_taps(const struct cpu_channel_dots *d, int64_t from, int n)
{
	const struct ends ends = ends_of(d->finish.zero, d->finish.lo, d->finish.hi, d->is_signed);
	const __m128i flip = _mm_set1_epi8((char)d->flip);

	for (int64_t i = 0; i < d->count; i++) {
		__m256i sum[2];

		memcpy(sum, d->finish.bias + from, sizeof(sum));
		for (int64_t t = 0; t < d->taps; t += 2) {
			const int8_t *w = d->weights + t * 64 + from * 2;
			__m256i a = channels_of(d->x[t] + i * d->step[t] + from, n, flip, true);
			__m256i b =
				channels_of(d->x[t + 1] + i * d->step[t + 1] + from, n, flip, true);

			add_taps(sum, a, b, widened(w), widened(w + STRIP));
		}
		sum[0] = shorts_of(sum, d->finish.scale + from);
		store_bytes(d->out + i * d->out_step + from,
			    _mm256_castsi256_si128(bytes_of(sum[0], sum[0], &ends)), n);
	}
}

static void channel_dots(const struct cpu_channel_dots *d)
{
	int taps = (int)((d->taps + 1) / 2 * 2);

	for (int64_t c = 0; c < d->channels; c += STRIP) {
		int n = d->channels - c < STRIP ? (int)(d->channels - c) : STRIP;

		if (d->taps > MAX_TAPS)
			many_taps(d, c, n);
		else if (n < STRIP || d->flip)
			channels(d, c, n, true, taps);
		else if (taps == 10)
			channels(d, c, STRIP, false, 10);
		else
			channels(d, c, STRIP, false, taps);
	}
}

static void widen_row(int16_t *to, const uint8_t *from, uint8_t flip, int64_t n)
{
	const __m128i flips = _mm_set1_epi8((char)flip);
	int64_t i = 0;

	for (; i + STRIP <= n; i += STRIP) {
		__m128i x = _mm_loadu_si128((const void *)(from + i));

		_mm256_storeu_si256((void *)(to + i),
				    _mm256_cvtepu8_epi16(_mm_xor_si128(x, flips)));
	}
	for (; i < n; i++)
		to[i] = from[i] ^ flip;
}

void cpu_fill_pairs_avx2(struct cpu_simd *simd)
{
	simd->pairs = true;
	simd->widen_row = widen_row;
	simd->channel_dots = channel_dots;
	for (int vecs = 1; vecs <= BLOCK; vecs++) {
		simd->dot_rows[vecs] = CPU_DOT_ROWS;
		for (int rows = 1; rows <= CPU_DOT_ROWS; rows++)
			simd->dots[vecs][rows] = block;
	}
}
