// SPDX-License-Identifier: MIT
/*
 * webnn-run compare: compares outputs on a device with those on another one, with those of ONNX
 * Runtime, or with recorded ones.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../device_name.h"
#include "../npz.h"
#include "bisect.h"
#include "computed.h"
#include "difference.h"
#include "onnx_runtime.h"
#include "recorded.h"
#include "subject.h"

enum { KEY_WITH = 0x100, KEY_EXPECT, KEY_TOLERANCE, KEY_BISECT, KEY_ALL };

struct comparison {
	struct options options;
	const char *with; /* the other device, or onnxruntime */
	struct pairs expected;
	struct tolerance tolerance;
	bool onnxruntime, bisect, all, differs;
	const char *set; /* path of recorded values or of ONNX Runtime's, for recorded_has() */
	struct onnx_runtime runtime;
	struct computed tensors; /* the tensors that --all compares */
	size_t compared, differing;
	struct bisected first;
	json_t *outputs, *skipped;
};

static const struct argp_option options[] = {
	{ NULL, 0, NULL, 0, "Comparing:", 4 },
	{ "with", KEY_WITH, "DEVICE", 0,
	  "With the outputs on this device, or of onnxruntime, which python3 must have", 4 },
	{ "expect", KEY_EXPECT, "[OUTPUT=]FILE", 0,
	  "With a recorded output, .npy or .pb, or with all that a folder or a .npz file has", 4 },
	{ "all", KEY_ALL, NULL, 0, "Compare all tensors, not outputs alone", 4 },
	{ "tolerance", KEY_TOLERANCE, "X", 0,
	  "Largest error, divided by the largest magnitude of an output (default 1e-4; integers: 0)",
	  4 },
	{ "bisect", KEY_BISECT, NULL, 0, "Name the first operator that differs", 4 },
	JSON_OPTION,
	{ 0 }
};

static void set_with(struct comparison *comparison, const char *name, struct argp_state *state)
{
	comparison->onnxruntime = !strcmp(name, "onnxruntime");
	if (!comparison->onnxruntime && !device_name_is(name))
		argp_error(state,
			   "there is no device '%s'; there are " DEVICE_NAMES ", and onnxruntime",
			   name);
	comparison->with = name;
}

/*
 * Sets comparison->set when the only --expect has no name and its path holds values by name. Ends
 * the program when --bisect or --all has neither that nor --with.
 */
