// SPDX-License-Identifier: MIT
/* webnn-run compare: outputs on a device beside those of another one, or recorded ones. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bisect.h"
#include "difference.h"
#include "subject.h"

enum { KEY_WITH = 0x100, KEY_EXPECT, KEY_TOLERANCE, KEY_BISECT };

struct comparison {
	struct options options;
	const char *with;
	struct pairs expected;
	struct tolerance tolerance;
	bool bisect, differs;
	struct bisected first;
	json_t *outputs;
};

static const struct argp_option options[] = {
	{ NULL, 0, NULL, 0, "Comparing:", 4 },
	{ "with", KEY_WITH, "DEVICE", 0, "With the outputs on this device", 4 },
	{ "expect", KEY_EXPECT, "[OUTPUT=]FILE", 0, "With a recorded output, .npy or .pb", 4 },
	{ "tolerance", KEY_TOLERANCE, "X", 0,
	  "Largest error, as a part of the largest magnitude of an output (default 1e-4; integers: 0)",
	  4 },
	{ "bisect", KEY_BISECT, NULL, 0, "Name the first operator that differs", 4 },
	JSON_OPTION,
	{ 0 }
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct comparison *comparison = state->input;

	switch (key) {
	case ARGP_KEY_INIT:
		state->child_inputs[0] = state->child_inputs[1] = &comparison->options;
		return 0;
	case KEY_WITH:
		if (strcmp(arg, "npu") && strcmp(arg, "sim") && strcmp(arg, "cpu"))
			argp_error(state, "there is no device '%s'; there are npu, sim and cpu",
				   arg);
		comparison->with = arg;
		return 0;
	case KEY_EXPECT:
		pairs_add(&comparison->expected, arg, false, "--expect", state);
		return 0;
	case KEY_TOLERANCE:
		comparison->tolerance =
			(struct tolerance){ true, parse_real(arg, "--tolerance", state) };
		if (comparison->tolerance.part < 0)
			argp_error(state, "--tolerance takes a number from 0 on, not '%s'", arg);
		return 0;
	case KEY_BISECT:
		comparison->bisect = true;
		return 0;
	case JSON_KEY:
		comparison->options.json = arg;
		return 0;
	case ARGP_KEY_END:
		if (!comparison->with == !comparison->expected.count)
			argp_error(state, "it needs either --with DEVICE or --expect FILE");
		if (comparison->bisect && !comparison->with)
			argp_error(state, "--bisect needs --with DEVICE");
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static int compare_output(struct comparison *comparison, const struct value *got,
			  const struct value *expected, const char *with)
{
	struct difference difference;
	char text[300];
	json_t *json;

	if (got->count != expected->count || got->type != expected->type) {
		char other[300];

		value_describe(expected, other, sizeof(other));
		value_describe(got, text, sizeof(text));
		return complain(BAD_FILE, "%s: it has %s, output \"%s\" is %s", with, other,
				got->name, text);
	}
	difference = difference_of(got, expected, comparison->tolerance);
	comparison->differs |= difference.differs;
	if (text_wanted(&comparison->options)) {
		difference_describe(&difference, text, sizeof(text));
		printf("%s: %s: %s\n", got->name, difference.differs ? "DIFFERS" : "agrees", text);
	}
	json = difference_json(&difference);
	if (json)
		json_object_set_new(json, "name", json_text(WNN_STR(got->name)));
	json_array_append_new(comparison->outputs, json);
	return DONE;
}

/* ---- with recorded outputs */

static int compare_recorded(struct comparison *comparison, const struct target *target)
{
	for (size_t i = 0; i < comparison->expected.count; i++) {
		const struct pair *pair = &comparison->expected.items[i];
		const struct value *found = NULL;
		struct value expected;
		int ret;

		for (size_t k = 0; k < target->output_count && !found; k++)
			if (!strcmp(pair->name, target->results[k].name) ||
			    (!*pair->name && target->output_count == 1))
				found = &target->results[k];
		if (!found)
			return complain(
				BAD_FILE,
				"--expect %s%s%s: the model has %zu outputs, none is \"%s\"",
				pair->name, *pair->name ? "=" : "", pair->text,
				target->output_count, pair->name);
		ret = value_load(pair->text, found->name, &expected);
		if (!ret) {
			ret = compare_output(comparison, found, &expected, pair->text);
			value_exit(&expected);
		}
		if (ret)
			return ret;
	}
	return DONE;
}

