// SPDX-License-Identifier: MIT
/* Tests the rules of operators that move elements, of reductions and of normalizations. */
#include "fixture.h"

#include <math.h>

static WNNOperand reshape(struct fixture *f, WNNOperand x, WNNUint32Array shape)
{
	return wnnGraphBuilderReshape(f->b, x, shape, NULL);
}

static void reshapes(void **state)
{
	struct fixture *f = *state;
	WNNOperand x = INPUT(f, Int8, 2, 6), one = INPUT(f, Int8, 1, 1);

	assert_shape(reshape(f, x, WNN_UINT32_LIST(3, 1, 4)), Int8, 3, 1, 4);
	assert_operand(reshape(f, one, WNN_UINT32_EMPTY), WNNOperandDataType_Int8, 0, NULL);
	assert_type_error(reshape(f, x, WNN_UINT32_EMPTY),
			  "newShape [] has 1 elements, but input of shape [2,6] has 12");
	assert_type_error(reshape(f, x, WNN_UINT32_LIST(5, 2)), "newShape [5,2] has 10 elements");
	assert_type_error(reshape(f, x, WNN_UINT32_LIST(12, 0)), "size 0 in dimension 1");
	assert_type_error(reshape(f, x, WNN_UINT32_LIST(12, UINT32_MAX)), "size 4294967295");
	assert_type_error(reshape(f, x, WNN_UINT32_LIST(12, 1, 1, 1, 1, 1, 1, 1, 1)),
			  "newShape has 9 items; ranks up to 8");
	assert_type_error(reshape(f, x, (WNNUint32Array){ 2, NULL }),
			  "newShape has 2 items, but its data is NULL");
}

static void expands(void **state)
{
	struct fixture *f = *state;
	WNNOperand x = INPUT(f, Int8, 3, 1);

	assert_shape(wnnGraphBuilderExpand(f->b, x, WNN_UINT32_LIST(2, 3, 4), NULL), Int8, 2, 3, 4);
	assert_type_error(wnnGraphBuilderExpand(f->b, x, WNN_UINT32_LIST(3), NULL),
			  "input of shape [3,1] cannot be broadcast to newShape [3]");
	assert_type_error(wnnGraphBuilderExpand(f->b, x, WNN_UINT32_LIST(1, 4), NULL),
			  "cannot be broadcast to newShape [1,4]");
	assert_type_error(wnnGraphBuilderExpand(f->b, x, WNN_UINT32_LIST(3, 0), NULL),
			  "the output has size 0");
	assert_type_error(wnnGraphBuilderExpand(f->b, x, WNN_UINT32_LIST(3, 0x40000000), NULL),
			  "more than the 2147483647 elements");
}

static void tiles(void **state)
{
	struct fixture *f = *state;
	WNNOperand x = INPUT(f, Int8, 3, 2);

	assert_shape(wnnGraphBuilderTile(f->b, x, WNN_UINT32_LIST(2, 5), NULL), Int8, 6, 10);
	assert_operand(wnnGraphBuilderTile(f->b, SCALAR(f, Int8), WNN_UINT32_EMPTY, NULL),
		       WNNOperandDataType_Int8, 0, NULL);
	assert_type_error(wnnGraphBuilderTile(f->b, x, WNN_UINT32_LIST(2), NULL),
			  "repetitions has 1 items, expected 2");
	assert_type_error(wnnGraphBuilderTile(f->b, x, WNN_UINT32_LIST(0, 1), NULL),
			  "repetitions[0] is 0");
	assert_type_error(wnnGraphBuilderTile(f->b, x, WNN_UINT32_LIST(UINT32_MAX, 1), NULL),
			  "size 12884901885 in dimension 0");
}

