// SPDX-License-Identifier: MIT
/*
 * The public functions of libwebnn-stablehlo: they load a file, describe its inputs and outputs,
 * and run it.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <webnn/stablehlo.h>

#include "api.h"
#include "calls.h"
#include "chain.h"
#include "cut.h"
#include "sharding.h"
#include "unroll.h"
#include "world_ranks.h"

static WNNStringView view(const char *text)
{
	return (WNNStringView){ text, strlen(text) };
}

/* ---- loading */

static WNNStablehloValueInfo value_info(struct shlo_arena *arena, const char *name,
					const struct shlo_type *type)
{
	WNNStablehloValueInfo info = { .name = view(name),
				       .type = view(shlo_type_text(arena, type)) };
	int64_t *dims;

	if (type->kind != SHLO_TENSOR)
		return info;
	info.elementType = view(shlo_elements[type->element].text);
	info.elementSize = shlo_elements[type->element].bytes;
	info.rank = type->rank > 0 ? (size_t)type->rank : 0;
	dims = shlo_arena_alloc(arena, info.rank, sizeof(*dims));
	for (size_t i = 0; i < info.rank; i++)
		dims[i] = type->dims[i] == SHLO_DYNAMIC ? WNN_STABLEHLO_DIMENSION_UNKNOWN :
							  type->dims[i];
	info.dimensions = dims;
	return info;
}

static void describe_module(struct WNNStablehloProgramImpl *program, size_t m)
{
	struct shlo_arena *arena = &program->file.arena;
	const struct shlo_function *entry = shlo_module_entry(program->file.modules[m]);
	const struct shlo_cut *cut = entry ? entry->cut : NULL;
	WNNStablehloValueInfo *infos;

	if (!entry)
		return;
	infos = shlo_arena_alloc(arena, entry->type->item_count, sizeof(*infos));
	for (size_t i = 0; i < entry->type->item_count; i++)
		infos[i] = value_info(
			arena, entry->region ? entry->region->block.arguments[i]->name : "",
			shlo_cut_type(arena, entry->type->items[i], cut ? cut->in[i] : NULL));
	program->values[m][0] = (WNNStablehloValueInfoArray){ entry->type->item_count, infos };
	infos = shlo_arena_alloc(arena, entry->type->result_count, sizeof(*infos));
	for (size_t i = 0; i < entry->type->result_count; i++)
		infos[i] = value_info(arena, "",
				      shlo_cut_type(arena, entry->type->results[i],
						    cut ? cut->out[i] : NULL));
	program->values[m][1] = (WNNStablehloValueInfoArray){ entry->type->result_count, infos };
}

static void describe(struct WNNStablehloProgramImpl *program)
{
	struct shlo_file *file = &program->file;

	program->refusals =
		shlo_arena_alloc(&file->arena, file->refusal_count, sizeof(*program->refusals));
	for (size_t i = 0; i < file->refusal_count; i++)
		program->refusals[i] = (WNNStablehloRefusal){
			.line = file->refusals[i].location.line,
			.column = file->refusals[i].location.column,
			.operatorName = view(file->refusals[i].op),
			.reason = view(file->refusals[i].reason),
		};
	program->values =
		shlo_arena_alloc(&file->arena, file->module_count, sizeof(*program->values));
	for (size_t m = 0; m < file->module_count; m++)
		describe_module(program, m);
}

/* Returns a hash of @x: each bit of @x changes about half of the result's bits (SplitMix64). */
static uint64_t mixed(uint64_t x)
{
	x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
	return x ^ x >> 31;
}

/*
 * Hashes the bytes of the file, to tell whether all ranks run the same program, and to name the
 * files of its graphs. Words are mixed first: a product alone would keep the highest bit of a word,
 * the sign of a float, where it is, and the signs in the next word could cancel a change of it.
 */
static uint64_t hash_of(const void *data, size_t size)
{
	uint64_t hash = size, word;

	for (size_t at = 0; at < size; at += sizeof(word)) {
		word = 0;
		memcpy(&word, (const char *)data + at,
		       size - at < sizeof(word) ? size - at : sizeof(word));
		hash = (hash ^ mixed(word)) * UINT64_C(0x9e3779b97f4a7c15);
		hash ^= hash >> 32;
	}
	return hash;
}

