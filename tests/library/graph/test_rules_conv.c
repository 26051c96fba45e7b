// SPDX-License-Identifier: MIT
/* Tests the rules of conv2d, convTranspose2d, the pools, gemm and matmul. */
#include "fixture.h"

static void conv2d_sizes(void **state)
{
	struct fixture *f = *state;
	WNNConv2dOptions o = WNN_CONV2D_OPTIONS_INIT;
	WNNOperand x = INPUT(f, Float32, 2, 4, 7, 9), w = INPUT(f, Float32, 6, 2, 3, 2), y;
	const struct ir_conv_attrs *attrs;

	o.groups = 2;
	o.padding = WNN_UINT32_LIST(1, 2, 3, 4);
	o.strides = WNN_UINT32_LIST(2, 3);
	o.dilations = WNN_UINT32_LIST(2, 5);
	o.bias = INPUT(f, Float32, 6);
	/* height (7 + 3 - 5) / 2 + 1, width (9 + 7 - 6) / 3 + 1 */
	y = wnnGraphBuilderConv2d(f->b, x, w, &o);
	assert_shape(y, Float32, 2, 6, 3, 4);
	attrs = &y->value->def->attrs.conv;
	assert_int_equal(attrs->groups, 2);
	assert_int_equal(attrs->padding[3], 4);
	assert_int_equal(attrs->strides[1], 3);
	assert_int_equal(attrs->dilations[1], 5);
	assert_int_equal(attrs->layout, IR_NCHW);
	assert_int_equal(attrs->filter_layout, IR_OIHW);
	assert_int_equal(attrs->act.kind, IR_UNARY_NONE);
	assert_false(attrs->transposed);
	assert_int_equal(y->value->def->num_operands, 3);
	assert_ptr_equal(y->value->def->operands[2], o.bias->value);
}

/*
 * Tests lists of options that are made in statements without braces: such a block ends before the
 * call, and the lists must live until the call.
 */
static void conv2d_lists_outlive_their_block(void **state)
{
	struct fixture *f = *state;
	WNNConv2dOptions o = WNN_CONV2D_OPTIONS_INIT;
	WNNOperand x = INPUT(f, Float32, 1, 1, 9, 9), w = INPUT(f, Float32, 1, 1, 3, 3), y;
	const struct ir_conv_attrs *attrs;

	if (!f->lost)
		o.padding = WNN_UINT32_LIST(1, 2, 3, 4);
	if (!f->lost)
		o.strides = WNN_UINT32_LIST(2, 3);
	if (!f->lost)
		o.dilations = WNN_UINT32_LIST(4, 5);
	y = wnnGraphBuilderConv2d(f->b, x, w, &o);
	assert_non_null(y);
	attrs = &y->value->def->attrs.conv;
	for (uint32_t i = 0; i < 4; i++)
		assert_int_equal(attrs->padding[i], i + 1);
	for (uint32_t i = 0; i < 2; i++) {
		assert_int_equal(attrs->strides[i], i + 2);
		assert_int_equal(attrs->dilations[i], i + 4);
	}
}

static void conv2d_layouts(void **state)
{
	struct fixture *f = *state;
	WNNConv2dOptions o = WNN_CONV2D_OPTIONS_INIT;
	WNNOperand x = INPUT(f, Float16, 1, 7, 9, 4);

	o.inputLayout = WNNInputOperandLayout_Nhwc;
	o.filterLayout = WNNConv2dFilterOperandLayout_Hwio;
	assert_shape(wnnGraphBuilderConv2d(f->b, x, INPUT(f, Float16, 3, 2, 4, 5), &o), Float16, 1,
		     5, 8, 5);
	o.filterLayout = WNNConv2dFilterOperandLayout_Ohwi;
	assert_shape(wnnGraphBuilderConv2d(f->b, x, INPUT(f, Float16, 5, 3, 2, 4), &o), Float16, 1,
		     5, 8, 5);
	o.filterLayout = WNNConv2dFilterOperandLayout_Ihwo;
	assert_shape(wnnGraphBuilderConv2d(f->b, x, INPUT(f, Float16, 4, 3, 2, 5), &o), Float16, 1,
		     5, 8, 5);
	o.filterLayout = WNNConv2dFilterOperandLayout_Undefined;
	assert_shape(wnnGraphBuilderConv2d(f->b, x, INPUT(f, Float16, 5, 4, 3, 2), &o), Float16, 1,
		     5, 8, 5);
	o.filterLayout = 9;
	assert_type_error(wnnGraphBuilderConv2d(f->b, x, x, &o), "options.filterLayout is 9");
}

