// SPDX-License-Identifier: MIT
/* Loaded executables, and their runs. A run ends before the call returns. */
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
	args->devices = args->executable->executable->client->devices;
	args->count = 1;
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

static void release_nothing(void *owner)
{
	(void)owner;
}

struct pjrt_error *onpu_LoadedExecutable_GetDeviceAssignment(
	struct pjrt_LoadedExecutable_GetDeviceAssignment_args *args)
{
	/* DeviceAssignmentProto: 1 replica, 1 computation, whose devices are [0]. */
	static const char bytes[] = { 0x08, 1, 0x10, 1, 0x1a, 3, 0x0a, 1, 0 };

	args->bytes = bytes;
	args->size = sizeof(bytes);
	args->owner = NULL;
	args->release = release_nothing;
	return NULL;
}

/* ---- running */

#define PRED 1 /* PJRT's number of booleans */

/* The inputs of a run: their elements, which it keeps, and what the program gets. */
struct inputs {
	size_t count;
	struct onpu_block **blocks;
	WNNStablehloTensor *tensors;
};

static void free_inputs(struct inputs *inputs)
{
	for (size_t i = 0; inputs->blocks && i < inputs->count; i++)
		onpu_block_put(inputs->blocks[i]);
	free(inputs->blocks);
	free(inputs->tensors);
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

static struct pjrt_error *take_inputs(const struct pjrt_executable *executable,
				      struct pjrt_buffer *const *buffers, struct inputs *inputs)
{
	size_t count = executable->inputs.count;

	inputs->count = count;
	inputs->blocks = calloc(count + 1, sizeof(struct onpu_block *));
	inputs->tensors = calloc(count + 1, sizeof(*inputs->tensors));
	if (!inputs->blocks || !inputs->tensors)
		return onpu_nomem();
	for (size_t i = 0; i < count; i++) {
		if (!is_as_declared(executable, i, buffers[i]))
			return onpu_error(PJRT_INVALID_ARGUMENT,
					  "onpu: argument %zu must be %.*s; it has elements of %s "
					  "and %zu dimensions",
					  i, (int)executable->inputs.data[i].type.length,
					  executable->inputs.data[i].type.data,
					  buffers[i]->type->name, buffers[i]->rank);
		inputs->blocks[i] = onpu_buffer_take(buffers[i]);
		if (!inputs->blocks[i])
			return onpu_error(PJRT_INVALID_ARGUMENT, "onpu: argument %zu is deleted",
					  i);
		inputs->tensors[i].data = inputs->blocks[i]->data;
		inputs->tensors[i].size = inputs->blocks[i]->size;
	}
	return NULL;
}

/* Copies the results into new buffers; on error there are none. */
static struct pjrt_error *give_outputs(struct pjrt_executable *executable,
				       struct pjrt_buffer **outputs)
{
	WNNStablehloTensorArray results = wnnStablehloProgramGetResults(executable->program);
	struct pjrt_memory *memory = executable->client->memories[ONPU_DEVICE];
	const int64_t *dims = executable->dims;
	struct pjrt_error *error = NULL;
	size_t made = 0;

	if (results.count != executable->outputs.count)
		return onpu_error(PJRT_INTERNAL, "onpu: there are %zu results instead of %zu",
				  results.count, executable->outputs.count);
	for (; made < executable->outputs.count && !error; made++) {
		const WNNStablehloTensor *result = &results.data[made];
		struct onpu_block *block;

		outputs[made] = NULL;
		error = onpu_buffer_create(memory, onpu_type_by_number(executable->types[made]),
					   executable->ranks[made], dims, &outputs[made]);
		dims += executable->ranks[made];
		if (error)
			break;
		block = outputs[made]->block;
		if (block->size != result->size)
			error = onpu_error(PJRT_INTERNAL,
					   "onpu: result %zu has %zu bytes instead of %zu", made,
					   result->size, block->size);
		else if (block->size)
			memcpy(block->data, result->data, block->size);
	}
	for (size_t i = 0; error && i < made; i++) {
		onpu_buffer_free(outputs[i]);
		outputs[i] = NULL;
	}
	return error;
}

static struct pjrt_error *run(struct pjrt_executable *executable, const struct inputs *inputs,
			      struct pjrt_buffer **outputs)
{
	struct pjrt_error *error;
	WNNStatus status;

	pthread_mutex_lock(&executable->lock);
	status = wnnStablehloProgramRunSync(executable->program, 0, executable->client->context,
					    inputs->count, inputs->tensors);
	error = status == WNNStatus_Success ? give_outputs(executable, outputs) :
					      onpu_stablehlo_error(status, "the program failed");
	/* JAX keeps programs that it does not run again, and the results are copied. */
	wnnStablehloProgramForgetResults(executable->program);
	pthread_mutex_unlock(&executable->lock);
	return error;
}

static struct pjrt_error *check_call(const struct pjrt_LoadedExecutable_Execute_args *args)
{
	const struct pjrt_executable *executable = args->executable->executable;

	if (atomic_load(&args->executable->is_deleted))
		return onpu_error(PJRT_INVALID_ARGUMENT, "onpu: the executable is deleted");
	if (args->device_count != 1)
		return onpu_error(PJRT_INVALID_ARGUMENT,
				  "onpu: the program runs on 1 device; there are arguments for %zu",
				  args->device_count);
	if (args->device && args->device != &executable->client->device)
		return onpu_error(PJRT_INVALID_ARGUMENT, "onpu: the device is another client's");
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
	struct inputs inputs = { 0 };
	struct pjrt_event *done = NULL;
	struct pjrt_error *error = check_call(args);

	if (error)
		return error;
	if (args->done) {
		done = onpu_event_ready();
		if (!done)
			return onpu_nomem();
	}
	error = take_inputs(executable, args->argument_count ? args->arguments[0] : NULL, &inputs);
	if (!error)
		error = run(executable, &inputs,
			    executable->outputs.count ? args->outputs[0] : NULL);
	free_inputs(&inputs);
	if (error) {
		onpu_event_free(done);
		return error;
	}
	if (args->done)
		args->done[0] = done;
	return NULL;
}