WNNStatus wnnStablehloLoadMemory(void const *data, size_t size,
				 WNNStablehloLoadOptions const *options,
				 WNNStablehloProgram *program)
{
	return wnnStablehloLoadPartitioned(data, size, options, 1, program);
}

static WNNStatus too_large(void)
{
	return shlo_set_error(WNNStatus_OperationError, "the file has more than 2^32 bytes");
}

WNNStatus wnnStablehloLoadPartitioned(void const *data, size_t size,
				      WNNStablehloLoadOptions const *options, size_t partitions,
				      WNNStablehloProgram *program)
{
	struct WNNStablehloProgramImpl *self;
	struct shlo_file *file;

	(void)options;
	if (!program || (!data && size))
		return shlo_set_error(WNNStatus_TypeError,
				      "the argument program is NULL, or data is NULL though it has "
				      "%zu bytes",
				      size);
	*program = NULL;
	if (!partitions || partitions > SHLO_MAX_PROCESSES)
		return shlo_set_error(WNNStatus_TypeError,
				      "there must be 1 to %d partitions, not %zu",
				      SHLO_MAX_PROCESSES, partitions);
	if (size > SHLO_MAX_BYTES)
		return too_large();
	self = import_alloc(sizeof(*self));
	if (!self)
		return shlo_set_error(WNNStatus_UnknownError, "memory is exhausted");
	self->refs = 1;
	self->loop_limit = WNN_STABLEHLO_LOOP_LIMIT_DEFAULT;
	self->unroll_limit = WNN_STABLEHLO_UNROLL_LIMIT_DEFAULT;
	file = &self->file;
	file->partitions = partitions;
	file->arena.guard = &file->guard;
	if (setjmp(file->guard.jump)) {
		WNNStatus status = shlo_set_error(file->guard.status, "%s", file->guard.message);

		wnnStablehloProgramRelease(self);
		return status;
	}
	/*
	 * Copies the data: functions of the C library read numbers and need a NUL at the end, and
	 * names point into the copy.
	 */
	data = shlo_arena_text(&file->arena, size ? data : "", size);
	if (shlo_is_bytecode(data, size))
		shlo_read_bytecode(file, data, size);
	else
		shlo_read_text(file, data, size);
	shlo_expand_calls(file);
	shlo_verify(file);
	for (size_t i = 0; !file->refusal_count && i < file->module_count; i++) {
		shlo_compile_regions(&file->arena, file->modules[i]);
		for (size_t k = 0; k < file->modules[i]->function_count; k++) {
			shlo_find_last_reads(&file->arena, file->modules[i]->functions[k]);
			shlo_find_chains(&file->arena, file->modules[i]->functions[k]);
		}
	}
	describe(self);
	self->hash = hash_of(data, size);
	*program = self;
	return WNNStatus_Success;
}

WNNStatus wnnStablehloLoadFile(WNNStringView path, WNNStablehloLoadOptions const *options,
			       WNNStablehloProgram *program)
{
	char *name, *data = NULL;
	size_t length, size = 0, room = 1 << 16, got;
	WNNStatus status = WNNStatus_Success;
	FILE *file;
	int error;

	if (!program || !path.data)
		return shlo_set_error(WNNStatus_TypeError, "the argument path or program is NULL");
	*program = NULL;
	length = path.length == WNN_STRLEN ? strlen(path.data) : path.length;
	name = import_alloc(length + 1);
	if (!name)
		return shlo_set_error(WNNStatus_UnknownError, "memory is exhausted");
	memcpy(name, path.data, length);
	file = fopen(name, "rb");
	error = errno;
	import_free(name);
	if (!file)
		return shlo_set_error(WNNStatus_OperationError, "the file cannot be read: %s",
				      strerror(error));
	do {
		char *more;

		room *= 2;
		if (room > SHLO_MAX_BYTES) {
			if (fgetc(file) != EOF)
				status = too_large();
			break;
		}
		more = import_realloc(data, room);
		if (!more) {
			status = shlo_set_error(WNNStatus_UnknownError, "memory is exhausted");
			break;
		}
		data = more;
		got = fread(data + size, 1, room - size, file);
		size += got;
	} while (size == room);
	if (status == WNNStatus_Success && ferror(file))
		status = shlo_set_error(WNNStatus_OperationError, "the file cannot be read: %s",
					strerror(errno));
	fclose(file);
	if (status == WNNStatus_Success)
		status = wnnStablehloLoadMemory(data, size, options, program);
	import_free(data);
	return status;
}