static void conv2d_refusals(void **state)
{
	struct fixture *f = *state;
	const WNNConv2dOptions defaults = WNN_CONV2D_OPTIONS_INIT;
	WNNConv2dOptions o = defaults;
	WNNOperand x = INPUT(f, Float32, 1, 3, 5, 5), w = INPUT(f, Float32, 2, 3, 3, 3);
	WNNOperand x4 = INPUT(f, Float32, 1, 4, 5, 5);

	o.label = WNN_STR("stem");
	assert_type_error(wnnGraphBuilderConv2d(f->b, x, INPUT(f, Float32, 2, 4, 3, 3), &o),
			  "conv2d \"stem\": filter has 4 input channels per group, expected 3 "
			  "(input has 3 channels, groups 1)");
	o = defaults;
	assert_type_error(wnnGraphBuilderConv2d(f->b, INPUT(f, Int32, 1, 3, 5, 5), w, &o),
			  "input has type int32; allowed are float32, float16");
	assert_type_error(wnnGraphBuilderConv2d(f->b, INPUT(f, Float32, 3, 5, 5), w, &o),
			  "input has rank 3, expected 4");
	assert_type_error(wnnGraphBuilderConv2d(f->b, x, INPUT(f, Float32, 2, 3, 3), &o),
			  "filter has rank 3, expected 4");
	assert_type_error(wnnGraphBuilderConv2d(f->b, x, INPUT(f, Float16, 2, 3, 3, 3), &o),
			  "filter has type float16, but input has float32");
	o.padding = WNN_UINT32_LIST(1, 1, 1);
	assert_type_error(wnnGraphBuilderConv2d(f->b, x, w, &o),
			  "options.padding has 3 items, expected 4");
	o.padding = WNN_UINT32_EMPTY;
	assert_type_error(wnnGraphBuilderConv2d(f->b, x, w, &o),
			  "options.padding has 0 items, expected 4");
	o.padding = (WNNUint32Array){ 4, NULL };
	assert_type_error(wnnGraphBuilderConv2d(f->b, x, w, &o), "its data is NULL");
	o = defaults;
	o.strides = WNN_UINT32_LIST(1);
	assert_type_error(wnnGraphBuilderConv2d(f->b, x, w, &o), "options.strides has 1 items");
	o.strides = WNN_UINT32_LIST(1, 0);
	assert_type_error(wnnGraphBuilderConv2d(f->b, x, w, &o), "options.strides[1] is 0");
	o = defaults;
	o.dilations = WNN_UINT32_LIST(1, 1, 1);
	assert_type_error(wnnGraphBuilderConv2d(f->b, x, w, &o), "options.dilations has 3 items");
	o.dilations = WNN_UINT32_LIST(0, 1);
	assert_type_error(wnnGraphBuilderConv2d(f->b, x, w, &o), "options.dilations[0] is 0");
	o = defaults;
	o.groups = 0;
	assert_type_error(wnnGraphBuilderConv2d(f->b, x, w, &o), "options.groups is 0");
	o.groups = 2;
	assert_type_error(wnnGraphBuilderConv2d(f->b, x, w, &o),
			  "input has 3 channels, which 2 groups do not divide");
	assert_type_error(wnnGraphBuilderConv2d(f->b, x4, INPUT(f, Float32, 3, 2, 3, 3), &o),
			  "filter has 3 output channels, which 2 groups do not divide");
	o = defaults;
	o.bias = INPUT(f, Float32, 3);
	assert_type_error(wnnGraphBuilderConv2d(f->b, x, w, &o),
			  "bias has shape [3], expected [2]");
	o.bias = INPUT(f, Float32, 1, 2);
	assert_type_error(wnnGraphBuilderConv2d(f->b, x, w, &o), "bias has rank 2, expected 1");
	o.bias = INPUT(f, Float16, 2);
	assert_type_error(wnnGraphBuilderConv2d(f->b, x, w, &o),
			  "bias has type float16, but input has float32");
	o = defaults;
	o.dilations = WNN_UINT32_LIST(1, 3);
	assert_type_error(wnnGraphBuilderConv2d(f->b, x, w, &o),
			  "the dilated filter has width 7, more than the padded input's 5");
	o.dilations = WNN_UINT32_LIST(UINT32_MAX, 1);
	assert_type_error(wnnGraphBuilderConv2d(f->b, x, w, &o), "height 8589934591");
	o = defaults;
	o.padding = WNN_UINT32_LIST(UINT32_MAX, UINT32_MAX, 0, 0);
	assert_type_error(wnnGraphBuilderConv2d(f->b, x, w, &o),
			  "the output has size 8589934593 in dimension 2");
}

