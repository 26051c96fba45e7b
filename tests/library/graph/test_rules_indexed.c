// SPDX-License-Identifier: MIT
/* Tests the rules of gather, scatter, quantization, resampling and recurrent networks. */
#include "fixture.h"

#include <math.h>

static void gathers(void **state)
{
	struct fixture *f = *state;
	WNNGatherOptions o = WNN_GATHER_OPTIONS_INIT;
	WNNOperand x = INPUT(f, Int8, 2, 3, 4), i = INPUT(f, Int32, 5, 6), y;

	o.axis = 1;
	y = wnnGraphBuilderGather(f->b, x, i, &o);
	assert_shape(y, Int8, 2, 5, 6, 4);
	assert_int_equal(y->value->def->attrs.gather.kind, IR_GATHER_AXIS);
	assert_int_equal(y->value->def->attrs.gather.axis, 1);
	/* A scalar index selects one element: the rank decreases, down to that of a scalar. */
	assert_shape(wnnGraphBuilderGather(f->b, x, SCALAR(f, Uint32), NULL), Int8, 3, 4);
	assert_operand(wnnGraphBuilderGather(f->b, INPUT(f, Int8, 3), SCALAR(f, Int64), NULL),
		       WNNOperandDataType_Int8, 0, NULL);
	o.axis = 3;
	assert_type_error(wnnGraphBuilderGather(f->b, x, i, &o), "options.axis is 3");
	assert_type_error(wnnGraphBuilderGather(f->b, x, INPUT(f, Uint64, 5), NULL),
			  "indices has type uint64; allowed are int32, uint32, int64");
	assert_type_error(wnnGraphBuilderGather(f->b, SCALAR(f, Int8), i, NULL),
			  "input has rank 0");
	assert_type_error(wnnGraphBuilderGather(f->b, x, INPUT(f, Int32, 1, 1, 1, 1, 1, 1, 1),
						NULL),
			  "the output would have rank 9; ranks up to 8");
}

static void gathers_elements(void **state)
{
	struct fixture *f = *state;
	WNNGatherOptions o = WNN_GATHER_OPTIONS_INIT;
	WNNOperand x = INPUT(f, Int8, 2, 3), y;

	o.axis = 1;
	y = wnnGraphBuilderGatherElements(f->b, x, INPUT(f, Int32, 2, 7), &o);
	assert_shape(y, Int8, 2, 7);
	assert_int_equal(y->value->def->attrs.gather.kind, IR_GATHER_ELEMENTS);
	assert_type_error(
		wnnGraphBuilderGatherElements(f->b, x, INPUT(f, Int32, 3, 3), &o),
		"indices of shape [3,3] differs from input of shape [2,3] in dimension 0");
	assert_type_error(wnnGraphBuilderGatherElements(f->b, x, INPUT(f, Int32, 2), &o),
			  "indices has rank 1, but input has 2");
	o.axis = 2;
	assert_type_error(wnnGraphBuilderGatherElements(f->b, x, INPUT(f, Int32, 2, 3), &o),
			  "options.axis is 2");
}

static void gathers_nd(void **state)
{
	struct fixture *f = *state;
	WNNOperand x = INPUT(f, Int8, 2, 3, 4);

	assert_shape(wnnGraphBuilderGatherND(f->b, x, INPUT(f, Int32, 7, 2), NULL), Int8, 7, 4);
	assert_operand(wnnGraphBuilderGatherND(f->b, x, INPUT(f, Int32, 3), NULL),
		       WNNOperandDataType_Int8, 0, NULL);
	assert_type_error(
		wnnGraphBuilderGatherND(f->b, x, INPUT(f, Int32, 7, 4), NULL),
		"indices has 4 coordinates (its last dimension), more than the rank of input, 3");
	assert_type_error(wnnGraphBuilderGatherND(f->b, x, INPUT(f, Int32, 1, 1, 1, 1, 1, 1, 1, 1),
						  NULL),
			  "the output would have rank 9");
	assert_type_error(wnnGraphBuilderGatherND(f->b, x, SCALAR(f, Int32), NULL),
			  "indices has rank 0");
}

