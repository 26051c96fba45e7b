// SPDX-License-Identifier: MIT
/*
 * webnn-run compile: saves the graph of a model. The commands info, run, bench, explain, profile
 * and compare take it in place of the model, and so does wnnContextLoadGraph().
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "program.h"
#include "saved.h"

enum { KEY_PROFILE = 0x100 };

struct compiling {
	struct options options;
	const char *output;
};

static const struct argp_option options[] = {
	{ NULL, 0, NULL, 0, "Result:", 4 },
	{ "output", 'o', "FILE", 0, "Where the graph is saved", 4 },
	{ "profile", KEY_PROFILE, NULL, 0, "With time stamps, which the command profile needs", 4 },
	JSON_OPTION,
	{ 0 }
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct compiling *compiling = state->input;

	switch (key) {
	case ARGP_KEY_INIT:
		state->child_inputs[0] = state->child_inputs[1] = &compiling->options;
		return 0;
	case 'o':
		compiling->output = arg;
		return 0;
	case KEY_PROFILE:
		compiling->options.profile = true;
		return 0;
	case JSON_KEY:
		compiling->options.json = arg;
		return 0;
	case ARGP_KEY_END:
		if (!compiling->output)
			argp_error(state, "give --output FILE, where the graph is saved");
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

/*
 * Warns of what a saved graph lacks: outputs without elements, random numbers, and values that were
 * computed for the build, which all need the model.
 */
static void tell_what_is_lost(const struct subject *subject)
{
	WNNOnnxValueInfoArray empty = wnnOnnxModelGetEmptyOutputs(subject->model);
	WNNOnnxValueInfoArray random = wnnOnnxModelGetRandomInputs(subject->model);
	WNNOnnxValueInfoArray computed = wnnOnnxModelGetComputedInputs(subject->model);

	for (size_t i = 0; i < empty.count; i++)
		complain(DONE, "output \"%.*s\" has no elements: the graph is without it",
			 (int)empty.data[i].name.length, empty.data[i].name.data);
	for (size_t i = 0; i < random.count; i++)
		complain(DONE,
			 "the model draws random numbers: they are the input \"%.*s\" of the graph",
			 (int)random.data[i].name.length, random.data[i].name.data);
	for (size_t i = 0; i < computed.count; i++)
		complain(DONE,
			 "values that were computed first are the input \"%.*s\" of the graph",
			 (int)computed.data[i].name.length, computed.data[i].name.data);
}

static int save(const struct compiling *compiling, const struct subject *subject,
		const struct target *target)
{
	const struct options *common = &compiling->options;
	WNNGraphPlacement placement = WNN_GRAPH_PLACEMENT_INIT;
	json_int_t placed[4] = { 0 };
	struct stat stat_of;

	if (!target->graph)
		return complain(BAD_MODEL, "%s: no output has elements: there is nothing to save",
				common->model);
	if (wnnGraphSave(target->graph, WNN_STR(compiling->output)) != WNNStatus_Success)
		return saved_complain(BAD_FILE, compiling->output);
	if (stat(compiling->output, &stat_of))
		return complain(BAD_FILE, "%s: %s", compiling->output, strerror(errno));
	if (wnnGraphGetPlacement(target->graph, &placement) != WNNStatus_Success)
		return complain_wnn(BAD_DEVICE, false, "%s", common->model);
	for (size_t i = 0; i < placement.nodeCount; i++)
		if ((size_t)placement.nodes[i].device < 4)
			placed[placement.nodes[i].device]++;
	tell_what_is_lost(subject);
	if (text_wanted(common))
		printf("%s: %" PRIu64 " bytes, for %.*s: %" JSON_INTEGER_FORMAT
		       " operators on the NPU, %" JSON_INTEGER_FORMAT
		       " on the CPU, %" JSON_INTEGER_FORMAT
		       " folded; loaded in %.3f ms, built in %.3f ms\n",
		       compiling->output, (uint64_t)stat_of.st_size,
		       (int)target->device.device.length, target->device.device.data,
		       placed[WNNNodeDevice_NPU], placed[WNNNodeDevice_CPU],
		       placed[WNNNodeDevice_Folded], (double)subject->load_ns / 1e6,
		       (double)target->build_ns / 1e6);
	if (!common->json)
		return DONE;
	return write_json(common,
			  json_pack("{s:o, s:o, s:o, s:I, s:b, s:I, s:I, s:I, s:f, s:f}", "model",
				    json_text(WNN_STR(common->model)), "device",
				    json_text(target->device.device), "file",
				    json_text(WNN_STR(compiling->output)), "bytes",
				    (json_int_t)stat_of.st_size, "profile", common->profile, "npu",
				    placed[WNNNodeDevice_NPU], "cpu", placed[WNNNodeDevice_CPU],
				    "folded", placed[WNNNodeDevice_Folded], "load_ms",
				    (double)subject->load_ns / 1e6, "build_ms",
				    (double)target->build_ns / 1e6));
}

static int compile(const struct compiling *compiling, struct subject *subject,
		   struct target *target)
{
	const struct options *common = &compiling->options;
	const uint64_t seed = 1;
	int ret;

	if (program_is(common->model))
		return complain(BAD_MODEL,
				"%s: a program of StableHLO is built while it runs: there is no "
				"graph to save",
				common->model);
	if (saved_is(common->model))
		return complain(BAD_MODEL, "%s: it is a saved graph already", common->model);
	ret = subject_open(subject, common);
	if (!ret)
		ret = values_read(subject, &seed);
	if (!ret)
		ret = target_open_for(target, subject, common->device);
	if (!ret)
		ret = target_build(target, subject);
	return ret ? ret : save(compiling, subject, target);
}

int command_compile(int argc, char **argv)
{
	static const struct argp_child children[] = { { &model_argp, 0, NULL, 0 },
						      { &input_argp, 0, NULL, 0 },
						      { 0 } };
	static const struct argp argp = {
		options,
		parse,
		"MODEL.onnx",
		"Saves the graph of a model, which run and most other commands take in place of the model, on the "
		"same device. Values of inputs matter only where the model's shapes depend on them.",
		children,
		NULL,
		NULL
	};
	struct compiling compiling = { 0 };
	struct subject subject = { 0 };
	struct target target = { 0 };
	int ret;

	argp_parse(&argp, argc, argv, 0, NULL, &compiling);
	ret = compile(&compiling, &subject, &target);
	target_close(&target);
	subject_close(&subject);
	options_free(&compiling.options);
	return ret;
}