static void conv_transpose2d_sizes(void **state)
{
	struct fixture *f = *state;
	const WNNConvTranspose2dOptions defaults = WNN_CONV_TRANSPOSE2D_OPTIONS_INIT;
	WNNConvTranspose2dOptions o = defaults;
	WNNOperand x = INPUT(f, Float32, 1, 4, 3, 3), w = INPUT(f, Float32, 4, 2, 3, 3), y;

	assert_shape(wnnGraphBuilderConvTranspose2d(f->b, x, w, NULL), Float32, 1, 2, 5, 5);
	o.strides = WNN_UINT32_LIST(3, 2);
	o.padding = WNN_UINT32_LIST(1, 1, 0, 1);
	o.outputPadding = WNN_UINT32_LIST(2, 1);
	o.groups = 2;
	o.bias = INPUT(f, Float32, 4);
	/* height 2 * 3 + 3 - 2 + 2, width 2 * 2 + 3 - 1 + 1 */
	y = wnnGraphBuilderConvTranspose2d(f->b, x, w, &o);
	assert_shape(y, Float32, 1, 4, 9, 7);
	assert_true(y->value->def->attrs.conv.transposed);
	/* outputSizes override outputPadding, even an invalid one. */
	o.outputPadding = WNN_UINT32_LIST(9, 9);
	o.outputSizes = WNN_UINT32_LIST(8, 7);
	assert_shape(wnnGraphBuilderConvTranspose2d(f->b, x, w, &o), Float32, 1, 4, 8, 7);
	o = defaults;
	o.inputLayout = WNNInputOperandLayout_Nhwc;
	o.filterLayout = WNNConvTranspose2dFilterOperandLayout_Hwoi;
	x = INPUT(f, Float32, 1, 3, 3, 4);
	assert_shape(wnnGraphBuilderConvTranspose2d(f->b, x, INPUT(f, Float32, 3, 3, 2, 4), &o),
		     Float32, 1, 5, 5, 2);
	o.filterLayout = WNNConvTranspose2dFilterOperandLayout_Ohwi;
	assert_shape(wnnGraphBuilderConvTranspose2d(f->b, x, INPUT(f, Float32, 2, 3, 3, 4), &o),
		     Float32, 1, 5, 5, 2);
}

