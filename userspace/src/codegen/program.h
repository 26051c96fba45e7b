/* SPDX-License-Identifier: MIT */
/* Compiles a range of an IR graph to an NPU program: the interface of plan/ and codegen/. */
#ifndef WNN_CODEGEN_PROGRAM_H
#define WNN_CODEGEN_PROGRAM_H

#include "plan/list/constants.h"
#include "plan/report.h"
#include "util/bytes.h"

/*
 * A slot to whose member `base` an address is added before its job runs: that of the memory which
 * `base` of the patch names.
 */
struct npu_patch {
	uint32_t slot; /* number among the slots of all jobs */
	enum npu_base base;
	uint32_t value; /* NPU_BASE_VALUE: index into npu_program.bindings */
};

/*
 * A job of a program: a range of its instructions and slots. A program is one job, unless it needs
 * more slots than a job can have; then each job runs when the job before has ended.
 */
struct npu_job {
	uint32_t first_insn, num_insns;
	uint32_t first_slot, num_slots;
};

struct npu_program {
	struct npu_job *jobs;
	uint32_t num_jobs;
	uint32_t (*insns)[4];
	uint32_t *insn_node; /* by instruction: index in `nodes`; num_nodes: the end of a job */
	uint32_t num_insns;
	void *slots; /* union onpu_slot, of ONPU_SLOT_SIZE bytes each */
	uint32_t num_slots;
	struct npu_patch *patches;
	uint32_t num_patches;
	struct plan_constants
		constants; /* packed weights and tables; empty in a program from a file */
	uint64_t constant_bytes;
	uint64_t arena_bytes; /* memory of intermediate values */
	struct npu_binding *bindings;
	uint32_t num_bindings;
	struct npu_node_info *nodes;
	uint32_t num_nodes;
	uint64_t est_cycles;
	/*
	 * Why the program does not compile with values that stay in SRAM between nodes, so that
	 * none stay there; "": it does.
	 */
	char residency_error[NPU_WHY_SIZE];
};

/**
 * npu_compile - compile nodes [first, first+count) of a graph into one program
 * @graph: verified graph in topological order; every node in the range is npu_supports()ed
 * @live_out: value ids (of results of the range) that must be in memory at the end
 * @profile: set the bit TS (time stamps) of every instruction
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
/*
 * Returns the program as text, for introspection and tests; the caller frees it. NULL: no memory.
 */
char *npu_program_print(const struct npu_program *program, const struct ir_graph *graph);
/*
 * Checks the semaphores, bounds of operands, distances of preemption points, SRAM and queue depths
 * of a program; called for every compiled program. Returns 0, or -1 with *err; *insn then is the
 * wrong instruction, or UINT32_MAX when the defect is not in a single one.
 */
int npu_program_verify(const struct npu_program *program, const struct npu_caps *caps,
		       uint32_t *insn, struct wnn_error *err);

/*
 * Writes all of a program but its instructions and constants; the writer remembers lack of memory.
 */
void npu_program_write(const struct npu_program *program, struct wnn_writer *w);
/*
 * npu_program_read - read the program that npu_program_write() has written for nodes [first,
 * first+count) of a graph
 *
 * Accepts any bytes: checks that the arrays have their lengths, that bindings are values of the
 * graph, and that patches name bindings. The caller reads the instructions and then calls
 * npu_program_verify(). Returns the program, or NULL with *err.
 */
struct npu_program *npu_program_read(struct wnn_reader *r, const struct ir_graph *graph,
				     uint32_t first, uint32_t count, struct wnn_error *err);

#endif
