// SPDX-License-Identifier: MIT
/*
 * Checks the functions for Winograd's 3x3 convolutions, for float16, for exp, sigmoid, tanh and
 * erf, and for softmax.
 */
#include "simd_check.h"

#include <math.h>
#include <string.h>

#include "ir/ir.h"
#include "util/float16.h"

/* --- Winograd's 3x3 convolutions --- */

/* Returns result i of Winograd's input transform of four numbers in a row or column. */
static double spread(const double *d, int step, int i)
{
	const double v[4] = { d[0], d[step], d[2 * step], d[3 * step] };

	return i == 0 ? v[0] - v[2] : i == 1 ? v[1] + v[2] : i == 2 ? v[2] - v[1] : v[1] - v[3];
}

void check_winograd_in(void)
{
	int64_t n = between(CPU_MAX_LANES, 70), step = n + between(0, 20);
	struct guard x[16], v = floats(15 * step + n);
	const float *pixels[16];

	for (int t = 0; t < 16; t++) {
		x[t] = floats(n);
		pixels[t] = x[t].data;
	}
	simd->winograd_in(v.data, step, pixels, n);
	for (int64_t c = 0; c < n; c++) {
		double d[16], rows[16];

		for (int t = 0; t < 16; t++)
			d[t] = (double)pixels[t][c];
		for (int t = 0; t < 16; t++)
			rows[t] = spread(d + t / 4 * 4, 1, t % 4);
		for (int t = 0; t < 16; t++)
			expect("winograd_in", t * n + c, (double)v.data[t * step + c],
			       spread(rows + t % 4, 4, t / 4), 1e-6);
	}
	for (int t = 0; t < 16; t++)
		guard_free(&x[t]);
	guard_free(&v);
}

static double gather(const double *m, int step, int i)
{
	return i == 0 ? m[0] + m[step] + m[2 * step] : m[step] - m[2 * step] - m[3 * step];
}

/* winograd_out() must return whether all its inputs are finite; only then are results compared. */
void check_winograd_out(void)
{
	int64_t n = between(CPU_MAX_LANES, 70), step = n + between(0, 20), odd = between(0, n - 1);
	struct guard y[4], m = floats(15 * step + n), bias = floats(n);
	bool finite = random_below(4);
	float *results[4];

	for (int t = 0; t < 4; t++) {
		y[t] = floats(n);
		results[t] = y[t].data;
	}
	if (!finite)
		m.data[between(0, 15) * step + odd] = random_below(2) ? NAN : INFINITY;
	assert_true(simd->winograd_out(results, m.data, step, bias.data, -0.5f, 0.75f, n) ==
		    finite);
	for (int64_t c = 0; c < n && finite; c++) {
		double d[16], rows[8];

		for (int t = 0; t < 16; t++)
			d[t] = (double)m.data[t * step + c];
		for (int t = 0; t < 8; t++)
			rows[t] = gather(d + t / 2 * 4, 1, t % 2);
		for (int t = 0; t < 4; t++) {
			double v = gather(rows + t % 2, 2, t / 2) + (double)bias.data[c];

			expect("winograd_out", t * n + c, (double)results[t][c],
			       v < -0.5 ? -0.5 :
			       v > 0.75 ? 0.75 :
					  v,
			       2e-6);
		}
	}
	for (int t = 0; t < 4; t++)
		guard_free(&y[t]);
	guard_free(&m);
	guard_free(&bias);
}

/* --- float16 --- */

/*
 * Returns numbers that include subnormal float16 numbers, and numbers between two float16 numbers.
 */
static struct guard numbers(int64_t n)
{
	struct guard g = floats(n);

	for (int64_t i = 0; i < n; i++)
		switch (random_below(4)) {
		case 0:
			g.data[i] *= 1e-6f;
			break;
		case 1:
			g.data[i] *= 1e5f;
			break;
		case 2:
			g.data[i] = (float)between(0, 1 << 13) / 8192;
			break;
		default:
			break;
		}
	put_odd_values(&g, n);
	return g;
}

