/* SPDX-License-Identifier: MIT */
/* The devices of a graph's operators, and the reasons: printed as text, or returned as JSON. */
#ifndef ONPU_TOOLS_PLACEMENT_H
#define ONPU_TOOLS_PLACEMENT_H

#include <jansson.h>

#include <webnn/webnn_npu.h>

/*
 * Prints a line for each operator, then how many run on the NPU, on the CPU, or were folded.
 * Returns 0, or -1 after a message.
 */
int placement_print(WNNGraph graph);

/*
 * Returns the same as JSON, which the caller gives back with json_decref(); NULL when memory is
 * exhausted.
 */
json_t *placement_json(WNNGraph graph);

/* Returns "npu", "cpu" or "folded"; "?" for another value. */
const char *placement_device(WNNNodeDevice device);

#endif
