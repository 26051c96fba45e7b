// SPDX-License-Identifier: MIT
/*
 * Tests the passes: the text of the graph before and after, the report, and that the results of the
 * graph stay the same.
 */
#include "fixture.h"

#include <math.h>

#include "cpu/cpu.h"
#include "graph/builder_private.h"
#include "pass/pass.h"

static unsigned int evaluations;

static bool can_evaluate(const struct ir_node *node, void *userdata)
{
	(void)userdata;
	return cpu_supports(node);
}

static int evaluate(const struct ir_node *node, const void *const *in, void *const *out,
		    void *userdata, struct wnn_error *err)
{
	evaluations++;
	return cpu_run_node(userdata, CPU_REFERENCE, node, in, out, err);
}

static struct cpu_context *cpu;

static struct wnn_pass_options all_passes(void)
{
	return (struct wnn_pass_options){ .evaluator = { can_evaluate, evaluate, cpu } };
}

static void check(struct fixture *f, size_t count, const WNNNamedOperand *outputs,
		  const struct wnn_pass_options *options, const char *graph, const char *report)
{
	struct wnn_recording *recording;
	struct wnn_pass_report result;

	if (wnn_builder_build(f->builder, count, outputs, &recording, &test_error) ||
	    wnn_run_passes(recording, options, &result, &test_error))
		fail_msg("%s", test_error.message);
	assert_text(ir_print(recording->graph), graph);
	assert_text(wnn_pass_report_print(&result), report);
	wnn_pass_report_destroy(&result);
	wnn_recording_destroy(recording);
}

static void check_one(struct fixture *f, WNNOperand y, const char *graph, const char *report)
{
	struct wnn_pass_options options = all_passes();

	check(f, 1, &(WNNNamedOperand){ WNN_STR("y"), y }, &options, graph, report);
}

static WNNOperand named_input(struct fixture *f, WNNOperandDataType type, size_t rank,
			      const uint32_t *shape)
{
	WNNOperandDescriptor d = { NULL, type, { rank, shape } };
	char name[2] = { (char)('a' + f->builder->graph->num_inputs), 0 };
	WNNOperand operand;

	if (wnn_builder_input(f->builder, WNN_STR(name), &d, NULL, &operand, &test_error))
		fail_msg("%s", test_error.message);
	return operand;
}

#define IN(f, ...) named_input(f, WNNOperandDataType_Float32, DIMS(__VA_ARGS__))

static WNNOperand constant(struct fixture *f, size_t rank, const uint32_t *shape)
{
	float data[256];

	for (int i = 0; i < 256; i++)
		data[i] = (float)(i % 7) - 2.5f;
	return fixture_constant(f, WNNOperandDataType_Float32, rank, shape, data);
}

#define CONST(f, ...) constant(f, DIMS(__VA_ARGS__))

static void nodes_that_do_nothing_go(void **state)
{
	struct fixture *f = *state;
	WNNSliceOptions slice = WNN_SLICE_OPTIONS_INIT;
	WNNTransposeOptions transpose = WNN_TRANSPOSE_OPTIONS_INIT;
	WNNReverseOptions reverse = WNN_REVERSE_OPTIONS_INIT;
	WNNOperand x = IN(f, 2, 1, 3);

	x = wnnGraphBuilderReshape(f->b, x, WNN_UINT32_LIST(2, 1, 3), NULL);
	x = wnnGraphBuilderClamp(f->b, x, NULL);
	x = wnnGraphBuilderIdentity(f->b, x, NULL);
	x = wnnGraphBuilderCast(f->b, x, WNNOperandDataType_Float32, NULL);
	x = wnnGraphBuilderExpand(f->b, x, WNN_UINT32_LIST(2, 1, 3), NULL);
	x = wnnGraphBuilderTile(f->b, x, WNN_UINT32_LIST(1, 1, 1), NULL);
	x = wnnGraphBuilderPad(f->b, x, WNN_UINT32_LIST(0, 0, 0), WNN_UINT32_LIST(0, 0, 0), NULL);
	slice.strides = WNN_UINT32_LIST(1, 5, 1);
	x = wnnGraphBuilderSlice(f->b, x, WNN_UINT32_LIST(0, 0, 0), WNN_UINT32_LIST(2, 1, 3),
				 &slice);
	x = wnnGraphBuilderConcat(f->b, 1, &x, 0, NULL);
	transpose.permutation = WNN_UINT32_LIST(0, 1, 2);
	x = wnnGraphBuilderTranspose(f->b, x, &transpose);
	reverse.axes = WNN_UINT32_LIST(1);
	x = wnnGraphBuilderReverse(f->b, x, &reverse);
	x = wnnGraphBuilderExp(f->b, x, NULL);
	/* The transpose moves only a dimension of size 1. */
	transpose.permutation = WNN_UINT32_LIST(1, 0, 2);
	x = wnnGraphBuilderTranspose(f->b, x, &transpose);
	/* The identity is an output of the graph, but its operand is the result of a node. */
	x = wnnGraphBuilderIdentity(f->b, x, NULL);
	check_one(f, x,
		  "%0 float32[2,1,3] = input \"a\"\n"
		  "%1 float32[2,1,3] = unary(%0) exp(0,0) ; exp\n"
		  "%2 float32[1,2,3] = reshape(%1) ; transpose\n"
		  "output \"y\" = %2\n",
		  "0 reshape view\n1 clamp view\n2 identity view\n3 cast view\n4 expand view\n"
		  "5 tile view\n6 pad view\n7 slice view\n8 concat view\n9 transpose view\n"
		  "10 reverse view\n11 exp kept 0\n12 transpose kept 1\n13 identity view\n");
}

