/* SPDX-License-Identifier: MIT */
/*
 * The CPU back end: plain reference kernels for every IR operator, and fast ones on top (OpenBLAS,
 * oneDNN, vectorised loops). It shares no code with the device model, so that the two are
 * independent readings of the specification.
 */
#ifndef WNN_CPU_H
#define WNN_CPU_H

#include "ir/ir.h"

enum cpu_layer {
	CPU_REFERENCE, /* the reference kernels: slow and obvious, the oracle of tests */
	CPU_FAST,      /* the fast kernels; nodes without one run on the reference */
	CPU_ONEDNN,    /* the fast kernels, and those of oneDNN */
};

struct cpu_context; /* thread pool and scratch memory; only one thread at a time may use it */
struct cpu_plan;
struct cpu_simd; /* a level of vector instructions (cpu/simd/simd.h) */

/* @threads: 0 is one for each CPU that the caller may run on. Returns NULL when out of memory. */
struct cpu_context *cpu_context_create(unsigned int threads);
void cpu_context_destroy(struct cpu_context *cpu);

/*
 * Sets how many microseconds idle threads spin before they sleep while a graph runs, that is
 * between cpu_begin() and cpu_end(). 0: they sleep at once.
 */
void cpu_set_spin(struct cpu_context *cpu, uint32_t microseconds);
void cpu_begin(struct cpu_context *cpu);
void cpu_end(struct cpu_context *cpu);

bool cpu_supports(const struct ir_node *node);

/*
 * Sets the highest layer that graphs run on: CPU_FAST, or CPU_ONEDNN, the default, which without
 * oneDNN is the same as CPU_FAST. Returns 0, or not 0 with *err when oneDNN cannot be loaded or
 * fails its self-test; the layer then stays.
 */
int cpu_set_layer(struct cpu_context *cpu, enum cpu_layer layer, struct wnn_error *err);

/*
 * Returns a sentence that says what the self-test found wrong with the library of the context's
 * layer, which is then not used; NULL when it found nothing, or did not run.
 */
const char *cpu_complaint(const struct cpu_context *cpu);

/* Sets the level of vector instructions of our own kernels; the default is cpu_simd_best(). */
void cpu_set_level(struct cpu_context *cpu, const struct cpu_simd *level);

/*
 * The description of a context's kernels. Pointers are to constant strings. An empty version means
 * that the library is not used, an empty problem that nothing is wrong.
 */
struct cpu_description {
	const char *level; /* the level of vector instructions of our own kernels */
	bool best;	   /* whether that is the highest level of this processor */
	/* the levels that this processor has, lowest first, such as "base, avx2 and avx512" */
	char levels[64];
	const char *layer; /* "onednn" or "openblas" */
	char onednn_version[32];
	/* oneDNN's level of instructions, as a value of ONEDNN_MAX_CPU_ISA, or as bits in hex */
	char onednn_level[32];
	const char *onednn_problem;
	bool onednn_broken; /* whether oneDNN failed its self-test */
	char openblas_version[32], openblas_core[32];
	char openblas_problem[512];
	unsigned int threads;
};

/* Fills in *d; loads the libraries that the context's layer computes with. */
void cpu_describe(const struct cpu_context *cpu, struct cpu_description *d);

/*
 * Returns from how many multiplications per element that has to be moved channels-last layout makes
 * the convolutions of a graph faster; 0: it never does. Loads oneDNN when the context's layer is
 * oneDNN.
 */
uint32_t cpu_channels_last_work(const struct cpu_context *cpu, const struct ir_graph *graph);

/*
 * Returns the name of the layout of packed operands, valid until the context is destroyed or its
 * layer or level changes. Kernels must not read operands that were packed under another name.
 */
const char *cpu_pack_form(struct cpu_context *cpu);

/*
 * cpu_plan_create - plan a node: choose the kernel that computes it, and make what the kernel keeps
 * from run to run, such as oneDNN's machine code for the shapes
 * @use: CPU_PACKS and CPU_KEEPS, or 0
 *
 * The plan keeps pointers to the context and to the node: both must outlive it, and the node must
 * not change. The caller frees the plan with cpu_plan_destroy(). Returns NULL with *err when memory
 * ran out, or when a library that the kernel needs cannot be loaded.
 */
