/* SPDX-License-Identifier: MIT */
/* Files of compiled graphs, which later processes load instead of building the graphs. */
#ifndef SHLO_GRAPH_FILES_H
#define SHLO_GRAPH_FILES_H

#include "device.h"
#include "port.h"

/*
 * Returns a graph that an earlier process saved for this place; NULL: there is none that the
 * context can run.
 */
WNNGraph shlo_graph_load(const struct shlo_graph_files *files, WNNContext context,
			 const struct shlo_graph_place *place);
/* Saves a graph for later processes; without memory or room for it, nothing is saved. */
void shlo_graph_save(const struct shlo_graph_files *files, WNNGraph graph,
		     const struct shlo_graph_place *place);

#endif