static void conv_transpose2d_refusals(void **state)
{
	struct fixture *f = *state;
	const WNNConvTranspose2dOptions defaults = WNN_CONV_TRANSPOSE2D_OPTIONS_INIT;
	WNNConvTranspose2dOptions o = defaults;
	WNNOperand x = INPUT(f, Float32, 1, 4, 3, 3), w = INPUT(f, Float32, 4, 2, 3, 3);

	o.outputPadding = WNN_UINT32_LIST(0);
	assert_type_error(wnnGraphBuilderConvTranspose2d(f->b, x, w, &o),
			  "options.outputPadding has 1 items, expected 2");
	o.outputPadding = WNN_UINT32_LIST(0, 1);
	assert_type_error(wnnGraphBuilderConvTranspose2d(f->b, x, w, &o),
			  "options.outputPadding[1] is 1; it must be below the stride, 1");
	o = defaults;
	o.outputSizes = WNN_UINT32_LIST(5);
	assert_type_error(wnnGraphBuilderConvTranspose2d(f->b, x, w, &o),
			  "options.outputSizes has 1 items, expected 2");
	o.outputSizes = WNN_UINT32_LIST(5, 4);
	assert_type_error(wnnGraphBuilderConvTranspose2d(f->b, x, w, &o),
			  "options.outputSizes[1] is 4, expected 5");
	o.strides = WNN_UINT32_LIST(1, 3);
	o.outputSizes = WNN_UINT32_LIST(5, 12);
	assert_type_error(wnnGraphBuilderConvTranspose2d(f->b, x, w, &o),
			  "options.outputSizes[1] is 12; sizes from 9 to 11 are possible");
	o.padding = WNN_UINT32_LIST(0, 0, 5, 5);
	o.outputSizes = WNN_UINT32_LIST(5, 0);
	assert_type_error(wnnGraphBuilderConvTranspose2d(f->b, x, w, &o),
			  "options.outputSizes[1] is 0, expected 1");
	o.padding = WNN_UINT32_LIST(0, 0, 6, 6);
	assert_type_error(wnnGraphBuilderConvTranspose2d(f->b, x, w, &o),
			  "options.outputSizes[1] is 0, but no size is possible");
	o = defaults;
	o.outputSizes = WNN_UINT32_LIST(6, 5);
	assert_type_error(wnnGraphBuilderConvTranspose2d(f->b, x, w, &o), "outputSizes[0] is 6");
	o = defaults;
	o.groups = 0;
	assert_type_error(wnnGraphBuilderConvTranspose2d(f->b, x, w, &o), "options.groups is 0");
	o.groups = 3;
	assert_type_error(wnnGraphBuilderConvTranspose2d(f->b, x, w, &o),
			  "input has 4 channels, which 3 groups do not divide");
	o = defaults;
	assert_type_error(wnnGraphBuilderConvTranspose2d(f->b, x, INPUT(f, Float32, 3, 2, 3, 3),
							 &o),
			  "filter has 3 input channels, but input has 4");
	o.bias = INPUT(f, Float32, 4);
	assert_type_error(wnnGraphBuilderConvTranspose2d(f->b, x, w, &o),
			  "bias has shape [4], expected [2]");
	o = defaults;
	o.groups = 0x40000000;
	x = INPUT(f, Float32, 1, 0x40000000, 1, 1);
	assert_type_error(wnnGraphBuilderConvTranspose2d(f->b, x, w, &o), "filter has 4 input");
	o = defaults;
	x = INPUT(f, Float32, 1, 4, 3, 3);
	o.padding = WNN_UINT32_LIST(3, 2, 0, 0);
	assert_type_error(wnnGraphBuilderConvTranspose2d(f->b, x, w, &o),
			  "the output has size 0 in dimension 2");
	o = defaults;
	o.strides = WNN_UINT32_LIST(UINT32_MAX, 1);
	o.dilations = WNN_UINT32_LIST(UINT32_MAX, 1);
	assert_type_error(wnnGraphBuilderConvTranspose2d(f->b, x, w, &o),
			  "the output has size 17179869181 in dimension 2");
}

