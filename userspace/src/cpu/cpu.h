/* SPDX-License-Identifier: MIT */
/*
 * The CPU back end: plain reference kernels for every IR operator, and fast ones on top (OpenBLAS, vectorised loops).
 * Shares no code with the device model: two independent readings of the specification.
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
 * How many microseconds threads look for work before they sleep, while the nodes of a graph run: between
 * cpu_begin() and cpu_end(). 0: they sleep at once.
 */
void cpu_set_spin(struct cpu_context *cpu, uint32_t microseconds);
void cpu_begin(struct cpu_context *cpu);
void cpu_end(struct cpu_context *cpu);

bool cpu_supports(const struct ir_node *node);

/*
 * The highest layer that graphs run on: CPU_FAST, or CPU_ONEDNN, which is what a new context has where
 * it was built with it. Fails when oneDNN cannot be loaded.
 */
int cpu_set_layer(struct cpu_context *cpu, enum cpu_layer layer, struct wnn_error *err);

/* Why the context's layer is not used after it was loaded, in a sentence; NULL: it is, or it was not loaded. */
const char *cpu_complaint(const struct cpu_context *cpu);

/* The level of vector instructions of our own kernels, which is the best one until then. */
void cpu_set_level(struct cpu_context *cpu, const struct cpu_simd *level);

/* What a context computes with. Strings that are no arrays are constant; empty: there is no such library, or nothing is wrong. */
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
 * From how many multiplications for each element on convolutions of a graph gain by moving their data to channels-last
 * order; 0: never. Loads oneDNN where the layer is that.
 */
uint32_t cpu_channels_last_work(const struct cpu_context *cpu, const struct ir_graph *graph);

/* Which form packed operands have here: another name, another form. Valid as long as the context. */
const char *cpu_pack_form(struct cpu_context *cpu);

/*
 * A constant operand 1 in the form that the fast kernel of a node reads it in: cpu_pack_bytes() bytes,
 * aligned to 64; 0 when it is read as it is. The operand itself is not read any more when the node
 * runs with what was packed.
 */
size_t cpu_pack_bytes(const struct cpu_context *cpu, const struct ir_node *node);
void cpu_pack(const struct cpu_context *cpu, const struct ir_node *node, const void *from,
	      void *to);

/*
 * Loads what the kernel of a node needs when operand 1 is not packed, so that it is missed before the
 * node runs. 0 or -1.
 */
int cpu_require(const struct cpu_context *cpu, const struct ir_node *node, struct wnn_error *err);

/* cpu_run_node() on the fast layer with operand 1 packed before; @packed may be NULL. */
int cpu_run_packed(struct cpu_context *cpu, const struct ir_node *node, const void *packed,
		   const void *const *in, void *const *out, struct wnn_error *err);

/*
 * A node with what it keeps from run to run, such as machine code of oneDNN for its shapes. It belongs to the
 * context and to the node, which must not change. NULL: the node is an ordinary one of the fast layer. The other functions are those above for such a node, which runs only with what was packed.
 */
struct cpu_prepared *cpu_prepare(struct cpu_context *cpu, const struct ir_node *node);
void cpu_prepared_destroy(struct cpu_prepared *prepared); /* NULL is fine */
const char *cpu_prepared_name(const struct cpu_prepared *prepared);
/*
 * Has it do the work of @next as well, which alone reads its result: an addition of something of the same shape, or a
 * convolution of it. The other operands of @next come behind those of the node from then on, and the result is that
 * of @next. False: it cannot.
 */
bool cpu_prepared_join(struct cpu_prepared *prepared, const struct cpu_context *cpu,
		       const struct ir_node *next);
size_t cpu_prepared_pack_bytes(const struct cpu_prepared *prepared);
int cpu_prepared_pack(const struct cpu_prepared *prepared, const void *from, void *to,
		      struct wnn_error *err);
int cpu_prepared_run(struct cpu_prepared *prepared, struct cpu_context *cpu, const void *packed,
		     const void *const *in, void *const *out, struct wnn_error *err);

/**
 * cpu_run_node - compute one node
 * @in: data of the operands (NULL where the operand is absent), dense row-major
 * @out: where the results go, same form; overlaps no input, but that those of a concat may lie in its result already
 */
int cpu_run_node(struct cpu_context *cpu, enum cpu_layer layer, const struct ir_node *node,
		 const void *const *in, void *const *out, struct wnn_error *err);

/* Name of the kernel that cpu_run_node would use, for the placement report: "cpu/gemm-openblas". */
const char *cpu_kernel_name(enum cpu_layer layer, const struct ir_node *node);

#endif
