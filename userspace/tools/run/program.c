// SPDX-License-Identifier: MIT
/* webnn-run: runs StableHLO programs. Their outputs are named result0, result1 … */
#include "program.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <webnn/stablehlo.h>

static int complain_program(const char *path)
{
	WNNError error = WNN_ERROR_INIT;

	wnnStablehloGetLastError(&error);
	return complain(code_of(BAD_MODEL, error.status), "%s: %.*s", path,
			(int)error.message.length, error.message.data);
}

static int load(const struct options *options, WNNStablehloProgram *program)
{
	if (options->dims.count || options->ranges.count || options->shapes.count ||
	    options->cuts.count)
		return complain(BAD_MODEL,
				"%s: this is a StableHLO program, whose shapes and outputs are "
				"fixed; leave out %s, or export the program anew",
				options->model,
				options->dims.count || options->ranges.count ? "--dim" :
				options->shapes.count			     ? "--shape" :
									       "--outputs");
	if (wnnStablehloLoadFile(WNN_STR(options->model), NULL, program) != WNNStatus_Success)
		return complain_program(options->model);
	return DONE;
}

/* Returns the WebNN type in which webnn-run holds and saves elements; Undefined: there is none. */
static WNNOperandDataType type_of(const WNNStablehloValueInfo *info)
{
	static const struct {
		const char *name;
		WNNOperandDataType type;
	} types[] = {
		{ "f32", WNNOperandDataType_Float32 }, { "f16", WNNOperandDataType_Float16 },
		{ "i32", WNNOperandDataType_Int32 },   { "ui32", WNNOperandDataType_Uint32 },
		{ "i64", WNNOperandDataType_Int64 },   { "ui64", WNNOperandDataType_Uint64 },
		{ "i8", WNNOperandDataType_Int8 },     { "ui8", WNNOperandDataType_Uint8 },
		{ "i1", WNNOperandDataType_Uint8 },
	};

	for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++)
		if (same_text(info->elementType, types[i].name))
			return types[i].type;
	return WNNOperandDataType_Undefined;
}

static int make_value(struct value *value, const char *path, const char *name,
		      const WNNStablehloValueInfo *info, const int64_t *dimensions)
{
	uint32_t shape[VALUE_MAX_RANK];
	WNNOperandDataType type = type_of(info);
	char about[1000];

	if (type == WNNOperandDataType_Undefined || info->rank > VALUE_MAX_RANK)
		return complain(
			BAD_MODEL,
			"%s: \"%s\" is %.*s, but webnn-run takes only tensors of f32, f16, i64, "
			"i32, i8, ui64, ui32, ui8 and i1 with at most %d dimensions; convert it in "
			"the program",
			path, name, (int)info->type.length, info->type.data, VALUE_MAX_RANK);
	for (size_t i = 0; i < info->rank; i++) {
		if (dimensions[i] < 0)
			return complain(
				BAD_MODEL,
				"%s: \"%s\" is %.*s, which has a dimension without a size (?); "
				"export the program with a fixed size",
				path, name, (int)info->type.length, info->type.data);
		shape[i] = (uint32_t)dimensions[i];
	}
	snprintf(about, sizeof(about), "%s: \"%s\"", path, name);
	return value_make(value, BAD_DEVICE, about, (WNNStringView){ name, strlen(name) }, type,
			  (uint32_t)info->rank, shape);
}

/*
 * Loads the elements of a value from a .npy, .npz or .pb file of equal type and number of bytes;
 * the shape is not compared. Returns DONE, or an exit code after a message.
 */
static int load_value(struct value *value, const char *path)
{
	struct value loaded = { 0 };
	char has[300], takes[300];
	int ret;

	if (access(path, F_OK))
		return complain_unread(path, errno);
	if (!value_file_has_shape(path))
		return complain(
			BAD_FILE,
			"%s: an input of a StableHLO program must be a .npy, .npz or .pb file, and "
			"this is none; save it with numpy.save()",
			path);
	ret = value_load(path, value->name, &loaded);
	if (!ret && (loaded.type != value->type || loaded.size != value->size)) {
		value_describe(&loaded, has, sizeof(has));
		value_describe(value, takes, sizeof(takes));
		ret = complain(BAD_FILE, "%s: the file has %s, but input \"%s\" takes %s", path,
			       has, value->name, takes);
	}
	if (!ret)
		memcpy(value->data, loaded.data, value->size);
	value_exit(&loaded);
	return ret;
}

/* Loads a value from @path, where %r is this rank's number. Returns DONE or an exit code. */
static int load_ranked(const struct ranks *ranks, struct value *value, const char *path)
{
	char *name = ranks_path(ranks, path);
	int ret = name ? load_value(value, name) :
			 complain(BAD_DEVICE,
				  "too little memory is free for the model's inputs: end other "
				  "programs, or set smaller dimensions");

	free(name);
	return ret;
}

