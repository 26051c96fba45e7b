// SPDX-License-Identifier: MIT
/* The placement report: one entry for each operator that an output depends on. */
#include <stdio.h>
#include <string.h>

#include "api/graph.h"
#include "util/arena.h"

static WNNStringView view(struct wnn_arena *arena, const char *text, bool *failed)
{
	char *copy = wnn_arena_strdup(arena, text ? text : "");

	if (!copy) {
		*failed = true;
		copy = "";
	}
	return api_view(copy);
}

static void set_view(WNNNodePlacement *node)
{
	node->device = WNNNodeDevice_Folded;
	node->reason = WNNPlacementReason_View;
	node->reasonText = api_view("it moves no data: its result is another view of its input");
}

/*
 * Describes an operator that no node computes: it was folded, or its result is a view. Returns
 * false for all others.
 */
static bool describe_absent(WNNNodePlacement *node, enum wnn_fate fate)
{
	switch (fate) {
	case WNN_FATE_FOLDED:
		node->device = WNNNodeDevice_Folded;
		node->reason = WNNPlacementReason_ConstantFolded;
		node->reasonText =
			api_view("all its inputs are constants; it was computed at build");
		return true;
	case WNN_FATE_VIEW:
	case WNN_FATE_UNUSED:
		set_view(node);
		return true;
	default:
		return false;
	}
}

static const struct ir_node *node_by_id(const struct ir_graph *ir, uint32_t id)
{
	return id < ir->num_nodes ? ir->nodes[id] : NULL;
}

static void describe_npu(WNNNodePlacement *node, const struct npu_node_info *info, bool kept)
{
	node->exactness = info->exactness == NPU_SPLIT_K      ? WNNExactness_SplitK :
			  info->exactness == NPU_SPLIT_REDUCE ? WNNExactness_SplitReduce :
			  info->exactness == NPU_SPLIT_KEYS   ? WNNExactness_SplitKeys :
								WNNExactness_Exact;
	/* The compiler made no code for the node. */
	if (!info->kernel) {
		set_view(node);
		node->exactness = WNNExactness_Undefined;
		return;
	}
	node->kernel = api_view(info->kernel);
	if (kept)
		node->estimatedCycles = info->est_cycles;
}

/* The most bytes of the sentences that say why faster kernels do not compute a node. */
#define MOST_REASONS 1536

static void describe_cpu(WNNNodePlacement *node, WNNGraph graph, const struct ir_node *ir,
			 const struct wnn_node_placement *choice, bool *failed)
{
	const char *kernel = run_compiled_cpu_kernel(graph->compiled, ir);
	char why[MOST_REASONS], text[MOST_REASONS + 512];

	if (!kernel) {
		set_view(node);
		return;
	}
	node->kernel = view(graph->arena, kernel, failed);
	run_compiled_explain_cpu(graph->compiled, ir, why, sizeof(why));
	if (!why[0])
		return;
	snprintf(text, sizeof(text), "%s; %s", choice->text ? choice->text : "", why);
	node->reasonText = view(graph->arena, text, failed);
}

static void describe_node(WNNGraph graph, WNNNodePlacement *node,
			  const struct wnn_pass_entry *entry,
			  const struct wnn_node_placement *choice, bool *failed)
{
	const struct ir_node *ir = node_by_id(run_compiled_graph(graph->compiled), entry->node);
	const struct npu_node_info *info = ir ? run_compiled_npu_info(graph->compiled, ir) : NULL;
	bool kept = entry->fate == WNN_FATE_KEPT;

	node->device = choice->device;
	node->reason = choice->reason;
	node->reasonText = view(graph->arena, choice->text, failed);
	if (choice->device == WNNNodeDevice_NPU && !kept) {
		node->reason = WNNPlacementReason_Fused;
		node->reasonText = api_view("the NPU computes it together with another operator");
	}
	if (info)
		describe_npu(node, info, kept);
	else if (ir && choice->device == WNNNodeDevice_CPU)
		describe_cpu(node, graph, ir, choice, failed);
}

static void count_node(WNNGraphPlacement *placement, const WNNNodePlacement *node)
{
	WNNNodeDevice device = node->device;

	placement->npuCount += device == WNNNodeDevice_NPU;
	placement->cpuCount += device == WNNNodeDevice_CPU;
	placement->foldedCount += device == WNNNodeDevice_Folded;
	placement->compilerLimitCount += device == WNNNodeDevice_CPU &&
					 node->reason == WNNPlacementReason_CompilerLimit;
}

