// SPDX-License-Identifier: MIT
/*
 * Tests that a dispatch on the CPU leaves out the nodes that only the unselected side of a
 * selection needs, when the condition has a single element, and that it runs all others. The
 * profile says which nodes ran. Each side is computed from x = 0.5 by functions such as tanh, cos
 * or sin.
 */
#include "fixture.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define X 0.5F

struct fixture {
	WNNInstance instance;
	WNNContext context;
	WNNGraphBuilder b;
	WNNOperand x;
	WNNOperand condition[2]; /* inputs "c" and "d" of one element */
};

static void open_all(struct fixture *f, const char *device)
{
	WNNContextDeviceOptions options = WNN_CONTEXT_DEVICE_OPTIONS_INIT;

	options.device = WNN_STR(device);
	options.profile = true;
	options.threads = 1;
	f->instance = wnnCreateInstance(NULL);
	f->context = open_context_with(f->instance, &options);
	f->b = wnnContextCreateGraphBuilder(f->context);
	f->x = make_input(f->b, "x", 4, 5);
	for (int i = 0; i < 2; i++) {
		WNNOperandDescriptor desc = WNN_OPERAND_DESCRIPTOR_INIT;

		desc.dataType = WNNOperandDataType_Uint8;
		desc.shape = i ? WNN_UINT32_LIST(1, 1) : WNN_UINT32_EMPTY;
		f->condition[i] = wnnGraphBuilderInput(f->b, WNN_STR(i ? "d" : "c"), &desc);
	}
}

static void close_all(struct fixture *f)
{
	wnnGraphBuilderRelease(f->b);
	wnnContextRelease(f->context);
	wnnInstanceRelease(f->instance);
}

typedef WNNOperand (*unary_fn)(WNNGraphBuilder, WNNOperand, WNNOperatorOptions const *);

/* Returns the result of applying a function to x; its node has the label. */
static WNNOperand apply(const struct fixture *f, unary_fn function, WNNOperand x, const char *label)
{
	WNNOperatorOptions options = WNN_OPERATOR_OPTIONS_INIT;
	WNNOperand y;

	options.label = WNN_STR(label);
	y = function(f->b, x, &options);
	assert_non_null(y);
	return y;
}

static WNNOperand select_of(const struct fixture *f, int condition, WNNOperand a, WNNOperand b)
{
	WNNOperand y = wnnGraphBuilderWhere(f->b, f->condition[condition], a, b, NULL);

	assert_non_null(y);
	return y;
}

static WNNGraph build(const struct fixture *f, WNNOperand y)
{
	return build_one(f->b, "y", y);
}

/* Writes the labels of the nodes that ran, in order, with a space after each. */
static void list_labels(WNNGraph graph, char *text, size_t size)
{
	WNNGraphProfile profile = WNN_GRAPH_PROFILE_INIT;
	size_t at = 0;

	text[0] = 0;
	assert_ok(wnnGraphGetProfile(graph, &profile));
	for (size_t i = 0; i < profile.spanCount; i++) {
		WNNStringView label = profile.nodes[profile.spans[i].node].label;

		if (label.length && at + label.length + 2 < size)
			at += (size_t)snprintf(text + at, size - at, "%.*s ", (int)label.length,
					       label.data);
	}
	wnnGraphProfileFreeMembers(profile);
}

static WNNTensor make_condition(const struct fixture *f, int number, uint8_t value)
{
	WNNTensorDescriptor desc = WNN_TENSOR_DESCRIPTOR_INIT;
	WNNTensor tensor;

	desc.dataType = WNNOperandDataType_Uint8;
	desc.shape = number ? WNN_UINT32_LIST(1, 1) : WNN_UINT32_EMPTY;
	desc.writable = true;
	assert_ok(wnnContextCreateTensorSync(f->context, &desc, GENEROUS, &tensor));
	assert_ok(wnnContextWriteTensor(f->context, tensor, &value, 1));
	return tensor;
}

/*
 * Runs the graph with those of the conditions c and d that are its inputs. Checks that all elements
 * of the result are `wanted`, and which nodes ran: those with `labels` (NULL: any).
 */
