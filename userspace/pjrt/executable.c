// SPDX-License-Identifier: MIT
/* Compiles programs, and tells what they take and return. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "plugin.h"

/*
 * The first bytes of a serialised executable. The sizes of options and code follow, then options
 * and code themselves.
 */
#define MAGIC "onpu pjrt 1"

struct header {
	char magic[16];
	uint64_t options_size, code_size;
};

void onpu_executable_put(struct pjrt_executable *executable)
{
	if (!executable || atomic_fetch_sub(&executable->refs, 1) != 1)
		return;
	wnnStablehloProgramRelease(executable->program);
	pthread_mutex_destroy(&executable->lock);
	free(executable->input_types);
	free(executable->donations);
	free(executable->shardings[0]);
	free(executable->shardings[1]);
	free(executable->assignment);
	free(executable->code);
	free(executable->options);
	free(executable->types);
	free(executable->dims);
	free(executable->ranks);
	free(executable->kinds);
	free(executable->kind_lengths);
	free(executable->memories);
	onpu_client_put(executable->client);
	free(executable);
}

/* ---- compiling */

static struct pjrt_error *refuse(WNNStablehloRefusalArray refusals)
{
	const WNNStablehloRefusal *first = refusals.data;
	char where[64] = "", count[64] = "";

	if (refusals.count > 1)
		snprintf(count, sizeof(count), " (the first of %zu reasons)", refusals.count);
	if (first->line)
		snprintf(where, sizeof(where), " at line %u, column %u", first->line,
			 first->column);
	return onpu_error(PJRT_UNIMPLEMENTED, "onpu: the program cannot run%s: %.*s%s%s%.*s", count,
			  (int)first->operatorName.length, first->operatorName.data, where,
			  first->operatorName.length || *where ? ": " : "",
			  (int)first->reason.length, first->reason.data);
}

/*
 * Sets *type to the type of an input or output, and adds its bytes to *bytes. Returns NULL; an
 * error: PJRT has no such type, or a size is unknown.
 */
static struct pjrt_error *take_value(const WNNStablehloValueInfo *info, const char *what,
				     size_t index, const struct onpu_type **type, int64_t *bytes)
{
	size_t size;

	*type = onpu_type_of(info);
	if (!*type)
		return onpu_error(PJRT_UNIMPLEMENTED,
				  "onpu: %s %zu of the program is %.*s, which is no array of PJRT",
				  what, index, (int)info->type.length, info->type.data);
	size = (*type)->size;
	for (size_t i = 0; i < info->rank; i++) {
		if (info->dimensions[i] == WNN_STABLEHLO_DIMENSION_UNKNOWN)
			return onpu_error(PJRT_UNIMPLEMENTED,
					  "onpu: %s %zu of the program is %.*s; sizes that are "
					  "only known at run time are not implemented",
					  what, index, (int)info->type.length, info->type.data);
		size *= (size_t)info->dimensions[i];
	}
	*bytes += (int64_t)size;
	return NULL;
}

static struct pjrt_error *describe_inputs(struct pjrt_executable *executable)
{
	WNNStablehloValueInfoArray inputs = executable->inputs;
	struct pjrt_error *error = NULL;

	executable->input_types = calloc(inputs.count + 1, sizeof(*executable->input_types));
	executable->donations = calloc(inputs.count + 1, sizeof(*executable->donations));
	if (!executable->input_types || !executable->donations)
		return onpu_nomem();
	for (size_t i = 0; i < inputs.count && !error; i++) {
		struct onpu_donation *donation = &executable->donations[i];
		int64_t before = executable->input_bytes;

		error = take_value(&inputs.data[i], "input", i, &executable->input_types[i],
				   &executable->input_bytes);
		donation->kind = wnnStablehloProgramGetDonation(executable->program, 0, i,
								&donation->output);
		if (donation->kind == WNNStablehloDonation_Output)
			executable->donated_bytes += executable->input_bytes - before;
	}
	return error;
}

/* Sets the memory that an output goes to. Returns NULL; an error: a device has no such memory. */
static struct pjrt_error *take_memory_kind(struct pjrt_executable *executable, size_t output)
{
	WNNStringView wanted =
		wnnStablehloProgramGetOutputMemoryKind(executable->program, 0, output);
	enum onpu_memory_kind kind = ONPU_DEVICE;

	while (wanted.length && kind < ONPU_MEMORY_KINDS &&
	       strcmp(wanted.data, onpu_memory_kinds[kind]) != 0)
		kind++;
	if (kind == ONPU_MEMORY_KINDS)
		return onpu_error(
			PJRT_INVALID_ARGUMENT,
			"onpu: output %zu of the program is for the memory %.*s; a device "
			"has the memories device and pinned_host",
			output, (int)wanted.length, wanted.data);
	executable->memories[output] = kind;
	executable->kinds[output] = onpu_memory_kinds[kind];
	executable->kind_lengths[output] = strlen(onpu_memory_kinds[kind]);
	return NULL;
}