static void nodes_that_do_something_stay(void **state)
{
	struct fixture *f = *state;
	WNNClampOptions clamp = WNN_CLAMP_OPTIONS_INIT;
	WNNTransposeOptions transpose = WNN_TRANSPOSE_OPTIONS_INIT;
	WNNReverseOptions reverse = WNN_REVERSE_OPTIONS_INIT;
	WNNOperand x = IN(f, 2, 2);

	clamp.minValue = WNN_NUMBER_INT64(0);
	x = wnnGraphBuilderClamp(f->b, x, &clamp);
	transpose.permutation = WNN_UINT32_LIST(1, 0);
	x = wnnGraphBuilderTranspose(f->b, x, &transpose);
	reverse.axes = WNN_UINT32_LIST(1);
	x = wnnGraphBuilderReverse(f->b, x, &reverse);
	x = wnnGraphBuilderReshape(f->b, x, WNN_UINT32_LIST(4), NULL);
	check_one(f, x,
		  "%0 float32[2,2] = input \"a\"\n"
		  "%1 float32[2,2] = unary(%0) clamp(0,inf) ; clamp\n"
		  "%2 float32[2,2] = transpose(%1) perm=1,0 ; transpose\n"
		  "%3 float32[2,2] = reverse(%2) axes=0x2 ; reverse\n"
		  "%4 float32[4] = reshape(%3) ; reshape\n"
		  "output \"y\" = %4\n",
		  "0 clamp kept 0\n1 transpose kept 1\n2 reverse kept 2\n3 reshape kept 3\n");
}

static void an_input_as_output_keeps_its_node(void **state)
{
	struct fixture *f = *state;

	check_one(f, wnnGraphBuilderIdentity(f->b, IN(f, 2), NULL),
		  "%0 float32[2] = input \"a\"\n"
		  "%1 float32[2] = copy(%0) ; identity\n"
		  "output \"y\" = %1\n",
		  "0 identity kept 0\n");
}

static void integer_clamps_without_bounds_go(void **state)
{
	for (uint32_t t = WNNOperandDataType_Int32; t <= WNNOperandDataType_Uint8; t++) {
		struct wnn_pass_options options = { .no_fold = true };
		struct wnn_pass_report report;
		struct wnn_recording *recording;
		WNNClampOptions bound = WNN_CLAMP_OPTIONS_INIT;
		struct fixture f;
		WNNOperand x;

		fixture_open(&f);
		x = named_input(&f, t, DIMS(2));
		bound.maxValue = WNN_NUMBER_INT64(126);
		x = wnnGraphBuilderClamp(f.b, wnnGraphBuilderClamp(f.b, x, NULL), &bound);
		recording = fixture_build(&f, "y", wnnGraphBuilderIdentity(f.b, x, NULL));
		assert_int_equal(wnn_run_passes(recording, &options, &report, &test_error), 0);
		assert_int_equal(report.entries[0].fate, WNN_FATE_VIEW);
		assert_int_equal(report.entries[1].fate, WNN_FATE_KEPT);
		assert_int_equal(recording->graph->num_nodes, 1);
		wnn_pass_report_destroy(&report);
		wnn_recording_destroy(recording);
		fixture_close(&f);
	}
	(void)state;
}

static void constants_are_computed(void **state)
{
	struct fixture *f = *state;
	WNNOperand x = IN(f, 2, 3), w = CONST(f, 4, 3);

	w = wnnGraphBuilderTranspose(f->b, wnnGraphBuilderAbs(f->b, w, NULL), NULL);
	evaluations = 0;
	check_one(f, wnnGraphBuilderMatmul(f->b, x, w, NULL),
		  "%0 float32[2,3] = input \"a\"\n"
		  "%1 float32[3,4] = constant 2.5,0.5,3.5,0.5,1.5,1.5,2.5,0.5,0.5,2.5,1.5,1.5\n"
		  "%2 float32[2,4] = matmul(%0, %1) alpha=1 beta=1 ; matmul\n"
		  "output \"y\" = %2\n",
		  "0 abs folded\n1 transpose folded\n2 matmul kept 0\n");
	assert_int_equal(evaluations, 2);
}

