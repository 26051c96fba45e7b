/* SPDX-License-Identifier: MIT */
/* Contexts for the tests of programs in StableHLO. */
#ifndef TESTS_STABLEHLO_CONTEXT_H
#define TESTS_STABLEHLO_CONTEXT_H

#include <webnn/webnn_npu.h>

/* Returns a new context on a device; NULL: the device does not open. */
static inline WNNContext open_context(WNNInstance instance, const char *device)
{
	WNNContextDeviceOptions chained = WNN_CONTEXT_DEVICE_OPTIONS_INIT;
	WNNContextOptions options = WNN_CONTEXT_OPTIONS_INIT;
	WNNContext context = NULL;

	chained.device = WNN_STR(device);
	options.nextInChain = &chained.chain;
	wnnInstanceCreateContextSync(instance, &options, WNN_WAIT_FOREVER, &context);
	return context;
}

#endif
