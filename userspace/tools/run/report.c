// SPDX-License-Identifier: MIT
/*
 * webnn-run: computes the costs of a dispatch from its profile, and writes them as text and JSON.
 */
#include "report.h"

#include <inttypes.h>
#include <onpu/machines.h>
#include <onpu/registers.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../placement.h"
#include "../size_text.h"
#include "quantity.h"

/*
 * Returns the bytes that both DMA engines of the device can move in a cycle. The library reports
 * only the name of the machine; the number is in the table of machines. A name that is not in the
 * table, such as "onpu-custom", is taken for the default machine.
 */
static double bytes_per_cycle(const WNNDeviceInfo *device)
{
	const struct onpu_machine_info *machine;
	char name[32];

	snprintf(name, sizeof(name), "%.*s", (int)device->machine.length, device->machine.data);
	machine = onpu_machine_by_name(name);
	return 2.0 * (machine ? machine : onpu_machine_default)->dma_bytes;
}

/* ---- what follows from the profile */

static double part(double of, double whole)
{
	return whole > 0 ? of / whole : 0;
}

/*
 * Returns the engine that limits a node, "latency" if no engine is busy for half of its cycles, or
 * "cpu"; "" for a node without cycles. Sets *share.
 */
static const char *bound_of(const WNNProfileNode *node, double *share)
{
	const struct {
		const char *name;
		uint64_t busy;
	} engines[] = {
		{ "matrix", node->matrixCycles },   { "vector", node->vectorCycles },
		{ "load", node->loadCycles },	    { "store", node->storeCycles },
		{ "control", node->controlCycles },
	};
	size_t most = 0;

	*share = 0;
	if (node->device == WNNNodeDevice_CPU)
		return "cpu";
	if (!node->cycles)
		return "";
	for (size_t i = 1; i < sizeof(engines) / sizeof(engines[0]); i++)
		if (engines[i].busy > engines[most].busy)
			most = i;
	*share = part((double)engines[most].busy, (double)node->cycles);
	return *share < 0.5 ? "latency" : engines[most].name;
}

static void fill_node(const struct report *report, const WNNProfileNode *node,
		      struct report_node *to)
{
	to->share = part((double)node->cycles, (double)report->profile.cycles);
	to->macs_per_cycle = part((double)node->macs, (double)node->cycles);
	to->share_of_peak = part(to->macs_per_cycle, report->peak_macs_per_cycle);
	to->intensity = part((double)node->macs, (double)(node->bytesRead + node->bytesWritten));
	to->bound = bound_of(node, &to->share_of_bound);
}

static void fill_engines(struct report *report)
{
	const WNNGraphProfile *profile = &report->profile;
	struct report_engine *engines = report->engines;

	engines[WNNProfileEngine_Control] =
		(struct report_engine){ "control", profile->controlCycles, 0, 0 };
	engines[WNNProfileEngine_Load] =
		(struct report_engine){ "load", profile->loadCycles, 0, 0 };
	engines[WNNProfileEngine_Store] =
		(struct report_engine){ "store", profile->storeCycles, 0, 0 };
	engines[WNNProfileEngine_Matrix] =
		(struct report_engine){ "matrix", profile->matrixCycles, 0, 0 };
	engines[WNNProfileEngine_Vector] =
		(struct report_engine){ "vector", profile->vectorCycles, 0, 0 };
	for (size_t i = 0; i < profile->eventCount; i++) {
		const WNNProfileEvent *event = &profile->events[i];

		if ((size_t)event->engine >= REPORT_ENGINES)
			continue;
		engines[event->engine].instructions++;
		engines[event->engine].waiting += event->stallCycles;
	}
	report->bound = "cpu";
	for (size_t i = 1; profile->cycles && i < REPORT_ENGINES; i++) {
		double share = part((double)engines[i].busy, (double)profile->cycles);

		if (share <= report->share_of_bound)
			continue;
		report->share_of_bound = share;
		report->bound = engines[i].name;
	}
}

