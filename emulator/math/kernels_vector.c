// SPDX-License-Identifier: MIT
/*
 * Loops over float32 of the vector unit; see kernels.h. Built once per SIMD level.
 */
#include <math.h>
#include <string.h>

#if defined(__F16C__) && defined(__AVX2__)
#include <immintrin.h>
#endif

#include "math/kernels_level.h"
#include "math/types.h"

static inline float canonical(float x)
{
	return x != x ? __builtin_nanf("") : x;
}

/* ---- Loads and stores with conversion ---- */

#define DEFINE_LOAD(name, raw, convert)                                                \
	static void load_##name(float *dst, const char *src, int64_t stride, size_t n) \
	{                                                                              \
		if (stride == (int64_t)sizeof(raw)) {                                  \
			const raw *s = (const raw *)src;                               \
                                                                                       \
			KERNEL_VECTORISE                                               \
			for (size_t i = 0; i < n; i++)                                 \
				dst[i] = convert(s[i]);                                \
			return;                                                        \
		}                                                                      \
		if (!stride) {                                                         \
			float x = convert(*(const raw *)src);                          \
                                                                                       \
			for (size_t i = 0; i < n; i++)                                 \
				dst[i] = x;                                            \
			return;                                                        \
		}                                                                      \
		for (size_t i = 0; i < n; i++, src += stride)                          \
			dst[i] = convert(*(const raw *)src);                           \
	}

#define SAME(x) (x)

DEFINE_LOAD(f16_any, uint16_t, onpu_f16_to_f32)
DEFINE_LOAD(bf16, uint16_t, onpu_bf16_to_f32)
DEFINE_LOAD(f32, float, SAME)

#define DEFINE_STORE(name, raw, convert)                                                \
	static void store_##name(char *dst, int64_t stride, const float *src, size_t n) \
	{                                                                               \
		if (stride == (int64_t)sizeof(raw)) {                                   \
			raw *d = (raw *)dst;                                            \
                                                                                        \
			KERNEL_VECTORISE                                                \
			for (size_t i = 0; i < n; i++)                                  \
				d[i] = convert(src[i]);                                 \
			return;                                                         \
		}                                                                       \
		for (size_t i = 0; i < n; i++, dst += stride)                           \
			*(raw *)dst = convert(src[i]);                                  \
	}

DEFINE_STORE(f16_any, uint16_t, onpu_f32_to_f16)
DEFINE_STORE(bf16, uint16_t, onpu_f32_to_bf16)
DEFINE_STORE(f32, float, canonical)

#if defined(__F16C__) && defined(__AVX2__)
/*
 * Loads float16. The hardware keeps NaN payloads, the architecture does not: only stores must make
 * NaNs canonical.
 */
static void load_f16(float *dst, const char *src, int64_t stride, size_t n)
{
	size_t i = 0;

	if (stride != 2) {
		load_f16_any(dst, src, stride, n);
		return;
	}
	for (; i + 8 <= n; i += 8)
		_mm256_storeu_ps(dst + i,
				 _mm256_cvtph_ps(_mm_loadu_si128((const __m128i *)(src + 2 * i))));
	load_f16_any(dst + i, src + 2 * i, 2, n - i);
}

static void store_f16(char *dst, int64_t stride, const float *src, size_t n)
{
	const __m128i nan = _mm_set1_epi16(0x7e00);
	size_t i = 0;

	if (stride != 2) {
		store_f16_any(dst, stride, src, n);
		return;
	}
	for (; i + 8 <= n; i += 8) {
		__m256 x = _mm256_loadu_ps(src + i);
		__m256i wide = _mm256_castps_si256(_mm256_cmp_ps(x, x, _CMP_UNORD_Q));
		__m128i is_nan = _mm_packs_epi32(_mm256_castsi256_si128(wide),
						 _mm256_extracti128_si256(wide, 1));
		__m128i h = _mm256_cvtps_ph(x, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);

		_mm_storeu_si128((__m128i *)(dst + 2 * i), _mm_blendv_epi8(h, nan, is_nan));
	}
	store_f16_any(dst + 2 * i, 2, src + i, n - i);
}
#else
#define load_f16  load_f16_any
#define store_f16 store_f16_any
#endif

/* ---- One operand ---- */

static inline float op_max(float a, float b)
{
	/* Equal operands can only differ in the sign of a zero. */
	float equal = onpu_bits_f32(onpu_f32_bits(a) & onpu_f32_bits(b));
	float r = a == b ? equal : a > b ? a : b;

	return a != a ? a : r;
}

static inline float op_min(float a, float b)
{
	float equal = onpu_bits_f32(onpu_f32_bits(a) | onpu_f32_bits(b));
	float r = a == b ? equal : a < b ? a : b;

	return a != a ? a : r;
}

static inline float op_sign(float x)
{
	return x > 0.0f ? 1.0f : x < 0.0f ? -1.0f : 0.0f;
}

static inline float op_relu(float x)
{
	return x != x ? x : x > 0.0f ? x : 0.0f;
}