static int fill_value(const struct options *options, const struct ranks *ranks, struct value *value,
		      size_t index, size_t count)
{
	const WNNStringView name = { value->name, strlen(value->name) };
	const struct pair *file = pairs_find(&options->inputs, name);
	const struct pair *number = pairs_find(&options->fills, name);

	if (!file && count == 1)
		file = pairs_find(&options->inputs, (WNNStringView){ "", 0 });
	if (file)
		return load_ranked(ranks, value, file->text);
	if (!number && !options->random)
		return complain(
			BAD_FILE,
			"%s: input \"%s\" has no value: give --input %s=FILE, --fill %s=NUMBER or "
			"--random SEED",
			options->model, value->name, value->name, value->name);
	if (!number)
		value_randomise(value, options->seed + index * 1000003);
	for (size_t i = 0; number && i < value->count; i++)
		value_set(value, i, strtod(number->text, NULL));
	return DONE;
}

static int take_results(const struct options *options, WNNStablehloProgram program,
			struct target *target)
{
	WNNStablehloTensorArray results = wnnStablehloProgramGetResults(program);
	WNNStablehloValueInfoArray infos = wnnStablehloProgramGetOutputs(program, 0);
	int ret = DONE;

	/* Outputs have no tensors here, but a target needs equal numbers of outputs and results. */
	target->outputs = calloc(results.count + 1, sizeof(*target->outputs));
	target->results = calloc(results.count + 1, sizeof(*target->results));
	if (!target->outputs || !target->results)
		return complain(BAD_DEVICE,
				"too little memory is free for the tensors of the model: end other "
				"programs, or set smaller dimensions");
	for (size_t i = 0; !ret && i < results.count; i++) {
		char name[30];

		snprintf(name, sizeof(name), "result%zu", i);
		ret = make_value(&target->results[i], options->model, name, &infos.data[i],
				 results.data[i].dimensions);
		if (!ret) {
			target->output_count = i + 1;
			memcpy(target->results[i].data, results.data[i].data, results.data[i].size);
		}
	}
	return ret;
}

static int run_with(const struct options *options, const struct ranks *ranks,
		    WNNStablehloProgram program, struct target *target, struct value *values,
		    WNNStablehloTensor *inputs)
{
	WNNStablehloValueInfoArray infos = wnnStablehloProgramGetInputs(program, 0);
	uint64_t begin;
	int ret = DONE;

	for (size_t i = 0; !ret && i < infos.count; i++) {
		char name[300];

		snprintf(name, sizeof(name), "%.*s", (int)infos.data[i].name.length,
			 infos.data[i].name.data);
		ret = make_value(&values[i], options->model, name, &infos.data[i],
				 infos.data[i].dimensions);
		if (!ret)
			ret = fill_value(options, ranks, &values[i], i, infos.count);
		if (!ret)
			inputs[i] = (WNNStablehloTensor){ values[i].data, values[i].size,
							  infos.data[i].rank,
							  infos.data[i].dimensions };
	}
	if (ret)
		return ret;
	begin = nanoseconds();
	if (wnnStablehloProgramRunSync(program, 0, target->context, infos.count, inputs) !=
	    WNNStatus_Success)
		return complain_program(options->model);
	target->dispatch_ns = nanoseconds() - begin;
	return take_results(options, program, target);
}

typedef int (*after_fn)(const struct options *options, WNNStablehloProgram program);

static int run_and(const struct options *options, const struct ranks *ranks,
		   struct subject *subject, struct target *target, after_fn after)
{
	WNNStablehloProgram program = NULL;
	struct value *values = NULL;
	WNNStablehloTensor *inputs = NULL;
	uint64_t begin = nanoseconds();
	size_t count = 0;
	int ret = load(options, &program);

	if (ret)
		return ret;
	subject->load_ns = nanoseconds() - begin;
	if (wnnStablehloProgramSetWorld(program, ranks->world, options->partitions) !=
	    WNNStatus_Success) {
		wnnStablehloProgramRelease(program);
		return complain_program(options->model);
	}
	if (options->loop_limit)
		wnnStablehloProgramSetLoopLimit(program, options->loop_limit);
	count = wnnStablehloProgramGetInputs(program, 0).count;
	values = calloc(count + 1, sizeof(*values));
	inputs = calloc(count + 1, sizeof(*inputs));
	ret = values && inputs ?
		      run_with(options, ranks, program, target, values, inputs) :
		      complain(BAD_DEVICE,
			       "too little memory is free for the model's inputs: end other "
			       "programs, or set smaller dimensions");
	if (!ret && after)
		ret = after(options, program);
	for (size_t i = 0; values && i < count; i++)
		value_exit(&values[i]);
	free(values);
	free(inputs);
	wnnStablehloProgramRelease(program);
	return ret;
}

