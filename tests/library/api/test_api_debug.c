// SPDX-License-Identifier: MIT
/*
 * With WEBNN_DEBUG, misuse is refused and reported with locations in the program; with WEBNN_LOG,
 * the library writes its log to stderr; without them it writes nothing. Each case is a process of
 * its own: this program, called with the name of the case.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fixture.h"

struct objects {
	WNNInstance instance;
	WNNContext context;
	WNNTensor x, y;
	WNNGraph graph;
};

static void open_all(struct objects *o)
{
	WNNGraphBuilder b;

	o->instance = wnnCreateInstance(NULL);
	o->context = open_context(o->instance, "cpu");
	o->x = make_tensor(o->context, 2, 3);
	o->y = make_tensor(o->context, 2, 3);
	b = wnnContextCreateGraphBuilder(o->context);
	assert_ok(wnnGraphBuilderSetLabel(b, WNN_STR("net")));
	o->graph = build_one(b, "y", wnnGraphBuilderRelu(b, make_input(b, "x", 2, 3), NULL));
	wnnGraphBuilderRelease(b);
	assert_ok(wnnTensorSetLabel(o->x, WNN_STR("camera")));
	assert_ok(wnnContextSetLabel(o->context, WNN_STR("main")));
	assert_ok(dispatch_xy(o->context, o->graph, o->x, o->y));
	assert_ok(wnnContextWaitIdle(o->context, GENEROUS));
}

static void close_all(struct objects *o)
{
	wnnGraphRelease(o->graph);
	wnnTensorRelease(o->x);
	wnnTensorRelease(o->y);
	wnnContextRelease(o->context);
	wnnInstanceRelease(o->instance);
}

/* --- The cases, each in a process of its own --- */

static void good(struct objects *o)
{
	/* Taking another reference is no misuse. */
	wnnTensorAddRef(o->x);
	wnnTensorRelease(o->x);
}

static void after_release(struct objects *o)
{
	WNNTensor late = make_tensor(o->context, 4, 4), other;

	assert_ok(wnnTensorSetLabel(late, WNN_STR("late")));
	wnnTensorRelease(late);
	/* No new object gets the address of the released one. */
	assert_ok(wnnContextWaitIdle(o->context, GENEROUS));
	other = make_tensor(o->context, 4, 4);
	assert_ptr_not_equal(other, late);
	assert_int_equal(wnnTensorGetByteLength(late), 0);
	assert_failed(wnnContextReadTensorIntoSync(o->context, late, o, sizeof(float) * 16,
						   GENEROUS),
		      WNNStatus_TypeError, "was a WNNTensor \"late\", which was released");
	assert_failed(dispatch_xy(o->context, o->graph, late, o->y), WNNStatus_TypeError,
		      "dispatch of graph \"net\": input \"x\"");
	wnnTensorRelease(other);
}

static void twice(struct objects *o)
{
	wnnTensorAddRef(o->x);
	wnnTensorRelease(o->x);
	wnnTensorRelease(o->x);
	wnnTensorRelease(o->x);
	assert_int_equal(wnnGetLastError(NULL), WNNStatus_TypeError);
	o->x = NULL;
}

static void other_kind(struct objects *o)
{
	assert_int_equal(wnnTensorGetByteLength((WNNTensor)(void *)o->graph), 0);
	assert_failed(dispatch_xy(o->context, (WNNGraph)(void *)o->x, o->x, o->y),
		      WNNStatus_TypeError, "is a WNNTensor \"camera\", a WNNGraph is expected");
	wnnContextRelease((WNNContext)(void *)o->y);
	assert_failed(wnnContextWaitIdle((WNNContext)(void *)"no object at all", GENEROUS),
		      WNNStatus_TypeError, "is no object of the library, a WNNContext is expected");
}

static void operand_of_no_builder(struct objects *o)
{
	WNNGraphBuilder b = wnnContextCreateGraphBuilder(o->context), c;
	WNNOperand x = make_input(b, "x", 2, 3);

	wnnOperandRelease(x);
	wnnGraphBuilderRelease(b);
	c = wnnContextCreateGraphBuilder(o->context);
	assert_null(wnnGraphBuilderRelu(c, x, NULL));
	assert_failed(wnnGetLastError(NULL), WNNStatus_TypeError, "relu: ");
	assert_int_equal(wnnOperandGetDataType(x), WNNOperandDataType_Undefined);
	wnnGraphBuilderRelease(c);
}

static void wrong_chain(struct objects *o)
{
	WNNTensorDescriptor descriptor = WNN_TENSOR_DESCRIPTOR_INIT;
	WNNChainedStruct wrong = { NULL, WNNSType_BorrowedConstant };
	WNNTensor tensor;

	descriptor.nextInChain = &wrong;
	assert_failed(wnnContextCreateTensorSync(o->context, &descriptor, GENEROUS, &tensor),
		      WNNStatus_TypeError, "the chain of WNNTensorDescriptor");
}

static void leak(struct objects *o)
{
	wnnTensorAddRef(o->x);
}

