// SPDX-License-Identifier: MIT
/*
 * Products of 8-bit integers with the dot-product instructions of AVX-512 VNNI: four unsigned bytes
 * times four signed bytes are added to an int32. Sums are exact, and results are defined to the
 * bit.
 */
#include "cpu/simd/fill.h"

#include <immintrin.h>

#define INLINE	   static inline __attribute__((always_inline))
#define LANES	   16
#define CACHE_LINE 64

/* A number above this exceeds all integers of both 8-bit types, whichever zero point is added. */
#define BEYOND 1000.0f

/* --- From sums to bytes --- */

/* The zero point of results in each 16-bit lane, and their limits in each byte. */
struct ends {
	__m512i zero, lo, hi;
	bool is_signed;
};

INLINE struct ends ends_of(float zero, float lo, float hi, bool is_signed)
{
	return (struct ends){ _mm512_set1_epi16((short)zero), _mm512_set1_epi8((char)(int)lo),
			      _mm512_set1_epi8((char)(int)hi), is_signed };
}

/*
 * Returns v rounded to the nearest integer, halves to the even one, but at most BEYOND. NaN and
 * numbers below the range of int32 become its least integer, which stays below all limits in the
 * saturating steps after this.
 */
INLINE __m512i rounded(__m512 v)
{
	/* When an operand is NaN, the result is the second one. */
	return _mm512_cvtps_epi32(_mm512_min_ps(_mm512_set1_ps(BEYOND), v));
}

/*
 * Packs four vectors of integers to bytes, adds the zero point and limits the results. Each quarter
 * of the result has four bytes of each vector.
 */
INLINE __m512i bytes_of(const __m512i y[4], const struct ends *ends)
{
	__m512i low = _mm512_adds_epi16(_mm512_packs_epi32(y[0], y[1]), ends->zero);
	__m512i high = _mm512_adds_epi16(_mm512_packs_epi32(y[2], y[3]), ends->zero);

	if (ends->is_signed)
		return _mm512_min_epi8(_mm512_max_epi8(_mm512_packs_epi16(low, high), ends->lo),
				       ends->hi);
	return _mm512_min_epu8(_mm512_max_epu8(_mm512_packus_epi16(low, high), ends->lo), ends->hi);
}

/*
 * Converts 64 sums, in the order of cpu_dot_channel(), to bytes in ascending order of their
 * columns.
 */
