// SPDX-License-Identifier: MIT
/*
 * Tests graphs on the CPU and on the device model: results, dispatches, placement, texts,
 * statistics, threads.
 */
#include "fixture.h"

#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

static const char *const devices[] = { "cpu", "sim" };

struct fixture {
	WNNInstance instance;
	WNNContext context[2];
};

static int setup(void **state)
{
	static struct fixture f;

	f.instance = wnnCreateInstance(NULL);
	for (int i = 0; i < 2; i++)
		f.context[i] = open_context(f.instance, devices[i]);
	*state = &f;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	for (int i = 0; i < 2; i++)
		wnnContextRelease(f->context[i]);
	wnnInstanceRelease(f->instance);
	return 0;
}

static bool view_is(WNNStringView view, const char *text)
{
	return view.length == strlen(text) && !memcmp(view.data, text, view.length);
}

static float wave(int i)
{
	return (float)((i * 37) % 101 - 50) / 25;
}

/*
 * x[1,3,8,8] -> conv 3x3, 8 filters, bias, relu -> maxPool 2x2 -> reshape [1,128] -> gemm [128,5]
 * -> softmax.
 */
#define NET_IN	(3 * 8 * 8)
#define NET_OUT 5

static float net_w[8 * 3 * 3 * 3], net_b[8], net_d[128 * NET_OUT];

static WNNOperand operand(WNNGraphBuilder b, const float *data, uint32_t rank, const uint32_t *dims)
{
	WNNOperandDescriptor wanted = WNN_OPERAND_DESCRIPTOR_INIT;
	size_t count = 1;

	for (uint32_t i = 0; i < rank; i++)
		count *= dims[i];
	wanted.dataType = WNNOperandDataType_Float32;
	wanted.shape = (WNNUint32Array){ rank, dims };
	return data ? wnnGraphBuilderConstant(b, &wanted, data, count * sizeof(*data)) :
		      wnnGraphBuilderInput(b, WNN_STR("x"), &wanted);
}

static WNNGraph build_net(WNNContext context)
{
	WNNGraphBuilder b = wnnContextCreateGraphBuilder(context);
	const uint32_t x_shape[] = { 1, 3, 8, 8 }, w_shape[] = { 8, 3, 3, 3 }, b_shape[] = { 8 };
	const uint32_t d_shape[] = { 128, NET_OUT };
	WNNConv2dOptions conv = WNN_CONV2D_OPTIONS_INIT;
	WNNPool2dOptions pool = WNN_POOL2D_OPTIONS_INIT;
	WNNOperand x = operand(b, NULL, 4, x_shape);
	WNNGraph graph;

	for (size_t i = 0; i < sizeof(net_w) / sizeof(*net_w); i++)
		net_w[i] = wave((int)i) / 4;
	for (int i = 0; i < 8; i++)
		net_b[i] = wave(i + 7);
	for (size_t i = 0; i < sizeof(net_d) / sizeof(*net_d); i++)
		net_d[i] = wave((int)i + 3) / 8;
	conv.padding = WNN_UINT32_LIST(1, 1, 1, 1);
	conv.bias = operand(b, net_b, 1, b_shape);
	conv.label = WNN_STR("stem");
	x = wnnGraphBuilderConv2d(b, x, operand(b, net_w, 4, w_shape), &conv);
	x = wnnGraphBuilderRelu(b, x, NULL);
	pool.windowDimensions = WNN_UINT32_LIST(2, 2);
	pool.strides = WNN_UINT32_LIST(2, 2);
	x = wnnGraphBuilderMaxPool2d(b, x, &pool);
	x = wnnGraphBuilderReshape(b, x, WNN_UINT32_LIST(1, 128), NULL);
	x = wnnGraphBuilderGemm(b, x, operand(b, net_d, 2, d_shape), NULL);
	x = wnnGraphBuilderSoftmax(b, x, 1, NULL);
	assert_non_null(x);
	graph = build_one(b, "y", x);
	wnnGraphBuilderRelease(b);
	return graph;
}

static double net_element(const float *x, int o, int r, int c)
{
	double sum = net_b[o];

	for (int i = 0; i < 3; i++)
		for (int kr = 0; kr < 3; kr++)
			for (int kc = 0; kc < 3; kc++) {
				int y = r + kr - 1, z = c + kc - 1;

				if (y >= 0 && y < 8 && z >= 0 && z < 8)
					sum += (double)x[i * 64 + y * 8 + z] *
					       net_w[((o * 3 + i) * 3 + kr) * 3 + kc];
			}
	return sum > 0 ? sum : 0;
}

