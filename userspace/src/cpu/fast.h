/* SPDX-License-Identifier: MIT */
/*
 * The fast layer: kernels for common cases, chosen by cpu_fast_find(); the reference serves the
 * rest.
 */
#ifndef WNN_CPU_FAST_H
#define WNN_CPU_FAST_H

#include "cpu/cpu.h"
#include "cpu/threads.h"
#include "cpu/simd.h"

/* Scratch memory that grows and stays; one caller at a time. */
struct cpu_context {
	enum cpu_layer layer; /* the highest */
	char form[80];	      /* of packed operands */
	unsigned int threads;
	struct cpu_threads *workers;
	const struct cpu_simd *simd;
	int64_t cache; /* bytes of a block that is to stay in the second-level cache */
	/* Products from which on a slice of a prepared node is worth a thread. */
	int64_t part_work;
	const void *packed; /* of the node that is running; NULL: it was not packed */
	void *scratch;
	size_t scratch_size;
};

/* Returns at least `size` bytes aligned to 64, contents undefined; NULL when out of memory. */
void *cpu_scratch(struct cpu_context *cpu, size_t size);

/* Rounds sizes within a block of scratch memory up to whole cache lines. */
static inline size_t cpu_round_up(size_t bytes)
{
	return (bytes + 63) & ~(size_t)63;
}

typedef int (*cpu_fast_fn)(struct cpu_context *cpu, const struct ir_node *node,
			   const void *const *in, void *const *out, struct wnn_error *err);

struct cpu_fast_kernel {
	const char *name;
	cpu_fast_fn run;
	/* Operand 1 in the kernel's own form, made once when it is constant; NULL: as it is. */
	size_t (*pack_bytes)(const struct cpu_context *cpu, const struct ir_node *node);
	void (*pack)(const struct cpu_context *cpu, const struct ir_node *node, const void *from,
		     void *to);
};

/*
 * Calls work(argument, begin, end) for ranges of 0 to n - 1 on all threads; each range but the last
 * is a multiple of `grain` long.
 */
typedef void (*cpu_range_fn)(void *argument, int64_t begin, int64_t end);
void cpu_parallel_ranges(struct cpu_context *cpu, int64_t n, int64_t grain, cpu_range_fn work,
			 void *argument);

/* The kernels for one or more operators. */
struct cpu_fast_family {
	const struct cpu_fast_kernel *kernels;
	size_t count;
	/* NULL for a node that none of them takes. */
	const struct cpu_fast_kernel *(*find)(const struct ir_node *node);
};

#define CPU_FAST_FAMILY(kernels, find) { kernels, sizeof(kernels) / sizeof((kernels)[0]), find }

extern const struct cpu_fast_family cpu_fast_conv, cpu_fast_matmul, cpu_fast_pool,
	cpu_fast_elementwise, cpu_fast_move, cpu_fast_softmax, cpu_fast_index, cpu_fast_quantize,
	cpu_fast_resample, cpu_fast_recurrent, cpu_fast_reduce, cpu_fast_integer, cpu_fast_weights,
	cpu_fast_select, cpu_fast_cast, cpu_fast_arg, cpu_fast_topk, cpu_fast_rows;

/* A node that keeps something from run to run: the first member of its kind's own structure. */
struct cpu_prepared {
	const char *name;
	size_t packed_bytes; /* of operand 1; 0: as it is */
	int (*pack)(const struct cpu_prepared *prepared, const void *from, void *to,
		    struct wnn_error *err);
	int (*run)(struct cpu_prepared *prepared, struct cpu_context *cpu, const void *packed,
		   const void *const *in, void *const *out, struct wnn_error *err);
	void (*destroy)(struct cpu_prepared *prepared);
	/* See cpu_prepared_join(); NULL: it cannot. */
	bool (*join)(struct cpu_prepared *prepared, const struct cpu_context *cpu,
		     const struct ir_node *next);
	/* As cpu_prepared_arrange(); NULL: it cannot. */
	bool (*arrange)(struct cpu_prepared *prepared, const struct ir_node *node, int operand,
			const int64_t *strides);
};

