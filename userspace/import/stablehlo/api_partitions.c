// SPDX-License-Identifier: MIT
/* The public functions for programs on several devices of this process. */
#include <string.h>

#include "api.h"
#include "cut.h"
#include "world_threads.h"

/* The run of one process, which is a thread. */
struct task {
	struct shlo_execution *execution;
	WNNContext context;
	const WNNStablehloTensor *inputs;
};

static void run_task(void *data)
{
	const struct task *task = data;

	shlo_execution_run(task->execution, task->context, task->inputs);
}

static bool take_executions(struct WNNStablehloProgramImpl *program, size_t count)
{
	struct shlo_execution *executions;

	if (count == program->execution_count)
		return true;
	for (size_t i = 0; i < program->execution_count; i++)
		shlo_run_exit(&program->executions[i].run);
	import_free(program->executions);
	program->executions = NULL;
	program->execution_count = 0;
	executions = import_alloc(count * sizeof(*executions));
	if (!executions)
		return false;
	program->executions = executions;
	program->execution_count = count;
	return true;
}

static WNNStatus run_all(struct WNNStablehloProgramImpl *program, size_t module,
			 WNNContext const *contexts, WNNStablehloTensor const *const *inputs)
{
	size_t count = program->execution_count;
	struct shlo_thread *processes = import_alloc(count * sizeof(*processes));
	struct task *tasks = import_alloc(count * sizeof(*tasks));
	struct shlo_threads threads = { count / program->file.partitions, program->file.partitions,
					NULL, processes };
	WNNStatus status = WNNStatus_UnknownError;
	struct shlo_guard error;

	for (size_t i = 0; i < count; i++)
		shlo_execution_begin(&program->executions[i], program, module);
	for (size_t i = 0; processes && tasks && i < count; i++) {
		tasks[i] = (struct task){ &program->executions[i], contexts ? contexts[i] : NULL,
					  inputs ? inputs[i] : NULL };
		processes[i] =
			(struct shlo_thread){ &program->executions[i].run, run_task, &tasks[i] };
	}
	if (!processes || !tasks)
		shlo_set_error(status, "memory is exhausted");
	else if (shlo_threads_run(&threads, &error))
		status = WNNStatus_Success;
	else
		status = shlo_set_error(error.status, "%s", error.message);
	/* Process 0 may have ended before another one failed. */
	if (status != WNNStatus_Success)
		program->placement = (WNNStablehloPlacementArray){ 0, NULL };
	for (size_t i = 0; i < count; i++) {
		program->executions[i].run.world = NULL;
		shlo_execution_end(&program->executions[i], status);
		if (status != WNNStatus_Success)
			shlo_execution_reset(&program->executions[i]);
	}
	import_free(processes);
	import_free(tasks);
	return status;
}

/*
 * Demands that the module is for as many partitions and replicas as run it; returns an error, and
 * sets it, when it is not.
 */
static WNNStatus check_devices(const struct WNNStablehloProgramImpl *program, size_t module,
			       size_t processes)
{
	const struct shlo_module *of = program->file.modules[module];
	size_t partitions = shlo_module_said(of, "mhlo.num_partitions");
	size_t replicas = shlo_module_said(of, "mhlo.num_replicas");

	if (!processes || processes > SHLO_MAX_PROCESSES || processes % program->file.partitions)
		return shlo_set_error(
			WNNStatus_TypeError,
			"there must be 1 to %d processes, a multiple of the %zu partitions, "
			"not %zu",
			SHLO_MAX_PROCESSES, program->file.partitions, processes);
	if (partitions && partitions != program->file.partitions)
		return shlo_set_error(WNNStatus_OperationError,
				      "the module has mhlo.num_partitions = %zu, and the program "
				      "is loaded for %zu partitions: they must be equal",
				      partitions, program->file.partitions);
	if (replicas && replicas != processes / program->file.partitions)
		return shlo_set_error(WNNStatus_OperationError,
				      "the module has mhlo.num_replicas = %zu, and runs on %zu "
				      "processes, which are %zu replicas of %zu partitions",
				      replicas, processes, processes / program->file.partitions,
				      program->file.partitions);
	return WNNStatus_Success;
}