static void pool_sizes(void **state)
{
	struct fixture *f = *state;
	const WNNPool2dOptions defaults = WNN_POOL2D_OPTIONS_INIT;
	WNNPool2dOptions o = defaults;
	WNNOperand x = INPUT(f, Float32, 1, 3, 7, 7), y;

	assert_shape(wnnGraphBuilderAveragePool2d(f->b, x, NULL), Float32, 1, 3, 1, 1);
	o.windowDimensions = WNN_UINT32_LIST(3, 2);
	o.strides = WNN_UINT32_LIST(3, 3);
	y = wnnGraphBuilderMaxPool2d(f->b, x, &o);
	assert_shape(y, Float32, 1, 3, 2, 2);
	assert_int_equal(y->value->def->attrs.pool.kind, IR_POOL_MAX);
	o.outputShapeRounding = WNNRoundingType_Ceil;
	y = wnnGraphBuilderL2Pool2d(f->b, x, &o);
	assert_shape(y, Float32, 1, 3, 3, 3);
	assert_int_equal(y->value->def->attrs.pool.kind, IR_POOL_L2);
	/* outputSizes override the rounding; the padding is kept. */
	o.padding = WNN_UINT32_LIST(1, 0, 0, 1);
	o.outputSizes = WNN_UINT32_LIST(2, 3);
	y = wnnGraphBuilderAveragePool2d(f->b, x, &o);
	assert_shape(y, Float32, 1, 3, 2, 3);
	assert_int_equal(y->value->def->attrs.pool.padding[3], 1);
	assert_int_equal(y->value->def->attrs.pool.kind, IR_POOL_AVERAGE);
	o = defaults;
	o.layout = WNNInputOperandLayout_Nhwc;
	o.windowDimensions = WNN_UINT32_LIST(2, 1);
	o.dilations = WNN_UINT32_LIST(2, 9);
	assert_shape(wnnGraphBuilderMaxPool2d(f->b, INPUT(f, Uint8, 1, 3, 7, 7), &o), Uint8, 1, 1,
		     7, 7);
	/*
	 * The window is larger than the input. Rounding up still gives one output: (2 - 3) / 2 + 1
	 * is 0.5.
	 */
	o = defaults;
	o.windowDimensions = WNN_UINT32_LIST(3, 3);
	o.strides = WNN_UINT32_LIST(2, 2);
	o.outputShapeRounding = WNNRoundingType_Ceil;
	assert_shape(wnnGraphBuilderMaxPool2d(f->b, INPUT(f, Float32, 1, 1, 2, 2), &o), Float32, 1,
		     1, 1, 1);
	/* outputSizes may ask for the output of a window that is larger than the input, too. */
	o.outputShapeRounding = WNNRoundingType_Floor;
	o.outputSizes = WNN_UINT32_LIST(1, 1);
	assert_shape(wnnGraphBuilderMaxPool2d(f->b, INPUT(f, Float32, 1, 1, 2, 2), &o), Float32, 1,
		     1, 1, 1);
	o.outputSizes = WNN_UINT32_LIST(0, 0);
	assert_type_error(wnnGraphBuilderMaxPool2d(f->b, INPUT(f, Float32, 1, 1, 2, 2), &o),
			  "maxPool2d: the output has size 0 in dimension 2");
}

