// SPDX-License-Identifier: MIT
/*
 * Calls OpenBLAS, which is loaded only when a program needs it: loading it starts threads and takes
 * memory, and where address space is limited it hangs.
 */
#include "lapack.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

/* The address space that OpenBLAS maps: its image, and a buffer for each of its threads. */
#define MIB	     ((size_t)1 << 20)
#define IMAGE_BYTES  (64 * MIB)
#define BUFFER_BYTES (136 * MIB)

/* OpenBLAS's cblas.h declares no LAPACK, so these functions are found by their Fortran names. */
static void (*zpotrf)(const char *uplo, const int *n, double complex *a, const int *lda, int *info);
static void (*ztrsm)(const char *side, const char *uplo, const char *transa, const char *diag,
		     const int *m, const int *n, const double complex *alpha,
		     const double complex *a, const int *lda, double complex *b, const int *ldb);
static void (*dpotrf)(const char *uplo, const int *n, double *a, const int *lda, int *info);
static void (*dtrsm)(const char *side, const char *uplo, const char *transa, const char *diag,
		     const int *m, const int *n, const double *alpha, const double *a,
		     const int *lda, double *b, const int *ldb);

static void (*zheev)(const char *jobz, const char *uplo, const int *n, double complex *a,
		     const int *lda, double *w, double complex *work, const int *lwork,
		     double *rwork, int *info);
static void (*zhetrd)(const char *uplo, const int *n, double complex *a, const int *lda, double *d,
		      double *e, double complex *tau, double complex *work, const int *lwork,
		      int *info);
static void (*zgehrd)(const int *n, const int *ilo, const int *ihi, double complex *a,
		      const int *lda, double complex *tau, double complex *work, const int *lwork,
		      int *info);
static void (*zgesvd)(const char *jobu, const char *jobvt, const int *m, const int *n,
		      double complex *a, const int *lda, double *s, double complex *u,
		      const int *ldu, double complex *vt, const int *ldvt, double complex *work,
		      const int *lwork, double *rwork, int *info);
static void (*zgeev)(const char *jobvl, const char *jobvr, const int *n, double complex *a,
		     const int *lda, double complex *w, double complex *vl, const int *ldvl,
		     double complex *vr, const int *ldvr, double complex *work, const int *lwork,
		     double *rwork, int *info);
static void (*dgeev)(const char *jobvl, const char *jobvr, const int *n, double *a, const int *lda,
		     double *wr, double *wi, double *vl, const int *ldvl, double *vr,
		     const int *ldvr, double *work, const int *lwork, int *info);
static void (*zgees)(const char *jobvs, const char *sort, void *select, const int *n,
		     double complex *a, const int *lda, int *sdim, double complex *w,
		     double complex *vs, const int *ldvs, double complex *work, const int *lwork,
		     double *rwork, int *bwork, int *info);
static void (*zgetrf)(const int *m, const int *n, double complex *a, const int *lda, int *ipiv,
		      int *info);
static void (*dgetrf)(const int *m, const int *n, double *a, const int *lda, int *ipiv, int *info);
static void (*dgees)(const char *jobvs, const char *sort, void *select, const int *n, double *a,
		     const int *lda, int *sdim, double *wr, double *wi, double *vs, const int *ldvs,
		     double *work, const int *lwork, int *bwork, int *info);

static const struct {
	const char *name;
	void **function;
} functions[] = {
	{ "zpotrf_", (void **)&zpotrf }, { "ztrsm_", (void **)&ztrsm },
	{ "dpotrf_", (void **)&dpotrf }, { "dtrsm_", (void **)&dtrsm },
	{ "zheev_", (void **)&zheev },	 { "zhetrd_", (void **)&zhetrd },
	{ "zgehrd_", (void **)&zgehrd }, { "zgesvd_", (void **)&zgesvd },
	{ "zgeev_", (void **)&zgeev },	 { "dgeev_", (void **)&dgeev },
	{ "zgees_", (void **)&zgees },	 { "dgees_", (void **)&dgees },
	{ "zgetrf_", (void **)&zgetrf }, { "dgetrf_", (void **)&dgetrf },
};

static pthread_once_t once = PTHREAD_ONCE_INIT;
static char problem[512];

/* Returns how many threads OpenBLAS starts, each of which has a buffer. */
static size_t threads_of_openblas(void)
{
	const char *wanted = getenv("OPENBLAS_NUM_THREADS");
	long threads = sysconf(_SC_NPROCESSORS_ONLN), n = wanted ? atoi(wanted) : 0;

	if (n > 0 && n < threads)
		threads = n;
	return threads > 0 ? (size_t)threads : 1;
}