void wnnStablehloProgramAddRef(WNNStablehloProgram program)
{
	if (program)
		program->refs++;
}

void shlo_execution_reset(struct shlo_execution *execution)
{
	struct shlo_run fresh = { 0 };

	shlo_run_reset(&execution->run);
	memcpy(fresh.spares, execution->run.spares, sizeof(fresh.spares));
	fresh.idle = execution->run.idle;
	fresh.idle_count = execution->run.idle_count;
	execution->run = fresh;
	import_free(execution->results);
	execution->results = NULL;
	execution->result_count = 0;
}

static void forget_results(struct WNNStablehloProgramImpl *program)
{
	shlo_execution_reset(&program->own);
	for (size_t i = 0; i < program->execution_count; i++)
		shlo_execution_reset(&program->executions[i]);
}

void shlo_program_forget(struct WNNStablehloProgramImpl *program)
{
	forget_results(program);
	program->info = (WNNStablehloRunInfo){ 0 };
	program->built = 0;
	program->placement = (WNNStablehloPlacementArray){ 0, NULL };
}

static void exit_runs(struct WNNStablehloProgramImpl *program)
{
	shlo_run_exit(&program->own.run);
	for (size_t i = 0; i < program->execution_count; i++)
		shlo_run_exit(&program->executions[i].run);
}

void wnnStablehloProgramRelease(WNNStablehloProgram program)
{
	if (!program || --program->refs)
		return;
	shlo_kept_drop(program);
	shlo_program_forget(program);
	exit_runs(program);
	import_free(program->executions);
	import_free(program->folder);
	shlo_arena_exit(&program->told);
	wnnStablehloWorldRelease(program->world);
	shlo_arena_exit(&program->file.arena);
	import_free(program);
}

WNNStablehloRefusalArray wnnStablehloProgramGetRefusals(WNNStablehloProgram program)
{
	return (WNNStablehloRefusalArray){ program->file.refusal_count, program->refusals };
}

size_t wnnStablehloProgramGetModuleCount(WNNStablehloProgram program)
{
	return program->file.module_count;
}

WNNStablehloValueInfoArray wnnStablehloProgramGetInputs(WNNStablehloProgram program, size_t module)
{
	return module < program->file.module_count ? program->values[module][0] :
						     (WNNStablehloValueInfoArray){ 0, NULL };
}

WNNStablehloValueInfoArray wnnStablehloProgramGetOutputs(WNNStablehloProgram program, size_t module)
{
	return module < program->file.module_count ? program->values[module][1] :
						     (WNNStablehloValueInfoArray){ 0, NULL };
}

WNNStatus wnnStablehloProgramGetText(WNNStablehloProgram program, WNNStringView *text)
{
	struct shlo_file *file;

	if (!program || !text)
		return shlo_set_error(WNNStatus_TypeError, "the argument program or text is NULL");
	*text = (WNNStringView){ NULL, 0 };
	file = &program->file;
	if (setjmp(file->guard.jump))
		return shlo_set_error(file->guard.status, "%s", file->guard.message);
	if (!program->text)
		program->text = shlo_print(&file->arena, file);
	*text = view(program->text);
	return WNNStatus_Success;
}

WNNStatus wnnStablehloProgramGetDeviceText(WNNStablehloProgram program, WNNStringView *text)
{
	struct shlo_file *file;

	if (!program || !text)
		return shlo_set_error(WNNStatus_TypeError, "the argument program or text is NULL");
	*text = (WNNStringView){ NULL, 0 };
	file = &program->file;
	if (setjmp(file->guard.jump))
		return shlo_set_error(file->guard.status, "%s", file->guard.message);
	if (!program->device_text)
		program->device_text = shlo_print_device(&file->arena, file);
	if (program->device_text)
		*text = view(program->device_text);
	return WNNStatus_Success;
}

/* ---- running */

WNNStatus wnnStablehloProgramSetLoopLimit(WNNStablehloProgram program, uint64_t turns)
{
	if (!program || !turns)
		return shlo_set_error(WNNStatus_TypeError,
				      "the argument program is NULL, or the limit is 0: it must be "
				      "at least 1");
	program->loop_limit = turns;
	return WNNStatus_Success;
}

