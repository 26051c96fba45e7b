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
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

/* The address space that OpenBLAS maps: its image, and a buffer for each of its threads. */
#define MIB	     ((size_t)1 << 20)
#define IMAGE_BYTES  (64 * MIB)
#define BUFFER_BYTES (136 * MIB)

/*
 * OpenBLAS's cblas.h declares a variant of ztrsm but no LAPACK, so that both are called by their
 * Fortran names.
 */
static void (*zpotrf)(const char *uplo, const int *n, double complex *a, const int *lda, int *info);
static void (*ztrsm)(const char *side, const char *uplo, const char *transa, const char *diag,
		     const int *m, const int *n, const double complex *alpha,
		     const double complex *a, const int *lda, double complex *b, const int *ldb);

static pthread_once_t once = PTHREAD_ONCE_INIT;
static char problem[256];

static size_t bytes_of_openblas(void)
{
	const char *wanted = getenv("OPENBLAS_NUM_THREADS");
	long threads = sysconf(_SC_NPROCESSORS_ONLN), n = wanted ? atoi(wanted) : 0;

	if (n > 0 && n < threads)
		threads = n;
	return IMAGE_BYTES + (threads > 0 ? (size_t)threads : 1) * BUFFER_BYTES;
}

/* Whether there is address space for OpenBLAS; otherwise sets the problem. */
static bool has_room(void)
{
	size_t bytes = bytes_of_openblas();
	struct rlimit limit;
	void *room;

	if (getrlimit(RLIMIT_AS, &limit) || limit.rlim_cur == RLIM_INFINITY)
		return true;
	room = mmap(NULL, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (room != MAP_FAILED) {
		munmap(room, bytes);
		return true;
	}
	snprintf(
		problem, sizeof(problem),
		"address space is limited to %llu MiB (ulimit -v), and OpenBLAS needs %zu MiB more: "
		"raise the limit, or set OPENBLAS_NUM_THREADS=1",
		(unsigned long long)(limit.rlim_cur / MIB), bytes / MIB);
	return false;
}

static void load(void)
{
	/* Uses the OpenBLAS that libwebnn-npu may have loaded. */
	void *handle = dlopen(OPENBLAS_SONAME, RTLD_NOW | RTLD_NOLOAD);

	if (!handle && !has_room())
		return;
	/* It is never unloaded, because its threads run on. */
	if (!handle)
		handle = dlopen(OPENBLAS_SONAME, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
	if (!handle) {
		snprintf(problem, sizeof(problem), "OpenBLAS cannot be loaded: %s", dlerror());
		return;
	}
	*(void **)&zpotrf = dlsym(handle, "zpotrf_");
	*(void **)&ztrsm = dlsym(handle, "ztrsm_");
	if (!zpotrf || !ztrsm)
		snprintf(problem, sizeof(problem), "%s has no function %s", OPENBLAS_SONAME,
			 zpotrf ? "ztrsm_" : "zpotrf_");
}

const char *shlo_lapack_problem(void)
{
	pthread_once(&once, load);
	return problem[0] ? problem : NULL;
}

bool shlo_cholesky(bool lower, int n, double complex *a)
{
	int info = 0;

	zpotrf(lower ? "L" : "U", &n, a, &n, &info);
	return info == 0;
}

void shlo_triangular_solve(const struct shlo_solve *solve, int rows, int columns,
			   const double complex *a, int n, double complex *b)
{
	const double complex one = 1;

	ztrsm(solve->left ? "L" : "R", solve->lower ? "L" : "U", &solve->transpose,
	      solve->unit ? "U" : "N", &rows, &columns, &one, a, &n, b, &rows);
}
