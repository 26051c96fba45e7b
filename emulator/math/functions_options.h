/* SPDX-License-Identifier: MIT */
/*
 * Compiler options of functions*.c; to be included before everything else.
 *
 * Contraction would change bits, so it is off whatever the build's flags are. Vectorisation is
 * requested here because the array loops need it at every optimisation level of the build;
 * no-trapping-math only lets the compiler turn selects into masks: exception flags are not part of
 * the architecture. None of these options changes a result.
 */
#ifndef ONPU_MATH_FUNCTIONS_OPTIONS_H
#define ONPU_MATH_FUNCTIONS_OPTIONS_H

#if defined(__FAST_MATH__)
#error "functions*.c define bits of the architecture: build them without -ffast-math"
#endif

#if defined(__clang__)
#pragma clang fp contract(off)
/* Sanitizers and coverage keep loops scalar; the bits are the same. */
#pragma clang diagnostic ignored "-Wpass-failed"
#define FN_VECTORISE _Pragma("clang loop vectorize(assume_safety)")
#else
#pragma GCC optimize("O3", "fp-contract=off", "no-math-errno", "no-trapping-math")
#define FN_VECTORISE _Pragma("GCC ivdep")
#endif

/* Scalar code needs the FMA instruction too, otherwise each step would be a slow library call. */
#if defined(__x86_64__)
#define FN_TARGET_SCALAR __attribute__((target("fma")))
#define FN_TARGET_AVX2	 __attribute__((target("avx2,fma")))
#define FN_TARGET_AVX512 __attribute__((target("avx512f,avx512dq,avx512bw,avx512vl,avx2,fma")))
#else
#define FN_TARGET_SCALAR
#endif

#endif
