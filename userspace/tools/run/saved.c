// SPDX-License-Identifier: MIT
/* webnn-run: loads graphs that the command compile has saved, instead of models. */
#include "saved.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../placement.h"

bool saved_is(const char *path)
{
	static const char magic[8] = { 'W', 'N', 'N', 'G', 'R', 'A', 'P', 'H' };
	const char *end = strrchr(path, '.');
	char first[sizeof(magic)];
	bool is = end && !strcmp(end, ".graph");
	FILE *file = is ? NULL : fopen(path, "rb");

	if (!file)
		return is;
	is = fread(first, 1, sizeof(first), file) == sizeof(first) &&
	     !memcmp(first, magic, sizeof(magic));
	fclose(file);
	return is;
}

/* ---- loading */

/*
 * The library's message begins with the call and the quoted file; the rest of the message is a
 * predicate of the file. The library does not know of the option that selects the device.
 */
int saved_complain(enum exit_code code, const char *path)
{
	WNNError error = WNN_ERROR_INIT;
	const char *why = NULL;
	char text[1000];

	wnnGetLastError(&error);
	code = code_of(code, error.status);
	snprintf(text, sizeof(text), "%.*s", (int)error.message.length, error.message.data);
	if (!strncmp(text, "load: \"", 7) || !strncmp(text, "save: \"", 7))
		why = strstr(text + 7, "\" ");
	if (!why)
		return complain(code, "%s: %s", path, text);
	return complain(code, "%s: it %s%s", path, why + 2,
			strncmp(why + 2, "was saved for the device", 24) ?
				"" :
				", or choose the --device that it was saved for");
}

static bool profile_differs(void)
{
	static const char text[] = "profile, this context was made";
	WNNError error = WNN_ERROR_INIT;

	wnnGetLastError(&error);
	return memmem(error.message.data, error.message.length, text, sizeof(text) - 1);
}

static WNNStatus try_load(struct target *target, const struct subject *subject, uint64_t *ns)
{
	uint64_t begin = nanoseconds();
	WNNStatus status = wnnContextLoadGraphSync(target->context,
						   WNN_STR(subject->options->model),
						   WNN_WAIT_FOREVER, &target->graph);

	*ns = nanoseconds() - begin;
	return status;
}

int saved_load(struct target *target, const struct subject *subject)
{
	if (try_load(target, subject, &target->build_ns) == WNNStatus_Success)
		return DONE;
	return saved_complain(BAD_MODEL, subject->options->model);
}

/*
 * Opens the subject's first target and loads the graph on it. If this fails because the graph has
 * code that records time stamps, tries again with a context that has profiling. Returns DONE, or
 * the exit code after a message.
 */
static int load_first(struct subject *subject)
{
	const struct options *options = subject->options;
	int ret = target_open_for(subject->first, subject, options->device);

	if (ret || try_load(subject->first, subject, &subject->load_ns) == WNNStatus_Success)
		return ret;
	if (!profile_differs())
		return saved_complain(BAD_MODEL, options->model);
	if (options->profile)
		return complain(
			BAD_MODEL,
			"%s: the graph was compiled without --profile, so the NPU measures no times: compile "
			"the model again, with webnn-run compile --profile",
			options->model);
	target_close(subject->first);
	subject->profile = true;
	ret = target_open_for(subject->first, subject, options->device);
	if (ret || try_load(subject->first, subject, &subject->load_ns) == WNNStatus_Success)
		return ret;
	return saved_complain(BAD_MODEL, options->model);
}

static int describe_inputs(struct subject *subject)
{
	WNNNamedOperandDescriptorArray inputs = wnnGraphGetInputs(subject->described);
	WNNOnnxValueInfo *infos = calloc(inputs.count + 1, sizeof(*infos));

	subject->saved_inputs = (WNNOnnxValueInfoArray){ 0, infos };
	if (!infos)
		return complain(
			BAD_DEVICE,
			"too little memory is free for the model's inputs: end other programs, or "
			"set smaller dimensions");
	for (size_t i = 0; i < inputs.count; i++) {
		const WNNNamedOperandDescriptor *input = &inputs.data[i];
		WNNOnnxDimension *dimensions = calloc(input->shape.count + 1, sizeof(*dimensions));

		if (!dimensions)
			return complain(
				BAD_DEVICE,
				"too little memory is free for the model's inputs: end other "
				"programs, or set smaller dimensions");
		for (size_t k = 0; k < input->shape.count; k++)
			dimensions[k].size = input->shape.data[k];
		infos[i] = (WNNOnnxValueInfo){
			.name = input->name,
			.kind = WNNOnnxKind_Tensor,
			.elementType = wnnOperandDataTypeGetName(input->dataType),
			.dataType = input->dataType,
			.rank = input->shape.count,
			.dimensions = dimensions,
		};
		subject->saved_inputs.count = i + 1;
	}
	return DONE;
}

int saved_open(struct subject *subject)
{
	const struct options *options = subject->options;
	int ret;

	subject->saved = true;
	if (options->dims.count || options->ranges.count || options->shapes.count ||
	    options->cuts.count)
		return complain(
			BAD_MODEL,
			"%s: this is a saved graph, whose shapes and outputs are fixed; compile "
			"the model again with %s, and give the new graph",
			options->model,
			options->dims.count || options->ranges.count ? "--dim" :
			options->shapes.count			     ? "--shape" :
								       "--outputs");
	subject->first = calloc(1, sizeof(*subject->first));
	if (!subject->first)
		return complain_memory(options->model);
	ret = load_first(subject);
	if (ret)
		return ret;
	subject->described = subject->first->graph;
	wnnGraphAddRef(subject->described);
	return describe_inputs(subject);
}

