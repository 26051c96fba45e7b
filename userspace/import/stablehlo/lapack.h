/* SPDX-License-Identifier: MIT */
/* Functions of LAPACK and BLAS on matrices of complex<double> in column-major order. */
#ifndef SHLO_LAPACK_H
#define SHLO_LAPACK_H

#include <complex.h>
#include <stdbool.h>

struct shlo_solve {
	bool left, lower, unit;
	char transpose; /* N, T, or C for the adjoint */
};

/* Loads the library; what is in the way if the functions below cannot be called, else NULL. */
const char *shlo_lapack_problem(void);
/* The factor takes the place of its triangle of @a; false: @a is not positive definite. */
bool shlo_cholesky(bool lower, int n, double complex *a);
/* op(a) x = b, or x op(a) = b; x takes the place of b. */
void shlo_triangular_solve(const struct shlo_solve *solve, int rows, int columns,
			   const double complex *a, int n, double complex *b);

#endif
