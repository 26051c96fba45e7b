// SPDX-License-Identifier: MIT
/*
 * Loops over 8-bit integers whose results are defined to the bit: this file is compiled without
 * fused multiply-adds.
 */
#include "cpu/simd/simd.h"
#include "cpu/simd/fill.h"
#include "ir/ir.h"

#define INLINE static inline __attribute__((always_inline))

/*
 * Adding and subtracting this number rounds a number that is well below it to the nearest integer,
 * halves to the even one.
 */
#define WHOLE 0x1.8p23f
/* A number beyond this is outside of both 8-bit types, whichever zero point is added. */
#define BEYOND 1000.0f

static inline float rounded(float v)
{
	v = v < -BEYOND ? -BEYOND : v;
	v = v > BEYOND ? BEYOND : v;
	return (v + WHOLE) - WHOLE;
}

static inline uint8_t limited(float v, float lo, float hi)
{
	v = v < lo ? lo : v;
	v = v > hi ? hi : v;
	return (uint8_t)(int32_t)v;
}

static void finish(const struct cpu_finish *f, uint8_t *restrict y, const int32_t *restrict sums,
		   int64_t pixels, int64_t n)
{
	const float *restrict scale = f->scale;
	const int32_t *restrict bias = f->bias;
	float zero = f->zero, lo = f->lo, hi = f->hi;

	for (int64_t p = 0; p < pixels; p++, y += n, sums += n)
		for (int64_t i = 0; i < n; i++)
			y[i] = limited(rounded((float)(sums[i] + bias[i]) * scale[i]) + zero, lo,
				       hi);
}

/* --- Finishing of float32 sums that are integral: in chunks that fit the first-level cache --- */

#define CHUNK 512

static void add_sums(int32_t *restrict total, const float *restrict sums,
		     const int32_t *restrict before, int64_t n)
{
	if (before)
		for (int64_t i = 0; i < n; i++)
			total[i] = (int32_t)sums[i] + before[i];
	else
		for (int64_t i = 0; i < n; i++)
			total[i] = (int32_t)sums[i];
}

static void add_bias(int32_t *restrict total, const int32_t *restrict bias, bool each, int64_t n)
{
	const int32_t all = each ? 0 : *bias;

	if (each)
		for (int64_t i = 0; i < n; i++)
			total[i] += bias[i];
	else
		for (int64_t i = 0; i < n; i++)
			total[i] += all;
}

static void requantize(const struct cpu_finish *f, uint8_t *restrict y,
		       const int32_t *restrict total, const float *restrict scale, bool each,
		       int64_t n)
{
	const float zero = f->zero, lo = f->lo, hi = f->hi, all = *scale;

	if (each)
		for (int64_t i = 0; i < n; i++)
			y[i] = limited(rounded((float)total[i] * scale[i]) + zero, lo, hi);
	else
		for (int64_t i = 0; i < n; i++)
			y[i] = limited(rounded((float)total[i] * all) + zero, lo, hi);
}

static void finish_floats(const struct cpu_finish *f, uint8_t *y, const float *sums,
			  const int32_t *before, bool each_scale, bool each_bias, int64_t n)
{
	int32_t total[CHUNK];

	for (int64_t at = 0; at < n; at += CHUNK) {
		int64_t count = n - at < CHUNK ? n - at : CHUNK;

		add_sums(total, sums + at, before ? before + at : NULL, count);
		if (f->bias)
			add_bias(total, f->bias + (each_bias ? at : 0), each_bias, count);
		requantize(f, y + at, total, f->scale + (each_scale ? at : 0), each_scale, count);
	}
}

static void widen(float *restrict y, const uint8_t *restrict x, bool is_signed, int32_t zero,
		  int64_t n)
{
	const int8_t *restrict s = (const int8_t *)x;

	if (is_signed)
		for (int64_t i = 0; i < n; i++)
			y[i] = (float)((int32_t)s[i] - zero);
	else
		for (int64_t i = 0; i < n; i++)
			y[i] = (float)((int32_t)x[i] - zero);
}

static void add_floats(int32_t *restrict y, const float *restrict x, int64_t n)
{
	for (int64_t i = 0; i < n; i++)
		y[i] += (int32_t)x[i];
}

