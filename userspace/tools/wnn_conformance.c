// SPDX-License-Identifier: MIT
/*
 * wnn-conformance: runs test cases of the schemas webnn-conformance/1 and webnn-validation/1 on a
 * device. Standard output gets a line for each file and the totals, standard error the failures.
 */
#include <argp.h>
#include <errno.h>
#include <fts.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "conformance.h"
#include "device_name.h"
#include "size_text.h"

struct options {
	struct runner runner;
	const char *json, *only;
	uint32_t every;
	char **paths;
	size_t path_count;
};

/* --- Files ----------------------------------------------------------------------------------- */

/* Counts a file that cannot be read as one failed case. */
static void fail_file(struct report *report, const char *path, const char *reason)
{
	struct file_report *file = report_file_begin(report, path, NULL);
	struct result result = { .outcome = OUTCOME_FAILED };

	snprintf(result.reason, sizeof(result.reason), "%s", reason);
	report_case(file, "(file)", &result);
	report_file_end(report, file);
}

static void run_cases(struct options *options, struct report *report, const char *path,
		      const json_t *root, bool validation)
{
	const char *operator= json_string_value(json_object_get(root, "operator"));
	const json_t *cases = json_object_get(root, "cases");
	struct file_report *file = report_file_begin(report, path, operator);

	for (size_t i = 0; i < json_array_size(cases); i += options->every) {
		const json_t *item = json_array_get(cases, i);
		const char *name = json_string_value(json_object_get(item, "name"));
		struct result result;

		if (!name)
			name = "(no name)";
		if (options->only && !strstr(name, options->only))
			continue;
		run_case(&options->runner, item, validation, &result);
		report_case(file, name, &result);
	}
	report_file_end(report, file);
}

/*
 * Runs the cases of a file. @found: it was found in a folder, where files of other formats are
 * skipped.
 */
static void run_file(struct options *options, struct report *report, const char *path, bool found)
{
	const char *format;
	char reason[REASON_SIZE];
	json_error_t error;
	json_t *root = value_load(path, &error);
	bool values, validation;

	if (!root) {
		/* A file that cannot be read has no line. */
		if (error.line < 0)
			snprintf(reason, sizeof(reason), "%s", error.text);
		else
			snprintf(reason, sizeof(reason), "line %d: %s", error.line, error.text);
		fail_file(report, path, reason);
		return;
	}
	format = json_string_value(json_object_get(root, "format"));
	values = format && !strcmp(format, "webnn-conformance/1");
	validation = format && !strcmp(format, "webnn-validation/1");
	if ((values || validation) && json_is_array(json_object_get(root, "cases")))
		run_cases(options, report, path, root, validation);
	else if (values || validation)
		fail_file(report, path, "it has no list 'cases'");
	else if (!found)
		fail_file(report, path,
			  "its format is neither webnn-conformance/1 nor webnn-validation/1");
	json_decref(root);
}

static int by_name(const FTSENT **a, const FTSENT **b)
{
	return strcmp((*a)->fts_name, (*b)->fts_name);
}

static bool is_json(const FTSENT *entry)
{
	return entry->fts_namelen > 5 && !strcmp(entry->fts_name + entry->fts_namelen - 5, ".json");
}

static void run_path(struct options *options, struct report *report, char *path)
{
	char *const roots[] = { path, NULL };
	FTS *tree = fts_open(roots, FTS_LOGICAL | FTS_NOCHDIR, by_name);
	FTSENT *entry;

	if (!tree) {
		fail_file(report, path, strerror(errno));
		return;
	}
	while ((entry = fts_read(tree))) {
		switch (entry->fts_info) {
		case FTS_SLNONE:
			/* In a folder, such links are those with which editors lock files. */
			if (entry->fts_level == FTS_ROOTLEVEL)
				fail_file(report, path, "it is a link to a file that is not there");
			break;
		case FTS_F:
			if (entry->fts_level == FTS_ROOTLEVEL)
				run_file(options, report, path, false);
			else if (is_json(entry))
				run_file(options, report, entry->fts_path, true);
			break;
		case FTS_NS:
		case FTS_DNR:
		case FTS_ERR:
			fail_file(report, entry->fts_path, strerror(entry->fts_errno));
			break;
		}
	}
	fts_close(tree);
}

/* --- Arguments ------------------------------------------------------------------------------- */

