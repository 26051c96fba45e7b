/* SPDX-License-Identifier: MIT */
/* WNNGraph: a built graph, with its compiled form and its reports. */
#ifndef WNN_API_GRAPH_H
#define WNN_API_GRAPH_H

#include "api/context.h"
#include "graph/builder.h"
#include "pass/pass.h"
#include "pass/place.h"
#include "run/compiled.h"

#define NO_UPDATE UINT32_MAX

/*
 * The type of an input or output, in the order of the compiled graph; the entry in the API's list
 * points to `shape`.
 */
struct graph_port {
	struct ir_type type;
	uint32_t updates; /* output: index of the input that it updates; else NO_UPDATE */
	uint32_t shape[IR_MAX_RANK];
};

struct graph_family;

struct WNNGraphImpl {
	atomic_uint refs;
	WNNContext context;    /* a reference */
	atomic_bool destroyed; /* written with the context's lock held */
	/* list of the context's graphs; link is NULL outside of it */
	struct WNNGraphImpl *next, **link;
	struct timeline_task task; /* task that frees the memory */

	pthread_mutex_t lock;
	/*
	 * protected by the lock; NULL after the graph is destroyed. In a family it has the sizes of
	 * the last complete dispatch; before the first dispatch, the largest sizes
	 */
	struct run_compiled *compiled;
	/* the compiled graphs for all sizes, see api/family.h; NULL: all dimensions are numbers */
	struct graph_family *family;
	uint64_t dispatch_count; /* this and the next two are protected by the lock */
	struct run_statistics statistics;
	struct run_profile *profile; /* profile of the last dispatch, or NULL */

	/* The members below are constant once the graph is built. */
	uint32_t num_inputs, num_outputs;
	struct graph_port *inputs, *outputs;
	WNNNamedOperandDescriptor *input_list, *output_list; /* sorted by name */
	size_t node_count;
	struct object_label label;
	WNNGraphPlacement placement;
	/*
	 * for each node of the placement: the name of the rule or pass that changed it; empty: none
	 */
	const WNNStringView *rules;
	struct wnn_arena *arena; /* memory of everything that the application can read */
};

/* Count references; both accept NULL. */
void graph_get(WNNGraph graph);
void graph_put(WNNGraph graph);

/*
 * graph_make - compile a recording; runs on the timeline's thread
 * @recording: taken over in any case
 *
 * Returns a graph with one reference; NULL with *err.
 */
WNNGraph graph_make(WNNContext context, struct wnn_recording *recording, struct wnn_error *err);

/*
 * graph_build - compile a recording without named dimensions into a graph of graph_create()
 *
 * On success, the compiled graph owns the graph of the recording; the caller destroys the recording
 * in any case. Runs on the thread that owns the timeline. Returns 0, or -1 with *err.
 */
int graph_build(WNNGraph graph, struct wnn_recording *recording, struct wnn_error *err);

/*
 * graph_create - create an empty graph with one reference
 *
 * Runs on the thread that owns the timeline. graph_link() adds the graph to its context;
 * graph_abandon() destroys it instead. NULL with *err.
 */
WNNGraph graph_create(WNNContext context, struct wnn_error *err);
void graph_link(WNNGraph graph);
void graph_abandon(WNNGraph graph);
/* Fills in inputs, outputs and the number of nodes. Returns 0 or -1. */
int graph_describe_ports(WNNGraph graph, const struct ir_graph *ir, struct wnn_error *err);

/* Fills in the placement from the reports of passes, placement and compiler. Returns 0 or -1. */
int graph_describe_placement(WNNGraph graph, const struct wnn_recording *recording,
			     const struct wnn_pass_report *report,
			     const struct wnn_placement *placement, struct wnn_error *err);

/*
 * Logs how many nodes run on each device, and a warning for each node that runs on the CPU although
 * there is an NPU.
 */
void graph_log_placement(WNNContext context, const WNNGraphPlacement *placement);

/* Writes the placement as bytes; a lack of memory sets w->failed. */
void graph_write_placement(WNNGraph graph, struct wnn_writer *w);
/* Reads the placement from bytes, which may be damaged. Returns 0 or -1. */
int graph_read_placement(WNNGraph graph, struct wnn_reader *r, struct wnn_error *err);

/*
 * Returns the compiled graph with a reference; NULL with InvalidStateError when the graph is
 * destroyed. @what begins the message.
 */
struct run_compiled *graph_compiled(WNNGraph graph, const char *what, struct wnn_error *err);
/*
 * Sets an InvalidStateError that says that the graph is destroyed; returns -1. @what begins the
 * message.
 */
int graph_is_destroyed(WNNGraph graph, const char *what, struct wnn_error *err);

/* Returns the port whose entry in one of the graph's lists has that name; NULL: there is none. */
const struct graph_port *graph_find_port(uint32_t count, const WNNNamedOperandDescriptor *list,
					 WNNStringView name);

/* Destroys the graph because its context is lost. Call it with the context's lock held. */
void graph_lose(struct WNNGraphImpl *graph);

#endif