static void folding_has_limits(void **state)
{
	struct fixture *f = *state;
	struct wnn_pass_options options = all_passes();
	WNNOperand c = CONST(f, 1, 8), c40 = CONST(f, 40), a = CONST(f, 3, 20), b = CONST(f, 20, 2);
	WNNOperand kept, grown, big, heavy;

	/* A node whose result is an output of the graph is not folded. */
	kept = wnnGraphBuilderExp(f->b, c, NULL);
	grown = wnnGraphBuilderExpand(f->b, c, WNN_UINT32_LIST(4096, 8), NULL);
	big = wnnGraphBuilderExp(f->b, c40, NULL);
	heavy = wnnGraphBuilderMatmul(f->b, a, b, NULL);
	grown = wnnGraphBuilderNeg(f->b, grown, NULL);
	big = wnnGraphBuilderNeg(f->b, big, NULL);
	heavy = wnnGraphBuilderReshape(f->b, heavy, WNN_UINT32_LIST(6), NULL);
	options.fold_max_bytes = 159;
	options.fold_max_work = 100;

	const WNNNamedOperand outputs[] = {
		{ WNN_STR("kept"), kept },
		{ WNN_STR("grown"), grown },
		{ WNN_STR("big"), big },
		{ WNN_STR("heavy"), heavy },
	};
	check(f, 4, outputs, &options,
	      "%0 float32[1,8] = constant -2.5,-1.5,-0.5,0.5,1.5,2.5,3.5,-2.5\n"
	      "%1 float32[40] = constant\n"
	      "%2 float32[3,20] = constant\n"
	      "%3 float32[20,2] = constant\n"
	      "%4 float32[1,8] = unary(%0) exp(0,0) ; exp\n"
	      "%5 float32[4096,8] = expand(%0) ; expand\n"
	      "%6 float32[40] = unary(%1) exp(0,0) ; exp\n"
	      "%7 float32[3,2] = matmul(%2, %3) alpha=1 beta=1 ; matmul\n"
	      "%8 float32[4096,8] = unary(%5) neg(0,0) ; neg\n"
	      "%9 float32[40] = unary(%6) neg(0,0) ; neg\n"
	      "%10 float32[6] = reshape(%7) ; reshape\n"
	      "output \"kept\" = %4\n"
	      "output \"grown\" = %8\n"
	      "output \"big\" = %9\n"
	      "output \"heavy\" = %10\n",
	      "0 exp kept 0\n1 expand kept 1\n2 exp kept 2\n3 matmul kept 3\n4 neg kept 4\n"
	      "5 neg kept 5\n6 reshape kept 6\n");
}

/*
 * Tests that a product transposes a constant that is too big to be transposed when the graph is
 * built, such as the embedding of a language model, which may also be the matrix of its logits.
 */
static void product_takes_what_is_not_folded(void **state)
{
	struct fixture *f = *state;
	struct wnn_pass_options options = all_passes();
	WNNOperand x = IN(f, 2, 3), w = CONST(f, 20, 3);

	options.fold_max_bytes = 239;
	w = wnnGraphBuilderTranspose(f->b, w, NULL);

	const WNNNamedOperand output = { WNN_STR("y"), wnnGraphBuilderMatmul(f->b, x, w, NULL) };

	check(f, 1, &output, &options,
	      "%0 float32[2,3] = input \"a\"\n"
	      "%1 float32[20,3] = constant\n"
	      "%2 float32[2,20] = matmul(%0, %1) tb alpha=1 beta=1 ; matmul\n"
	      "output \"y\" = %2\n",
	      "0 transpose unused\n1 matmul kept 0\n");
}

static int fail_to_evaluate(const struct ir_node *node, const void *const *in, void *const *out,
			    void *userdata, struct wnn_error *err)
{
	(void)node;
	(void)in;
	(void)out;
	(void)userdata;
	return wnn_error_set(err, WNN_UNKNOWN_ERROR, "no luck");
}

static void folding_can_be_off_and_can_fail(void **state)
{
	struct fixture *f = *state;
	struct wnn_pass_options options = all_passes();
	struct wnn_pass_report report;
	struct wnn_recording *recording;
	WNNOperand y = wnnGraphBuilderNeg(f->b, wnnGraphBuilderExp(f->b, CONST(f, 2), NULL), NULL);

	recording = fixture_build(f, "y", y);
	options.evaluator.run = fail_to_evaluate;
	assert_int_equal(wnn_run_passes(recording, &options, &report, &test_error), -1);
	assert_refused(NULL, WNN_UNKNOWN_ERROR, "no luck");
	options.no_fold = true;
	evaluations = 0;
	assert_int_equal(wnn_run_passes(recording, &options, &report, &test_error), 0);
	assert_int_equal(evaluations, 0);
	assert_int_equal(recording->graph->num_nodes, 2);
	wnn_pass_report_destroy(&report);
	wnn_recording_destroy(recording);
}

