/* SPDX-License-Identifier: MIT */
/*
 * Placement: decides which device runs each node, and why. It comes after all passes, and changes
 * nothing in the graph.
 */
#ifndef WNN_PASS_PLACE_H
#define WNN_PASS_PLACE_H

#include <webnn/webnn_npu.h>

#include "ir/ir.h"
#include "util/error.h"

struct wnn_place_options {
	WNNPlacementPolicy policy; /* Undefined: the default, PreferNPU */
	bool cpu_device;	   /* whether the context has no NPU */
	/*
	 * Whether the NPU can run a node: returns Supported, or the reason (Operator, DataType,
	 * Rank, Option, Size, Cost) with *text, a static sentence. May be NULL on a CPU device.
	 */
	WNNPlacementReason (*npu)(const struct ir_node *node, void *userdata, const char **text);
	bool (*cpu)(const struct ir_node *node, void *userdata);
	void *userdata;
};

struct wnn_node_placement {
	WNNNodeDevice device; /* the NPU or the CPU */
	WNNPlacementReason reason;
	const char *text; /* one sentence that explains the reason */
	bool failed;	  /* whether no device that the policy allows can run it */
};

struct wnn_placement {
	uint32_t num_nodes;
	struct wnn_node_placement *nodes; /* by node id */
	uint32_t num_npu, num_cpu;
	struct wnn_arena *arena; /* memory of the sentences */
};

/**
 * wnn_place - decide where each node runs
 * @out: filled on success, and also when nodes have no device, which `failed` says; to be destroyed
 *   in any case
 *
 * Returns 0, or -1 with *err. OperationError: nodes have no device; the message names them, as many
 * as fit, with the reason of each. NotSupportedError: policy NPUOnly on a CPU device.
 */
int wnn_place(const struct ir_graph *graph, const struct wnn_place_options *options,
	      struct wnn_placement *out, struct wnn_error *err);
/*
 * wnn_place_node - check that a node alone has a device, before its graph is known
 *
 * Returns 0, or -1 with a TypeError that has the sentence of wnn_place() for a graph in which only
 * this node has no device.
 */
int wnn_place_node(const struct ir_node *node, const struct wnn_place_options *options,
		   struct wnn_error *err);
void wnn_placement_destroy(struct wnn_placement *placement);

#endif
