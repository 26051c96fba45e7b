/* SPDX-License-Identifier: MIT */
/* The devices of a graph's operators, and the reasons, as text and as JSON. */
#ifndef ONPU_TOOLS_PLACEMENT_H
#define ONPU_TOOLS_PLACEMENT_H

#include <jansson.h>

#include <webnn/webnn_npu.h>

/*
 * A line for each operator, then how many there are of each kind. Returns 0 or -1 after a message.
 */
int placement_print(WNNGraph graph);

/* NULL when memory is exhausted. */
json_t *placement_json(WNNGraph graph);

/* "npu", "cpu" or "folded". */
const char *placement_device(WNNNodeDevice device);

#endif
