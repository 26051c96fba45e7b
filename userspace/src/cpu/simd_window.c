// SPDX-License-Identifier: MIT
/* Windows over lines of floats (depthwise filters, pools), copies of lines, products of matrix and vector. */
#include "cpu/simd_fill.h"

#define INLINE static inline __attribute__((always_inline))

INLINE vec combine_one(enum cpu_window kind, vec y, vec x, vec w)
{
	switch (kind) {
	case CPU_WINDOW_DOT:
		return multiply_add(x, w, y);
	case CPU_WINDOW_MAX:
		return larger(y, x);
	case CPU_WINDOW_SUM:
		return y + x;
	default:
		return multiply_add(x, x, y);
	}
}

/* --- Taps at fixed distances: lines of pixels --- */

/* What a sum, or the largest so far, starts from. A bias comes last: a large one is rounded once. */
INLINE float first_of(enum cpu_window kind, float start)
{
	return kind == CPU_WINDOW_DOT ? 0 : start;
}

INLINE vec finished(enum cpu_window kind, vec y, vec bias)
{
	if (kind == CPU_WINDOW_DOT)
		y += bias;
	return y;
}

/* Four vectors at a time hide the latency of their sums. */
INLINE void window_taps(const enum cpu_window kind, float *y, int64_t n, const float *x,
			const int64_t *at, const float *w, const int64_t taps, float start)
{
	vec first = splat(first_of(kind, start)), bias = splat(start);
	int64_t i = 0;

	for (; i + 3 * LANES < n; i += 4 * LANES) {
		vec y0 = first, y1 = first, y2 = first, y3 = first;

		for (int64_t t = 0; t < taps; t++) {
			const float *p = x + at[t] + i;
			vec f = splat(kind == CPU_WINDOW_DOT ? w[t] : 0);

			y0 = combine_one(kind, y0, load(p), f);
			y1 = combine_one(kind, y1, load(p + LANES), f);
			y2 = combine_one(kind, y2, load(p + 2 * LANES), f);
			y3 = combine_one(kind, y3, load(p + 3 * LANES), f);
		}
		store(y + i, finished(kind, y0, bias));
		store(y + i + LANES, finished(kind, y1, bias));
		store(y + i + 2 * LANES, finished(kind, y2, bias));
		store(y + i + 3 * LANES, finished(kind, y3, bias));
	}
	for (; i < n; i += LANES) {
		vec y0 = first;

		for (int64_t t = 0; t < taps; t++)
			y0 = combine_one(kind, y0, load(x + at[t] + i),
					 splat(kind == CPU_WINDOW_DOT ? w[t] : 0));
		store(y + i, finished(kind, y0, bias));
	}
}

static void window(enum cpu_window kind, float *y, int64_t n, const float *x, const int64_t *at,
		   const float *w, int64_t taps, float start)
{
	switch (kind) {
	case CPU_WINDOW_DOT:
		if (taps == 9) /* 3x3: unrolled, the weights stay in registers */
			window_taps(CPU_WINDOW_DOT, y, n, x, at, w, 9, start);
		else
			window_taps(CPU_WINDOW_DOT, y, n, x, at, w, taps, start);
		break;
	case CPU_WINDOW_MAX:
		window_taps(CPU_WINDOW_MAX, y, n, x, at, w, taps, start);
		break;
	case CPU_WINDOW_SUM:
		window_taps(CPU_WINDOW_SUM, y, n, x, at, w, taps, start);
		break;
	case CPU_WINDOW_SQUARES:
		window_taps(CPU_WINDOW_SQUARES, y, n, x, at, w, taps, start);
		break;
	}
}

/*
 * Lines share what they read: `rows` of them at a time. Copies of what the arguments point to stay in registers, as a
 * store might change the originals.
 */