static void transposes(void **state)
{
	struct fixture *f = *state;
	WNNTransposeOptions o = WNN_TRANSPOSE_OPTIONS_INIT;
	WNNOperand x = INPUT(f, Int8, 2, 3, 4), y;

	y = wnnGraphBuilderTranspose(f->b, x, NULL);
	assert_shape(y, Int8, 4, 3, 2);
	assert_int_equal(y->value->def->attrs.transpose.perm[0], 2);
	o.permutation = WNN_UINT32_LIST(1, 2, 0);
	assert_shape(wnnGraphBuilderTranspose(f->b, x, &o), Int8, 3, 4, 2);
	o.permutation = WNN_UINT32_LIST(0, 1);
	assert_type_error(wnnGraphBuilderTranspose(f->b, x, &o), "options.permutation has 2 items");
	o.permutation = WNN_UINT32_LIST(0, 1, 3);
	assert_type_error(wnnGraphBuilderTranspose(f->b, x, &o), "options.permutation[2] is 3");
	o.permutation = WNN_UINT32_LIST(0, 1, 1);
	assert_type_error(wnnGraphBuilderTranspose(f->b, x, &o), "options.permutation has 1 twice");
}

static void triangles(void **state)
{
	struct fixture *f = *state;
	WNNTriangularOptions o = WNN_TRIANGULAR_OPTIONS_INIT;
	WNNOperand y;

	o.upper = WNN_FALSE;
	o.diagonal = -3;
	y = wnnGraphBuilderTriangular(f->b, INPUT(f, Int8, 5, 2, 3), &o);
	assert_shape(y, Int8, 5, 2, 3);
	assert_false(y->value->def->attrs.triangular.upper);
	assert_true(y->value->def->attrs.triangular.diagonal == -3);
	assert_type_error(wnnGraphBuilderTriangular(f->b, INPUT(f, Int8, 5), &o), "rank 1");
}

static void concats(void **state)
{
	struct fixture *f = *state;
	WNNOperand x = INPUT(f, Int8, 2, 3), y = INPUT(f, Int8, 2, 4);
	WNNOperand many[8193];

	for (size_t i = 0; i < 8193; i++)
		many[i] = x;
	assert_shape(wnnGraphBuilderConcat(f->b, 2, (WNNOperand[]){ x, y }, 1, NULL), Int8, 2, 7);
	assert_shape(wnnGraphBuilderConcat(f->b, 1, &x, 0, NULL), Int8, 2, 3);
	assert_shape(wnnGraphBuilderConcat(f->b, 8192, many, 0, NULL), Int8, 16384, 3);
	assert_type_error(wnnGraphBuilderConcat(f->b, 8193, many, 0, NULL),
			  "inputs has 8193 items; 1 to 8192");
	assert_type_error(wnnGraphBuilderConcat(f->b, 0, many, 0, NULL), "inputs has 0 items");
	assert_type_error(wnnGraphBuilderConcat(f->b, 2, NULL, 0, NULL), "inputs is NULL");
	assert_type_error(wnnGraphBuilderConcat(f->b, 2, (WNNOperand[]){ x, NULL }, 0, NULL),
			  "inputs[1] is NULL");
	assert_type_error(wnnGraphBuilderConcat(f->b, 1, &x, 2, NULL), "axis is 2");
	assert_type_error(wnnGraphBuilderConcat(f->b, 1, (WNNOperand[]){ SCALAR(f, Int8) }, 0,
						NULL),
			  "inputs[0] has rank 0");
	assert_type_error(wnnGraphBuilderConcat(f->b, 2, (WNNOperand[]){ x, y }, 0, NULL),
			  "inputs[1] of shape [2,4] differs from inputs[0] of shape [2,3] in "
			  "dimension 1, which is not the axis");
	assert_type_error(wnnGraphBuilderConcat(f->b, 2, (WNNOperand[]){ x, INPUT(f, Uint8, 2, 3) },
						0, NULL),
			  "inputs[1] has type uint8, but inputs[0] has int8");
	assert_type_error(wnnGraphBuilderConcat(f->b, 2, (WNNOperand[]){ x, INPUT(f, Int8, 2) }, 0,
						NULL),
			  "inputs[1] has rank 1, but inputs[0] has 2");
	x = INPUT(f, Int8, 0x7fffffff);
	assert_type_error(wnnGraphBuilderConcat(f->b, 2, (WNNOperand[]){ x, x }, 0, NULL),
			  "size 4294967294 in dimension 0");
}

