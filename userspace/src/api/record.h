/* SPDX-License-Identifier: MIT */
/* The function that all operator functions of the builder call in the end. */
#ifndef WNN_API_RECORD_H
#define WNN_API_RECORD_H

#include "graph/op_call.h"

/*
 * wnn_builder_record - check an operator and record it
 * @builder: may be NULL, which is a TypeError
 * @output_count: items of @outputs; must be exactly the number of operands that the operator makes
 * @outputs: filled in with operands that belong to @builder; all NULL on error
 *
 * Returns a status. An error is kept for the builder and for the calling thread, and is reported to
 * the context.
 */
WNNStatus wnn_builder_record(WNNGraphBuilder builder, struct wnn_op_call *call, size_t output_count,
			     WNNOperand *outputs);

#endif
