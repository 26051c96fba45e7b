// SPDX-License-Identifier: MIT
/*
 * Loops over integers of the vector unit, all in 64 bits; see kernels.h. Built once per SIMD level.
 * Loads sign- or zero-extend and stores truncate, so that wrapping 64-bit arithmetic is wrapping
 * arithmetic of every type. Comparisons must distinguish signed and unsigned types.
 */
#include <string.h>

#include "math/kernels_level.h"

/* Wrapping arithmetic is done unsigned: signed overflow would be undefined. */
static inline int64_t wrap_add(int64_t a, int64_t b)
{
	return (int64_t)((uint64_t)a + (uint64_t)b);
}

static inline int64_t wrap_sub(int64_t a, int64_t b)
{
	return (int64_t)((uint64_t)a - (uint64_t)b);
}

static inline int64_t wrap_mul(int64_t a, int64_t b)
{
	return (int64_t)((uint64_t)a * (uint64_t)b);
}

static inline int less(int64_t a, int64_t b, int is_unsigned)
{
	uint64_t flip = (uint64_t)is_unsigned << 63;

	return (int64_t)((uint64_t)a ^ flip) < (int64_t)((uint64_t)b ^ flip);
}

static inline int64_t int_max(int64_t a, int64_t b, int is_unsigned)
{
	return less(a, b, is_unsigned) ? b : a;
}

static inline int64_t int_min(int64_t a, int64_t b, int is_unsigned)
{
	return less(b, a, is_unsigned) ? b : a;
}

static inline int negative(int64_t x, int is_unsigned)
{
	return !is_unsigned && x < 0;
}

static inline int64_t int_abs(int64_t x, int is_unsigned)
{
	return negative(x, is_unsigned) ? wrap_sub(0, x) : x;
}

static inline int64_t int_sign(int64_t x, int is_unsigned)
{
	return negative(x, is_unsigned) ? -1 : x != 0;
}

static inline int64_t int_div(int64_t a, int64_t b, int is_unsigned)
{
	if (!b)
		return 0;
	if (is_unsigned)
		return (int64_t)((uint64_t)a / (uint64_t)b);
	return b == -1 ? wrap_sub(0, a) : a / b;
}

static int64_t int_pow(int64_t base, int64_t exponent, int is_unsigned)
{
	uint64_t e = (uint64_t)exponent;
	int64_t r = 1;

	if (negative(exponent, is_unsigned)) {
		if (base == 1)
			return 1;
		if (base == -1)
			return e & 1 ? -1 : 1;
		return 0;
	}
	for (; e; e >>= 1) {
		if (e & 1)
			r = wrap_mul(r, base);
		base = wrap_mul(base, base);
	}
	return r;
}

/* ---- Loads and stores with conversion ---- */

#define DEFINE_LOAD(name, raw)                                                           \
	static void load_##name(int64_t *dst, const char *src, int64_t stride, size_t n) \
	{                                                                                \
		if (stride == (int64_t)sizeof(raw)) {                                    \
			const raw *s = (const raw *)src;                                 \
                                                                                         \
			KERNEL_VECTORISE                                                 \
			for (size_t i = 0; i < n; i++)                                   \
				dst[i] = (int64_t)s[i];                                  \
			return;                                                          \
		}                                                                        \
		for (size_t i = 0; i < n; i++, src += stride)                            \
			dst[i] = (int64_t)*(const raw *)src;                             \
	}

DEFINE_LOAD(i8, int8_t)
DEFINE_LOAD(u8, uint8_t)
DEFINE_LOAD(i16, int16_t)
DEFINE_LOAD(u16, uint16_t)
DEFINE_LOAD(i32, int32_t)
DEFINE_LOAD(u32, uint32_t)
DEFINE_LOAD(i64, int64_t)
DEFINE_LOAD(u64, uint64_t)