static void splits(void **state)
{
	struct fixture *f = *state;
	WNNSplitOptions o = WNN_SPLIT_OPTIONS_INIT;
	WNNOperand x = INPUT(f, Int8, 2, 6), parts[3];

	o.axis = 1;
	assert_int_equal(wnnGraphBuilderSplitEqual(f->b, x, 3, &o, 3, parts), 0);
	for (int i = 0; i < 3; i++) {
		assert_shape(parts[i], Int8, 2, 2);
		assert_int_equal(parts[i]->value->def->attrs.slice.starts[1], 2 * i);
		assert_int_equal(parts[i]->value->def->attrs.slice.strides[0], 1);
	}
	assert_int_equal(wnnGraphBuilderSplit(f->b, x, WNN_UINT32_LIST(1, 5), &o, 2, parts), 0);
	assert_shape(parts[1], Int8, 2, 5);
	assert_int_equal(parts[1]->value->def->attrs.slice.starts[1], 1);

	const struct {
		WNNUint32Array list;
		uint32_t count;
		size_t outputs;
		const char *message;
	} cases[] = {
		{ { 0, NULL }, 4, 3, "6, cannot be split into 4 equal parts" },
		{ { 0, NULL }, 0, 3, "split into 0 parts" },
		{ { 0, NULL }, 8193, 3, "split into 8193 parts" },
		{ { 0, NULL }, 3, 2, "outputCount is 2, but the operator makes 3 operands" },
		{ { 0, NULL }, 3, 0, "outputCount is 0" },
		{ { 0, NULL }, 3, 8193, "outputCount is 8193; at most 8192" },
		{ WNN_UINT32_LIST(1, 5, 1), 0, 3,
		  "splits add up to 7, but the size of the axis is 6" },
		{ WNN_UINT32_LIST(6, 0), 0, 2, "splits[1] is 0" },
		{ WNN_UINT32_EMPTY, 0, 3, "split into 0 parts" },
	};
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		WNNOperand many[8193] = { x };
		WNNStatus status;

		if (cases[i].list.data)
			status = wnnGraphBuilderSplit(f->b, x, cases[i].list, &o, cases[i].outputs,
						      many);
		else
			status = wnnGraphBuilderSplitEqual(f->b, x, cases[i].count, &o,
							   cases[i].outputs, many);
		assert_int_equal(status, WNNStatus_TypeError);
		assert_type_error(cases[i].outputs ? many[0] : NULL, cases[i].message);
	}
	assert_int_equal(wnnGraphBuilderSplitEqual(f->b, x, 3, &o, 3, NULL), WNNStatus_TypeError);
	assert_type_error(NULL, "outputs is NULL");
	o.axis = 2;
	assert_int_equal(wnnGraphBuilderSplitEqual(f->b, x, 3, &o, 3, parts), WNNStatus_TypeError);
	assert_type_error(parts[0], "options.axis is 2");
	assert_int_equal(wnnGraphBuilderSplitEqual(f->b, SCALAR(f, Int8), 1, NULL, 1, parts),
			 WNNStatus_TypeError);
	assert_type_error(parts[0], "input has rank 0");
}

static WNNOperand slice(struct fixture *f, WNNOperand x, WNNUint32Array starts,
			WNNUint32Array sizes)
{
	return wnnGraphBuilderSlice(f->b, x, starts, sizes, NULL);
}