static inline float op_clamp(float x, float lo, float hi)
{
	return x != x ? x : op_min(op_max(x, lo), hi);
}

static inline float op_linear(float x, float alpha, float beta)
{
	float product = alpha * x;

	return product + beta;
}

static inline float op_hardsigmoid(float x, float alpha, float beta)
{
	return op_max(0.0f, op_min(1.0f, op_linear(x, alpha, beta)));
}

static inline float op_hardswish(float x)
{
	float factor = op_max(0.0f, op_min(6.0f, x + 3.0f));
	float product = x * factor;

	return product / 6.0f;
}

#define DEFINE_UNARY(name, expression)                                                         \
	static void un_##name(float *dst, const float *src, size_t n, float alpha, float beta) \
	{                                                                                      \
		(void)alpha;                                                                   \
		(void)beta;                                                                    \
		KERNEL_VECTORISE                                                               \
		for (size_t i = 0; i < n; i++) {                                               \
			float x = src[i];                                                      \
                                                                                               \
			dst[i] = canonical(expression);                                        \
		}                                                                              \
	}

DEFINE_UNARY(abs, __builtin_fabsf(x))
DEFINE_UNARY(neg, -x)
DEFINE_UNARY(sign, op_sign(x))
DEFINE_UNARY(ceil, __builtin_ceilf(x))
DEFINE_UNARY(floor, __builtin_floorf(x))
DEFINE_UNARY(roundeven, __builtin_nearbyintf(x))
DEFINE_UNARY(leakyrelu, x < 0.0f ? alpha * x : x)
DEFINE_UNARY(hardsigmoid, op_hardsigmoid(x, alpha, beta))
DEFINE_UNARY(hardswish, op_hardswish(x))
DEFINE_UNARY(relu, op_relu(x))
DEFINE_UNARY(clamp, op_clamp(x, alpha, beta))
DEFINE_UNARY(linear, op_linear(x, alpha, beta))

/* ---- Two and three operands ---- */

#define DEFINE_BINARY(name, expression)                                              \
	static void bin_##name(float *dst, const float *a, const float *b, size_t n) \
	{                                                                            \
		KERNEL_VECTORISE                                                     \
		for (size_t i = 0; i < n; i++) {                                     \
			float x = a[i], y = b[i];                                    \
                                                                                     \
			dst[i] = canonical(expression);                              \
		}                                                                    \
	}

DEFINE_BINARY(add, x + y)
DEFINE_BINARY(sub, x - y)
DEFINE_BINARY(mul, x *y)
DEFINE_BINARY(div, x / y)
DEFINE_BINARY(max, op_max(x, y))
DEFINE_BINARY(min, op_min(x, y))
DEFINE_BINARY(prelu, x < 0.0f ? x * y : x)

static void bin_pow(float *dst, const float *a, const float *b, size_t n)
{
	onpu_fn_pow_array(KERNEL_SIMD)(dst, a, b, n);
}

static void fma_f32(float *dst, const float *a, const float *b, const float *c, size_t n)
{
	KERNEL_VECTORISE
	for (size_t i = 0; i < n; i++)
		dst[i] = canonical(__builtin_fmaf(a[i], b[i], c[i]));
}

static void lerp(float *dst, const float *a, const float *b, const float *f, size_t n)
{
	KERNEL_VECTORISE
	for (size_t i = 0; i < n; i++)
		dst[i] = canonical(f[i] == 0.0f || a[i] == b[i] ?
					   a[i] :
					   __builtin_fmaf(f[i], b[i], (1.0f - f[i]) * a[i]));
}

#define DEFINE_COMPARE(name, operator)                                                 \
	static void cmp_##name(uint8_t *dst, const float *a, const float *b, size_t n) \
	{                                                                              \
		KERNEL_VECTORISE                                                       \
		for (size_t i = 0; i < n; i++)                                         \
			dst[i] = a[i] operator b[i];                                   \
	}

DEFINE_COMPARE(eq, ==)
DEFINE_COMPARE(ne, !=)
DEFINE_COMPARE(gt, >)
DEFINE_COMPARE(ge, >=)
DEFINE_COMPARE(lt, <)
DEFINE_COMPARE(le, <=)

static void is_nan(uint8_t *dst, const float *a, size_t n)
{
	KERNEL_VECTORISE
	for (size_t i = 0; i < n; i++)
		dst[i] = a[i] != a[i];
}

static void is_inf(uint8_t *dst, const float *a, size_t n)
{
	KERNEL_VECTORISE
	for (size_t i = 0; i < n; i++)
		dst[i] = __builtin_fabsf(a[i]) == __builtin_inff();
}

/* ---- Reductions and windows ---- */

