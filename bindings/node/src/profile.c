// SPDX-License-Identifier: MIT
/*
 * Information of the library beyond WebNN: the device of a context, the placement of operators, and
 * profiles.
 */
#include <stdlib.h>

#include "addon.h"

static bool set_text(napi_env env, napi_value object, char const *name, WNNStringView text)
{
	napi_value value;

	return napi_create_string_utf8(env, text.data ? text.data : "", text.length, &value) ==
		       napi_ok &&
	       napi_set_named_property(env, object, name, value) == napi_ok;
}

static bool set_number(napi_env env, napi_value object, char const *name, double number)
{
	napi_value value;

	return napi_create_double(env, number, &value) == napi_ok &&
	       napi_set_named_property(env, object, name, value) == napi_ok;
}

/* contextDevice(context): returns { device, nodePath, machine, reason, memoryUsed }. */
napi_value native_context_device(napi_env env, napi_callback_info info)
{
	WNNDeviceInfo device = WNN_DEVICE_INFO_INIT;
	struct object *context;
	napi_value value, result;

	if (!arguments(env, info, 1, &value))
		return NULL;
	context = object_get(env, value, OBJECT_CONTEXT);
	if (!context)
		return NULL;
	if (wnnContextGetDeviceInfo(context->context, &device) != WNNStatus_Success) {
		throw_last_error(context->addon);
		return NULL;
	}
	if (napi_create_object(env, &result) != napi_ok ||
	    !set_text(env, result, "device", device.device) ||
	    !set_text(env, result, "nodePath", device.nodePath) ||
	    !set_text(env, result, "machine", device.machine) ||
	    !set_text(env, result, "reason", device.reason) ||
	    !set_number(env, result, "memoryUsed", (double)device.memoryUsed)) {
		throw_internal(env, "Node.js made no object: memory may be exhausted");
		return NULL;
	}
	return result;
}

static bool set_device(napi_env env, napi_value object, WNNNodeDevice device)
{
	static char const *const names[] = { "", "npu", "cpu", "folded" };

	return set_text(env, object, "device", WNN_STR(names[device & 3]));
}

static bool set_node(napi_env env, napi_value list, uint32_t index, WNNNodePlacement const *node)
{
	napi_value object;

	return napi_create_object(env, &object) == napi_ok &&
	       set_text(env, object, "operator", node->operatorName) &&
	       set_text(env, object, "label", node->label) &&
	       set_device(env, object, node->device) &&
	       set_text(env, object, "kernel", node->kernel) &&
	       set_text(env, object, "reason", node->reasonText) &&
	       set_number(env, object, "cycles", (double)node->estimatedCycles) &&
	       napi_set_element(env, list, index, object) == napi_ok;
}

/* graphPlacement(graph): returns where each operator runs, and why. */
napi_value native_graph_placement(napi_env env, napi_callback_info info)
{
	WNNGraphPlacement placement = WNN_GRAPH_PLACEMENT_INIT;
	struct object *graph;
	napi_value value, result;

	if (!arguments(env, info, 1, &value))
		return NULL;
	graph = object_get(env, value, OBJECT_GRAPH);
	if (!graph)
		return NULL;
	if (wnnGraphGetPlacement(graph->graph, &placement) != WNNStatus_Success) {
		throw_last_error(graph->addon);
		return NULL;
	}
	if (napi_create_array_with_length(env, placement.nodeCount, &result) != napi_ok)
		return NULL;
	for (size_t i = 0; i < placement.nodeCount; i++) {
		if (!set_node(env, result, (uint32_t)i, &placement.nodes[i])) {
			throw_internal(env, "Node.js made no object: memory may be exhausted");
			return NULL;
		}
	}
	return result;
}

/* --- Profiles -------------------------------------------------------------------------------- */

