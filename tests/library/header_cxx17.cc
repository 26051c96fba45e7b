// SPDX-License-Identifier: MIT
/* Uses the public headers as an application in C++17 does. Compiled with -pedantic, never run. */
#include <webnn/webnn.hpp>

static const WNNConv2dOptions default_conv = WNN_CONV2D_OPTIONS_INIT;

WNNOperand build(WNNGraphBuilder builder, WNNOperand x, WNNOperand w);
wnn::Operand build(wnn::GraphBuilder &b, wnn::Operand x, wnn::Operand w);
WNNFuture start(WNNInstance instance, int &errors);

WNNOperand build(WNNGraphBuilder builder, WNNOperand x, WNNOperand w)
{
	const uint32_t strides[] = { 2, 2 };
	WNNConv2dOptions conv = default_conv;
	WNNClampOptions clamp = WNN_CLAMP_OPTIONS_INIT;

	conv.label = WNN_STR("stem");
	conv.strides = WNN_UINT32_ARRAY(strides);
	conv.padding = WNN_UINT32_EMPTY;
	clamp.minValue = WNN_NUMBER_DOUBLE(0);
	return wnnGraphBuilderClamp(builder, wnnGraphBuilderConv2d(builder, x, w, &conv), &clamp);
}

wnn::Operand build(wnn::GraphBuilder &b, wnn::Operand x, wnn::Operand w)
{
#if __cplusplus >= 202002L
	return b.conv2d(x, w, { .label = "stem", .strides = { 2, 2 } });
#else
	wnn::Conv2dOptions conv;

	conv.label = "stem";
	conv.strides = { 2, 2 };
	return b.conv2d(x, w, conv);
#endif
}

WNNFuture start(WNNInstance instance, int &errors)
{
	WNNCreateContextCallbackInfo info = WNN_CREATE_CONTEXT_CALLBACK_INFO_INIT;

	info.mode = WNNCallbackMode_AllowSpontaneous;
	info.userdata1 = &errors;
	info.callback = [](WNNStatus status, WNNContext context, WNNStringView, void *count,
			   void *) {
		if (status != WNNStatus_Success)
			++*static_cast<int *>(count);
		wnnContextRelease(context);
	};
	return wnnInstanceCreateContext(instance, nullptr, info);
}