static void net_expected(const float *x, double *out)
{
	double pooled[128], total = 0;

	for (int o = 0; o < 8; o++)
		for (int r = 0; r < 4; r++)
			for (int c = 0; c < 4; c++)
				pooled[o * 16 + r * 4 + c] =
					fmax(fmax(net_element(x, o, 2 * r, 2 * c),
						  net_element(x, o, 2 * r, 2 * c + 1)),
					     fmax(net_element(x, o, 2 * r + 1, 2 * c),
						  net_element(x, o, 2 * r + 1, 2 * c + 1)));
	for (int n = 0; n < NET_OUT; n++) {
		out[n] = 0;
		for (int k = 0; k < 128; k++)
			out[n] += pooled[k] * net_d[k * NET_OUT + n];
		out[n] = exp(out[n]);
		total += out[n];
	}
	for (int n = 0; n < NET_OUT; n++)
		out[n] /= total;
}

static WNNTensor tensor_like(WNNContext context, WNNNamedOperandDescriptorArray list, size_t i)
{
	WNNTensorDescriptor wanted = WNN_TENSOR_DESCRIPTOR_INIT;
	WNNTensor tensor = NULL;

	wanted.dataType = list.data[i].dataType;
	wanted.shape = list.data[i].shape;
	wanted.readable = wanted.writable = WNN_TRUE;
	assert_ok(wnnContextCreateTensorSync(context, &wanted, GENEROUS, &tensor));
	return tensor;
}

static void a_network(void **state)
{
	struct fixture *f = *state;

	for (int d = 0; d < 2; d++) {
		WNNContext context = f->context[d];
		WNNGraph graph = build_net(context);
		WNNTensor x = tensor_like(context, wnnGraphGetInputs(graph), 0);
		WNNTensor y = tensor_like(context, wnnGraphGetOutputs(graph), 0);
		float in[NET_IN], out[NET_OUT];
		double expected[NET_OUT];

		for (int run = 0; run < 5; run++) {
			for (int i = 0; i < NET_IN; i++)
				in[i] = wave(i * (run + 1));
			assert_ok(wnnContextWriteTensor(context, x, in, sizeof(in)));
			assert_ok(dispatch_xy(context, graph, x, y));
			assert_ok(wnnContextReadTensorIntoSync(context, y, out, sizeof(out),
							       GENEROUS));
			net_expected(in, expected);
			for (int i = 0; i < NET_OUT; i++)
				assert_true(fabs(out[i] - expected[i]) < 1e-5);
		}
		assert_ok(wnnContextWaitIdle(context, GENEROUS));
		wnnTensorRelease(x);
		wnnTensorRelease(y);
		wnnGraphRelease(graph);
	}
}

/*
 * Many dispatches are in flight, each with other tensors: their slot tables and intermediate
 * results do not get mixed up.
 */
static void many_in_flight(void **state)
{
	enum { RUNS = 40 };
	struct fixture *f = *state;

	for (int d = 0; d < 2; d++) {
		WNNContext context = f->context[d];
		WNNGraph graph = build_net(context);
		WNNTensor x[RUNS], y[RUNS];
		static float in[RUNS][NET_IN];
		float out[NET_OUT];
		double expected[NET_OUT];

		for (int r = 0; r < RUNS; r++) {
			x[r] = tensor_like(context, wnnGraphGetInputs(graph), 0);
			y[r] = tensor_like(context, wnnGraphGetOutputs(graph), 0);
			for (int i = 0; i < NET_IN; i++)
				in[r][i] = wave(i * (r + 3));
			assert_ok(wnnContextWriteTensor(context, x[r], in[r], sizeof(in[r])));
		}
		for (int r = 0; r < RUNS; r++)
			assert_ok(dispatch_xy(context, graph, x[r], y[r]));
		for (int r = RUNS - 1; r >= 0; r--) {
			assert_ok(wnnContextReadTensorIntoSync(context, y[r], out, sizeof(out),
							       GENEROUS));
			net_expected(in[r], expected);
			for (int i = 0; i < NET_OUT; i++)
				assert_true(fabs(out[i] - expected[i]) < 1e-5);
			wnnTensorRelease(x[r]);
			wnnTensorRelease(y[r]);
		}
		wnnGraphRelease(graph);
	}
}

