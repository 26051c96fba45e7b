/* SPDX-License-Identifier: MIT */
/*
 * Compiled graphs in models: EPContext nodes, with the graph in the model or in a file beside it.
 */
#ifndef ONPU_CONTEXT_H
#define ONPU_CONTEXT_H

#include "group.h"

/* Returns whether a node is an EPContext of this provider. */
bool onpu_context_is(const struct ort_api *ort, const struct ort_node *node);
/* Sets *out to a new EPContext node for a group that is built. Returns NULL, or an error. */
struct ort_status *onpu_context_save(struct onpu_group *group, const struct ort_graph *graph,
				     struct ort_node **out);
/*
 * Fills a group from the EPContext node that is the only node of the graph. Returns NULL, or an
 * error.
 */
struct ort_status *onpu_context_load(struct onpu_group *group, const struct onpu_reading *reading,
				     const struct ort_graph *graph, const struct ort_node *fused);

#endif
