/* SPDX-License-Identifier: MIT */
/*
 * The fast layer: kernels for common cases, chosen by cpu_fast_find(); the reference serves the
 * rest.
 */
#ifndef WNN_CPU_FAST_H
#define WNN_CPU_FAST_H

#include "cpu/cpu.h"
#include "cpu/pool.h"
#include "cpu/simd.h"

/* Scratch memory that grows and stays; one caller at a time. */
struct cpu_context {
	unsigned int threads;
	struct cpu_pool *pool;
	const struct cpu_simd *simd;
	int64_t cache;			/* bytes of a block that is to stay in the second-level cache */
	const void *packed;		/* of the node that runs; NULL: nothing was packed */
	void *scratch;
	size_t scratch_size;
};

/* At least `size` bytes aligned to 64, contents undefined; NULL when out of memory. */
void *cpu_scratch(struct cpu_context *cpu, size_t size);

/* Sizes within a block of scratch memory: whole cache lines. */
static inline size_t cpu_round_up(size_t bytes)
{
	return (bytes + 63) & ~(size_t)63;
}

typedef int (*cpu_fast_fn)(struct cpu_context *cpu, const struct ir_node *node, const void *const *in,
			   void *const *out, struct wnn_error *err);

struct cpu_fast_kernel {
	const char *name;
	cpu_fast_fn run;
	/* Operand 1 in the kernel's own form, made once when it is constant; NULL: as it is. */
	size_t (*pack_bytes)(const struct cpu_context *cpu, const struct ir_node *node);
	void (*pack)(const struct cpu_context *cpu, const struct ir_node *node, const void *from,
		     void *to);
};

/*
 * work(argument, begin, end) on parts of 0 to n - 1, each but the last a multiple of `grain` long, on
 * all threads.
 */
typedef void (*cpu_range_fn)(void *argument, int64_t begin, int64_t end);
void cpu_parallel_ranges(struct cpu_context *cpu, int64_t n, int64_t grain, cpu_range_fn work,
			 void *argument);

/* NULL when no fast kernel takes this node. */
const struct cpu_fast_kernel *cpu_fast_find(const struct ir_node *node);

/* One finder a family; each returns NULL for nodes that are not its own. */
const struct cpu_fast_kernel *cpu_fast_find_conv(const struct ir_node *node);
const struct cpu_fast_kernel *cpu_fast_find_matmul(const struct ir_node *node);
const struct cpu_fast_kernel *cpu_fast_find_pool(const struct ir_node *node);
const struct cpu_fast_kernel *cpu_fast_find_elementwise(const struct ir_node *node);
const struct cpu_fast_kernel *cpu_fast_find_move(const struct ir_node *node);
const struct cpu_fast_kernel *cpu_fast_find_softmax(const struct ir_node *node);
const struct cpu_fast_kernel *cpu_fast_find_index(const struct ir_node *node);
const struct cpu_fast_kernel *cpu_fast_find_quantize(const struct ir_node *node);
const struct cpu_fast_kernel *cpu_fast_find_resample(const struct ir_node *node);
const struct cpu_fast_kernel *cpu_fast_find_recurrent(const struct ir_node *node);

/*
 * sgemm on OpenBLAS (sgemv where a result is one line) with cpu->threads threads; leaves the
 * process's thread setting as it was.
 */
void cpu_sgemm(struct cpu_context *cpu, bool ta, bool tb, int64_t m, int64_t n, int64_t k, float alpha,
	       const float *a, int64_t lda, const float *b, int64_t ldb, float beta, float *c,
	       int64_t ldc);

/* The activation of a node over n floats in place. */
void cpu_activate(const struct cpu_simd *simd, const struct ir_unary_attrs *act, float *x, int64_t n);

#endif