INLINE void window_3x3_rows(const struct cpu_lines *lines, int64_t line, const float *w, vec bias,
			    const int rows)
{
	const struct cpu_lines l = *lines;
	const float *from = l.from + line * l.from_step;
	float *to = l.to + line * l.to_step;
	vec lo = splat(l.lo), hi = splat(l.hi), f[9];

	for (int t = 0; t < 9; t++)
		f[t] = splat(w[t]);
	for (int64_t at = 0; at < l.n; at += LANES) {
		/* The last vector goes back to the end of the line. */
		int64_t i = at + LANES > l.n ? l.n - LANES : at;
		vec y0 = { 0 }, y1 = y0, y2 = y0, y3 = y0;

		for (int r = 0; r < rows + 2; r++)
			for (int k = 0; k < 3; k++) {
				vec x = load(from + r * l.from_step + i + k);

				if (r < 3)
					y0 = multiply_add(x, f[r * 3 + k], y0);
				if (rows > 1 && r >= 1 && r < 4)
					y1 = multiply_add(x, f[(r - 1) * 3 + k], y1);
				if (rows > 2 && r >= 2 && r < 5)
					y2 = multiply_add(x, f[(r - 2) * 3 + k], y2);
				if (rows > 3 && r >= 3)
					y3 = multiply_add(x, f[(r - 3) * 3 + k], y3);
			}
		store(to + i, between(y0 + bias, lo, hi));
		if (rows > 1)
			store(to + l.to_step + i, between(y1 + bias, lo, hi));
		if (rows > 2)
			store(to + 2 * l.to_step + i, between(y2 + bias, lo, hi));
		if (rows > 3)
			store(to + 3 * l.to_step + i, between(y3 + bias, lo, hi));
	}
}

static void window_3x3(const struct cpu_lines *l, const float *w, float bias)
{
	int64_t line = 0;

	for (; line + 4 <= l->lines; line += 4)
		window_3x3_rows(l, line, w, splat(bias), 4);
	for (; line < l->lines; line++)
		window_3x3_rows(l, line, w, splat(bias), 1);
}

/* --- A line for each tap: channels --- */

static float combine_scalar(enum cpu_window kind, float y, float x, float w)
{
	switch (kind) {
	case CPU_WINDOW_DOT:
		return y + x * w;
	case CPU_WINDOW_MAX:
		return y != y || y > x ? y : x;
	case CPU_WINDOW_SUM:
		return y + x;
	default:
		return y + x * x;
	}
}

INLINE void lines_of(const enum cpu_window kind, float *y, int64_t n, const float *const *x,
		     const float *w, int64_t taps, const float *bias)
{
	const float first = kind == CPU_WINDOW_MAX ? -__builtin_inff() : 0;
	int64_t i = 0;

	for (; i + LANES <= n; i += LANES) {
		vec v = splat(first);

		for (int64_t t = 0; t < taps; t++)
			v = combine_one(kind, v, load(x[t] + i),
					kind == CPU_WINDOW_DOT ? load(w + t * n + i) : splat(0));
		if (bias)
			v += load(bias + i);
		store(y + i, v);
	}
	for (; i < n; i++) {
		float v = first;

		for (int64_t t = 0; t < taps; t++)
			v = combine_scalar(kind, v, x[t][i],
					   kind == CPU_WINDOW_DOT ? w[t * n + i] : 0);
		y[i] = bias ? v + bias[i] : v;
	}
}

static void lines(enum cpu_window kind, float *y, int64_t n, const float *const *x, const float *w,
		  int64_t taps, const float *bias)
{
	switch (kind) {
	case CPU_WINDOW_DOT:
		lines_of(CPU_WINDOW_DOT, y, n, x, w, taps, bias);
		break;
	case CPU_WINDOW_MAX:
		lines_of(CPU_WINDOW_MAX, y, n, x, w, taps, bias);
		break;
	case CPU_WINDOW_SUM:
		lines_of(CPU_WINDOW_SUM, y, n, x, w, taps, bias);
		break;
	case CPU_WINDOW_SQUARES:
		lines_of(CPU_WINDOW_SQUARES, y, n, x, w, taps, bias);
		break;
	}
}

/* --- Copies of lines --- */

INLINE vec copied(const struct cpu_lines *l, const float *from, const bool pairs,
		  const bool limited)
{
	vec v = pairs ? even(load(from), load(from + LANES)) : load(from);

	return limited ? between(v, splat(l->lo), splat(l->hi)) : v;
}

static void copy_line_exactly(const struct cpu_lines *l, int64_t line, int64_t first)
{
	const float *from = l->from + line * l->from_step;
	float *to = l->to + line * l->to_step;

	for (int64_t i = first; i < l->n; i++) {
		float v = from[i * l->every];

		v = l->limited && v <= l->lo ? l->lo : v;
		to[i] = l->limited && v >= l->hi ? l->hi : v;
	}
}

/* How many lines, from the first on, may be read or written in whole vectors of `width` within `size`. */
static int64_t free_lines(int64_t size, int64_t step, int64_t width, int64_t lines)
{
	int64_t last = size < width ? -1 : (size - width) / step;

	return last + 1 < lines ? last + 1 : lines;
}

