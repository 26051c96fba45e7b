// SPDX-License-Identifier: MIT
/* Checks of the functions on integers of 8 bits. */
#include <math.h>

#include "cpu/ref/requantize.h"
#include "simd_check.h"

/* Returns a random integer from lo to hi; both may be negative. */
static int32_t whole_between(int32_t lo, int32_t hi)
{
	return (int32_t)between((uint32_t)lo, (uint32_t)hi);
}

void check_finish(void)
{
	enum ir_dtype dtype = random_below(2) ? IR_I8 : IR_U8;
	int64_t n = between(1, 70), pixels = between(1, 5);
	int32_t lo = (int32_t)cpu_int_min(dtype), hi = (int32_t)cpu_int_max(dtype);
	struct ir_integer_attrs attrs = { .zero = whole_between(lo, hi),
					  .lo = whole_between(lo, -1 + lo + 20),
					  .hi = whole_between(hi - 20, hi) };
	struct guard scale = floats(n), bias = floats(n), sums = floats(pixels * n), memory;
	uint8_t *y = bytes(&memory, pixels * n);
	int32_t *whole = (int32_t *)sums.data, *added = (int32_t *)bias.data;
	struct cpu_finish f = { .scale = scale.data,
				.bias = added,
				.zero = (float)attrs.zero,
				.lo = (float)attrs.lo,
				.hi = (float)attrs.hi };

	for (int64_t i = 0; i < n; i++) {
		/* Powers of two give results that are halfway between two integers. */
		scale.data[i] = random_below(3) ? 0.5f / (float)(1 << random_below(12)) :
						  1e-3f * (float)whole_between(1, 3000);
		added[i] = whole_between(-100000, 100000);
	}
	for (int64_t i = 0; i < pixels * n; i++)
		whole[i] = random_below(4) ? whole_between(-5000, 5000) :
					     whole_between(-2000000000, 2000000000);
	simd->finish(&f, y, whole, pixels, n);
	for (int64_t i = 0; i < pixels * n; i++)
		expect("finish", i, y[i],
		       (uint8_t)cpu_requantize(&attrs, dtype, (int64_t)whole[i] + added[i % n],
					       scale.data[i % n]),
		       0.5);
	guard_free(&scale);
	guard_free(&bias);
	guard_free(&sums);
	guard_free(&memory);
}

/*
 * Checks the conversion of sums to bytes, where a sum is a float32 plus, if `two`, an integer, and
 * scale and bias are one for each sum or one for all.
 */
void check_finish_floats(void)
{
	enum ir_dtype dtype = random_below(2) ? IR_I8 : IR_U8;
	int64_t n = whole_between(1, random_below(4) ? 70 : 1200);
	bool each_scale = random_below(2), each_bias = random_below(2), two = random_below(2);
	int32_t lo = (int32_t)cpu_int_min(dtype), hi = (int32_t)cpu_int_max(dtype);
	struct ir_integer_attrs attrs = { .zero = whole_between(lo, hi),
					  .lo = whole_between(lo, lo + 20),
					  .hi = whole_between(hi - 20, hi) };
	struct guard scale = floats(each_scale ? n : 1), bias = floats(each_bias ? n : 1);
	struct guard sums = floats(n), others = floats(n), memory;
	uint8_t *y = bytes(&memory, n);
	int32_t *before = (int32_t *)others.data, *added = (int32_t *)bias.data;
	struct cpu_finish f = { .scale = scale.data,
				.bias = random_below(3) ? added : NULL,
				.zero = (float)attrs.zero,
				.lo = (float)attrs.lo,
				.hi = (float)attrs.hi };

	for (int64_t i = 0; i < (each_scale ? n : 1); i++)
		scale.data[i] = random_below(3) ? 0.5f / (float)(1 << random_below(12)) :
						  1e-3f * (float)whole_between(1, 3000);
	for (int64_t i = 0; i < (each_bias ? n : 1); i++)
		added[i] = whole_between(-100000, 100000);
	for (int64_t i = 0; i < n; i++) {
		sums.data[i] = (float)(random_below(4) ? whole_between(-5000, 5000) :
							 whole_between(-(1 << 24), 1 << 24));
		before[i] = whole_between(-5000, 5000);
	}
	simd->finish_floats(&f, y, sums.data, two ? before : NULL, each_scale, each_bias, n);
	for (int64_t i = 0; i < n; i++) {
		int64_t sum = (int64_t)sums.data[i] + (two ? before[i] : 0) +
			      (f.bias ? added[each_bias ? i : 0] : 0);

		expect("finish_floats", i, y[i],
		       (uint8_t)cpu_requantize(&attrs, dtype, sum, scale.data[each_scale ? i : 0]),
		       0.5);
	}
	guard_free(&scale);
	guard_free(&bias);
	guard_free(&sums);
	guard_free(&others);
	guard_free(&memory);
}

static int32_t integer(uint8_t byte, bool is_signed)
{
	return is_signed ? (int8_t)byte : byte;
}

void check_widen(void)
{
	int64_t n = whole_between(1, 150), zero = whole_between(-128, 255);
	bool is_signed = random_below(2);
	struct guard y = floats(n), memory;
	uint8_t *x = bytes(&memory, n);

	simd->widen(y.data, x, is_signed, (int32_t)zero, n);
	for (int64_t i = 0; i < n; i++)
		expect("widen", i, (double)y.data[i], (double)(integer(x[i], is_signed) - zero),
		       0.5);
	guard_free(&y);
	guard_free(&memory);
}

