// SPDX-License-Identifier: MIT
/* Builds integer functions, such as bit operations, that the CPU has and the NPU has not. */
#include "integers.h"

bool import_runs_on_cpu(WNNGraphBuilder builder)
{
	WNNDeviceInfo info = WNN_DEVICE_INFO_INIT;

	return wnnGraphBuilderGetDeviceInfo(builder, &info) == WNNStatus_Success &&
	       !info.accelerated;
}

WNNOperand import_integers(WNNGraphBuilder builder, import_combine_fn make,
			   WNNIntegerFunction function, WNNOperand a, WNNOperand b,
			   const WNNOperatorOptions *options)
{
	WNNIntegerDetails details = WNN_INTEGER_DETAILS_INIT;
	WNNOperatorOptions own = *options;

	details.function = function;
	own.nextInChain = &details.chain;
	return a && b ? make(builder, a, b, &own) : NULL;
}
