// SPDX-License-Identifier: MIT
/*
 * Runs every case of the validation data against the rules: valid calls must be accepted, with the
 * right types of results; others must be refused with TypeError. The argument is the folder of the
 * data; without it the test is skipped.
 */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "case.h"
#include "graph/builder.h"

#define SKIPPED	   77
#define MAX_INPUTS 16

static struct {
	unsigned int cases, accepted, refused, not_supported, failures, skipped;
} total;

struct inputs {
	size_t count;
	const char *names[MAX_INPUTS];
	WNNOperand operands[MAX_INPUTS];
};

static WNNOperand find_input(const char *name, void *userdata)
{
	const struct inputs *inputs = userdata;

	for (size_t i = 0; name && i < inputs->count; i++)
		if (!strcmp(inputs->names[i], name))
			return inputs->operands[i];
	return NULL;
}

static const char *text(const json_t *object, const char *key)
{
	const char *value = json_string_value(json_object_get(object, key));

	return value ? value : "";
}

/*
 * Makes the inputs of a case. Returns 0; or 1 when a type is not one of WebNN; or -1 when the data
 * is broken.
 */
static int make_inputs(struct wnn_builder *builder, const json_t *test, struct inputs *inputs,
		       struct wnn_error *err)
{
	const json_t *list = json_object_get(test, "inputs"), *item;
	size_t i;

	inputs->count = 0;
	json_array_foreach((json_t *)list, i, item)
	{
		WNNOperandDescriptor descriptor = WNN_OPERAND_DESCRIPTOR_INIT;
		int ret;

		descriptor.dataType =
			wnn_enum_find(&wnn_enum_operand_data_type, text(item, "dataType"));
		if (!descriptor.dataType)
			return 1;
		if (i == MAX_INPUTS ||
		    case_shape(json_object_get(item, "shape"), &descriptor.shape))
			return -1;
		inputs->names[i] = text(item, "name");
		ret = wnn_builder_input(builder, WNN_STR(inputs->names[i]), &descriptor, NULL,
					&inputs->operands[i], err);
		free((void *)descriptor.shape.data);
		if (ret)
			return -1;
		inputs->count++;
	}
	return 0;
}

static bool output_matches(WNNOperand operand, const json_t *expected)
{
	WNNUint32Array shape;
	bool same;

	if (case_shape(json_object_get(expected, "shape"), &shape))
		return false;
	same = operand->data_type ==
		       wnn_enum_find(&wnn_enum_operand_data_type, text(expected, "dataType")) &&
	       operand->rank == shape.count &&
	       (!shape.count ||
		!memcmp(operand->shape, shape.data, shape.count * sizeof(*shape.data)));
	free((void *)shape.data);
	return same;
}

static void report(const json_t *test, const char *op, const char *what, const char *detail)
{
	printf("FAIL %s: %s\n     %s%s\n", op, text(test, "name"), what, detail);
	total.failures++;
}

static void check_accepted(const json_t *test, const char *op, int ret, WNNOperand *outputs,
			   const struct wnn_error *err)
{
	const json_t *expected = json_object_get(test, "expectedOutputs");

	if (ret) {
		report(test, op, "refused: ", err->message);
		return;
	}
	for (size_t i = 0; i < json_array_size(expected); i++)
		if (!output_matches(outputs[i], json_array_get(expected, i)))
			report(test, op, "an output has another type: ",
			       text(json_array_get(expected, i), "name"));
	total.accepted++;
}

static void check_refused(const json_t *test, const char *op, int ret, const struct wnn_error *err)
{
	if (!ret)
		report(test, op, "accepted, but must be refused", "");
	else if (err->status != WNN_TYPE_ERROR || strncmp(err->message, op, strlen(op)))
		report(test, op, "refused otherwise: ", err->message);
	else
		total.refused++;
	if (getenv("SHOW_MESSAGES"))
		printf("%s\n     %s\n", text(test, "name"), err->message);
}

/* Checks that the call is refused as not supported when the back ends can execute nothing. */
static void check_unsupported(const json_t *test, const char *op, int ret,
			      const struct wnn_error *err)
{
	if (!ret || err->status != WNN_NOT_SUPPORTED)
		report(test, op, "not refused as not supported: ", err->message);
	else
		total.not_supported++;
}

static void run_case(const json_t *test, bool executable)
{
	struct wnn_builder_config config = { .limits.ir_ops = executable ? UINT64_MAX : 0 };
	const json_t *op = json_array_get(json_object_get(test, "operators"), 0);
	bool expect_success = !strcmp(text(test, "expect"), "success") &&
			      !json_object_get(test, "outsideSpec");
	struct wnn_builder *builder;
	struct wnn_error err = { 0 };
	WNNOperand outputs[64] = { NULL };
	struct inputs inputs;
	struct case_call c;
	char problem[128];
	int ret;

	builder = wnn_builder_create(&config, &err);
	ret = make_inputs(builder, test, &inputs, &err);
	if (ret > 0) {
		total.skipped++;
		wnn_builder_destroy(builder);
		return;
	}
	if (ret || case_call_make(&c, op, find_input, &inputs, problem, sizeof(problem))) {
		report(test, text(op, "name"), "not understood: ", ret ? err.message : problem);
		wnn_builder_destroy(builder);
		return;
	}
	total.cases++;
	/* A case that is refused names no outputs. */
	ret = wnn_builder_record_op(builder, &c.call, c.num_outputs ? c.num_outputs : 1, outputs,
				    &err);
	if (expect_success && executable)
		check_accepted(test, text(op, "name"), ret, outputs, &err);
	else if (expect_success)
		check_unsupported(test, text(op, "name"), ret, &err);
	else
		check_refused(test, text(op, "name"), ret, &err);
	case_call_free(&c);
	wnn_builder_destroy(builder);
}

static int run_file(const char *folder, const char *name)
{
	char path[4096];
	json_error_t error;
	const json_t *test;
	json_t *file;
	size_t i;

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	file = json_load_file(path, 0, &error);
	if (!file || strcmp(text(file, "format"), "webnn-validation/1")) {
		fprintf(stderr, "%s: %s\n", path, file ? "unknown format" : error.text);
		json_decref(file);
		return -1;
	}
	json_array_foreach(json_object_get(file, "cases"), i, test)
	{
		run_case(test, true);
		run_case(test, false);
	}
	json_decref(file);
	return 0;
}

int main(int argc, char **argv)
{
	DIR *folder = argc > 1 ? opendir(argv[1]) : NULL;
	unsigned int files = 0;
	struct dirent *entry;

	if (!folder) {
		printf("skipped: no validation data%s%s\n", argc > 1 ? " in " : "",
		       argc > 1 ? argv[1] : "");
		return SKIPPED;
	}
	while ((entry = readdir(folder))) {
		const char *end = strrchr(entry->d_name, '.');

		if (!end || strcmp(end, ".json"))
			continue;
		if (run_file(argv[1], entry->d_name))
			total.failures++;
		files++;
	}
	closedir(folder);
	printf("%u files, %u calls: %u accepted, %u refused, %u not supported, %u skipped (types), "
	       "%u failed\n",
	       files, total.cases, total.accepted, total.refused, total.not_supported,
	       total.skipped, total.failures);
	return total.failures || !files;
}