static bool set_profile_node(napi_env env, napi_value list, uint32_t index,
			     WNNProfileNode const *node)
{
	napi_value object;

	return napi_create_object(env, &object) == napi_ok &&
	       set_text(env, object, "operator", node->operatorName) &&
	       set_text(env, object, "label", node->label) &&
	       set_device(env, object, node->device) &&
	       set_number(env, object, "cycles", (double)node->cycles) &&
	       set_number(env, object, "cpuNanoseconds", (double)node->cpuNanoseconds) &&
	       napi_set_element(env, list, index, object) == napi_ok;
}

static bool set_event(napi_env env, napi_value list, uint32_t index, WNNProfileEvent const *event)
{
	static char const *const engines[] = { "",	 "control", "load", "store",
					       "matrix", "vector",  "",	    "" };
	napi_value object;

	return napi_create_object(env, &object) == napi_ok &&
	       set_text(env, object, "engine", WNN_STR(engines[event->engine & 7])) &&
	       set_text(env, object, "instruction", event->instruction) &&
	       set_number(env, object, "node",
			  event->node == WNN_NODE_NONE ? -1 : (double)event->node) &&
	       set_number(env, object, "start", (double)event->startCycle) &&
	       set_number(env, object, "end", (double)event->endCycle) &&
	       napi_set_element(env, list, index, object) == napi_ok;
}

static bool set_span(napi_env env, napi_value list, uint32_t index, WNNProfileSpan const *span)
{
	napi_value object;

	return napi_create_object(env, &object) == napi_ok &&
	       set_device(env, object, span->device) &&
	       set_number(env, object, "node",
			  span->node == WNN_NODE_NONE ? -1 : (double)span->node) &&
	       set_number(env, object, "start", (double)span->startNanoseconds) &&
	       set_number(env, object, "end", (double)span->endNanoseconds) &&
	       set_number(env, object, "startCycle", (double)span->startCycle) &&
	       set_number(env, object, "cycles", (double)span->cycles) &&
	       napi_set_element(env, list, index, object) == napi_ok;
}

/*
 * Sets the lists nodes, events and spans of a profile; returns false after an error of Node.js.
 * There may be many items, so that each one has a handle scope of its own.
 */
static bool set_lists(napi_env env, napi_value result, WNNGraphProfile const *profile)
{
	size_t const counts[] = { profile->nodeCount, profile->eventCount, profile->spanCount };
	static char const *const names[] = { "nodes", "events", "spans" };

	for (size_t kind = 0; kind < 3; kind++) {
		napi_value list;

		if (napi_create_array_with_length(env, counts[kind], &list) != napi_ok)
			return false;
		for (uint32_t i = 0; i < counts[kind]; i++) {
			napi_handle_scope scope;
			bool done;

			napi_open_handle_scope(env, &scope);
			if (kind == 0)
				done = set_profile_node(env, list, i, &profile->nodes[i]);
			else if (kind == 1)
				done = set_event(env, list, i, &profile->events[i]);
			else
				done = set_span(env, list, i, &profile->spans[i]);
			napi_close_handle_scope(env, scope);
			if (!done)
				return false;
		}
		if (napi_set_named_property(env, result, names[kind], list) != napi_ok)
			return false;
	}
	return true;
}

/* graphProfile(graph): returns how the last dispatch spent its time. */
napi_value native_graph_profile(napi_env env, napi_callback_info info)
{
	WNNGraphProfile profile = WNN_GRAPH_PROFILE_INIT;
	struct object *graph;
	napi_value value, result = NULL;

	if (!arguments(env, info, 1, &value))
		return NULL;
	graph = object_get(env, value, OBJECT_GRAPH);
	if (!graph)
		return NULL;
	if (wnnGraphGetProfile(graph->graph, &profile) != WNNStatus_Success) {
		throw_last_error(graph->addon);
		return NULL;
	}
	if (napi_create_object(env, &result) != napi_ok ||
	    !set_number(env, result, "cycles", (double)profile.cycles) ||
	    !set_number(env, result, "nanoseconds", (double)profile.hostNanoseconds) ||
	    !set_lists(env, result, &profile)) {
		throw_internal(env, "Node.js made no object: memory may be exhausted");
		result = NULL;
	}
	wnnGraphProfileFreeMembers(profile);
	return result;
}
