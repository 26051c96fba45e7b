/* SPDX-License-Identifier: MIT */
/* WNNGraphBuilder: the API's object around a wnn_builder. */
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
	struct wnn_error cause; /* the first error other than an operand that is NULL */
};

/* Count references; both accept NULL. A reference to an operand is one to its builder. */
void builder_get(WNNGraphBuilder builder);
void builder_put(WNNGraphBuilder builder);
void operand_get(WNNOperand operand);
void operand_put(WNNOperand operand);

/*
 * Keeps an error for the builder. If the error is a missing operand, the message gets the earlier
 * error that may have caused it.
 */
void builder_note_error(WNNGraphBuilder builder, struct wnn_error *err);
/*
 * Keeps an error for the builder and for the thread, and reports it to the context. Returns its
 * status.
 */
WNNStatus builder_error(WNNGraphBuilder builder, struct wnn_error *err);
/* Keeps the last error of the thread for the builder, too. */
void builder_note_status(WNNGraphBuilder builder);

#endif
