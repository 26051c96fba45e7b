// SPDX-License-Identifier: MIT
/* Loaded executables, and their runs. A run ends before the call returns. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "plugin.h"

struct pjrt_error *onpu_LoadedExecutable_Destroy(struct pjrt_LoadedExecutable_Destroy_args *args)
{
	if (!args->executable)
		return NULL;
	onpu_executable_put(args->executable->executable);
	free(args->executable);
	return NULL;
}

struct pjrt_error *
onpu_LoadedExecutable_GetExecutable(struct pjrt_LoadedExecutable_GetExecutable_args *args)
{
	args->executable = args->loaded->executable;
	atomic_fetch_add(&args->executable->refs, 1);
	return NULL;
}

struct pjrt_error *
onpu_LoadedExecutable_AddressableDevices(struct pjrt_LoadedExecutable_AddressableDevices_args *args)
{
	args->devices = args->executable->executable->devices;
	args->count = args->executable->executable->device_count;
	return NULL;
}

struct pjrt_error *onpu_LoadedExecutable_Delete(struct pjrt_LoadedExecutable_Delete_args *args)
{
	atomic_store(&args->executable->is_deleted, true);
	return NULL;
}

struct pjrt_error *
onpu_LoadedExecutable_IsDeleted(struct pjrt_LoadedExecutable_IsDeleted_args *args)
{
	args->is_deleted = atomic_load(&args->executable->is_deleted);
	return NULL;
}

struct pjrt_error *
onpu_LoadedExecutable_Fingerprint(struct pjrt_LoadedExecutable_Fingerprint_args *args)
{
	args->text = args->executable->executable->fingerprint;
	args->length = strlen(args->text);
	return NULL;
}

struct pjrt_error *onpu_LoadedExecutable_GetDeviceAssignment(
	struct pjrt_LoadedExecutable_GetDeviceAssignment_args *args)
{
	args->bytes = args->executable->executable->assignment;
	args->size = args->executable->executable->assignment_size;
	args->owner = NULL;
	args->release = onpu_release_nothing;
	return NULL;
}

/* ---- running */

#define PRED 1 /* PJRT's number of booleans */

/* The arrays of one device in a run: its inputs, and the list for its outputs. */
struct inputs {
	struct pjrt_device *device;
	struct pjrt_buffer *const *buffers;
	struct onpu_block **blocks; /* elements of the buffers, which the run keeps */
	WNNStablehloTensor *tensors;
	struct pjrt_buffer **outputs;
};

/* A run, with the arrays of each device. */
struct execution {
	struct pjrt_executable *executable;
	const struct pjrt_execute_options *options;
	size_t count;
	struct inputs inputs[ONPU_MAX_DEVICES];
	struct pjrt_event *done[ONPU_MAX_DEVICES];
};

static void free_execution(struct execution *execution)
{
	for (size_t i = 0; i < execution->count; i++) {
		struct inputs *inputs = &execution->inputs[i];

		for (size_t k = 0; inputs->blocks && k < execution->executable->inputs.count; k++)
			onpu_block_put(inputs->blocks[k]);
		free(inputs->blocks);
		free(inputs->tensors);
		onpu_event_free(execution->done[i]);
	}
}

static bool is_as_declared(const struct pjrt_executable *executable, size_t index,
			   const struct pjrt_buffer *buffer)
{
	const WNNStablehloValueInfo *info = &executable->inputs.data[index];

	/* JAX gives an array of no booleans for a token. */
	if (!executable->input_types[index]->size)
		return !buffer->type->size ||
		       (buffer->type->number == PRED && buffer->rank == 1 && !buffer->dims[0]);
	return buffer->type == executable->input_types[index] && buffer->rank == info->rank &&
	       (!info->rank ||
		!memcmp(buffer->dims, info->dimensions, info->rank * sizeof(int64_t)));
}

/* A text such as "tensor<2x3xf32>"; a dimension takes up to 20 characters. */
struct type_text {
	char text[64 + 20 * ONPU_MAX_RANK];
};

static struct type_text type_of(const struct pjrt_buffer *buffer)
{
	struct type_text type;
	int at = 0;

	if (!buffer->type->size) {
		snprintf(type.text, sizeof(type.text), "%s", buffer->type->name);
		return type;
	}
	at = snprintf(type.text, sizeof(type.text), "tensor<");
	for (size_t i = 0; i < buffer->rank; i++)
		at += snprintf(type.text + at, sizeof(type.text) - (size_t)at, "%lldx",
			       (long long)buffer->dims[i]);
	snprintf(type.text + at, sizeof(type.text) - (size_t)at, "%s>", buffer->type->name);
	return type;
}

/* ---- donation: the caller gives inputs to a run, which may put its outputs there */

static bool is_donated(const struct execution *execution, size_t index)
{
	const struct pjrt_execute_options *options = execution->options;

	if (execution->executable->donations[index].kind == WNNStablehloDonation_None)
		return false;
	for (size_t i = 0; options && PJRT_FROM(options, kept_count) && i < options->kept_count;
	     i++)
		if (options->kept[i] == (int64_t)index)
			return false;
	return true;
}

