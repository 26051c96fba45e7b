// SPDX-License-Identifier: MIT
/* Fourier transforms by KISS FFT. */
#include "fft.h"

#include <complex>
#include <cstring>
#include <new>
#include <vector>

#include <kissfft/kissfft.hh>

int shlo_fft(size_t length, bool inverse, const double *from, double *to)
{
	try {
		std::vector<std::complex<double>> in(length), out(length);
		const kissfft<double> plan(length, inverse);

		for (size_t i = 0; i < length; i++)
			in[i] = { from[2 * i], from[2 * i + 1] };
		plan.transform(in.data(), out.data());
		for (size_t i = 0; i < length; i++) {
			to[2 * i] = out[i].real();
			to[2 * i + 1] = out[i].imag();
		}
	} catch (const std::bad_alloc &) {
		return -1;
	}
	return 0;
}
