// SPDX-License-Identifier: MIT
/* Tests graphs as text: every operator with every attribute, what may be left out, and errors. */
#include <locale.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "ir/attrs.h"
#include "ir/binary.h"
#include "ir/parse.h"
#include "ir/shapes.h"
#include "text.h"
#include "util/malloc.h"
#include "util/number.h"

#define INPUTS                                          \
	"%0 float32[2,3,4,4] = input \"x\"\n"           \
	"%1 float32[3] = constant 1,-2.5,1e-30\n"       \
	"%2 float32[4,3,3,3] = constant\n"              \
	"%3 int32[3] = constant 2,-1,0\n"               \
	"%4 float32[2,4] = constant fill 0.1\n"         \
	"%5 float32[1,8,4] = constant\n"                \
	"%6 float32[1,8,2] = constant fill -3\n"        \
	"%7 float32[5,1,4] = input \"steps\"\n"         \
	"%8 float16[3] = constant 0.0625,nan:7e00,-0\n" \
	"%9 uint8[4,3,3,3] = constant\n"

/* One line for each operator, as ir_print() prints it. */
static const char *const lines[] = {
	"float32[2,4,2,2] = conv(%0, %2, -) pad=0,1,2,3 stride=2,1 dilation=1,2 groups=1 nchw oihw "
	"act=clamp(-1,6) ; conv2d+clamp \"stem\"",
	"float32[2,4,2,2] = conv(%0, %2) pad=0,0,0,0 stride=1,1 dilation=1,1 groups=3 nhwc hwoi "
	"transposed ; convTranspose2d",
	"float32[2,2] = matmul(%4, %4, -) ta tb alpha=0.5 beta=-2 act=relu(0,0) ; gemm+relu",
	"float32[2,3] = wmatmul(%4, %9, %1, %9) tb alpha=1 beta=1 ; gemm",
	"float32[2,3,2,2] = pool(%0) average window=2,2 pad=0,0,0,0 stride=2,2 dilation=1,1 nchw ; "
	"averagePool2d",
	"float32[2,3,4,4] = unary(%0) hard_sigmoid(0.2,0.5) ; hardSigmoid",
	"int32[3] = unary(%3) clamp(0,0)[-3,7,0,0] ; clamp",
	"float32[2,3,4,4] = binary(%0, %0) add act=tanh(0,0) ; add+tanh",
	"uint8[3] = compare(%1, %1) le ; lesserOrEqual",
	"float32[3] = where(%3, %1, %1) ; where",
	"float16[3] = cast(%1) ; cast",
	"float32[3] = copy(%1) ; identity",
	"float32[6,16] = reshape(%0) ; reshape",
	"float32[4,2] = transpose(%4) perm=1,0 ; transpose",
	"float32[4,4] = concat(%4, %4) axis=0 ; concat",
	"float32[1,2] = slice(%4) start=1,0 stride=1,2 ; slice",
	"float32[2,2,4] = expand(%4) ; expand",
	"float32[3,6] = pad(%4) begin=0,1 end=1,1 reflection value=0x3f800000 ; pad",
	"float32[2,4] = reverse(%4) axes=0x2 ; reverse",
	"float32[4,4] = tile(%4) ; tile",
	"float32[2,1] = reduce(%4) log_sum_exp axes=0x2 keep ; reduceLogSumExp",
	"float32[2,4] = softmax(%4) axis=1 ; softmax",
	"int32[2] = arg(%4) max axis=1 last ; argMax",
	"int64[2,3] = topk(%4) min axis=1 ; argMin",
	"float32[2,4] = cumsum(%4) axis=1 exclusive reversed ; cumulativeSum",
	"float32[2,4] = rotary(%4, %4, %4) ; add",
	"float32[2,4] = triangular(%4) lower diagonal=-1 ; triangular",
	"float32[2,3,4,4] = batchnorm(%0, %1, %1, -, %1) axis=1 epsilon=1e-05 ; batchNormalization",
	"float32[2,3,4,4] = instnorm(%0, %1) nchw epsilon=0.001 groups=0 ; instanceNormalization",
	"float32[2,3,4,4] = layernorm(%0) axes=3,1 epsilon=1e-05 ; layerNormalization",
	"float32[2,4] = layernorm(%4) axes= epsilon=1e-05 ; layerNormalization",
	"float32[2,3,8,8] = resample(%0) linear axes=2,3 ; resample2d",
	"uint8[3] = quantize(%1, %1, %3) ; quantizeLinear",
	"float32[3] = dequantize(%3, %1, %3) ; dequantizeLinear",
	"uint8[2,4,2,2] = qconv(%9, %9, %1, %3) pad=0,0,0,0 stride=1,1 dilation=1,1 groups=1 nchw oihw "
	"azero=128 bzero=-3 zero=7 lo=7 hi=255 ; conv2d+quantizeLinear",
	"int8[4,4] = qmatmul(%9, %9, %1) ta azero=0 bzero=0 zero=0 lo=-128 hi=127 ; "
	"matmul+quantizeLinear",
	"uint8[3] = qunary(%9, %1, %9, %1, %9) act=tanh(0,0) ; tanh+quantizeLinear",
	"int8[1,4,2,2] = qpool(%9, %1) window=3,3 pad=1,0,0,1 stride=2,2 dilation=1,1 nhwc azero=7 zero=-3 ; "
	"averagePool2d+quantizeLinear",
	"float16[2,3] = qmatmul(%9, %9, %1, -, %1) ta azero=1 bzero=0 zero=0 lo=0 hi=0 act=relu(0,0) ; matmul",
	"int8[3] = qbinary(%9, %1, %9, %9, %1, %9, %1, %9) add ; add+quantizeLinear",
	"float32[3,4] = gather(%4, %3) axis axis=0 ; gather",
	"float32[2,4] = scatter(%4, %3, %1) elements axis=1 ; scatterElements",
	"float32[1,1,2], %11 float32[5,1,1,2] = gru(%7, %5, %6) steps=5 hidden=2 reset_after sequence "
	"backward gates=rzn activations=sigmoid,tanh alphas=0,0 betas=0,0 clip=0 ; gru",
	"float32[1,1,2], %11 float32[1,1,2] = lstm(%7, %5, %6, -, -, -, -, -) steps=5 hidden=2 forward "
	"gates=iofg activations=sigmoid,scaled_tanh,relu alphas=0,0.5,0 betas=0,1.25,0 clip=0 ; lstm",
};

