/* SPDX-License-Identifier: MIT */
/* The state of a program, for the public functions. */
#ifndef SHLO_API_H
#define SHLO_API_H

#include <webnn/stablehlo.h>

#include "kept.h"
#include "run.h"

/* The run of one process, which owns its results. */
struct shlo_execution {
	struct WNNStablehloProgramImpl *program;
	struct shlo_run run;
	/* the kept graphs that a run on a context uses; NULL between runs */
	struct shlo_kept *kept;
	WNNStablehloTensor *results;
	size_t result_count;
};

struct WNNStablehloProgramImpl {
	unsigned int refs;
	struct shlo_file file;
	WNNStablehloRefusal *refusals;
	const char *text; /* the program as text; NULL: not printed yet */
	const char *device_text;
	uint64_t loop_limit, unroll_limit;
	char *folder; /* where graphs are saved; NULL: nowhere */
	/* Lists of inputs and of outputs, one pair for each module. */
	WNNStablehloValueInfoArray (*values)[2];
	/* The last run: @own on one device, or an item of @executions for each of several. */
	struct shlo_execution own, *executions;
	size_t execution_count;
	WNNStablehloRunInfo info;
	uint64_t built; /* graphs that the last run has built */
	/* Where operations ran: it stays as it is while the same graphs run. */
	struct shlo_arena told;
	uint64_t told_serial; /* serial of the kept graphs that @told describes; 0: none */
	WNNStablehloPlacementArray placement, told_placement;
	/*
	 * The ranks that run the program; they compare the file's hash, to tell whether all have
	 * the same program.
	 */
	WNNStablehloWorld world;
	size_t partitions; /* of the ranks; 0: as the module's attribute says, or else 1 */
	uint64_t hash;
};

/*
 * Checks the arguments of a run; returns WNNStatus_Success, or another status after setting the
 * error.
 */
WNNStatus shlo_program_check(struct WNNStablehloProgramImpl *program, size_t module, size_t count,
			     bool has_inputs);
/* Forgets all about the last run. */
void shlo_program_forget(struct WNNStablehloProgramImpl *program);

/* Prepares an execution, after shlo_program_forget(). */
void shlo_execution_begin(struct shlo_execution *execution, struct WNNStablehloProgramImpl *program,
			  size_t module);
/* Runs the module on a context; an error jumps to the guard of execution->run. */
void shlo_execution_run(struct shlo_execution *execution, WNNContext context,
			const WNNStablehloTensor *inputs);
/*
 * Adds the counts of the run to those of the program. Keeps the graphs for the next run, unless the
 * run failed or lacked memory for one of them.
 */
void shlo_execution_end(struct shlo_execution *execution, WNNStatus status);
/* Frees the results and all other values of the last run, and keeps memory for the next. */
void shlo_execution_reset(struct shlo_execution *execution);

#endif