int program_run(const struct options *options, const struct ranks *ranks, struct subject *subject,
		struct target *target)
{
	return run_and(options, ranks, subject, target, NULL);
}

static json_t *placement_json_of(const WNNStablehloPlacement *item)
{
	return json_pack("{s:o, s:o, s:o, s:o}", "label", json_text(item->label), "operator",
			 json_text(item->operatorName), "device", json_text(item->device),
			 "reason_text", json_text(item->reason));
}

static int tell_placement(const struct options *options, WNNStablehloProgram program)
{
	WNNStablehloPlacementArray placement = wnnStablehloProgramGetPlacement(program);
	json_t *nodes = json_array();

	for (size_t i = 0; i < placement.count; i++) {
		const WNNStablehloPlacement *item = &placement.data[i];

		if (text_wanted(options))
			printf("%-40.*s %-9.*s %-18.*s %.*s\n", (int)item->label.length,
			       item->label.data, (int)item->device.length, item->device.data,
			       (int)item->operatorName.length, item->operatorName.data,
			       (int)item->reason.length, item->reason.data);
		json_array_append_new(nodes, placement_json_of(item));
	}
	return write_json(options, json_pack("{s:o, s:o}", "model",
					     json_text(WNN_STR(options->model)), "nodes", nodes));
}

int program_explain(const struct options *options, struct target *target)
{
	const struct ranks alone = { .count = 1 };
	struct options common = *options;
	struct subject subject = { 0 };

	/*
	 * Random inputs will do: sizes do not depend on values, although the iterations of loops
	 * may.
	 */
	common.random = true;
	return run_and(&common, &alone, &subject, target, tell_placement);
}

static void print_infos(const char *what, WNNStablehloValueInfoArray infos)
{
	for (size_t i = 0; i < infos.count; i++)
		printf("  %s %.*s: %.*s\n", what, (int)infos.data[i].name.length,
		       infos.data[i].name.data, (int)infos.data[i].type.length,
		       infos.data[i].type.data);
}

static json_t *infos_json(WNNStablehloValueInfoArray infos)
{
	json_t *list = json_array();

	for (size_t i = 0; i < infos.count; i++)
		json_array_append_new(list,
				      json_pack("{s:o, s:o}", "name", json_text(infos.data[i].name),
						"type", json_text(infos.data[i].type)));
	return list;
}

static json_t *info_json(const struct options *options, WNNStablehloProgram program)
{
	WNNStablehloRefusalArray refusals = wnnStablehloProgramGetRefusals(program);
	json_t *modules = json_array(), *list = json_array();

	for (size_t i = 0; i < wnnStablehloProgramGetModuleCount(program); i++)
		json_array_append_new(
			modules,
			json_pack("{s:o, s:o}", "inputs",
				  infos_json(wnnStablehloProgramGetInputs(program, i)), "outputs",
				  infos_json(wnnStablehloProgramGetOutputs(program, i))));
	/* Bytecode has no lines: line 0 stands for the byte that column tells. */
	for (size_t i = 0; i < refusals.count; i++)
		json_array_append_new(list,
				      json_pack("{s:I, s:I, s:o, s:o}", "line",
						(json_int_t)refusals.data[i].line, "column",
						(json_int_t)refusals.data[i].column, "operator",
						json_text(refusals.data[i].operatorName), "reason",
						json_text(refusals.data[i].reason)));
	return json_pack("{s:o, s:s, s:o, s:o}", "model", json_text(WNN_STR(options->model)),
			 "format", "stablehlo", "modules", modules, "refusals", list);
}

static void print_refusal(const WNNStablehloRefusal *refusal)
{
	if (refusal->line)
		printf("refused: line %" PRIu32 ", column %" PRIu32, refusal->line,
		       refusal->column);
	else
		printf("refused: byte %" PRIu32, refusal->column);
	printf(": %.*s: %.*s\n", (int)refusal->operatorName.length, refusal->operatorName.data,
	       (int)refusal->reason.length, refusal->reason.data);
}

static void print_info(WNNStablehloProgram program)
{
	WNNStablehloRefusalArray refusals = wnnStablehloProgramGetRefusals(program);

	for (size_t i = 0; i < wnnStablehloProgramGetModuleCount(program); i++) {
		printf("module %zu\n", i);
		print_infos("input", wnnStablehloProgramGetInputs(program, i));
		print_infos("output", wnnStablehloProgramGetOutputs(program, i));
	}
	for (size_t i = 0; i < refusals.count; i++)
		print_refusal(&refusals.data[i]);
}

int program_info(const struct options *options)
{
	WNNStablehloProgram program = NULL;
	int ret = load(options, &program);

	if (ret)
		return ret;
	if (text_wanted(options))
		print_info(program);
	if (options->json)
		ret = write_json(options, info_json(options, program));
	wnnStablehloProgramRelease(program);
	return ret;
}