INLINE __m512i results(const __m512i sum[4], const float *scale, const struct ends *ends)
{
	__m512i y[4];

#pragma GCC unroll 4
	for (int j = 0; j < 4; j++)
		y[j] = rounded(_mm512_mul_ps(_mm512_cvtepi32_ps(sum[j]),
					     _mm512_loadu_ps(scale + j * LANES)));
	return bytes_of(y, ends);
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

/* Stores the sums of a row as they are. */
INLINE void store_raw(const struct cpu_dots *t, int row, const int vecs, const __m512i *sum)
{
#pragma GCC unroll 4
	for (int v = 0; v < vecs; v++)
		_mm512_storeu_si512((char *)t->out + row * t->out_step + v * 64, sum[v]);
}

/*
 * Returns the indices of the 32-bit elements of bytes_of() that belong to row r, in the order of
 * its columns. Each quarter of bytes_of() has @vecs elements of each of 4 / @vecs rows.
 */
INLINE __m512i order_of(const int vecs, const int r)
{
	int32_t from[LANES];

#pragma GCC unroll 16
	for (int i = 0; i < LANES; i++)
		from[i] = (i / vecs % 4 * 4 + i % vecs + r * vecs) % LANES;
	return _mm512_loadu_si512(from);
}

/*
 * Loads the addend's bytes for 4 / @vecs rows, from row `first` on, in the order of bytes_of(); 0
 * for rows that the tile does not have.
 */
INLINE __m512i addend_of(const struct cpu_dots *t, int first, const int vecs)
{
	const int rows = 4 / vecs;
	__m512i bytes = _mm512_setzero_si512();

#pragma GCC unroll 4
	for (int r = 0; r < rows && first + r < t->count; r++) {
		__m512i row = _mm512_maskz_loadu_epi8(first_bytes(t->columns),
						      t->addend + (first + r) * t->addend_step);
		int32_t to[LANES];

		if (vecs == 4)
			return row;
#pragma GCC unroll 16
		for (int i = 0; i < LANES; i++)
			to[i] = i / 4 * vecs + i % 4 % vecs;
		bytes = _mm512_mask_permutexvar_epi32(
			bytes, (__mmask16)(((1 << vecs) - 1) * 0x1111 << r * vecs),
			_mm512_loadu_si512(to), row);
	}
	return bytes;
}

/*
 * Adding this to a number between -1000 and 1000 rounds the number to the nearest integer, halves
 * to the even one: the last bit of the sum counts ones. The sum minus this is the integer.
 */
#define ROUNDING 0x1.8p23f
/*
 * A float from this to below its double is an integer; its low 23 bits are that integer minus this.
 */
#define ONES 0x1p23f

/* The constants of function(), each in all lanes of a vector. */
struct constants {
	__m512 lo, hi, unshift, a_scale, b_scale, b_zero, inverse, rest;
};

INLINE struct constants constants_of(const struct cpu_dots *t)
{
	const struct cpu_finish *f = &t->finish;
	const struct cpu_integers *o = t->after;

	return (struct constants){
		.lo = _mm512_set1_ps(f->lo - f->zero),
		.hi = _mm512_set1_ps(f->hi - f->zero),
		.unshift = _mm512_set1_ps(ROUNDING - (f->zero - (float)o->a_zero)),
		.a_scale = _mm512_set1_ps(o->a_scale),
		.b_scale = _mm512_set1_ps(o->b_scale),
		.b_zero = _mm512_set1_ps(ONES + (float)o->b_zero + (o->b_signed ? 128.0f : 0.0f)),
		.inverse = _mm512_set1_ps(o->inverse),
		.rest = _mm512_set1_ps(o->inverse_rest),
	};
}

/*
 * Computes the operation `after` of struct cpu_dots from v, a vector of scaled sums, and with
 * `adds` from vector j of the addend's bytes. Returns the rounded quotients, to which the zero
 * point is not added yet.
 */
INLINE __m512i function(const struct constants *c, __m512 v, bool adds, __m512i addend, int j)
{
	const __m512i spread = _mm512_set1_epi32((int)0x80808000);
	const __m512i element = _mm512_setr_epi32(0, 1, 2, 3, 0, 1, 2, 3, 0, 1, 2, 3, 0, 1, 2, 3);
	__m512i from =
		_mm512_add_epi32(_mm512_add_epi32(spread, element), _mm512_set1_epi32(4 * j));

	/* When an operand is NaN, the result is the second one. */
	v = _mm512_max_ps(v, c->lo);
	v = _mm512_min_ps(v, c->hi);
	v = _mm512_sub_ps(_mm512_add_ps(v, _mm512_set1_ps(ROUNDING)), c->unshift);
	v = _mm512_mul_ps(v, c->a_scale);
	if (adds) {
		/* Puts bytes below the high bits of ONES, which makes them floats. */
		__m512i b = _mm512_mask_shuffle_epi8((__m512i)_mm512_set1_ps(ONES),
						     0x1111111111111111, addend, from);

		v = _mm512_add_ps(v,
				  _mm512_mul_ps(_mm512_sub_ps((__m512)b, c->b_zero), c->b_scale));
	}
	/* cpu_integers_are_tame() says why this rounds to the integer of the quotient. */
	return _mm512_cvtps_epi32(_mm512_fmadd_ps(v, c->inverse, _mm512_mul_ps(v, c->rest)));
}

/*
 * Does the work of bytes_of() for a tile with the member plain: the zero point is 0, and packing
 * limits the results to their type.
 */
INLINE __m512i plain_bytes_of(const __m512i y[4], const struct ends *ends)
{
	__m512i low = _mm512_packs_epi32(y[0], y[1]), high = _mm512_packs_epi32(y[2], y[3]);

	return ends->is_signed ? _mm512_packs_epi16(low, high) : _mm512_packus_epi16(low, high);
}

/* How the sums of a tile become results: see the members of struct cpu_dots. */
enum finish { FINISH, PLAIN, AFTER };

/*
 * Stores one row of four or three vectors of sums, two rows of two vectors, or four rows of one
 * vector.
 */
INLINE void store_rows(const struct cpu_dots *t, int first, const int vecs, __m512i (*const sum)[4],
		       const struct ends *ends, const struct constants *c, const enum finish how)
{
	const int rows = 4 / vecs;
	__m512i y[4], packed, addend = _mm512_setzero_si512();

	if (how == AFTER && t->addend)
		addend = _mm512_xor_si512(addend_of(t, first, vecs),
					  _mm512_set1_epi8(t->after->b_signed ? -128 : 0));
#pragma GCC unroll 4
	for (int j = 0; j < 4; j++) {
		const int v = j < rows * vecs ? j % vecs : 0, r = j < rows * vecs ? j / vecs : 0;
		__m512 scaled = _mm512_mul_ps(_mm512_cvtepi32_ps(sum[r][v]),
					      _mm512_loadu_ps(t->finish.scale + v * LANES));

		y[j] = how == AFTER ? function(c, scaled, t->addend, addend, j) :
		       how == PLAIN ? _mm512_cvtps_epi32(scaled) :
				      rounded(scaled);
	}
	packed = how == PLAIN ? plain_bytes_of(y, ends) : bytes_of(y, ends);
#pragma GCC unroll 4
	for (int r = 0; r < rows; r++)
		if (first + r < t->count)
			_mm512_mask_storeu_epi8(
				(char *)t->out + (first + r) * t->out_step, first_bytes(t->columns),
				vecs == 4 ? packed :
					    _mm512_permutexvar_epi32(order_of(vecs, r), packed));
}

INLINE void store_all(const struct cpu_dots *t, const int rows, const int vecs,
		      __m512i (*const sum)[4], const struct ends *ends, const struct constants *c,
		      const enum finish how)
{
#pragma GCC unroll 16
	for (int r = 0; r < rows; r += 4 / vecs)
		store_rows(t, r, vecs, sum + r, ends, c, how);
}

/* Stores the results of a tile, which for a raw one are its sums. */
INLINE void store_tile(const struct cpu_dots *t, const int rows, const int vecs,
		       __m512i (*const sum)[4])
{
	const struct cpu_integers *o = t->after;
	const struct ends ends =
		o ? ends_of(o->zero, o->least, o->most, o->least < 0) :
		    ends_of(t->finish.zero, t->finish.lo, t->finish.hi, t->is_signed);
	struct constants c;

	if (t->raw) {
#pragma GCC unroll 16
		for (int r = 0; r < rows; r++)
			if (r < t->count)
				store_raw(t, r, vecs, sum[r]);
		return;
	}
	if (o) {
		c = constants_of(t);
		store_all(t, rows, vecs, sum, &ends, &c, AFTER);
	} else if (t->plain) {
		store_all(t, rows, vecs, sum, &ends, &c, PLAIN);
	} else {
		store_all(t, rows, vecs, sum, &ends, &c, FINISH);
	}
}

/*
 * Computes a tile. @rows and @vecs are constants in each instance, so that sums are in registers.
 * @flips (whether t->flip is not 0) is a constant, too, so that no exclusive or is executed when
 * flip is 0: Intel's processors execute it in the units that multiply, which have no time to spare.
 */
INLINE void tile(const struct cpu_dots *t, const int rows, const int vecs, const bool flips)
{
	const __m512i flip = _mm512_set1_epi8((char)t->flip);
	const int8_t *weights = t->weights, *next = t->next;
	const int64_t between = t->spread - 1;
	__m512i sum[CPU_DOT_ROWS][4], w[4];

#pragma GCC unroll 16
	for (int r = 0; r < rows; r++)
#pragma GCC unroll 4
		for (int v = 0; v < vecs; v++)
			sum[r][v] = _mm512_loadu_si512(t->finish.bias + v * LANES);
	for (int64_t tap = 0; tap < t->taps; tap++) {
		const uint8_t *const *x = t->rows + tap * CPU_DOT_ROWS;

		for (int64_t k = 0; k < t->depth; k += 4, weights += vecs * 4 * LANES) {
			if (!(k & between)) {
				_mm_prefetch((const char *)next, _MM_HINT_T1);
				next += CACHE_LINE;
			}
#pragma GCC unroll 4
			for (int v = 0; v < vecs; v++)
				w[v] = _mm512_loadu_si512(weights + v * 4 * LANES);
#pragma GCC unroll 16
			for (int r = 0; r < rows; r++) {
				__m512i a = dword(x[r] + k);

				if (flips)
					a = _mm512_xor_si512(a, flip);
#pragma GCC unroll 4
				for (int v = 0; v < vecs; v++)
					sum[r][v] = _mm512_dpbusd_epi32(sum[r][v], a, w[v]);
			}
		}
	}
	store_tile(t, rows, vecs, sum);
}

#define TILE(rows, vecs)                                           \
	static void tile_##rows##x##vecs(const struct cpu_dots *t) \
	{                                                          \
		if (t->flip)                                       \
			tile(t, rows, vecs, true);                 \
		else                                               \
			tile(t, rows, vecs, false);                \
	}
/*
 * store_rows() stores four rows of one vector, or two rows of two vectors, so that the numbers of
 * rows are multiples of these.
 */
TILE(4, 1)
TILE(12, 1)
TILE(2, 2)
TILE(6, 2)
TILE(12, 2)
TILE(1, 3)
TILE(2, 3)
TILE(4, 3)
TILE(6, 3)
TILE(1, 4)
TILE(2, 4)
TILE(4, 4)
TILE(6, 4)

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

/* Reads the taps of group g for pixel i, interleaved; the last tap only if @taps is 4. */
INLINE void read_group(const struct cpu_channel_dots *d, int64_t i, int64_t g, const int taps,
		       __mmask64 mask, __m512i to[4])
{
	const __m512i flip = _mm512_set1_epi8((char)d->flip);
	__m512i x[4] = { [3] = _mm512_setzero_si512() };

#pragma GCC unroll 4
	for (int t = 0; t < taps; t++) {
		const int64_t tap = g * 4 + t;

		x[t] = _mm512_maskz_loadu_epi8(mask, d->x[tap] + i * d->step[tap]);
		x[t] = _mm512_xor_si512(x[t], flip);
	}
	interleave(to, x);
}

/* Adds the products of a group. */
INLINE void add_group(const struct cpu_channel_dots *d, int64_t g, const __m512i q[4],
		      __m512i sum[4])
{
#pragma GCC unroll 4
	for (int j = 0; j < 4; j++)
		sum[j] = _mm512_dpbusd_epi32(sum[j], q[j],
					     _mm512_loadu_si512(d->weights + g * 256 + j * 64));
}

INLINE void channels(const struct cpu_channel_dots *d, const int64_t groups)
{
	__mmask64 mask = first_bytes(d->channels);
	const struct ends ends = ends_of(d->finish.zero, d->finish.lo, d->finish.hi, d->is_signed);

	for (int64_t i = 0; i < d->count; i++) {
		__m512i sum[4], q[4];

#pragma GCC unroll 4
		for (int j = 0; j < 4; j++)
			sum[j] = _mm512_loadu_si512(d->finish.bias + j * LANES);
#pragma GCC unroll 3
		for (int64_t g = 0; g < groups; g++) {
			read_group(d, i, g, 4, mask, q);
			add_group(d, g, q, sum);
		}
		_mm512_mask_storeu_epi8(d->out + i * d->out_step, mask,
					results(sum, d->finish.scale, &ends));
	}
}

/* Does the work of channels() for three groups, of which the next pixel reads @shared again. */
INLINE void sliding(const struct cpu_channel_dots *d, const int shared)
{
	__mmask64 mask = first_bytes(d->channels);
	const struct ends ends = ends_of(d->finish.zero, d->finish.lo, d->finish.hi, d->is_signed);
	__m512i q[3][4];

#pragma GCC unroll 2
	for (int g = 0; g < shared; g++)
		read_group(d, 0, g, 3, mask, q[g]);
	for (int64_t i = 0; i < d->count; i++) {
		__m512i sum[4];

#pragma GCC unroll 4
		for (int j = 0; j < 4; j++)
			sum[j] = _mm512_loadu_si512(d->finish.bias + j * LANES);
#pragma GCC unroll 3
		for (int g = 0; g < 3; g++) {
			if (g >= shared)
				read_group(d, i, g, 3, mask, q[g]);
			add_group(d, g, q[g], sum);
		}
#pragma GCC unroll 2
		for (int g = 0; g < shared; g++)
#pragma GCC unroll 4
			for (int j = 0; j < 4; j++)
				q[g][j] = q[g + 3 - shared][j];
		_mm512_mask_storeu_epi8(d->out + i * d->out_step, mask,
					results(sum, d->finish.scale, &ends));
	}
}

static void channel_dots(const struct cpu_channel_dots *d)
{
	if (d->shared == 2)
		sliding(d, 2);
	else if (d->shared == 1)
		sliding(d, 1);
	else if (d->taps <= 12 && d->taps > 8)
		channels(d, 3);
	else
		channels(d, (d->taps + 3) / 4);
}

/*
 * Sets the function for tiles of @rows rows, and of fewer rows down to the first number of rows
 * that has a function already.
 */
static void set_tiles(struct cpu_simd *simd, int vecs, int rows, cpu_dots_fn function)
{
	for (int r = rows; r && !simd->dots[vecs][r]; r--)
		simd->dots[vecs][r] = function;
	simd->dot_rows[vecs] = rows;
}

void cpu_fill_dots_avx512(struct cpu_simd *simd)
{
	set_tiles(simd, 1, 4, tile_4x1);
	set_tiles(simd, 1, 12, tile_12x1);
	set_tiles(simd, 2, 2, tile_2x2);
	set_tiles(simd, 2, 6, tile_6x2);
	set_tiles(simd, 2, 12, tile_12x2);
	set_tiles(simd, 3, 1, tile_1x3);
	set_tiles(simd, 3, 2, tile_2x3);
	set_tiles(simd, 3, 4, tile_4x3);
	set_tiles(simd, 3, 6, tile_6x3);
	set_tiles(simd, 4, 1, tile_1x4);
	set_tiles(simd, 4, 2, tile_2x4);
	set_tiles(simd, 4, 4, tile_4x4);
	set_tiles(simd, 4, 6, tile_6x4);
	simd->channel_dots = channel_dots;
}