static struct ir_graph *parsed(const char *text)
{
	struct wnn_error error = { 0 };
	struct ir_graph *graph = ir_parse(text, &error);

	if (!graph)
		fail_msg("%s\n%s", text, error.message);
	return graph;
}

static void every_operator_reads_as_printed(void **state)
{
	bool seen[IR_OP_COUNT] = { false };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(lines); i++) {
		char text[2048], *printed;
		struct ir_graph *graph;

		snprintf(text, sizeof(text), "%s%%10 %s\noutput \"y\" = %%10\n", INPUTS, lines[i]);
		graph = parsed(text);
		seen[graph->nodes[0]->op] = true;
		printed = ir_print(graph);
		/* The printed result may have another number, which is not compared. */
		if (!strstr(printed, strchr(lines[i], '=')))
			fail_msg("%s\nbecame\n%s", lines[i], printed);
		assert_true(text_round_trip(graph));
		wnn_free(printed);
		ir_graph_destroy(graph);
	}
	for (int op = 0; op < IR_OP_COUNT; op++)
		if (!seen[op])
			fail_msg("no line has operator %s", ir_op_name(op));
}

static void constants_read_as_printed(void **state)
{
	struct ir_graph *graph = parsed(INPUTS);
	char *printed = ir_print(graph);

	(void)state;
	assert_string_equal(printed, INPUTS);
	wnn_free(printed);
	ir_graph_destroy(graph);
}