static struct pjrt_error *describe_outputs(struct pjrt_executable *executable)
{
	WNNStablehloValueInfoArray outputs = executable->outputs;
	const struct onpu_type *type;
	struct pjrt_error *error;
	size_t count = 0;

	for (size_t i = 0; i < outputs.count; i++)
		count += outputs.data[i].rank;
	executable->types = calloc(outputs.count + 1, sizeof(*executable->types));
	executable->dims = calloc(count + 1, sizeof(*executable->dims));
	executable->ranks = calloc(outputs.count + 1, sizeof(*executable->ranks));
	executable->kinds = calloc(outputs.count + 1, sizeof(*executable->kinds));
	executable->kind_lengths = calloc(outputs.count + 1, sizeof(*executable->kind_lengths));
	executable->memories = calloc(outputs.count + 1, sizeof(*executable->memories));
	if (!executable->types || !executable->dims || !executable->ranks || !executable->kinds ||
	    !executable->kind_lengths || !executable->memories)
		return onpu_nomem();
	count = 0;
	for (size_t i = 0; i < outputs.count; i++) {
		const WNNStablehloValueInfo *info = &outputs.data[i];

		error = take_value(info, "output", i, &type, &executable->output_bytes);
		if (error)
			return error;
		executable->types[i] = type->number;
		executable->ranks[i] = info->rank;
		error = take_memory_kind(executable, i);
		if (error)
			return error;
		for (size_t k = 0; k < info->rank; k++)
			executable->dims[count++] = info->dimensions[k];
	}
	return NULL;
}

static uint64_t hash(uint64_t start, const char *data, size_t size)
{
	for (size_t i = 0; i < size; i++)
		start = (start ^ (unsigned char)data[i]) * UINT64_C(0x100000001b3);
	return start;
}

/* Names the executable by two FNV hashes with different initial values. */
static void name_it(struct pjrt_executable *executable)
{
	uint64_t a = hash(UINT64_C(0xcbf29ce484222325), executable->code, executable->code_size);
	uint64_t b = hash(UINT64_C(0x9e3779b97f4a7c15), executable->code, executable->code_size);
	const char *version = executable->client->version;

	a = hash(a, executable->options, executable->options_size);
	b = hash(b, version, strlen(version));
	b = hash(b, executable->options, executable->options_size);
	snprintf(executable->fingerprint, sizeof(executable->fingerprint), "%016llx%016llx",
		 (unsigned long long)a, (unsigned long long)b);
	snprintf(executable->name, sizeof(executable->name), "onpu_%s", executable->fingerprint);
}

static char *duplicate(const char *data, size_t size)
{
	char *copy = malloc(size + 1);

	if (copy && size)
		memcpy(copy, data, size);
	return copy;
}

static struct pjrt_error *describe_devices(struct pjrt_executable *executable)
{
	const struct onpu_wanted *wanted = &executable->wanted;

	executable->device_count = (size_t)(wanted->replicas * wanted->partitions);
	for (size_t i = 0; i < executable->device_count; i++)
		executable->devices[i] = executable->client->devices[wanted->devices[i]];
	executable->assignment = onpu_assignment_new(wanted, &executable->assignment_size);
	if (!executable->assignment)
		return onpu_nomem();
	for (int i = 0; i < 2 && wanted->partitions > 1; i++) {
		/* JAX does not take an empty list. */
		if (!(i ? executable->outputs : executable->inputs).count)
			continue;
		executable->shardings[i] = onpu_shardings_new(executable, i);
		if (!executable->shardings[i])
			return onpu_nomem();
	}
	return NULL;
}

static struct pjrt_error *load(struct pjrt_executable *executable)
{
	WNNStablehloRefusalArray refusals;
	struct pjrt_error *error;
	WNNStatus status;

	status = wnnStablehloLoadPartitioned(executable->code, executable->code_size, NULL,
					     executable->wanted.partitions, &executable->program);
	if (status != WNNStatus_Success)
		return onpu_stablehlo_error(status, "the program cannot be read");
	refusals = wnnStablehloProgramGetRefusals(executable->program);
	if (refusals.count)
		return refuse(refusals);
	if (wnnStablehloProgramGetModuleCount(executable->program) != 1)
		return onpu_error(PJRT_INVALID_ARGUMENT,
				  "onpu: the program has %zu modules; it must have one",
				  wnnStablehloProgramGetModuleCount(executable->program));
	/* Removes the limit of iterations: a loop of JAX ends when its condition says so. */
	wnnStablehloProgramSetLoopLimit(executable->program, UINT64_MAX);
	if (executable->client->cache_dir)
		wnnStablehloProgramSetGraphFolder(executable->program,
						  WNN_STR(executable->client->cache_dir));
	executable->inputs = wnnStablehloProgramGetInputs(executable->program, 0);
	executable->outputs = wnnStablehloProgramGetOutputs(executable->program, 0);
	error = describe_inputs(executable);
	if (!error)
		error = describe_outputs(executable);
	return error ? error : describe_devices(executable);
}