/* Returns the bytes that an event has moved until cycle @at, spread evenly over its cycles. */
static uint64_t moved_until(const WNNProfileEvent *event, uint64_t bytes, double at)
{
	double from = (double)event->startCycle, to = (double)event->endCycle;

	if (at >= to)
		return bytes;
	return at <= from ? 0 : (uint64_t)((double)bytes * (at - from) / (to - from));
}

static void add_to_parts(struct report *report, const WNNProfileEvent *event,
			 const WNNProfileEventMemory *memory)
{
	double length = (double)report->profile.cycles / REPORT_PARTS;
	size_t first = (size_t)((double)event->startCycle / length);

	for (size_t i = first; i < REPORT_PARTS; i++) {
		struct report_part *part = &report->parts[i];
		double begin = (double)i * length, end = (double)(i + 1) * length;
		/* The last interval gets the remainder, whatever was rounded before. */
		if (i == REPORT_PARTS - 1)
			end = (double)event->endCycle;
		if (i == first)
			begin = (double)event->startCycle;
		part->bytes_read += moved_until(event, memory->bytesRead, end) -
				    moved_until(event, memory->bytesRead, begin);
		part->bytes_written += moved_until(event, memory->bytesWritten, end) -
				       moved_until(event, memory->bytesWritten, begin);
		if (end >= (double)event->endCycle)
			break;
	}
}

/*
 * Fills in memory traffic and SRAM over time. The SRAM in use changes only when an instruction
 * starts.
 */
static void fill_parts(struct report *report, const WNNProfileEventMemory *memory)
{
	const WNNGraphProfile *profile = &report->profile;
	double length = (double)profile->cycles / REPORT_PARTS;
	uint64_t used = 0;
	size_t at = 0;

	if (!profile->cycles)
		return;
	for (size_t i = 0; i < profile->eventCount; i++) {
		add_to_parts(report, &profile->events[i], &memory[i]);
		if (memory[i].sramBytes > report->sram_most)
			report->sram_most = memory[i].sramBytes;
	}
	for (size_t i = 0; i < REPORT_PARTS; i++) {
		report->parts[i].sram_bytes = used;
		for (; at < profile->eventCount &&
		       ((double)profile->events[at].startCycle < (double)(i + 1) * length ||
			i == REPORT_PARTS - 1);
		     at++) {
			used = memory[at].sramBytes;
			if (used > report->parts[i].sram_bytes)
				report->parts[i].sram_bytes = used;
		}
	}
}

int report_init(struct report *report, const struct options *options, const struct target *target)
{
	WNNGraphProfileMemory memory = WNN_GRAPH_PROFILE_MEMORY_INIT;

	*report = (struct report){ .model = options->model,
				   .device = target->device.device,
				   .graph = target->graph,
				   .profile = WNN_GRAPH_PROFILE_INIT,
				   .placement = WNN_GRAPH_PLACEMENT_INIT,
				   .statistics = WNN_GRAPH_STATISTICS_INIT };
	report->profile.nextInChain = &memory.chain;
	if (wnnGraphGetProfile(target->graph, &report->profile) != WNNStatus_Success ||
	    wnnGraphGetPlacement(target->graph, &report->placement) != WNNStatus_Success ||
	    wnnGraphGetLastStatistics(target->graph, &report->statistics) != WNNStatus_Success)
		return complain_wnn(BAD_DEVICE, false, "profile");
	report->profile.nextInChain = NULL;
	report->peak_macs_per_cycle =
		part((double)report->statistics.peakMacs, (double)report->statistics.npuCycles);
	report->share_of_peak =
		part((double)report->statistics.macs, (double)report->statistics.peakMacs);
	report->bytes_per_cycle = bytes_per_cycle(&target->device);
	report->sram_bytes = target->device.sramBytes;
	report->clock_hz = target->device.clockHz ? target->device.clockHz :
						    UINT64_C(1000) * ONPU_CAP_CLOCK_KHZ__RESET;
	fill_engines(report);
	fill_parts(report, memory.events);
	for (size_t i = 0; i < report->profile.nodeCount; i++)
		report->cpu_nanoseconds += report->profile.nodes[i].cpuNanoseconds;
	report->nodes = calloc(report->profile.nodeCount + 1, sizeof(*report->nodes));
	if (!report->nodes)
		return complain(
			BAD_DEVICE,
			"too little memory is free for the profile: end other programs, or profile "
			"a part of the model");
	for (size_t i = 0; i < report->profile.nodeCount; i++) {
		fill_node(report, &report->profile.nodes[i], &report->nodes[i]);
		report->nodes[i].share_of_cpu =
			part((double)report->profile.nodes[i].cpuNanoseconds,
			     (double)report->cpu_nanoseconds);
	}
	return report_sum(report);
}