static void every_type_of_constant_is_read(void **state)
{
	static const char text[] = "%0 int4[3] = constant -8,7,0\n"
				   "%1 uint4[3] = constant 15,0,1\n"
				   "%2 int8[2] = constant -128,127\n"
				   "%3 uint8[2] = constant 0,255\n"
				   "%4 int64[1] = constant -9223372036854775808\n"
				   "%5 uint64[1] = constant 18446744073709551615\n"
				   "%6 uint32[1] = constant 4294967295\n"
				   "%7 float32[] = constant 3.40282e+38\n"
				   "%8 float32[3] = constant inf,-inf,-0\n"
				   "%9 float32[1] = constant nan:ffc12345\n";
	struct ir_graph *graph = parsed(text);
	char *printed = ir_print(graph);

	(void)state;
	assert_string_equal(printed, text);
	wnn_free(printed);
	ir_graph_destroy(graph);
}

static void what_has_a_default_may_be_left_out(void **state)
{
	struct ir_graph *graph = parsed(
		INPUTS
		"; the first layer\n"
		"  %40 float32[2,4,2,2] = conv ( %0,%2 )\tstride=1,1 \n"
		"\n"
		"%41 float32[2,4] = pad(%4) end=0,0 begin=0,0 edge; pad \"a \\x22b\\xc3\\xa4\"\n"
		"output \"y\" = %40\n"
		"output \"z\\x0a\" = %41");
	const struct ir_conv_attrs *conv = &graph->nodes[0]->attrs.conv;

	(void)state;
	assert_int_equal(conv->dilations[1], 1);
	assert_int_equal(conv->groups, 1);
	assert_int_equal(conv->layout, IR_NCHW);
	assert_int_equal(conv->act.kind, IR_UNARY_NONE);
	assert_string_equal(graph->nodes[0]->source, "conv");
	assert_string_equal(graph->nodes[0]->label, "");
	assert_int_equal(graph->nodes[1]->attrs.pad.mode, IR_PAD_EDGE);
	assert_string_equal(graph->nodes[1]->label, "a \"b\xc3\xa4");
	assert_string_equal(graph->outputs[1].name, "z\n");
	assert_true(text_round_trip(graph));
	ir_graph_destroy(graph);
}

#define NAMES                                        \
	"name n0 \"rows\" 2 to 8\n"                  \
	"name n1 \"length \\x22\" 1 to 2147483647\n" \
	"symbol s1 (1 * n0 + 0) / 1\n"               \
	"symbol s2 (3 * n0 + -5) / 2\n"
/* Inputs whose number of rows is a named dimension, and a slice that begins at the fixed row 7. */
#define LATE                                 \
	"%0 float32[s2:9,2] = input \"x\"\n" \
	"%1 float32[s1:8,2] = input \"y\"\n" \
	"%2 float32[1,2] = slice(%1) start=7,0 stride=1,1 ; slice\n"

/* Returns whether writing a graph as bytes and reading them gives the text of the graph. */
static bool bytes_round_trip(const struct ir_graph *graph)
{
	struct wnn_writer bytes = { 0 }, data = { 0 };
	struct wnn_error error = { 0 };
	char *text = ir_print(graph), *again = NULL;
	struct wnn_reader r;
	struct ir_graph *copy;
	bool same;

	assert_int_equal(ir_write(graph, &bytes, &data, &error), 0);
	r = (struct wnn_reader){ .at = bytes.data, .end = bytes.data + bytes.size };
	copy = ir_read(&r, data.data, data.size, &error);
	if (copy)
		again = ir_print(copy);
	same = text && again && !strcmp(text, again);
	ir_graph_destroy(copy);
	wnn_free(text);
	wnn_free(again);
	wnn_free(bytes.data);
	wnn_free(data.data);
	return same;
}