static void check_run(const struct fixture *f, WNNGraph graph, uint8_t c, uint8_t d, double wanted,
		      const char *labels)
{
	WNNNamedOperandDescriptorArray inputs = wnnGraphGetInputs(graph);
	WNNTensor x = make_tensor(f->context, 4, 5), y = make_tensor(f->context, 4, 5);
	WNNTensor conditions[2] = { make_condition(f, 0, c), make_condition(f, 1, d) };
	WNNNamedTensor in[3], out = { WNN_STR("y"), y };
	float data[20];
	char text[200];

	for (int i = 0; i < 20; i++)
		data[i] = X;
	assert_ok(wnnContextWriteTensor(f->context, x, data, sizeof(data)));
	assert_true(inputs.count <= 3);
	for (size_t i = 0; i < inputs.count; i++)
		in[i] = (WNNNamedTensor){ inputs.data[i].name,
					  inputs.data[i].name.data[0] == 'x' ?
						  x :
						  conditions[inputs.data[i].name.data[0] == 'd'] };
	assert_ok(wnnContextDispatch(f->context, graph, inputs.count, in, 1, &out));
	assert_ok(wnnContextReadTensorIntoSync(f->context, y, data, sizeof(data), GENEROUS));
	for (int i = 0; i < 20; i++)
		assert_true(fabs((double)data[i] - wanted) < 1e-6);
	list_labels(graph, text, sizeof(text));
	if (labels)
		assert_string_equal(text, labels);
	for (int i = 0; i < 2; i++)
		wnnTensorRelease(conditions[i]);
	wnnTensorRelease(x);
	wnnTensorRelease(y);
}

static void one_side_runs(void **state)
{
	struct fixture f;
	WNNOperand a, b;
	WNNGraph graph;

	(void)state;
	open_all(&f, "cpu");
	a = apply(&f, wnnGraphBuilderCos, apply(&f, wnnGraphBuilderTanh, f.x, "a1"), "a2");
	b = apply(&f, wnnGraphBuilderSin, f.x, "b");
	graph = build(&f, apply(&f, wnnGraphBuilderNeg, select_of(&f, 0, a, b), "end"));
	check_run(&f, graph, 1, 0, -cos(tanh(0.5)), "a1 a2 end ");
	check_run(&f, graph, 0, 0, -sin(0.5), "b end ");
	/* Each number other than 0 is true. */
	check_run(&f, graph, 2, 0, -cos(tanh(0.5)), "a1 a2 end ");
	wnnGraphRelease(graph);
	close_all(&f);
}

/* A value that both sides read, or one side and a node beside the selection, is always computed. */
static void what_both_need_runs(void **state)
{
	struct fixture f;
	WNNOperand shared, y;
	WNNGraph graph;

	(void)state;
	open_all(&f, "cpu");
	shared = apply(&f, wnnGraphBuilderTanh, f.x, "both");
	y = select_of(&f, 0, apply(&f, wnnGraphBuilderCos, shared, "a"),
		      apply(&f, wnnGraphBuilderSin, shared, "b"));
	graph = build(&f, y);
	check_run(&f, graph, 1, 0, cos(tanh(0.5)), "both a ");
	check_run(&f, graph, 0, 0, sin(tanh(0.5)), "both b ");
	wnnGraphRelease(graph);
	close_all(&f);
	open_all(&f, "cpu");
	shared = apply(&f, wnnGraphBuilderTanh, f.x, "a");
	y = select_of(&f, 0, shared, apply(&f, wnnGraphBuilderSin, f.x, "b"));
	graph = build(&f, wnnGraphBuilderMax(f.b, y, shared, NULL));
	check_run(&f, graph, 0, 0, sin(0.5), "a b ");
	wnnGraphRelease(graph);
	close_all(&f);
}

/* An output of the graph is computed even if the selection does not need it. */
static void outputs_run(void **state)
{
	WNNNamedOperand outputs[] = { { WNN_STR("y"), NULL }, { WNN_STR("z"), NULL } };
	WNNNamedTensor in[] = { { WNN_STR("x"), NULL }, { WNN_STR("c"), NULL } };
	WNNNamedTensor out[] = { { WNN_STR("y"), NULL }, { WNN_STR("z"), NULL } };
	float data[20] = { X };
	struct fixture f;
	WNNGraph graph;
	char text[50];

	(void)state;
	open_all(&f, "cpu");
	outputs[1].operand = apply(&f, wnnGraphBuilderTanh, f.x, "z");
	outputs[0].operand =
		select_of(&f, 0, outputs[1].operand, apply(&f, wnnGraphBuilderSin, f.x, "b"));
	assert_ok(wnnGraphBuilderBuildSync(f.b, 2, outputs, GENEROUS, &graph));
	in[0].tensor = make_tensor(f.context, 4, 5);
	in[1].tensor = make_condition(&f, 0, 0);
	for (int i = 0; i < 2; i++)
		out[i].tensor = make_tensor(f.context, 4, 5);
	assert_ok(wnnContextWriteTensor(f.context, in[0].tensor, data, sizeof(data)));
	assert_ok(wnnContextDispatch(f.context, graph, 2, in, 2, out));
	assert_ok(wnnContextReadTensorIntoSync(f.context, out[1].tensor, data, sizeof(data),
					       GENEROUS));
	assert_true(fabs((double)data[0] - tanh(0.5)) < 1e-6);
	list_labels(graph, text, sizeof(text));
	assert_string_equal(text, "z b ");
	for (int i = 0; i < 2; i++) {
		wnnTensorRelease(in[i].tensor);
		wnnTensorRelease(out[i].tensor);
	}
	wnnGraphRelease(graph);
	close_all(&f);
}