static void scatters(void **state)
{
	struct fixture *f = *state;
	WNNScatterOptions o = WNN_SCATTER_OPTIONS_INIT;
	WNNOperand x = INPUT(f, Float32, 4, 3), i = INPUT(f, Int32, 2, 3),
		   u = INPUT(f, Float32, 2, 3);

	assert_shape(wnnGraphBuilderScatterElements(f->b, x, i, u, NULL), Float32, 4, 3);
	assert_type_error(wnnGraphBuilderScatterElements(f->b, x, i, x, NULL),
			  "updates has shape [4,3], expected [2,3]");
	assert_type_error(wnnGraphBuilderScatterElements(f->b, x, i, INPUT(f, Int32, 2, 3), NULL),
			  "updates has type int32, but input has float32");
	o.axis = 1;
	assert_type_error(wnnGraphBuilderScatterElements(f->b, x, i, u, &o), "in dimension 0");
	o.axis = 2;
	assert_type_error(wnnGraphBuilderScatterElements(f->b, x, i, u, &o), "options.axis is 2");
	assert_shape(wnnGraphBuilderScatterND(f->b, x, INPUT(f, Int32, 5, 1),
					      INPUT(f, Float32, 5, 3), NULL),
		     Float32, 4, 3);
	assert_shape(wnnGraphBuilderScatterND(f->b, x, INPUT(f, Int32, 2), SCALAR(f, Float32),
					      NULL),
		     Float32, 4, 3);
	assert_type_error(wnnGraphBuilderScatterND(f->b, x, INPUT(f, Int32, 5, 1), u, NULL),
			  "updates has shape [2,3], expected [5,3]");
	assert_type_error(wnnGraphBuilderScatterND(f->b, x, INPUT(f, Int32, 5, 3), u, NULL),
			  "indices has 3 coordinates");
}

/*
 * A tensor may have as many elements as an int32 can count, and not one more; neither size is
 * allocated here.
 */
static void sizes_near_the_limit(void **state)
{
	struct fixture *f = *state;
	const WNNResample2dOptions defaults = WNN_RESAMPLE2D_OPTIONS_INIT;
	WNNResample2dOptions o = defaults;
	WNNOperand i = INPUT(f, Int32, 0x7fffffff), two = INPUT(f, Int8, 7, 2);

	assert_shape(wnnGraphBuilderGather(f->b, INPUT(f, Int8, 7), i, NULL), Int8, 0x7fffffff);
	assert_type_error(wnnGraphBuilderGather(f->b, two, i, NULL),
			  "the output has more than the 2147483647 elements");
	assert_type_error(wnnGraphBuilderGatherND(f->b, two, INPUT(f, Int32, 0x40000000, 1), NULL),
			  "the output has more than the 2147483647 elements");
	assert_shape(wnnGraphBuilderGatherElements(f->b, INPUT(f, Int8, 7), i, NULL), Int8,
		     0x7fffffff);
	o.sizes = WNN_UINT32_LIST(46341, 46341);
	assert_type_error(wnnGraphBuilderResample2d(f->b, INPUT(f, Uint8, 1, 1, 2, 2), &o),
			  "the output has more than the 2147483647 elements");
	o.sizes = WNN_UINT32_LIST(46340, 46340);
	assert_shape(wnnGraphBuilderResample2d(f->b, INPUT(f, Uint8, 1, 1, 2, 2), &o), Uint8, 1, 1,
		     46340, 46340);
	o.sizes = WNN_UINT32_LIST(0xffffffff, 1);
	assert_type_error(wnnGraphBuilderResample2d(f->b, INPUT(f, Uint8, 1, 1, 2, 2), &o),
			  "the output has size 4294967295 in dimension 2");
	assert_shape(wnnGraphBuilderDequantizeLinear(f->b, INPUT(f, Uint8, 0x7fffffff),
						     INPUT(f, Float32, 1), INPUT(f, Uint8, 1),
						     NULL),
		     Float32, 0x7fffffff);
}