/* ---- with another device */

static void print_first(const struct comparison *comparison)
{
	const struct bisected *first = &comparison->first;
	char text[300];

	if (!first->node) {
		printf("no operator differs by itself\n");
		return;
	}
	difference_describe(&first->difference, text, sizeof(text));
	printf("first operator that differs: \"%s\" (%s), its output \"%s\": %s\n", first->node,
	       first->kind, first->value, text);
	if (first->candidates > 1)
		printf("or one of the %zu before it, which cannot be looked at alone\n",
		       first->candidates - 1);
}

static int compare_devices(struct comparison *comparison, struct subject *subject,
			   struct target *got)
{
	struct target expected = { 0 };
	int ret = target_open_for(&expected, subject, comparison->with);

	if (!ret)
		ret = target_run(&expected, subject);
	for (size_t i = 0; !ret && i < got->output_count; i++)
		ret = compare_output(comparison, &got->results[i], &expected.results[i],
				     comparison->with);
	if (!ret && comparison->bisect && comparison->differs) {
		ret = bisect(subject, got, &expected, comparison->tolerance, &comparison->first);
		if (!ret && text_wanted(&comparison->options))
			print_first(comparison);
	}
	target_close(&expected);
	return ret;
}

/* ---- the command */

static json_t *to_json(struct comparison *comparison, const struct target *target)
{
	const struct bisected *first = &comparison->first;
	json_t *root = json_pack("{s:s, s:o, s:s?, s:b, s:O}", "model", comparison->options.model,
				 "device", json_text(target->device.device), "with",
				 comparison->with, "differs", comparison->differs, "outputs",
				 comparison->outputs);

	if (root && first->node)
		json_object_set_new(root, "first",
				    json_pack("{s:o, s:o, s:o, s:o, s:I}", "node",
					      json_text(WNN_STR(first->node)), "operator",
					      json_text(WNN_STR(first->kind)), "output",
					      json_text(WNN_STR(first->value)), "difference",
					      difference_json(&first->difference), "candidates",
					      (json_int_t)first->candidates));
	return root;
}

static int compare(struct comparison *comparison, struct subject *subject, struct target *target)
{
	const struct options *common = &comparison->options;
	const uint64_t seed = 1;
	int ret = subject_open(subject, common);

	if (!ret)
		ret = values_read(subject, &seed);
	if (!ret)
		ret = target_open_for(target, subject, common->device);
	if (!ret)
		ret = target_run(target, subject);
	if (!ret)
		ret = comparison->with ? compare_devices(comparison, subject, target) :
					 compare_recorded(comparison, target);
	if (!ret && common->json)
		ret = write_json(common, to_json(comparison, target));
	return ret ? ret : comparison->differs ? DIFFERENT : DONE;
}

int command_compare(int argc, char **argv)
{
	static const struct argp_child children[] = { { &model_argp, 0, NULL, 0 },
						      { &input_argp, 0, NULL, 0 },
						      { 0 } };
	static const struct argp argp = {
		options,
		parse,
		"MODEL.onnx",
		"Compares the outputs of a model on a device with those on another device, or with "
		"recorded ones. Inputs that are not given are random, with seed 1.",
		children,
		NULL,
		NULL
	};
	struct comparison comparison = { .tolerance.part = 1e-4, .outputs = json_array() };
	struct subject subject = { 0 };
	struct target target = { 0 };
	int ret;

	argp_parse(&argp, argc, argv, 0, NULL, &comparison);
	ret = compare(&comparison, &subject, &target);
	target_close(&target);
	subject_close(&subject);
	bisect_free(&comparison.first);
	json_decref(comparison.outputs);
	pairs_free(&comparison.expected);
	options_free(&comparison.options);
	return ret;
}
