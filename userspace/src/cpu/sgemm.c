// SPDX-License-Identifier: MIT
/*
 * The one place that calls OpenBLAS, with one thread each from the threads of the pool. Its number of
 * threads is global to the process and may be the application's own setting (also
 * openblas_set_num_threads_local() of 0.3.29 sets it for everybody): it is saved by the first that
 * comes in and put back by the last that goes out.
 */
#include <cblas.h>
#include <pthread.h>

#include "cpu/fast.h"

/* Below this many multiplications a second thread costs more than it brings. */
#define THREAD_MIN_MACS ((int64_t)1 << 20)

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static unsigned int inside;
static int saved;

static void enter(void)
{
	pthread_mutex_lock(&lock);
	if (!inside++) {
		saved = openblas_get_num_threads();
		if (saved != 1)
			openblas_set_num_threads(1);
	}
	pthread_mutex_unlock(&lock);
}

static void leave(void)
{
	pthread_mutex_lock(&lock);
	if (!--inside && saved != 1)
		openblas_set_num_threads(saved);
	pthread_mutex_unlock(&lock);
}

struct product {
	bool ta, tb, by_rows;
	int64_t m, n, k, lda, ldb, ldc;
	float alpha, beta;
	const float *a, *b;
	float *c;
};

static void multiply(const struct product *p)
{
	/* A product with one line needs no packing of the matrix. */
	if (p->m == 1)
		cblas_sgemv(CblasRowMajor, p->tb ? CblasNoTrans : CblasTrans,
			    (blasint)(p->tb ? p->n : p->k), (blasint)(p->tb ? p->k : p->n),
			    p->alpha, p->b, (blasint)p->ldb, p->a, (blasint)(p->ta ? p->lda : 1),
			    p->beta, p->c, 1);
	else
		cblas_sgemm(CblasRowMajor, p->ta ? CblasTrans : CblasNoTrans,
			    p->tb ? CblasTrans : CblasNoTrans, (blasint)p->m, (blasint)p->n,
			    (blasint)p->k, p->alpha, p->a, (blasint)p->lda, p->b, (blasint)p->ldb,
			    p->beta, p->c, (blasint)p->ldc);
}

/* Some rows or columns of the result. */
static void multiply_part(void *argument, int64_t begin, int64_t end)
{
	struct product p = *(const struct product *)argument;

	if (p.by_rows) {
		p.a += begin * (p.ta ? 1 : p.lda);
		p.c += begin * p.ldc;
		p.m = end - begin;
	} else {
		p.b += begin * (p.tb ? p.ldb : 1);
		p.c += begin;
		p.n = end - begin;
	}
	multiply(&p);
}

void cpu_sgemm(struct cpu_context *cpu, bool ta, bool tb, int64_t m, int64_t n, int64_t k, float alpha,
	       const float *a, int64_t lda, const float *b, int64_t ldb, float beta, float *c,
	       int64_t ldc)
{
	struct product p = { ta, tb, m > n, m, n, k, lda, ldb, ldc, alpha, beta, a, b, c };
	int64_t length = p.by_rows ? m : n;
	/* One part a thread: OpenBLAS copies the other matrix for every one. */
	int64_t part = (length + cpu->threads - 1) / cpu->threads;

	enter();
	if (m * n * k < THREAD_MIN_MACS || part < 16)
		multiply(&p);
	else
		cpu_parallel_ranges(cpu, length, (part + 15) / 16 * 16, multiply_part, &p);
	leave();
}