static void placement_and_statistics(void **state)
{
	struct fixture *f = *state;

	for (int d = 0; d < 2; d++) {
		WNNContext context = f->context[d];
		WNNGraph graph = build_net(context);
		WNNGraphPlacement placement = WNN_GRAPH_PLACEMENT_INIT;
		WNNGraphStatistics statistics = WNN_GRAPH_STATISTICS_INIT;
		WNNTensor x = tensor_like(context, wnnGraphGetInputs(graph), 0);
		WNNTensor y = tensor_like(context, wnnGraphGetOutputs(graph), 0);
		WNNNodeDevice where = d ? WNNNodeDevice_NPU : WNNNodeDevice_CPU;

		assert_ok(wnnGraphGetPlacement(graph, &placement));
		assert_int_equal(placement.nodeCount, 6);
		assert_int_equal(placement.npuCount + placement.cpuCount + placement.foldedCount,
				 6);
		assert_int_equal(d ? placement.cpuCount : placement.npuCount, 0);
		assert_true(view_is(placement.nodes[0].operatorName, "conv2d"));
		assert_true(view_is(placement.nodes[0].label, "stem"));
		assert_int_equal(placement.nodes[0].device, where);
		assert_int_equal(placement.nodes[0].reason,
				 d ? WNNPlacementReason_Supported : WNNPlacementReason_CPUDevice);
		assert_true(placement.nodes[0].kernel.length > 0);
		assert_true(placement.nodes[0].reasonText.length > 0);
		assert_int_equal(placement.nodes[0].fusedInto, WNN_NODE_NONE);
		assert_int_equal(!placement.nodes[0].estimatedCycles, !d);
		assert_true(view_is(placement.nodes[1].operatorName, "relu"));
		assert_int_equal(placement.nodes[1].fusedInto, 0);
		assert_true(wnnGraphGetNodeCount(graph) < 6);
		assert_true(wnnGraphGetNodeCount(graph) > 0);

		assert_failed(wnnGraphGetLastStatistics(graph, &statistics),
			      WNNStatus_InvalidStateError, "no dispatch");
		for (int i = 0; i < 3; i++)
			assert_ok(dispatch_xy(context, graph, x, y));
		assert_ok(wnnContextWaitIdle(context, GENEROUS));
		assert_ok(wnnGraphGetLastStatistics(graph, &statistics));
		assert_int_equal(statistics.dispatchCount, 3);
		assert_true(statistics.hostNanoseconds > 0);
		if (d) {
			assert_true(statistics.npuCycles > 0);
			/*
			 * The vector unit computes the gemm, which has one row: `macs` counts those
			 * of the convolution only.
			 */
			assert_true(statistics.macs >= 8 * 64 * 27);
			/* Float32 uses a quarter of the matrix array's cells. */
			assert_int_equal(statistics.peakMacs, statistics.npuCycles * 1024);
			assert_true(statistics.bytesRead >= sizeof(float) * NET_IN);
			assert_true(statistics.bytesWritten >= sizeof(float) * NET_OUT);
			assert_int_equal(statistics.cpuNanoseconds, 0);
		} else {
			assert_int_equal(statistics.npuCycles, 0);
			assert_true(statistics.cpuNanoseconds > 0);
		}
		wnnTensorRelease(x);
		wnnTensorRelease(y);
		wnnGraphRelease(graph);
	}
}

static void texts(void **state)
{
	struct fixture *f = *state;

	for (int d = 0; d < 2; d++) {
		WNNGraph graph = build_net(f->context[d]);
		WNNString text = WNN_STRING_INIT;

		assert_ok(wnnGraphGetText(graph, WNNGraphText_Nodes, &text));
		assert_non_null(strstr(text.data, "conv"));
		assert_int_equal(text.length, strlen(text.data));
		wnnStringFreeMembers(text);
		assert_failed(wnnGraphGetText(graph, 0, &text), WNNStatus_TypeError, "kind is 0");
		for (WNNGraphText kind = WNNGraphText_Plan; kind <= WNNGraphText_Program; kind++) {
			if (!d) {
				assert_failed(wnnGraphGetText(graph, kind, &text),
					      WNNStatus_NotSupportedError, "CPU");
				continue;
			}
			assert_ok(wnnGraphGetText(graph, kind, &text));
			assert_non_null(
				strstr(text.data, kind == WNNGraphText_Plan ? "node" : "mma"));
			wnnStringFreeMembers(text);
		}
		wnnGraphDestroy(graph);
		assert_failed(wnnGraphGetText(graph, WNNGraphText_Nodes, &text),
			      WNNStatus_InvalidStateError, "destroyed");
		wnnGraphRelease(graph);
	}
}