void report_exit(struct report *report)
{
	report_sum_exit(report);
	free(report->nodes);
	wnnGraphProfileFreeMembers(report->profile);
	*report = (struct report){ 0 };
}

/* ---- text */

static void print_view(int width, WNNStringView view)
{
	printf("%-*.*s ", width, (int)view.length, view.data ? view.data : "");
}

static void print_npu_head(void)
{
	printf(" %8s %8s %8s %8s %8s %8s %8s %10s %10s %5s %-7s", "cycles", "load", "store",
	       "matrix", "vector", "stall", "macs", "read", "written", "peak", "bound");
}

static void print_npu(const WNNProfileNode *node, const struct report_node *of)
{
	const uint64_t counts[] = { node->cycles,	node->loadCycles,   node->storeCycles,
				    node->matrixCycles, node->vectorCycles, node->stallCycles,
				    node->macs };
	char text[QUANTITY_TEXT], read[SIZE_TEXT], written[SIZE_TEXT];

	if (node->device == WNNNodeDevice_CPU) {
		printf("%103s", "");
		return;
	}
	for (size_t i = 0; i < sizeof(counts) / sizeof(counts[0]); i++)
		printf(" %8s", quantity_count(text, counts[i]));
	printf(" %10s %10s %4.1f%% %-7s", size_text(read, node->bytesRead),
	       size_text(written, node->bytesWritten), 100 * of->share_of_peak, of->bound);
}

/* Prints the line of a node, with the NPU's columns only if the dispatch used the NPU. */
static void print_node(const struct report *report, const WNNProfileNode *node,
		       const struct report_node *of)
{
	print_view(24, node->operatorName);
	print_view(24, node->label);
	printf("%10.4f %5.1f%%", of->ms, 100 * of->share_of_time);
	if (report->profile.cycles)
		print_npu(node, of);
	printf("  %-6s ", placement_device(node->device));
	if (node->kernel.length)
		printf("%.*s\n", (int)node->kernel.length, node->kernel.data);
	else
		puts("a view");
}

static void print_sums(const struct report *report, const struct report_sums *sums, const char *of)
{
	char cycles[QUANTITY_TEXT], macs[QUANTITY_TEXT];

	printf("\n%-40s %5s %10s %6s", of, "parts", "ms", "");
	puts(report->profile.cycles ? "   cycles     macs" : "");
	for (size_t i = 0; i < sums->count; i++) {
		const struct report_sum *sum = &sums->list[i];

		print_view(40, sum->name);
		printf("%5zu %10.4f %5.1f%%", sum->nodes, sum->ms, 100 * sum->share_of_time);
		if (report->profile.cycles)
			printf(" %8s %8s", quantity_count(cycles, sum->cycles),
			       quantity_count(macs, sum->macs));
		putchar('\n');
	}
}