INLINE void copy_vectors(const struct cpu_lines *lines, const bool pairs, const bool limited)
{
	const struct cpu_lines l = *lines; /* a copy, which no store can change */
	const int64_t every = pairs ? 2 : 1, whole = (l.n + LANES - 1) / LANES * LANES;
	int64_t line, i, end = (l.lines - 1) * l.to_step + l.n;
	int64_t loose = free_lines(end, l.to_step, whole, l.lines);

	loose = free_lines(l.from_size, l.from_step, every * whole, loose);
	for (line = 0; line < loose; line++)
		for (i = 0; i < whole; i += LANES)
			store(l.to + line * l.to_step + i,
			      copied(&l, l.from + line * l.from_step + every * i, pairs, limited));
	for (; line < l.lines; line++) {
		for (i = 0; i + LANES <= l.n - pairs; i += LANES)
			store(l.to + line * l.to_step + i,
			      copied(&l, l.from + line * l.from_step + every * i, pairs, limited));
		copy_line_exactly(lines, line, i);
	}
}

static void copy_lines(const struct cpu_lines *l)
{
	if (l->every == 1 && l->limited)
		copy_vectors(l, false, true);
	else if (l->every == 1)
		copy_vectors(l, false, false);
	else if (l->every == 2)
		copy_vectors(l, true, l->limited);
	else
		for (int64_t line = 0; line < l->lines; line++)
			copy_line_exactly(l, line, 0);
}

/* --- Matrix and vector --- */

static float sum_of(vec v)
{
	float sum = 0;

	for (int i = 0; i < LANES; i++)
		sum += v[i];
	return sum;
}

static float sum(const float *x, int64_t n)
{
	vec s0 = { 0 }, s1 = { 0 };
	float rest = 0;
	int64_t i = 0;

	for (; i + 2 * LANES <= n; i += 2 * LANES) {
		s0 += load(x + i);
		s1 += load(x + i + LANES);
	}
	for (; i < n; i++)
		rest += x[i];
	return sum_of(s0 + s1) + rest;
}

static void dot_row(float *y, const float *x, const float *a, int64_t n)
{
	vec s0 = { 0 }, s1 = { 0 }, s2 = { 0 }, s3 = { 0 };
	float rest = 0;
	int64_t i = 0;

	for (; i + 4 * LANES <= n; i += 4 * LANES) {
		s0 += load(x + i) * load(a + i);
		s1 += load(x + i + LANES) * load(a + i + LANES);
		s2 += load(x + i + 2 * LANES) * load(a + i + 2 * LANES);
		s3 += load(x + i + 3 * LANES) * load(a + i + 3 * LANES);
	}
	for (; i < n; i++)
		rest += x[i] * a[i];
	*y = sum_of((s0 + s1) + (s2 + s3)) + rest;
}

static void dot(float *y, const float *x, const float *a, int64_t lda, int64_t rows, int64_t n)
{
	for (int64_t r = 0; r < rows; r++)
		dot_row(y + r, x, a + r * lda, n);
}

static void combine(float *y, const float *x, const float *a, int64_t lda, int64_t depth, int64_t n)
{
	int64_t j = 0;

	for (; j + 4 * LANES <= n; j += 4 * LANES) {
		vec s0 = { 0 }, s1 = { 0 }, s2 = { 0 }, s3 = { 0 };

		for (int64_t k = 0; k < depth; k++) {
			const float *p = a + k * lda + j;

			s0 += load(p) * x[k];
			s1 += load(p + LANES) * x[k];
			s2 += load(p + 2 * LANES) * x[k];
			s3 += load(p + 3 * LANES) * x[k];
		}
		store(y + j, s0);
		store(y + j + LANES, s1);
		store(y + j + 2 * LANES, s2);
		store(y + j + 3 * LANES, s3);
	}
	for (; j < n; j++) {
		float sum = 0;

		for (int64_t k = 0; k < depth; k++)
			sum += x[k] * a[k * lda + j];
		y[j] = sum;
	}
}

void LEVEL_TABLE(fill_window)(struct cpu_simd *simd)
{
	simd->window = window;
	simd->window_3x3 = window_3x3;
	simd->lines = lines;
	simd->copy_lines = copy_lines;
	simd->sum = sum;
	simd->dot = dot;
	simd->combine = combine;
}