/*
 * A dispatch may give tensors in any order. One operand is two outputs; another output is an input.
 */
static void names(void **state)
{
	struct fixture *f = *state;

	for (int d = 0; d < 2; d++) {
		WNNContext context = f->context[d];
		WNNGraphBuilder b = wnnContextCreateGraphBuilder(context);
		WNNOperand p = make_input(b, "p", 1, 4), q = make_input(b, "a", 1, 4);
		WNNOperand unused = make_input(b, "unused", 1, 4);
		WNNOperand sum = wnnGraphBuilderSub(b, p, q, NULL);
		WNNNamedOperand outputs[] = {
			{ WNN_STR("z"), sum },
			{ WNN_STR("b"), wnnGraphBuilderIdentity(b, p, NULL) },
			{ WNN_STR("b2"), sum },
			{ { "bX", 1 }, NULL },
		};
		float pd[4] = { 1, 2, 3, 4 }, qd[4] = { 4, 3, 2, 1 }, got[3][4];
		WNNTensor tp = make_tensor(context, 1, 4), tq = make_tensor(context, 1, 4), to[3];
		WNNNamedTensor in[] = { { WNN_STR("p"), tp }, { WNN_STR("a"), tq } }, out[3];
		WNNGraph graph = NULL;

		assert_non_null(unused);
		assert_failed(wnnGraphBuilderBuildSync(b, 4, outputs, GENEROUS, &graph),
			      WNNStatus_TypeError, "two outputs");
		assert_ok(wnnGraphBuilderBuildSync(b, 3, outputs, GENEROUS, &graph));
		wnnGraphBuilderRelease(b);
		assert_int_equal(wnnGraphGetInputs(graph).count, 2);
		assert_true(view_is(wnnGraphGetInputs(graph).data[0].name, "a"));
		assert_true(view_is(wnnGraphGetInputs(graph).data[1].name, "p"));
		assert_int_equal(wnnGraphGetOutputs(graph).count, 3);
		assert_true(view_is(wnnGraphGetOutputs(graph).data[0].name, "b"));
		assert_true(view_is(wnnGraphGetOutputs(graph).data[1].name, "b2"));
		assert_true(view_is(wnnGraphGetOutputs(graph).data[2].name, "z"));
		assert_int_equal(wnnGraphGetOutputs(graph).data[2].shape.data[1], 4);
		for (int i = 0; i < 3; i++) {
			to[i] = make_tensor(context, 1, 4);
			out[i] = (WNNNamedTensor){ outputs[i].name, to[i] };
		}
		assert_ok(wnnContextWriteTensor(context, tp, pd, sizeof(pd)));
		assert_ok(wnnContextWriteTensor(context, tq, qd, sizeof(qd)));
		assert_ok(wnnContextDispatch(context, graph, 2, in, 3, out));
		for (int i = 0; i < 3; i++)
			assert_ok(wnnContextReadTensorIntoSync(context, to[i], got[i],
							       sizeof(got[i]), GENEROUS));
		for (int i = 0; i < 4; i++) {
			assert_true(got[0][i] == pd[i] - qd[i]);
			assert_true(got[1][i] == pd[i]);
			assert_true(got[2][i] == pd[i] - qd[i]);
		}
		for (int i = 0; i < 3; i++)
			wnnTensorRelease(to[i]);
		wnnTensorRelease(tp);
		wnnTensorRelease(tq);
		wnnGraphRelease(graph);
	}
}

/*
 * Invalid UTF-8 becomes U+FFFD, both in names that the graph has and in names that a dispatch
 * gives.
 */