static const struct {
	const char *name;
	void (*run)(struct objects *o);
} cases[] = {
	{ "good", good },
	{ "after_release", after_release },
	{ "twice", twice },
	{ "other_kind", other_kind },
	{ "operand", operand_of_no_builder },
	{ "chain", wrong_chain },
	{ "leak", leak },
};

static int run_case(const char *name)
{
	struct objects o;

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		if (!strcmp(cases[i].name, name)) {
			open_all(&o);
			cases[i].run(&o);
			close_all(&o);
			return 0;
		}
	return 2;
}

/* --- Output of the cases --- */

static char program[512];
static char said[16384];

static void run(const char *environment, const char *name)
{
	char command[1024];
	FILE *pipe;
	size_t length;
	/* Meson names the program that runs programs for another processor in this variable. */
	const char *wrapper = getenv("MESON_EXE_WRAPPER");

	/* Some cases leave objects unreleased, which the address sanitizer would report as well. */
	snprintf(command, sizeof(command), "env %s ASAN_OPTIONS=detect_leaks=0 %s '%s' %s 2>&1",
		 environment, wrapper ? wrapper : "", program, name);
	pipe = popen(command, "r");
	assert_non_null(pipe);
	length = fread(said, 1, sizeof(said) - 1, pipe);
	said[length] = '\0';
	if (pclose(pipe))
		fail_msg("%s ends badly: %s", command, said);
}

static void assert_said(const char *text)
{
	if (!strstr(said, text))
		fail_msg("\"%s\" is not in: %s", text, said);
}

static void says_nothing(void **state)
{
	(void)state;
	run("-u WEBNN_DEBUG -u WEBNN_LOG", "leak");
	assert_string_equal(said, "");
	run("WEBNN_DEBUG=0", "leak");
	assert_string_equal(said, "");
	run("WEBNN_DEBUG=1", "good");
	assert_string_equal(said, "");
}

static void handles_after_release(void **state)
{
	(void)state;
	run("WEBNN_DEBUG=1", "after_release");
	assert_said("webnn: misuse: wnnTensorGetByteLength: tensor: ");
	assert_said("made by wnnContextCreateTensorSync\n");
	assert_said("released by wnnTensorRelease\n");
	assert_said("test_api_debug (0x");
	run("WEBNN_DEBUG=1", "operand");
	assert_said(" was never given to wnnOperandAddRef");
	/* A misuse that was reported is not reported again as a failure. */
	assert_null(strstr(said, "webnn: failed: "));
	assert_said("was a WNNOperand, which was released");
	assert_said("made by wnnGraphBuilderInput\n");
	assert_said("released by the release of its builder\n");
}

static void one_release_too_many(void **state)
{
	(void)state;
	run("WEBNN_DEBUG=1", "twice");
	assert_said("misuse: wnnTensorRelease: ");
	assert_said("was a WNNTensor \"camera\", which was released");
}

static void objects_of_other_kinds(void **state)
{
	(void)state;
	run("WEBNN_DEBUG=1", "other_kind");
	assert_said("wnnTensorGetByteLength: tensor: ");
	assert_said("is a WNNGraph \"net\", a WNNTensor is expected");
	assert_said("made by wnnGraphBuilderBuildSync\n");
	assert_said("misuse: wnnContextRelease: ");
	assert_said("misuse: wnnContextWaitIdle: context: ");
}

static void chains(void **state)
{
	(void)state;
	run("WEBNN_DEBUG=1", "chain");
	assert_said("webnn: failed: the chain of WNNTensorDescriptor");
	assert_said("webnn:   called\n");
}

static void what_is_not_released(void **state)
{
	(void)state;
	run("WEBNN_DEBUG=1", "leak");
	assert_said(
		"a WNNTensor \"camera\" was not released\nwebnn:   made by wnnContextCreateTensorSync\n");
	assert_null(strstr(said, "WNNContext"));
}

static void log_levels(void **state)
{
	(void)state;
	run("WEBNN_LOG=info", "good");
	assert_said("webnn: info: device cpu: ");
	assert_null(strstr(said, "webnn: debug: "));
	run("WEBNN_LOG=debug", "good");
	assert_said("webnn: debug: build of graph \"net\" begins\n");
	assert_said("webnn: debug: dispatch of graph \"net\": 1 inputs, 1 outputs\n");
	run("WEBNN_LOG=error", "good");
	assert_string_equal(said, "");
	run("WEBNN_LOG=error", "chain");
	assert_said("webnn: error: the chain of WNNTensorDescriptor");
	run("WEBNN_LOG=loud", "good");
	assert_said("the environment variable WEBNN_LOG is \"loud\"; allowed are none, error, "
		    "warning, info and debug\n");
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(says_nothing),
		cmocka_unit_test(handles_after_release),
		cmocka_unit_test(one_release_too_many),
		cmocka_unit_test(objects_of_other_kinds),
		cmocka_unit_test(chains),
		cmocka_unit_test(what_is_not_released),
		cmocka_unit_test(log_levels),
	};

	if (argc > 1)
		return run_case(argv[1]);
	snprintf(program, sizeof(program), "%s", argv[0]);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