/*
 * The layer on oneDNN: onednn.c, or onednn_absent.c where it is left out. The form of its packed
 * operands, NULL when it cannot be loaded; cpu_onednn_absent says what is missing then.
 */
const char *cpu_onednn_form(void);
extern const char cpu_onednn_absent[];
/*
 * Returns what the self-test found wrong with oneDNN, in a sentence, so that it counts as not
 * loaded; NULL: nothing.
 */
const char *cpu_onednn_complaint(void);
/* Returns NULL when oneDNN is not the best for a node, or does not take it. */
struct cpu_prepared *cpu_onednn_prepare(const struct cpu_context *cpu, const struct ir_node *node);

/*
 * Whether the fast layer prepares convolutions in channels-last layout on our own tiles; and such a
 * node, NULL when that is not the best for it.
 */
bool cpu_conv_prepares(const struct cpu_context *cpu);
struct cpu_prepared *cpu_conv_prepare(const struct cpu_context *cpu, const struct ir_node *node);
/* Whether the convolutions of a graph gain by channels-last layout, estimated from their shapes. */
bool cpu_conv_gains(const struct cpu_context *cpu, const struct ir_graph *graph);

/* Returns NULL when there are no fast kernels for an operator, or none that takes this node. */
const struct cpu_fast_family *cpu_fast_family(enum ir_op op);
const struct cpu_fast_kernel *cpu_fast_find(const struct ir_node *node);

/* Below this many multiplications a second thread costs more than it brings. */
#define CPU_THREAD_MACS ((int64_t)1 << 20)

/* c[m][n] = alpha * a[m][k] * b[k][n] + beta * c, a and b transposed if ta and tb. */
struct cpu_product {
	bool ta, tb;
	int64_t m, n, k, lda, ldb, ldc;
	float alpha, beta;
	const float *a, *b;
	float *c;
};

/*
 * Comes before what follows, in every kernel that calls it: loads OpenBLAS when that was not done.
 * -1 with a sentence when it cannot be loaded.
 */
int cpu_blas_load(const struct cpu_context *cpu, struct wnn_error *err);

/* Whether a product needs OpenBLAS: one row times a matrix is multiplied without it. */
bool cpu_matmul_needs_blas(const struct ir_node *node);

/* Multiplies on OpenBLAS, shared among the threads: sgemm, or sgemv when the result is one row. */
void cpu_sgemm(struct cpu_context *cpu, struct cpu_product *product);

/*
 * cpu_sgemm() on the calling thread, for products that are items of the pool themselves. Between
 * cpu_blas_enter() and cpu_blas_leave() OpenBLAS has one thread; the last to leave restores the
 * process's own setting.
 */
void cpu_blas_enter(void);
void cpu_blas_leave(void);
void cpu_blas_multiply(const struct cpu_product *product);

/*
 * Element-wise functions of integers of 8 bits and more, and IR_IS_NAN and IR_IS_INFINITE of floats
 * of at most 32 bits.
 */
int cpu_unary_whole(struct cpu_context *cpu, const struct ir_node *node, const void *const *in,
		    void *const *out, struct wnn_error *err);
int cpu_binary_whole(struct cpu_context *cpu, const struct ir_node *node, const void *const *in,
		     void *const *out, struct wnn_error *err);
int cpu_unary_says(struct cpu_context *cpu, const struct ir_node *node, const void *const *in,
		   void *const *out, struct wnn_error *err);

/* Applies the activation of a node to n floats in place. */
void cpu_activate(const struct cpu_simd *simd, const struct ir_unary_attrs *act, float *x,
		  int64_t n);

/*
 * Returns the sum of exp(x - max) over a row, and sets its largest element; NaN where there is NaN.
 * An infinite largest element is replaced by `infinite` with its sign.
 */
double cpu_exp_sum(const struct cpu_simd *simd, const float *x, int64_t n, float infinite,
		   float *max);

#endif