static void names_of_another_encoding(void **state)
{
	struct fixture *f = *state;
	WNNContext context = f->context[0];
	WNNGraphBuilder b = wnnContextCreateGraphBuilder(context);
	WNNGraph graph =
		build_one(b, "\xc4rger", wnnGraphBuilderNeg(b, make_input(b, "\xf6l", 1, 1), NULL));
	WNNTensor x = make_tensor(context, 1, 1), y = make_tensor(context, 1, 1);
	WNNNamedTensor in = { WNN_STR("\xef\xbf\xbdl"), x }, out = { WNN_STR("\xc3rger"), y };
	float one = 1, got = 0;

	wnnGraphBuilderRelease(b);
	assert_true(view_is(wnnGraphGetInputs(graph).data[0].name, "\xef\xbf\xbdl"));
	assert_true(view_is(wnnGraphGetOutputs(graph).data[0].name, "\xef\xbf\xbdrger"));
	assert_ok(wnnContextWriteTensor(context, x, &one, sizeof(one)));
	assert_ok(wnnContextDispatch(context, graph, 1, &in, 1, &out));
	assert_ok(wnnContextReadTensorIntoSync(context, y, &got, sizeof(got), GENEROUS));
	assert_true(got == -1);
	in.name = WNN_STR("l");
	assert_failed(wnnContextDispatch(context, graph, 1, &in, 1, &out), WNNStatus_TypeError,
		      "no input \"l\"");
	wnnTensorRelease(x);
	wnnTensorRelease(y);
	wnnGraphRelease(graph);
}

/* A graph without inputs: the build computes all nodes but the one that makes the output. */
static void a_constant_graph(void **state)
{
	struct fixture *f = *state;

	for (int d = 0; d < 2; d++) {
		WNNContext context = f->context[d];
		WNNGraphBuilder b = wnnContextCreateGraphBuilder(context);
		const float data[4] = { 1, -2, 3, -4 };
		WNNGraphPlacement placement = WNN_GRAPH_PLACEMENT_INIT;
		WNNTensor y = make_tensor(context, 2, 2);
		WNNNamedTensor out = { WNN_STR("y"), y };
		float got[4];
		WNNOperand x = wnnGraphBuilderAbs(b, make_constant(b, data, 2, 2), NULL);
		WNNGraph graph = build_one(b, "y", wnnGraphBuilderNeg(b, x, NULL));

		wnnGraphBuilderRelease(b);
		assert_int_equal(wnnGraphGetInputs(graph).count, 0);
		assert_ok(wnnGraphGetPlacement(graph, &placement));
		assert_int_equal(placement.nodeCount, 2);
		assert_int_equal(placement.foldedCount, 1);
		assert_int_equal(placement.nodes[0].device, WNNNodeDevice_Folded);
		assert_int_equal(placement.nodes[0].reason, WNNPlacementReason_ConstantFolded);
		assert_ok(wnnContextDispatch(context, graph, 0, NULL, 1, &out));
		assert_ok(wnnContextReadTensorIntoSync(context, y, got, sizeof(got), GENEROUS));
		for (int i = 0; i < 4; i++)
			assert_true(got[i] == -fabsf(data[i]));
		wnnTensorRelease(y);
		wnnGraphRelease(graph);
	}
}

static WNNGraph build_gate(WNNContext context)
{
	WNNGraphBuilder b = wnnContextCreateGraphBuilder(context);
	WNNOperand sum =
		wnnGraphBuilderAdd(b, make_input(b, "x", 2, 2), make_input(b, "z", 2, 2), NULL);
	WNNOperand gate = wnnGraphBuilderSigmoid(b, sum, NULL);
	WNNOperand y = wnnGraphBuilderMul(b, gate, sum, NULL);
	WNNGraph graph = build_one(b, "y", wnnGraphBuilderIdentity(b, y, NULL));

	wnnGraphBuilderRelease(b);
	return graph;
}

/* The placement says by which rule or pass an operator was fused into another. */
static void rules_of_a_placement(void **state)
{
	static const char *const names[] = { "", "gate", "gate", "simplify" };
	struct fixture *f = *state;

	for (int d = 0; d < 2; d++) {
		WNNGraphPlacement placement = WNN_GRAPH_PLACEMENT_INIT;
		WNNGraphPlacementRules rules = WNN_GRAPH_PLACEMENT_RULES_INIT, again = rules;
		WNNGraph graph = build_gate(f->context[d]);

		placement.nextInChain = &rules.chain;
		assert_ok(wnnGraphGetPlacement(graph, &placement));
		assert_ptr_equal(placement.nextInChain, &rules.chain);
		assert_int_equal(rules.ruleCount, placement.nodeCount);
		assert_int_equal(placement.nodeCount, 4);
		for (size_t i = 0; i < placement.nodeCount; i++)
			assert_true(view_is(rules.rules[i], names[i]));
		assert_int_equal(placement.nodes[1].fusedInto, 0);
		assert_int_equal(placement.nodes[2].fusedInto, 0);
		rules.chain.next = &again.chain;
		assert_failed(wnnGraphGetPlacement(graph, &placement), WNNStatus_TypeError,
			      "a second struct");
		rules.chain.next = NULL;
		rules.chain.sType = WNNSType_BorrowedConstant;
		assert_failed(wnnGraphGetPlacement(graph, &placement), WNNStatus_TypeError,
			      "the chain of WNNGraphPlacement holds an unknown struct");
		wnnGraphRelease(graph);
	}
}

