/* SPDX-License-Identifier: MIT */
/* Fourier transforms of one dimension, by KISS FFT, which is a library of C++. */
#ifndef SHLO_FFT_H
#define SHLO_FFT_H

#ifdef __cplusplus
extern "C" {
#endif

#include <stdbool.h>
#include <stddef.h>

/*
 * Not scaled; @from and @to are pairs of real and imaginary parts and do not overlap. Returns -1 when
 * memory is exhausted.
 */
int shlo_fft(size_t length, bool inverse, const double *from, double *to);

#ifdef __cplusplus
}
#endif

#endif