static void print_nodes(const struct report *report)
{
	printf("%-24s %-24s %10s %6s", "operator", "label", "ms", "");
	if (report->profile.cycles)
		print_npu_head();
	printf("  %-6s %s\n", "device", "kernel");
	for (size_t i = 0; i < report->profile.nodeCount; i++)
		print_node(report, &report->profile.nodes[report->order[i]],
			   &report->nodes[report->order[i]]);
	print_sums(report, &report->by_label, "node of the model");
	print_sums(report, &report->by_operator, "operator of the model");
	putchar('\n');
}

void report_print(const struct report *report)
{
	const WNNGraphProfile *profile = &report->profile;

	print_nodes(report);
	if (profile->cycles)
		printf("%" PRIu64 " cycles, %" PRIu64
		       " of them at the end of jobs: %.4f ms at %.0f MHz\n",
		       profile->cycles, profile->endCycles,
		       1e3 * (double)profile->cycles / (double)report->clock_hz,
		       (double)report->clock_hz / 1e6);
	printf("%.4f ms on the host\n", (double)profile->hostNanoseconds / 1e6);
	for (size_t i = 1; profile->cycles && i < REPORT_ENGINES; i++) {
		const struct report_engine *engine = &report->engines[i];

		printf("%-8s %8" PRIu64 " instructions, busy %10" PRIu64
		       " (%5.1f%%), waiting %10" PRIu64 " (%5.1f%%)\n",
		       engine->name, engine->instructions, engine->busy,
		       100 * part((double)engine->busy, (double)profile->cycles), engine->waiting,
		       100 * part((double)engine->waiting, (double)profile->cycles));
	}
	if (profile->cycles)
		printf("%.1f of up to %.1f multiply-accumulates in a cycle: %.1f%% of the peak\n",
		       part((double)report->statistics.macs, (double)profile->cycles),
		       report->peak_macs_per_cycle, 100 * report->share_of_peak);
	if (profile->cycles)
		printf("the busiest engine, %s, worked in %.1f%% of the cycles; up to %" PRIu64
		       " of %" PRIu64 " bytes on chip were in use\n",
		       report->bound, 100 * report->share_of_bound, report->sram_most,
		       report->sram_bytes);
}

/* ---- JSON */

static int set_count(json_t *json, const char *key, uint64_t count)
{
	return json_object_set_new(json, key, json_integer((json_int_t)count));
}

static json_t *node_json(const WNNProfileNode *node, const struct report_node *of)
{
	json_t *json = json_pack("{s:o, s:o, s:s, s:o, s:f, s:f, s:f, s:f, s:s}", "operator",
				 json_text(node->operatorName), "label", json_text(node->label),
				 "device", placement_device(node->device), "kernel",
				 json_text(node->kernel), "share", of->share, "share_of_peak",
				 of->share_of_peak, "intensity", of->intensity, "macs_per_cycle",
				 of->macs_per_cycle, "bound", of->bound);

	if (!json)
		return NULL;
	json_object_set_new(json, "onnx_operator", json_text(of->onnx));
	json_object_set_new(json, "share_of_bound", json_real(of->share_of_bound));
	json_object_set_new(json, "share_of_cpu", json_real(of->share_of_cpu));
	json_object_set_new(json, "ms", json_real(of->ms));
	json_object_set_new(json, "share_of_time", json_real(of->share_of_time));
	set_count(json, "instructions", node->instructionCount);
	set_count(json, "cycles", node->cycles);
	set_count(json, "control", node->controlCycles);
	set_count(json, "load", node->loadCycles);
	set_count(json, "store", node->storeCycles);
	set_count(json, "matrix", node->matrixCycles);
	set_count(json, "vector", node->vectorCycles);
	set_count(json, "stall", node->stallCycles);
	set_count(json, "macs", node->macs);
	set_count(json, "bytes_read", node->bytesRead);
	set_count(json, "bytes_written", node->bytesWritten);
	set_count(json, "cpu_ns", node->cpuNanoseconds);
	return json;
}

