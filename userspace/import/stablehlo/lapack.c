// SPDX-License-Identifier: MIT
/* Linear algebra of OpenBLAS. */
#include "lapack.h"

/* OpenBLAS's cblas.h would have these as well, but not LAPACK, whose names are those of Fortran. */
void zpotrf_(const char *uplo, const int *n, double complex *a, const int *lda, int *info);
void ztrsm_(const char *side, const char *uplo, const char *transa, const char *diag, const int *m,
	    const int *n, const double complex *alpha, const double complex *a, const int *lda,
	    double complex *b, const int *ldb);

bool shlo_cholesky(bool lower, int n, double complex *a)
{
	int info = 0;

	zpotrf_(lower ? "L" : "U", &n, a, &n, &info);
	return info == 0;
}

void shlo_triangular_solve(const struct shlo_solve *solve, int rows, int columns,
			   const double complex *a, int n, double complex *b)
{
	const double complex one = 1;

	ztrsm_(solve->left ? "L" : "R", solve->lower ? "L" : "U", &solve->transpose,
	       solve->unit ? "U" : "N", &rows, &columns, &one, a, &n, b, &rows);
}
