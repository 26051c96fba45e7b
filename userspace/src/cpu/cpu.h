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
	CPU_ONEDNN,    /* nodes prepared on oneDNN; other nodes run on the fast layer */
};

struct cpu_context; /* thread pool and scratch memory; only one thread at a time may use it */
struct cpu_prepared;
struct cpu_simd; /* a level of vector instructions (cpu/simd/simd.h) */

struct cpu_context *cpu_context_create(unsigned int threads); /* 0: one per online CPU */
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
 * Sets the highest layer that graphs run on: CPU_FAST, or CPU_ONEDNN, the default of a new context
 * when the library is built with oneDNN. Fails when oneDNN cannot be loaded.
 */
int cpu_set_layer(struct cpu_context *cpu, enum cpu_layer layer, struct wnn_error *err);

/*
 * Returns a sentence that says why the context's layer is not used although its library was loaded;
 * NULL when the layer is used, or its library was not loaded.
 */
const char *cpu_complaint(const struct cpu_context *cpu);

/* Sets the level of vector instructions of our own kernels; the default is the best one. */
void cpu_set_level(struct cpu_context *cpu, const struct cpu_simd *level);

/*
 * The description of a context's kernels. Pointers are to constant strings. An empty string means
 * that the library is absent, or that nothing is wrong.
 */
struct cpu_description {
	const char *level; /* the level of vector instructions of our own kernels */
	bool best;	   /* whether that is the highest level of this processor */
	char levels[64];
	const char *layer; /* "onednn" or "openblas" */
	char onednn_version[32];
	/* oneDNN's level of instructions, as a value of ONEDNN_MAX_CPU_ISA */
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
 * Returns the least number of multiplications per element from which on channels-last layout makes
 * the convolutions of a graph faster; 0: it never does. Loads oneDNN when that is the layer.
 */
uint32_t cpu_channels_last_work(const struct cpu_context *cpu, const struct ir_graph *graph);

/*
 * Returns the name of the layout of packed operands, valid as long as the context. Kernels must not
 * read operands that were packed under another name.
 */
const char *cpu_pack_form(struct cpu_context *cpu);

/*
 * cpu_pack - convert a constant operand 1 to the form that the fast kernel of a node reads
 *
 * cpu_pack() writes cpu_pack_bytes() bytes to @to, which is aligned to 64 bytes. cpu_pack_bytes()
 * is 0 when the kernel reads the operand as it is. A node that runs with the packed operand does
 * not read the original.
 */
size_t cpu_pack_bytes(const struct cpu_context *cpu, const struct ir_node *node);
void cpu_pack(const struct cpu_context *cpu, const struct ir_node *node, const void *from,
	      void *to);

/*
 * Loads the library that the kernel of a node needs when operand 1 is not packed, so that a missing
 * library is reported before the node runs. Returns 0 or -1.
 */
int cpu_require(const struct cpu_context *cpu, const struct ir_node *node, struct wnn_error *err);

/*
 * Runs a node like cpu_run_node() on the fast layer, with operand 1 in the form that cpu_pack() has
 * written; @packed may be NULL.
 */
int cpu_run_packed(struct cpu_context *cpu, const struct ir_node *node, const void *packed,
		   const void *const *in, void *const *out, struct wnn_error *err);

/*
 * cpu_prepare - create a node with state that it keeps from run to run, such as oneDNN's machine
 * code for its shapes
 *
 * The state belongs to the context and to the node, which must not change. Returns NULL when the
 * fast layer runs the node without such state. The functions below do for a prepared node what
 * those above do for other nodes; it runs only with its packed operand.
 */
struct cpu_prepared *cpu_prepare(struct cpu_context *cpu, const struct ir_node *node);
void cpu_prepared_destroy(struct cpu_prepared *prepared); /* NULL is fine */
const char *cpu_prepared_name(const struct cpu_prepared *prepared);
/*
 * cpu_prepared_fuse - fuse a prepared node with @next, which alone reads its result
 *
 * @next adds a value of equal shape, or is a convolution. The fused node has the operands of the
 * first node and then the other operands of @next; its result is that of @next. Returns false when
 * they cannot be fused.
 */
bool cpu_prepared_fuse(struct cpu_prepared *prepared, const struct cpu_context *cpu,
		       const struct ir_node *next);
/*
 * Prepares a node, like cpu_prepare(), with a kernel for which cpu_prepared_arrange() may be
 * called; NULL when there is only a kernel for dense operands. The kernel need not be the fastest
 * one for dense operands.
 */
struct cpu_prepared *cpu_prepare_arrangeable(struct cpu_context *cpu, const struct ir_node *node);
/*
 * Makes a prepared node read an operand, or write its result when @operand is CPU_RESULT, with
 * other strides: one for each axis of the type, in elements, from the first element on. False when
 * the kernel cannot; the node keeps its strides then.
 */
#define CPU_RESULT -1
bool cpu_prepared_arrange(struct cpu_prepared *prepared, const struct ir_node *node, int operand,
			  const int64_t *strides);
size_t cpu_prepared_pack_bytes(const struct cpu_prepared *prepared);
int cpu_prepared_pack(const struct cpu_prepared *prepared, const void *from, void *to,
		      struct wnn_error *err);
int cpu_prepared_run(struct cpu_prepared *prepared, struct cpu_context *cpu, const void *packed,
		     const void *const *in, void *const *out, struct wnn_error *err);

/**
 * cpu_run_node - compute one node
 * @in: data of the operands (NULL where the operand is absent), dense row-major
 * @out: memory of the results, dense row-major; it overlaps no input, except that operands of a
 *   concat may lie in its result already
 */
int cpu_run_node(struct cpu_context *cpu, enum cpu_layer layer, const struct ir_node *node,
		 const void *const *in, void *const *out, struct wnn_error *err);

/*
 * Returns the name of the kernel that cpu_run_node() would use, for the placement report, such as
 * "cpu/gemm-openblas".
 */
const char *cpu_kernel_name(enum cpu_layer layer, const struct ir_node *node);

#endif
