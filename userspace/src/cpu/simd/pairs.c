// SPDX-License-Identifier: MIT
/*
 * Products of 8-bit integers on processors with AVX2 or AVX-512 that have no dot-product
 * instructions of bytes: bytes are widened to 16 bits, and each instruction multiplies pairs of
 * them and adds the two products as an int32. Sums are exact, and results are defined to the bit.
 * (The instruction that multiplies pairs of bytes saturates sums at 16 bits.)
 */
#include "cpu/simd/fill.h"

#include <immintrin.h>
#include <string.h>

#define INLINE static inline __attribute__((always_inline))
#define STRIP  16 /* columns whose weights are together */
#define BLOCK  4  /* the most strips of a call */

/*
 * A tile has two vectors of sums for each row: with AVX2 those of a strip, with AVX-512 those of
 * two strips. They are in 12 of 16 registers, or in 24 of 32.
 *
 * CHUNK: elements of a row that are multiplied before the next tile is. Their weights, 8 KiB, and
 * as many elements of all rows of the tile stay in the first-level cache.
 */
#ifdef __AVX512BW__
#define ROWS   12
#define STRIPS 2
#define CHUNK  256
#else
#define ROWS   6
#define STRIPS 1
#define CHUNK  512
#endif

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

/* Stores the results of all rows for one strip as bytes, two rows at a time. */
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

#ifdef __AVX512BW__
typedef __m512i sums_t;

/* Returns the weights of a pair of elements for a vector of columns, widened to 16 bits. */
INLINE sums_t weights_of(const int8_t *weights)
{
	return _mm512_cvtepi8_epi16(_mm256_loadu_si256((const void *)weights));
}

/* Returns two elements of a row in all lanes. */
INLINE sums_t pair(const int16_t *at)
{
	int32_t two;

	memcpy(&two, at, sizeof(two));
	return _mm512_set1_epi32(two);
}

INLINE sums_t sum_of(sums_t sum, sums_t a, sums_t b)
{
	return _mm512_add_epi32(sum, _mm512_madd_epi16(a, b));
}
#else
typedef __m256i sums_t;

/* These three functions do with AVX2 what those above do with AVX-512. */
INLINE sums_t weights_of(const int8_t *weights)
{
	return widened(weights);
}

INLINE sums_t pair(const int16_t *at)
{
	int32_t two;

	memcpy(&two, at, sizeof(two));
	return _mm256_set1_epi32(two);
}

INLINE sums_t sum_of(sums_t sum, sums_t a, sums_t b)
{
	return _mm256_add_epi32(sum, _mm256_madd_epi16(a, b));
}
#endif

#define VECTOR (int)(sizeof(sums_t) / sizeof(int32_t)) /* columns of a vector of sums */

/* A tile: n elements of its rows, from x on, and the weights of its first vector of columns. */
struct tile {
	const int16_t *x;
	const int8_t *weights;
	int32_t *sums;			 /* each row has BLOCK * STRIP of them */
	int64_t n, x_step, weights_step; /* between rows, and between vectors of columns */
};

/*
 * Adds the products of the tile. @rows and @vectors are constants in each instance, so that sums
 * are in registers.
 */
INLINE void add_products(const struct tile *t, const int rows, const int vectors)
{
	const int8_t *weights = t->weights;
	sums_t sums[ROWS][2];

#pragma GCC unroll 12
	for (int r = 0; r < rows; r++)
#pragma GCC unroll 2
		for (int v = 0; v < vectors; v++)
			memcpy(&sums[r][v], t->sums + r * BLOCK * STRIP + v * VECTOR,
			       sizeof(sums_t));
	for (int64_t k = 0; k < t->n; k += 2, weights += 2 * STRIP) {
		sums_t w[2];

#pragma GCC unroll 2
		for (int v = 0; v < vectors; v++)
			w[v] = weights_of(weights + v * t->weights_step);
#pragma GCC unroll 12
		for (int r = 0; r < rows; r++) {
			sums_t a = pair(t->x + r * t->x_step + k);

#pragma GCC unroll 2
			for (int v = 0; v < vectors; v++)
				sums[r][v] = sum_of(sums[r][v], a, w[v]);
		}
	}
#pragma GCC unroll 12
	for (int r = 0; r < rows; r++)
#pragma GCC unroll 2
		for (int v = 0; v < vectors; v++)
			memcpy(t->sums + r * BLOCK * STRIP + v * VECTOR, &sums[r][v],
			       sizeof(sums_t));
}

