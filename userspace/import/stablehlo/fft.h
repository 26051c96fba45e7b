/* SPDX-License-Identifier: MIT */
/* One-dimensional Fourier transforms by KISS FFT, a C++ library. */
#ifndef SHLO_FFT_H
#define SHLO_FFT_H

#ifdef __cplusplus
extern "C" {
#endif

#include <stdbool.h>
#include <stddef.h>

/*
 * Transforms @count vectors, one behind the other, without scaling. @from and @to hold pairs of
 * real and imaginary part, and do not overlap. Returns 0, or -1 when memory is exhausted.
 */
int shlo_fft(size_t length, bool inverse, size_t count, const double *from, double *to);

#ifdef __cplusplus
}
#endif

#endif