static void equal_nodes_become_one(void **state)
{
	struct fixture *f = *state;
	WNNOperand x = IN(f, 4), a, b, c;

	a = wnnGraphBuilderExp(f->b, wnnGraphBuilderAbs(f->b, x, NULL), NULL);
	b = wnnGraphBuilderExp(f->b, wnnGraphBuilderAbs(f->b, x, NULL), NULL);
	c = wnnGraphBuilderLog(f->b, x, NULL);
	check_one(f, wnnGraphBuilderSub(f->b, wnnGraphBuilderMul(f->b, a, b, NULL), c, NULL),
		  "%0 float32[4] = input \"a\"\n"
		  "%1 float32[4] = unary(%0) abs(0,0) ; abs\n"
		  "%2 float32[4] = unary(%1) exp(0,0) ; exp\n"
		  "%3 float32[4] = unary(%0) log(0,0) ; log\n"
		  "%4 float32[4] = binary(%2, %2) mul ; mul\n"
		  "%5 float32[4] = binary(%4, %3) sub ; sub\n"
		  "output \"y\" = %5\n",
		  "0 abs kept 0\n1 exp kept 1\n2 abs fused 0\n3 exp fused 1\n4 log kept 2\n"
		  "5 mul kept 3\n6 sub kept 4\n");
}

static void different_attributes_are_not_equal(void **state)
{
	struct fixture *f = *state;
	WNNCumulativeSumOptions reversed = WNN_CUMULATIVE_SUM_OPTIONS_INIT;
	WNNOperand x = IN(f, 4), a, b;

	reversed.reversed = WNN_TRUE;
	a = wnnGraphBuilderCumulativeSum(f->b, x, 0, NULL);
	b = wnnGraphBuilderCumulativeSum(f->b, x, 0, &reversed);
	check_one(f, wnnGraphBuilderMul(f->b, a, b, NULL),
		  "%0 float32[4] = input \"a\"\n"
		  "%1 float32[4] = cumsum(%0) axis=0 ; cumulativeSum\n"
		  "%2 float32[4] = cumsum(%0) axis=0 reversed ; cumulativeSum\n"
		  "%3 float32[4] = binary(%1, %2) mul ; mul\n"
		  "output \"y\" = %3\n",
		  "0 cumulativeSum kept 0\n1 cumulativeSum kept 1\n2 mul kept 2\n");
}

static void bias_and_activation_are_fused(void **state)
{
	struct fixture *f = *state;
	WNNConv2dOptions conv = WNN_CONV2D_OPTIONS_INIT;
	WNNClampOptions relu6 = WNN_CLAMP_OPTIONS_INIT;
	WNNOperatorOptions label = { NULL, WNN_STR("bias") };
	WNNOperand x = IN(f, 1, 2, 3, 3);

	conv.label = WNN_STR("stem");
	x = wnnGraphBuilderConv2d(f->b, x, CONST(f, 4, 2, 1, 1), &conv);
	/* The constant is the first operand, and has its channels in front. */
	x = wnnGraphBuilderAdd(f->b, CONST(f, 4, 1, 1), x, &label);
	relu6.minValue = WNN_NUMBER_INT64(0);
	relu6.maxValue = WNN_NUMBER_INT64(6);
	x = wnnGraphBuilderClamp(f->b, x, &relu6);
	/* A second activation cannot be fused. */
	x = wnnGraphBuilderTanh(f->b, x, NULL);
	check_one(f, x,
		  "%0 float32[1,2,3,3] = input \"a\"\n"
		  "%1 float32[4,2,1,1] = constant -2.5,-1.5,-0.5,0.5,1.5,2.5,3.5,-2.5\n"
		  "%2 float32[4] = constant -2.5,-1.5,-0.5,0.5\n"
		  "%3 float32[1,4,3,3] = conv(%0, %1, %2) pad=0,0,0,0 stride=1,1 dilation=1,1 "
		  "groups=1 "
		  "nchw oihw act=clamp(0,6) ; conv2d+add+clamp \"stem\"\n"
		  "%4 float32[1,4,3,3] = unary(%3) tanh(0,0) ; tanh\n"
		  "output \"y\" = %4\n",
		  "0 conv2d kept 0\n1 add fused 0\n2 clamp fused 0\n3 tanh kept 1\n");
}

/*
 * The passes only note the factors that weights are to be multiplied with. The first
 * ir_constant_data() computes the product, and later ones return the same memory.
 */
