// SPDX-License-Identifier: MIT
/* webnn-run: writes a profile as a trace for Perfetto and chrome://tracing. */
#include "trace.h"

#include <errno.h>
#include <stdbool.h>

#include "../chrome.h"

/*
 * Returns the node's label, or its kind of operator when it has none; @otherwise when @node is
 * WNN_NODE_NONE.
 */
static json_t *node_name(const WNNGraphProfile *profile, uint32_t node, const char *otherwise)
{
	const WNNProfileNode *of;

	if (node == WNN_NODE_NONE)
		return json_string(otherwise);
	of = &profile->nodes[node];
	return json_text(of->label.length ? of->label : of->operatorName);
}

static int add_names(json_t *list, const struct report *report)
{
	int ret = chrome_name_process(list, CHROME_LIBRARY, "libwebnn-npu");

	ret |= chrome_name_thread(list, CHROME_LIBRARY, 1, "dispatch");
	ret |= chrome_name_thread(list, CHROME_LIBRARY, 2, "steps");
	ret |= chrome_name_process(list, CHROME_NPU, "NPU");
	for (size_t i = 1; i < REPORT_ENGINES; i++)
		ret |= chrome_name_thread(list, CHROME_NPU, (int)i, report->engines[i].name);
	return ret;
}

static int add_spans(json_t *list, const WNNGraphProfile *profile,
		     const WNNGraphStatistics *statistics)
{
	int ret =
		chrome_span(list, CHROME_LIBRARY, 1, json_string("dispatch"), 0,
			    (double)profile->hostNanoseconds,
			    json_pack("{s:I, s:I}", "cycles", (json_int_t)profile->cycles,
				      "spilled_programs", (json_int_t)statistics->spilledPrograms));

	for (size_t i = 0; i < profile->spanCount; i++) {
		const WNNProfileSpan *span = &profile->spans[i];

		ret |= chrome_span(list, CHROME_LIBRARY, 2, node_name(profile, span->node, "NPU"),
				   (double)span->startNanoseconds, (double)span->endNanoseconds,
				   json_pack("{s:I, s:I}", "start_cycle",
					     (json_int_t)span->startCycle, "cycles",
					     (json_int_t)span->cycles));
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

	return chrome_span(list, CHROME_NPU, (int)event->engine,
			   node_name(profile, event->node, "end of the job"), start, end,
			   json_pack("{s:o, s:o, s:I, s:I, s:I}", "instruction",
				     json_text(event->instruction), "operator",
				     json_text(event->node == WNN_NODE_NONE ?
						       none :
						       profile->nodes[event->node].operatorName),
				     "start_cycle", (json_int_t)event->startCycle, "end_cycle",
				     (json_int_t)event->endCycle, "stall_cycles",
				     (json_int_t)event->stallCycles));
}

/*
 * Adds the events to the list. An event belongs to the first NPU job that does not end before the
 * event. Returns 0, or another number when an event could not be added.
 */
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
	int ret;

	ret = add_names(list, report) | add_spans(list, &report->profile, &report->statistics) |
	      add_events(list, &report->profile);

	/* When memory is exhausted, no incomplete trace is written. */
	if (ret)
		json_decref(list);
	errno = 0;
	if (!ret)
		ret = chrome_write(list, path);
	return ret ? complain_unwritten(path, errno) : DONE;
}
