/* SPDX-License-Identifier: MIT */
/* The API's side of a graph builder. */
#ifndef WNN_API_BUILDER_H
#define WNN_API_BUILDER_H

#include "api/context.h"
#include "graph/builder.h"

struct WNNGraphBuilderImpl {
	atomic_uint refs;
	WNNContext context;		/* a reference */
	struct wnn_builder *builder;
	struct wnn_error last_error;
};

/* Remembers the error for builder and thread, and reports it to the context. */
WNNStatus builder_error(WNNGraphBuilder builder, const struct wnn_error *err);

#endif
