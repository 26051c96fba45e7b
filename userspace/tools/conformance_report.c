// SPDX-License-Identifier: MIT
/* wnn-conformance: prints the results, and writes them as JSON. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "conformance.h"
#include "json_text.h"

/* Reasons of skipped cases that a line names; further ones are only counted. */
#define MAX_REASONS 4
/* Bytes that a line shows of a reason. */
#define MAX_SHOWN 100

struct skip_reason {
	char text[REASON_SIZE];
	size_t count;
};

struct file_report {
	char *path;
	struct counts counts;
	size_t reason_count, other;
	struct skip_reason reasons[MAX_REASONS];
	json_t *json, *cases; /* NULL: no JSON report was requested */
};

static const char *const outcomes[] = { "passed", "failed", "skipped" };

static void count_skip(struct file_report *file, const char *reason)
{
	size_t i = 0;

	while (i < file->reason_count && strcmp(file->reasons[i].text, reason))
		i++;
	if (i == MAX_REASONS) {
		file->other++;
		return;
	}
	if (i == file->reason_count) {
		snprintf(file->reasons[i].text, REASON_SIZE, "%s", reason);
		file->reason_count++;
	}
	file->reasons[i].count++;
}

struct file_report *report_file_begin(struct report *report, const char *path, const char *operator)
{
	struct file_report *file = calloc(1, sizeof(*file));

	if (!file || !(file->path = strdup(path))) {
		fprintf(stderr, "wnn-conformance: memory is exhausted\n");
		exit(EXIT_FAILURE);
	}
	if (report->files) {
		file->json = json_pack("{s:o, s:s?}", "file", json_text(WNN_STR(path)),
				       "operator", operator);
		file->cases = json_array();
	}
	return file;
}

/*
 * Returns a number for JSON, which has only finite ones; others become a string, as in the cases:
 * "NaN", "Infinity" or "-Infinity".
 */
static json_t *number(double value)
{
	if (isfinite(value))
		return json_real(value);
	return json_string(isnan(value) ? "NaN" : value > 0 ? "Infinity" : "-Infinity");
}

static json_t *case_json(const char *name, const struct result *result)
{
	json_t *json = json_pack("{s:s, s:s}", "name", name, "result", outcomes[result->outcome]);

	if (result->outcome != OUTCOME_PASSED)
		json_object_set_new(json, "reason", json_text(WNN_STR(result->reason)));
	if (result->measured) {
		json_object_set_new(json, "error", number(result->error));
		json_object_set_new(json, "metric",
				    json_string(metric_name(result->tolerance.metric)));
		json_object_set_new(json, "tolerance", number(result->tolerance.value));
		json_object_set_new(json, "npuCycles", json_integer((json_int_t)result->cycles));
	}
	if (result->placed) {
		json_object_set_new(json, "npuNodes", json_integer((json_int_t)result->on_npu));
		json_object_set_new(json, "foldedNodes", json_integer((json_int_t)result->folded));
	}
	return json;
}

void report_case(struct file_report *file, const char *name, const struct result *result)
{
	switch (result->outcome) {
	case OUTCOME_PASSED:
		file->counts.passed++;
		break;
	case OUTCOME_FAILED:
		file->counts.failed++;
		fprintf(stderr, "%s: %s: %s\n", file->path, name, result->reason);
		break;
	case OUTCOME_SKIPPED:
		file->counts.skipped++;
		count_skip(file, result->reason);
		break;
	}
	if (file->cases)
		json_array_append_new(file->cases, case_json(name, result));
}

static void set_counts(json_t *json, const struct counts *counts)
{
	json_object_set_new(json, "passed", json_integer((json_int_t)counts->passed));
	json_object_set_new(json, "failed", json_integer((json_int_t)counts->failed));
	json_object_set_new(json, "skipped", json_integer((json_int_t)counts->skipped));
}

static void print_line(const struct file_report *file)
{
	const char *separator = " (";

	printf("%s: %zu passed, %zu failed, %zu skipped", file->path, file->counts.passed,
	       file->counts.failed, file->counts.skipped);
	for (size_t i = 0; i < file->reason_count; i++) {
		const struct skip_reason *reason = &file->reasons[i];
		bool cut = strlen(reason->text) > MAX_SHOWN;

		printf("%s%zu: %.*s%s", separator, reason->count, MAX_SHOWN, reason->text,
		       cut ? "..." : "");
		separator = "; ";
	}
	if (file->other)
		printf("; %zu for other reasons", file->other);
	printf("%s\n", file->reason_count ? ")" : "");
	fflush(stdout);
}

void report_file_end(struct report *report, struct file_report *file)
{
	print_line(file);
	report->total.passed += file->counts.passed;
	report->total.failed += file->counts.failed;
	report->total.skipped += file->counts.skipped;
	if (file->json) {
		set_counts(file->json, &file->counts);
		json_object_set_new(file->json, "cases", file->cases);
		json_array_append_new(report->files, file->json);
	}
	free(file->path);
	free(file);
}

int report_write(struct report *report, const struct runner *runner, const char *path)
{
	json_t *json = json_pack("{s:s, s:s, s:I, s:i}", "format", "webnn-conformance-report/1",
				 "device", runner->device, "sramBytes", (json_int_t)runner->sram,
				 "threads", (int)runner->threads);
	int ret;

	if (json)
		set_counts(json, &report->total);
	errno = 0;
	ret = !json || json_object_set(json, "files", report->files) ?
		      -1 :
		      json_dump_file(json, path, JSON_INDENT(1));
	if (ret)
		fprintf(stderr, "wnn-conformance: %s: cannot be written: %s\n", path,
			errno ? strerror(errno) : "memory is exhausted");
	json_decref(json);
	return ret;
}
