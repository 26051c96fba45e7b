// SPDX-License-Identifier: MIT
/*
 * Windows over rows of floats (depthwise filters, pools), copies of rows, and products of a matrix
 * and a vector.
 */
#include <string.h>

#include "cpu/simd/fill.h"

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

/* --- Taps at fixed distances: rows of pixels --- */

/*
 * Returns the initial value of a sum or maximum. A bias is added last, so that a large bias is
 * rounded once.
 */
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

INLINE void store_part(float *to, vec v, int64_t n)
{
	float part[LANES];

	store(part, v);
	if (n < 4) {
		for (int64_t i = 0; i < n; i++)
			to[i] = part[i];
		return;
	}
	for (int64_t i = 0; i + 4 < n; i += 4)
		memcpy(to + i, part + i, 4 * sizeof(*to));
	memcpy(to + n - 4, part + n - 4, 4 * sizeof(*to));
}

/*
 * Returns how many rows, from the first one on, may be stored in whole vectors when rows are stored
 * in order: the next row overwrites what a vector writes after a short one.
 */
static int64_t loose_rows(const struct cpu_window_rows *l)
{
	int64_t size = (l->lines - 1) * l->to_step + l->n;

	if (l->n >= LANES)
		return l->lines;
	return size < LANES ? 0 : (size - LANES) / l->to_step + 1;
}

INLINE void window_vectors(const enum cpu_window kind, float *to, const float *from,
			   const int64_t *at, const float *w, const int64_t taps, float start,
			   vec lo, vec hi, const int vecs, int64_t n)
{
	vec first = splat(first_of(kind, start)), bias = splat(start), y[4];

	for (int i = 0; i < vecs; i++)
		y[i] = first;
	for (int64_t t = 0; t < taps; t++) {
		const float *p = from + at[t];
		vec f = splat(kind == CPU_WINDOW_DOT ? w[t] : 0);

		for (int i = 0; i < vecs; i++)
			y[i] = combine_one(kind, y[i], load(p + i * LANES), f);
	}
	for (int i = 0; i < vecs; i++) {
		vec v = between(finished(kind, y[i], bias), lo, hi);

		if (n < LANES)
			store_part(to, v, n);
		else
			store(to + i * LANES, v);
	}
}

/*
 * Computes windows with any number of taps. Four vectors at a time hide the latency of their sums;
 * the last vector overlaps the one before, so that it ends with the row.
 */
INLINE void window_taps(const enum cpu_window kind, const struct cpu_window_rows *lines,
			const int64_t *at, const float *w, const int64_t taps, float start)
{
	/* a copy, as the compiler must assume that stores change the original */
	const struct cpu_window_rows l = *lines;
	int64_t loose = loose_rows(lines), line, i;
	vec lo = splat(l.lo), hi = splat(l.hi);

	for (line = 0; line < loose; line++) {
		const float *from = l.from + line * l.from_step;
		float *to = l.to + line * l.to_step;

		for (i = 0; i + 4 * LANES <= l.n; i += 4 * LANES)
			window_vectors(kind, to + i, from + i, at, w, taps, start, lo, hi, 4,
				       LANES);
		for (; i + 2 * LANES <= l.n; i += 2 * LANES)
			window_vectors(kind, to + i, from + i, at, w, taps, start, lo, hi, 2,
				       LANES);
		for (; i < l.n; i += LANES) {
			i = i + LANES > l.n && l.n >= LANES ? l.n - LANES : i;
			window_vectors(kind, to + i, from + i, at, w, taps, start, lo, hi, 1,
				       LANES);
		}
	}
	for (; line < l.lines; line++)
		window_vectors(kind, l.to + line * l.to_step, l.from + line * l.from_step, at, w,
			       taps, start, lo, hi, 1, l.n);
}

/* Computes windows of 3x3: unrolled, with copies of the arguments in registers. */
INLINE void window_nine(const enum cpu_window kind, const struct cpu_window_rows *lines,
			const int64_t *at, const float *w, float start)
{
	int64_t places[9];
	float weights[9];

	memcpy(places, at, sizeof(places));
	if (kind == CPU_WINDOW_DOT)
		memcpy(weights, w, sizeof(weights));
	window_taps(kind, lines, places, weights, 9, start);
}

