// SPDX-License-Identifier: MIT
/*
 * Uses the public headers as an application in C99 does. It is compiled with -pedantic, and never
 * run.
 */
#include <stdio.h>
#include <webnn/webnn.h>
#include <webnn/webnn_npu.h>

/* Static initialisers are constants even in strict C. */
static const WNNConv2dOptions default_conv = WNN_CONV2D_OPTIONS_STATIC_INIT;
static const WNNPadOptions default_pad = WNN_PAD_OPTIONS_STATIC_INIT;

#if !WNN_VERSION_AT_LEAST(1, 0, 0) || WNN_VERSION_AT_LEAST(WNN_VERSION_MAJOR, WNN_VERSION_MINOR, 99)
#error the version of the header is not what it says
#endif

WNNOperand build(WNNGraphBuilder builder, WNNOperand x, WNNOperand w);
WNNStatus run(WNNInstance instance);
void complain(WNNError error);

WNNOperand build(WNNGraphBuilder builder, WNNOperand x, WNNOperand w)
{
	static const uint32_t strides[] = { 2, 2 };
	WNNConv2dOptions conv = default_conv;
	WNNClampOptions clamp = WNN_CLAMP_OPTIONS_INIT;
	WNNReduceOptions reduce = WNN_REDUCE_OPTIONS_INIT;
	WNNPadOptions pad = default_pad;

	/* An initialiser is an expression as well: assigning it restores the defaults. */
	clamp = WNN_CLAMP_OPTIONS_INIT;
	conv.label = WNN_STR("stem");
	conv.strides = WNN_UINT32_ARRAY(strides);
	clamp.minValue = WNN_NUMBER_DOUBLE(0);
	clamp.maxValue = WNN_NUMBER_INT64(6);
	reduce.axes = WNN_UINT32_EMPTY;
	pad.value = WNN_NUMBER_UINT64(1);
	x = wnnGraphBuilderClamp(builder, wnnGraphBuilderConv2d(builder, x, w, &conv), &clamp);
	x = wnnGraphBuilderPad(builder, x, WNN_UINT32_LIST(0, 0, 1, 1), WNN_UINT32_LIST(0, 0, 1, 1),
			       &pad);
	return wnnGraphBuilderReduceMean(builder, x, &reduce);
}

WNNStatus run(WNNInstance instance)
{
	WNNContextDeviceOptions device = WNN_CONTEXT_DEVICE_OPTIONS_INIT;
	WNNContextOptions options = WNN_CONTEXT_OPTIONS_INIT;
	WNNOpSupportLimits limits = WNN_OP_SUPPORT_LIMITS_INIT;
	WNNContext context = NULL;
	WNNStatus status;

	device.device = WNN_STR("cpu");
	options.nextInChain = &device.chain;
	status = wnnInstanceCreateContextSync(instance, &options, WNN_WAIT_FOREVER, &context);
	if (status != WNNStatus_Success)
		return status;
	status = wnnContextGetOpSupportLimits(context, &limits);
	if (!(limits.conv2d.input.dataTypes & WNN_DATA_TYPE_BIT(WNNOperandDataType_Float32)))
		status = WNNStatus_NotSupportedError;
	wnnContextRelease(context);
	return status;
}

/* Prints an error; the compiler checks the format against its arguments. */
void complain(WNNError error)
{
	printf("%s: " WNN_SV_FMT "\n", "failed", WNN_SV_ARG(error.message));
}