static void bad_dispatches(void **state)
{
	struct fixture *f = *state;
	WNNContext context = f->context[0];
	WNNGraph graph = build_add_relu(context, 2, 2);
	WNNTensor x = make_tensor(context, 2, 2), y = make_tensor(context, 2, 2);
	WNNTensor wide = make_tensor(context, 2, 3), foreign = make_tensor(f->context[1], 2, 2);
	WNNTensor gone = make_tensor(context, 2, 2);
	WNNNamedTensor in = { WNN_STR("x"), x }, out = { WNN_STR("y"), y };

	assert_failed(dispatch_xy(f->context[1], graph, x, y), WNNStatus_TypeError,
		      "graph belongs to another context");
	assert_failed(dispatch_xy(context, NULL, x, y), WNNStatus_TypeError, "graph is NULL");
	assert_failed(dispatch_xy(context, graph, NULL, y), WNNStatus_TypeError,
		      "input \"x\": the tensor is NULL");
	assert_failed(dispatch_xy(context, graph, x, x), WNNStatus_TypeError,
		      "one tensor is given twice, as input \"x\" and as output \"y\"");
	assert_failed(dispatch_xy(context, graph, x, foreign), WNNStatus_TypeError,
		      "output \"y\": the tensor belongs to another context");
	assert_failed(dispatch_xy(context, graph, wide, y), WNNStatus_TypeError,
		      "float32[2,3]; the graph has float32[2,2]");
	wnnTensorDestroy(gone);
	assert_failed(dispatch_xy(context, graph, gone, y), WNNStatus_TypeError, "destroyed");
	assert_failed(wnnContextDispatch(context, graph, 0, NULL, 1, &out), WNNStatus_TypeError,
		      "dispatch: no tensor is given for input \"x\"");
	assert_failed(wnnContextDispatch(context, graph, 1, NULL, 1, &out), WNNStatus_TypeError,
		      "inputs is NULL");
	assert_failed(wnnContextDispatch(context, graph, 1, &in, 0, NULL), WNNStatus_TypeError,
		      "dispatch: no tensor is given for output \"y\"");
	assert_failed(wnnContextDispatch(context, graph, 2, (WNNNamedTensor[]){ in, in }, 1, &out),
		      WNNStatus_TypeError, "dispatch: input \"x\" is given twice");
	in.name = WNN_STR("q");
	assert_failed(wnnContextDispatch(context, graph, 1, &in, 1, &out), WNNStatus_TypeError,
		      "no input \"q\"; it leaves out inputs that no output depends on");
	wnnGraphDestroy(graph);
	wnnGraphDestroy(graph);
	assert_failed(dispatch_xy(context, graph, x, y), WNNStatus_InvalidStateError,
		      "graph is destroyed");
	wnnGraphRelease(graph);
	wnnTensorRelease(x);
	wnnTensorRelease(y);
	wnnTensorRelease(wide);
	wnnTensorRelease(foreign);
	wnnTensorRelease(gone);
}

static void constants_cannot_be_dispatched(void **state)
{
	struct fixture *f = *state;
	WNNContext context = f->context[0];
	WNNGraph graph = build_add_relu(context, 2, 2);
	WNNTensor y = make_tensor(context, 2, 2), constant = NULL;
	WNNOperandDescriptor wanted = WNN_OPERAND_DESCRIPTOR_INIT;
	uint32_t shape[] = { 2, 2 };
	float data[4] = { 0 };

	wanted.dataType = WNNOperandDataType_Float32;
	wanted.shape = WNN_UINT32_ARRAY(shape);
	assert_ok(wnnContextCreateConstantTensorSync(context, &wanted, data, sizeof(data), GENEROUS,
						     &constant));
	assert_failed(dispatch_xy(context, graph, constant, y), WNNStatus_TypeError, "constant");
	wnnTensorRelease(constant);
	wnnTensorRelease(y);
	wnnGraphRelease(graph);
}