/* Whether there is address space for OpenBLAS; otherwise sets the problem. */
static bool has_room(void)
{
	size_t threads = threads_of_openblas(), bytes = IMAGE_BYTES + threads * BUFFER_BYTES;
	struct rlimit limit;
	void *scratch;

	if (getrlimit(RLIMIT_AS, &limit) || limit.rlim_cur == RLIM_INFINITY)
		return true;
	scratch = mmap(NULL, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (scratch != MAP_FAILED) {
		munmap(scratch, bytes);
		return true;
	}
	snprintf(problem, sizeof(problem),
		 "this process may have %llu MiB of address space (ulimit -v), but OpenBLAS needs "
		 "%zu MiB more: raise the limit%s",
		 (unsigned long long)(limit.rlim_cur / MIB), bytes / MIB,
		 threads > 1 ? ", or set OPENBLAS_NUM_THREADS=1" : "");
	return false;
}

static void load(void)
{
	/* Uses the OpenBLAS that libwebnn-npu may have loaded. */
	void *handle = dlopen(OPENBLAS_SONAME, RTLD_NOW | RTLD_NOLOAD);

	if (!handle && !has_room())
		return;
	/* OpenBLAS is never unloaded, because its threads run on. */
	if (!handle)
		handle = dlopen(OPENBLAS_SONAME, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
	if (!handle) {
		snprintf(problem, sizeof(problem),
			 "OpenBLAS, the library of matrix products, cannot be loaded: %s; install "
			 "the package libopenblas0",
			 dlerror());
		return;
	}
	for (size_t i = 0; i < sizeof(functions) / sizeof(functions[0]); i++) {
		*functions[i].function = dlsym(handle, functions[i].name);
		if (!*functions[i].function)
			snprintf(problem, sizeof(problem),
				 "the library %s has no function %s, which is needed: install the "
				 "package libopenblas0",
				 OPENBLAS_SONAME, functions[i].name);
	}
}

const char *shlo_lapack_problem(void)
{
	pthread_once(&once, load);
	return problem[0] ? problem : NULL;
}

bool shlo_cholesky(bool is_complex, bool lower, int n, void *a)
{
	int info = 0;

	if (is_complex)
		zpotrf(lower ? "L" : "U", &n, a, &n, &info);
	else
		dpotrf(lower ? "L" : "U", &n, a, &n, &info);
	return info == 0;
}

void shlo_triangular_solve(const struct shlo_solve *solve, int rows, int columns, const void *a,
			   int n, void *b)
{
	const char *side = solve->left ? "L" : "R", *triangle = solve->lower ? "L" : "U";
	const char *diagonal = solve->unit ? "U" : "N";
	const double complex one = 1;
	const double real_one = 1;

	if (solve->is_complex)
		ztrsm(side, triangle, &solve->transpose, diagonal, &rows, &columns, &one, a, &n, b,
		      &rows);
	else
		dtrsm(side, triangle, &solve->transpose, diagonal, &rows, &columns, &real_one, a,
		      &n, b, &rows);
}

/* ---- factors */

/* The parts of @work of struct shlo_factors. */
struct scratch {
	int count; /* numbers at its start, in which LAPACK works */
	double *real;
	double complex *matrix;
};

static struct scratch scratch_of(const struct shlo_factors *f)
{
	int each = f->m + f->n + 1;
	double complex *real = f->work + (size_t)SHLO_FACTOR_WORK * (size_t)each;

	return (struct scratch){
		.count = SHLO_FACTOR_WORK * each,
		.real = (double *)real,
		.matrix = real + (size_t)2 * (size_t)each,
	};
}

static size_t size_of(const struct shlo_factors *f)
{
	return (size_t)f->m * (size_t)f->n;
}

static void copy(double complex *to, const double complex *from, size_t count)
{
	memcpy(to, from, count * sizeof(*to));
}

static void widen(double complex *to, const double *from, size_t count)
{
	for (size_t i = 0; i < count; i++)
		to[i] = from[i];
}

/* Overwrites the matrix f->a with its real parts and returns it as an array of double. */
static double *real_matrix(const struct shlo_factors *f)
{
	double *a = (double *)f->a;

	for (size_t i = 0; i < size_of(f); i++)
		a[i] = creal(f->a[i]);
	return a;
}

bool shlo_factor_eigh(const struct shlo_factors *f)
{
	struct scratch scratch = scratch_of(f);
	int info = 0;

	zheev("V", &f->triangle, &f->n, f->a, &f->n, scratch.real, f->work, &scratch.count,
	      scratch.real + f->n, &info);
	copy(f->outputs[0], f->a, size_of(f));
	widen(f->outputs[1], scratch.real, (size_t)f->n);
	return info == 0;
}

bool shlo_factor_tridiagonal(const struct shlo_factors *f)
{
	struct scratch scratch = scratch_of(f);
	int info = 0;

	zhetrd(&f->triangle, &f->n, f->a, &f->n, scratch.real, scratch.real + f->n, f->outputs[3],
	       f->work, &scratch.count, &info);
	copy(f->outputs[0], f->a, size_of(f));
	widen(f->outputs[1], scratch.real, (size_t)f->n);
	widen(f->outputs[2], scratch.real + f->n, (size_t)f->n - 1);
	return info == 0;
}

bool shlo_factor_hessenberg(const struct shlo_factors *f)
{
	struct scratch scratch = scratch_of(f);
	const int first = 1;
	int info = 0;

	zgehrd(&f->n, &first, &f->n, f->a, &f->n, f->outputs[1], f->work, &scratch.count, &info);
	copy(f->outputs[0], f->a, size_of(f));
	return info == 0;
}

static void set_unit(double complex *a, int n)
{
	for (int i = 0; i < n; i++)
		a[(size_t)i * (size_t)n + (size_t)i] = 1;
}

bool shlo_factor_svd(const struct shlo_factors *f)
{
	const char *job = !f->vectors ? "N" : f->full ? "A" : "S";
	struct scratch scratch = scratch_of(f);
	int least = f->m < f->n ? f->m : f->n, rows = f->full ? f->n : least, info = 0;

	if (!least) {
		if (f->full) {
			set_unit(f->outputs[1], f->m);
			set_unit(f->outputs[2], f->n);
		}
		return true;
	}
	/* Without vectors, the memory for them is not used. */
	zgesvd(job, job, &f->m, &f->n, f->a, &f->m, scratch.real, f->outputs[1], &f->m,
	       f->outputs[2], &rows, f->work, &scratch.count, scratch.real + least, &info);
	widen(f->outputs[0], scratch.real, (size_t)least);
	return info == 0;
}

/*
 * Writes eigenvectors as complex numbers: two columns of dgeev are the real and imaginary part of
 * the first of two conjugate eigenvectors where their eigenvalues are conjugate.
 */
static void widen_vectors(double complex *to, const double *from, const double *imaginary, int n)
{
	size_t rows = (size_t)n;

	for (size_t k = 0; k < rows; k++) {
		const double *real = from + k * rows;

		for (size_t i = 0; i < rows; i++) {
			if (imaginary[k] == 0) {
				to[k * rows + i] = real[i];
				continue;
			}
			to[k * rows + i] = CMPLX(real[i], real[rows + i]);
			to[(k + 1) * rows + i] = CMPLX(real[i], -real[rows + i]);
		}
		k += imaginary[k] != 0;
	}
}

static bool real_eig(const struct shlo_factors *f)
{
	struct scratch scratch = scratch_of(f);
	double *re = scratch.real, *im = re + f->n, *left = (double *)scratch.matrix;
	double *right = left + size_of(f);
	int info = 0;

	dgeev("V", "V", &f->n, real_matrix(f), &f->n, re, im, left, &f->n, right, &f->n,
	      (double *)f->work, &scratch.count, &info);
	if (info)
		return false;
	for (int i = 0; i < f->n; i++)
		f->outputs[0][i] = CMPLX(re[i], im[i]);
	widen_vectors(f->outputs[1], left, im, f->n);
	widen_vectors(f->outputs[2], right, im, f->n);
	return true;
}

bool shlo_factor_eig(const struct shlo_factors *f)
{
	struct scratch scratch = scratch_of(f);
	int info = 0;

	if (f->is_real)
		return real_eig(f);
	zgeev("V", "V", &f->n, f->a, &f->n, f->outputs[0], f->outputs[1], &f->n, f->outputs[2],
	      &f->n, f->work, &scratch.count, scratch.real, &info);
	return info == 0;
}

bool shlo_factor_schur(const struct shlo_factors *f)
{
	struct scratch scratch = scratch_of(f);
	double *vectors = (double *)scratch.matrix;
	int sorted, info = 0;

	if (f->is_real) {
		double *a = real_matrix(f);

		dgees("V", "N", NULL, &f->n, a, &f->n, &sorted, scratch.real, scratch.real + f->n,
		      vectors, &f->n, (double *)f->work, &scratch.count, NULL, &info);
		widen(f->outputs[0], a, size_of(f));
		widen(f->outputs[1], vectors, size_of(f));
		return info == 0;
	}
	zgees("V", "N", NULL, &f->n, f->a, &f->n, &sorted, scratch.matrix, f->outputs[1], &f->n,
	      f->work, &scratch.count, scratch.real, NULL, &info);
	copy(f->outputs[0], f->a, size_of(f));
	return info == 0;
}

bool shlo_factor_lu(const struct shlo_factors *f)
{
	int least = f->m < f->n ? f->m : f->n, *pivots = (int *)f->work, info = 0;

	if (f->is_real) {
		double *a = real_matrix(f);

		dgetrf(&f->m, &f->n, a, &f->m, pivots, &info);
		widen(f->outputs[0], a, size_of(f));
	} else {
		zgetrf(&f->m, &f->n, f->a, &f->m, pivots, &info);
		copy(f->outputs[0], f->a, size_of(f));
	}
	for (int i = 0; i < f->m; i++)
		f->outputs[2][i] = i;
	/* LAPACK counts rows from 1. */
	for (int i = 0; i < least; i++) {
		double complex *row = &f->outputs[2][i], *other = &f->outputs[2][pivots[i] - 1];
		double complex index = *row;

		f->outputs[1][i] = pivots[i] - 1;
		*row = *other;
		*other = index;
	}
	/* A singular matrix has factors, too. */
	return info >= 0;
}
