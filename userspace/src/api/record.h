/* SPDX-License-Identifier: MIT */
/* The common end of all operator functions of the builder. */
#ifndef WNN_API_RECORD_H
#define WNN_API_RECORD_H

#include "graph/op_call.h"

/*
 * wnn_builder_record - check an operator and record it
 * @builder: may be NULL, which is a TypeError
 * @output_count: items of @outputs; must be exactly the number of operands that the operator makes
 * @outputs: filled with operands that belong to @builder, all NULL on error
 *
 * Leaves the error with the builder and the calling thread, and reports it to the context.
 */
WNNStatus wnn_builder_record(WNNGraphBuilder builder, struct wnn_op_call *call, size_t output_count,
			     WNNOperand *outputs);

#endif