static void slices(void **state)
{
	struct fixture *f = *state;
	WNNSliceOptions o = WNN_SLICE_OPTIONS_INIT;
	WNNOperand x = INPUT(f, Int8, 4, 7), y;

	assert_shape(slice(f, x, WNN_UINT32_LIST(1, 0), WNN_UINT32_LIST(3, 7)), Int8, 3, 7);
	assert_operand(slice(f, SCALAR(f, Int8), WNN_UINT32_EMPTY, WNN_UINT32_EMPTY),
		       WNNOperandDataType_Int8, 0, NULL);
	o.strides = WNN_UINT32_LIST(2, 3);
	y = wnnGraphBuilderSlice(f->b, x, WNN_UINT32_LIST(1, 2), WNN_UINT32_LIST(3, 5), &o);
	assert_shape(y, Int8, 2, 2);
	assert_int_equal(y->value->def->attrs.slice.strides[1], 3);
	assert_int_equal(y->value->def->attrs.slice.starts[1], 2);
	assert_type_error(slice(f, x, WNN_UINT32_LIST(1), WNN_UINT32_LIST(3, 7)),
			  "starts has 1 and sizes has 2 items, expected 2");
	assert_type_error(slice(f, x, WNN_UINT32_LIST(1, 0), WNN_UINT32_LIST(3)),
			  "starts has 2 and sizes has 1 items");
	assert_type_error(slice(f, x, WNN_UINT32_LIST(1, 0), WNN_UINT32_LIST(3, 0)),
			  "sizes[1] is 0");
	assert_type_error(slice(f, x, WNN_UINT32_LIST(4, 0), WNN_UINT32_LIST(1, 1)),
			  "starts[0] is 4; it must be below the size of the dimension, 4");
	assert_type_error(slice(f, x, WNN_UINT32_LIST(1, 1), WNN_UINT32_LIST(3, 7)),
			  "starts[1] + sizes[1] is 8, more than the size of the dimension, 7");
	assert_type_error(slice(f, x, WNN_UINT32_LIST(1, 1), WNN_UINT32_LIST(3, UINT32_MAX)),
			  "is 4294967296, more than");
	o.strides = WNN_UINT32_LIST(2, 0);
	assert_type_error(wnnGraphBuilderSlice(f->b, x, WNN_UINT32_LIST(0, 0),
					       WNN_UINT32_LIST(1, 1), &o),
			  "options.strides[1] is 0");
	o.strides = WNN_UINT32_LIST(2);
	assert_type_error(wnnGraphBuilderSlice(f->b, x, WNN_UINT32_LIST(0, 0),
					       WNN_UINT32_LIST(1, 1), &o),
			  "options.strides has 1 items, expected 2");
}

static void pads(void **state)
{
	struct fixture *f = *state;
	WNNPadOptions o = WNN_PAD_OPTIONS_INIT;
	WNNOperand x = INPUT(f, Int8, 2, 3), y;

	o.value = WNN_NUMBER_INT64(-7);
	y = wnnGraphBuilderPad(f->b, x, WNN_UINT32_LIST(1, 0), WNN_UINT32_LIST(0, 5), &o);
	assert_shape(y, Int8, 3, 8);
	assert_int_equal(y->value->def->attrs.pad.value, 0xf9);
	assert_int_equal(y->value->def->attrs.pad.end[1], 5);
	y = wnnGraphBuilderPad(f->b, x, WNN_UINT32_LIST(1, 0), WNN_UINT32_LIST(0, 5), NULL);
	assert_int_equal(y->value->def->attrs.pad.value, 0);
	assert_operand(wnnGraphBuilderPad(f->b, SCALAR(f, Int8), WNN_UINT32_EMPTY, WNN_UINT32_EMPTY,
					  NULL),
		       WNNOperandDataType_Int8, 0, NULL);
	assert_type_error(wnnGraphBuilderPad(f->b, x, WNN_UINT32_LIST(1), WNN_UINT32_LIST(0, 5),
					     NULL),
			  "beginningPadding has 1 and endingPadding has 2 items, expected 2");
	assert_type_error(wnnGraphBuilderPad(f->b, x, WNN_UINT32_LIST(1, 0), WNN_UINT32_LIST(0),
					     NULL),
			  "endingPadding has 1 items");
	assert_type_error(wnnGraphBuilderPad(f->b, x, WNN_UINT32_LIST(UINT32_MAX, 0),
					     WNN_UINT32_LIST(UINT32_MAX, 0), NULL),
			  "size 8589934592 in dimension 0");
	o.mode = WNNPaddingMode_Edge;
	assert_shape(wnnGraphBuilderPad(f->b, x, WNN_UINT32_LIST(9, 0), WNN_UINT32_LIST(0, 9), &o),
		     Int8, 11, 12);
	o.mode = WNNPaddingMode_Reflection;
	assert_shape(wnnGraphBuilderPad(f->b, x, WNN_UINT32_LIST(1, 2), WNN_UINT32_LIST(1, 2), &o),
		     Int8, 4, 7);
	assert_type_error(
		wnnGraphBuilderPad(f->b, x, WNN_UINT32_LIST(1, 3), WNN_UINT32_LIST(1, 2), &o),
		"padding of dimension 1 is 3 and 2; with mode reflection it must be below "
		"the size, 3");
	assert_type_error(wnnGraphBuilderPad(f->b, x, WNN_UINT32_LIST(1, 2), WNN_UINT32_LIST(2, 2),
					     &o),
			  "padding of dimension 0 is 1 and 2");
	o.mode = 7;
	assert_type_error(wnnGraphBuilderPad(f->b, x, WNN_UINT32_LIST(1, 2), WNN_UINT32_LIST(2, 2),
					     &o),
			  "options.mode is 7");
}

