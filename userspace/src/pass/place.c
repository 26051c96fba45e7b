// SPDX-License-Identifier: MIT
/*
 * Placement: chooses the device of each node. The report has a reason for every node that is not on
 * the NPU.
 *
 * Precondition: a verified graph. Postcondition: each node has a device that can run it, or an
 * error names the nodes without one.
 */
#include "pass/place.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "graph/limits.h"
#include "util/arena.h"
#include "util/malloc.h"

#define SENTENCE_SIZE 512

/*
 * Appends the operands' types to a sentence: "...; operands float32[1,3], float32[3]". Returns
 * buffer.
 */
static const char *sentence(const struct ir_node *node, const char *text,
			    char buffer[SENTENCE_SIZE])
{
	char shape[WNN_SHAPE_TEXT_SIZE];
	size_t used = (size_t)snprintf(buffer, SENTENCE_SIZE, "%s; operands", text);
	const char *between = " ";

	for (uint32_t i = 0; i < node->num_operands && used < SENTENCE_SIZE; i++) {
		const struct ir_type *type = node->operands[i] ? &node->operands[i]->type : NULL;

		if (!type)
			continue;
		used += (size_t)snprintf(buffer + used, SENTENCE_SIZE - used, "%s%s%s", between,
					 ir_dtype_name(type->dtype),
					 wnn_shape_text(type, shape, sizeof(shape)));
		between = ", ";
	}
	return buffer;
}

static void place_on_cpu(const struct ir_node *node, const struct wnn_place_options *options,
			 struct wnn_node_placement *choice)
{
	choice->device = WNNNodeDevice_CPU;
	if (options->cpu && options->cpu(node, options->userdata))
		return;
	choice->failed = true;
	choice->text = options->cpu_device || options->policy == WNNPlacementPolicy_CPUOnly ?
			       "the CPU has no kernel for it" :
			       "neither the NPU nor the CPU can run it";
}

/* Fills in *choice; choice->text is a static sentence without the operands' types. */
static void place_node(const struct ir_node *node, const struct wnn_place_options *options,
		       struct wnn_node_placement *choice)
{
	const char *text = NULL;

	if (options->cpu_device) {
		choice->reason = WNNPlacementReason_CPUDevice;
		choice->text = "the device of the context is the CPU";
		place_on_cpu(node, options, choice);
		return;
	}
	if (options->policy == WNNPlacementPolicy_CPUOnly) {
		choice->reason = WNNPlacementReason_CPUPolicy;
		choice->text = "the placement policy is CPUOnly";
		place_on_cpu(node, options, choice);
		return;
	}
	choice->reason = options->npu(node, options->userdata, &text);
	choice->text = text ? text : "the NPU cannot run it";
	if (choice->reason == WNNPlacementReason_Supported) {
		choice->device = WNNNodeDevice_NPU;
		choice->text = "the NPU runs it";
	} else if (options->policy == WNNPlacementPolicy_NPUOnly) {
		choice->device = WNNNodeDevice_CPU;
		choice->failed = true;
	} else {
		place_on_cpu(node, options, choice);
	}
}

/* The list of operators in a message; the first operator always fits. */
#define LIST_SIZE (SENTENCE_SIZE + IR_NODE_NAME_SIZE + 16)

/* Appends `conv2d "stem": text` to a message; false when it does not fit. */
static bool list_node(char *message, size_t size, size_t *used, const struct ir_node *node,
		      const char *text)
{
	char entry[LIST_SIZE], name[IR_NODE_NAME_SIZE];
	int length = snprintf(entry, sizeof(entry), "%s%s: %s", *used ? "; " : "",
			      ir_node_name(node, name, sizeof(name)), text);

	if (length < 0 || (size_t)length >= sizeof(entry) || *used + (size_t)length >= size)
		return false;
	memcpy(message + *used, entry, (size_t)length + 1);
	*used += (size_t)length;
	return true;
}