#define CPU_PACKS 1u /* operand 1 is packed before the plan runs, if it is a constant */
#define CPU_KEEPS 2u /* the plan runs many times, so that making it may take milliseconds */
struct cpu_plan *cpu_plan_create(struct cpu_context *cpu, const struct ir_node *node,
				 unsigned int use, struct wnn_error *err);
/*
 * Plans a node with the kernel and the version of its packed operand that a file names, also where
 * another kernel would be faster. NULL: this kernel does not take the node here, or packs the
 * operand in another version now. With *err set: memory ran out, or its library cannot be loaded.
 */
struct cpu_plan *cpu_plan_named(struct cpu_context *cpu, const struct ir_node *node,
				const char *name, uint32_t version, struct wnn_error *err);
void cpu_plan_destroy(struct cpu_plan *plan); /* NULL is fine */
/* Returns the name of the kernel, for the placement report, such as "cpu/matmul-openblas". */
const char *cpu_plan_name(const struct cpu_plan *plan);
uint32_t cpu_plan_version(const struct cpu_plan *plan);
/*
 * Writes why the kernels that are asked before that of the plan do not compute the node: "not NAME,
 * because REASON", separated by semicolons; an empty text when there are none.
 */
void cpu_plan_explain(const struct cpu_plan *plan, char *text, size_t size);
/*
 * cpu_plan_fuse - fuse a planned node with @next, the only node that reads its result
 *
 * @next adds a value of equal shape, is a convolution, or is a function of integers. The fused node
 * has the operands of the first node and then the other operands of @next; its result is that of
 * @next. Returns false when they cannot be fused.
 */
bool cpu_plan_fuse(struct cpu_plan *plan, const struct cpu_context *cpu,
		   const struct ir_node *next);
/*
 * Plans a node, like cpu_plan_create(), with a kernel for which cpu_plan_arrange() may be called.
 * The kernel need not be the fastest one for dense operands. Returns NULL when the kernel of the
 * node takes dense operands only, when a product is faster with dense copies of its operands, or
 * when memory ran out.
 */
struct cpu_plan *cpu_plan_arrangeable(struct cpu_context *cpu, const struct ir_node *node);
/*
 * Makes a planned node read an operand, or write its result when @operand is CPU_RESULT, with other
 * strides: one for each axis of the type, in elements. cpu_plan_run() takes pointers to the first
 * elements. Returns false when the kernel cannot; the node keeps its strides then.
 */
#define CPU_RESULT -1
bool cpu_plan_arrange(struct cpu_plan *plan, const struct ir_node *node, int operand,
		      const int64_t *strides);
/*
 * cpu_plan_pack_bytes() returns the bytes of a packed operand 1; 0 when the kernel reads the
 * operand as it is.
 *
 * cpu_plan_pack() converts a constant operand 1 to the form that the kernel reads, and writes these
 * bytes to @to, which is aligned to 64 bytes. A node that runs with the packed operand does not
 * read the original. Returns 0, or not 0 with *err.
 */
size_t cpu_plan_pack_bytes(const struct cpu_plan *plan);
int cpu_plan_pack(const struct cpu_plan *plan, const void *from, void *to, struct wnn_error *err);
/*
 * Computes the node. @packed: what cpu_plan_pack() wrote; NULL if cpu_plan_pack_bytes() is 0.
 * Returns 0, or not 0 with *err.
 */
int cpu_plan_run(struct cpu_plan *plan, struct cpu_context *cpu, const void *packed,
		 const void *const *in, void *const *out, struct wnn_error *err);

/**
 * cpu_run_node - plan one node, compute it once, and drop the plan
 * @layer: CPU_REFERENCE, or another one for the kernel that choose.c chooses
 * @in: data of the operands (NULL where the operand is absent), dense row-major
 * @out: memory of the results, dense row-major; it overlaps no input, except that operands of a
 *   concat may lie in its result already
 *
 * Returns 0, or not 0 with *err.
 */
int cpu_run_node(struct cpu_context *cpu, enum cpu_layer layer, const struct ir_node *node,
		 const void *const *in, void *const *out, struct wnn_error *err);

#endif