static void a_symbol_is_read(void **state)
{
	struct ir_graph *graph = parsed(NAMES LATE "%3 float32[s1:8,2] = pad(%2) begin=s1:8,0 "
						   "end=0,0 ; pad\n"
						   "output \"z\" = %1\n");

	(void)state;
	assert_int_equal(graph->num_names, 2);
	assert_string_equal(graph->names[1].name, "length \"");
	assert_int_equal(graph->names[1].max, 2147483647);
	assert_int_equal(graph->inputs[0]->type.dim[0].symbol, 2);
	assert_int_equal(graph->inputs[0]->type.dim[0].value, 9);
	assert_int_equal(ir_symbol_at(&graph->symbols[1], 2), 0);
	assert_int_equal(ir_symbol_at(&graph->symbols[1], 5), 5);
	assert_int_equal(graph->nodes[1]->num_late, 1);
	assert_int_equal(graph->nodes[1]->late[0].symbol, 1);
	assert_true(text_round_trip(graph));
	assert_true(bytes_round_trip(graph));
	ir_graph_destroy(graph);
}

/*
 * Tests that a graph with named dimensions becomes the graph for given sizes, and that this fails
 * for invalid sizes.
 */
static void a_template_becomes_a_graph(void **state)
{
	struct ir_graph *graph =
		parsed(NAMES "%0 float32[s1:8,2] = input \"x\"\n"
			     "%1 float32[s1:8,2] = slice(%0) start=0,0 stride=1,1 ; slice\n"
			     "%2 float32[s2:9,2] = pad(%1) begin=s2:9,0 end=0,0 ; pad\n"
			     "output \"y\" = %1\n");
	struct wnn_error error = { 0 };
	struct ir_graph *at;
	char *text;

	(void)state;
	/* The pad is invalid for every size: it adds as many rows to %1 as its result has. */
	assert_null(ir_specialise(graph, (const uint32_t[]){ 6, 1 }, &error));
	assert_non_null(strstr(error.message, "pad is not valid for these dimensions"));
	graph->num_nodes = 1;
	graph->num_values = 2;
	at = ir_specialise(graph, (const uint32_t[]){ 6, 1 }, &error);
	assert_non_null(at);
	text = ir_print(at);
	assert_string_equal(text, "%0 float32[6,2] = input \"x\"\n"
				  "%1 float32[6,2] = slice(%0) start=0,0 stride=1,1 ; slice\n"
				  "output \"y\" = %1\n");
	wnn_free(text);
	ir_graph_destroy(at);
	ir_graph_destroy(graph);
}

static void wrong_symbols_are_refused(void **state)
{
	static const struct {
		const char *text, *message;
	} cases[] = {
		{ "name n1 \"n\" 1 to 8\n", "names are numbered from n0 on" },
		{ NAMES "symbol s3 (1 * n2 + 0) / 1\n", "the expression has no name" },
		{ NAMES "symbol s3 (1 * n0 + -3) / 1\n", "or no number from 0 to 2147483647" },
		{ NAMES "symbol s3 (2 * n1 + 0) / 1\n", "or no number from 0 to 2147483647" },
		{ NAMES "symbol s3 (1 * n0 + 0) / 0\n", "or no number from 0 to 2147483647" },
		{ NAMES "symbol s3 (2 * n0 + 1) / 2\n", "symbols are different" },
		{ NAMES "%0 float32[s3:8] = input \"x\"\n", "value 0 is malformed" },
		{ NAMES "%0 float32[s1:7] = input \"x\"\n", "value 0 is malformed" },
		{ "name n0 \"n\" 0 to 8\n", "a name is malformed" },
		{ "name n0 \"n\" 9 to 8\n", "a name is malformed" },
		{ "name n0 \"n\" 1 to 8\nname n1 \"n\" 1 to 8\n", "a name is malformed" },
		{ NAMES LATE "%3 float32[9,2] = pad(%2) begin=s1:7,0 end=1,0 ; pad\n",
		  "a symbol among its attributes is invalid" },
		{ NAMES "%0 int4[s1:8] = constant 1,2,3,4,5,6,7,-8\n",
		  "constant 0 of int4 has a dimension that is known only at dispatch" },
	};

	struct wnn_error error = { 0 };

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		assert_null(ir_parse(cases[i].text, &error));
		if (!strstr(error.message, cases[i].message))
			fail_msg("\"%s\" is not in \"%s\"", cases[i].message, error.message);
	}
}

