/* SPDX-License-Identifier: MIT */
/* WNNGraph: a built graph, with its compiled form and its reports. */
#ifndef WNN_API_GRAPH_H
#define WNN_API_GRAPH_H

#include "api/context.h"
#include "graph/builder.h"
#include "pass/pass.h"
#include "pass/place.h"
#include "run/compiled.h"

/* An input or output in the order of the compiled graph; its entry in the list has this shape. */
struct graph_port {
	struct ir_type type;
	uint32_t shape[IR_MAX_RANK];
};

struct WNNGraphImpl {
	atomic_uint refs;
	WNNContext context;		   /* a reference */
	atomic_bool destroyed;		   /* set under the lock of the context */
	struct WNNGraphImpl *next, **link; /* in the context; link is NULL when not */
	struct timeline_task task;	   /* gives the memory up */

	pthread_mutex_t lock;
	struct run_compiled *compiled; /* under the lock; NULL once it is given up */
	uint64_t dispatch_count;       /* these three under the lock */
	struct run_statistics statistics;
	struct run_profile *profile; /* of the last dispatch, or NULL */

	/* Constant once built. */
	uint32_t num_inputs, num_outputs;
	struct graph_port *inputs, *outputs;
	WNNNamedOperandDescriptor *input_list, *output_list; /* sorted by name */
	size_t node_count;
	struct object_label label;
	WNNGraphPlacement placement;
	const WNNStringView *rules; /* one for each node of the placement */
	struct wnn_arena *arena;    /* of all that the application may look at */
};

/* Take NULL. */
void graph_get(WNNGraph graph);
void graph_put(WNNGraph graph);

/*
 * graph_make - compile a recording; on the timeline's thread
 * @recording: taken over in any case
 *
 * NULL with *err; else one reference.
 */
WNNGraph graph_make(WNNContext context, struct wnn_recording *recording, struct wnn_error *err);

/*
 * graph_create - a graph that has nothing yet, with one reference; on the timeline's thread
 *
 * It becomes one of its context with graph_link(), or ends with graph_abandon(). NULL with *err.
 */
WNNGraph graph_create(WNNContext context, struct wnn_error *err);
void graph_link(WNNGraph graph);
void graph_abandon(WNNGraph graph);
/* Fills in inputs, outputs and the number of nodes. 0 or -1. */
int graph_describe_ports(WNNGraph graph, const struct ir_graph *ir, struct wnn_error *err);

/* Fills placement from what passes, placement and compiler said. 0 or -1. */
int graph_describe_placement(WNNGraph graph, const struct wnn_recording *recording,
			     const struct wnn_pass_report *report,
			     const struct wnn_placement *placement, struct wnn_error *err);

/* Logs a warning for each node that runs on the CPU beside an NPU. */
void graph_log_placement(WNNContext context, const WNNGraphPlacement *placement);

/* Writes the placement as bytes; the writer notes a lack of memory. */
void graph_write_placement(WNNGraph graph, struct wnn_writer *w);
/* Reads the placement from any bytes. 0 or -1. */
int graph_read_placement(WNNGraph graph, struct wnn_reader *r, struct wnn_error *err);

/*
 * Returns the compiled graph with a reference; NULL with InvalidStateError when it is destroyed.
 * @what begins the message.
 */
struct run_compiled *graph_compiled(WNNGraph graph, const char *what, struct wnn_error *err);
/* Sets the error of a destroyed graph; always -1. */
int graph_is_destroyed(WNNGraph graph, const char *what, struct wnn_error *err);

/* Returns the port of that name, in either of the graph's arrays; NULL when there is none. */
const struct graph_port *graph_find_port(uint32_t count, const WNNNamedOperandDescriptor *list,
					 WNNStringView name);

/* The context is lost; under its lock. */
void graph_lose(struct WNNGraphImpl *graph);

#endif