static void reverses(void **state)
{
	struct fixture *f = *state;
	WNNReverseOptions o = WNN_REVERSE_OPTIONS_INIT;
	WNNOperand x = INPUT(f, Int8, 2, 3), y = wnnGraphBuilderReverse(f->b, x, NULL);

	assert_shape(y, Int8, 2, 3);
	assert_int_equal(y->value->def->attrs.axes, 3);
	o.axes = WNN_UINT32_EMPTY;
	assert_int_equal(wnnGraphBuilderReverse(f->b, x, &o)->value->def->attrs.axes, 0);
	o.axes = WNN_UINT32_LIST(1);
	assert_int_equal(wnnGraphBuilderReverse(f->b, x, &o)->value->def->attrs.axes, 2);
	o.axes = WNN_UINT32_LIST(1, 1);
	assert_type_error(wnnGraphBuilderReverse(f->b, x, &o), "options.axes has 1 twice");
	o.axes = WNN_UINT32_LIST(2);
	assert_type_error(wnnGraphBuilderReverse(f->b, x, &o), "options.axes[0] is 2");
}

typedef WNNOperand (*reduce_fn)(WNNGraphBuilder, WNNOperand, WNNReduceOptions const *);

static void reductions(void **state)
{
	static const struct {
		reduce_fn call;
		int kind;
		uint32_t types;
	} cases[] = {
		{ wnnGraphBuilderReduceL1, IR_REDUCE_L1, 0x7e },
		{ wnnGraphBuilderReduceL2, IR_REDUCE_L2, 0x6 },
		{ wnnGraphBuilderReduceLogSum, IR_REDUCE_LOG_SUM, 0x6 },
		{ wnnGraphBuilderReduceLogSumExp, IR_REDUCE_LOG_SUM_EXP, 0x6 },
		{ wnnGraphBuilderReduceMax, IR_REDUCE_MAX, 0x1fe },
		{ wnnGraphBuilderReduceMean, IR_REDUCE_MEAN, 0x6 },
		{ wnnGraphBuilderReduceMin, IR_REDUCE_MIN, 0x1fe },
		{ wnnGraphBuilderReduceProduct, IR_REDUCE_PROD, 0x7e },
		{ wnnGraphBuilderReduceSum, IR_REDUCE_SUM, 0x7e },
		{ wnnGraphBuilderReduceSumSquare, IR_REDUCE_SUM_SQUARE, 0x7e },
	};
	struct fixture *f = *state;

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		for (uint32_t t = 1; t <= 8; t++) {
			WNNOperand y = cases[i].call(f->b, fixture_input(f, t, DIMS(2, 3)), NULL);

			if (!(cases[i].types >> t & 1)) {
				assert_type_error(y, "; allowed are ");
				continue;
			}
			assert_operand(y, t, 0, NULL);
			assert_int_equal(y->value->def->attrs.reduce.kind, cases[i].kind);
			assert_int_equal(y->value->def->attrs.reduce.axes, 3);
		}
}

