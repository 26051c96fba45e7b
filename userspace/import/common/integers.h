/* SPDX-License-Identifier: MIT */
/* Functions of integers that the CPU has and the NPU has not. */
#ifndef IMPORT_COMMON_INTEGERS_H
#define IMPORT_COMMON_INTEGERS_H

#include <stdbool.h>

#include <webnn/webnn.h>
#include <webnn/webnn_npu.h>

typedef WNNOperand (*import_combine_fn)(WNNGraphBuilder, WNNOperand, WNNOperand,
					WNNOperatorOptions const *);

/* Whether all operators run on the CPU: what the NPU has no instruction for need not be composed. */
bool import_runs_on_cpu(WNNGraphBuilder builder);

/* What @make computes with WNNIntegerDetails of this function. NULL where an operand is, as the builder has refused it. */
WNNOperand import_integers(WNNGraphBuilder builder, import_combine_fn make,
			   WNNIntegerFunction function, WNNOperand a, WNNOperand b,
			   const WNNOperatorOptions *options);

#endif
