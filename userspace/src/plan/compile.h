/* SPDX-License-Identifier: MIT */
/*
 * From an IR graph to an NPU program: the one entry into plan/ and codegen/.
 */
#ifndef WNN_PLAN_COMPILE_H
#define WNN_PLAN_COMPILE_H

#include "ir/ir.h"
#include "winsys/winsys.h"

#define NPU_WHY_SIZE 512

/* How far a node's bits depend on the SRAM size (D6); found while its instructions are emitted. */
enum npu_exactness {
	NPU_EXACT,	  /* same bits for every tiling; so is all that is lowered today */
	NPU_SPLIT_K,	  /* a contraction was split in another order than the machine's */
	NPU_SPLIT_REDUCE, /* a reduction was split at other points than multiples of 16 */
};

enum npu_base { NPU_BASE_NONE, NPU_BASE_CONST, NPU_BASE_ARENA, NPU_BASE_VALUE };

/* Slot `slot` of all gets the address of the base added to its `base` member before its job. */
struct npu_patch {
	uint32_t slot;
	enum npu_base base;
	uint32_t value; /* NPU_BASE_VALUE: index into npu_program.bindings */
};

/* A value that enters or leaves the program through memory of its own, dense row-major. */
struct npu_binding {
	uint32_t value_id; /* ir_value.id */
	uint64_t bytes;
	bool written;
};

struct npu_node_info {
	uint32_t node_id;   /* ir_node.id */
	const char *kernel; /* "mma.f32 taps", static; NULL: it needed no code */
	enum npu_exactness exactness;
	uint32_t first_insn, num_insns;
	uint32_t num_tiles;
	uint64_t est_cycles, macs;
	uint64_t bytes_ld, bytes_st; /* out of memory and into it */
};

/*
 * A program is one job, unless it needs more slots than a job can have. Each job has the
 * instructions and slots up to those of the next, and runs when the one before is through.
 */
struct npu_job {
	uint32_t first_insn, num_insns;
	uint32_t first_slot, num_slots;
};

struct npu_program {
	struct npu_job *jobs;
	uint32_t num_jobs;
	uint32_t (*insns)[4];
	uint32_t num_insns;
	void *slots; /* 128 bytes each */
	uint32_t num_slots;
	struct npu_patch *patches;
	uint32_t num_patches;
	void *constants; /* packed weights, tables */
	uint64_t constant_bytes;
	uint64_t arena_bytes; /* intermediates */
	struct npu_binding *bindings;
	uint32_t num_bindings;
	struct npu_node_info *nodes;
	uint32_t num_nodes;
	uint64_t est_cycles;
	/* Why nothing stays in SRAM between nodes, though it did not compile otherwise; "": it may. */
	char spilled[NPU_WHY_SIZE];
};

/* What it is about a node that the NPU cannot do. */
enum npu_reason_class {
	NPU_REASON_OPERATOR, /* the operator or function as such */
	NPU_REASON_DATA_TYPE,
	NPU_REASON_RANK,   /* number or kind of dimensions */
	NPU_REASON_OPTION, /* an attribute of the node */
	NPU_REASON_SIZE,   /* a limit of the machine */
};

struct npu_reason {
	enum npu_reason_class class;
	const char *text; /* static sentence: "float64 is not a type of the vector unit" */
};

/*
 * npu_supports - can this node be lowered for this machine, whatever the SRAM size from 16 KiB up?
 * @reason: filled in when not; may be NULL
 */
bool npu_supports(const struct ir_node *node, const struct npu_caps *caps,
		  struct npu_reason *reason);

/*
 * Nodes of a graph that do not compile although npu_supports() them: they meet a limit of the
 * compiler, or a defect of it. To be placed elsewhere, after which the rest is compiled anew.
 */
struct npu_refusals {
	uint32_t count, num_nodes;
	char **why; /* by ir_node.id: a sentence, or NULL; itself NULL at first */
};

/* NULL: nothing is known against the node. */
const char *npu_refusals_why(const struct npu_refusals *refusals, const struct ir_node *node);
void npu_refusals_destroy(struct npu_refusals *refusals);

/**
 * npu_compile - compile nodes [first, first+count) of a graph into one program
 * @graph: verified graph in topological order; every node in the range is npu_supports()ed
 * @live_out: value ids (of results of the range) that must be in memory at the end
 * @profile: set TS on every instruction
 * @refusals: gets the nodes that do not compile; none are added when another reason, as a lack of
 *	memory, makes it fail; may be NULL
 * @out: the program, owned by the caller (npu_program_destroy)
 *
 * Values used by the range but defined outside (graph inputs, other results) become bindings;
 * constants are packed into npu_program.constants. Returns 0 or -1 with *err, which names the
 * operator.
 */
int npu_compile(const struct ir_graph *graph, uint32_t first, uint32_t count,
		const uint32_t *live_out, uint32_t num_live_out, const struct npu_caps *caps,
		bool profile, struct npu_refusals *refusals, struct npu_program **out,
		struct wnn_error *err);
void npu_program_destroy(struct npu_program *program);
/* The plan as text, for wnnGraph introspection and tests; malloc'ed. */
char *npu_program_print(const struct npu_program *program, const struct ir_graph *graph);
/*
 * Semaphores, bounds, preemption distance, SRAM, FIFO depth; run on every compiled program. When it
 * fails, *insn is the instruction concerned, UINT32_MAX if it is not one alone.
 */
int npu_program_verify(const struct npu_program *program, const struct npu_caps *caps,
		       uint32_t *insn, struct wnn_error *err);

#endif
