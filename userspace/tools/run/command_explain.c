// SPDX-License-Identifier: MIT
/* webnn-run explain: reports on which device each operator of a model runs, and why. */
#include <stdio.h>

#include "../placement.h"
#include "program.h"
#include "subject.h"

static const struct argp_option options[] = { JSON_OPTION, { 0 } };

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct options *common = state->input;

	switch (key) {
	case ARGP_KEY_INIT:
		state->child_inputs[0] = state->child_inputs[1] = common;
		return 0;
	case JSON_KEY:
		common->json = arg;
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

/* If oneDNN failed its self-test, prints what it computed wrongly: other kernels do that then. */
static void tell_of_layer(const struct target *target)
{
	WNNCpuInfo info = WNN_CPU_INFO_INIT;

	if (wnnContextGetCpuInfo(target->context, &info) == WNNStatus_Success && info.oneDnnBroken)
		fprintf(stderr, "webnn-run: %.*s\n", (int)info.oneDnnProblem.length,
			info.oneDnnProblem.data);
}

static int report(const struct options *common, const struct target *target)
{
	WNNString text = WNN_STRING_INIT;
	json_t *root;

	tell_of_layer(target);
	if (text_wanted(common) && placement_print(target->graph))
		return BAD_DEVICE;
	if (text_wanted(common) && common->ranges.count &&
	    wnnGraphGetText(target->graph, WNNGraphText_Dimensions, &text) == WNNStatus_Success)
		fputs(text.data, stdout);
	wnnStringFreeMembers(text);
	if (!common->json)
		return DONE;
	root = placement_json(target->graph);
	if (root) {
		json_object_set_new(root, "model", json_text(WNN_STR(common->model)));
		json_object_set_new(root, "device", json_text(target->device.device));
	}
	return write_json(common, root);
}

int command_explain(int argc, char **argv)
{
	static const struct argp_child children[] = { { &model_argp, 0, NULL, 0 },
						      { &input_argp, 0, NULL, 0 },
						      { 0 } };
	static const struct argp argp = {
		options,
		parse,
		"MODEL.onnx",
		"Tells for every operator of a model where it runs, and why. Values of inputs matter "
		"only where the model's shapes depend on them.",
		children,
		NULL,
		NULL
	};
	struct options common = { 0 };
	const uint64_t seed = 1;
	struct subject subject = { 0 };
	struct target target = { 0 };
	int ret;

	argp_parse(&argp, argc, argv, 0, NULL, &common);
	if (program_is(common.model)) {
		ret = target_open(&target, &common, common.device);
		if (!ret)
			ret = program_explain(&common, &target);
		target_close(&target);
		options_free(&common);
		return ret;
	}
	ret = subject_open(&subject, &common);
	if (!ret)
		ret = values_read(&subject, &seed);
	if (!ret)
		ret = target_open_for(&target, &subject, common.device);
	if (!ret)
		ret = target_build(&target, &subject);
	if (!ret && !target.graph)
		ret = complain(BAD_MODEL, "%s: no output has elements: there is nothing to tell",
			       common.model);
	if (!ret)
		ret = report(&common, &target);
	target_close(&target);
	subject_close(&subject);
	options_free(&common);
	return ret;
}
