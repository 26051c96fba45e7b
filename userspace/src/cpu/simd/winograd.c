// SPDX-License-Identifier: MIT
/*
 * The transforms before and after the products of Winograd's algorithm for 3x3 convolutions. Four
 * by four pixels become 2x2 results, with 16 products for each pair of channels instead of 36.
 */
#include "cpu/simd/simd.h"
#include "cpu/simd/fill.h"

/*
 * Returns the first channel of the vector for channels from c on. The last vector overlaps the one
 * before it, and some channels are computed twice.
 */
static inline int64_t place(int64_t c, int64_t n)
{
	return c + LANES <= n ? c : n - LANES;
}

static inline void spread(vec *a, vec *b, vec *c, vec *d)
{
	vec first = *a - *c, second = *b + *c, third = *c - *b, last = *b - *d;

	*a = first;
	*b = second;
	*c = third;
	*d = last;
}

static void winograd_in(float *v, int64_t step, const float *const *x, int64_t n)
{
	for (int64_t c = 0; c < n; c += LANES) {
		int64_t at = place(c, n);
		vec d[4][4];

		for (int i = 0; i < 4; i++) {
			for (int j = 0; j < 4; j++)
				d[i][j] = load(x[4 * i + j] + at);
			spread(&d[i][0], &d[i][1], &d[i][2], &d[i][3]);
		}
		for (int j = 0; j < 4; j++) {
			spread(&d[0][j], &d[1][j], &d[2][j], &d[3][j]);
			for (int i = 0; i < 4; i++)
				store(v + (4 * i + j) * step + at, d[i][j]);
		}
	}
}

static bool winograd_out(float *const *y, const float *m, int64_t step, const float *bias, float lo,
			 float hi, int64_t n)
{
	vec least = splat(lo), most = splat(hi), strange = splat(0);

	for (int64_t c = 0; c < n; c += LANES) {
		int64_t at = place(c, n);
		vec b = load(bias + at), s[4][2];

		for (int i = 0; i < 4; i++) {
			const float *from = m + 4 * i * step + at;
			vec second = load(from + step), third = load(from + 2 * step);

			s[i][0] = load(from) + second + third;
			s[i][1] = second - third - load(from + 3 * step);
		}
		for (int j = 0; j < 2; j++) {
			vec above = s[0][j] + s[1][j] + s[2][j] + b;
			vec below = s[1][j] - s[2][j] - s[3][j] + b;

			/* This sum stays 0 unless a value is not finite; then it is NaN. */
			strange += (above - above) + (below - below);
			store(y[j] + at, between(above, least, most));
			store(y[2 + j] + at, between(below, least, most));
		}
	}
	for (int i = 0; i < LANES; i++)
		if (strange[i] != 0)
			return false;
	return true;
}

void LEVEL_TABLE(fill_winograd)(struct cpu_simd *simd)
{
	simd->winograd_in = winograd_in;
	simd->winograd_out = winograd_out;
}