/* Tests that taps which are in the padding for every output are removed. */
static void pool_windows_are_trimmed(void **state)
{
	struct fixture *f = *state;
	WNNPool2dOptions o = WNN_POOL2D_OPTIONS_INIT;
	WNNOperand x = INPUT(f, Float32, 1, 1, 2, 2), y;
	const struct ir_pool_attrs *pool;

	/*
	 * The window of each of the 3 x 2 outputs covers the whole input. It is trimmed to the taps
	 * that see the input in some output.
	 */
	o.windowDimensions = WNN_UINT32_LIST(4000000000u, 4000000000u);
	o.padding = WNN_UINT32_LIST(2000000000u, 2000000000u, 1999999999u, 2000000000u);
	y = wnnGraphBuilderAveragePool2d(f->b, x, &o);
	assert_shape(y, Float32, 1, 1, 3, 2);
	pool = &y->value->def->attrs.pool;
	assert_int_equal(pool->window[0], 4);
	assert_int_equal(pool->padding[0], 2);
	assert_int_equal(pool->window[1], 3);
	assert_int_equal(pool->padding[2], 1);
	/* Taps of the dilated window are at -3, 0 and 3; only the second one sees the input. */
	o.windowDimensions = WNN_UINT32_LIST(3, 1);
	o.dilations = WNN_UINT32_LIST(3, 1);
	o.padding = WNN_UINT32_LIST(3, 2, 0, 0);
	y = wnnGraphBuilderMaxPool2d(f->b, x, &o);
	assert_shape(y, Float32, 1, 1, 1, 2);
	pool = &y->value->def->attrs.pool;
	assert_int_equal(pool->window[0], 1);
	assert_int_equal(pool->padding[0], 0);
	/* No tap sees the input: one is kept. */
	o.padding = WNN_UINT32_LIST(5, 0, 0, 0);
	o.dilations = WNN_UINT32_LIST(3, 1);
	o.windowDimensions = WNN_UINT32_LIST(2, 1);
	o.strides = WNN_UINT32_LIST(9, 1);
	y = wnnGraphBuilderMaxPool2d(f->b, x, &o);
	assert_shape(y, Float32, 1, 1, 1, 2);
	pool = &y->value->def->attrs.pool;
	assert_int_equal(pool->window[0], 1);
	assert_int_equal(pool->padding[0], 2);
}

static void pool_refusals(void **state)
{
	struct fixture *f = *state;
	const WNNPool2dOptions defaults = WNN_POOL2D_OPTIONS_INIT;
	WNNPool2dOptions o = defaults;
	WNNOperand x = INPUT(f, Float32, 1, 3, 7, 7);

	assert_type_error(wnnGraphBuilderAveragePool2d(f->b, INPUT(f, Int8, 1, 3, 7, 7), NULL),
			  "input has type int8");
	assert_type_error(wnnGraphBuilderMaxPool2d(f->b, INPUT(f, Int8, 3, 7, 7), NULL),
			  "input has rank 3, expected 4");
	o.windowDimensions = WNN_UINT32_LIST(1, 1, 1);
	assert_type_error(wnnGraphBuilderMaxPool2d(f->b, x, &o), "windowDimensions has 3 items");
	o.windowDimensions = WNN_UINT32_LIST(0, 1);
	assert_type_error(wnnGraphBuilderMaxPool2d(f->b, x, &o), "windowDimensions[0] is 0");
	o.windowDimensions = WNN_UINT32_LIST(1, 8);
	assert_type_error(wnnGraphBuilderMaxPool2d(f->b, x, &o),
			  "the dilated window has width 8, more than the padded input's 7");
	o.windowDimensions = WNN_UINT32_LIST(UINT32_MAX, 1);
	o.dilations = WNN_UINT32_LIST(UINT32_MAX, 1);
	assert_type_error(wnnGraphBuilderMaxPool2d(f->b, x, &o), "the dilated window has height");
	o = defaults;
	o.padding = WNN_UINT32_LIST(1);
	assert_type_error(wnnGraphBuilderMaxPool2d(f->b, x, &o), "options.padding has 1 items");
	o = defaults;
	o.strides = WNN_UINT32_LIST(1);
	assert_type_error(wnnGraphBuilderMaxPool2d(f->b, x, &o), "options.strides has 1 items");
	o.strides = WNN_UINT32_LIST(0, 1);
	assert_type_error(wnnGraphBuilderMaxPool2d(f->b, x, &o), "options.strides[0] is 0");
	o = defaults;
	o.dilations = WNN_UINT32_LIST(1);
	assert_type_error(wnnGraphBuilderMaxPool2d(f->b, x, &o), "options.dilations has 1 items");
	o.dilations = WNN_UINT32_LIST(1, 0);
	assert_type_error(wnnGraphBuilderMaxPool2d(f->b, x, &o), "options.dilations[1] is 0");
	o = defaults;
	o.outputSizes = WNN_UINT32_LIST(1);
	assert_type_error(wnnGraphBuilderMaxPool2d(f->b, x, &o), "outputSizes has 1 items");
	o.windowDimensions = WNN_UINT32_LIST(2, 2);
	o.strides = WNN_UINT32_LIST(2, 2);
	o.outputSizes = WNN_UINT32_LIST(3, 4);
	assert_type_error(wnnGraphBuilderMaxPool2d(f->b, x, &o),
			  "options.outputSizes is [3,4]; possible are [3,3] and [4,4]");
	o.strides = WNN_UINT32_LIST(1, 1);
	assert_type_error(wnnGraphBuilderMaxPool2d(f->b, x, &o),
			  "options.outputSizes is [3,4], expected [6,6]");
}