static void reduced_sizes(void **state)
{
	struct fixture *f = *state;
	WNNReduceOptions o = WNN_REDUCE_OPTIONS_INIT;
	WNNOperand x = INPUT(f, Float32, 2, 3, 4), scalar = SCALAR(f, Float32), y;

	o.axes = WNN_UINT32_LIST(2, 0);
	assert_shape(wnnGraphBuilderReduceSum(f->b, x, &o), Float32, 3);
	o.keepDimensions = WNN_TRUE;
	assert_shape(wnnGraphBuilderReduceSum(f->b, x, &o), Float32, 1, 3, 1);
	o.axes = WNN_UINT32_EMPTY;
	y = wnnGraphBuilderReduceSum(f->b, x, &o);
	assert_shape(y, Float32, 2, 3, 4);
	assert_int_equal(y->value->def->attrs.reduce.axes, 0);
	assert_operand(wnnGraphBuilderReduceSum(f->b, scalar, &o), WNNOperandDataType_Float32, 0,
		       NULL);
	assert_operand(wnnGraphBuilderReduceSum(f->b, scalar, NULL), WNNOperandDataType_Float32, 0,
		       NULL);
	o.axes = WNN_UINT32_LIST(0);
	assert_type_error(wnnGraphBuilderReduceSum(f->b, scalar, &o), "options.axes[0] is 0");
	o.axes = WNN_UINT32_LIST(0, 3);
	assert_type_error(wnnGraphBuilderReduceSum(f->b, x, &o), "options.axes[1] is 3");
	o.axes = WNN_UINT32_LIST(2, 2);
	assert_type_error(wnnGraphBuilderReduceSum(f->b, x, &o), "options.axes has 2 twice");
}

static void arguments_of_extremes(void **state)
{
	struct fixture *f = *state;
	WNNArgMinMaxOptions o = WNN_ARG_MIN_MAX_OPTIONS_INIT;
	WNNOperand x = INPUT(f, Uint8, 2, 3), y = wnnGraphBuilderArgMax(f->b, x, 1, NULL);

	assert_shape(y, Int32, 2);
	assert_true(y->value->def->attrs.arg.max);
	assert_false(y->value->def->attrs.arg.last);
	o.keepDimensions = WNN_TRUE;
	o.outputDataType = WNNOperandDataType_Int64;
	y = wnnGraphBuilderArgMin(f->b, x, 0, &o);
	assert_shape(y, Int64, 1, 3);
	assert_false(y->value->def->attrs.arg.max);
	assert_type_error(wnnGraphBuilderArgMin(f->b, x, 2, &o), "axis is 2");
	assert_type_error(wnnGraphBuilderArgMin(f->b, SCALAR(f, Uint8), 0, &o), "input has rank 0");
	o.outputDataType = WNNOperandDataType_Uint32;
	assert_type_error(wnnGraphBuilderArgMin(f->b, x, 0, &o),
			  "options.outputDataType is uint32; allowed are int32, int64");
	o.outputDataType = 12;
	assert_type_error(wnnGraphBuilderArgMin(f->b, x, 0, &o), "options.outputDataType is 12");
}

/* Tests a chained structure that says how many elements are selected. */
static void selections(void **state)
{
	struct fixture *f = *state;
	WNNArgMinMaxDetails details = WNN_ARG_MIN_MAX_DETAILS_INIT, second = details;
	WNNReduceOptions other = WNN_REDUCE_OPTIONS_INIT;
	WNNArgMinMaxOptions o = WNN_ARG_MIN_MAX_OPTIONS_INIT;
	WNNOperand x = INPUT(f, Int8, 2, 3), y;

	o.nextInChain = &details.chain;
	y = wnnGraphBuilderArgMax(f->b, x, 1, &o);
	assert_shape(y, Int32, 2, 1);
	assert_int_equal(y->value->def->op, IR_OP_TOPK);
	details.count = 2;
	o.outputDataType = WNNOperandDataType_Int64;
	y = wnnGraphBuilderArgMin(f->b, x, 0, &o);
	assert_shape(y, Int64, 2, 3);
	assert_false(y->value->def->attrs.arg.max);
	details.count = 0;
	assert_type_error(wnnGraphBuilderArgMin(f->b, x, 0, &o),
			  "count is 0; it must be from 1 to 2, the size of axis 0");
	details.count = 4;
	assert_type_error(wnnGraphBuilderArgMax(f->b, x, 1, &o),
			  "count is 4; it must be from 1 to 3, the size of axis 1");
	details.chain.next = &second.chain;
	assert_type_error(wnnGraphBuilderArgMax(f->b, x, 1, &o),
			  "is not known for this operator, or given twice");
	second.chain.sType = (WNNSType)0x7fff;
	assert_type_error(wnnGraphBuilderArgMax(f->b, x, 1, &o),
			  "a struct of sType 32767 that is not known for this operator");
	other.nextInChain = &second.chain;
	assert_type_error(wnnGraphBuilderReduceSum(f->b, x, &other),
			  "is not known for this operator");
}