/*
 * Two selections have one condition: the sides of both for true run, with nodes that only these
 * read, or the sides of both for false.
 */
static void two_selections(void **state)
{
	struct fixture f;
	WNNOperand a, b, y;
	WNNGraph graph;

	(void)state;
	open_all(&f, "cpu");
	a = apply(&f, wnnGraphBuilderTanh, f.x, "a1");
	b = apply(&f, wnnGraphBuilderSin, f.x, "b1");
	y = wnnGraphBuilderMul(f.b, select_of(&f, 0, a, b),
			       select_of(&f, 0, apply(&f, wnnGraphBuilderCos, a, "a2"),
					 apply(&f, wnnGraphBuilderExp, b, "b2")),
			       NULL);
	graph = build(&f, y);
	check_run(&f, graph, 1, 0, tanh(0.5) * cos(tanh(0.5)), "a1 a2 ");
	check_run(&f, graph, 0, 0, sin(0.5) * exp(sin(0.5)), "b1 b2 ");
	wnnGraphRelease(graph);
	close_all(&f);
}

/*
 * The inner selection is part of one side of the outer one: both conditions decide which nodes run.
 */
static void nested(void **state)
{
	struct fixture f;
	WNNOperand inner, y;
	WNNGraph graph;

	(void)state;
	open_all(&f, "cpu");
	inner = select_of(&f, 1, apply(&f, wnnGraphBuilderTanh, f.x, "ad"),
			  apply(&f, wnnGraphBuilderSin, f.x, "a"));
	y = select_of(&f, 0, apply(&f, wnnGraphBuilderNeg, inner, "an"),
		      apply(&f, wnnGraphBuilderCos, f.x, "b"));
	graph = build(&f, y);
	check_run(&f, graph, 1, 1, -tanh(0.5), "ad an ");
	check_run(&f, graph, 1, 0, -sin(0.5), "a an ");
	check_run(&f, graph, 0, 1, cos(0.5), "b ");
	check_run(&f, graph, 0, 0, cos(0.5), "b ");
	wnnGraphRelease(graph);
	close_all(&f);
}

/*
 * Both sides run when their condition is computed after them. In the second graph, one side of the
 * outer selection also computes the condition of the inner one, and runs only if selected.
 */
static void computed_conditions(void **state)
{
	struct fixture f;
	WNNOperand early, late, y;
	WNNGraph graph;

	(void)state;
	open_all(&f, "cpu");
	early = apply(&f, wnnGraphBuilderTanh, f.x, "early");
	late = wnnGraphBuilderLesser(f.b, wnnGraphBuilderReduceMax(f.b, f.x, NULL),
				     wnnGraphBuilderReduceMin(f.b, f.x, NULL), NULL);
	y = wnnGraphBuilderWhere(f.b, late, early, apply(&f, wnnGraphBuilderSin, f.x, "b"), NULL);
	graph = build(&f, wnnGraphBuilderNeg(f.b, y, NULL));
	check_run(&f, graph, 0, 0, -sin(0.5), "early b ");
	wnnGraphRelease(graph);
	close_all(&f);
	open_all(&f, "cpu");
	late = wnnGraphBuilderReduceMin(f.b, apply(&f, wnnGraphBuilderExp, f.x, "side"), NULL);
	late = wnnGraphBuilderLesser(f.b, wnnGraphBuilderReduceMax(f.b, f.x, NULL), late, NULL);
	y = apply(&f, wnnGraphBuilderTanh, f.x, "less");
	y = wnnGraphBuilderWhere(f.b, late, y, apply(&f, wnnGraphBuilderSin, f.x, "other"), NULL);
	y = select_of(&f, 0, y, apply(&f, wnnGraphBuilderCos, f.x, "b"));
	graph = build(&f, y);
	check_run(&f, graph, 1, 0, tanh(0.5), "side less ");
	check_run(&f, graph, 0, 0, cos(0.5), "b ");
	wnnGraphRelease(graph);
	close_all(&f);
}

/* A condition with several elements needs both sides, even if its elements are equal. */
static void conditions_of_elements(void **state)
{
	struct fixture f;
	WNNOperand y, condition;
	WNNGraph graph;

	(void)state;
	open_all(&f, "cpu");
	condition = wnnGraphBuilderEqual(f.b, f.x, f.x, NULL);
	y = apply(&f, wnnGraphBuilderTanh, f.x, "a");
	y = wnnGraphBuilderWhere(f.b, condition, y, apply(&f, wnnGraphBuilderSin, f.x, "b"), NULL);
	graph = build(&f, y);
	check_run(&f, graph, 0, 0, tanh(0.5), "a b ");
	wnnGraphRelease(graph);
	close_all(&f);
}

