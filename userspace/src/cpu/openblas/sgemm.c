// SPDX-License-Identifier: MIT
/*
 * The only file that computes with OpenBLAS. Threads of the pool call OpenBLAS, and each call uses
 * one thread. OpenBLAS's number of threads is global to the process and may be the application's
 * own setting (in version 0.3.29 even openblas_set_num_threads_local() sets it for all threads):
 * the first caller saves it, and the last one restores it.
 */
#include <pthread.h>

#include "cpu/fast.h"
#include "cpu/openblas/openblas.h"

/*
 * MAX_PARTS: the most slices of a product; MIN_PART: the least rows or columns of each slice but
 * the last. The division depends on the shape alone: OpenBLAS chooses kernels by the sizes of a
 * call, and results must not depend on the number of threads. Slices are few and wide, since
 * OpenBLAS copies the matrix that is not divided for each of them.
 */
#define MAX_PARTS 8
#define MIN_PART  256

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static unsigned int inside;
static int saved;

void cpu_blas_enter(void)
{
	pthread_mutex_lock(&lock);
	if (!inside++) {
		saved = openblas.get_num_threads();
		if (saved != 1)
			openblas.set_num_threads(1);
	}
	pthread_mutex_unlock(&lock);
}

void cpu_blas_leave(void)
{
	pthread_mutex_lock(&lock);
	if (!--inside && saved != 1)
		openblas.set_num_threads(saved);
	pthread_mutex_unlock(&lock);
}

void cpu_blas_multiply(const struct cpu_product *p)
{
	/* For one row sgemv is used, which does not pack the matrix. */
	if (p->m == 1)
		openblas.sgemv(CblasRowMajor, p->tb ? CblasNoTrans : CblasTrans,
			       (blasint)(p->tb ? p->n : p->k), (blasint)(p->tb ? p->k : p->n),
			       p->alpha, p->b, (blasint)p->ldb, p->a, (blasint)(p->ta ? p->lda : 1),
			       p->beta, p->c, 1);
	else
		openblas.sgemm(CblasRowMajor, p->ta ? CblasTrans : CblasNoTrans,
			       p->tb ? CblasTrans : CblasNoTrans, (blasint)p->m, (blasint)p->n,
			       (blasint)p->k, p->alpha, p->a, (blasint)p->lda, p->b,
			       (blasint)p->ldb, p->beta, p->c, (blasint)p->ldc);
}

static int64_t length_of(const struct cpu_product *p)
{
	return p->m > p->n ? p->m : p->n;
}

static int64_t part_of(const struct cpu_product *p)
{
	int64_t part = (length_of(p) + MAX_PARTS - 1) / MAX_PARTS;

	return part > MIN_PART ? (part + 15) / 16 * 16 : MIN_PART;
}

static void multiply_part(void *argument, int64_t item, unsigned int worker)
{
	struct cpu_product p = *(const struct cpu_product *)argument;
	int64_t part = part_of(&p), begin = item * part, rest = length_of(&p) - begin;

	(void)worker;
	part = part < rest ? part : rest;
	if (p.m > p.n) {
		p.a += begin * (p.ta ? 1 : p.lda);
		p.c += begin * p.ldc;
		p.m = part;
	} else {
		p.b += begin * (p.tb ? p.ldb : 1);
		p.c += begin;
		p.n = part;
	}
	cpu_blas_multiply(&p);
}

void cpu_sgemm(struct cpu_context *cpu, struct cpu_product *p)
{
	int64_t part = part_of(p), parts = (length_of(p) + part - 1) / part;

	cpu_blas_enter();
	if (p->m * p->n * p->k < CPU_THREAD_MACS || parts == 1)
		cpu_blas_multiply(p);
	else
		cpu_threads_run(cpu->workers, parts, multiply_part, p);
	cpu_blas_leave();
}
