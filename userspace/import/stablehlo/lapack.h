/* SPDX-License-Identifier: MIT */
/* Functions of LAPACK and BLAS on matrices of double or complex<double> in column-major order. */
#ifndef SHLO_LAPACK_H
#define SHLO_LAPACK_H

#include <complex.h>
#include <stdbool.h>

/* A system of equations with the triangular matrix a. */
struct shlo_solve {
	/*
	 * left: op(a) x = b, else x op(a) = b; lower: a is a lower triangle; unit: the diagonal of a
	 * counts as all 1
	 */
	bool left, lower, unit;
	bool is_complex; /* both matrices are of complex<double>, else of double */
	char transpose;	 /* op(a) is N: a, T: a transposed, C: the adjoint of a */
};

/* Loads the library. Returns NULL, or the reason why the functions below cannot be called. */
const char *shlo_lapack_problem(void);
/*
 * Replaces a triangle of @a, of complex<double> or double, by the Cholesky factor; false: @a is not
 * positive definite.
 */
bool shlo_cholesky(bool is_complex, bool lower, int n, void *a);
/* Solves the system with a of size n and b of size rows x columns; x replaces b. */
void shlo_triangular_solve(const struct shlo_solve *solve, int rows, int columns, const void *a,
			   int n, void *b);

/*
 * A matrix and its factors, in column-major order. Functions overwrite the matrix and set @outputs,
 * which are the custom call's results in their order. They return false when LAPACK finds no
 * solution.
 */
struct shlo_factors {
	int m, n; /* rows and columns */
	bool is_real;
	/* for singular values: @vectors: singular vectors are wanted, and with @full all of them */
	bool full, vectors;
	char triangle; /* L, U: the triangle that holds a Hermitian matrix */
	double complex *a;
	double complex *outputs[4];
	double complex *work; /* SHLO_FACTOR_ROOM(m, n) numbers */
};

/*
 * LAPACK needs SHLO_FACTOR_WORK numbers for each row and column as scratch memory. Two more numbers
 * for each have room for four real numbers, and after all of them there is memory for a matrix.
 */
#define SHLO_FACTOR_WORK       64
#define SHLO_FACTOR_ROOM(m, n) ((SHLO_FACTOR_WORK + 2) * ((m) + (n) + 1) + (m) * (n))

/* Computes the eigenvalues, and left and right eigenvectors as columns. */
bool shlo_factor_eig(const struct shlo_factors *f);
/* Computes the eigenvectors, and eigenvalues in rising order, of a Hermitian matrix. */
bool shlo_factor_eigh(const struct shlo_factors *f);
/* Computes the Hessenberg form with the vectors of reflections below it, and their factors. */
bool shlo_factor_hessenberg(const struct shlo_factors *f);
/*
 * Computes the factors L and U in one matrix, with the row that each of its first rows is exchanged
 * with, one after the other, and the rows of the matrix in the order that results. Indices of rows
 * begin with 0.
 */
bool shlo_factor_lu(const struct shlo_factors *f);
/* Computes the Schur form, which for a real matrix is real and has blocks of 2, and its vectors. */
bool shlo_factor_schur(const struct shlo_factors *f);
/*
 * Computes singular values in falling order, left vectors as columns, and right ones as rows,
 * adjoint.
 */
bool shlo_factor_svd(const struct shlo_factors *f);
/*
 * Computes the tridiagonal form of a Hermitian matrix with the vectors of reflections beyond it,
 * its diagonal, the diagonal beside that, and factors of the reflections.
 */
bool shlo_factor_tridiagonal(const struct shlo_factors *f);

#endif