void saved_close(struct subject *subject)
{
	for (size_t i = 0; i < subject->saved_inputs.count; i++)
		free((void *)(uintptr_t)subject->saved_inputs.data[i].dimensions);
	free((void *)(uintptr_t)subject->saved_inputs.data);
	wnnGraphRelease(subject->described);
	if (subject->first)
		target_close(subject->first);
	free(subject->first);
}

/* ---- info */

/* A kind of operator, and the devices of its nodes. */
struct operators {
	WNNStringView name;
	size_t count, placed[4]; /* placed: by WNNNodeDevice */
};

static size_t count_operators(const WNNGraphPlacement *placement, struct operators *kinds)
{
	size_t count = 0;

	for (size_t i = 0; i < placement->nodeCount; i++) {
		const WNNNodePlacement *node = &placement->nodes[i];
		size_t at = 0;

		while (at < count && !same_view(kinds[at].name, node->operatorName))
			at++;
		if (at == count)
			kinds[count++] = (struct operators){ .name = node->operatorName };
		kinds[at].count++;
		if ((size_t)node->device < 4)
			kinds[at].placed[node->device]++;
	}
	return count;
}

static void print_ports(const char *title, WNNNamedOperandDescriptorArray ports)
{
	char text[300];

	printf("%s:\n", title);
	for (size_t i = 0; i < ports.count; i++) {
		const WNNNamedOperandDescriptor *port = &ports.data[i];

		describe_type(port->dataType, (uint32_t)port->shape.count, port->shape.data, text,
			      sizeof(text));
		printf("  %-24.*s %s\n", (int)port->name.length, port->name.data, text);
	}
}

static json_t *ports_json(WNNNamedOperandDescriptorArray ports)
{
	json_t *list = json_array();

	for (size_t i = 0; i < ports.count; i++) {
		const WNNNamedOperandDescriptor *port = &ports.data[i];
		json_t *shape = json_array();

		for (size_t k = 0; k < port->shape.count; k++)
			json_array_append_new(shape, json_integer(port->shape.data[k]));
		json_array_append_new(
			list, json_pack("{s:o, s:s, s:o, s:o}", "name", json_text(port->name),
					"kind", "tensor", "type",
					json_text(wnnOperandDataTypeGetName(port->dataType)),
					"shape", shape));
	}
	return list;
}

static json_t *info_json(const struct subject *subject, const struct target *target,
			 const struct operators *kinds, size_t count)
{
	json_t *list = json_array();

	for (size_t i = 0; i < count; i++)
		json_array_append_new(
			list,
			json_pack("{s:o, s:I, s:I, s:I, s:I}", "operator", json_text(kinds[i].name),
				  "nodes", (json_int_t)kinds[i].count, "npu",
				  (json_int_t)kinds[i].placed[WNNNodeDevice_NPU], "cpu",
				  (json_int_t)kinds[i].placed[WNNNodeDevice_CPU], "folded",
				  (json_int_t)kinds[i].placed[WNNNodeDevice_Folded]));
	return json_pack("{s:o, s:o, s:b, s:b, s:o, s:o, s:o, s:b}", "model",
			 json_text(WNN_STR(subject->options->model)), "device",
			 json_text(target->device.device), "saved", 1, "profile",
			 subject->profile || subject->options->profile, "inputs",
			 ports_json(wnnGraphGetInputs(target->graph)), "outputs",
			 ports_json(wnnGraphGetOutputs(target->graph)), "operators", list, "runs",
			 1);
}

int saved_info(const struct subject *subject, const struct target *target)
{
	WNNGraphPlacement placement = WNN_GRAPH_PLACEMENT_INIT;
	struct operators *kinds;
	size_t count, on_cpu = 0;
	int ret = DONE;

	if (wnnGraphGetPlacement(target->graph, &placement) != WNNStatus_Success)
		return complain_wnn(BAD_DEVICE, false, "%s", subject->options->model);
	kinds = calloc(placement.nodeCount + 1, sizeof(*kinds));
	if (!kinds)
		return complain_memory(subject->options->model);
	count = count_operators(&placement, kinds);
	if (text_wanted(subject->options)) {
		printf("%s: a saved graph%s\n", subject->options->model,
		       subject->profile ? ", with time stamps for the command profile" : "");
		print_ports("inputs", wnnGraphGetInputs(target->graph));
		print_ports("outputs", wnnGraphGetOutputs(target->graph));
		printf("operators: %-19s nodes    NPU    CPU folded\n", "");
		for (size_t i = 0; i < count; i++)
			printf("  %-28.*s %6zu %6zu %6zu %6zu\n", (int)kinds[i].name.length,
			       kinds[i].name.data, kinds[i].count,
			       kinds[i].placed[WNNNodeDevice_NPU],
			       kinds[i].placed[WNNNodeDevice_CPU],
			       kinds[i].placed[WNNNodeDevice_Folded]);
		for (size_t i = 0; i < count; i++)
			on_cpu += kinds[i].placed[WNNNodeDevice_CPU];
		target_print_runs(target, on_cpu);
	}
	if (subject->options->json)
		ret = write_json(subject->options, info_json(subject, target, kinds, count));
	free(kinds);
	return ret;
}