WNNStatus wnnStablehloProgramSetUnrollLimit(WNNStablehloProgram program, uint64_t operations)
{
	if (!program)
		return shlo_set_error(WNNStatus_TypeError, "the argument program is NULL");
	program->unroll_limit = operations;
	return WNNStatus_Success;
}

WNNStatus wnnStablehloProgramSetGraphFolder(WNNStablehloProgram program, WNNStringView folder)
{
	size_t length = folder.data && folder.length == WNN_STRLEN ? strlen(folder.data) :
								     folder.length;
	char *copy = NULL;

	if (!program)
		return shlo_set_error(WNNStatus_TypeError, "the argument program is NULL");
	if (length && (!folder.data || memchr(folder.data, 0, length)))
		return shlo_set_error(WNNStatus_TypeError,
				      "the folder has no name, or a NUL in its name");
	if (length) {
		copy = import_alloc(length + 1);
		if (!copy)
			return shlo_set_error(WNNStatus_UnknownError, "memory is exhausted");
		memcpy(copy, folder.data, length);
	}
	import_free(program->folder);
	program->folder = copy;
	return WNNStatus_Success;
}

static struct shlo_tensor *read_input(struct shlo_run *run, const struct shlo_type *type,
				      const WNNStablehloTensor *input, size_t index)
{
	struct shlo_type taken = *type;
	struct shlo_tensor *value;
	bool lent;

	if (type->kind == SHLO_TOKEN)
		return shlo_tensor_new(run, type);
	if (type->kind != SHLO_TENSOR || type->rank < 0)
		shlo_throw(&run->guard, WNNStatus_NotSupportedError,
			   "input %zu must be a tensor with a known rank", index);
	if (input->dimensions && input->rank != (size_t)type->rank)
		shlo_throw(&run->guard, WNNStatus_TypeError, "input %zu has rank %zu, not %d",
			   index, input->rank, type->rank);
	if (!input->dimensions && !shlo_type_is_static(type))
		shlo_throw(&run->guard, WNNStatus_TypeError,
			   "the type of input %zu leaves dimensions open: they must be given",
			   index);
	taken.dims = input->dimensions ? input->dimensions : type->dims;
	for (int i = 0; i < type->rank; i++)
		if (taken.dims[i] < 0)
			shlo_run_error(run,
				       "input %zu has size %lld in dimension %d, but must have "
				       "at least 0",
				       index, (long long)taken.dims[i], i);
	/* Elements of fewer than 8 bits are stored again below, and kernels need aligned ones. */
	lent = shlo_elements[type->element].bits >= 8 && !((uintptr_t)input->data % 16);
	value = lent ? shlo_tensor_lent(run, &taken, input->data) : shlo_tensor_unset(run, &taken);
	if (!shlo_dims_fit(&value->type, type)) {
		int i = 0;

		while (type->dims[i] == SHLO_DYNAMIC || type->dims[i] == taken.dims[i])
			i++;
		shlo_throw(&run->guard, WNNStatus_TypeError,
			   "input %zu has size %lld in dimension %d, but must have %lld", index,
			   (long long)taken.dims[i], i, (long long)type->dims[i]);
	}
	if (input->size != (size_t)value->count * shlo_elements[type->element].bytes)
		shlo_throw(&run->guard, WNNStatus_TypeError, "input %zu has %zu bytes, not %zu",
			   index, input->size,
			   (size_t)value->count * shlo_elements[type->element].bytes);
	if (input->size && !lent)
		memcpy(value->data, input->data, input->size);
	/*
	 * The caller's bytes may hold any bits: stores each element again, so that a boolean is 0
	 * or 1 and small integers have their sign extended.
	 */
	for (int64_t i = 0; shlo_elements[type->element].bits < 8 && i < value->count; i++)
		shlo_set(value, i, shlo_get(value, i));
	return value;
}

/*
 * Returns an input as the function takes it. On partitions, the caller gives one slice: unless the
 * function takes slices, those of all devices are concatenated.
 */