static void scaled_weights_wait_for_a_reader(void **state)
{
	struct fixture *f = *state;
	WNNConv2dOptions conv = WNN_CONV2D_OPTIONS_INIT;
	struct wnn_pass_options options = all_passes();
	struct wnn_recording *recording;
	struct wnn_pass_report report;
	WNNOperand x = IN(f, 1, 2, 3, 3);
	struct ir_constant *weights, *source;
	const float *data;

	x = wnnGraphBuilderConv2d(f->b, x, CONST(f, 4, 2, 1, 1), &conv);
	x = wnnGraphBuilderMul(f->b, x, CONST(f, 4, 1, 1), NULL);
	x = wnnGraphBuilderMul(f->b, x, CONST(f, 1), NULL);
	if (wnn_builder_build(f->builder, 1, &(WNNNamedOperand){ WNN_STR("y"), x }, &recording,
			      &test_error))
		fail_msg("%s", test_error.message);
	source = ir_constant_ref(recording->graph->nodes[0]->operands[1]->constant);
	if (wnn_run_passes(recording, &options, &report, &test_error))
		fail_msg("%s", test_error.message);
	assert_int_equal(recording->graph->num_nodes, 1);
	weights = recording->graph->nodes[0]->operands[1]->constant;
	assert_null(weights->data);
	/* Finding out that the scaled weights are finite does not compute them. */
	assert_true(ir_constant_finite(weights, IR_F32));
	assert_null(weights->data);
	assert_int_equal(source->refs, 2);
	data = ir_constant_data(weights);
	assert_non_null(data);
	assert_ptr_equal(ir_constant_data(weights), data);
	/* The computed constant has released its reference to the source. */
	assert_int_equal(source->refs, 1);
	for (int i = 0; i < 8; i++)
		assert_true(data[i] == ((const float *)source->data)[i] *
					       ((const float *)source->data)[i / 2] * -2.5f);
	ir_constant_unref(source);
	wnn_pass_report_destroy(&report);
	wnn_recording_destroy(recording);
}

static void a_computed_bias_is_fused_where_it_is_known(void **state)
{
	struct fixture *f = *state;
	WNNOperand x = IN(f, 2, 3), bias = IN(f, 1, 4), y;
	struct wnn_recording *recording;
	struct wnn_pass_options options = all_passes();
	struct wnn_pass_report report;

	y = wnnGraphBuilderMatmul(f->b, x, CONST(f, 3, 4), NULL);
	/* The bias is computed after the product to which it is added. */
	bias = wnnGraphBuilderExp(f->b, bias, NULL);
	y = wnnGraphBuilderAdd(f->b, y, bias, NULL);
	recording = fixture_build(f, "y", y);
	assert_int_equal(wnn_run_passes(recording, &options, &report, &test_error), 0);
	assert_text(
		ir_print(recording->graph),
		"%0 float32[2,3] = input \"a\"\n"
		"%1 float32[1,4] = input \"b\"\n"
		"%2 float32[3,4] = constant -2.5,-1.5,-0.5,0.5,1.5,2.5,3.5,-2.5,-1.5,-0.5,0.5,1.5\n"
		"%3 float32[1,4] = unary(%1) exp(0,0) ; exp\n"
		"%4 float32[4] = reshape(%3) ; add\n"
		"%5 float32[2,4] = matmul(%0, %2, %4) alpha=1 beta=1 ; matmul+add\n"
		"output \"y\" = %5\n");
	assert_text(wnn_pass_report_print(&report),
		    "0 matmul kept 2\n1 exp kept 0\n2 add fused 2\n");
	assert_int_equal(report.node_entry[0], 1);
	assert_int_equal(report.node_entry[1], 0);
	assert_int_equal(report.node_entry[2], 0);
	wnn_pass_report_destroy(&report);
	wnn_recording_destroy(recording);
}

/* Checks that a product stays a product and an addition, as the addition is no bias. */
static void check_no_bias(WNNOperand (*make)(struct fixture *, WNNOperand *output),
			  bool two_outputs)
{
	struct wnn_pass_options options = all_passes();
	struct wnn_recording *recording;
	struct wnn_pass_report report;
	WNNNamedOperand outputs[2] = { { WNN_STR("y"), NULL }, { WNN_STR("z"), NULL } };
	struct fixture f;

	fixture_open(&f);
	outputs[0].operand = make(&f, &outputs[1].operand);
	assert_int_equal(wnn_builder_build(f.builder, two_outputs ? 2 : 1, outputs, &recording,
					   &test_error),
			 0);
	assert_int_equal(wnn_run_passes(recording, &options, &report, &test_error), 0);
	for (uint32_t i = 0; i < report.num_entries; i++)
		assert_int_equal(report.entries[i].fate, WNN_FATE_KEPT);
	wnn_pass_report_destroy(&report);
	wnn_recording_destroy(recording);
	fixture_close(&f);
}

static WNNOperand conv_of(struct fixture *f)
{
	return wnnGraphBuilderConv2d(f->b, IN(f, 1, 2, 4, 4), CONST(f, 4, 2, 1, 1), NULL);
}

static WNNOperand bias_along_width(struct fixture *f, WNNOperand *output)
{
	*output = NULL;
	return wnnGraphBuilderAdd(f->b, conv_of(f), CONST(f, 4), NULL);
}

static WNNOperand bias_of_full_size(struct fixture *f, WNNOperand *output)
{
	*output = NULL;
	return wnnGraphBuilderAdd(f->b, conv_of(f), IN(f, 1, 4, 4, 4), NULL);
}

static WNNOperand bias_that_broadcasts_the_product(struct fixture *f, WNNOperand *output)
{
	*output = NULL;
	return wnnGraphBuilderAdd(f->b,
				  wnnGraphBuilderMatmul(f->b, IN(f, 1, 3), CONST(f, 3, 1), NULL),
				  CONST(f, 5, 1), NULL);
}

