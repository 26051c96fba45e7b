// SPDX-License-Identifier: MIT
/* Reads and writes the demo's file of results; see demo_record.h. */
#include "demo_record.h"

#include <err.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

json_t *demo_record_load(const char *path)
{
	json_error_t error;
	json_t *root = json_load_file(path, 0, &error);

	/* A file that does not open has no line. */
	if (!root && error.line < 0)
		warnx("%s", error.text);
	else if (!root)
		warnx("%s: line %d: %s", path, error.line, error.text);
	return root;
}

int demo_record_write(const json_t *root, const char *path)
{
	int ret;

	errno = 0;
	ret = root ? json_dump_file(root, path, JSON_INDENT(2) | JSON_SORT_KEYS) : -1;
	if (ret)
		warnx("%s: cannot be written: %s", path,
		      errno ? strerror(errno) : "memory is exhausted");
	return ret;
}

static json_t *member(json_t *object, const char *name)
{
	json_t *value = json_object_get(object, name);

	if (!value && !json_object_set_new(object, name, json_object()))
		value = json_object_get(object, name);
	return value;
}

json_t *demo_record_add(json_t *root, const char *network, const char *device)
{
	json_t *record = member(member(root, network), device);

	if (!json_is_array(json_object_get(record, "results")) &&
	    json_object_set_new(record, "results", json_array())) {
		warnx("no memory for the results");
		return NULL;
	}
	return record;
}

json_t *demo_record_find(json_t *root, const char *network, const char *device, const char *path)
{
	json_t *record = json_object_get(json_object_get(root, network), device);

	if (!record)
		warnx("%s: no results of '%s' on '%s'", path, network, device);
	return record;
}

int demo_record_append(json_t *record, const float *results, size_t count)
{
	json_t *row = json_array();

	for (size_t i = 0; i < count; i++)
		if (json_array_append_new(row, json_real((double)results[i]))) {
			warnx("result %zu cannot be recorded: not finite, or no memory", i);
			json_decref(row);
			return -1;
		}
	return json_array_append_new(json_object_get(record, "results"), row);
}

int demo_record_read(const json_t *record, size_t picture, float *results, size_t count)
{
	const json_t *row = json_array_get(json_object_get(record, "results"), picture);

	if (json_array_size(row) != count) {
		warnx("picture %zu: %zu results recorded, not %zu", picture, json_array_size(row),
		      count);
		return -1;
	}
	for (size_t i = 0; i < count; i++)
		results[i] = (float)json_real_value(json_array_get(row, i));
	return 0;
}

int demo_record_finish(json_t *record, double seconds, const WNNGraphStatistics *statistics)
{
	json_t *summary = json_pack("{s:f, s:I, s:I, s:I}", "seconds", seconds, "cycles",
				    (json_int_t)statistics->npuCycles, "macs",
				    (json_int_t)statistics->macs, "peak_macs",
				    (json_int_t)statistics->peakMacs);

	if (summary && !json_object_update_new(record, summary))
		return 0;
	warnx("no memory for the results");
	return -1;
}

int demo_record_summary(const json_t *record, double *seconds, WNNGraphStatistics *statistics)
{
	json_int_t cycles, macs, peak;
	json_error_t error;

	if (json_unpack_ex((json_t *)record, &error, 0, "{s:F, s:I, s:I, s:I}", "seconds", seconds,
			   "cycles", &cycles, "macs", &macs, "peak_macs", &peak)) {
		warnx("recorded results: %s", error.text);
		return -1;
	}
	statistics->npuCycles = (uint64_t)cycles;
	statistics->macs = (uint64_t)macs;
	statistics->peakMacs = (uint64_t)peak;
	return 0;
}