/* Returns whether the only node of a text, in which %s stands for a function, has valid types. */
static bool network_fits(const char *network, const char *function)
{
	const char *hole = strstr(network, "%s");
	char text[512];
	struct ir_graph *graph;
	bool fits;

	snprintf(text, sizeof(text),
		 "%%0 float32[5,1,3] = input \"x\"\n%%1 float32[1,1,2] = input \"h\"\n%.*s%s%s",
		 (int)(hole - network), network, function, hole + 2);
	graph = parsed(text);
	fits = ir_shapes_fit(graph->nodes[0]);
	ir_graph_destroy(graph);
	return fits;
}

/*
 * Tests that each function is an activation of recurrent networks, but for those of integers and
 * those whose result is a condition.
 */
static void activations_map_floats_to_floats(void **state)
{
	static const char *const networks[] = {
		"%2 float32[1,6,2] = input \"r\"\n"
		"%3 float32[1,6,3] = input \"w\"\n"
		"%4 float32[1,1,2] = gru(%0, %3, %2) steps=5 hidden=2 forward gates=zrn "
		"activations=sigmoid,%s\n",
		"%2 float32[1,8,2] = input \"r\"\n"
		"%3 float32[1,8,3] = input \"w\"\n"
		"%4 float32[1,1,2], %5 float32[1,1,2] = lstm(%0, %3, %2, -, -, -, %1, %1) steps=5 "
		"hidden=2 forward gates=iofg activations=%s,tanh,tanh\n",
	};
	static const int refused[] = { IR_LOGICAL_NOT, IR_IS_NAN, IR_IS_INFINITE };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(networks); i++)
		for (int kind = 0; kind < IR_UNARY_COUNT; kind++) {
			bool fits = true;

			for (size_t k = 0; k < ARRAY_SIZE(refused); k++)
				fits &= kind != refused[k];
			if (network_fits(networks[i], ir_unary_name(kind)) != fits)
				fail_msg("network %zu %s %s", i, fits ? "refuses" : "takes",
					 ir_unary_name(kind));
		}
}

/* Tests that functions of floats take no integers, and logical_not takes no floats. */
static void functions_have_operands_of_their_types(void **state)
{
	static const struct {
		const char *text;
		bool fits;
	} cases[] = {
		{ "%1 int32[2] = unary(%0) abs(0,0)", true },
		{ "%1 int32[2] = unary(%0) logical_not(0,0)", true },
		{ "%1 int32[2] = unary(%0) sin(0,0)", false },
		{ "%1 uint8[2] = unary(%0) is_nan(0,0)", false },
		{ "%3 float32[2] = unary(%2) sin(0,0)", true },
		{ "%3 uint8[2] = unary(%2) is_nan(0,0)", true },
		{ "%3 float32[2] = unary(%2) is_nan(0,0)", false },
		{ "%3 float32[2] = unary(%2) logical_not(0,0)", false },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		char text[256];
		struct ir_graph *graph;

		snprintf(text, sizeof(text),
			 "%%0 int32[2] = input \"a\"\n%%2 float32[2] = input \"b\"\n%s",
			 cases[i].text);
		graph = parsed(text);
		if (ir_shapes_fit(graph->nodes[0]) != cases[i].fits)
			fail_msg("%s", cases[i].text);
		ir_graph_destroy(graph);
	}
}

