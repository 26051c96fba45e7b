/* SPDX-License-Identifier: MIT */
/*
 * Array loops over the bodies in functions_core.h; included once per SIMD level.
 *
 * The includer defines FN_LEVEL(name), which makes a level's own name, and FN_TARGET, the level's
 * target attribute. It then uses FN_LEVEL(table) and FN_LEVEL(pow_array), which this file defines.
 *
 * Loops see whole blocks only, so that no element takes a slow scalar epilogue: the last elements
 * go through a padded block. The scalar entry point recomputes arguments of sin, cos and tan that
 * need the integer reduction.
 */

#define FN_BLOCK 16
#define FN_CHUNK 256

typedef void (*FN_LEVEL(blocks))(float *dst, const float *src, size_t n, float alpha);

static inline void FN_LEVEL(padded)(FN_LEVEL(blocks) blocks, float *dst, const float *src, size_t n,
				    float alpha)
{
	size_t whole = n & ~(size_t)(FN_BLOCK - 1);
	float rest[FN_BLOCK] = { 0 };

	blocks(dst, src, whole, alpha);
	if (whole == n)
		return;
	memcpy(rest, src + whole, (n - whole) * sizeof(float));
	blocks(rest, rest, FN_BLOCK, alpha);
	memcpy(dst + whole, rest, (n - whole) * sizeof(float));
}

static FN_TARGET bool FN_LEVEL(any_huge)(const float *src, size_t n)
{
	uint32_t count = 0;

	for (size_t i = 0; i < n; i++)
		count += __builtin_fabsf(src[i]) >= FN_TRIG_HUGE;
	return count;
}

static void FN_LEVEL(trigonometric)(FN_LEVEL(blocks) blocks, float (*scalar)(float), float *dst,
				    const float *src, size_t n)
{
	float saved[FN_CHUNK];

	for (size_t i = 0; i < n; i += FN_CHUNK) {
		size_t chunk = n - i < FN_CHUNK ? n - i : FN_CHUNK;
		bool huge = FN_LEVEL(any_huge)(src + i, chunk);

		if (huge)
			memcpy(saved, src + i, chunk * sizeof(float));
		FN_LEVEL(padded)(blocks, dst + i, src + i, chunk, 0.0f);
		for (size_t j = 0; huge && j < chunk; j++) {
			if (__builtin_fabsf(saved[j]) >= FN_TRIG_HUGE)
				dst[i + j] = scalar(saved[j]);
		}
	}
}

#define FN_DEFINE_BLOCKS(name, expression)                                                    \
	static FN_TARGET void FN_LEVEL(name##_blocks)(float *dst, const float *src, size_t n, \
						      float alpha)                            \
	{                                                                                     \
		size_t end = n & ~(size_t)(FN_BLOCK - 1);                                     \
                                                                                              \
		(void)alpha;                                                                  \
		FN_VECTORISE                                                                  \
		for (size_t i = 0; i < end; i++) {                                            \
			float x = src[i];                                                     \
                                                                                              \
			dst[i] = (expression);                                                \
		}                                                                             \
	}

#define FN_DEFINE(name, expression)                                                     \
	FN_DEFINE_BLOCKS(name, expression)                                              \
	static void FN_LEVEL(name)(float *dst, const float *src, size_t n, float alpha, \
				   float beta)                                          \
	{                                                                               \
		(void)beta;                                                             \
		FN_LEVEL(padded)(FN_LEVEL(name##_blocks), dst, src, n, alpha);          \
	}

#define FN_DEFINE_TRIGONOMETRIC(name)                                                          \
	FN_DEFINE_BLOCKS(name, fn_##name##_angle(fn_angle_small(fn_abs(x)), x))                \
	static void FN_LEVEL(name)(float *dst, const float *src, size_t n, float alpha,        \
				   float beta)                                                 \
	{                                                                                      \
		(void)alpha;                                                                   \
		(void)beta;                                                                    \
		FN_LEVEL(trigonometric)(FN_LEVEL(name##_blocks), onpu_fn_##name, dst, src, n); \
	}

FN_DEFINE(exp, fn_exp(x))
FN_DEFINE(log, fn_log(x))
FN_DEFINE_TRIGONOMETRIC(sin)
FN_DEFINE_TRIGONOMETRIC(cos)
FN_DEFINE_TRIGONOMETRIC(tan)
FN_DEFINE(tanh, fn_tanh(x))
FN_DEFINE(erf, fn_erf(x))
FN_DEFINE(sigmoid, fn_sigmoid(x))
FN_DEFINE(gelu, fn_gelu(x))
FN_DEFINE(softplus, fn_softplus(x))
FN_DEFINE(softsign, fn_softsign(x))
FN_DEFINE(elu, fn_elu(x, alpha))
FN_DEFINE(recip, fn_recip(x))
FN_DEFINE(sqrt, fn_sqrt(x))
FN_DEFINE(rsqrt, fn_rsqrt(x))

static FN_TARGET void FN_LEVEL(pow_blocks)(float *dst, const float *x, const float *y, size_t n)
{
	size_t end = n & ~(size_t)(FN_BLOCK - 1);

	FN_VECTORISE
	for (size_t i = 0; i < end; i++)
		dst[i] = fn_pow(x[i], y[i]);
}

static void FN_LEVEL(pow_array)(float *dst, const float *x, const float *y, size_t n)
{
	size_t whole = n & ~(size_t)(FN_BLOCK - 1);
	size_t rest = (n - whole) * sizeof(float);
	float last_x[FN_BLOCK] = { 0 };
	float last_y[FN_BLOCK] = { 0 };

	FN_LEVEL(pow_blocks)(dst, x, y, whole);
	if (!rest)
		return;
	memcpy(last_x, x + whole, rest);
	memcpy(last_y, y + whole, rest);
	FN_LEVEL(pow_blocks)(last_x, last_x, last_y, FN_BLOCK);
	memcpy(dst + whole, last_x, rest);
}

static const onpu_fn_array FN_LEVEL(table)[ONPU_FN_COUNT] = {
	[ONPU_FN_EXP] = FN_LEVEL(exp),		 [ONPU_FN_LOG] = FN_LEVEL(log),
	[ONPU_FN_SIN] = FN_LEVEL(sin),		 [ONPU_FN_COS] = FN_LEVEL(cos),
	[ONPU_FN_TAN] = FN_LEVEL(tan),		 [ONPU_FN_TANH] = FN_LEVEL(tanh),
	[ONPU_FN_ERF] = FN_LEVEL(erf),		 [ONPU_FN_SIGMOID] = FN_LEVEL(sigmoid),
	[ONPU_FN_GELU] = FN_LEVEL(gelu),	 [ONPU_FN_SOFTPLUS] = FN_LEVEL(softplus),
	[ONPU_FN_SOFTSIGN] = FN_LEVEL(softsign), [ONPU_FN_ELU] = FN_LEVEL(elu),
	[ONPU_FN_RECIP] = FN_LEVEL(recip),	 [ONPU_FN_SQRT] = FN_LEVEL(sqrt),
	[ONPU_FN_RSQRT] = FN_LEVEL(rsqrt),
};

#undef FN_BLOCK
#undef FN_CHUNK
#undef FN_DEFINE_BLOCKS
#undef FN_DEFINE
#undef FN_DEFINE_TRIGONOMETRIC