/* Returns NULL; an error: an array that is given away is another argument, too. */
static struct pjrt_error *check_donations(const struct execution *execution,
					  const struct inputs *inputs)
{
	size_t count = execution->executable->inputs.count;

	for (size_t i = 0; i < count; i++) {
		if (!is_donated(execution, i))
			continue;
		for (size_t k = 0; k < count; k++)
			if (k != i && inputs->blocks[k] == inputs->blocks[i])
				return onpu_error(
					PJRT_INVALID_ARGUMENT,
					"onpu: argument %zu is donated, and is argument %zu, too: "
					"an attempt to donate the same buffer twice, or to use it",
					i, k);
	}
	return NULL;
}

/* Deletes the donated arrays, unless callers have external references to them. */
static void take_donations(const struct execution *execution, const struct inputs *inputs)
{
	for (size_t i = 0; i < execution->executable->inputs.count; i++)
		if (is_donated(execution, i))
			onpu_buffer_give(inputs->buffers[i]);
}

/*
 * Returns the block of an input that was given away, for an output of this size; NULL: there is no
 * such input. Only this run has a reference to the block.
 */
static struct onpu_block *find_donated(const struct execution *execution, struct inputs *inputs,
				       size_t output, size_t size, const struct pjrt_memory *memory)
{
	for (size_t i = 0; i < execution->executable->inputs.count; i++) {
		const struct onpu_donation *donation = &execution->executable->donations[i];
		struct onpu_block *block = inputs->blocks[i];

		if (!block || block->size != size || block->memory != memory ||
		    atomic_load(&block->refs) != 1 ||
		    (donation->kind == WNNStablehloDonation_Output && donation->output != output) ||
		    !is_donated(execution, i))
			continue;
		return block;
	}
	return NULL;
}

/* ---- inputs and outputs */

static struct pjrt_error *take_inputs(struct execution *execution, struct inputs *inputs)
{
	const struct pjrt_executable *executable = execution->executable;
	size_t count = executable->inputs.count;

	inputs->blocks = calloc(count + 1, sizeof(struct onpu_block *));
	inputs->tensors = calloc(count + 1, sizeof(*inputs->tensors));
	if (!inputs->blocks || !inputs->tensors)
		return onpu_nomem();
	for (size_t i = 0; i < count; i++) {
		const struct pjrt_buffer *buffer = inputs->buffers[i];

		if (!is_as_declared(executable, i, buffer))
			return onpu_error(PJRT_INVALID_ARGUMENT,
					  "onpu: argument %zu must be %.*s; it is %s", i,
					  (int)executable->inputs.data[i].type.length,
					  executable->inputs.data[i].type.data,
					  type_of(buffer).text);
		inputs->blocks[i] = onpu_buffer_take(inputs->buffers[i]);
		if (!inputs->blocks[i])
			return onpu_error(PJRT_INVALID_ARGUMENT, "onpu: argument %zu is deleted",
					  i);
		inputs->tensors[i].data = inputs->blocks[i]->data;
		inputs->tensors[i].size = inputs->blocks[i]->size;
	}
	return check_donations(execution, inputs);
}

static WNNStablehloTensorArray results_of(const struct execution *execution, size_t process)
{
	return execution->count == 1 ?
		       wnnStablehloProgramGetResults(execution->executable->program) :
		       wnnStablehloProgramGetResultsOf(execution->executable->program, process);
}

/*
 * Copies the results of a process into buffers, which may be in donated memory. Returns NULL, or an
 * error, after which some buffers may exist.
 */
static struct pjrt_error *give_outputs(struct execution *execution, size_t process)
{
	const struct pjrt_executable *executable = execution->executable;
	struct inputs *inputs = &execution->inputs[process];
	WNNStablehloTensorArray results = results_of(execution, process);
	const int64_t *dims = executable->dims;

	if (results.count != executable->outputs.count)
		return onpu_error(PJRT_INTERNAL, "onpu: there are %zu results instead of %zu",
				  results.count, executable->outputs.count);
	for (size_t i = 0; i < results.count; i++) {
		const WNNStablehloTensor *result = &results.data[i];
		struct pjrt_memory *memory = inputs->device->memories[executable->memories[i]];
		struct onpu_block *room = find_donated(execution, inputs, i, result->size, memory);
		struct onpu_block *block;
		struct pjrt_error *error =
			onpu_buffer_create(memory, onpu_type_by_number(executable->types[i]),
					   executable->ranks[i], dims, room, &inputs->outputs[i]);

		dims += executable->ranks[i];
		if (error)
			return error;
		block = inputs->outputs[i]->block;
		if (block->size != result->size)
			return onpu_error(PJRT_INTERNAL,
					  "onpu: result %zu has %zu bytes instead of %zu", i,
					  result->size, block->size);
		if (block->size)
			memcpy(block->data, result->data, block->size);
	}
	return NULL;
}