#define CACHE                                 \
	"%0 float32[4,2] = input \"cache\"\n" \
	"%1 int32[1,1] = input \"place\"\n"   \
	"%2 float32[1,2] = input \"row\"\n"
#define STORED "%3 float32[4,2] = scatter(%0, %1, %2) nd in_place\n"

static void an_update_is_read(void **state)
{
	struct ir_graph *graph = parsed(CACHE STORED "output \"y\" = %3 updates %0\n");

	(void)state;
	assert_true(graph->nodes[0]->attrs.gather.in_place);
	assert_ptr_equal(graph->outputs[0].updates, graph->inputs[0]);
	assert_true(text_round_trip(graph));
	ir_graph_destroy(graph);
}

static void a_comma_of_the_locale_changes_nothing(void **state)
{
	struct ir_graph *graph = parsed("%0 float32[2] = constant 0.5,1.5\n");
	char *printed;

	(void)state;
	/* If this locale is not installed, the test proves nothing. */
	setlocale(LC_ALL, "de_DE.UTF-8");
	printed = ir_print(graph);
	setlocale(LC_ALL, "C");
	assert_string_equal(printed, "%0 float32[2] = constant 0.5,1.5\n");
	wnn_free(printed);
	ir_graph_destroy(graph);
}

struct mistake {
	const char *text, *message;
};

static void check_mistake(const struct mistake *mistake)
{
	struct wnn_error error = { 0 };
	struct ir_graph *graph = ir_parse(mistake->text, &error);

	if (graph || strcmp(error.message, mistake->message))
		fail_msg("%s\ngave %s\nnot  %s", mistake->text, graph ? "a graph" : error.message,
			 mistake->message);
}

