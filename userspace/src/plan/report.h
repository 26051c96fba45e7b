/* SPDX-License-Identifier: MIT */
/*
 * The planner's report to the code generator and the passes: which nodes the NPU can run and why
 * it cannot run the others, what the plan does with each node, and which values enter and leave
 * a program through memory of their own.
 */
#ifndef WNN_PLAN_REPORT_H
#define WNN_PLAN_REPORT_H

#include "ir/ir.h"
#include "winsys/winsys.h"

#define NPU_WHY_SIZE 512

/*
 * Tells whether a node's result has the same bits for every size of the SRAM. The machine defines
 * the bits of each instruction, but the compiler decides where a long sum is split between
 * instructions. Kernels set it with plan_inexact() while they emit.
 */
enum npu_exactness {
	NPU_EXACT, /* the same bits for every tiling */
	/* the sum of a contraction was split, so that its terms were added in another order */
	NPU_SPLIT_K,
	NPU_SPLIT_REDUCE, /* a reduction was split at other points than multiples of 16 */
	NPU_SPLIT_KEYS,	  /* attention was computed one block of keys after the other */
};

/*
 * The memory that addresses are relative to: SRAM, the constants, the arena of intermediate values,
 * or a value that enters or leaves the program.
 */
enum npu_base { NPU_BASE_NONE, NPU_BASE_CONST, NPU_BASE_ARENA, NPU_BASE_VALUE };

/* A value that enters or leaves the program, dense and row-major in memory of its own. */
struct npu_binding {
	uint32_t value_id; /* ir_value.id */
	uint64_t bytes;
	bool written; /* the program writes the value */
};

struct npu_node_info {
	uint32_t node_id;   /* ir_node.id */
	const char *kernel; /* name, such as "mma.f32 taps"; static; NULL: the node needs no code */
	enum npu_exactness exactness;
	uint32_t num_insns;
	uint32_t num_tiles;
	uint64_t est_cycles, macs;
	uint64_t bytes_ld, bytes_st; /* bytes that the node loads from memory and stores to it */
};

/* The property of a node that the NPU cannot handle. */
enum npu_reason_class {
	NPU_REASON_OPERATOR, /* the operator or the function */
	NPU_REASON_DATA_TYPE,
	NPU_REASON_RANK, /* the number or kind of dimensions */
	NPU_REASON_SIZE, /* a size beyond a limit of the machine */
};

struct npu_reason {
	enum npu_reason_class class;
	const char *text; /* static sentence: "float64 is not a type of the vector unit" */
};

/*
 * npu_supports - tell whether a node can be lowered for a machine
 * @reason: filled in when it cannot; may be NULL
 *
 * Returns true if it can, with every SRAM size from 16 KiB up.
 */
bool npu_supports(const struct ir_node *node, const struct npu_caps *caps,
		  struct npu_reason *reason);

/*
 * The nodes that do not compile although npu_supports() accepts them, because of a limit or a
 * defect of the compiler. The caller runs them on another device and compiles the other nodes
 * again.
 */
struct npu_refusals {
	uint32_t count, num_nodes;
	char **why; /* by ir_node.id: a sentence or NULL; no array before a refusal */
};

/* Returns why a node was refused; NULL: it was not. */
const char *npu_refusals_why(const struct npu_refusals *refusals, const struct ir_node *node);
void npu_refusals_destroy(struct npu_refusals *refusals);

#endif
