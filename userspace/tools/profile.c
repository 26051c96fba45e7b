// SPDX-License-Identifier: MIT
/* Prints a profile as a table and as a trace. */
#include "profile.h"

#include <inttypes.h>
#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>

#include "json_text.h"

enum { LIBRARY = 1, NPU = 2 }; /* processes of the trace */

static const char *const engines[] = {
	[WNNProfileEngine_Control] = "control", [WNNProfileEngine_Load] = "load",
	[WNNProfileEngine_Store] = "store",	[WNNProfileEngine_Matrix] = "matrix",
	[WNNProfileEngine_Vector] = "vector",
};

#define NUM_ENGINES (sizeof(engines) / sizeof(*engines))

static int get(WNNGraph graph, WNNGraphProfile *profile)
{
	WNNError error = WNN_ERROR_INIT;

	if (wnnGraphGetProfile(graph, profile) == WNNStatus_Success)
		return 0;
	wnnGetLastError(&error);
	fprintf(stderr, "profile: %.*s\n", (int)error.message.length, error.message.data);
	return -1;
}

/* ---- table */

static double percent(uint64_t part, uint64_t whole)
{
	return whole ? 100.0 * (double)part / (double)whole : 0;
}

static void print_node(const WNNGraphProfile *profile, const WNNProfileNode *node)
{
	printf("%-24.*s %-24.*s ", (int)node->operatorName.length, node->operatorName.data,
	       (int)node->label.length, node->label.data);
	if (node->device == WNNNodeDevice_CPU) {
		printf("on the CPU, %" PRIu64 " ns\n", node->cpuNanoseconds);
		return;
	}
	printf("%10" PRIu64 " %5.1f%% %10" PRIu64 " %10" PRIu64 " %10" PRIu64 " %10" PRIu64
	       " %10" PRIu64 " %12" PRIu64 " %10" PRIu64 " %10" PRIu64 "  %.*s\n",
	       node->cycles, percent(node->cycles, profile->cycles), node->loadCycles,
	       node->storeCycles, node->matrixCycles, node->vectorCycles, node->stallCycles,
	       node->macs, node->bytesRead, node->bytesWritten, (int)node->kernel.length,
	       node->kernel.data);
}

static void print_engine(const WNNGraphProfile *profile, WNNProfileEngine engine, uint64_t busy)
{
	uint64_t stall = 0, count = 0;

	for (size_t i = 0; i < profile->eventCount; i++) {
		if (profile->events[i].engine != engine)
			continue;
		stall += profile->events[i].stallCycles;
		count++;
	}
	printf("%-8s %8" PRIu64 " instructions, busy %10" PRIu64 " (%5.1f%%), waiting %10" PRIu64
	       " (%5.1f%%)\n",
	       engines[engine], count, busy, percent(busy, profile->cycles), stall,
	       percent(stall, profile->cycles));
}

int profile_print(WNNGraph graph)
{
	WNNGraphProfile profile = WNN_GRAPH_PROFILE_INIT;

	if (get(graph, &profile))
		return -1;
	printf("%-24s %-24s %10s %6s %10s %10s %10s %10s %10s %12s %10s %10s\n", "operator",
	       "label", "cycles", "", "load", "store", "matrix", "vector", "stall", "macs", "read",
	       "written");
	for (size_t i = 0; i < profile.nodeCount; i++)
		print_node(&profile, &profile.nodes[i]);
	printf("%" PRIu64 " cycles, %" PRIu64 " of them at the end of jobs; %" PRIu64
	       " ns on the host\n",
	       profile.cycles, profile.endCycles, profile.hostNanoseconds);
	print_engine(&profile, WNNProfileEngine_Control, profile.controlCycles);
	print_engine(&profile, WNNProfileEngine_Load, profile.loadCycles);
	print_engine(&profile, WNNProfileEngine_Store, profile.storeCycles);
	print_engine(&profile, WNNProfileEngine_Matrix, profile.matrixCycles);
	print_engine(&profile, WNNProfileEngine_Vector, profile.vectorCycles);
	wnnGraphProfileFreeMembers(profile);
	return 0;
}

/* ---- trace */

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

static int add_names(json_t *list)
{
	int ret = add_name(list, "process_name", LIBRARY, 0, "libwebnn-npu");

	ret |= add_name(list, "thread_name", LIBRARY, 1, "dispatch");
	ret |= add_name(list, "thread_name", LIBRARY, 2, "steps");
	ret |= add_name(list, "process_name", NPU, 0, "NPU");
	for (size_t i = 1; i < NUM_ENGINES; i++)
		ret |= add_name(list, "thread_name", NPU, (int)i, engines[i]);
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

int profile_write_trace(WNNGraph graph, const char *path)
{
	WNNGraphStatistics statistics = WNN_GRAPH_STATISTICS_INIT;
	WNNGraphProfile profile = WNN_GRAPH_PROFILE_INIT;
	json_t *list, *root;
	int ret;

	if (get(graph, &profile))
		return -1;
	wnnGraphGetLastStatistics(graph, &statistics);
	list = json_array();
	root = json_pack("{s:o, s:s}", "traceEvents", list, "displayTimeUnit", "ns");
	ret = !root || add_names(list) || add_spans(list, &profile, &statistics) ||
	      add_events(list, &profile) || json_dump_file(root, path, JSON_COMPACT);
	if (ret)
		fprintf(stderr, "%s: the trace cannot be written\n", path);
	json_decref(root);
	wnnGraphProfileFreeMembers(profile);
	return ret ? -1 : 0;
}
