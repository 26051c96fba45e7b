/* SPDX-License-Identifier: MIT */
/*
 * The architected functions of the vector unit.
 *
 * Each function takes float32 and gives float32. The bits of the result are part of the
 * architecture (uapi/onpu/functions.rst): every host, every SIMD level and the scalar entry
 * point give the same bits. No result of the host's libm is involved.
 *
 * The caller's thread must be in the default floating-point environment: round to nearest
 * even, subnormals neither flushed nor read as zero. The exception flags that
 * are raised are unspecified.
 */
#ifndef ONPU_MATH_FUNCTIONS_H
#define ONPU_MATH_FUNCTIONS_H

#include <stdbool.h>
#include <stddef.h>

/**
 * enum onpu_fn - functions of one operand
 *
 * @ONPU_FN_ELU takes alpha, no other function has a parameter.
 */
enum onpu_fn {
	ONPU_FN_EXP,
	ONPU_FN_LOG,
	ONPU_FN_SIN,
	ONPU_FN_COS,
	ONPU_FN_TAN,
	ONPU_FN_TANH,
	ONPU_FN_ERF,
	ONPU_FN_SIGMOID,
	ONPU_FN_GELU,
	ONPU_FN_SOFTPLUS,
	ONPU_FN_SOFTSIGN,
	ONPU_FN_ELU,
	ONPU_FN_RECIP,
	ONPU_FN_SQRT,
	ONPU_FN_RSQRT,
	ONPU_FN_COUNT
};

/**
 * enum onpu_simd - instruction sets the array entry points exist for
 * @ONPU_SIMD_SCALAR: one element at a time; on x86 needs FMA
 * @ONPU_SIMD_AVX2: x86 with AVX2 and FMA
 * @ONPU_SIMD_AVX512: x86 with AVX-512 F, DQ, BW and VL
 */
enum onpu_simd { ONPU_SIMD_SCALAR, ONPU_SIMD_AVX2, ONPU_SIMD_AVX512, ONPU_SIMD_COUNT };

/**
 * typedef onpu_fn_array - apply a function to an array
 * @dst: results; equal to @src or not overlapping it
 * @src: arguments
 * @n: number of elements
 * @alpha: parameter of elu, ignored by the others
 * @beta: ignored; there so that every unary instruction has one signature
 */
typedef void (*onpu_fn_array)(float *dst, const float *src, size_t n, float alpha, float beta);

/**
 * typedef onpu_fn_array2 - apply a function of two operands to arrays
 * @dst: results; equal to @x or to @y, or overlapping neither
 * @x: first operands
 * @y: second operands
 * @n: number of elements
 */
typedef void (*onpu_fn_array2)(float *dst, const float *x, const float *y, size_t n);

/**
 * onpu_simd_supported - whether this host can run a level
 * @level: the level asked about
 *
 * When ONPU_SIMD_SCALAR is not supported (an x86 without FMA) no function that computes may be
 * called, and the device model refuses to start.
 */
bool onpu_simd_supported(enum onpu_simd level);

/** onpu_simd_best - the widest supported level; ONPU_SIMD_SCALAR when there is no other */
enum onpu_simd onpu_simd_best(void);

/** onpu_simd_name - the level's name for messages, such as "avx2" */
const char *onpu_simd_name(enum onpu_simd level);

/**
 * onpu_fn_table - array entry points of a level
 * @level: a level
 *
 * Return: an array of ONPU_FN_COUNT entries indexed by enum onpu_fn, or NULL when this host
 * does not support @level.
 */
const onpu_fn_array *onpu_fn_table(enum onpu_simd level);

/**
 * onpu_fn_pow_array - array entry point of pow
 * @level: a level
 *
 * Return: the entry point, or NULL when this host does not support @level.
 */
onpu_fn_array2 onpu_fn_pow_array(enum onpu_simd level);

/** onpu_fn_name - the function's name for messages, such as "exp" */
const char *onpu_fn_name(enum onpu_fn fn);

/* Scalar entry points, with the same bits as the array entry points. */
float onpu_fn_exp(float x);
float onpu_fn_log(float x);
float onpu_fn_sin(float x);
float onpu_fn_cos(float x);
float onpu_fn_tan(float x);
float onpu_fn_tanh(float x);
float onpu_fn_erf(float x);
float onpu_fn_sigmoid(float x);
float onpu_fn_gelu(float x);
float onpu_fn_softplus(float x);
float onpu_fn_softsign(float x);
float onpu_fn_elu(float x, float alpha);
float onpu_fn_recip(float x);
float onpu_fn_sqrt(float x);
float onpu_fn_rsqrt(float x);
float onpu_fn_pow(float x, float y);

#endif