#define DEFINE_STORE(bits)                                                                \
	static void store_##bits(char *dst, int64_t stride, const int64_t *src, size_t n) \
	{                                                                                 \
		if (stride == bits / 8) {                                                 \
			uint##bits##_t *d = (uint##bits##_t *)dst;                        \
                                                                                          \
			KERNEL_VECTORISE                                                  \
			for (size_t i = 0; i < n; i++)                                    \
				d[i] = (uint##bits##_t)src[i];                            \
			return;                                                           \
		}                                                                         \
		for (size_t i = 0; i < n; i++, dst += stride)                             \
			*(uint##bits##_t *)dst = (uint##bits##_t)src[i];                  \
	}

DEFINE_STORE(8)
DEFINE_STORE(16)
DEFINE_STORE(32)
DEFINE_STORE(64)

/* ---- Arithmetic ---- */

#define DEFINE_UNARY(name, expression)                                                    \
	static void un_##name(int64_t *dst, const int64_t *a, size_t n,                   \
			      const struct kernel_int *type, int64_t alpha, int64_t beta) \
	{                                                                                 \
		int u = type->is_unsigned;                                                \
                                                                                          \
		(void)u;                                                                  \
		(void)alpha;                                                              \
		(void)beta;                                                               \
		KERNEL_VECTORISE                                                          \
		for (size_t i = 0; i < n; i++) {                                          \
			int64_t x = a[i];                                                 \
                                                                                          \
			dst[i] = (expression);                                            \
		}                                                                         \
	}

DEFINE_UNARY(abs, int_abs(x, u))
DEFINE_UNARY(neg, wrap_sub(0, x))
DEFINE_UNARY(sign, int_sign(x, u))
DEFINE_UNARY(relu, negative(x, u) ? 0 : x)
DEFINE_UNARY(clamp, int_min(int_max(x, alpha, u), beta, u))
DEFINE_UNARY(linear, wrap_add(wrap_mul(alpha, x), beta))

#define DEFINE_BINARY(name, expression)                                                    \
	static void bin_##name(int64_t *dst, const int64_t *a, const int64_t *b, size_t n, \
			       const struct kernel_int *type)                              \
	{                                                                                  \
		int u = type->is_unsigned;                                                 \
                                                                                           \
		(void)u;                                                                   \
		KERNEL_VECTORISE                                                           \
		for (size_t i = 0; i < n; i++) {                                           \
			int64_t x = a[i], y = b[i];                                        \
                                                                                           \
			dst[i] = (expression);                                             \
		}                                                                          \
	}

DEFINE_BINARY(add, wrap_add(x, y))
DEFINE_BINARY(sub, wrap_sub(x, y))
DEFINE_BINARY(mul, wrap_mul(x, y))
DEFINE_BINARY(div, int_div(x, y, u))
DEFINE_BINARY(max, int_max(x, y, u))
DEFINE_BINARY(min, int_min(x, y, u))
DEFINE_BINARY(prelu, negative(x, u) ? wrap_mul(x, y) : x)
DEFINE_BINARY(pow, int_pow(x, y, u))

static void fma_s64(int64_t *dst, const int64_t *a, const int64_t *b, const int64_t *c, size_t n)
{
	KERNEL_VECTORISE
	for (size_t i = 0; i < n; i++)
		dst[i] = wrap_add(wrap_mul(a[i], b[i]), c[i]);
}

#define DEFINE_COMPARE(name, expression)                                                          \
	static void cmp_##name(uint8_t *dst, const int64_t *a, const int64_t *b, size_t n, int u) \
	{                                                                                         \
		(void)u;                                                                          \
		KERNEL_VECTORISE                                                                  \
		for (size_t i = 0; i < n; i++) {                                                  \
			int64_t x = a[i], y = b[i];                                               \
                                                                                                  \
			dst[i] = (expression);                                                    \
		}                                                                                 \
	}