/* Tests that options of zeros, with which gemm would return zeros, are refused. */
static void options_not_made_by_the_macro(void **state)
{
	struct fixture *f = *state;
	WNNOperand a = INPUT(f, Float32, 2, 3), b = INPUT(f, Float32, 3, 4), x;
	WNNGemmOptions zero = { 0 }, one = { .alpha = 1 }, made = WNN_GEMM_OPTIONS_INIT;
	WNNConv2dOptions conv = { .groups = 1 };
	WNNEluOptions elu = { 0 };
	WNNGruCellOptions gru = { 0 };
	WNNReduceOptions reduce = { 0 };

	assert_type_error(wnnGraphBuilderGemm(f->b, a, b, &zero),
			  "gemm: the options were not made with WNN_GEMM_OPTIONS_INIT: label is "
			  "{ NULL, 0 } and alpha is 0, which is not its default");
	assert_type_error(wnnGraphBuilderGemm(f->b, a, b, &one), "and beta is 0");
	assert_type_error(wnnGraphBuilderElu(f->b, a, &elu), "WNN_ELU_OPTIONS_INIT");
	assert_type_error(wnnGraphBuilderGruCell(f->b, a, a, a, a, 1, &gru), "resetAfter is 0");
	/*
	 * The zeros are meant: the options began with the macro, or a label says that nothing was
	 * forgotten.
	 */
	made.alpha = made.beta = 0;
	assert_shape(wnnGraphBuilderGemm(f->b, a, b, &made), Float32, 2, 4);
	zero.label = WNN_STR("");
	assert_shape(wnnGraphBuilderGemm(f->b, a, b, &zero), Float32, 2, 4);
	/* The options that are 0 here are 0 by default, too. */
	x = INPUT(f, Float32, 1, 2, 5, 5);
	assert_shape(wnnGraphBuilderConv2d(f->b, x, INPUT(f, Float32, 3, 2, 1, 1), &conv), Float32,
		     1, 3, 5, 5);
	assert_operand(wnnGraphBuilderReduceSum(f->b, a, &reduce), WNNOperandDataType_Float32, 0,
		       NULL);
}