static void mistakes_are_named(void **state)
{
	static const struct mistake cases[] = {
		{ "%0 float33[1] = input \"x\"",
		  "line 1, column 4: a data type is expected, such as "
		  "float32" },
		{ "%0 float32[0] = input \"x\"", "line 1, column 13: a dimension is at least 1" },
		{ "%0 float32[1,1,1,1,1,1,1,1,1] = input \"x\"",
		  "line 1, column 27: there are too many dimensions" },
		{ "%0 float32[4000000000,4000000000] = input \"x\"",
		  "line 1, column 33: the value is too large" },
		{ "%65536 float32[1] = input \"x\"", "line 1, column 2: the number is too large" },
		{ "%0 float32[1] = input x", "line 1, column 23: \"\"\" is expected" },
		{ "%0 float32[1] = input \"x", "line 1, column 25: the string does not end" },
		{ "%0 float32[1] = input \"\\n\"",
		  "line 1, column 24: \\xNN is expected, a byte that is not 0" },
		{ "%0 float32[1] = input \"x\" y",
		  "line 1, column 27: the end of the line is expected" },
		{ "\n%0 float32[1] = input \"x\"\n%0 float32[1] = input \"y\"",
		  "line 3, column 1: there is a value of that number already" },
		{ "%0 float32[2] = constant 1", "line 1, column 27: \",\" is expected" },
		{ "%0 float32[1] = constant x", "line 1, column 26: a number is expected" },
		{ "%0 float32[1] = constant nan:0",
		  "line 1, column 26: the bits of a NaN are expected" },
		{ "%0 int8[1] = constant 128",
		  "line 1, column 26: the number does not fit the data type" },
		{ "%0 uint8[1] = constant 256", "line 1, column 24: the number is too large" },
		{ "%0 float32[100000000] = constant",
		  "line 1, column 33: the constant is too large" },
		{ "%0 float32[1] = convolve()",
		  "line 1, column 17: input, constant or the name of an "
		  "operator is expected" },
		{ "%0 float32[1] = copy(%1)",
		  "line 1, column 22: there is no value of that number before" },
		{ "%0 float32[1] = input \"x\"\n%1 float32[1] = softmax(%0)",
		  "line 2, column 28: softmax needs axis=" },
		{ "%0 float32[1] = input \"x\"\n%1 float32[1] = unary(%0)",
		  "line 2, column 26: unary needs a word such as relu(0,0)" },
		{ "%0 float32[1] = input \"x\"\n%1 float32[1] = unary(%0) rely(0,0)",
		  "line 2, column 27: there is no such function" },
		{ "%0 float32[1] = input \"x\"\n%1 float32[1] = softmax(%0) axis=0 axis=0",
		  "line 2, column 36: the attribute is there twice" },
		{ "%0 float32[1] = input \"x\"\n%1 float32[1] = cumsum(%0) axes=0",
		  "line 2, column 28: cumsum has no attribute of that name; it has axis, exclusive, "
		  "reversed" },
		{ "%0 float32[1] = input \"x\"\n%1 float32[1] = copy(%0) axis=0",
		  "line 2, column 26: copy has no attribute of that name and no other" },
		{ "%0 float32[1] = input \"x\"\n%1 float32[1] = layernorm(%0) axes=0,0,0,0,0,0,0,0,0",
		  "line 2, column 52: there are too many elements" },
		{ "%0 float32[1] = input \"x\"\n%1 float32[1] = softmax(%0) axis=1",
		  "internal error, please report it: node 0 (softmax): attribute axis is an axis "
		  "that is not below the rank" },
		{ "%0 float32[1] = input \"x\"\n%1 float32[1] = reverse(%0) axes=6",
		  "internal error, please report it: node 0 (reverse): attribute axes has a bit "
		  "that is not below the rank" },
		{ "%0 float32[1] = input \"x\"\n%1 float32[1] = copy(%0, %0)",
		  "internal error, please report it: node 0 (copy): wrong number of operands" },
		{ "%0 float32[1] = input \"x\"\n%1 float32[1] = copy(-)",
		  "internal error, please report it: node 0 (copy): a required operand is "
		  "missing" },
		{ "output \"x\" = -", "line 1, column 15: an output is a value" },
		{ "what", "line 1, column 1: the end of the line is expected" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		check_mistake(&cases[i]);
}

static void mistakes_of_updates_are_named(void **state)
{
	static const struct mistake cases[] = {
		{ CACHE STORED "output \"y\" = %3",
		  "internal error, please report it: node 0 (scatter): in_place is for the nodes "
		  "that update an input" },
		{ CACHE "%3 float32[4,2] = scatter(%0, %1, %2) nd\noutput \"y\" = %3 updates %0",
		  "internal error, please report it: node 0 (scatter): in_place is for the nodes "
		  "that update an input" },
		{ CACHE STORED "%4 float32[4,2] = unary(%0) neg(0,0)\n"
			       "output \"y\" = %3 updates %0\noutput \"z\" = %4",
		  "internal error, please report it: output \"y\": another operator reads the "
		  "input that scatter overwrites, "
		  "or it is an output; only the new value can be read" },
		{ CACHE STORED "output \"y\" = %3 updates %0\noutput \"z\" = %3 updates %0",
		  "internal error, please report it: two outputs update one input" },
		{ CACHE STORED "output \"y\" = %3 updates -",
		  "line 5, column 26: an updated input is a value" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		check_mistake(&cases[i]);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_operator_reads_as_printed),
		cmocka_unit_test(constants_read_as_printed),
		cmocka_unit_test(every_type_of_constant_is_read),
		cmocka_unit_test(what_has_a_default_may_be_left_out),
		cmocka_unit_test(a_symbol_is_read),
		cmocka_unit_test(a_template_becomes_a_graph),
		cmocka_unit_test(wrong_symbols_are_refused),
		cmocka_unit_test(activations_map_floats_to_floats),
		cmocka_unit_test(functions_have_operands_of_their_types),
		cmocka_unit_test(an_update_is_read),
		cmocka_unit_test(a_comma_of_the_locale_changes_nothing),
		cmocka_unit_test(mistakes_are_named),
		cmocka_unit_test(mistakes_of_updates_are_named),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