DEFINE_COMPARE(eq, x == y)
DEFINE_COMPARE(ne, x != y)
DEFINE_COMPARE(gt, less(y, x, u))
DEFINE_COMPARE(ge, !less(x, y, u))
DEFINE_COMPARE(lt, less(x, y, u))
DEFINE_COMPARE(le, !less(y, x, u))

/*
 * Sums and products of partial lanes may leave the range of the type; the final store wraps them.
 * Operands of comparisons (max, min) and of abs are always in range.
 */
#define DEFINE_REDUCE(name, expression)                                       \
	static void acc_##name(int64_t *acc, const int64_t *src, size_t n,    \
			       const struct kernel_int *type)                 \
	{                                                                     \
		int u = type->is_unsigned;                                    \
                                                                              \
		(void)u;                                                      \
		KERNEL_VECTORISE                                              \
		for (size_t i = 0; i < n; i++) {                              \
			int64_t a = acc[i], x = src[i];                       \
                                                                              \
			acc[i] = (expression);                                \
		}                                                             \
	}                                                                     \
                                                                              \
	static void lanes_##name(int64_t *lane, const int64_t *src, size_t n, \
				 const struct kernel_int *type)               \
	{                                                                     \
		int u = type->is_unsigned;                                    \
                                                                              \
		(void)u;                                                      \
		for (size_t i = 0; i < n; i++) {                              \
			int64_t a = lane[i % ONPU_REDUCE_LANES], x = src[i];  \
                                                                              \
			lane[i % ONPU_REDUCE_LANES] = (expression);           \
		}                                                             \
	}

DEFINE_REDUCE(sum, wrap_add(a, x))
DEFINE_REDUCE(prod, wrap_mul(a, x))
DEFINE_REDUCE(max, int_max(a, x, u))
DEFINE_REDUCE(min, int_min(a, x, u))
DEFINE_REDUCE(sumabs, wrap_add(a, int_abs(x, u)))
DEFINE_REDUCE(sumsq, wrap_add(a, wrap_mul(x, x)))

/* ---- Conversions between kinds ---- */

static inline int64_t saturate(int64_t x, const struct kernel_int *type)
{
	return x < type->min ? type->min : x > type->max ? type->max : x;
}

static void f32_to_s64(int64_t *dst, const float *a, size_t n, const struct kernel_int *type)
{
	/*
	 * The first value above the type's range, a power of two, and the least value in the range.
	 */
	double above = type->is_unsigned ? 2.0 * (double)(UINT64_C(1) << (type->bits - 1)) :
					   (double)type->max + 1.0;
	double lowest = type->is_unsigned ? 0.0 : (double)type->min;

	if (type->bits == 64) {
		for (size_t i = 0; i < n; i++) {
			double x = (double)a[i];

			if (x != x)
				dst[i] = 0;
			else if (x >= above)
				dst[i] = type->max;
			else if (x < lowest)
				dst[i] = type->min;
			else
				dst[i] = type->is_unsigned ? (int64_t)(uint64_t)x : (int64_t)x;
		}
		return;
	}
	KERNEL_VECTORISE
	for (size_t i = 0; i < n; i++) {
		double x = a[i] != a[i] ? 0.0 : (double)a[i];

		x = x < lowest ? lowest : x;
		x = x > above - 1.0 ? above - 1.0 : x;
		dst[i] = (int64_t)x;
	}
}

static void s64_to_f32(float *dst, const int64_t *a, size_t n, int is_unsigned)
{
	if (is_unsigned) {
		for (size_t i = 0; i < n; i++)
			dst[i] = (float)(uint64_t)a[i];
		return;
	}
	KERNEL_VECTORISE
	for (size_t i = 0; i < n; i++)
		dst[i] = (float)a[i];
}

/*
 * Returns roundEven(x) + z, saturated. The sum of 2^40 and any zero point is beyond the range of
 * every type, so limiting x to 2^40 first changes nothing.
 */