static void sums_and_softmax(void **state)
{
	struct fixture *f = *state;
	WNNCumulativeSumOptions o = WNN_CUMULATIVE_SUM_OPTIONS_INIT;
	WNNOperand x = INPUT(f, Float32, 2, 3), y;

	o.reversed = WNN_TRUE;
	y = wnnGraphBuilderCumulativeSum(f->b, x, 1, &o);
	assert_shape(y, Float32, 2, 3);
	assert_true(y->value->def->attrs.cumsum.reversed);
	assert_false(y->value->def->attrs.cumsum.exclusive);
	assert_type_error(wnnGraphBuilderCumulativeSum(f->b, x, 2, &o), "axis is 2");
	assert_type_error(wnnGraphBuilderCumulativeSum(f->b, INPUT(f, Int8, 2), 0, &o),
			  "type int8");
	assert_type_error(wnnGraphBuilderCumulativeSum(f->b, SCALAR(f, Int32), 0, &o), "rank 0");
	assert_shape(wnnGraphBuilderSoftmax(f->b, x, 1, NULL), Float32, 2, 3);
	assert_type_error(wnnGraphBuilderSoftmax(f->b, x, 2, NULL), "axis is 2");
	assert_type_error(wnnGraphBuilderSoftmax(f->b, INPUT(f, Int32, 2), 0, NULL), "type int32");
}

static void batch_normalization(void **state)
{
	struct fixture *f = *state;
	const WNNBatchNormalizationOptions defaults = WNN_BATCH_NORMALIZATION_OPTIONS_INIT;
	WNNBatchNormalizationOptions o = defaults;
	WNNOperand x = INPUT(f, Float32, 2, 3, 4), c = INPUT(f, Float32, 3), y;

	o.scale = c;
	y = wnnGraphBuilderBatchNormalization(f->b, x, c, c, &o);
	assert_shape(y, Float32, 2, 3, 4);
	assert_true(y->value->def->attrs.norm.epsilon == 1e-5f);
	assert_non_null(y->value->def->operands[3]);
	assert_null(y->value->def->operands[4]);
	o.axis = 3;
	assert_type_error(wnnGraphBuilderBatchNormalization(f->b, x, c, c, &o),
			  "options.axis is 3");
	o.axis = 2;
	assert_type_error(wnnGraphBuilderBatchNormalization(f->b, x, c, c, &o),
			  "mean has shape [3], expected [4]");
	o = defaults;
	o.bias = INPUT(f, Float32, 4);
	assert_type_error(wnnGraphBuilderBatchNormalization(f->b, x, c, c, &o),
			  "bias has shape [4]");
	o = defaults;
	o.scale = INPUT(f, Float16, 3);
	assert_type_error(wnnGraphBuilderBatchNormalization(f->b, x, c, c, &o),
			  "scale has type float16");
	assert_type_error(wnnGraphBuilderBatchNormalization(f->b, x, c, INPUT(f, Float32, 3, 1),
							    NULL),
			  "variance has rank 2, expected 1");
	o = defaults;
	o.epsilon = NAN;
	assert_type_error(wnnGraphBuilderBatchNormalization(f->b, x, c, c, &o),
			  "options.epsilon is nan");
}

