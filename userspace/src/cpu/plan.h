/* SPDX-License-Identifier: MIT */
/*
 * The contract of the CPU's kernels. A kernel is a row of the list of its operator in choose.c; a
 * plan is one node as one kernel computes it, on one context.
 */
#ifndef WNN_CPU_PLAN_H
#define WNN_CPU_PLAN_H

#include "cpu/cpu.h"
#include "cpu/ref/reference.h"

/* A node for which a kernel is looked for, and what the caller does with the plan. */
struct cpu_ask {
	const struct cpu_context *cpu;
	const struct ir_node *node;
	bool packs; /* operand 1 is a constant, which the caller packs before it runs the plan */
	bool keeps; /* the plan runs many times, so that making it may take milliseconds */
	struct wnn_error *err; /* receives why a plan cannot be made; may be NULL */
};

typedef int (*cpu_node_fn)(struct cpu_context *cpu, const struct ir_node *node,
			   const void *const *in, void *const *out, struct wnn_error *err);

/*
 * refuses() returns NULL when the kernel can compute the node; loses() returns NULL when no later
 * kernel of the list is faster. Otherwise they return the sentence that cpu_plan_explain() prints,
 * which begins with a subject and is about the node. Both depend on the node's attributes, shapes,
 * types and constants, on ask->packs, and on layer and level alone, and load no library. A kernel
 * refuses no node when refuses is NULL, and loses none when loses is NULL.
 *
 * One of plan, run and reference is set. plan() makes the plan; it returns NULL when memory ran
 * out, or, with the member onednn, when the next kernel of the list has to be asked. run() and
 * reference() compute the node and need no state.
 */
struct cpu_kernel {
	const char *name;
	const char *(*refuses)(const struct cpu_ask *ask);
	const char *(*loses)(const struct cpu_ask *ask);
	struct cpu_plan *(*plan)(const struct cpu_ask *ask);
	cpu_node_fn run;
	cpu_reference_fn reference;
	bool keeps;    /* only for plans that are kept: making one takes long */
	bool onednn;   /* it needs oneDNN, so that it is for the layer CPU_ONEDNN */
	bool blas;     /* it needs OpenBLAS */
	bool arranges; /* its plans have arrange() */
	/*
	 * Counts the changes of the layout of the packed operand; files with another number are
	 * refused.
	 */
	uint32_t version;
};

/* A plan. A kernel that keeps more has this as the first member of its own structure. */
struct cpu_plan {
	/* choose.c sets the first three members. */
	const struct cpu_kernel *kernel;
	const struct cpu_context *cpu;
	const struct ir_node *node;
	/* bytes of the packed operand 1; 0: the kernel reads the operand as it is */
	size_t packed_bytes;
	int (*pack)(const struct cpu_plan *plan, const void *from, void *to, struct wnn_error *err);
	int (*run)(struct cpu_plan *plan, struct cpu_context *cpu, const void *packed,
		   const void *const *in, void *const *out, struct wnn_error *err);
	void (*destroy)(struct cpu_plan *plan); /* NULL: the plan is one block of memory */
	/* The kernel's cpu_plan_fuse(); NULL: it cannot fuse nodes. */
	bool (*fuse)(struct cpu_plan *plan, const struct cpu_context *cpu,
		     const struct ir_node *next);
	/* The kernel's cpu_plan_arrange(); NULL: it reads and writes dense tensors only. */
	bool (*arrange)(struct cpu_plan *plan, const struct ir_node *node, int operand,
			const int64_t *strides);
};

/*
 * Returns the plan of the first kernel that takes the node; NULL with *ask->err when memory ran out
 * or a library that the kernel needs cannot be loaded.
 */
struct cpu_plan *cpu_choose(const struct cpu_ask *ask);

/*
 * Returns the plan of the first kernel of that name that can compute the node, also where another
 * kernel would be faster; NULL when there is none, or with *ask->err as for cpu_choose().
 */
struct cpu_plan *cpu_choose_named(const struct cpu_ask *ask, const char *name);
/*
 * Returns whether the plan of the first kernel that takes the node has arrange(). It loads no
 * library: a kernel of oneDNN is taken to have a plan for the node.
 */
bool cpu_may_arrange(const struct cpu_ask *ask);
/* Returns the plan of the reference kernel. */
struct cpu_plan *cpu_choose_reference(const struct cpu_ask *ask);
/* Returns the struct cpu_ask of a node; @use: as for cpu_plan_create(). */
struct cpu_ask cpu_ask_for(const struct cpu_context *cpu, const struct ir_node *node,
			   unsigned int use);

/* Returns a plan without state of its own; NULL when memory ran out. */
struct cpu_plan *cpu_plan_simple(size_t packed_bytes,
				 int (*pack)(const struct cpu_plan *plan, const void *from,
					     void *to, struct wnn_error *err),
				 int (*run)(struct cpu_plan *plan, struct cpu_context *cpu,
					    const void *packed, const void *const *in,
					    void *const *out, struct wnn_error *err));

/* Returns the kernels of an operator, in the order in which they are asked; *count: how many. */
const struct cpu_kernel *cpu_kernels(enum ir_op op, size_t *count);

#endif
