/* SPDX-License-Identifier: MIT */
/*
 * Declares what several kernels use: the context with its threads and scratch memory, OpenBLAS, and
 * functions on rows.
 */
#ifndef WNN_CPU_FAST_H
#define WNN_CPU_FAST_H

#include "cpu/plan.h"
#include "cpu/threads.h"
#include "cpu/simd/simd.h"

/* The state of the back end for one caller at a time. Its scratch memory grows and is kept. */
struct cpu_context {
	enum cpu_layer layer; /* the highest layer that nodes run on */
	char form[80];	      /* name of the layout of packed operands */
	unsigned int threads;
	struct cpu_threads *workers;
	const struct cpu_simd *simd;
	int64_t cache; /* bytes of a block that should stay in the second-level cache */
	/* The least multiplications of a slice of a node that are worth a thread. */
	int64_t part_work;
	void *scratch;
	size_t scratch_size;
};

/*
 * Returns at least `size` bytes aligned to 64, contents undefined, which are valid until the next
 * call; NULL when out of memory.
 */
void *cpu_scratch(struct cpu_context *cpu, size_t size);

/* Rounds sizes within a block of scratch memory up to whole cache lines. */
static inline size_t cpu_round_up(size_t bytes)
{
	return (bytes + 63) & ~(size_t)63;
}

/*
 * Calls work(argument, begin, end) for ranges of the items 0 to n - 1, on all threads. The length
 * of each range but the last is a multiple of `grain`.
 */
typedef void (*cpu_range_fn)(void *argument, int64_t begin, int64_t end);
void cpu_parallel_ranges(struct cpu_context *cpu, int64_t n, int64_t grain, cpu_range_fn work,
			 void *argument);

/*
 * The layer on oneDNN: onednn/onednn.c, or onednn/absent.c in a build without it. cpu_onednn_form()
 * returns the name of the layout of its packed operands. It returns NULL when oneDNN cannot be
 * loaded, and cpu_onednn_absent then says what is missing; or when oneDNN failed its self-test, and
 * cpu_onednn_complaint() then says how.
 */
const char *cpu_onednn_form(void);
extern const char *cpu_onednn_absent;
/*
 * Returns a sentence that says what the self-test found wrong with oneDNN, which is then not used;
 * NULL: nothing.
 */
const char *cpu_onednn_complaint(void);
/*
 * Returns whether channels-last layout makes the convolutions of a graph faster on our own kernels,
 * estimated from their shapes.
 */
bool cpu_conv_gains(const struct cpu_context *cpu, const struct ir_graph *graph);

/* With fewer multiplications than this, a second thread costs more time than it saves. */
#define CPU_THREAD_MACS ((int64_t)1 << 20)

/* c[m][n] = alpha * a[m][k] * b[k][n] + beta * c; with ta or tb, a or b is transposed. */
struct cpu_product {
	bool ta, tb;
	int64_t m, n, k, lda, ldb, ldc;
	float alpha, beta;
	const float *a, *b;
	float *c;
};

/*
 * Loads OpenBLAS if it is not loaded yet, for kernels with the member blas. Returns 0, or -1 with a
 * sentence in *err when OpenBLAS cannot be loaded.
 */
int cpu_blas_load(const struct cpu_context *cpu, struct wnn_error *err);

/*
 * Computes a product with OpenBLAS, divided among the threads if it is large: sgemm, or sgemv when
 * the result is one row.
 */
void cpu_sgemm(struct cpu_context *cpu, struct cpu_product *product);

/*
 * cpu_blas_multiply() computes a product like cpu_sgemm(), but on the calling thread, for products
 * that are items of the thread pool. Between cpu_blas_enter() and cpu_blas_leave(), which enclose
 * its calls, OpenBLAS uses one thread; the last caller to leave restores the process's own setting.
 */
void cpu_blas_enter(void);
void cpu_blas_leave(void);
void cpu_blas_multiply(const struct cpu_product *product);

/* Applies the activation of a node to n floats in place. */
void cpu_activate(const struct cpu_simd *simd, const struct ir_unary_attrs *act, float *x,
		  int64_t n);

/*
 * Returns the sum of exp(x - max) over a row, and sets *max to its largest element. Both are NaN
 * when the row has a NaN. If the largest element is infinite, *max is `infinite` with its sign.
 */
double cpu_exp_sum(const struct cpu_simd *simd, const float *x, int64_t n, float infinite,
		   float *max);

#endif
