// SPDX-License-Identifier: MIT
/*
 * The one place that calls OpenBLAS. Its thread count is global to the process and may be the application's own setting:
 * it is read, changed and put back around a call, under a lock that keeps our own threads apart.
 */
#include <cblas.h>
#include <pthread.h>

#include "cpu/fast.h"

static pthread_mutex_t setting = PTHREAD_MUTEX_INITIALIZER;

/* Below this many multiplications a second thread costs more than it brings. */
#define THREAD_MIN_MACS ((int64_t)1 << 20)

void cpu_sgemm(struct cpu_context *cpu, bool ta, bool tb, int64_t m, int64_t n, int64_t k, float alpha,
	       const float *a, int64_t lda, const float *b, int64_t ldb, float beta, float *c,
	       int64_t ldc)
{
	int want = m * n * k < THREAD_MIN_MACS ? 1 : (int)cpu->threads, had;

	pthread_mutex_lock(&setting);
	had = openblas_get_num_threads();
	if (had != want)
		openblas_set_num_threads(want);
	/* A product with one line needs no packing of the matrix. */
	if (m == 1)
		cblas_sgemv(CblasRowMajor, tb ? CblasNoTrans : CblasTrans, (blasint)(tb ? n : k),
			    (blasint)(tb ? k : n), alpha, b, (blasint)ldb, a,
			    (blasint)(ta ? lda : 1), beta, c, 1);
	else
		cblas_sgemm(CblasRowMajor, ta ? CblasTrans : CblasNoTrans,
			    tb ? CblasTrans : CblasNoTrans, (blasint)m, (blasint)n, (blasint)k,
			    alpha, a, (blasint)lda, b, (blasint)ldb, beta, c, (blasint)ldc);
	if (had != want)
		openblas_set_num_threads(had);
	pthread_mutex_unlock(&setting);
}