static struct shlo_tensor *take_input(struct shlo_run *run, const struct shlo_function *entry,
				      const WNNStablehloTensor *input, size_t index)
{
	const struct shlo_slices *slices = entry->cut ? entry->cut->in[index] : NULL;
	struct shlo_type type = *entry->type->items[index];
	struct shlo_tensor *slice, *whole;
	int64_t dims[SHLO_MAX_RANK];

	if (!slices)
		return read_input(run, &type, input, index);
	for (int i = 0; i < type.rank; i++)
		dims[i] = type.dims[i] / slices->parts[i];
	type.dims = dims;
	slice = read_input(run, &type, input, index);
	if (entry->cut->in_local[index])
		return slice;
	whole = shlo_cut_concat(run, slice, slices);
	shlo_tensor_put(slice);
	return whole;
}

/* Returns output @index, which belongs to @out. On partitions it is the slice of this device. */
static const struct shlo_tensor *give_output(struct shlo_run *run,
					     const struct shlo_function *entry,
					     struct shlo_tensor *out, size_t index)
{
	const struct shlo_slices *slices = entry->cut ? entry->cut->out[index] : NULL;
	struct shlo_tensor *whole = out->items[index];

	if (entry->cut && entry->cut->out_local[index])
		return whole;
	shlo_need_value(run, whole, entry->type->results[index], "result", index);
	if (slices) {
		out->items[index] = shlo_cut_slice(run, whole, slices);
		shlo_tensor_put(whole);
	}
	return out->items[index];
}

/*
 * Takes the graphs of an earlier run on the context. The first run unrolls loops of the module, so
 * that they can become part of a graph.
 */
static void take_kept(struct shlo_execution *execution, WNNContext context)
{
	struct WNNStablehloProgramImpl *program = execution->program;
	struct shlo_run *run = &execution->run;
	struct shlo_kept_key key = { program, run->module, context, program->loop_limit,
				     program->unroll_limit };
	struct shlo_kept *kept = shlo_kept_take(&key);
	struct shlo_unroll with = {
		.loop_limit = program->loop_limit,
		.limit = program->unroll_limit,
	};
	struct shlo_graph_files files = {
		.folder = program->folder,
		.program = program->hash,
		.partitions = program->partitions,
		.loop_limit = program->loop_limit,
		.unroll_limit = program->unroll_limit,
	};

	while (files.module < program->file.module_count &&
	       program->file.modules[files.module] != run->module)
		files.module++;
	if (!kept)
		shlo_throw(&run->guard, WNNStatus_UnknownError, "memory is exhausted");
	execution->kept = kept;
	kept->arena.guard = &run->guard;
	with.arena = &kept->arena;
	if (!kept->module)
		kept->module = program->unroll_limit ? shlo_unroll(&with, run->module) :
						       run->module;
	run->module = kept->module;
	run->device = kept->device;
	shlo_device_begin(run->device, &files);
}

/* Sets the program's list of where operations ran, anew if other graphs ran than before. */
static void tell_placement(struct shlo_execution *execution)
{
	struct WNNStablehloProgramImpl *program = execution->program;
	const struct shlo_kept *kept = execution->kept;

	if (program->told_serial != kept->serial || shlo_device_differs(kept->device)) {
		program->told_serial = 0;
		shlo_arena_exit(&program->told);
		program->told.guard = &execution->run.guard;
		program->told_placement = shlo_device_placement(kept->device, &program->told);
		program->told_serial = kept->serial;
	}
	program->placement = program->told_placement;
}

void shlo_execution_end(struct shlo_execution *execution, WNNStatus status)
{
	struct WNNStablehloProgramImpl *program = execution->program;
	struct shlo_kept *kept = execution->kept;

	program->info.referenceOperations += execution->run.reference_ops;
	program->info.graphOperations += execution->run.device_ops;
	if (!kept)
		return;
	program->info.cpuOperators += shlo_device_cpu_operators(kept->device);
	program->built += shlo_device_built(kept->device);
	execution->run.device = NULL;
	execution->kept = NULL;
	if (status == WNNStatus_Success && !shlo_device_lacked_memory(kept->device))
		shlo_kept_give(kept);
	else
		shlo_kept_free(kept);
}