static inline int64_t round_shift(float x, int64_t z, const struct kernel_int *type)
{
	float r = x != x ? 0.0f : __builtin_nearbyintf(x);

	r = r > 0x1p40f ? 0x1p40f : r;
	r = r < -0x1p40f ? -0x1p40f : r;
	return saturate((int64_t)r + z, type);
}

static void quant(int64_t *dst, const float *a, const float *s, const int64_t *z, size_t n,
		  const struct kernel_int *type)
{
	KERNEL_VECTORISE
	for (size_t i = 0; i < n; i++)
		dst[i] = round_shift(a[i] / s[i], z[i], type);
}

static void requant(int64_t *dst, const int64_t *a, const float *s, const int64_t *z, size_t n,
		    const struct kernel_int *type)
{
	KERNEL_VECTORISE
	for (size_t i = 0; i < n; i++)
		dst[i] = round_shift((float)a[i] * s[i], z[i], type);
}

static void dequant(float *dst, const int64_t *a, const float *s, const int64_t *z, size_t n)
{
	KERNEL_VECTORISE
	for (size_t i = 0; i < n; i++) {
		float x = (float)(a[i] - z[i]) * s[i];

		dst[i] = x != x ? __builtin_nanf("") : x;
	}
}

void KERNEL_NAME(fill_integer)(struct onpu_kernels *k)
{
	static const kernel_load_s64 load[] = { load_i8,  load_u8,  load_i16, load_u16,
						load_i32, load_u32, load_i64, load_u64 };
	static const kernel_store_s64 store[] = { store_8, store_16, store_32, store_64 };

	memcpy(k->load_s64, load, sizeof(load));
	memcpy(k->store_s64, store, sizeof(store));
	k->s64_unary[UN_ABS] = un_abs;
	k->s64_unary[UN_NEG] = un_neg;
	k->s64_unary[UN_SIGN] = un_sign;
	k->s64_unary[UN_RELU] = un_relu;
	k->s64_unary[UN_CLAMP] = un_clamp;
	k->s64_unary[UN_LINEAR] = un_linear;
	k->s64_binary[BIN_ADD] = bin_add;
	k->s64_binary[BIN_SUB] = bin_sub;
	k->s64_binary[BIN_MUL] = bin_mul;
	k->s64_binary[BIN_DIV] = bin_div;
	k->s64_binary[BIN_MAX] = bin_max;
	k->s64_binary[BIN_MIN] = bin_min;
	k->s64_binary[BIN_PRELU] = bin_prelu;
	k->s64_binary[BIN_POW] = bin_pow;
	k->s64_compare[CMP_EQ] = cmp_eq;
	k->s64_compare[CMP_NE] = cmp_ne;
	k->s64_compare[CMP_GT] = cmp_gt;
	k->s64_compare[CMP_GE] = cmp_ge;
	k->s64_compare[CMP_LT] = cmp_lt;
	k->s64_compare[CMP_LE] = cmp_le;
	k->s64_accumulate[RED_SUM] = acc_sum;
	k->s64_accumulate[RED_PROD] = acc_prod;
	k->s64_accumulate[RED_MAX] = acc_max;
	k->s64_accumulate[RED_MIN] = acc_min;
	k->s64_accumulate[RED_SUMABS] = acc_sumabs;
	k->s64_accumulate[RED_SUMSQ] = acc_sumsq;
	k->s64_lanes[RED_SUM] = lanes_sum;
	k->s64_lanes[RED_PROD] = lanes_prod;
	k->s64_lanes[RED_MAX] = lanes_max;
	k->s64_lanes[RED_MIN] = lanes_min;
	k->s64_lanes[RED_SUMABS] = lanes_sumabs;
	k->s64_lanes[RED_SUMSQ] = lanes_sumsq;
	k->s64_fma = fma_s64;
	k->f32_to_s64 = f32_to_s64;
	k->s64_to_f32 = s64_to_f32;
	k->quant = quant;
	k->requant = requant;
	k->dequant = dequant;
}