/* A graph that was saved and loaded leaves out the unselected side, too. */
static void saved(void **state)
{
	char path[] = "/tmp/test-api-branches-XXXXXX";
	struct fixture f;
	WNNGraph graph, loaded;
	int fd = mkstemp(path);

	(void)state;
	assert_true(fd >= 0);
	close(fd);
	open_all(&f, "cpu");
	graph = build(&f, select_of(&f, 0, apply(&f, wnnGraphBuilderTanh, f.x, "a"),
				    apply(&f, wnnGraphBuilderSin, f.x, "b")));
	assert_ok(wnnGraphSave(graph, WNN_STR(path)));
	assert_ok(wnnContextLoadGraphSync(f.context, WNN_STR(path), GENEROUS, &loaded));
	unlink(path);
	check_run(&f, loaded, 1, 0, tanh(0.5), "a ");
	check_run(&f, loaded, 0, 0, sin(0.5), "b ");
	wnnGraphRelease(loaded);
	wnnGraphRelease(graph);
	close_all(&f);
}

/* An operand of a random graph and the value of its elements, which are all equal. */
struct drawn {
	WNNOperand operand;
	double value[4]; /* by conditions: (c, d) = (0, 0), (1, 0), (0, 1), (1, 1) */
};

static struct drawn drawn_function(const struct fixture *f, struct drawn x)
{
	static const unary_fn functions[] = { wnnGraphBuilderTanh, wnnGraphBuilderCos,
					      wnnGraphBuilderSin };
	static double (*const wanted[])(double) = { tanh, cos, sin };
	int which = rand() % 3;
	struct drawn y = { apply(f, functions[which], x.operand, ""), { 0 } };

	for (int i = 0; i < 4; i++)
		y.value[i] = wanted[which](x.value[i]);
	return y;
}

/* Selects a or b by c, by d, or by less < more when these two differ clearly. */
static struct drawn drawn_selection(const struct fixture *f, struct drawn a, struct drawn b,
				    struct drawn less, struct drawn more)
{
	int which = rand() % 3;
	struct drawn y = { NULL, { 0 } };
	WNNOperand condition;

	for (int i = 0; i < 4 && which == 2; i++)
		if (fabs(less.value[i] - more.value[i]) < 1e-3)
			which = 0;
	condition = which < 2 ? f->condition[which] :
				wnnGraphBuilderLesser(
					f->b, wnnGraphBuilderReduceMax(f->b, less.operand, NULL),
					wnnGraphBuilderReduceMax(f->b, more.operand, NULL), NULL);
	y.operand = wnnGraphBuilderWhere(f->b, condition, a.operand, b.operand, NULL);
	assert_non_null(y.operand);
	for (int i = 0; i < 4; i++) {
		bool taken = which == 2 ? less.value[i] < more.value[i] : i >> which & 1;

		y.value[i] = taken ? a.value[i] : b.value[i];
	}
	return y;
}

/*
 * Tests graphs of many selections. Odd seeds draw the operands of each from all earlier values;
 * with even seeds, each selection is in the first side of the next. The graphs have more branches
 * with one condition, and more that contain each other, than the library's search looks through
 * (its limits are MAX_OF_CONDITION and MAX_DEPTH).
 */
static void many_selections(void **state)
{
	(void)state;
	for (unsigned int seed = 1; seed <= 30; seed++) {
		struct drawn values[120];
		struct fixture f;
		WNNGraph graph;

		srand(seed);
		open_all(&f, "cpu");
		values[0] = (struct drawn){ f.x, { X, X, X, X } };
		for (int n = 1; n < 120; n++) {
			struct drawn from[4];

			for (int i = 0; i < 4; i++)
				from[i] = values[seed % 2 ? rand() % n : 0];
			/* A chain, in which selections contain each other. */
			if (seed % 2 == 0)
				from[0] = values[n - 1];
			values[n] = rand() % 2 ?
					    drawn_function(&f, from[0]) :
					    drawn_selection(&f, from[0], from[1], from[2], from[3]);
		}
		graph = build(&f, apply(&f, wnnGraphBuilderNeg, values[119].operand, ""));
		for (int i = 0; i < 4; i++)
			check_run(&f, graph, i & 1, (uint8_t)(i >> 1), -values[119].value[i], NULL);
		wnnGraphRelease(graph);
		close_all(&f);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(one_side_runs),
		cmocka_unit_test(what_both_need_runs),
		cmocka_unit_test(outputs_run),
		cmocka_unit_test(two_selections),
		cmocka_unit_test(nested),
		cmocka_unit_test(computed_conditions),
		cmocka_unit_test(conditions_of_elements),
		cmocka_unit_test(saved),
		cmocka_unit_test(many_selections),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