static void quantize(const struct cpu_quanta *q, uint8_t *restrict y, const float *restrict x,
		     int64_t n)
{
	const float *restrict scales = q->scale;
	const int32_t *restrict zeros = q->zero;
	const float scale = *scales, zero = (float)*zeros, least = q->least, most = q->most;

	if (q->each)
		for (int64_t i = 0; i < n; i++) {
			float v = x[i] / scales[i];

			v = v != v ? 0 : v;
			y[i] = limited(rounded(v) + (float)zeros[i], least, most);
		}
	else
		for (int64_t i = 0; i < n; i++) {
			float v = x[i] / scale;

			v = v != v ? 0 : v;
			y[i] = limited(rounded(v) + zero, least, most);
		}
}

INLINE void dequantize_as(const struct cpu_quanta *q, const bool is_signed, const int64_t step,
			  float *restrict y, const uint8_t *restrict x, int64_t n)
{
	const float *restrict scale = q->scale;
	const int32_t *restrict zero = q->zero;

	for (int64_t i = 0; i < n; i++) {
		int32_t v = is_signed ? (int32_t)(int8_t)x[i] : (int32_t)x[i];

		y[i] = (float)(v - zero[i * step]) * scale[i * step];
	}
}

static void dequantize(const struct cpu_quanta *q, float *y, const uint8_t *x, int64_t n)
{
	if (q->each && q->is_signed)
		dequantize_as(q, true, 1, y, x, n);
	else if (q->each)
		dequantize_as(q, false, 1, y, x, n);
	else if (q->is_signed)
		dequantize_as(q, true, 0, y, x, n);
	else
		dequantize_as(q, false, 0, y, x, n);
}

static inline float apply(int kind, float a, float b)
{
	return kind == IR_ADD ? a + b : kind == IR_SUB ? a - b : a * b;
}

static inline float real(uint8_t byte, bool is_signed, int32_t zero, float scale)
{
	return (float)((is_signed ? (int32_t)(int8_t)byte : (int32_t)byte) - zero) * scale;
}

/*
 * Computes y = a op b: dequantises both operands, limits the result to [lo, hi], and quantises it.
 * The kind and the types are constants in each instance of this loop.
 */
INLINE void combine(const struct cpu_integers *op, int kind, bool a_signed, bool b_signed,
		    uint8_t *restrict y, const uint8_t *restrict a, const uint8_t *restrict b,
		    int64_t n)
{
	const struct cpu_integers o = *op;

	for (int64_t i = 0; i < n; i++) {
		float v = apply(kind, real(a[i], a_signed, o.a_zero, o.a_scale),
				real(b[i], b_signed, o.b_zero, o.b_scale));

		v = v < o.lo ? o.lo : v;
		v = v > o.hi ? o.hi : v;
		v /= o.scale;
		v = v != v ? 0 : v;
		y[i] = limited(rounded(v) + o.zero, o.least, o.most);
	}
}

INLINE void combine_kind(const struct cpu_integers *o, int kind, uint8_t *y, const uint8_t *a,
			 const uint8_t *b, int64_t n)
{
	if (o->a_signed && o->b_signed)
		combine(o, kind, true, true, y, a, b, n);
	else if (o->a_signed)
		combine(o, kind, true, false, y, a, b, n);
	else if (o->b_signed)
		combine(o, kind, false, true, y, a, b, n);
	else
		combine(o, kind, false, false, y, a, b, n);
}

static void integers(const struct cpu_integers *op, uint8_t *y, const uint8_t *a, const uint8_t *b,
		     int64_t n)
{
	if (op->kind == IR_ADD)
		combine_kind(op, IR_ADD, y, a, b, n);
	else if (op->kind == IR_SUB)
		combine_kind(op, IR_SUB, y, a, b, n);
	else
		combine_kind(op, IR_MUL, y, a, b, n);
}

/* The number of rows is a constant in each instance of this loop. */
INLINE void interleave_rows(uint8_t *restrict y, const uint8_t *restrict x, int64_t step, int rows,
			    int64_t n)
{
	for (int64_t i = 0; i < n; i++)
		for (int r = 0; r < rows; r++)
			y[i * rows + r] = x[r * step + i];
}

static void interleave(uint8_t *y, const uint8_t *x, int64_t step, int rows, int64_t n)
{
	if (rows == 2)
		interleave_rows(y, x, step, 2, n);
	else if (rows == 3)
		interleave_rows(y, x, step, 3, n);
	else
		interleave_rows(y, x, step, 4, n);
}

void LEVEL_TABLE(fill_integer)(struct cpu_simd *simd)
{
	simd->finish = finish;
	simd->finish_floats = finish_floats;
	simd->widen = widen;
	simd->add_floats = add_floats;
	simd->quantize = quantize;
	simd->dequantize = dequantize;
	simd->integers = integers;
	simd->interleave = interleave;
}
