/* SPDX-License-Identifier: MIT */
/*
 * A compiled graph: NPU programs and CPU nodes in order, and the locations of their values. It is
 * made and dispatched on the thread of its device; run_compiled_text() may be called on any thread.
 */
#ifndef WNN_RUN_COMPILED_H
#define WNN_RUN_COMPILED_H

#include "codegen/program.h"
#include "run/device.h"
#include "run/profile.h"

struct run_compiled;

/* The costs of one dispatch. */
struct run_statistics {
	uint64_t npu_cycles, macs;
	uint64_t bytes_read, bytes_written; /* bytes that the NPU reads and writes */
	uint64_t busy[ONPU_ENG_COUNT];	    /* busy cycles, by enum onpu_engine; 0: not known */
	uint64_t npu_ns, cpu_ns, host_ns;
	uint64_t copied_in, copied_out; /* bytes copied from and to memory of the application */
};

/**
 * run_compile - make a graph executable
 * @graph: verified; taken over on success, when constants that only the NPU uses are dropped. After
 *   a lack of memory some of its constants may be gone
 * @on_npu: for each of graph->nodes, in their order: whether it runs on the NPU
 * @refusals: gets the nodes that do not compile for the NPU. The call then fails; another one that
 *   runs these nodes on the CPU may succeed
 * @out: with one reference
 *
 * Returns 0, or -1 with *err.
 */
int run_compile(struct run_device *device, struct ir_graph *graph, const bool *on_npu,
		struct npu_refusals *refusals, struct run_compiled **out, struct wnn_error *err);
struct run_compiled *run_compiled_ref(struct run_compiled *compiled);
void run_compiled_unref(struct run_compiled *compiled); /* NULL is fine */

const struct ir_graph *run_compiled_graph(const struct run_compiled *compiled);

/* Returns the bytes of memory for intermediate results that each dispatch in flight needs. */
uint64_t run_compiled_arena_bytes(const struct run_compiled *compiled);

/*
 * Returns the bytes of memory of a compiled graph without intermediate results: programs with their
 * constants, and constants that CPU kernels read, packed or as they are.
 */
uint64_t run_compiled_bytes(const struct run_compiled *compiled);

/*
 * Returns how many programs keep no value in SRAM from one node to the next, because no such plan
 * was found.
 */
uint32_t run_compiled_spilled(const struct run_compiled *compiled);

/* Returns the compiler's notes on a node that runs on the NPU; NULL for other nodes. */
const struct npu_node_info *run_compiled_npu_info(const struct run_compiled *compiled,
						  const struct ir_node *node);

/*
 * Returns the name of the kernel of a node that runs on the CPU, a static string; NULL: the node
 * needs no kernel, as its result is a view.
 */
const char *run_compiled_cpu_kernel(const struct run_compiled *compiled,
				    const struct ir_node *node);
/* Writes why faster kernels do not compute a node: see cpu_plan_explain(). */
void run_compiled_explain_cpu(const struct run_compiled *compiled, const struct ir_node *node,
			      char *text, size_t size);

enum run_text { RUN_TEXT_NODES, RUN_TEXT_PLAN, RUN_TEXT_PROGRAM };

/*
 * Returns a description of the compiled graph, which the caller frees with wnn_free(); NULL with
 * *err, which is WNN_NOT_SUPPORTED when there is no such text.
 */
char *run_compiled_text(const struct run_compiled *compiled, enum run_text kind,
			struct wnn_error *err);

struct run_instance;

/* One run of a graph. The caller fills in the members up to done(); the others belong to run/. */
struct run_dispatch {
	struct run_compiled *compiled;	   /* a reference, held until done() */
	struct run_buffer *const *inputs;  /* input buffers, in the order of the graph's inputs */
	struct run_buffer *const *outputs; /* output buffers, in the order of the graph's outputs */
	/*
	 * Called between steps; if it returns true, the dispatch ends with InvalidStateError. NULL:
	 * nothing ends it early.
	 */
	bool (*aborted)(struct run_dispatch *dispatch);
	/*
	 * Called at the end; @err is NULL after success. The callee may take over the member
	 * `profile`, which is NULL unless a profile was requested.
	 */
	void (*done)(struct run_dispatch *dispatch, const struct wnn_error *err,
		     const struct run_statistics *statistics);

	struct run_job job;
	struct run_instance *instance;
	uint32_t step, job_of_step;
	uint64_t start_ns, submit_ns;
	struct run_statistics statistics;
	struct run_profile *profile;
	struct wnn_error error;
	bool failed;
	bool accessed; /* whether the processor has access to the dma-bufs until the end */
};

/*
 * run_dispatch_start - run a graph
 *
 * done() runs exactly once: before this returns, or later inside run_device_wait_one() when the
 * device still has the last work.
 */
void run_dispatch_start(struct run_dispatch *dispatch);

#endif