/* Makes the output buffers of all devices. Returns NULL; an error: there are no outputs then. */
static struct pjrt_error *give_all(struct execution *execution)
{
	size_t outputs = execution->executable->outputs.count;
	struct pjrt_error *error = NULL;

	for (size_t i = 0; i < execution->count; i++) {
		take_donations(execution, &execution->inputs[i]);
		for (size_t k = 0; k < outputs; k++)
			execution->inputs[i].outputs[k] = NULL;
	}
	for (size_t i = 0; i < execution->count && !error; i++)
		error = give_outputs(execution, i);
	for (size_t i = 0; error && i < execution->count; i++)
		for (size_t k = 0; k < outputs; k++) {
			onpu_buffer_free(execution->inputs[i].outputs[k]);
			execution->inputs[i].outputs[k] = NULL;
		}
	return error;
}

static WNNStatus run_program(struct execution *execution)
{
	const WNNStablehloTensor *tensors[ONPU_MAX_DEVICES];
	WNNContext contexts[ONPU_MAX_DEVICES];
	struct pjrt_executable *executable = execution->executable;

	for (size_t i = 0; i < execution->count; i++) {
		contexts[i] = execution->inputs[i].device->context;
		tensors[i] = execution->inputs[i].tensors;
	}
	if (execution->count == 1)
		return wnnStablehloProgramRunSync(executable->program, 0, contexts[0],
						  executable->inputs.count, tensors[0]);
	return wnnStablehloProgramRunPartitionedSync(executable->program, 0, execution->count,
						     contexts, executable->inputs.count, tensors);
}

static struct pjrt_error *run(struct execution *execution)
{
	struct pjrt_executable *executable = execution->executable;
	struct pjrt_error *error;
	WNNStatus status;

	pthread_mutex_lock(&executable->lock);
	status = run_program(execution);
	error = status == WNNStatus_Success ? give_all(execution) :
					      onpu_stablehlo_error(status, "the program failed");
	/* Frees the results, which are copied: JAX keeps programs that it does not run again. */
	wnnStablehloProgramForgetResults(executable->program);
	pthread_mutex_unlock(&executable->lock);
	return error;
}

static struct pjrt_error *check_call(const struct pjrt_LoadedExecutable_Execute_args *args)
{
	const struct pjrt_executable *executable = args->executable->executable;

	if (atomic_load(&args->executable->is_deleted))
		return onpu_error(PJRT_INVALID_ARGUMENT, "onpu: the executable is deleted");
	if (args->device && executable->device_count > 1)
		return onpu_error(PJRT_INVALID_ARGUMENT,
				  "onpu: the program runs on %zu devices; it cannot run on device "
				  "%d alone",
				  executable->device_count, args->device->id);
	if (args->device_count != executable->device_count)
		return onpu_error(PJRT_INVALID_ARGUMENT,
				  "onpu: the program runs on %zu devices; there are arguments for "
				  "%zu",
				  executable->device_count, args->device_count);
	if (args->device && args->device->client != executable->client)
		return onpu_error(PJRT_INVALID_ARGUMENT, "onpu: the device is another client's");
	if (args->device && !executable->wanted.is_portable &&
	    args->device != executable->devices[0])
		return onpu_error(PJRT_INVALID_ARGUMENT,
				  "onpu: the program is for device %d, and not for device %d",
				  executable->devices[0]->id, args->device->id);
	if (args->argument_count != executable->inputs.count)
		return onpu_error(PJRT_INVALID_ARGUMENT,
				  "onpu: the program takes %zu arguments; there are %zu",
				  executable->inputs.count, args->argument_count);
	if (args->options && (args->options->send_count || args->options->receive_count))
		return onpu_error(PJRT_UNIMPLEMENTED,
				  "onpu: callbacks that send and receive are not implemented");
	return NULL;
}

struct pjrt_error *onpu_LoadedExecutable_Execute(struct pjrt_LoadedExecutable_Execute_args *args)
{
	struct pjrt_executable *executable = args->executable->executable;
	struct execution execution = { .executable = executable, .options = args->options };
	struct pjrt_error *error = check_call(args);

	if (error)
		return error;
	execution.count = args->device_count;
	for (size_t i = 0; i < execution.count && !error; i++) {
		execution.inputs[i].device = args->device ? args->device : executable->devices[i];
		execution.inputs[i].buffers = args->argument_count ? args->arguments[i] : NULL;
		execution.inputs[i].outputs = executable->outputs.count ? args->outputs[i] : NULL;
		execution.done[i] = args->done ? onpu_event_ready() : NULL;
		error = args->done && !execution.done[i] ?
				onpu_nomem() :
				take_inputs(&execution, &execution.inputs[i]);
	}
	if (!error)
		error = run(&execution);
	for (size_t i = 0; !error && args->done && i < execution.count; i++) {
		args->done[i] = execution.done[i];
		execution.done[i] = NULL;
	}
	free_execution(&execution);
	return error;
}
