// SPDX-License-Identifier: MIT
/* Functions of single elements, and softmax: plain loops that the compiler vectorises. */
#include <math.h>
#include <string.h>

#include "cpu/fast_math.h"
#include "cpu/simd_fill.h"
#include "ir/ir.h"

#define EACH(expression)                            \
	do {                                        \
		for (int64_t i = 0; i < n; i++) {   \
			float v = x[i];             \
                                                    \
			y[i] = (float)(expression); \
		}                                   \
	} while (0)

static void clamp(float *y, const float *x, int64_t n, float lo, float hi)
{
	for (int64_t i = 0; i < n; i++) {
		float v = x[i] <= lo ? lo : x[i];

		y[i] = v >= hi ? hi : v;
	}
}

static float unit(float v)
{
	v = v < 0 ? 0 : v;
	return v > 1 ? 1 : v;
}

static float six(float v)
{
	v = v < 0 ? 0 : v;
	return v > 6 ? 6 : v;
}

static bool unary(int kind, float alpha, float beta, float *y, const float *x, int64_t n)
{
	switch (kind) {
	case IR_UNARY_NONE:
		if (x != y)
			memcpy(y, x, (size_t)n * sizeof(*y));
		return true;
	case IR_RELU:
		EACH(v <= 0 ? 0 : v);
		return true;
	case IR_CLAMP:
		clamp(y, x, n, alpha, beta);
		return true;
	case IR_LINEAR:
		EACH(alpha * v + beta);
		return true;
	case IR_ABS:
		EACH(fabsf(v));
		return true;
	case IR_NEG:
		EACH(-v);
		return true;
	case IR_LEAKY_RELU:
		EACH(v < 0 ? alpha * v : v);
		return true;
	case IR_EXP:
		EACH(cpu_exp((double)v));
		return true;
	case IR_SIGMOID:
		EACH(cpu_sigmoid((double)v));
		return true;
	case IR_TANH:
		EACH(cpu_tanh((double)v));
		return true;
	case IR_HARD_SIGMOID:
		EACH(unit(alpha * v + beta));
		return true;
	case IR_HARD_SWISH:
		EACH(v * (six(v + 3) / 6));
		return true;
	case IR_SIGN:
		EACH((v > 0) - (v < 0));
		return true;
	case IR_FLOOR:
		EACH(floorf(v));
		return true;
	case IR_CEIL:
		EACH(ceilf(v));
		return true;
	case IR_ROUND_EVEN:
		EACH(nearbyintf(v));
		return true;
	case IR_SQRT:
		EACH(sqrtf(v));
		return true;
	case IR_RECIPROCAL:
		EACH(1 / v);
		return true;
	case IR_SOFTSIGN:
		EACH(v / (1 + fabsf(v)));
		return true;
	default:
		return false;
	}
}

/* Of equal numbers, which differ at most in the sign of zero: +0 if there is one, or -0. */
static inline float equals(float u, float v, bool max)
{
	uint32_t a, b;

	memcpy(&a, &u, sizeof(a));
	memcpy(&b, &v, sizeof(b));
	a = max ? a & b : a | b;
	memcpy(&u, &a, sizeof(u));
	return u;
}

#define PAIRS(expression)                                   \
	do {                                                \
		for (int64_t i = 0; i < n; i++) {           \
			float u = a[i * sa], v = b[i * sb]; \
                                                            \
			y[i] = (expression);                \
		}                                           \
	} while (0)

static inline __attribute__((always_inline)) void pairs(int kind, float *y, const float *a,
							const int64_t sa, const float *b,
							const int64_t sb, int64_t n)
{
	switch (kind) {
	case IR_ADD:
		PAIRS(u + v);
		break;
	case IR_SUB:
		PAIRS(u - v);
		break;
	case IR_MUL:
		PAIRS(u * v);
		break;
	case IR_DIV:
		PAIRS(u / v);
		break;
	case IR_PRELU:
		PAIRS(u < 0 ? u * v : u);
		break;
	case IR_MAX:
		PAIRS(u == v ? equals(u, v, true) : u != u || u > v ? u : v);
		break;
	default:
		PAIRS(u == v ? equals(u, v, false) : u != u || u < v ? u : v);
		break;
	}
}

static void binary(int kind, float *y, const float *a, int64_t sa, const float *b, int64_t sb,
		   int64_t n)
{
	if (sa && sb)
		pairs(kind, y, a, 1, b, 1, n);
	else if (sa)
		pairs(kind, y, a, 1, b, 0, n);
	else
		pairs(kind, y, a, 0, b, sb, n);
}

static float largest(const float *x, int64_t n)
{
	vec most = splat(-INFINITY);
	float max = -INFINITY;
	int64_t i = 0;

	for (; i + LANES <= n; i += LANES)
		most = larger(most, load(x + i));
	for (int k = 0; k < LANES; k++)
		max = max != max || max > most[k] ? max : most[k];
	for (; i < n; i++)
		max = max != max || max > x[i] ? max : x[i];
	return max;
}

static void softmax(float *y, const float *x, int64_t n)
{
	double max = (double)largest(x, n), sum = 0;
	float scale;

	for (int64_t i = 0; i < n; i++)
		y[i] = (float)cpu_exp((double)x[i] - max);
	for (int64_t i = 0; i < n; i++)
		sum += (double)y[i];
	scale = (float)(1 / sum);
	for (int64_t i = 0; i < n; i++)
		y[i] *= scale;
}

void LEVEL_TABLE(fill_map)(struct cpu_simd *simd)
{
	simd->unary = unary;
	simd->binary = binary;
	simd->softmax = softmax;
}