static double nearest(float x)
{
	return (double)wnn_half_to_float(wnn_float_to_half(x));
}

void check_to_halves(void)
{
	int64_t n = between(1, 100);
	struct guard x = numbers(n), memory;
	uint16_t *y = (uint16_t *)bytes(&memory, 2 * n);

	simd->to_halves(y, x.data, n);
	for (int64_t i = 0; i < n; i++)
		expect("to_halves", i, (double)wnn_half_to_float(y[i]), nearest(x.data[i]), 0);
	guard_free(&x);
	guard_free(&memory);
}

void check_from_halves(void)
{
	int64_t n = between(1, 100);
	struct guard y = floats(n), memory;
	uint16_t *x = (uint16_t *)bytes(&memory, 2 * n);

	simd->from_halves(y.data, x, n);
	for (int64_t i = 0; i < n; i++)
		expect("from_halves", i, (double)y.data[i], (double)wnn_half_to_float(x[i]), 0);
	guard_free(&y);
	guard_free(&memory);
}

void check_round_halves(void)
{
	int64_t n = between(1, 100);
	struct guard x = numbers(n), y = floats(n);

	for (int64_t i = 0; i < n; i++)
		y.data[i] = x.data[i];
	simd->round_halves(y.data, n);
	for (int64_t i = 0; i < n; i++)
		expect("round_halves", i, (double)y.data[i], nearest(x.data[i]), 0);
	guard_free(&x);
	guard_free(&y);
}

/* --- Functions over the whole range --- */

#define UNITS 2.5
enum { STRIDE = 9973, PATTERNS = 512 };

static double sigmoid(double x)
{
	return x < 0 ? exp(x) / (1 + exp(x)) : 1 / (1 + exp(-x));
}

/*
 * Checks that the function errs by at most `most` units in the last place, for PATTERNS floats: the
 * bits of the first are `bits`, the bits of each further float are STRIDE more.
 */
static void check_patterns(int kind, double (*exact)(double), uint32_t bits, double most)
{
	float x[PATTERNS], y[PATTERNS];

	for (int i = 0; i < PATTERNS; i++) {
		uint32_t pattern = bits + (uint32_t)i * STRIDE;

		memcpy(x + i, &pattern, sizeof(pattern));
	}
	assert_true(simd->unary(kind, 0, 0, y, x, PATTERNS));
	for (int i = 0; i < PATTERNS; i++) {
		double e = exact((double)x[i]), unit = fmax(fabs(e) * 0x1p-23, 0x1p-149);

		if (isnan(e) || isinf((float)e) || (e == 0 && x[i] == 0))
			expect("unary", kind, (double)y[i], (double)(float)e, 0);
		else if (!(fabs((double)y[i] - e) <= most * unit))
			fail_msg("function %d of level %s: f(%.9g) is %.9g, expected %.9g", kind,
				 simd->name, (double)x[i], (double)y[i], e);
	}
}

/*
 * Checks that exp, sigmoid, tanh and erf are within UNITS units of the last place, also for
 * subnormal, huge and infinite arguments and NaN.
 */
void check_functions(void)
{
	static const struct {
		int kind;
		double (*exact)(double);
	} functions[] = {
		{ IR_EXP, exp }, { IR_SIGMOID, sigmoid }, { IR_TANH, tanh }, { IR_ERF, erf }
	};

	for (int f = 0; f < 4; f++)
		for (uint64_t bits = 0; bits < UINT64_C(1) << 32; bits += PATTERNS * STRIDE)
			check_patterns(functions[f].kind, functions[f].exact, (uint32_t)bits,
				       UNITS);
}