static int refuse(struct wnn_error *err, enum wnn_status status,
		  const struct wnn_place_options *options, uint32_t failures, const char *list,
		  const char *rest)
{
	const char *plural = failures == 1 ? "" : "s";

	if (options->policy == WNNPlacementPolicy_NPUOnly)
		return wnn_error_set(err, status,
				     "%" PRIu32 " operator%s cannot run on the NPU, and the policy "
				     "NPUOnly allows no other device: %s%s",
				     failures, plural, list, rest);
	return wnn_error_set(err, status,
			     "%" PRIu32
			     " operator%s can run on no device that the context and its placement "
			     "policy allow: %s%s",
			     failures, plural, list, rest);
}

static int report_failures(const struct ir_graph *graph, const struct wnn_placement *placement,
			   const struct wnn_place_options *options, uint32_t failures,
			   struct wnn_error *err)
{
	char list[LIST_SIZE] = "", rest[40] = "";
	uint32_t listed = 0;
	size_t used = 0;

	for (uint32_t n = 0; n < graph->num_nodes; n++) {
		if (!placement->nodes[n].failed)
			continue;
		if (!list_node(list, sizeof(list), &used, graph->nodes[n],
			       placement->nodes[n].text))
			break;
		listed++;
	}
	if (listed < failures)
		snprintf(rest, sizeof(rest), "%sand %" PRIu32 " more", listed ? "; " : "",
			 failures - listed);
	return refuse(err, WNN_OPERATION_ERROR, options, failures, list, rest);
}

static int place_all(const struct ir_graph *graph, const struct wnn_place_options *options,
		     struct wnn_placement *out, struct wnn_error *err)
{
	uint32_t failures = 0;
	char text[SENTENCE_SIZE];

	for (uint32_t n = 0; n < graph->num_nodes; n++) {
		struct wnn_node_placement *choice = &out->nodes[n];

		place_node(graph->nodes[n], options, choice);
		choice->text =
			wnn_arena_strdup(out->arena, sentence(graph->nodes[n], choice->text, text));
		if (!choice->text)
			return wnn_error_nomem(err, "the placement of a graph");
		failures += choice->failed;
		out->num_npu += choice->device == WNNNodeDevice_NPU;
		out->num_cpu += choice->device == WNNNodeDevice_CPU;
	}
	return failures ? report_failures(graph, out, options, failures, err) : 0;
}

int wnn_place(const struct ir_graph *graph, const struct wnn_place_options *options,
	      struct wnn_placement *out, struct wnn_error *err)
{
	memset(out, 0, sizeof(*out));
	if (options->cpu_device && options->policy == WNNPlacementPolicy_NPUOnly)
		return wnn_error_set(
			err, WNN_NOT_SUPPORTED,
			"the placement policy is NPUOnly, but the device is the CPU: choose "
			"another policy, or the device npu or sim");
	out->num_nodes = graph->num_nodes;
	out->nodes = wnn_calloc((size_t)graph->num_nodes + 1, sizeof(*out->nodes));
	out->arena = wnn_arena_create();
	if (!out->nodes || !out->arena)
		return wnn_error_nomem(err, "the placement of a graph");
	return place_all(graph, options, out, err);
}

int wnn_place_node(const struct ir_node *node, const struct wnn_place_options *options,
		   struct wnn_error *err)
{
	struct wnn_node_placement choice = { 0 };
	char text[SENTENCE_SIZE], name[IR_NODE_NAME_SIZE], entry[SENTENCE_SIZE + IR_NODE_NAME_SIZE];

	place_node(node, options, &choice);
	if (!choice.failed)
		return 0;
	snprintf(entry, sizeof(entry), "%s: %s", ir_node_name(node, name, sizeof(name)),
		 sentence(node, choice.text, text));
	return refuse(err, WNN_TYPE_ERROR, options, 1, entry, "");
}

void wnn_placement_destroy(struct wnn_placement *placement)
{
	wnn_free(placement->nodes);
	wnn_arena_destroy(placement->arena);
	memset(placement, 0, sizeof(*placement));
}