enum { KEY_DEVICE = 256, KEY_SRAM, KEY_THREADS, KEY_JSON, KEY_CASE, KEY_EVERY, KEY_MIXED };

static const struct argp_option argp_options[] = {
	{ "device", KEY_DEVICE, "DEVICE", 0, "cpu, sim, npu or npu:1; default: cpu", 0 },
	{ "sram", KEY_SRAM, "BYTES", 0, "size of the SRAM of sim, such as 512K", 0 },
	{ "threads", KEY_THREADS, "N", 0,
	  "number of threads of cpu and sim; 0: one for each processor", 0 },
	{ "mixed", KEY_MIXED, NULL, 0, "on sim and npu: let the CPU run what the NPU cannot", 0 },
	{ "json", KEY_JSON, "FILE", 0, "write every case with its result and largest error", 0 },
	{ "case", KEY_CASE, "TEXT", 0, "only the cases whose name has TEXT in it", 0 },
	{ "every", KEY_EVERY, "N", 0, "only the first of each N cases of a file", 0 },
	{ 0 }
};

static uint64_t parse_number(struct argp_state *state, const char *what, const char *text,
			     uint64_t max)
{
	uint64_t value = 0;
	const char *end;

	if (!number_text_read(text, &value, &end) || *end || value > max)
		argp_error(state, "--%s is '%s', expected a number up to %llu", what, text,
			   (unsigned long long)max);
	return value;
}

const char *argp_program_version = "wnn-conformance " ONPU_VERSION;

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct options *options = state->input;

	switch (key) {
	case KEY_DEVICE:
		if (!device_name_is(arg))
			argp_error(state, "--device is '%s', expected one of " DEVICE_NAMES, arg);
		options->runner.device = arg;
		break;
	case KEY_SRAM:
		if (!size_text_read(arg, &options->runner.sram))
			argp_error(state,
				   "--sram is '%s', expected a number of bytes, with K, M or G "
				   "behind it for KiB, MiB or GiB",
				   arg);
		break;
	case KEY_THREADS:
		options->runner.threads = (uint32_t)parse_number(state, "threads", arg, 1024);
		break;
	case KEY_MIXED:
		options->runner.mixed = true;
		break;
	case KEY_JSON:
		options->json = arg;
		break;
	case KEY_CASE:
		options->only = arg;
		break;
	case KEY_EVERY:
		options->every = (uint32_t)parse_number(state, "every", arg, UINT32_MAX);
		if (!options->every)
			argp_error(state, "--every is 0, expected at least 1");
		break;
	case ARGP_KEY_ARGS:
		options->paths = state->argv + state->next;
		options->path_count = (size_t)(state->argc - state->next);
		break;
	case ARGP_KEY_NO_ARGS:
		argp_error(
			state,
			"no file and no folder of cases is given; those of this project are installed in " CASES);
		break;
	default:
		return ARGP_ERR_UNKNOWN;
	}
	return 0;
}

static const struct argp argp = {
	argp_options,
	parse,
	"FILE|FOLDER...",
	"Runs conformance cases of WebNN, in files of the formats webnn-conformance/1 and webnn-validation/1. Cases of this "
	"project are installed in " CASES
	". On sim and npu everything must run on the NPU; a graph "
	"that cannot is skipped with the reason of its placement, unless --mixed is given. The exit status is 0 when "
	"nothing failed and something passed.",
	NULL,
	NULL,
	NULL
};

int main(int argc, char **argv)
{
	struct options options = { .runner = { .device = "cpu" }, .every = 1 };
	struct report report = { { 0, 0, 0 }, NULL };
	int ret;

	argp_parse(&argp, argc, argv, 0, NULL, &options);
	if (runner_open(&options.runner))
		return EXIT_FAILURE;
	if (options.json)
		report.files = json_array();
	for (size_t i = 0; i < options.path_count; i++)
		run_path(&options, &report, options.paths[i]);
	printf("%zu passed, %zu failed, %zu skipped\n", report.total.passed, report.total.failed,
	       report.total.skipped);
	ret = report.total.passed && !report.total.failed ? EXIT_SUCCESS : EXIT_FAILURE;
	if (options.json && report_write(&report, &options.runner, options.json))
		ret = EXIT_FAILURE;
	json_decref(report.files);
	runner_close(&options.runner);
	return ret;
}