/* Dispatches that were queued before the graph was destroyed still run. */
static void destroying_with_work_queued(void **state)
{
	struct fixture *f = *state;

	for (int d = 0; d < 2; d++) {
		WNNContext context = f->context[d];
		WNNGraph graph = build_add_relu(context, 32, 32);
		WNNTensor x = make_tensor(context, 32, 32), y = make_tensor(context, 32, 32);
		WNNTensor z = make_tensor(context, 32, 32);
		static float got[32 * 32];

		for (int i = 0; i < 20; i++) {
			assert_ok(dispatch_xy(context, graph, x, y));
			assert_ok(dispatch_xy(context, graph, y, z));
		}
		wnnGraphDestroy(graph);
		wnnGraphRelease(graph);
		wnnTensorDestroy(x);
		wnnTensorDestroy(y);
		assert_ok(wnnContextReadTensorIntoSync(context, z, got, sizeof(got), GENEROUS));
		assert_true(got[0] == 2 && got[32 * 32 - 1] == 2);
		assert_ok(wnnContextWaitIdle(context, GENEROUS));
		wnnTensorRelease(x);
		wnnTensorRelease(y);
		wnnTensorRelease(z);
	}
}

static void policies(void **state)
{
	struct fixture *f = *state;
	WNNContextDeviceOptions options = WNN_CONTEXT_DEVICE_OPTIONS_INIT;
	WNNGraphPlacement placement = WNN_GRAPH_PLACEMENT_INIT;
	WNNContext context;
	WNNGraph graph;

	options.device = WNN_STR("sim");
	options.placementPolicy = WNNPlacementPolicy_CPUOnly;
	context = open_context_with(f->instance, &options);
	graph = build_net(context);
	assert_ok(wnnGraphGetPlacement(graph, &placement));
	assert_int_equal(placement.npuCount, 0);
	assert_int_equal(placement.nodes[0].reason, WNNPlacementReason_CPUPolicy);
	wnnGraphRelease(graph);
	wnnContextRelease(context);
	options.placementPolicy = WNNPlacementPolicy_NPUOnly;
	context = open_context_with(f->instance, &options);
	graph = build_net(context);
	assert_ok(wnnGraphGetPlacement(graph, &placement));
	assert_int_equal(placement.cpuCount, 0);
	wnnGraphRelease(graph);
	wnnContextRelease(context);
}

/* A node without a tile that fits the NPU runs on the CPU; the build does not fail. */
static void wide_strides(void **state)
{
	struct fixture *f = *state;
	WNNContext context = f->context[1];
	WNNGraphBuilder b = wnnContextCreateGraphBuilder(context);
	WNNConvTranspose2dOptions options = WNN_CONV_TRANSPOSE2D_OPTIONS_INIT;
	WNNGraphPlacement placement = WNN_GRAPH_PLACEMENT_INIT;
	WNNTensor x = make_tensor(context, 1, 2), y = make_tensor(context, 1, 4098);
	const float filter[] = { 3 }, data[] = { 5, 7 };
	WNNOperand in = make_input(b, "x", 1, 2), out;
	static float got[4098];
	WNNGraph graph;

	options.strides = WNN_UINT32_LIST(1, 4097);
	out = wnnGraphBuilderConvTranspose2d(
		b, wnnGraphBuilderReshape(b, in, WNN_UINT32_LIST(1, 1, 1, 2), NULL),
		wnnGraphBuilderReshape(b, make_constant(b, filter, 1, 1),
				       WNN_UINT32_LIST(1, 1, 1, 1), NULL),
		&options);
	graph = build_one(b, "y", wnnGraphBuilderReshape(b, out, WNN_UINT32_LIST(1, 4098), NULL));
	wnnGraphBuilderRelease(b);
	assert_ok(wnnGraphGetPlacement(graph, &placement));
	assert_int_equal(placement.cpuCount, 1);
	for (size_t i = 0; i < placement.nodeCount; i++)
		if (placement.nodes[i].device == WNNNodeDevice_CPU)
			assert_int_equal(placement.nodes[i].reason, WNNPlacementReason_Size);
	assert_ok(wnnContextWriteTensor(context, x, data, sizeof(data)));
	assert_ok(dispatch_xy(context, graph, x, y));
	assert_ok(wnnContextReadTensorIntoSync(context, y, got, sizeof(got), GENEROUS));
	assert_true(got[0] == 15 && got[1] == 0 && got[4096] == 0 && got[4097] == 21);
	wnnTensorRelease(x);
	wnnTensorRelease(y);
	wnnGraphRelease(graph);
}