#define PRODUCTS(rows, vectors)                                       \
	static void products_##rows##x##vectors(const struct tile *t) \
	{                                                             \
		add_products(t, rows, vectors);                       \
	}
#define SIX(vectors)         \
	PRODUCTS(1, vectors) \
	PRODUCTS(2, vectors) \
	PRODUCTS(3, vectors) \
	PRODUCTS(4, vectors) \
	PRODUCTS(5, vectors) \
	PRODUCTS(6, vectors)
SIX(2)

typedef void (*products_fn)(const struct tile *t);

/* Functions by the vectors of columns of a tile, and by its rows. */
#ifdef __AVX512BW__
SIX(1)
#define TWELVE(vectors)       \
	PRODUCTS(7, vectors)  \
	PRODUCTS(8, vectors)  \
	PRODUCTS(9, vectors)  \
	PRODUCTS(10, vectors) \
	PRODUCTS(11, vectors) \
	PRODUCTS(12, vectors)
TWELVE(1)
TWELVE(2)
static const products_fn products[3][ROWS + 1] = {
	{ NULL },
	{ NULL, products_1x1, products_2x1, products_3x1, products_4x1, products_5x1, products_6x1,
	  products_7x1, products_8x1, products_9x1, products_10x1, products_11x1, products_12x1 },
	{ NULL, products_1x2, products_2x2, products_3x2, products_4x2, products_5x2, products_6x2,
	  products_7x2, products_8x2, products_9x2, products_10x2, products_11x2, products_12x2 },
};
#else
static const products_fn products[3][ROWS + 1] = {
	[2] = { NULL, products_1x2, products_2x2, products_3x2, products_4x2, products_5x2,
		products_6x2 },
};
#endif

/*
 * Multiplies t->count rows with the columns of up to four strips, in chunks of the rows. All tiles
 * of a strip, or of two, read their weights before the next strips are read.
 */
static void block(const struct cpu_dots *t)
{
	int strips = (t->columns + STRIP - 1) / STRIP;
	int64_t length = t->taps * t->depth;
	__m256i sums[CPU_DOT_ROWS][BLOCK][2];
	struct tile tile = { .x_step = length,
			     .weights_step = STRIPS == 1 ? STRIP : length * STRIP };

	for (int r = 0; r < t->count; r++)
		memcpy(sums[r], t->finish.bias, (size_t)strips * sizeof(sums[r][0]));
	for (int64_t k = 0; k < length; k += CHUNK) {
		tile.n = length - k < CHUNK ? length - k : CHUNK;
		for (int s = 0; s < strips; s += STRIPS) {
			int vectors = (strips - s < STRIPS ? strips - s : STRIPS) * STRIP / VECTOR;

			tile.weights = t->weights + (s * length + k) * STRIP;
			for (int r = 0; r < t->count; r += ROWS) {
				int rows = t->count - r < ROWS ? t->count - r : ROWS;

				tile.x = t->wide + r * length + k;
				tile.sums = (int32_t *)sums[r][s];
				products[vectors][rows](&tile);
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

#define MAX_TAPS 32 /* the most taps whose weights are widened once for all pixels */

/*
 * Computes n channels, at most 16, from `from` on, of all pixels. @taps: the number of taps,
 * rounded up to an even one, at most MAX_TAPS; it is a constant in the instance for 3x3 windows.
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

void LEVEL_TABLE(fill_pairs)(struct cpu_simd *simd)
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
