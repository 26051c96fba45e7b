/* SPDX-License-Identifier: MIT */
/* Functions of LAPACK and BLAS on matrices of complex<double> in column-major order. */
#ifndef SHLO_LAPACK_H
#define SHLO_LAPACK_H

#include <complex.h>
#include <stdbool.h>

struct shlo_solve {
	bool left, lower, unit;
	char transpose; /* N: as it is, T: transposed, C: adjoint */
};

/* Loads the library. Returns NULL, or the reason why the functions below cannot be called. */
const char *shlo_lapack_problem(void);
/* Replaces a triangle of @a by the Cholesky factor; false: @a is not positive definite. */
bool shlo_cholesky(bool lower, int n, double complex *a);
/* Solves op(a) x = b, or x op(a) = b; x replaces b. */
void shlo_triangular_solve(const struct shlo_solve *solve, int rows, int columns,
			   const double complex *a, int n, double complex *b);

#endif