/* Checks exp_sum(), also where elements are so far above max that the sum is infinite. */
void check_exp_sum(void)
{
	int64_t n = between(1, 200);
	struct guard x = floats(n);
	float max = random_below(4) ? 1 : 300;
	double sum = 0;

	for (int64_t i = 0; i < n; i++)
		x.data[i] = x.data[i] * (random_below(8) ? 10 : 80) + max - 5;
	if (random_below(2))
		put_odd_values(&x, n);
	for (int64_t i = 0; i < n; i++)
		sum += (double)(float)exp((double)(x.data[i] - max));
	expect("exp_sum", 0, simd->exp_sum(x.data, n, max), sum, 4e-7 * sum);
	guard_free(&x);
}

/* --- softmax --- */

static void check_softmax_vector(const double *e, int64_t n, const float *y)
{
	double sum = 0;

	for (int64_t i = 0; i < n; i++)
		sum += e[i];
	/*
	 * Small probabilities have the same relative error as large ones, down to the smallest
	 * numbers.
	 */
	for (int64_t i = 0; i < n; i++)
		expect("softmax", i, (double)y[i], e[i] / sum, e[i] / sum * 0x1p-21 + 0x1p-149);
}

void check_softmax(void)
{
	int64_t n = between(1, 100), lines = between(1, 3), none;
	bool in_place = random_below(2);
	struct guard x = floats(lines * n), y = floats(lines * n);
	const float centres[] = { 0, 0, 200, -200, 300, -300, 1e5f, -1e5f };
	double e[3][100];

	for (int64_t line = 0; line < lines; line++) {
		float centre = centres[random_below(8)], *first = x.data + line * n;
		double max = -INFINITY;

		for (int64_t i = 0; i < n; i++) {
			first[i] = first[i] * 60 + centre;
			max = fmax(max, (double)first[i]);
		}
		for (int64_t i = 0; i < n; i++)
			e[line][i] = exp((double)first[i] - max);
	}
	simd->softmax(in_place ? x.data : y.data, x.data, lines, n);
	for (int64_t line = 0; line < lines; line++)
		check_softmax_vector(e[line], n, (in_place ? x : y).data + line * n);
	/* A NaN makes all of its line NaN, wherever it is. */
	for (int64_t i = 0; i < lines * n; i++)
		x.data[i] = y.data[i] = (float)i;
	none = random_below((uint32_t)(lines * n));
	x.data[none] = NAN;
	simd->softmax(y.data, x.data, lines, n);
	for (int64_t i = 0; i < lines * n; i++)
		assert_int_equal(isnan(y.data[i]) != 0, i / n == none / n);
	guard_free(&x);
	guard_free(&y);
}

/* Checks softmax of columns; a column with a NaN or an infinity becomes NaN throughout. */
void check_softmax_columns(void)
{
	int64_t n = between(1, 20), columns = between(1, 200), step = columns + between(0, 9);
	struct guard x = floats((n - 1) * step + columns), y = floats((n - 1) * step + columns);
	bool in_place = random_below(2);
	const float *result = in_place ? x.data : y.data;
	double e[20 * 200];

	for (int64_t i = 0; i < (n - 1) * step + columns; i++)
		x.data[i] *= random_below(8) ? 10 : 1000;
	if (random_below(2))
		x.data[between(0, n - 1) * step] = random_below(2) ? NAN : INFINITY;
	for (int64_t j = 0; j < columns; j++) {
		double max = -INFINITY, sum = 0;

		for (int64_t i = 0; i < n; i++)
			max = fmax(max, (double)x.data[i * step + j]);
		for (int64_t i = 0; i < n; i++)
			sum += e[i * columns + j] = exp((double)x.data[i * step + j] - max);
		for (int64_t i = 0; i < n; i++)
			e[i * columns + j] /= sum;
	}
	simd->softmax_columns(in_place ? x.data : y.data, x.data, n, step, columns);
	for (int64_t i = 0; i < n; i++)
		for (int64_t j = 0; j < columns; j++)
			expect("softmax_columns", i * columns + j, (double)result[i * step + j],
			       e[i * columns + j], 1e-6);
	guard_free(&x);
	guard_free(&y);
}
