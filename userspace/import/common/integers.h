/* SPDX-License-Identifier: MIT */
/* Builds integer functions that the CPU has and the NPU lacks. */
#ifndef IMPORT_COMMON_INTEGERS_H
#define IMPORT_COMMON_INTEGERS_H

#include <stdbool.h>

#include <webnn/webnn.h>
#include <webnn/webnn_npu.h>

typedef WNNOperand (*import_combine_fn)(WNNGraphBuilder, WNNOperand, WNNOperand,
					WNNOperatorOptions const *);

/*
 * Returns whether the builder's context has no NPU, so that all operators run on the CPU. Functions
 * which the NPU has no instruction for then need not be composed of others.
 */
bool import_runs_on_cpu(WNNGraphBuilder builder);

/*
 * Calls @make with WNNIntegerDetails that select @function, and returns its operand; NULL: a or b
 * is NULL (the builder has refused it), or @make is refused.
 */
WNNOperand import_integers(WNNGraphBuilder builder, import_combine_fn make,
			   WNNIntegerFunction function, WNNOperand a, WNNOperand b,
			   const WNNOperatorOptions *options);

#endif