void check_add_floats(void)
{
	int64_t n = whole_between(1, 150);
	struct guard x = floats(n), y = floats(n), before = floats(n);
	int32_t *sums = (int32_t *)y.data, *old = (int32_t *)before.data;

	for (int64_t i = 0; i < n; i++) {
		x.data[i] = (float)whole_between(-(1 << 24), 1 << 24);
		old[i] = sums[i] = whole_between(-2000000000, 2000000000);
	}
	simd->add_floats(sums, x.data, n);
	for (int64_t i = 0; i < n; i++)
		expect("add_floats", i, sums[i], old[i] + (double)x.data[i], 0.5);
	guard_free(&x);
	guard_free(&y);
	guard_free(&before);
}

/*
 * Returns random scales and zero points, either n of each or one of each for all elements; sets
 * memory[] to what the caller frees.
 */
static struct cpu_quanta random_quanta(struct guard memory[2], int64_t n)
{
	bool is_signed = random_below(2), is_narrow = random_below(4) == 0, each = random_below(2);
	struct guard scale = memory[0] = floats(each ? n : 1);
	struct guard zero = memory[1] = floats(each ? n : 1);
	float most = is_narrow ? 15 : 255, least = is_signed ? -(most + 1) / 2 : 0;
	int32_t *zeros = (int32_t *)zero.data;

	for (int64_t i = 0; i < (each ? n : 1); i++) {
		/* Powers of two give quotients that are halfway between two integers. */
		scale.data[i] = random_below(2) ? 0.25f : 1e-3f * (float)whole_between(1, 3000);
		if (random_below(9) == 0)
			scale.data[i] = random_below(2) ? 0 : INFINITY;
		zeros[i] = whole_between((int32_t)least, (int32_t)(least + most));
	}
	return (struct cpu_quanta){ .scale = scale.data,
				    .zero = zeros,
				    .each = each,
				    .is_signed = is_signed,
				    .least = least,
				    .most = least + most };
}

void check_quantize(void)
{
	int64_t n = whole_between(1, 150);
	struct guard memory[4];
	struct cpu_quanta q = random_quanta(memory, n);
	float *x = (memory[2] = floats(n)).data;
	uint8_t *y = bytes(&memory[3], n);

	for (int64_t i = 0; i < n; i++)
		x[i] = random_below(2) ? x[i] * 40 : 0.125f * (float)whole_between(-400, 400);
	put_odd_values(&memory[2], n);
	simd->quantize(&q, y, x, n);
	for (int64_t i = 0; i < n; i++) {
		int64_t k = q.each ? i : 0;
		float v = x[i] / q.scale[k];

		v = isnan(v) ? 0 : nearbyintf(v);
		v = fminf(fmaxf(v + (float)q.zero[k], q.least), q.most);
		expect("quantize", i, y[i], (uint8_t)(int32_t)v, 0.5);
	}
	for (int i = 0; i < 4; i++)
		guard_free(&memory[i]);
}

void check_dequantize(void)
{
	int64_t n = whole_between(1, 150);
	struct guard memory[4];
	struct cpu_quanta q = random_quanta(memory, n);
	float *y = (memory[2] = floats(n)).data;
	uint8_t *x = bytes(&memory[3], n);

	simd->dequantize(&q, y, x, n);
	for (int64_t i = 0; i < n; i++) {
		int64_t k = q.each ? i : 0;

		expect("dequantize", i, (double)y[i],
		       (double)((float)(integer(x[i], q.is_signed) - q.zero[k]) * q.scale[k]), 0);
	}
	for (int i = 0; i < 4; i++)
		guard_free(&memory[i]);
}

void check_integers(void)
{
	static const int kinds[] = { IR_ADD, IR_SUB, IR_MUL };
	bool y_signed = random_below(2);
	float least = y_signed ? INT8_MIN : 0, most = least + UINT8_MAX;
	int64_t n = whole_between(1, 150);
	struct cpu_integers o = { .kind = kinds[random_below(3)],
				  .a_signed = random_below(2),
				  .b_signed = random_below(2),
				  .a_zero = whole_between(-100, 100),
				  .b_zero = whole_between(-100, 100),
				  .a_scale = 1.0f / (float)whole_between(1, 64),
				  .b_scale = 1.0f / (float)whole_between(1, 64),
				  .scale = 1.0f / (float)whole_between(1, 64),
				  .zero = (float)whole_between(-20, 100),
				  .lo = random_below(2) ? 0 : -INFINITY,
				  .hi = random_below(2) ? 6 : INFINITY,
				  .least = least,
				  .most = most };
	struct guard memory[3];
	uint8_t *y = bytes(&memory[0], n), *a = bytes(&memory[1], n), *b = bytes(&memory[2], n);

	simd->integers(&o, y, a, b, n);
	for (int64_t i = 0; i < n; i++) {
		float p = (float)(integer(a[i], o.a_signed) - o.a_zero) * o.a_scale;
		float q = (float)(integer(b[i], o.b_signed) - o.b_zero) * o.b_scale;
		float v = o.kind == IR_ADD ? p + q : o.kind == IR_SUB ? p - q : p * q;

		v = fminf(fmaxf(v, o.lo), o.hi) / o.scale;
		v = fminf(fmaxf(nearbyintf(v) + o.zero, least), most);
		expect("integers", i, y[i], (uint8_t)(int32_t)v, 0.5);
	}
	for (int i = 0; i < 3; i++)
		guard_free(&memory[i]);
}

void check_interleave(void)
{
	int64_t n = whole_between(1, 300), step = n + whole_between(0, 9);
	int rows = whole_between(2, 4);
	struct guard memory[2];
	uint8_t *y = bytes(&memory[0], rows * n), *x = bytes(&memory[1], (rows - 1) * step + n);

	simd->interleave(y, x, step, rows, n);
	for (int64_t i = 0; i < rows * n; i++)
		expect("interleave", i, y[i], x[i % rows * step + i / rows], 0.5);
	for (int i = 0; i < 2; i++)
		guard_free(&memory[i]);
}