static void quantization(void **state)
{
	struct fixture *f = *state;
	WNNOperand x = INPUT(f, Float16, 4, 6), s = INPUT(f, Float16, 2, 1),
		   z = INPUT(f, Uint8, 2, 1);
	WNNOperand q = INPUT(f, Uint8, 4, 6);

	assert_shape(wnnGraphBuilderQuantizeLinear(f->b, x, s, z, NULL), Uint8, 4, 6);
	assert_shape(wnnGraphBuilderDequantizeLinear(f->b, q, s, z, NULL), Float16, 4, 6);
	assert_type_error(wnnGraphBuilderQuantizeLinear(f->b, x, INPUT(f, Float32, 2, 1), z, NULL),
			  "scale has type float32, but input has float16");
	assert_type_error(wnnGraphBuilderDequantizeLinear(f->b, q, s, INPUT(f, Int8, 2, 1), NULL),
			  "zeroPoint has type int8, but input has uint8");
	assert_type_error(wnnGraphBuilderQuantizeLinear(f->b, x, s, INPUT(f, Uint8, 1, 1), NULL),
			  "scale has shape [2,1], but zeroPoint has [1,1]");
	assert_type_error(wnnGraphBuilderQuantizeLinear(f->b, x, INPUT(f, Float16, 2), z, NULL),
			  "scale has rank 1, but input has 2");
	assert_type_error(wnnGraphBuilderQuantizeLinear(f->b, x, INPUT(f, Float16, 3, 1),
							INPUT(f, Uint8, 3, 1), NULL),
			  "scale of shape [3,1] does not divide input of shape [4,6] into blocks: "
			  "4 is no multiple of 3");
	assert_type_error(wnnGraphBuilderQuantizeLinear(f->b, x, s, INPUT(f, Int64, 2, 1), NULL),
			  "zeroPoint has type int64");
}

static void resampling(void **state)
{
	struct fixture *f = *state;
	const WNNResample2dOptions defaults = WNN_RESAMPLE2D_OPTIONS_INIT;
	WNNResample2dOptions o = defaults;
	WNNOperand x = INPUT(f, Uint8, 1, 3, 5, 7), y;

	assert_shape(wnnGraphBuilderResample2d(f->b, x, NULL), Uint8, 1, 3, 5, 7);
	o.scales = WNN_FLOAT_ARRAY(((float[]){ 1.5f, 0.5f }));
	assert_shape(wnnGraphBuilderResample2d(f->b, x, &o), Uint8, 1, 3, 7, 3);
	o.sizes = WNN_UINT32_LIST(2, 9);
	o.axes = WNN_UINT32_LIST(3, 1);
	o.mode = WNNInterpolationMode_Linear;
	y = wnnGraphBuilderResample2d(f->b, x, &o);
	assert_shape(y, Uint8, 1, 9, 5, 2);
	assert_true(y->value->def->attrs.resample.linear);
	assert_int_equal(y->value->def->attrs.resample.axes[0], 3);
	/* Scales are checked even when sizes are given. */
	o.scales = WNN_FLOAT_ARRAY(((float[]){ 1, 0 }));
	assert_type_error(wnnGraphBuilderResample2d(f->b, x, &o), "options.scales[1] is 0");
	o.scales = WNN_FLOAT_ARRAY(((float[]){ 1, NAN }));
	assert_type_error(wnnGraphBuilderResample2d(f->b, x, &o),
			  "options.scales[1] is nan; it must be finite");
	o.scales = WNN_FLOAT_ARRAY(((float[]){ 1 }));
	assert_type_error(wnnGraphBuilderResample2d(f->b, x, &o), "options.scales has 1 items");
	o = defaults;
	o.scales = WNN_FLOAT_ARRAY(((float[]){ 0.1f, 1 }));
	assert_type_error(wnnGraphBuilderResample2d(f->b, x, &o),
			  "the output has size 0 in dimension 2");
	o.scales = WNN_FLOAT_ARRAY(((float[]){ 1, 3e38f }));
	assert_type_error(wnnGraphBuilderResample2d(f->b, x, &o), "the output has size 2147483648");
	o = defaults;
	o.sizes = WNN_UINT32_LIST(2);
	assert_type_error(wnnGraphBuilderResample2d(f->b, x, &o), "options.sizes has 1 items");
	o.sizes = WNN_UINT32_LIST(0, 1);
	assert_type_error(wnnGraphBuilderResample2d(f->b, x, &o), "options.sizes[0] is 0");
	o = defaults;
	o.axes = WNN_UINT32_LIST(2);
	assert_type_error(wnnGraphBuilderResample2d(f->b, x, &o), "options.axes has 1 items");
	o.axes = WNN_UINT32_LIST(2, 2);
	assert_type_error(wnnGraphBuilderResample2d(f->b, x, &o), "options.axes has 2 twice");
	o.axes = WNN_UINT32_LIST(2, 4);
	assert_type_error(wnnGraphBuilderResample2d(f->b, x, &o), "options.axes[1] is 4");
	assert_type_error(wnnGraphBuilderResample2d(f->b, INPUT(f, Int32, 1, 3, 5, 7), NULL),
			  "type int32");
}