static void gemm(void **state)
{
	struct fixture *f = *state;
	const WNNGemmOptions defaults = WNN_GEMM_OPTIONS_INIT;
	WNNGemmOptions o = defaults;
	WNNOperand a = INPUT(f, Float16, 2, 3), b = INPUT(f, Float16, 3, 4), y;

	y = wnnGraphBuilderGemm(f->b, a, b, NULL);
	assert_shape(y, Float16, 2, 4);
	assert_null(y->value->def->operands[2]);
	o.alpha = 0.1;
	o.beta = 2;
	o.aTranspose = o.bTranspose = WNN_TRUE;
	o.c = INPUT(f, Float16, 3, 1);
	y = wnnGraphBuilderGemm(f->b, a, INPUT(f, Float16, 5, 2), &o);
	assert_shape(y, Float16, 3, 5);
	assert_true(y->value->def->attrs.matmul.alpha == 0.0999755859375f);
	assert_true(y->value->def->attrs.matmul.a_transpose);
	assert_true(y->value->def->attrs.matmul.b_transpose);
	o = defaults;
	o.c = SCALAR(f, Float16);
	assert_shape(wnnGraphBuilderGemm(f->b, a, b, &o), Float16, 2, 4);
	o.c = INPUT(f, Float16, 2);
	assert_type_error(wnnGraphBuilderGemm(f->b, a, b, &o),
			  "c of shape [2] cannot be broadcast to [2,4]");
	o.c = INPUT(f, Float32, 4);
	assert_type_error(wnnGraphBuilderGemm(f->b, a, b, &o),
			  "c has type float32, but a has float16");
	o.c = INPUT(f, Float16, 1, 2, 4);
	assert_type_error(wnnGraphBuilderGemm(f->b, a, b, &o), "c has rank 3");
	o = defaults;
	o.aTranspose = WNN_TRUE;
	assert_type_error(wnnGraphBuilderGemm(f->b, a, b, &o),
			  "a transposed has 2 columns, but b has 3 rows");
	o = defaults;
	o.beta = 1.0 / 0.0;
	assert_type_error(wnnGraphBuilderGemm(f->b, a, b, &o),
			  "options.beta is inf; it must be finite");
	assert_type_error(wnnGraphBuilderGemm(f->b, a, INPUT(f, Float16, 3, 4, 1), NULL),
			  "b has rank 3, expected 2");
	assert_type_error(wnnGraphBuilderGemm(f->b, INPUT(f, Int32, 2, 3), INPUT(f, Int32, 3, 4),
					      NULL),
			  "a has type int32");
}

static void matmul(void **state)
{
	struct fixture *f = *state;
	WNNOperand a = INPUT(f, Float32, 5, 1, 2, 3), b = INPUT(f, Float32, 7, 3, 4);

	assert_shape(wnnGraphBuilderMatmul(f->b, a, b, NULL), Float32, 5, 7, 2, 4);
	assert_shape(wnnGraphBuilderMatmul(f->b, INPUT(f, Float32, 2, 3), b, NULL), Float32, 7, 2,
		     4);
	assert_type_error(wnnGraphBuilderMatmul(f->b, INPUT(f, Float32, 3), b, NULL),
			  "a has rank 1; ranks from 2 to 8");
	assert_type_error(wnnGraphBuilderMatmul(f->b, a, INPUT(f, Float32, 4, 3), NULL),
			  "a of shape [5,1,2,3] has 3 columns, but b of shape [4,3] has 4 rows");
	assert_type_error(wnnGraphBuilderMatmul(f->b, INPUT(f, Float32, 6, 2, 3), b, NULL),
			  "the batch of a of shape [6] and the batch of b of shape [7] cannot be "
			  "broadcast together: 6 and 7 differ");
	assert_type_error(wnnGraphBuilderMatmul(f->b, a, INPUT(f, Float16, 3, 4), NULL),
			  "b has type float16");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		GRAPH_TEST(conv2d_sizes),
		GRAPH_TEST(conv2d_lists_outlive_their_block),
		GRAPH_TEST(conv2d_layouts),
		GRAPH_TEST(conv2d_refusals),
		GRAPH_TEST(conv_transpose2d_sizes),
		GRAPH_TEST(conv_transpose2d_refusals),
		GRAPH_TEST(pool_sizes),
		GRAPH_TEST(pool_windows_are_trimmed),
		GRAPH_TEST(pool_refusals),
		GRAPH_TEST(options_not_made_by_the_macro),
		GRAPH_TEST(gemm),
		GRAPH_TEST(matmul),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
