// SPDX-License-Identifier: MIT
/* Fourier transforms by KISS FFT. */
#include "fft.h"

#include <complex>
#include <new>

#include <kissfft/kissfft.hh>

int shlo_fft(size_t length, bool inverse, size_t count, const double *from, double *to)
{
	/* C++ lets pairs of numbers be read as complex ones. */
	const std::complex<double> *in = reinterpret_cast<const std::complex<double> *>(from);
	std::complex<double> *out = reinterpret_cast<std::complex<double> *>(to);

	try {
		const kissfft<double> plan(length, inverse);

		for (size_t i = 0; i < count; i++)
			plan.transform(in + i * length, out + i * length);
	} catch (const std::bad_alloc &) {
		return -1;
	}
	return 0;
}
