/* SPDX-License-Identifier: MIT */
/* WNNGraphBuilder: the object of the API around a wnn_builder. */
#ifndef WNN_API_BUILDER_H
#define WNN_API_BUILDER_H

#include "api/context.h"
#include "graph/builder.h"

struct WNNGraphBuilderImpl {
	atomic_uint refs;
	WNNContext context; /* a reference */
	struct object_label label;
	struct wnn_builder *builder;
	struct wnn_error last_error;
	struct wnn_error cause; /* the first error that did not come from an operand that is NULL */
};

/* Take NULL. A reference to an operand is one to its builder. */
void builder_get(WNNGraphBuilder builder);
void builder_put(WNNGraphBuilder builder);
void operand_get(WNNOperand operand);
void operand_put(WNNOperand operand);

/*
 * Remembers the error for the builder. When an operand is missing, the message is completed with
 * the error that may have caused it.
 */
void builder_note_error(WNNGraphBuilder builder, struct wnn_error *err);
/* Remembers it for the thread as well, and reports it to the context. */
WNNStatus builder_error(WNNGraphBuilder builder, struct wnn_error *err);
/* Remembers the last error of the thread for the builder as well. */
void builder_note_status(WNNGraphBuilder builder);

#endif