/* Checks chained details with activations that WebNN lacks, and for a network without gates. */
static void check_functions(struct fixture *f, WNNOperand x, WNNOperand w, WNNOperand r,
			    WNNRecurrentDetails *details)
{
	WNNRecurrentActivation acts[] = {
		{ WNNRecurrentFunction_HardSigmoid, 0.25, 0.5 },
		{ WNNRecurrentFunction_ScaledTanh, 2, 3 },
	};
	WNNOperand flat = INPUT(f, Float32, 2, 5, 3), square = INPUT(f, Float32, 2, 5, 5);
	WNNGruOptions o = WNN_GRU_OPTIONS_INIT;
	WNNLstmOptions lstm = WNN_LSTM_OPTIONS_INIT;
	WNNOperand out[2] = { NULL };
	const struct ir_node *node;

	o.direction = WNNRecurrentNetworkDirection_Both;
	o.nextInChain = lstm.nextInChain = &details->chain;
	details->activationCount = 2;
	details->activations = acts;
	assert_int_equal(wnnGraphBuilderGru(f->b, x, w, r, 4, 5, &o, 1, out), 0);
	node = out[0]->value->def;
	assert_int_equal(node->attrs.rnn.activations[0], IR_HARD_SIGMOID);
	assert_int_equal(node->attrs.rnn.activations[1], IR_SCALED_TANH);
	assert_true(node->attrs.rnn.alphas[0] == 0.25f && node->attrs.rnn.betas[1] == 3);
#define FUNCTIONS(w, r) (wnnGraphBuilderGru(f->b, x, w, r, 4, 5, &o, 1, out), out[0])
	details->activationCount = 3;
	assert_type_error(FUNCTIONS(w, r), "activationCount is 3; it must be 2 or 0");
	details->activationCount = 2;
	details->activations = NULL;
	assert_type_error(FUNCTIONS(w, r),
			  "activations is NULL; with activationCount 2, it must point to as many "
			  "activations");
	details->activations = acts;
	acts[1].function = (WNNRecurrentFunction)12;
	assert_type_error(FUNCTIONS(w, r),
			  "activations[1].function is 12; it must be from 1 to 11");
	details->plain = WNN_TRUE;
	details->activationCount = 1;
	assert_int_equal(wnnGraphBuilderGru(f->b, x, flat, square, 4, 5, &o, 1, out), 0);
	node = out[0]->value->def;
	assert_true(node->attrs.rnn.plain && node->attrs.rnn.activations[0] == IR_HARD_SIGMOID);
	details->activationCount = 0;
	assert_int_equal(wnnGraphBuilderGru(f->b, x, flat, square, 4, 5, &o, 1, out), 0);
	assert_int_equal(out[0]->value->def->attrs.rnn.activations[0], IR_TANH);
	assert_type_error(FUNCTIONS(w, r), "weight has shape [2,15,3], expected [2,5,3]");
	assert_type_error((wnnGraphBuilderLstm(f->b, x, w, r, 4, 5, &lstm, 2, out), out[0]),
			  "plain is allowed for gru only");
	details->plain = WNN_FALSE;
}