static void window(enum cpu_window kind, const struct cpu_window_rows *lines, const int64_t *at,
		   const float *w, int64_t taps, float start)
{
	switch (kind) {
	case CPU_WINDOW_DOT:
		if (taps == 9)
			window_nine(CPU_WINDOW_DOT, lines, at, w, start);
		else
			window_taps(CPU_WINDOW_DOT, lines, at, w, taps, start);
		break;
	case CPU_WINDOW_MAX:
		if (taps == 9)
			window_nine(CPU_WINDOW_MAX, lines, at, w, start);
		else
			window_taps(CPU_WINDOW_MAX, lines, at, w, taps, start);
		break;
	case CPU_WINDOW_SUM:
		window_taps(CPU_WINDOW_SUM, lines, at, w, taps, start);
		break;
	case CPU_WINDOW_SQUARES:
		window_taps(CPU_WINDOW_SQUARES, lines, at, w, taps, start);
		break;
	}
}

/*
 * Computes `rows` rows at a time, which share what they read. Copies of the arguments stay in
 * registers; the compiler must assume that stores change the originals.
 */
INLINE void window_3x3_rows(const struct cpu_window_rows *lines, int64_t line, const float *w,
			    vec bias, const int rows)
{
	const struct cpu_window_rows l = *lines;
	const float *from = l.from + line * l.from_step;
	float *to = l.to + line * l.to_step;
	vec lo = splat(l.lo), hi = splat(l.hi), f[9];

	for (int t = 0; t < 9; t++)
		f[t] = splat(w[t]);
	for (int64_t at = 0; at < l.n; at += LANES) {
		/* The last vector overlaps the one before, so that it ends with the row. */
		int64_t i = at + LANES > l.n && l.n >= LANES ? l.n - LANES : at;
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

static void window_3x3(const struct cpu_window_rows *l, const float *w, float bias)
{
	const int64_t step = l->from_step;
	const int64_t at[9] = { 0,	     1, 2, step, step + 1, step + 2, 2 * step, 2 * step + 1,
				2 * step + 2 };
	int64_t loose = loose_rows(l), line = 0;
	struct cpu_window_rows rest = *l;

	for (; line + 4 <= loose; line += 4)
		window_3x3_rows(l, line, w, splat(bias), 4);
	if (line + 3 == loose)
		window_3x3_rows(l, line, w, splat(bias), 3);
	else if (line + 2 == loose)
		window_3x3_rows(l, line, w, splat(bias), 2);
	else if (line + 1 == loose)
		window_3x3_rows(l, line, w, splat(bias), 1);
	rest.from += loose * l->from_step;
	rest.to += loose * l->to_step;
	rest.lines -= loose;
	if (rest.lines)
		window_nine(CPU_WINDOW_DOT, &rest, at, w, bias);
}

/* --- Windows with a row of channels for each tap --- */

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

INLINE void rows_of(const enum cpu_window kind, float *y, int64_t n, const float *const *x,
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
		rows_of(CPU_WINDOW_DOT, y, n, x, w, taps, bias);
		break;
	case CPU_WINDOW_MAX:
		rows_of(CPU_WINDOW_MAX, y, n, x, w, taps, bias);
		break;
	case CPU_WINDOW_SUM:
		rows_of(CPU_WINDOW_SUM, y, n, x, w, taps, bias);
		break;
	case CPU_WINDOW_SQUARES:
		rows_of(CPU_WINDOW_SQUARES, y, n, x, w, taps, bias);
		break;
	}
}

/*
 * Computes up to four adjacent results that share what they read, for one vector of channels. The
 * products of each are added in the order of the taps, as in lines(), so that they have equal bits.
 */
INLINE void pixels_side_by_side(const struct cpu_pixels *p, int64_t channel, int64_t at,
				const vec *f, vec bias, const int stride, const int count)
{
	float *to = p->y + at * p->n + channel;
	vec lo = splat(p->lo), hi = splat(p->hi), y0 = { 0 }, y1 = y0, y2 = y0, y3 = y0;

	for (int r = 0; r < 3; r++) {
		const int64_t step = p->step[r];
		const float *from = p->x[r] + at * stride * step + channel;

		for (int i = 0; i < (count - 1) * stride + 3; i++) {
			vec x = load(from + i * step);

			if (i < 3)
				y0 = multiply_add(x, f[3 * r + i], y0);
			if (count > 1 && i >= stride && i < stride + 3)
				y1 = multiply_add(x, f[3 * r + i - stride], y1);
			if (count > 2 && i >= 2 * stride && i < 2 * stride + 3)
				y2 = multiply_add(x, f[3 * r + i - 2 * stride], y2);
			if (count > 3 && i >= 3 * stride)
				y3 = multiply_add(x, f[3 * r + i - 3 * stride], y3);
		}
	}
	store(to, between(y0 + bias, lo, hi));
	if (count > 1)
		store(to + p->n, between(y1 + bias, lo, hi));
	if (count > 2)
		store(to + 2 * p->n, between(y2 + bias, lo, hi));
	if (count > 3)
		store(to + 3 * p->n, between(y3 + bias, lo, hi));
}

INLINE void pixels_of(const struct cpu_pixels *pixels, const int stride)
{
	/* a copy, as the compiler must assume that stores change the original */
	const struct cpu_pixels p = *pixels;

	for (int64_t at = 0; at < p.n; at += LANES) {
		/* The last vector overlaps the one before, so that it ends with the pixel. */
		int64_t c = at + LANES > p.n ? p.n - LANES : at, i = 0;
		vec f[9], bias = p.bias ? load(p.bias + c) : splat(0);

		for (int t = 0; t < 9; t++)
			f[t] = load(p.filter + t * p.n + c);
		for (; i + 4 <= p.count; i += 4)
			pixels_side_by_side(&p, c, i, f, bias, stride, 4);
		if (i + 2 <= p.count) {
			pixels_side_by_side(&p, c, i, f, bias, stride, 2);
			i += 2;
		}
		if (i < p.count)
			pixels_side_by_side(&p, c, i, f, bias, stride, 1);
	}
}

static void pixels_3x3(const struct cpu_pixels *p)
{
	if (p->stride == 1)
		pixels_of(p, 1);
	else
		pixels_of(p, 2);
}

/* --- Copies of rows --- */

INLINE vec copied(const float *from, const bool pairs)
{
	return pairs ? even(load(from), load(from + LANES)) : load(from);
}

/* Returns how many rows, from the first one on, may be read in whole vectors. */
static int64_t safe_rows(const struct cpu_window_rows *l)
{
	int64_t rest = l->from_size - l->every * (l->n < LANES ? LANES : l->n);
	int64_t lines = rest < 0 ? 0 : l->lines;

	if (lines && l->from_step > 0 && (lines - 1) * l->from_step > rest)
		lines = rest / l->from_step + 1;
	return lines;
}

/*
 * Copies rows that are at least a vector long: the last vector overlaps the one before, so that it
 * ends with the row.
 */
INLINE void copy_long(const struct cpu_window_rows *l, int64_t lines, const bool pairs)
{
	const int64_t every = pairs ? 2 : 1, n = l->n, last = n - LANES;
	const int64_t to_step = l->to_step, from_step = l->from_step;
	const float *from = l->from;
	float *to = l->to;

	for (; lines > 0; lines--, from += from_step, to += to_step) {
		for (int64_t i = 0; i < last; i += LANES)
			store(to + i, copied(from + every * i, pairs));
		store(to + last, copied(from + every * last, pairs));
	}
}

INLINE void copy_short(const struct cpu_window_rows *l, int64_t lines, const bool pairs)
{
	for (int64_t line = 0; line < lines; line++)
		store_part(l->to + line * l->to_step, copied(l->from + line * l->from_step, pairs),
			   l->n);
}

static void copy_rows(const struct cpu_window_rows *lines)
{
	/* a copy, as the compiler must assume that stores change the original */
	const struct cpu_window_rows l = *lines;
	int64_t line = l.every > 2 ? 0 : safe_rows(&l);

	if (l.every == 1 && l.n < LANES)
		copy_short(&l, line, false);
	else if (l.every == 1)
		copy_long(&l, line, false);
	else if (l.every == 2 && l.n < LANES)
		copy_short(&l, line, true);
	else if (l.every == 2)
		copy_long(&l, line, true);
	for (; line < l.lines; line++)
		for (int64_t i = 0; i < l.n; i++)
			l.to[line * l.to_step + i] = l.from[line * l.from_step + i * l.every];
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
	simd->pixels_3x3 = pixels_3x3;
	simd->copy_rows = copy_rows;
	simd->sum = sum;
	simd->dot = dot;
	simd->combine = combine;
}