/* --- Threads --- */

struct worker {
	pthread_t thread;
	WNNContext context;
	WNNGraph graph;
	float base;
	bool right;
};

static bool work_once(struct worker *w, WNNTensor x, WNNTensor y, float value)
{
	float in[16], out[16];

	for (int i = 0; i < 16; i++)
		in[i] = value + (float)i;
	if (wnnContextWriteTensor(w->context, x, in, sizeof(in)) ||
	    dispatch_xy(w->context, w->graph, x, y) ||
	    wnnContextReadTensorIntoSync(w->context, y, out, sizeof(out), GENEROUS))
		return false;
	for (int i = 0; i < 16; i++)
		if (out[i] != (in[i] + 1 > 0 ? in[i] + 1 : 0))
			return false;
	return true;
}

static void *work(void *argument)
{
	struct worker *w = argument;
	WNNTensorDescriptor wanted = WNN_TENSOR_DESCRIPTOR_INIT;
	uint32_t shape[] = { 4, 4 };
	WNNTensor x = NULL, y = NULL;

	wanted.dataType = WNNOperandDataType_Float32;
	wanted.shape = WNN_UINT32_ARRAY(shape);
	wanted.readable = wanted.writable = WNN_TRUE;
	w->right = !wnnContextCreateTensorSync(w->context, &wanted, GENEROUS, &x) &&
		   !wnnContextCreateTensorSync(w->context, &wanted, GENEROUS, &y);
	for (int i = 0; i < 50 && w->right; i++)
		w->right = work_once(w, x, y, w->base + (float)i);
	wnnTensorRelease(x);
	wnnTensorRelease(y);
	return NULL;
}

static void several_threads(void **state)
{
	struct fixture *f = *state;

	for (int d = 0; d < 2; d++) {
		WNNGraph graph = build_add_relu(f->context[d], 4, 4);
		struct worker workers[4];

		for (int i = 0; i < 4; i++) {
			workers[i] = (struct worker){ .context = f->context[d],
						      .graph = graph,
						      .base = (float)(i * 1000 - 1500) };
			assert_int_equal(
				pthread_create(&workers[i].thread, NULL, work, &workers[i]), 0);
		}
		for (int i = 0; i < 4; i++) {
			pthread_join(workers[i].thread, NULL);
			assert_true(workers[i].right);
		}
		wnnGraphRelease(graph);
	}
}

/* Releases 50 tensors. Several threads do so while another thread destroys the context. */
static void *release_many(void *argument)
{
	WNNTensor *tensors = argument;

	for (int i = 0; i < 50; i++)
		wnnTensorRelease(tensors[i]);
	return NULL;
}

static void releases_from_several_threads(void **state)
{
	struct fixture *f = *state;
	WNNTensor tensors[4][50];
	pthread_t threads[4];

	for (int t = 0; t < 4; t++)
		for (int i = 0; i < 50; i++)
			tensors[t][i] = make_tensor(f->context[0], 1, 1);
	for (int t = 0; t < 4; t++)
		assert_int_equal(pthread_create(&threads[t], NULL, release_many, tensors[t]), 0);
	assert_ok(wnnContextWaitIdle(f->context[0], GENEROUS));
	wnnContextDestroy(f->context[0]);
	for (int t = 0; t < 4; t++)
		pthread_join(threads[t], NULL);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(a_network),
		TEST(many_in_flight),
		TEST(placement_and_statistics),
		TEST(rules_of_a_placement),
		TEST(texts),
		TEST(names),
		TEST(names_of_another_encoding),
		TEST(a_constant_graph),
		TEST(bad_dispatches),
		TEST(constants_cannot_be_dispatched),
		TEST(destroying_with_work_queued),
		TEST(policies),
		TEST(wide_strides),
		TEST(several_threads),
		TEST(releases_from_several_threads),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
