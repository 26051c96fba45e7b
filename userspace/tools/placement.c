// SPDX-License-Identifier: MIT
/* Prints where the operators of a graph run, and why. */
#include "placement.h"

#include <err.h>
#include <inttypes.h>
#include <stdio.h>

#include "json_text.h"

static const char *const devices[] = {
	[WNNNodeDevice_NPU] = "npu", [WNNNodeDevice_CPU] = "cpu", [WNNNodeDevice_Folded] = "folded"
};

static const char *const exactness[] = {
	[WNNExactness_Undefined] = "",		 [WNNExactness_Exact] = "exact",
	[WNNExactness_SplitK] = "split-k",	 [WNNExactness_SplitReduce] = "split-reduce",
	[WNNExactness_SplitKeys] = "split-keys",
};

static const char *const reasons[] = {
	[WNNPlacementReason_Supported] = "supported",
	[WNNPlacementReason_Fused] = "fused",
	[WNNPlacementReason_ConstantFolded] = "constant-folded",
	[WNNPlacementReason_View] = "view",
	[WNNPlacementReason_CPUDevice] = "cpu-device",
	[WNNPlacementReason_CPUPolicy] = "cpu-policy",
	[WNNPlacementReason_Operator] = "operator",
	[WNNPlacementReason_DataType] = "data-type",
	[WNNPlacementReason_Rank] = "rank",
	[WNNPlacementReason_Option] = "option",
	[WNNPlacementReason_Size] = "size",
	[WNNPlacementReason_Cost] = "cost",
	[WNNPlacementReason_CompilerLimit] = "compiler-limit",
};

#define NAME_OF(names, index)                                                                    \
	((size_t)(index) < sizeof(names) / sizeof(*(names)) && (names)[index] ? (names)[index] : \
										"?")

const char *placement_device(WNNNodeDevice device)
{
	return NAME_OF(devices, device);
}

static void print_view(const char *format, WNNStringView view)
{
	printf(format, (int)view.length, view.data ? view.data : "");
}

int placement_print(WNNGraph graph)
{
	WNNGraphPlacement placement = WNN_GRAPH_PLACEMENT_INIT;
	WNNGraphPlacementRules rules = WNN_GRAPH_PLACEMENT_RULES_INIT;
	WNNError error = WNN_ERROR_INIT;

	placement.nextInChain = &rules.chain;
	if (wnnGraphGetPlacement(graph, &placement) != WNNStatus_Success) {
		wnnGetLastError(&error);
		warnx("placement: %.*s", (int)error.message.length, error.message.data);
		return -1;
	}
	for (size_t i = 0; i < placement.nodeCount; i++) {
		const WNNNodePlacement *node = &placement.nodes[i];

		print_view("%-16.*s ", node->operatorName);
		print_view("%-18.*s ", node->label);
		printf("%-7s %-13s %12" PRIu64 " cycles  ", placement_device(node->device),
		       NAME_OF(exactness, node->exactness), node->estimatedCycles);
		if (node->kernel.length)
			print_view("%.*s: ", node->kernel);
		print_view("%.*s", node->reasonText);
		if (rules.rules[i].length)
			print_view("; by %.*s", rules.rules[i]);
		putchar('\n');
	}
	printf("%zu on the NPU, %zu on the CPU, %zu folded\n", placement.npuCount,
	       placement.cpuCount, placement.foldedCount);
	if (placement.compilerLimitCount)
		printf("%zu of those on the CPU met a limit of the compiler\n",
		       placement.compilerLimitCount);
	return 0;
}

static json_t *node_json(const WNNNodePlacement *node, WNNStringView rule)
{
	json_t *json = json_pack("{s:o, s:o, s:s, s:o, s:s, s:o, s:s, s:I, s:I}", "operator",
				 json_text(node->operatorName), "label", json_text(node->label),
				 "device", placement_device(node->device), "kernel",
				 json_text(node->kernel), "reason", NAME_OF(reasons, node->reason),
				 "reason_text", json_text(node->reasonText), "exactness",
				 NAME_OF(exactness, node->exactness), "estimated_cycles",
				 (json_int_t)node->estimatedCycles, "bytes_copied",
				 (json_int_t)node->bytesCopied);

	if (json && node->fusedInto != WNN_NODE_NONE)
		json_object_set_new(json, "fused_into", json_integer(node->fusedInto));
	if (json && rule.length)
		json_object_set_new(json, "rule", json_text(rule));
	return json;
}

json_t *placement_json(WNNGraph graph)
{
	WNNGraphPlacement placement = WNN_GRAPH_PLACEMENT_INIT;
	WNNGraphPlacementRules rules = WNN_GRAPH_PLACEMENT_RULES_INIT;
	json_t *nodes = json_array();

	placement.nextInChain = &rules.chain;
	if (wnnGraphGetPlacement(graph, &placement) != WNNStatus_Success)
		placement.nodeCount = 0;
	for (size_t i = 0; i < placement.nodeCount; i++)
		json_array_append_new(nodes, node_json(&placement.nodes[i], rules.rules[i]));
	return json_pack("{s:o, s:I, s:I, s:I, s:I}", "nodes", nodes, "npu",
			 (json_int_t)placement.npuCount, "cpu", (json_int_t)placement.cpuCount,
			 "folded", (json_int_t)placement.foldedCount, "compiler_limit",
			 (json_int_t)placement.compilerLimitCount);
}