static void instance_normalization(void **state)
{
	struct fixture *f = *state;
	const WNNInstanceNormalizationOptions defaults = WNN_INSTANCE_NORMALIZATION_OPTIONS_INIT;
	WNNInstanceNormalizationOptions o = defaults;
	WNNOperand x = INPUT(f, Float32, 2, 3, 4, 5);

	o.scale = INPUT(f, Float32, 3);
	assert_shape(wnnGraphBuilderInstanceNormalization(f->b, x, &o), Float32, 2, 3, 4, 5);
	o.layout = WNNInputOperandLayout_Nhwc;
	assert_type_error(wnnGraphBuilderInstanceNormalization(f->b, x, &o),
			  "scale has shape [3], expected [5]");
	o = defaults;
	o.bias = INPUT(f, Float32, 4);
	assert_type_error(wnnGraphBuilderInstanceNormalization(f->b, x, &o), "bias has shape [4]");
	assert_type_error(wnnGraphBuilderInstanceNormalization(f->b, INPUT(f, Float32, 2, 3, 4),
							       NULL),
			  "input has rank 3, expected 4");
}

static void layer_normalization(void **state)
{
	struct fixture *f = *state;
	const WNNLayerNormalizationOptions defaults = WNN_LAYER_NORMALIZATION_OPTIONS_INIT;
	WNNLayerNormalizationOptions o = defaults;
	WNNOperand x = INPUT(f, Float32, 2, 3, 4), y;

	y = wnnGraphBuilderLayerNormalization(f->b, x, NULL);
	assert_shape(y, Float32, 2, 3, 4);
	assert_int_equal(y->value->def->attrs.norm.num_axes, 2);
	assert_int_equal(y->value->def->attrs.norm.axes[0], 1);
	y = wnnGraphBuilderLayerNormalization(f->b, INPUT(f, Float32, 7), NULL);
	assert_int_equal(y->value->def->attrs.norm.num_axes, 0);
	/* Scale and bias have their dimensions in the order of the axes. */
	o.axes = WNN_UINT32_LIST(2, 0);
	o.scale = INPUT(f, Float32, 4, 2);
	y = wnnGraphBuilderLayerNormalization(f->b, x, &o);
	assert_shape(y, Float32, 2, 3, 4);
	assert_int_equal(y->value->def->attrs.norm.axes[0], 2);
	o.bias = INPUT(f, Float32, 2, 4);
	assert_type_error(wnnGraphBuilderLayerNormalization(f->b, x, &o),
			  "bias has shape [2,4], expected [4,2]");
	o.bias = INPUT(f, Float32, 4);
	assert_type_error(wnnGraphBuilderLayerNormalization(f->b, x, &o), "bias has shape [4]");
	o = defaults;
	o.axes = WNN_UINT32_LIST(3);
	assert_type_error(wnnGraphBuilderLayerNormalization(f->b, x, &o), "options.axes[0] is 3");
	o.axes = WNN_UINT32_LIST(1, 1);
	assert_type_error(wnnGraphBuilderLayerNormalization(f->b, x, &o),
			  "options.axes has 1 twice");
	o.axes = WNN_UINT32_EMPTY;
	o.bias = SCALAR(f, Float32);
	assert_shape(wnnGraphBuilderLayerNormalization(f->b, x, &o), Float32, 2, 3, 4);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		GRAPH_TEST(reshapes),
		GRAPH_TEST(expands),
		GRAPH_TEST(tiles),
		GRAPH_TEST(transposes),
		GRAPH_TEST(triangles),
		GRAPH_TEST(concats),
		GRAPH_TEST(splits),
		GRAPH_TEST(slices),
		GRAPH_TEST(pads),
		GRAPH_TEST(reverses),
		GRAPH_TEST(reductions),
		GRAPH_TEST(reduced_sizes),
		GRAPH_TEST(arguments_of_extremes),
		GRAPH_TEST(selections),
		GRAPH_TEST(sums_and_softmax),
		GRAPH_TEST(batch_normalization),
		GRAPH_TEST(instance_normalization),
		GRAPH_TEST(layer_normalization),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