/* Checks chained details with lengths of sequences and limits of gates. */
static void check_details(struct fixture *f, WNNOperand x, WNNOperand w, WNNOperand r)
{
	WNNRecurrentDetails details = WNN_RECURRENT_DETAILS_INIT, second = details;
	WNNGruOptions o = WNN_GRU_OPTIONS_INIT;
	WNNOperand out[2] = { NULL };
	const struct ir_node *node;

	o.direction = WNNRecurrentNetworkDirection_Both;
	o.nextInChain = &details.chain;
	details.sequenceLengths = INPUT(f, Int32, 2);
	details.clip = 2;
	assert_int_equal(wnnGraphBuilderGru(f->b, x, w, r, 4, 5, &o, 1, out), 0);
	node = out[0]->value->def;
	assert_int_equal(node->num_operands, 7);
	assert_ptr_equal(node->operands[6], details.sequenceLengths->value);
	assert_true(node->attrs.rnn.clip == 2);
#define DETAILS() (wnnGraphBuilderGru(f->b, x, w, r, 4, 5, &o, 1, out), out[0])
	details.clip = -1;
	assert_type_error(DETAILS(), "clip is -1; it must be 0 or more");
	details.clip = 0;
	details.coupledGates = WNN_TRUE;
	assert_type_error(DETAILS(), "coupledGates and latePeephole are allowed for lstm only");
	details.coupledGates = WNN_FALSE;
	details.sequenceLengths = INPUT(f, Int32, 3);
	assert_type_error(DETAILS(), "sequenceLengths has shape [3], expected [2]");
	details.sequenceLengths = INPUT(f, Int64, 2);
	assert_type_error(DETAILS(), "sequenceLengths has type int64; allowed is int32");
	details.sequenceLengths = NULL;
	check_functions(f, x, w, r, &details);
	details.chain.next = &second.chain;
	assert_type_error(DETAILS(), "is not known for this operator, or given twice");
}

/*
 * Tests the shapes of a gru with 4 steps, batch 2, 3 features, hidden size 5 and both directions.
 */
