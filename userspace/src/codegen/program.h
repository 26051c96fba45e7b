/* SPDX-License-Identifier: MIT */
/* From an IR graph to an NPU program: the one entry into plan/ and codegen/. */
#ifndef WNN_CODEGEN_PROGRAM_H
#define WNN_CODEGEN_PROGRAM_H

#include "plan/list/constants.h"
#include "plan/report.h"
#include "util/bytes.h"

/* Slot `slot` of all gets the address of the base added to its `base` member before its job. */
struct npu_patch {
	uint32_t slot;
	enum npu_base base;
	uint32_t value; /* NPU_BASE_VALUE: index into npu_program.bindings */
};

/*
 * A program is one job, unless it needs more slots than a job can have. Each job has the
 * instructions and slots up to those of the next, and runs when the one before has ended.
 */
struct npu_job {
	uint32_t first_insn, num_insns;
	uint32_t first_slot, num_slots;
};

struct npu_program {
	struct npu_job *jobs;
	uint32_t num_jobs;
	uint32_t (*insns)[4];
	uint32_t *insn_node; /* for each: index in nodes, or num_nodes for the end of a job */
	uint32_t num_insns;
	void *slots; /* ONPU_SLOT_SIZE bytes each */
	uint32_t num_slots;
	struct npu_patch *patches;
	uint32_t num_patches;
	struct plan_constants
		constants; /* packed weights, tables; none when it was read from a file */
	uint64_t constant_bytes;
	uint64_t arena_bytes; /* intermediates */
	struct npu_binding *bindings;
	uint32_t num_bindings;
	struct npu_node_info *nodes;
	uint32_t num_nodes;
	uint64_t est_cycles;
	/*
	 * Why the program with values in SRAM between nodes did not compile, so that none stay
	 * there; "": it did.
	 */
	char residency_error[NPU_WHY_SIZE];
};

/**
 * npu_compile - compile nodes [first, first+count) of a graph into one program
 * @graph: verified graph in topological order; every node in the range is npu_supports()ed
 * @live_out: value ids (of results of the range) that must be in memory at the end
 * @profile: set TS on every instruction
 * @refusals: gets the nodes that do not compile; none are added when another reason, such as a lack
 *	of memory, makes it fail; may be NULL
 * @out: the program, owned by the caller (npu_program_destroy)
 *
 * Values that the range uses but does not define (graph inputs, other results) become bindings. The
 * recipes of constants are in npu_program.constants, for constants_write(). Returns 0, or -1 with
 * *err, which names the operator.
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

/* All of a program but its instructions and constants; a lack of memory is told by the writer. */
void npu_program_write(const struct npu_program *program, struct wnn_writer *w);
/*
 * npu_program_read - read what npu_program_write() has written for nodes [first, first+count) of a
 * graph
 *
 * Accepts any bytes: jobs, slots and instructions are as many as the program says, bindings are
 * values of the graph, with their sizes, and patches name bindings. The instructions are read
 * elsewhere; npu_program_verify() checks the program with them. NULL with *err.
 */
struct npu_program *npu_program_read(struct wnn_reader *r, const struct ir_graph *graph,
				     uint32_t first, uint32_t count, struct wnn_error *err);

#endif