/*
 * Returns an object of three lists with a number for each interval: bytes read, bytes written, and
 * bytes of SRAM. All are 0 when there are no cycles.
 */
static json_t *parts_json(const struct report *report)
{
	json_t *read = json_array(), *written = json_array(), *sram = json_array();

	for (size_t i = 0; i < REPORT_PARTS; i++) {
		const struct report_part *part = &report->parts[i];

		json_array_append_new(read, json_integer((json_int_t)part->bytes_read));
		json_array_append_new(written, json_integer((json_int_t)part->bytes_written));
		json_array_append_new(sram, json_integer((json_int_t)part->sram_bytes));
	}
	return json_pack("{s:o, s:o, s:o}", "bytes_read", read, "bytes_written", written,
			 "sram_bytes", sram);
}

static json_t *sums_json(const struct report_sums *sums)
{
	json_t *list = json_array();

	for (size_t i = 0; i < sums->count; i++) {
		const struct report_sum *sum = &sums->list[i];
		json_t *json = json_pack("{s:o, s:f, s:f}", "name", json_text(sum->name), "ms",
					 sum->ms, "share_of_time", sum->share_of_time);

		if (!json)
			break;
		set_count(json, "parts", sum->nodes);
		set_count(json, "cycles", sum->cycles);
		set_count(json, "cpu_ns", sum->cpu_nanoseconds);
		set_count(json, "macs", sum->macs);
		set_count(json, "bytes_read", sum->bytes_read);
		set_count(json, "bytes_written", sum->bytes_written);
		json_array_append_new(list, json);
	}
	return list;
}

json_t *report_json(const struct report *report)
{
	const WNNGraphStatistics *statistics = &report->statistics;
	const WNNGraphProfile *profile = &report->profile;
	json_t *nodes = json_array(), *engines = json_object(), *root;

	for (size_t i = 0; i < profile->nodeCount; i++)
		json_array_append_new(nodes, node_json(&profile->nodes[i], &report->nodes[i]));
	for (size_t i = 1; i < REPORT_ENGINES; i++) {
		const struct report_engine *engine = &report->engines[i];
		json_t *json = json_object();

		set_count(json, "busy", engine->busy);
		set_count(json, "instructions", engine->instructions);
		set_count(json, "waiting", engine->waiting);
		json_object_set_new(engines, engine->name, json);
	}
	root = json_pack("{s:o, s:o, s:o, s:o, s:o, s:f, s:f, s:f}", "model",
			 json_text(WNN_STR(report->model)), "device", json_text(report->device),
			 "nodes", nodes, "engines", engines, "placement",
			 placement_json(report->graph), "share_of_peak", report->share_of_peak,
			 "peak_macs_per_cycle", report->peak_macs_per_cycle, "bytes_per_cycle",
			 report->bytes_per_cycle);
	if (!root)
		return NULL;
	json_object_set_new(root, "bound", json_string(report->bound));
	json_object_set_new(root, "share_of_bound", json_real(report->share_of_bound));
	json_object_set_new(root, "over_time", parts_json(report));
	json_object_set_new(root, "by_node", sums_json(&report->by_label));
	json_object_set_new(root, "by_operator", sums_json(&report->by_operator));
	set_count(root, "clock_hz", report->clock_hz);
	set_count(root, "sram_bytes", report->sram_bytes);
	set_count(root, "sram_most", report->sram_most);
	set_count(root, "cycles", profile->cycles);
	set_count(root, "end_cycles", profile->endCycles);
	set_count(root, "host_ns", profile->hostNanoseconds);
	set_count(root, "macs", statistics->macs);
	set_count(root, "peak_macs", statistics->peakMacs);
	set_count(root, "bytes_read", statistics->bytesRead);
	set_count(root, "bytes_written", statistics->bytesWritten);
	set_count(root, "spilled_programs", statistics->spilledPrograms);
	set_count(root, "compiler_limit_nodes", statistics->compilerLimitNodes);
	return root;
}