static void gru(void **state)
{
	struct fixture *f = *state;
	const WNNGruOptions defaults = WNN_GRU_OPTIONS_INIT;
	const WNNRecurrentNetworkActivation acts[] = {
		WNNRecurrentNetworkActivation_Relu,
		WNNRecurrentNetworkActivation_Tanh,
		WNNRecurrentNetworkActivation_Tanh,
	};
	WNNGruOptions o = defaults;
	WNNOperand x = INPUT(f, Float32, 4, 2, 3), w = INPUT(f, Float32, 2, 15, 3);
	WNNOperand r = INPUT(f, Float32, 2, 15, 5), out[2];
	const struct ir_node *node;

	o.direction = WNNRecurrentNetworkDirection_Both;
	o.returnSequence = WNN_TRUE;
	o.layout = WNNGruWeightLayout_Rzn;
	o.bias = INPUT(f, Float32, 2, 15);
	o.initialHiddenState = INPUT(f, Float32, 2, 2, 5);
	o.activations = (WNNRecurrentNetworkActivationArray){ 2, acts };
	assert_int_equal(wnnGraphBuilderGru(f->b, x, w, r, 4, 5, &o, 2, out), 0);
	assert_shape(out[0], Float32, 2, 2, 5);
	assert_shape(out[1], Float32, 4, 2, 2, 5);
	node = out[1]->value->def;
	assert_ptr_equal(node, out[0]->value->def);
	assert_int_equal(node->op, IR_OP_GRU);
	assert_int_equal(node->num_operands, 6);
	assert_null(node->operands[4]);
	assert_int_equal(node->attrs.rnn.direction, IR_BOTH);
	assert_int_equal(node->attrs.rnn.gate_order, 1);
	assert_int_equal(node->attrs.rnn.activations[0], IR_RELU);
	assert_true(node->attrs.rnn.reset_after && !node->attrs.rnn.cell);

#define GRU(steps, hidden, count) \
	(wnnGraphBuilderGru(f->b, x, w, r, steps, hidden, &o, count, out), out[0])
	assert_type_error(GRU(3, 5, 2), "steps is 3, but input has 4");
	assert_type_error(GRU(4, 4, 2), "weight has shape [2,15,3], expected [2,12,3]");
	assert_type_error(GRU(4, 0, 2), "hiddenSize is 0; it must be from 1 to 357913941");
	assert_type_error(GRU(4, 357913942, 2), "hiddenSize is 357913942");
	assert_type_error(GRU(4, 5, 1), "outputCount is 1, but the operator makes 2 operands");
	o.activations.count = 3;
	assert_type_error(GRU(4, 5, 2), "options.activations has 3 items, expected 2");
	o.activations = defaults.activations;
	o.recurrentBias = INPUT(f, Float32, 2, 14);
	assert_type_error(GRU(4, 5, 2), "recurrentBias has shape [2,14], expected [2,15]");
	o.recurrentBias = NULL;
	o.initialHiddenState = INPUT(f, Float32, 2, 3, 5);
	assert_type_error(GRU(4, 5, 2), "initialHiddenState has shape [2,3,5], expected [2,2,5]");
	check_details(f, x, w, r);
	o = defaults;
	assert_type_error(GRU(4, 5, 1), "weight has shape [2,15,3], expected [1,15,3]");
	w = INPUT(f, Float32, 1, 15, 3);
	assert_type_error(GRU(4, 5, 1), "recurrentWeight has shape [2,15,5], expected [1,15,5]");
#undef GRU
}

static void gru_cell(void **state)
{
	struct fixture *f = *state;
	WNNGruCellOptions o = WNN_GRU_CELL_OPTIONS_INIT;
	WNNOperand x = INPUT(f, Float32, 2, 3), w = INPUT(f, Float32, 15, 3);
	WNNOperand r = INPUT(f, Float32, 15, 5), h = INPUT(f, Float32, 2, 5), y;

	o.bias = INPUT(f, Float32, 15);
	y = wnnGraphBuilderGruCell(f->b, x, w, r, h, 5, &o);
	assert_shape(y, Float32, 2, 5);
	assert_true(y->value->def->attrs.rnn.cell);
	assert_ptr_equal(y->value->def->operands[3], o.bias->value);
	assert_ptr_equal(y->value->def->operands[5], h->value);
	assert_int_equal(y->value->def->attrs.rnn.activations[0], IR_SIGMOID);
	assert_int_equal(y->value->def->attrs.rnn.activations[1], IR_TANH);
	assert_type_error(wnnGraphBuilderGruCell(f->b, x, w, r, x, 5, NULL),
			  "hiddenState has shape [2,3], expected [2,5]");
	o.bias = INPUT(f, Float32, 14);
	assert_type_error(wnnGraphBuilderGruCell(f->b, x, w, r, h, 5, &o), "bias has shape [14]");
}