int graph_describe_placement(WNNGraph graph, const struct wnn_recording *recording,
			     const struct wnn_pass_report *report,
			     const struct wnn_placement *placement, struct wnn_error *err)
{
	size_t bytes = (report->num_entries + 1) * sizeof(WNNNodePlacement);
	WNNNodePlacement *nodes = wnn_arena_alloc(graph->arena, bytes);
	/*
	 * The index in the placement of each recorded operator; WNN_NODE_NONE: no output depends on
	 * it.
	 */
	uint32_t *index = wnn_arena_alloc(graph->arena, (report->num_entries + 1) * sizeof(*index));
	WNNGraphPlacement *out = &graph->placement;
	WNNStringView *rules =
		wnn_arena_alloc(graph->arena, (report->num_entries + 1) * sizeof(*rules));
	bool failed = false;

	if (!nodes || !index || !rules)
		return wnn_error_nomem(err, "the placement of a graph");
	graph->rules = rules;
	for (uint32_t i = 0; i < report->num_entries; i++)
		index[i] = recording->operators[i].used ? (uint32_t)out->nodeCount++ :
							  WNN_NODE_NONE;
	out->nodes = nodes;
	for (uint32_t i = 0; i < report->num_entries; i++) {
		const struct wnn_pass_entry *entry = &report->entries[i];
		WNNNodePlacement *node = &nodes[index[i] == WNN_NODE_NONE ? 0 : index[i]];

		if (index[i] == WNN_NODE_NONE)
			continue;
		rules[index[i]] = api_view(entry->rule ? entry->rule : "");
		node->operatorName = api_view(entry->name);
		node->label = view(graph->arena, entry->label, &failed);
		node->kernel = node->reasonText = api_view("");
		node->fusedInto = WNN_NODE_NONE;
		if (!describe_absent(node, entry->fate)) {
			describe_node(graph, node, entry, &placement->nodes[entry->node], &failed);
			if (entry->fate == WNN_FATE_FUSED)
				node->fusedInto = index[report->node_entry[entry->node]];
		}
		count_node(out, node);
	}
	return failed ? wnn_error_nomem(err, "the placement of a graph") : 0;
}

/* ---- the placement as bytes */

static void put_view(struct wnn_writer *w, WNNStringView text)
{
	wnn_put_text(w, text.data, text.length);
}

void graph_write_placement(WNNGraph graph, struct wnn_writer *w)
{
	const WNNGraphPlacement *placement = &graph->placement;

	wnn_put_u32(w, (uint32_t)placement->nodeCount);
	for (size_t i = 0; i < placement->nodeCount; i++) {
		const WNNNodePlacement *node = &placement->nodes[i];

		put_view(w, node->operatorName);
		put_view(w, node->label);
		put_view(w, node->kernel);
		put_view(w, node->reasonText);
		put_view(w, graph->rules[i]);
		wnn_put_u32(w, node->device);
		wnn_put_u32(w, node->reason);
		wnn_put_u32(w, node->exactness);
		wnn_put_u32(w, node->fusedInto);
		wnn_put_u64(w, node->estimatedCycles);
		wnn_put_u64(w, node->bytesCopied);
	}
}

static void get_node(WNNGraph graph, struct wnn_reader *r, WNNNodePlacement *node,
		     WNNStringView *rule)
{
	node->operatorName = api_view(wnn_get_text(r, graph->arena));
	node->label = api_view(wnn_get_text(r, graph->arena));
	node->kernel = api_view(wnn_get_text(r, graph->arena));
	node->reasonText = api_view(wnn_get_text(r, graph->arena));
	*rule = api_view(wnn_get_text(r, graph->arena));
	node->device = (WNNNodeDevice)wnn_get_u32(r);
	node->reason = (WNNPlacementReason)wnn_get_u32(r);
	node->exactness = (WNNExactness)wnn_get_u32(r);
	node->fusedInto = wnn_get_u32(r);
	node->estimatedCycles = wnn_get_u64(r);
	node->bytesCopied = wnn_get_u64(r);
	r->failed |= !wnn_enum_name(&wnn_enum_node_device, node->device) ||
		     !wnn_enum_name(&wnn_enum_placement_reason, node->reason) ||
		     (node->exactness && !wnn_enum_name(&wnn_enum_exactness, node->exactness));
}

int graph_read_placement(WNNGraph graph, struct wnn_reader *r, struct wnn_error *err)
{
	WNNGraphPlacement *placement = &graph->placement;
	uint32_t count = wnn_get_count(r, 12 * sizeof(uint32_t));
	WNNNodePlacement *nodes =
		wnn_arena_alloc(graph->arena, ((size_t)count + 1) * sizeof(*nodes));
	WNNStringView *rules = wnn_arena_alloc(graph->arena, ((size_t)count + 1) * sizeof(*rules));

	if (!nodes || !rules)
		return wnn_error_nomem(err, "the placement of a graph");
	graph->rules = rules;
	placement->nodes = nodes;
	placement->nodeCount = count;
	for (uint32_t i = 0; i < count && !r->failed; i++) {
		get_node(graph, r, &nodes[i], &rules[i]);
		r->failed |= nodes[i].fusedInto != WNN_NODE_NONE && nodes[i].fusedInto >= count;
		if (!r->failed)
			count_node(placement, &nodes[i]);
	}
	if (r->failed)
		return wnn_error_set(err, WNN_OPERATION_ERROR, "its placement report is damaged");
	return 0;
}