static WNNOperand product_is_an_output(struct fixture *f, WNNOperand *output)
{
	*output = conv_of(f);
	return wnnGraphBuilderAdd(f->b, *output, CONST(f, 4, 1, 1), NULL);
}

static WNNOperand activated_is_an_output(struct fixture *f, WNNOperand *output)
{
	*output = conv_of(f);
	return wnnGraphBuilderRelu(f->b, *output, NULL);
}

static WNNOperand product_is_used_twice(struct fixture *f, WNNOperand *output)
{
	*output = NULL;
	WNNOperand x = conv_of(f);

	return wnnGraphBuilderMul(f->b, wnnGraphBuilderAdd(f->b, x, CONST(f, 4, 1, 1), NULL),
				  wnnGraphBuilderAbs(f->b, x, NULL), NULL);
}

static WNNOperand integers_have_no_activation(struct fixture *f, WNNOperand *output)
{
	WNNOperand x = named_input(f, WNNOperandDataType_Int32, DIMS(3));

	*output = NULL;
	return wnnGraphBuilderRelu(f->b, wnnGraphBuilderAdd(f->b, x, x, NULL), NULL);
}

static WNNOperand nan_test_is_no_activation(struct fixture *f, WNNOperand *output)
{
	WNNOperand x = IN(f, 3);

	*output = NULL;
	return wnnGraphBuilderIsNaN(f->b, wnnGraphBuilderMul(f->b, x, x, NULL), NULL);
}

/*
 * Returns a convolution with a constant bias, plus a computed bias. (A second constant bias would
 * be added to the first one.)
 */
static WNNOperand computed_bias_after_bias(struct fixture *f, WNNOperand *output)
{
	WNNConv2dOptions conv = WNN_CONV2D_OPTIONS_INIT;

	*output = NULL;
	conv.bias = CONST(f, 4);
	return wnnGraphBuilderAdd(
		f->b, wnnGraphBuilderConv2d(f->b, IN(f, 1, 2, 3, 3), CONST(f, 4, 2, 1, 1), &conv),
		IN(f, 4, 1, 1), NULL);
}

static void what_must_not_be_fused(void **state)
{
	(void)state;
	check_no_bias(bias_along_width, false);
	check_no_bias(bias_of_full_size, false);
	check_no_bias(bias_that_broadcasts_the_product, false);
	check_no_bias(product_is_an_output, true);
	check_no_bias(activated_is_an_output, true);
	check_no_bias(product_is_used_twice, false);
	check_no_bias(integers_have_no_activation, false);
	check_no_bias(nan_test_is_no_activation, false);
	check_no_bias(computed_bias_after_bias, false);
}

static void unused_and_split_operators_are_reported(void **state)
{
	struct fixture *f = *state;
	struct wnn_pass_options options = all_passes();
	struct wnn_pass_report report;
	struct wnn_recording *recording;
	WNNSplitOptions split = WNN_SPLIT_OPTIONS_INIT;
	WNNOperand x = IN(f, 6), parts[3];

	wnnGraphBuilderExp(f->b, x, NULL);
	split.label = WNN_STR("cut");
	assert_int_equal(wnnGraphBuilderSplitEqual(f->b, x, 3, &split, 3, parts), 0);
	recording = fixture_build(f, "y", wnnGraphBuilderMul(f->b, parts[0], parts[2], NULL));
	assert_int_equal(wnn_run_passes(recording, &options, &report, &test_error), 0);
	assert_text(wnn_pass_report_print(&report), "0 exp unused\n1 split kept 0\n2 mul kept 2\n");
	assert_int_equal(report.entries[1].num_nodes, 2);
	assert_string_equal(report.entries[1].label, "cut");
	assert_int_equal(report.entries[0].node, UINT32_MAX);
	wnn_pass_report_destroy(&report);
	wnn_recording_destroy(recording);
}

static void passes_can_be_off(void **state)
{
	struct fixture *f = *state;
	struct wnn_pass_options options = {
		.no_simplify = true, .no_fold = true, .no_merge = true, .no_fuse = true
	};
	WNNOperand x = wnnGraphBuilderIdentity(f->b, IN(f, 2), NULL), y = CONST(f, 2);

	x = wnnGraphBuilderRelu(f->b, wnnGraphBuilderAdd(f->b, x, x, NULL), NULL);
	y = wnnGraphBuilderMul(f->b, wnnGraphBuilderAbs(f->b, y, NULL), x, NULL);
	check(f, 1, &(WNNNamedOperand){ WNN_STR("y"), y }, &options,
	      "%0 float32[2] = input \"a\"\n"
	      "%1 float32[2] = constant -2.5,-1.5\n"
	      "%2 float32[2] = copy(%0) ; identity\n"
	      "%3 float32[2] = binary(%2, %2) add ; add\n"
	      "%4 float32[2] = unary(%3) relu(0,0) ; relu\n"
	      "%5 float32[2] = unary(%1) abs(0,0) ; abs\n"
	      "%6 float32[2] = binary(%5, %4) mul ; mul\n"
	      "output \"y\" = %6\n",
	      "0 identity kept 0\n1 add kept 1\n2 relu kept 2\n3 abs kept 3\n4 mul kept 4\n");
}