WNNStatus wnnStablehloProgramRunPartitionedSync(WNNStablehloProgram program, size_t module,
						size_t processes, WNNContext const *contexts,
						size_t count,
						WNNStablehloTensor const *const *inputs)
{
	bool has_inputs = inputs;
	WNNStatus status;

	for (size_t i = 0; has_inputs && i < processes; i++)
		has_inputs = inputs[i];
	status = shlo_program_check(program, module, count, has_inputs);
	if (status != WNNStatus_Success)
		return status;
	status = check_devices(program, module, processes);
	if (status != WNNStatus_Success)
		return status;
	shlo_program_forget(program);
	if (!take_executions(program, processes))
		return shlo_set_error(WNNStatus_UnknownError, "memory is exhausted");
	return run_all(program, module, contexts, inputs);
}

WNNStablehloTensorArray wnnStablehloProgramGetResultsOf(WNNStablehloProgram program, size_t process)
{
	if (process >= program->execution_count)
		return (WNNStablehloTensorArray){ 0, NULL };
	return (WNNStablehloTensorArray){ program->executions[process].result_count,
					  program->executions[process].results };
}

static const struct shlo_function *entry_of(WNNStablehloProgram program, size_t module)
{
	return program && module < program->file.module_count ?
		       shlo_module_entry(program->file.modules[module]) :
		       NULL;
}

WNNStablehloSlices wnnStablehloProgramGetInputSlices(WNNStablehloProgram program, size_t module,
						     size_t index)
{
	const struct shlo_function *entry = entry_of(program, module);

	return entry && entry->cut && index < entry->type->item_count ?
		       shlo_cut_tell(entry->cut->in[index], program->file.partitions) :
		       (WNNStablehloSlices){ 0 };
}

WNNStablehloSlices wnnStablehloProgramGetOutputSlices(WNNStablehloProgram program, size_t module,
						      size_t index)
{
	const struct shlo_function *entry = entry_of(program, module);

	return entry && entry->cut && index < entry->type->result_count ?
		       shlo_cut_tell(entry->cut->out[index], program->file.partitions) :
		       (WNNStablehloSlices){ 0 };
}

WNNStringView wnnStablehloProgramGetOutputMemoryKind(WNNStablehloProgram program, size_t module,
						     size_t output)
{
	const struct shlo_function *entry = entry_of(program, module);
	const struct shlo_attr *kind =
		entry && entry->result_marks && output < entry->type->result_count ?
			shlo_attr_find(entry->result_marks[output], "mhlo.memory_kind") :
			NULL;

	if (!kind || kind->kind != SHLO_ATTR_STRING)
		return (WNNStringView){ "", 0 };
	return (WNNStringView){ kind->text, strlen(kind->text) };
}

WNNStablehloDonation wnnStablehloProgramGetDonation(WNNStablehloProgram program, size_t module,
						    size_t input, size_t *output)
{
	const struct shlo_function *entry = entry_of(program, module);
	const struct shlo_attr *marks, *alias;

	if (!entry || !entry->region || input >= entry->type->item_count)
		return WNNStablehloDonation_None;
	marks = entry->region->block.arguments[input]->marks;
	alias = shlo_attr_find(marks, "tf.aliasing_output");
	if (alias && alias->kind == SHLO_ATTR_INT && alias->number >= 0 &&
	    (uint64_t)alias->number < entry->type->result_count) {
		*output = (size_t)alias->number;
		return WNNStablehloDonation_Output;
	}
	return shlo_attr_find(marks, "jax.buffer_donor") ? WNNStablehloDonation_Any :
							   WNNStablehloDonation_None;
}