static void lstm(void **state)
{
	struct fixture *f = *state;
	const WNNLstmOptions defaults = WNN_LSTM_OPTIONS_INIT;
	WNNLstmOptions o = defaults;
	WNNOperand x = INPUT(f, Float16, 4, 2, 3), w = INPUT(f, Float16, 1, 20, 3);
	WNNOperand r = INPUT(f, Float16, 1, 20, 5), out[3];

	o.returnSequence = WNN_TRUE;
	o.direction = WNNRecurrentNetworkDirection_Backward;
	o.peepholeWeight = INPUT(f, Float16, 1, 15);
	o.initialCellState = INPUT(f, Float16, 1, 2, 5);
	assert_int_equal(wnnGraphBuilderLstm(f->b, x, w, r, 4, 5, &o, 3, out), 0);
	assert_shape(out[0], Float16, 1, 2, 5);
	assert_shape(out[1], Float16, 1, 2, 5);
	assert_shape(out[2], Float16, 4, 1, 2, 5);
	assert_int_equal(out[0]->value->def->attrs.rnn.direction, IR_BACKWARD);
	assert_ptr_equal(out[0]->value->def->operands[5], o.peepholeWeight->value);
	assert_ptr_equal(out[0]->value->def->operands[7], o.initialCellState->value);

#define LSTM(steps, hidden, count) \
	(wnnGraphBuilderLstm(f->b, x, w, r, steps, hidden, &o, count, out), out[0])
	assert_type_error(LSTM(0, 5, 3), "steps is 0");
	assert_type_error(LSTM(4, 0x10000000, 3),
			  "hiddenSize is 268435456; it must be from 1 to 268435455");
	o.peepholeWeight = INPUT(f, Float16, 1, 20);
	assert_type_error(LSTM(4, 5, 3), "peepholeWeight has shape [1,20], expected [1,15]");
	o = defaults;
	assert_type_error(LSTM(4, 5, 3), "outputCount is 3, but the operator makes 2");
	o.initialHiddenState = INPUT(f, Float16, 1, 1, 5);
	assert_type_error(LSTM(4, 5, 2), "initialHiddenState has shape [1,1,5]");
#undef LSTM
}

static void lstm_cell(void **state)
{
	struct fixture *f = *state;
	WNNLstmCellOptions o = WNN_LSTM_CELL_OPTIONS_INIT;
	WNNOperand x = INPUT(f, Float32, 2, 3), w = INPUT(f, Float32, 20, 3);
	WNNOperand r = INPUT(f, Float32, 20, 5), h = INPUT(f, Float32, 2, 5),
		   c = INPUT(f, Float32, 2, 5);
	WNNOperand out[2];

	o.peepholeWeight = INPUT(f, Float32, 15);
	o.layout = WNNLstmWeightLayout_Ifgo;
	assert_int_equal(wnnGraphBuilderLstmCell(f->b, x, w, r, h, c, 5, &o, 2, out), 0);
	assert_shape(out[0], Float32, 2, 5);
	assert_shape(out[1], Float32, 2, 5);
	assert_int_equal(out[0]->value->def->attrs.rnn.gate_order, 1);
	assert_ptr_equal(out[0]->value->def->operands[5], o.peepholeWeight->value);
	assert_ptr_equal(out[0]->value->def->operands[6], h->value);
	assert_ptr_equal(out[0]->value->def->operands[7], c->value);
	wnnGraphBuilderLstmCell(f->b, x, w, r, h, x, 5, &o, 2, out);
	assert_type_error(out[0], "cellState has shape [2,3], expected [2,5]");
	wnnGraphBuilderLstmCell(f->b, x, w, r, h, c, 5, &o, 1, out);
	assert_type_error(out[0], "outputCount is 1");
	o.recurrentBias = INPUT(f, Float32, 15);
	wnnGraphBuilderLstmCell(f->b, x, w, r, h, c, 5, &o, 2, out);
	assert_type_error(out[0], "recurrentBias has shape [15], expected [20]");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		GRAPH_TEST(gathers),
		GRAPH_TEST(gathers_elements),
		GRAPH_TEST(gathers_nd),
		GRAPH_TEST(scatters),
		GRAPH_TEST(quantization),
		GRAPH_TEST(resampling),
		GRAPH_TEST(gru),
		GRAPH_TEST(gru_cell),
		GRAPH_TEST(lstm),
		GRAPH_TEST(lstm_cell),
		GRAPH_TEST(sizes_near_the_limit),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