/*
 * Runs a graph on the CPU; returns a copy of the first output, which the caller frees. Inputs are
 * filled with numbers that follow from the first letters of their names.
 */
static float *run(const struct ir_graph *graph, size_t *count)
{
	void **data = calloc(graph->num_values + 1, sizeof(*data));
	float *result;

	for (uint32_t i = 0; i < graph->num_values; i++) {
		const struct ir_value *value = graph->values[i];

		data[i] = calloc(1, (size_t)ir_type_bytes(&value->type));
		if (value->kind == IR_VALUE_CONSTANT)
			memcpy(data[i], ir_constant_data(value->constant), value->constant->bytes);
		for (int64_t k = 0;
		     value->kind == IR_VALUE_INPUT && k < ir_type_elements(&value->type); k++)
			((float *)data[i])[k] = sinf((float)k * 1.3f + (float)value->name[0]);
	}
	for (uint32_t n = 0; n < graph->num_nodes; n++) {
		const struct ir_node *node = graph->nodes[n];
		const void *in[8];
		void *out[2];

		for (uint32_t i = 0; i < node->num_operands; i++)
			in[i] = node->operands[i] ? data[node->operands[i]->id] : NULL;
		for (uint32_t i = 0; i < node->num_results; i++)
			out[i] = data[node->results[i]->id];
		assert_int_equal(cpu_run_node(cpu, CPU_REFERENCE, node, in, out, &test_error), 0);
	}
	*count = (size_t)ir_type_elements(&graph->outputs[0].value->type);
	result = malloc(*count * sizeof(*result));
	memcpy(result, data[graph->outputs[0].value->id], *count * sizeof(*result));
	for (uint32_t i = 0; i < graph->num_values; i++)
		free(data[i]);
	free(data);
	return result;
}

/* Makes a graph to which many passes apply; returns its output. */
static WNNOperand make_network(struct fixture *f)
{
	WNNConv2dOptions nhwc = WNN_CONV2D_OPTIONS_INIT, nchw = WNN_CONV2D_OPTIONS_INIT;
	WNNTransposeOptions to_nchw = WNN_TRANSPOSE_OPTIONS_INIT;
	WNNOperand x = IN(f, 1, 5, 5, 2), y, z;

	nhwc.inputLayout = WNNInputOperandLayout_Nhwc;
	nhwc.filterLayout = WNNConv2dFilterOperandLayout_Hwio;
	x = wnnGraphBuilderConv2d(f->b, x, wnnGraphBuilderNeg(f->b, CONST(f, 2, 2, 2, 4), NULL),
				  &nhwc);
	x = wnnGraphBuilderRelu(f->b, wnnGraphBuilderAdd(f->b, x, CONST(f, 1, 1, 1, 4), NULL),
				NULL);
	to_nchw.permutation = WNN_UINT32_LIST(0, 3, 1, 2);
	x = wnnGraphBuilderTranspose(f->b, x, &to_nchw);
	nchw.groups = 4;
	nchw.padding = WNN_UINT32_LIST(1, 1, 1, 1);
	x = wnnGraphBuilderConv2d(f->b, x, CONST(f, 4, 1, 3, 3), &nchw);
	x = wnnGraphBuilderAdd(
		f->b, x,
		wnnGraphBuilderReshape(f->b, CONST(f, 4), WNN_UINT32_LIST(1, 4, 1, 1), NULL), NULL);
	x = wnnGraphBuilderHardSwish(f->b, x, NULL);
	y = wnnGraphBuilderReduceMean(f->b, x, NULL);
	z = wnnGraphBuilderReduceMean(f->b, x, NULL);
	x = wnnGraphBuilderSub(f->b, x, wnnGraphBuilderMul(f->b, y, z, NULL), NULL);
	x = wnnGraphBuilderReshape(f->b, wnnGraphBuilderTanh(f->b, x, NULL), WNN_UINT32_LIST(4, 16),
				   NULL);
	x = wnnGraphBuilderMatmul(f->b, x, CONST(f, 16, 3), NULL);
	x = wnnGraphBuilderAdd(f->b, CONST(f, 3), x, NULL);
	x = wnnGraphBuilderElu(f->b, x, NULL);
	return wnnGraphBuilderSoftmax(f->b, wnnGraphBuilderIdentity(f->b, x, NULL), 1, NULL);
}

static void passes_change_no_value(void **state)
{
	struct fixture *f = *state;
	struct wnn_recording *recording = fixture_build(f, "y", make_network(f));
	struct wnn_pass_options options = all_passes();
	struct wnn_pass_report report;
	uint32_t nodes = recording->graph->num_nodes;
	size_t count, after;
	float *before = run(recording->graph, &count), *then;

	assert_int_equal(wnn_run_passes(recording, &options, &report, &test_error), 0);
	/* Two convolutions, transpose, mean, mul, sub, reshape, product and softmax are left. */
	assert_int_equal(nodes, 20);
	assert_int_equal(recording->graph->num_nodes, 9);
	then = run(recording->graph, &after);
	assert_int_equal(after, count);
	for (size_t i = 0; i < count; i++)
		assert_true(fabsf(then[i] - before[i]) <= 1e-5f * fmaxf(1e-3f, fabsf(before[i])));
	free(before);
	free(then);
	wnn_pass_report_destroy(&report);
	wnn_recording_destroy(recording);
}

