// SPDX-License-Identifier: MIT
/* Builds traces for Perfetto and chrome://tracing; times in their format are in microseconds. */
#include "chrome.h"

/* Returns an event with the fields that all events have. */
static json_t *event(const char *phase, int process, int thread, json_t *name, double time,
		     json_t *arguments)
{
	return json_pack("{s:s, s:i, s:i, s:o, s:f, s:o}", "ph", phase, "pid", process, "tid",
			 thread, "name", name, "ts", time / 1000, "args", arguments);
}

int chrome_span(json_t *list, int process, int thread, json_t *name, double start, double end,
		json_t *arguments)
{
	json_t *span = event("X", process, thread, name, start, arguments);

	return json_object_set_new(span, "dur", json_real((end - start) / 1000)) |
	       json_array_append_new(list, span);
}

int chrome_instant(json_t *list, int process, int thread, json_t *name, double time,
		   json_t *arguments)
{
	json_t *instant = event("i", process, thread, name, time, arguments);

	/* Scope "t" draws the event in the lane of its thread. */
	return json_object_set_new(instant, "s", json_string("t")) |
	       json_array_append_new(list, instant);
}

int chrome_async(json_t *list, int process, int thread, json_t *name, const char *id, double start,
		 double end, json_t *arguments)
{
	json_t *both[2];
	int ret = 0;

	both[1] = event("e", process, thread, json_incref(name), end, json_object());
	both[0] = event("b", process, thread, name, start, arguments);
	for (int i = 0; i < 2; i++)
		ret |= json_object_update_new(both[i],
					      json_pack("{s:s, s:s}", "cat", "job", "id", id)) |
		       json_array_append_new(list, both[i]);
	return ret;
}

static int add_name(json_t *list, const char *what, int process, int thread, const char *name)
{
	return json_array_append_new(list, json_pack("{s:s, s:i, s:i, s:s, s:{s:s}}", "ph", "M",
						     "pid", process, "tid", thread, "name", what,
						     "args", "name", name));
}

int chrome_name_process(json_t *list, int process, const char *name)
{
	return add_name(list, "process_name", process, 0, name);
}

int chrome_name_thread(json_t *list, int process, int thread, const char *name)
{
	return add_name(list, "thread_name", process, thread, name);
}

int chrome_write(json_t *list, const char *path)
{
	json_t *root = json_pack("{s:o, s:s}", "traceEvents", list, "displayTimeUnit", "ns");
	int ret = root ? json_dump_file(root, path, JSON_COMPACT) : -1;

	json_decref(root);
	return ret;
}
