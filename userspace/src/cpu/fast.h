/* SPDX-License-Identifier: MIT */
/*
 * The fast layer: kernels for common cases, chosen by cpu_fast_find(); the reference serves the
 * rest.
 */
#ifndef WNN_CPU_FAST_H
#define WNN_CPU_FAST_H

#include "cpu/cpu.h"
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
	/* The least multiplications of a slice of a prepared node that are worth a thread. */
	int64_t part_work;
	/* packed operand 1 of the node that is running; NULL: it was not packed */
	const void *packed;
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
	/*
	 * Functions that convert a constant operand 1 to the kernel's layout, once; NULL: the
	 * kernel reads the operand as it is.
	 */
	size_t (*pack_bytes)(const struct cpu_context *cpu, const struct ir_node *node);
	void (*pack)(const struct cpu_context *cpu, const struct ir_node *node, const void *from,
		     void *to);
};

/*
 * Calls work(argument, begin, end) for ranges of the items 0 to n - 1, on all threads. The length
 * of each range but the last is a multiple of `grain`.
 */
typedef void (*cpu_range_fn)(void *argument, int64_t begin, int64_t end);
void cpu_parallel_ranges(struct cpu_context *cpu, int64_t n, int64_t grain, cpu_range_fn work,
			 void *argument);

/* The kernels for one or more operators. */
struct cpu_fast_family {
	const struct cpu_fast_kernel *kernels;
	size_t count;
	/* Returns the kernel for a node; NULL when none of the family's kernels takes it. */
	const struct cpu_fast_kernel *(*find)(const struct ir_node *node);
};

#define CPU_FAST_FAMILY(kernels, find) { kernels, sizeof(kernels) / sizeof((kernels)[0]), find }

extern const struct cpu_fast_family cpu_fast_conv, cpu_fast_matmul, cpu_fast_pool,
	cpu_fast_elementwise, cpu_fast_move, cpu_fast_softmax, cpu_fast_index, cpu_fast_quantize,
	cpu_fast_resample, cpu_fast_recurrent, cpu_fast_reduce, cpu_fast_integer, cpu_fast_weights,
	cpu_fast_select, cpu_fast_cast, cpu_fast_arg, cpu_fast_topk, cpu_fast_rows;

/*
 * A node with state that it keeps from run to run. It is the first member of each kernel's own
 * structure.
 */
struct cpu_prepared {
	const char *name;
	/* bytes of the packed operand 1; 0: the kernel reads the operand as it is */
	size_t packed_bytes;
	int (*pack)(const struct cpu_prepared *prepared, const void *from, void *to,
		    struct wnn_error *err);
	int (*run)(struct cpu_prepared *prepared, struct cpu_context *cpu, const void *packed,
		   const void *const *in, void *const *out, struct wnn_error *err);
	void (*destroy)(struct cpu_prepared *prepared);
	/* The kernel's cpu_prepared_fuse(); NULL: it cannot fuse nodes. */
	bool (*fuse)(struct cpu_prepared *prepared, const struct cpu_context *cpu,
		     const struct ir_node *next);
	/* The kernel's cpu_prepared_arrange(); NULL: it reads and writes dense tensors only. */
	bool (*arrange)(struct cpu_prepared *prepared, const struct ir_node *node, int operand,
			const int64_t *strides);
};

/*
 * The layer on oneDNN: onednn/onednn.c, or onednn/absent.c in a build without it. cpu_onednn_form()
 * returns the name of the layout of its packed operands, or NULL when oneDNN cannot be loaded;
 * cpu_onednn_absent then says what is missing.
 */
const char *cpu_onednn_form(void);
extern const char cpu_onednn_absent[];
/*
 * Returns a sentence that says what the self-test found wrong with oneDNN, which is then not used;
 * NULL: nothing.
 */
const char *cpu_onednn_complaint(void);
/*
 * Prepares a node on oneDNN; NULL when another kernel is faster, or oneDNN does not take the node.
 */
struct cpu_prepared *cpu_onednn_prepare(const struct cpu_context *cpu, const struct ir_node *node);

/*
 * cpu_conv_prepares() tells whether the fast layer prepares convolutions in channels-last layout on
 * our own tiles. cpu_conv_prepare() prepares such a node; NULL when another kernel is faster for
 * it.
 */
bool cpu_conv_prepares(const struct cpu_context *cpu);
struct cpu_prepared *cpu_conv_prepare(const struct cpu_context *cpu, const struct ir_node *node);
/*
 * Whether channels-last layout makes the convolutions of a graph faster, estimated from their
 * shapes.
 */
bool cpu_conv_gains(const struct cpu_context *cpu, const struct ir_graph *graph);

/* Return the fast kernels for an operator, and the kernel for a node; NULL when there is none. */
const struct cpu_fast_family *cpu_fast_family(enum ir_op op);
const struct cpu_fast_kernel *cpu_fast_find(const struct ir_node *node);

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
 * Loads OpenBLAS if it is not loaded yet. A kernel calls it before the functions below. Returns -1
 * with a sentence in *err when OpenBLAS cannot be loaded.
 */
int cpu_blas_load(const struct cpu_context *cpu, struct wnn_error *err);

/* Whether a product needs OpenBLAS: all products do, except one row times a matrix. */
bool cpu_matmul_needs_blas(const struct ir_node *node);

/*
 * Computes a product with OpenBLAS, divided among the threads: sgemm, or sgemv when the result is
 * one row.
 */
void cpu_sgemm(struct cpu_context *cpu, struct cpu_product *product);

/*
 * Computes a product like cpu_sgemm(), but on the calling thread, for products that are items of
 * the thread pool. Between cpu_blas_enter() and cpu_blas_leave() OpenBLAS uses one thread; the last
 * caller to leave restores the process's own setting.
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
 * Returns the sum of exp(x - max) over a row, and sets *max to its largest element. Both are NaN
 * when the row has a NaN. If the largest element is infinite, *max is `infinite` with its sign.
 */
double cpu_exp_sum(const struct cpu_simd *simd, const float *x, int64_t n, float infinite,
		   float *max);

#endif
