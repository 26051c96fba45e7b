// SPDX-License-Identifier: MIT
/* webnn-run: a profile as a trace, for Perfetto and chrome://tracing. */
#include "trace.h"

#include <stdbool.h>

enum { LIBRARY = 1, NPU = 2 }; /* processes of the trace */

/* Label, or what it is when it has none. */
static json_t *node_name(const WNNGraphProfile *profile, uint32_t node, const char *otherwise)
{
	const WNNProfileNode *of;

	if (node == WNN_NODE_NONE)
		return json_string(otherwise);
	of = &profile->nodes[node];
	return json_text(of->label.length ? of->label : of->operatorName);
}

/* Takes name and arguments over; times are in ns of the host. */
static int add(json_t *list, int process, int thread, json_t *name, double start, double end,
	       json_t *arguments)
{
	return json_array_append_new(list, json_pack("{s:s, s:i, s:i, s:o, s:f, s:f, s:o}", "ph",
						     "X", "pid", process, "tid", thread, "name",
						     name, "ts", start / 1000, "dur",
						     (end - start) / 1000, "args", arguments));
}

static int add_name(json_t *list, const char *what, int process, int thread, const char *name)
{
	return json_array_append_new(list, json_pack("{s:s, s:i, s:i, s:s, s:{s:s}}", "ph", "M",
						     "pid", process, "tid", thread, "name", what,
						     "args", "name", name));
}

static int add_names(json_t *list, const struct report *report)
{
	int ret = add_name(list, "process_name", LIBRARY, 0, "libwebnn-npu");

	ret |= add_name(list, "thread_name", LIBRARY, 1, "dispatch");
	ret |= add_name(list, "thread_name", LIBRARY, 2, "steps");
	ret |= add_name(list, "process_name", NPU, 0, "NPU");
	for (size_t i = 1; i < REPORT_ENGINES; i++)
		ret |= add_name(list, "thread_name", NPU, (int)i, report->engines[i].name);
	return ret;
}

static int add_spans(json_t *list, const WNNGraphProfile *profile,
		     const WNNGraphStatistics *statistics)
{
	int ret = add(list, LIBRARY, 1, json_string("dispatch"), 0,
		      (double)profile->hostNanoseconds,
		      json_pack("{s:I, s:I}", "cycles", (json_int_t)profile->cycles,
				"spilled_programs", (json_int_t)statistics->spilledPrograms));

	for (size_t i = 0; i < profile->spanCount; i++) {
		const WNNProfileSpan *span = &profile->spans[i];

		ret |= add(list, LIBRARY, 2, node_name(profile, span->node, "NPU"),
			   (double)span->startNanoseconds, (double)span->endNanoseconds,
			   json_pack("{s:I, s:I}", "start_cycle", (json_int_t)span->startCycle,
				     "cycles", (json_int_t)span->cycles));
	}
	return ret;
}

static int add_event(json_t *list, const WNNGraphProfile *profile, const WNNProfileSpan *span,
		     const WNNProfileEvent *event)
{
	double scale = span->cycles ? (double)(span->endNanoseconds - span->startNanoseconds) /
					      (double)span->cycles :
				      0;
	double start = (double)span->startNanoseconds +
		       (double)(event->startCycle - span->startCycle) * scale;
	double end = (double)span->startNanoseconds +
		     (double)(event->endCycle - span->startCycle) * scale;
	const WNNStringView none = { "", 0 };

	return add(list, NPU, (int)event->engine, node_name(profile, event->node, "end of the job"),
		   start, end,
		   json_pack("{s:o, s:o, s:I, s:I, s:I}", "instruction",
			     json_text(event->instruction), "operator",
			     json_text(event->node == WNN_NODE_NONE ?
					       none :
					       profile->nodes[event->node].operatorName),
			     "start_cycle", (json_int_t)event->startCycle, "end_cycle",
			     (json_int_t)event->endCycle, "stall_cycles",
			     (json_int_t)event->stallCycles));
}

/* Events of a job lie between its begin and that of the next. */
static int add_events(json_t *list, const WNNGraphProfile *profile)
{
	size_t at = 0;
	int ret = 0;

	for (size_t i = 0; i < profile->spanCount; i++) {
		const WNNProfileSpan *span = &profile->spans[i];

		if (span->device != WNNNodeDevice_NPU)
			continue;
		for (; at < profile->eventCount &&
		       profile->events[at].endCycle <= span->startCycle + span->cycles;
		     at++)
			ret |= add_event(list, profile, span, &profile->events[at]);
	}
	return ret;
}

int trace_write(const struct report *report, const char *path)
{
	json_t *list = json_array();
	json_t *root = json_pack("{s:o, s:s}", "traceEvents", list, "displayTimeUnit", "ns");
	int ret = !root || add_names(list, report) ||
		  add_spans(list, &report->profile, &report->statistics) ||
		  add_events(list, &report->profile) || json_dump_file(root, path, JSON_COMPACT);

	json_decref(root);
	return ret ? complain(BAD_FILE, "%s: the trace cannot be written", path) : DONE;
}