struct pjrt_error *onpu_compile(struct pjrt_client *client, const char *code, size_t code_size,
				const char *options, size_t options_size,
				struct pjrt_loaded **loaded)
{
	struct pjrt_executable *executable;
	struct onpu_wanted wanted;
	struct pjrt_error *error = onpu_options_read(client, options, options_size, &wanted);
	struct pjrt_loaded *new;

	if (error)
		return error;
	executable = calloc(1, sizeof(*executable));
	if (!executable)
		return onpu_nomem();
	atomic_init(&executable->refs, 1);
	pthread_mutex_init(&executable->lock, NULL);
	executable->client = onpu_client_get(client);
	executable->wanted = wanted;
	executable->code = duplicate(code, code_size);
	executable->code_size = code_size;
	executable->options = duplicate(options, options_size);
	executable->options_size = options_size;
	new = calloc(1, sizeof(*new));
	error = executable->code && executable->options && new ? load(executable) : onpu_nomem();
	if (error) {
		free(new);
		onpu_executable_put(executable);
		return error;
	}
	name_it(executable);
	executable->costs[0] = (struct pjrt_named_value){
		.size = sizeof(executable->costs[0]),
		.name = "bytes accessed",
		.name_length = strlen("bytes accessed"),
		.kind = PJRT_FLOAT,
		.real = (float)(executable->input_bytes + executable->output_bytes),
		.count = 1,
	};
	new->executable = executable;
	*loaded = new;
	return NULL;
}

struct pjrt_error *onpu_Client_Compile(struct pjrt_Client_Compile_args *args)
{
	const struct pjrt_program *program = args->program;

	if (program->format_length != strlen("mlir") ||
	    memcmp(program->format, "mlir", program->format_length))
		return onpu_error(PJRT_UNIMPLEMENTED,
				  "onpu: the program's format is %.*s; only mlir is implemented",
				  (int)program->format_length, program->format);
	return onpu_compile(args->client, program->code, program->code_size, args->options,
			    args->options_size, &args->executable);
}

/* ---- serialising */

struct pjrt_error *onpu_Executable_Serialize(struct pjrt_Executable_Serialize_args *args)
{
	const struct pjrt_executable *executable = args->executable;
	struct header header = { .magic = MAGIC,
				 .options_size = executable->options_size,
				 .code_size = executable->code_size };
	size_t size = sizeof(header) + executable->options_size + executable->code_size;
	char *bytes = malloc(size);

	if (!bytes)
		return onpu_nomem();
	memcpy(bytes, &header, sizeof(header));
	memcpy(bytes + sizeof(header), executable->options, executable->options_size);
	memcpy(bytes + sizeof(header) + executable->options_size, executable->code,
	       executable->code_size);
	args->bytes = bytes;
	args->size = size;
	args->owner = bytes;
	args->release = free;
	return NULL;
}

struct pjrt_error *
onpu_Executable_DeserializeAndLoad(struct pjrt_Executable_DeserializeAndLoad_args *args)
{
	struct header header;
	const char *options, *code;

	if (args->size < sizeof(header))
		return onpu_error(PJRT_INVALID_ARGUMENT,
				  "onpu: the bytes are not an executable of this plugin: compile "
				  "the program again");
	memcpy(&header, args->bytes, sizeof(header));
	if (memcmp(header.magic, MAGIC, sizeof(MAGIC)) ||
	    header.options_size > args->size - sizeof(header) ||
	    header.code_size != args->size - sizeof(header) - header.options_size)
		return onpu_error(PJRT_INVALID_ARGUMENT,
				  "onpu: the bytes are not an executable of this plugin: compile "
				  "the program again");
	options = args->bytes + sizeof(header);
	code = options + header.options_size;
	if (PJRT_HAS(args, options_size) && args->options)
		return onpu_compile(args->client, code, header.code_size, args->options,
				    args->options_size, &args->executable);
	return onpu_compile(args->client, code, header.code_size, options, header.options_size,
			    &args->executable);
}