static void choose_set(struct comparison *comparison, struct argp_state *state)
{
	const struct pairs *expected = &comparison->expected;

	if (expected->count == 1 && !*expected->items[0].name &&
	    recorded_is(expected->items[0].text))
		comparison->set = expected->items[0].text;
	if (comparison->with || comparison->set)
		return;
	if (comparison->bisect)
		argp_error(state, "--bisect needs --with, or one --expect with an existing folder "
				  "or a .npz file that has what is inside of the model");
	if (comparison->all)
		argp_error(state, "--all needs --with, or one --expect with an existing folder or "
				  "a .npz file");
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct comparison *comparison = state->input;

	switch (key) {
	case ARGP_KEY_INIT:
		state->child_inputs[0] = state->child_inputs[1] = &comparison->options;
		return 0;
	case KEY_WITH:
		set_with(comparison, arg, state);
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
	case KEY_ALL:
		comparison->all = true;
		return 0;
	case JSON_KEY:
		comparison->options.json = arg;
		return 0;
	case ARGP_KEY_END:
		if (!comparison->with == !comparison->expected.count)
			argp_error(state, "give either --with DEVICE or --expect FILE");
		choose_set(comparison, state);
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

	/* ONNX Runtime may have a type that WebNN lacks, whose values are in a wider type here. */
	if (got->count != expected->count ||
	    (got->type != expected->type && !comparison->onnxruntime)) {
		char other[300];

		value_describe(expected, other, sizeof(other));
		value_describe(got, text, sizeof(text));
		return complain(BAD_FILE, "%s: it has %s, output \"%s\" is %s", with, other,
				got->name, text);
	}
	difference = difference_of(got, expected, comparison->tolerance);
	comparison->differs |= difference.differs;
	comparison->compared++;
	comparison->differing += difference.differs;
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

/* Complains about an argument of --expect that is for no output. Returns BAD_FILE. */
static int no_output(const struct target *target, const struct pair *pair)
{
	char names[600] = "";
	size_t used = 0;

	if (!target->output_count)
		return complain(BAD_FILE,
				"--expect %s: no output of the model has elements, so there is "
				"nothing to compare",
				pair->text);
	if (!*pair->name)
		return complain(BAD_FILE,
				"--expect %s: the model has %zu outputs: say which as OUTPUT=%s",
				pair->text, target->output_count, pair->text);
	for (size_t i = 0; i < target->output_count && used < sizeof(names); i++)
		used += (size_t)snprintf(names + used, sizeof(names) - used, "%s\"%s\"",
					 i ? ", " : "", target->results[i].name);
	return complain(BAD_FILE,
			"--expect %s=%s: the model has no output of this name that has elements; "
			"there are %s",
			pair->name, pair->text, names);
}

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
			return no_output(target, pair);
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

/*
 * Compares an output with that of another device, which has outputs of equal names, or with its
 * recorded value, if there is one.
 */
static int compare_result(struct comparison *comparison, const struct target *got,
			  const struct target *expected, size_t index)
{
	const struct value *value = &got->results[index];
	struct value recorded = { 0 };
	int ret;

	if (expected->context)
		return compare_output(comparison, value, &expected->results[index],
				      comparison->with);
	if (!recorded_has(comparison->set, value->name))
		return DONE;
	ret = recorded_load(comparison->set, value->name, &recorded);
	if (!ret)
		ret = compare_output(comparison, value, &recorded, comparison->set);
	value_exit(&recorded);
	return ret;
}

/* ---- which operator it is */

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

/* ---- all tensors */

static void skip(struct comparison *comparison, const char *name)
{
	json_array_append_new(comparison->skipped, json_text(WNN_STR(name)));
}

/* Builds and runs the model with these tensors as outputs. *good: whether they can be outputs. */
static int run_group(struct subject *subject, struct target *target, char *const *names,
		     size_t count, bool *good)
{
	WNNStringView *views = calloc(count + 1, sizeof(*views));
	int ret;

	*good = false;
	if (!views)
		return complain(
			BAD_DEVICE,
			"--all: too little memory is free for the list of the model's tensors; end "
			"other programs");
	for (size_t i = 0; i < count; i++)
		views[i] = WNN_STR(names[i]);
	target_clear(target);
	*good = wnnOnnxModelSetOutputs(subject->model, count, views) == WNNStatus_Success &&
		target_try_build(target, subject) == WNNStatus_Success;
	free(views);
	if (!*good)
		return DONE;
	ret = target_prepare(target, subject);
	if (!ret)
		ret = target_dispatch(target);
	return ret ? ret : target_read(target);
}

/*
 * Compares all outputs in the order of @names, which is that of the model's nodes; then the rest,
 * which are items of sequences and have names of their own. Returns DONE, or the exit status after
 * a message.
 */
static int compare_in_order(struct comparison *comparison, const struct target *got,
			    const struct target *expected, char *const *names, size_t count)
{
	bool *done = calloc(got->output_count + 1, sizeof(bool));
	int ret = done ? DONE :
			 complain(BAD_DEVICE,
				  "--all: too little memory is free for the list of the model's "
				  "tensors; end other programs");

	for (size_t i = 0; !ret && i <= count; i++)
		for (size_t k = 0; !ret && k < got->output_count; k++)
			if (!done[k] && (i == count || !strcmp(names[i], got->results[k].name))) {
				ret = compare_result(comparison, got, expected, k);
				done[k] = true;
			}
	free(done);
	return ret;
}

/*
 * Compares the tensors of a list. If they cannot all be outputs, because one of them is a sequence
 * or its node is refused, it tries each half, down to single tensors.
 */
static int compare_group(struct comparison *comparison, struct subject *subject, struct target *got,
			 struct target *expected, char *const *names, size_t count)
{
	bool good = false;
	int ret = run_group(subject, got, names, count, &good);

	if (!ret && good && expected->context)
		ret = run_group(subject, expected, names, count, &good);
	if (ret)
		return ret;
	if (good)
		return compare_in_order(comparison, got, expected, names, count);
	if (count == 1) {
		skip(comparison, *names);
		return DONE;
	}
	ret = compare_group(comparison, subject, got, expected, names, count / 2);
	return ret ? ret :
		     compare_group(comparison, subject, got, expected, names + count / 2,
				   count - count / 2);
}

static int compare_all(struct comparison *comparison, struct subject *subject, struct target *got,
		       struct target *expected)
{
	struct computed *tensors = &comparison->tensors;
	size_t kept = 0, skipped;
	int ret = DONE;

	for (size_t i = 0; i < tensors->count; i++) {
		char *name = tensors->names[i];

		if (comparison->set && !recorded_has(comparison->set, name)) {
			skip(comparison, name);
			free(name);
		} else {
			tensors->names[kept++] = name;
		}
	}
	tensors->count = kept;
	if (kept)
		ret = compare_group(comparison, subject, got, expected, tensors->names, kept);
	skipped = json_array_size(comparison->skipped);
	if (ret || !text_wanted(&comparison->options))
		return ret;
	printf("%zu %s compared, %zu of them %s", comparison->compared,
	       comparison->compared == 1 ? "tensor was" : "tensors were", comparison->differing,
	       comparison->differing == 1 ? "differs" : "differ");
	if (skipped)
		printf("; %zu %s not, as %s %scannot be computed alone", skipped,
		       skipped == 1 ? "was" : "were", skipped == 1 ? "it" : "they",
		       !comparison->set ? "" :
		       skipped == 1	? "has no recorded value or " :
					  "have no recorded value or ");
	putchar('\n');
	return ret;
}

/* ---- the command */

static json_t *to_json(struct comparison *comparison, const struct target *target)
{
	const struct bisected *first = &comparison->first;
	json_t *root = json_pack("{s:o, s:o, s:s?, s:b, s:O}", "model",
				 json_text(WNN_STR(comparison->options.model)), "device",
				 json_text(target->device.device), "with", comparison->with,
				 "differs", comparison->differs, "outputs", comparison->outputs);

	if (root && comparison->all)
		json_object_set(root, "skipped", comparison->skipped);
	if (root && comparison->onnxruntime)
		json_object_set_new(root, "onnxruntime", json_string(comparison->runtime.version));
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

/*
 * Lets ONNX Runtime compute the tensors, whose values then serve as recorded ones. Returns DONE or
 * an exit code.
 */
static int ask_runtime(struct comparison *comparison, const struct subject *subject)
{
	struct computed outputs = { 0 };
	const struct computed *wanted = &outputs;
	int ret = computed_outputs(&outputs, subject);

	/* Outputs are added because those that depend on constants alone are not in the list. */
	for (size_t i = 0; !ret && comparison->tensors.count && i < outputs.count; i++)
		ret = computed_add(&comparison->tensors, outputs.names[i]);
	if (comparison->tensors.count)
		wanted = &comparison->tensors;
	if (!ret)
		ret = onnx_runtime_run(&comparison->runtime, subject,
				       (const char *const *)wanted->names, wanted->count);
	comparison->set = comparison->runtime.result;
	computed_exit(&outputs);
	if (!ret && text_wanted(&comparison->options))
		printf("with ONNX Runtime %s\n", comparison->runtime.version);
	return ret;
}

static int prepare(struct comparison *comparison, struct subject *subject)
{
	const struct options *common = &comparison->options;
	const uint64_t seed = 1;
	int ret = comparison->set && npz_is(comparison->set) && npz_check(comparison->set) ?
			  BAD_FILE :
			  subject_open(subject, common);

	if (!ret && subject->saved &&
	    (comparison->all || comparison->bisect || comparison->onnxruntime))
		ret = complain(BAD_MODEL,
			       "%s: it is a saved graph: %s needs the model that it was made of",
			       common->model,
			       comparison->onnxruntime ? "onnxruntime" :
			       comparison->all	       ? "--all" :
							 "--bisect");
	if (!ret)
		ret = values_read(subject, &seed);
	if (!ret && (comparison->all || (comparison->bisect && comparison->onnxruntime)))
		ret = computed_init(&comparison->tensors, subject);
	if (!ret && comparison->onnxruntime)
		ret = ask_runtime(comparison, subject);
	return ret;
}

static int compare_outputs(struct comparison *comparison, struct subject *subject,
			   struct target *got, struct target *expected)
{
	int ret = target_run(got, subject);

	if (!ret && expected->context)
		ret = target_run(expected, subject);
	if (ret)
		return ret;
	/* The only array of an archive may have any name. */
	if (!expected->context &&
	    (!comparison->set ||
	     (comparison->expected.count && got->output_count == 1 &&
	      !recorded_has(comparison->set, got->results[0].name) && npz_is(comparison->set))))
		return compare_recorded(comparison, got);
	for (size_t i = 0; !ret && i < got->output_count; i++)
		ret = compare_result(comparison, got, expected, i);
	return ret;
}

static int compare(struct comparison *comparison, struct subject *subject, struct target *got,
		   struct target *expected)
{
	const struct options *common = &comparison->options;
	int ret = prepare(comparison, subject);

	if (!ret)
		ret = target_open_for(got, subject, common->device);
	if (!ret && !comparison->set && comparison->with)
		ret = target_open_for(expected, subject, comparison->with);
	if (!ret)
		ret = comparison->all ? compare_all(comparison, subject, got, expected) :
					compare_outputs(comparison, subject, got, expected);
	/* With --all and a set, comparison->tensors has only tensors that the set has. */
	if (!ret && comparison->set && !comparison->compared && comparison->all &&
	    comparison->tensors.count)
		ret = complain(BAD_MODEL,
			       "%s: no tensor that has another value to be compared with can be "
			       "computed alone",
			       common->model);
	else if (!ret && comparison->set && !comparison->compared)
		ret = complain(BAD_FILE, "%s: it has no value of %s of the model",
			       comparison->onnxruntime ? "onnxruntime" : comparison->set,
			       comparison->all ? "any tensor" : "an output");
	if (!ret && comparison->bisect && comparison->differs) {
		ret = bisect(subject, got, expected->context ? expected : NULL, comparison->set,
			     comparison->tolerance, &comparison->first);
		if (!ret && text_wanted(common))
			print_first(comparison);
	}
	if (!ret && common->json)
		ret = write_json(common, to_json(comparison, got));
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
		"Compares the outputs of a model on a device with those on another device, those of "
		"ONNX Runtime, or recorded ones. Inputs that are not given are random, with seed 1.",
		children,
		NULL,
		NULL
	};
	struct comparison comparison = { .tolerance.part = 1e-4,
					 .outputs = json_array(),
					 .skipped = json_array() };
	struct subject subject = { 0 };
	struct target got = { 0 }, expected = { 0 };
	int ret;

	argp_parse(&argp, argc, argv, 0, NULL, &comparison);
	ret = compare(&comparison, &subject, &got, &expected);
	target_close(&got);
	target_close(&expected);
	subject_close(&subject);
	bisect_free(&comparison.first);
	computed_exit(&comparison.tensors);
	onnx_runtime_close(&comparison.runtime);
	json_decref(comparison.outputs);
	json_decref(comparison.skipped);
	pairs_free(&comparison.expected);
	options_free(&comparison.options);
	return ret;
}