#define DEFINE_REDUCE(name, expression)                                      \
	static void acc_##name(float *acc, const float *src, size_t n)       \
	{                                                                    \
		KERNEL_VECTORISE                                             \
		for (size_t i = 0; i < n; i++) {                             \
			float a = acc[i], x = src[i];                        \
                                                                             \
			acc[i] = (expression);                               \
		}                                                            \
	}                                                                    \
                                                                             \
	static void lanes_##name(float *lane, const float *src, size_t n)    \
	{                                                                    \
		float local[ONPU_REDUCE_LANES];                              \
		size_t i = 0;                                                \
                                                                             \
		memcpy(local, lane, sizeof(local));                          \
		for (; i + ONPU_REDUCE_LANES <= n; i += ONPU_REDUCE_LANES) { \
			KERNEL_VECTORISE                                     \
			for (int j = 0; j < ONPU_REDUCE_LANES; j++) {        \
				float a = local[j], x = src[i + j];          \
                                                                             \
				local[j] = (expression);                     \
			}                                                    \
		}                                                            \
		for (int j = 0; i < n; i++, j++) {                           \
			float a = local[j], x = src[i];                      \
                                                                             \
			local[j] = (expression);                             \
		}                                                            \
		memcpy(lane, local, sizeof(local));                          \
	}

DEFINE_REDUCE(sum, a + x)
DEFINE_REDUCE(prod, a *x)
DEFINE_REDUCE(max, op_max(a, x))
DEFINE_REDUCE(min, op_min(a, x))
DEFINE_REDUCE(sumabs, a + __builtin_fabsf(x))
DEFINE_REDUCE(sumsq, __builtin_fmaf(x, x, a))

static void mac(float *acc, const float *x, const float *f, size_t n)
{
	KERNEL_VECTORISE
	for (size_t i = 0; i < n; i++)
		acc[i] = __builtin_fmaf(x[i], f[i], acc[i]);
}

static void make_canonical(float *x, size_t n)
{
	KERNEL_VECTORISE
	for (size_t i = 0; i < n; i++)
		x[i] = canonical(x[i]);
}

/* ---- Raw elements ---- */

#define DEFINE_COPY(bits)                                                                    \
	static void copy_##bits(char *dst, int64_t dst_stride, const char *src,              \
				int64_t src_stride, size_t n)                                \
	{                                                                                    \
		const int64_t dense = bits / 8;                                              \
                                                                                             \
		if (dst_stride == dense && src_stride == dense) {                            \
			memmove(dst, src, n *dense);                                         \
			return;                                                              \
		}                                                                            \
		for (size_t i = 0; i < n; i++, dst += dst_stride, src += src_stride)         \
			*(uint##bits##_t *)dst = *(const uint##bits##_t *)src;               \
	}                                                                                    \
                                                                                             \
	static void select_##bits(void *dst, const uint8_t *c, const void *a, const void *b, \
				  size_t n)                                                  \
	{                                                                                    \
		const uint##bits##_t *x = a, *y = b;                                         \
		uint##bits##_t *d = dst;                                                     \
                                                                                             \
		KERNEL_VECTORISE                                                             \
		for (size_t i = 0; i < n; i++) {                                             \
			uint##bits##_t p = x[i], q = y[i];                                   \
                                                                                             \
			d[i] = c[i] ? p : q;                                                 \
		}                                                                            \
	}

DEFINE_COPY(8)
DEFINE_COPY(16)
DEFINE_COPY(32)
DEFINE_COPY(64)

void KERNEL_NAME(fill_vector)(struct onpu_kernels *k)
{
	static const struct onpu_kernels table = {
		.load_f32 = { load_f16, load_bf16, load_f32 },
		.store_f32 = { store_f16, store_bf16, store_f32 },
		.copy = { copy_8, copy_16, copy_32, copy_64 },
		.select = { select_8, select_16, select_32, select_64 },
		.unary = {
			[UN_ABS] = un_abs, [UN_NEG] = un_neg, [UN_SIGN] = un_sign,
			[UN_CEIL] = un_ceil, [UN_FLOOR] = un_floor, [UN_ROUNDEVEN] = un_roundeven,
			[UN_LEAKYRELU] = un_leakyrelu, [UN_HARDSIGMOID] = un_hardsigmoid,
			[UN_HARDSWISH] = un_hardswish, [UN_RELU] = un_relu,
			[UN_CLAMP] = un_clamp, [UN_LINEAR] = un_linear,
		},
		.binary = {
			[BIN_ADD] = bin_add, [BIN_SUB] = bin_sub, [BIN_MUL] = bin_mul,
			[BIN_DIV] = bin_div, [BIN_MAX] = bin_max, [BIN_MIN] = bin_min,
			[BIN_PRELU] = bin_prelu, [BIN_POW] = bin_pow,
		},
		.fma = fma_f32,
		.compare = { cmp_eq, cmp_ne, cmp_gt, cmp_ge, cmp_lt, cmp_le },
		.isnan = is_nan,
		.isinf = is_inf,
		.accumulate = { acc_sum, acc_prod, acc_max, acc_min, acc_sumabs, acc_sumsq },
		.lanes = {
			lanes_sum, lanes_prod, lanes_max, lanes_min, lanes_sumabs, lanes_sumsq
		},
		.mac = mac,
		.canonical = make_canonical,
		.lerp = lerp,
	};

	*k = table;
}
