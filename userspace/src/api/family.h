/* SPDX-License-Identifier: MIT */
/*
 * The family of a graph whose inputs have dimensions that are known only at dispatch: the template
 * with names, and the graphs that were compiled of it for certain sizes.
 */
#ifndef WNN_API_FAMILY_H
#define WNN_API_FAMILY_H

#include "api/graph.h"

/* The most compiled graphs that a family keeps; one more replaces the least recently used one. */
#define FAMILY_MEMBERS 8

/*
 * family_make - compile a recording with names for the largest sizes
 * @recording: taken over in any case
 *
 * Fills in the graph, whose placement and texts are those for the largest sizes. Runs on the
 * timeline's thread. Returns 0 or -1.
 */
int family_make(WNNGraph graph, struct wnn_recording *recording, struct wnn_error *err);
/* Drops all that is compiled; dispatches in flight keep theirs. */
void family_drop(WNNGraph graph);
void family_destroy(struct graph_family *family); /* after family_drop(); NULL is fine */

/*
 * Returns how many named dimensions the family of a graph has. Arrays of sizes (@numbers) have one
 * size for each name.
 */
uint32_t family_names(WNNGraph graph);
/*
 * family_find_sizes - find the sizes of the names by the shapes of tensors
 * @tensors: by input, in the order of the graph; NULL: the tensor is not given
 * @what: begins messages, such as: dispatch of graph "g"
 * @numbers: filled with the size of each name
 *
 * Checks that all given tensors have the types and shapes that follow from the sizes. Gives the
 * maximum to names whose size follows from no given tensor, unless an output depends on them.
 * Returns 0, or -1 with a TypeError.
 */
int family_find_sizes(WNNGraph graph, const WNNTensor *tensors, const char *what, uint32_t *numbers,
		      struct wnn_error *err);
/* Returns the type that an input or output has with these sizes. */
struct ir_type family_type(WNNGraph graph, const struct graph_port *port, const uint32_t *numbers);

/* Whether a graph for these sizes is compiled. */
bool family_has(WNNGraph graph, const uint32_t *numbers);
/*
 * Returns the compiled graph for these sizes, with a reference; compiles it when there is none yet.
 * Runs on the timeline's thread, or on the thread that owns the timeline. NULL with *err.
 */
struct run_compiled *family_get(WNNGraph graph, const uint32_t *numbers, struct wnn_error *err);

/*
 * Returns the text for WNNGraphText_Dimensions, which the caller frees by wnn_free(); NULL: none.
 */
char *family_text(WNNGraph graph, struct wnn_error *err);

#endif