static void run_entry(struct shlo_execution *execution, const WNNStablehloTensor *inputs)
{
	struct shlo_run *run = &execution->run;
	const struct shlo_function *entry = shlo_module_entry(run->module);
	struct shlo_type arguments = { .kind = SHLO_TUPLE, .item_count = entry->type->item_count };
	struct shlo_type results = { .kind = SHLO_TUPLE, .item_count = entry->type->result_count };
	struct shlo_tensor *in = shlo_tensor_new(run, &arguments);
	struct shlo_tensor *out = shlo_tensor_new(run, &results);

	for (size_t i = 0; i < entry->type->item_count; i++)
		in->items[i] = take_input(run, entry, &inputs[i], i);
	shlo_give_function(run, entry, in->items, out->items);
	shlo_tensor_put(in);
	execution->results = import_alloc(entry->type->result_count * sizeof(*execution->results));
	if (!execution->results)
		shlo_throw(&run->guard, WNNStatus_UnknownError, "memory is exhausted");
	execution->result_count = entry->type->result_count;
	for (size_t i = 0; i < execution->result_count; i++) {
		const struct shlo_tensor *value = give_output(run, entry, out, i);

		/* The caller may free an input that the program returns. */
		if (value->is_lent) {
			out->items[i] = shlo_tensor_copy(run, value);
			value = out->items[i];
		}
		execution->results[i] = (WNNStablehloTensor){
			.data = value->data,
			.size = value->data ? shlo_bytes_of(value) : 0,
			.rank = value->data ? (size_t)value->type.rank : 0,
			.dimensions = value->dims,
		};
	}
}

/* Throws an error when a value has a sharding, because each rank would compute the whole value. */
static void need_whole(struct shlo_run *run)
{
	const char *what;
	const struct shlo_location *location = shlo_first_sharding(run->module, &what);

	if (location)
		shlo_throw(
			&run->guard, WNNStatus_NotSupportedError,
			"%s: %s: it cuts a value over several devices, which is not done on ranks: "
			"write for each device what it computes, or run the program on one",
			shlo_location_text(*location).text, what);
}

/*
 * Makes a world in which ranks are replicas and partitions: as many partitions as
 * wnnStablehloProgramSetWorld() has set, or else as the module's attributes demand.
 */
static void make_world(struct WNNStablehloProgramImpl *program, struct shlo_ranks_world *world)
{
	struct shlo_run *run = &program->own.run;
	size_t replicas = shlo_module_said(run->module, "mhlo.num_replicas"),
	       count = program->world->seat.count;
	size_t partitions = shlo_module_said(run->module, "mhlo.num_partitions");

	if (program->partitions) {
		partitions = program->partitions;
		replicas = 0;
	}
	partitions = partitions ? partitions : 1;
	if (replicas && replicas * partitions != count)
		shlo_throw(&run->guard, WNNStatus_OperationError,
			   "the program has %zu replicas of %zu partitions, there are %zu ranks: "
			   "start it with mpirun -n %zu",
			   replicas, partitions, count, replicas * partitions);
	if (count % partitions)
		shlo_throw(&run->guard, WNNStatus_OperationError,
			   "the program has %zu partitions, there are %zu ranks: start it with "
			   "mpirun -n and a multiple of its partitions",
			   partitions, count);
	if (partitions > 1)
		need_whole(run);
	shlo_ranks_world_init(world, program->world, count / partitions, partitions);
	run->world = &world->world;
	run->process = program->world->seat.rank;
}

static void run_on_ranks(struct WNNStablehloProgramImpl *program, size_t module,
			 const WNNStablehloTensor *inputs)
{
	struct shlo_ranks_world world;

	shlo_ranks_arrive(program->world, SHLO_STAGE_PROGRAM,
			  hash_of(&program->hash, sizeof(program->hash)) + module +
				  (program->partitions << 32),
			  &program->own.run.guard);
	make_world(program, &world);
	run_entry(&program->own, inputs);
	shlo_ranks_arrive(program->world, SHLO_STAGE_END, 0, &program->own.run.guard);
	program->own.run.world = NULL;
}

static WNNStatus guarded_run(struct WNNStablehloProgramImpl *program, size_t module,
			     WNNContext context, const WNNStablehloTensor *inputs)
{
	struct shlo_guard *guard = &program->own.run.guard;

	if (setjmp(guard->jump)) {
		program->own.run.world = NULL;
		program->own.result_count = 0;
		if (program->world)
			shlo_ranks_fail(program->world, guard->message);
		return shlo_set_error(guard->status, "%s", guard->message);
	}
	if (context)
		take_kept(&program->own, context);
	if (program->world)
		run_on_ranks(program, module, inputs);
	else
		run_entry(&program->own, inputs);
	if (context)
		tell_placement(&program->own);
	return WNNStatus_Success;
}