/* Makes a graph of operators that can change to channels-last order; returns its output. */
static WNNOperand make_pictures(struct fixture *f)
{
	WNNConv2dOptions conv = WNN_CONV2D_OPTIONS_INIT;
	WNNPool2dOptions pool = WNN_POOL2D_OPTIONS_INIT;
	WNNReduceOptions mean = WNN_REDUCE_OPTIONS_INIT;
	WNNSliceOptions slice = WNN_SLICE_OPTIONS_INIT;
	WNNOperand x, y, parts[2];

	conv.padding = WNN_UINT32_LIST(1, 1, 1, 1);
	x = wnnGraphBuilderConv2d(f->b, IN(f, 2, 3, 5, 7), CONST(f, 4, 3, 3, 3), &conv);
	y = wnnGraphBuilderBatchNormalization(f->b, x, CONST(f, 4),
					      wnnGraphBuilderAbs(f->b, CONST(f, 4), NULL), NULL);
	y = wnnGraphBuilderMul(f->b, y, CONST(f, 1, 4, 1, 1), NULL);
	parts[0] = x;
	parts[1] = y;
	x = wnnGraphBuilderAbs(f->b, wnnGraphBuilderConcat(f->b, 2, parts, 1, NULL), NULL);
	slice.strides = WNN_UINT32_LIST(1, 2, 1, 3);
	x = wnnGraphBuilderSlice(f->b, x, WNN_UINT32_LIST(0, 1, 2, 0), WNN_UINT32_LIST(2, 7, 3, 7),
				 &slice);
	pool.windowDimensions = WNN_UINT32_LIST(2, 1);
	pool.padding = WNN_UINT32_LIST(1, 0, 0, 0);
	x = wnnGraphBuilderMaxPool2d(f->b, x, &pool);
	mean.axes = WNN_UINT32_LIST(2, 3);
	mean.keepDimensions = WNN_TRUE;
	y = wnnGraphBuilderReduceMean(f->b, x, &mean);
	return wnnGraphBuilderSub(f->b, x, y, NULL);
}

static void turning_changes_no_value(void **state)
{
	struct fixture *f = *state;
	struct wnn_recording *recording = fixture_build(f, "y", make_pictures(f));
	struct wnn_pass_options options = all_passes();
	struct wnn_pass_report report;
	size_t count, after;
	float *before = run(recording->graph, &count), *then;

	options.channels_last_work = 1;
	assert_int_equal(wnn_run_passes(recording, &options, &report, &test_error), 0);
	/* The nine nodes have one transpose in front of them and one after them. */
	assert_int_equal(recording->graph->num_nodes, 11);
	assert_int_equal(recording->graph->nodes[0]->op, IR_OP_TRANSPOSE);
	assert_int_equal(recording->graph->nodes[10]->op, IR_OP_TRANSPOSE);
	then = run(recording->graph, &after);
	assert_int_equal(after, count);
	for (size_t i = 0; i < count; i++)
		assert_true(fabsf(then[i] - before[i]) <= 1e-5f * fmaxf(1e-3f, fabsf(before[i])));
	free(before);
	free(then);
	wnn_pass_report_destroy(&report);
	wnn_recording_destroy(recording);
}

static int open_cpu(void **state)
{
	(void)state;
	cpu = cpu_context_create(1);
	return !cpu;
}

static int close_cpu(void **state)
{
	(void)state;
	cpu_context_destroy(cpu);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		GRAPH_TEST(nodes_that_do_nothing_go),
		GRAPH_TEST(nodes_that_do_something_stay),
		GRAPH_TEST(an_input_as_output_keeps_its_node),
		GRAPH_TEST(integer_clamps_without_bounds_go),
		GRAPH_TEST(constants_are_computed),
		GRAPH_TEST(folding_has_limits),
		GRAPH_TEST(product_takes_what_is_not_folded),
		GRAPH_TEST(folding_can_be_off_and_can_fail),
		GRAPH_TEST(equal_nodes_become_one),
		GRAPH_TEST(different_attributes_are_not_equal),
		GRAPH_TEST(bias_and_activation_are_fused),
		GRAPH_TEST(scaled_weights_wait_for_a_reader),
		GRAPH_TEST(a_computed_bias_is_fused_where_it_is_known),
		GRAPH_TEST(what_must_not_be_fused),
		GRAPH_TEST(unused_and_split_operators_are_reported),
		GRAPH_TEST(passes_can_be_off),
		GRAPH_TEST(passes_change_no_value),
		GRAPH_TEST(turning_changes_no_value),
	};

	return cmocka_run_group_tests(tests, open_cpu, close_cpu);
}
