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
	CPU_REFERENCE, /* slow, obvious; the oracle */
	CPU_FAST,      /* falls back to the reference for what it has no kernel for */
	CPU_ONEDNN,    /* prepared nodes; falls back to the fast layer */
};

struct cpu_context; /* thread pool and scratch memory; used by one caller at a time */
struct cpu_prepared;
struct cpu_simd; /* a level of vector instructions, cpu/simd.h */

struct cpu_context *cpu_context_create(unsigned int threads); /* 0: one per online CPU */
void cpu_context_destroy(struct cpu_context *cpu);

/*
 * Sets how many microseconds idle threads spin before they sleep, while the nodes of a graph run:
 * between cpu_begin() and cpu_end(). 0: they sleep at once.
 */
void cpu_set_spin(struct cpu_context *cpu, uint32_t microseconds);
void cpu_begin(struct cpu_context *cpu);
void cpu_end(struct cpu_context *cpu);

bool cpu_supports(const struct ir_node *node);

/*
 * The highest layer that graphs run on: CPU_FAST, or CPU_ONEDNN, which is what a new context has
 * where it was built with it. Fails when oneDNN cannot be loaded.
 */
int cpu_set_layer(struct cpu_context *cpu, enum cpu_layer layer, struct wnn_error *err);

/*
 * Returns why the context's layer is not used although it was loaded, in a sentence; NULL: it is
 * used, or was not loaded.
 */
const char *cpu_complaint(const struct cpu_context *cpu);

/* Sets the level of vector instructions of our own kernels; the default is the best one. */
void cpu_set_level(struct cpu_context *cpu, const struct cpu_simd *level);

/*
 * The description of a context's kernels. Strings that are no arrays are constant; an empty string:
 * there is no such library, or nothing is wrong.
 */
struct cpu_description {
	const char *level; /* of our own kernels, one of the levels */
	bool best;	   /* it is the highest that there is */
	char levels[64];
	const char *layer; /* onednn or openblas */
	char onednn_version[32];
	char onednn_level[32]; /* as ONEDNN_MAX_CPU_ISA has it */
	const char *onednn_problem;
	bool onednn_broken; /* its self-test has failed */
	char openblas_version[32], openblas_core[32];
	char openblas_problem[512];
	unsigned int threads;
};

/* Loads the libraries that the context's layer computes with. */
void cpu_describe(const struct cpu_context *cpu, struct cpu_description *d);

/*
 * Returns from how many multiplications per element on the convolutions of a graph gain by
 * channels-last layout; 0: never. Loads oneDNN when that is the layer.
 */
uint32_t cpu_channels_last_work(const struct cpu_context *cpu, const struct ir_graph *graph);

/*
 * Returns the name of the form of packed operands: operands that were packed under another name
 * must not be used. Valid as long as the context.
 */
const char *cpu_pack_form(struct cpu_context *cpu);

/*
 * cpu_pack - convert a constant operand 1 to the form that the fast kernel of a node reads
 *
 * It takes cpu_pack_bytes() bytes, aligned to 64; 0: the kernel reads the operand as it is. The
 * kernel does not read the operand itself when the node runs with the packed one.
 */
size_t cpu_pack_bytes(const struct cpu_context *cpu, const struct ir_node *node);
void cpu_pack(const struct cpu_context *cpu, const struct ir_node *node, const void *from,
	      void *to);

/*
 * Loads the library that the kernel of a node needs when operand 1 is not packed, so that a missing
 * library is reported before the node runs. 0 or -1.
 */
int cpu_require(const struct cpu_context *cpu, const struct ir_node *node, struct wnn_error *err);

/* cpu_run_node() on the fast layer with a packed operand 1; @packed may be NULL. */
int cpu_run_packed(struct cpu_context *cpu, const struct ir_node *node, const void *packed,
		   const void *const *in, void *const *out, struct wnn_error *err);

/*
 * cpu_prepare - create a node with state that it keeps from run to run, such as oneDNN's machine
 * code for its shapes
 *
 * The state belongs to the context and to the node, which must not change. NULL: the node is an
 * ordinary one of the fast layer. The other functions are those above for such a node, which runs
 * only with its packed operand.
 */
struct cpu_prepared *cpu_prepare(struct cpu_context *cpu, const struct ir_node *node);
void cpu_prepared_destroy(struct cpu_prepared *prepared); /* NULL is fine */
const char *cpu_prepared_name(const struct cpu_prepared *prepared);
/*
 * cpu_prepared_join - fuse a prepared node with @next, which alone reads its result
 *
 * @next adds a value of equal shape, or is a convolution. The other operands of @next follow those
 * of the node from then on, and the result is that of @next. False: they cannot be fused.
 */
bool cpu_prepared_join(struct cpu_prepared *prepared, const struct cpu_context *cpu,
		       const struct ir_node *next);
/*
 * cpu_prepare() of a node whose operands or result cpu_prepared_arrange() is to be called for; NULL when its kernel knows dense ones
 * only. It need not be the fastest where all is dense.
 */
struct cpu_prepared *cpu_prepare_arrangeable(struct cpu_context *cpu, const struct ir_node *node);
/*
 * Has it read an operand, or write its result where @operand is CPU_RESULT, with these strides in elements, one for each
 * axis of the type, from the first element on. False: it cannot, and goes on as before.
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

/* Name of the kernel that cpu_run_node would use, for the placement report: "cpu/gemm-openblas". */
const char *cpu_kernel_name(enum cpu_layer layer, const struct ir_node *node);

#endif