WNNStatus wnnStablehloProgramSetWorld(WNNStablehloProgram program, WNNStablehloWorld world,
				      size_t partitions)
{
	if (!program)
		return shlo_set_error(WNNStatus_TypeError, "the argument program is NULL");
	if (world && partitions && world->seat.count % partitions)
		return shlo_set_error(
			WNNStatus_TypeError,
			"the program runs on %u ranks, which must be a multiple of its "
			"%zu partitions",
			world->seat.count, partitions);
	if (world)
		world->refs++;
	wnnStablehloWorldRelease(program->world);
	program->world = world;
	program->partitions = partitions;
	return WNNStatus_Success;
}

void shlo_execution_run(struct shlo_execution *execution, WNNContext context,
			const WNNStablehloTensor *inputs)
{
	if (context)
		take_kept(execution, context);
	run_entry(execution, inputs);
	if (context && execution == execution->program->executions)
		tell_placement(execution);
}

WNNStatus shlo_program_check(struct WNNStablehloProgramImpl *program, size_t module, size_t count,
			     bool has_inputs)
{
	const struct shlo_function *entry;

	if (!program)
		return shlo_set_error(WNNStatus_TypeError, "the argument program is NULL");
	if (module >= program->file.module_count)
		return shlo_set_error(WNNStatus_TypeError,
				      "there is no module %zu: the program has %zu, counted from 0",
				      module, program->file.module_count);
	if (program->file.refusal_count)
		return shlo_set_error(WNNStatus_NotSupportedError, "%s: %s: %s%s",
				      shlo_location_text(program->file.refusals[0].location).text,
				      program->file.refusals[0].op,
				      program->file.refusals[0].reason,
				      program->file.refusal_count > 1 ? ", and more" : "");
	entry = shlo_module_entry(program->file.modules[module]);
	if (!entry)
		return shlo_set_error(WNNStatus_OperationError,
				      "the module has no function @main, nor a single function");
	if (!entry->region)
		return shlo_set_error(WNNStatus_OperationError,
				      "%s: @%s is only declared: there is nothing to run",
				      shlo_location_text(entry->location).text, entry->name);
	if (count != entry->type->item_count)
		return shlo_set_error(WNNStatus_TypeError, "the module takes %zu inputs, not %zu",
				      entry->type->item_count, count);
	if (count && !has_inputs)
		return shlo_set_error(WNNStatus_TypeError,
				      "the module takes %zu inputs, but the argument inputs, or "
				      "an item of it, is NULL",
				      count);
	return WNNStatus_Success;
}

void shlo_execution_begin(struct shlo_execution *execution, struct WNNStablehloProgramImpl *program,
			  size_t module)
{
	execution->program = program;
	execution->run.module = program->file.modules[module];
	execution->run.loop_limit = program->loop_limit;
}

WNNStatus wnnStablehloProgramRunSync(WNNStablehloProgram program, size_t module, WNNContext context,
				     size_t count, WNNStablehloTensor const *inputs)
{
	WNNStatus status = shlo_program_check(program, module, count, inputs);

	if (status != WNNStatus_Success)
		return status;
	if (program->file.partitions > 1)
		return shlo_set_error(WNNStatus_OperationError,
				      "the program is for %zu partitions: it runs with "
				      "wnnStablehloProgramRunPartitionedSync()",
				      program->file.partitions);
	shlo_program_forget(program);
	shlo_execution_begin(&program->own, program, module);
	status = guarded_run(program, module, context, inputs);
	shlo_execution_end(&program->own, status);
	return status;
}

WNNStablehloTensorArray wnnStablehloProgramGetResults(WNNStablehloProgram program)
{
	return (WNNStablehloTensorArray){ program->own.result_count, program->own.results };
}

void wnnStablehloProgramForgetResults(WNNStablehloProgram program)
{
	if (!program)
		return;
	forget_results(program);
	exit_runs(program);
}

uint64_t wnnStablehloProgramGetBuildCount(WNNStablehloProgram program)
{
	return program->built;
}

WNNStablehloRunInfo wnnStablehloProgramGetRunInfo(WNNStablehloProgram program)
{
	return program->info;
}

WNNStablehloPlacementArray wnnStablehloProgramGetPlacement(WNNStablehloProgram program)
{
	return program->placement;
}