struct pjrt_error *
onpu_Executable_GetCompileOptions(struct pjrt_Executable_GetCompileOptions_args *args)
{
	char *copy = duplicate(args->executable->options, args->executable->options_size);

	if (!copy)
		return onpu_nomem();
	args->bytes = copy;
	args->size = args->executable->options_size;
	args->owner = copy;
	args->release = free;
	return NULL;
}

/*
 * Returns the program of one device as MLIR, which JAX shows as HLO: text without operations of
 * Shardy, which JAX cannot take, or what was compiled.
 */
struct pjrt_error *
onpu_Executable_OptimizedProgram(struct pjrt_Executable_OptimizedProgram_args *args)
{
	struct pjrt_program *program = args->program;
	struct pjrt_executable *executable = args->executable;
	WNNStringView text;
	WNNStatus status;

	pthread_mutex_lock(&executable->lock);
	status = wnnStablehloProgramGetDeviceText(executable->program, &text);
	pthread_mutex_unlock(&executable->lock);
	if (status != WNNStatus_Success)
		return onpu_stablehlo_error(status, "the program cannot be shown");
	if (!text.length)
		text = (WNNStringView){ executable->code, executable->code_size };
	program->format = "mlir";
	program->format_length = strlen("mlir");
	if (program->code && program->code_size < text.length)
		return onpu_error(PJRT_INVALID_ARGUMENT,
				  "onpu: the program has %zu bytes, there is room for %zu",
				  text.length, program->code_size);
	if (program->code)
		memcpy(program->code, text.data, text.length);
	program->code_size = text.length;
	return NULL;
}

/* ---- what a program is */

struct pjrt_error *onpu_Executable_Destroy(struct pjrt_Executable_Destroy_args *args)
{
	onpu_executable_put(args->executable);
	return NULL;
}

struct pjrt_error *onpu_Executable_Name(struct pjrt_Executable_Name_args *args)
{
	args->name = args->executable->name;
	args->length = strlen(args->name);
	return NULL;
}

struct pjrt_error *onpu_Executable_Fingerprint(struct pjrt_Executable_Fingerprint_args *args)
{
	args->text = args->executable->fingerprint;
	args->length = strlen(args->text);
	return NULL;
}

struct pjrt_error *onpu_Executable_NumReplicas(struct pjrt_Executable_NumReplicas_args *args)
{
	args->count = (size_t)args->executable->wanted.replicas;
	return NULL;
}

struct pjrt_error *onpu_Executable_NumPartitions(struct pjrt_Executable_NumPartitions_args *args)
{
	args->count = (size_t)args->executable->wanted.partitions;
	return NULL;
}

struct pjrt_error *onpu_Executable_NumOutputs(struct pjrt_Executable_NumOutputs_args *args)
{
	args->count = args->executable->outputs.count;
	return NULL;
}

struct pjrt_error *onpu_Executable_SizeOfGeneratedCodeInBytes(
	struct pjrt_Executable_SizeOfGeneratedCodeInBytes_args *args)
{
	args->size = (int64_t)args->executable->code_size;
	return NULL;
}

/*
 * Returns one property, the bytes of inputs and outputs: a program reads and writes at least these.
 */
struct pjrt_error *
onpu_Executable_GetCostAnalysis(struct pjrt_Executable_GetCostAnalysis_args *args)
{
	args->properties = args->executable->costs;
	args->count = 1;
	return NULL;
}

struct pjrt_error *
onpu_Executable_GetCompiledMemoryStats(struct pjrt_Executable_GetCompiledMemoryStats_args *args)
{
	args->code = (int64_t)args->executable->code_size;
	args->arguments = args->executable->input_bytes;
	args->outputs = args->executable->output_bytes;
	args->aliased = args->executable->donated_bytes;
	args->temporary = 0;
	PJRT_CLEAR_FROM(args, host);
	if (PJRT_HAS(args, peak))
		args->peak = args->arguments + args->outputs - args->aliased;
	if (PJRT_HAS(args, total))
		args->total = args->arguments + args->outputs - args->aliased + args->code;
	return NULL;
}

struct pjrt_error *
onpu_Executable_OutputMemoryKinds(struct pjrt_Executable_OutputMemoryKinds_args *args)
{
	args->count = args->executable->outputs.count;
	args->kinds = args->executable->kinds;
	args->lengths = args->executable->kind_lengths;
	return NULL;
}

struct pjrt_error *
onpu_Executable_OutputElementTypes(struct pjrt_Executable_OutputElementTypes_args *args)
{
	args->types = args->executable->types;
	args->count = args->executable->outputs.count;
	return NULL;
}

struct pjrt_error *
onpu_Executable_OutputDimensions(struct pjrt_Executable_OutputDimensions_args *args)
{
	args->count = args->executable->outputs.count;
	args->dims = args->executable->dims;
	args->ranks = args->executable->ranks;
	return NULL;
}
