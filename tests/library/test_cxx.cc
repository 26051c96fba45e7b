// SPDX-License-Identifier: MIT
/* Uses webnn.hpp as an application does: references, errors, callbacks, a graph that runs. */
#include <webnn/webnn.hpp>

#include <cmath>
#include <cstdio>
#include <cstdlib>

#define CHECK(condition)                                                                     \
	do {                                                                                 \
		if (!(condition)) {                                                          \
			std::fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition); \
			std::exit(1);                                                        \
		}                                                                            \
	} while (0)

template <typename F> static void check_throws(WNNStatus status, const char *text, F call)
{
	try {
		call();
	} catch (const wnn::Error &error) {
		CHECK(error.status() == status);
		CHECK(std::string(error.what()).find(text) != std::string::npos);
		return;
	}
	CHECK(!"an exception was thrown");
}

static wnn::Graph build(const wnn::Context &context)
{
	const WNNOperandDataType f32 = WNNOperandDataType_Float32;
	wnn::GraphBuilder b(context);
	wnn::Conv2dOptions conv;
	wnn::ClampOptions clamp;

	conv.strides = { 2, 2 };
	conv.label = "stem";
	clamp.maxValue = 30;
	auto x = b.input("x", { f32, { 1, 1, 4, 4 } });
	auto w = b.constant({ f32, { 1, 1, 2, 2 } }, std::vector<float>(4, 1));
	auto y = b.clamp(b.conv2d(x, w, conv), clamp);
	const wnn::Uint32List shape = y.shape();
	CHECK(WNNUint32Array(shape).count == 4);
	auto halves = b.split(y, 2, [] {
		wnn::SplitOptions o;
		o.axis = 3;
		return o;
	}());
	CHECK(halves.size() == 2);
	auto sum = b.add(halves[0], b.mul(halves[1], b.constant(f32, 2.0)));
	return b.build({ { "sum", sum }, { "y", b.concat({ halves[1], halves[0] }, 3) } });
}

static wnn::TensorHostMemory lent_memory(float *data, size_t count)
{
	wnn::TensorHostMemory memory;

	memory.data = data;
	memory.size = count * sizeof(float);
	return memory;
}

static void run(wnn::Context &context)
{
	const WNNOperandDataType f32 = WNNOperandDataType_Float32;
	wnn::Graph graph = build(context);
	wnn::Tensor x = context.createTensor({ f32, { 1, 1, 4, 4 } });
	wnn::Tensor sum = context.createTensor({ f32, { 1, 1, 2, 1 } });
	wnn::Tensor y = context.createTensor({ f32, { 1, 1, 2, 2 } });
	std::vector<float> data(16);

	for (int i = 0; i < 16; i++)
		data[static_cast<size_t>(i)] = static_cast<float>(i);
	context.writeTensor(x, data);
	context.dispatch(graph, { { "x", x } }, { { "sum", sum }, { "y", y } });
	/* Windows: 10, 18, 42 (cut to 30), 50 (cut to 30). */
	CHECK((context.readTensor<float>(sum) == std::vector<float>{ 46, 90 }));
	CHECK((context.readTensor<float>(y) == std::vector<float>{ 18, 10, 30, 30 }));
	CHECK(context.readTensor<std::byte>(y).size() == 4 * sizeof(float));
	check_throws(WNNStatus_TypeError, "readTensor: the tensor holds float32",
		     [&] { context.readTensor<int32_t>(y); });
	check_throws(WNNStatus_TypeError, "elements of 8 bytes",
		     [&] { context.readTensor<double>(y); });
	check_throws(WNNStatus_TypeError, "writeTensor: the tensor holds float32",
		     [&] { context.writeTensor(x, std::vector<uint16_t>(32)); });
	float *mapped = static_cast<float *>(context.mapTensor(y, WNNMapMode_Read));
	CHECK(mapped[0] == 18);
	y.unmap();
	CHECK(graph.lastStatistics().dispatchCount == 1);
	WNNDispatchStatistics cost =
		context.dispatchMeasured(graph, { { "x", x } }, { { "sum", sum }, { "y", y } });
	CHECK(cost.number == 2 && cost.npuNodes + cost.cpuNodes > 0);
	check_throws(WNNStatus_TypeError, "the file descriptor 0",
		     [&] { context.waitSyncFile(0); });
	check_throws(WNNStatus_TypeError, "WNNTensorDmaBuf", [&] { y.exportDmaBuf(); });
	check_throws(WNNStatus_TypeError, "was not made with WNNTensorHostMemory",
		     [&] { y.setHostMemory(lent_memory(data.data(), data.size())); });
	wnn::TensorHostMemory memory = lent_memory(data.data(), data.size());
	wnn::TensorDescriptor lying(WNNOperandDataType_Float32, x.shape());
	lying.nextInChain = &memory.chain;
	wnn::Tensor lent = context.createTensor(lying);
	std::vector<float> later(data.rbegin(), data.rend());
	lent.setHostMemory(lent_memory(later.data(), later.size()));
	CHECK(context.readTensor<float>(lent) == later);
	CHECK(!graph.text(WNNGraphText_Nodes).empty());
	wnn::Graph again = graph;
	graph = wnn::Graph();
	CHECK(!graph && again.nodeCount() > 0);
	check_throws(WNNStatus_TypeError, "no input \"z\"", [&] {
		context.dispatch(again, { { "z", x } }, { { "sum", sum }, { "y", y } });
	});
}

/* Tests which kind of WNNNumber each type of C++ becomes. */
static void numbers()
{
	CHECK(wnn::Number(-1).kind == WNNNumberKind_Int64 && wnn::Number(-1).int64Value == -1);
	CHECK(wnn::Number(7u).kind == WNNNumberKind_Uint64 && wnn::Number(7u).uint64Value == 7);
	CHECK(wnn::Number(INT64_MIN).int64Value == INT64_MIN);
	CHECK(wnn::Number(-2LL).int64Value == -2);
	CHECK(wnn::Number(~0ULL).uint64Value == UINT64_MAX);
	CHECK(wnn::Number(1.5f).kind == WNNNumberKind_Double &&
	      wnn::Number(1.5f).doubleValue == 1.5);
	CHECK(wnn::Number(WNN_NUMBER_INIT).kind == WNNNumberKind_None);
}

/* Tests options as the C API gets them: absent, empty and given lists, and texts of all kinds. */
static void options()
{
	const wnn::Uint32List list = { 3, 4 };
	const std::string text = "from a string";
	wnn::ReduceOptions reduce;
	wnn::GemmOptions gemm;

	CHECK(!reduce.get().axes.data && !reduce.get().label.length);
	reduce.axes = {};
	CHECK(reduce.get().axes.data && !reduce.get().axes.count);
	reduce.axes = { 1, 2 };
	CHECK(reduce.get().axes.count == 2 && reduce.get().axes.data[1] == 2);
	reduce.axes = list;
	CHECK(reduce.get().axes.data[0] == 3);
	reduce.axes = std::vector<uint32_t>{ 7 };
	CHECK(reduce.get().axes.count == 1 && reduce.get().axes.data[0] == 7);
	reduce.axes = WNNUint32Array{ 0, nullptr };
	CHECK(!reduce.get().axes.data);
	reduce.label = text;
	CHECK(wnn::string(reduce.get().label) == text);
	reduce.label = std::string_view(text).substr(5, 1);
	CHECK(wnn::string(reduce.get().label) == "a");
	reduce.label = WNN_STR("c");
	CHECK(wnn::string(reduce.get().label) == "c");
	/* A copy keeps its own label. */
	wnn::ReduceOptions copy = reduce;
	reduce = {};
	CHECK(wnn::string(copy.get().label) == "c" && !reduce.get().label.length);
	CHECK(gemm.get().alpha == 1 && !gemm.get().c && !gemm.get().bTranspose);
	gemm.bTranspose = true;
	CHECK(gemm.get().bTranspose);
	CHECK(wnn::PadOptions().get().value.kind == WNNNumberKind_Double);
}

static void errors(wnn::Context &context)
{
	const WNNOperandDataType f32 = WNNOperandDataType_Float32;
	wnn::GraphBuilder b(context);
	auto x = b.input("x", { f32, { 2, 3 } });

	check_throws(WNNStatus_TypeError, "matmul", [&] { b.matmul(x, x); });
	check_throws(WNNStatus_TypeError, "constant: the descriptor says float32",
		     [&] { b.constant({ f32, { 2 } }, std::vector<int32_t>(2)); });
	check_throws(WNNStatus_TypeError, "constant",
		     [&] { b.constant({ f32, { 3 } }, std::vector<float>(2)); });
	check_throws(WNNStatus_TypeError, "exists already", [&] { b.input("x", { f32, {} }); });
	check_throws(WNNStatus_TypeError, "at least one output", [&] { b.build({}); });
	check_throws(WNNStatus_TypeError, "split", [&] { b.split(x, wnn::Uint32List{ 1, 2 }); });
	check_throws(WNNStatus_TypeError, "0 parts", [&] { b.split(x, wnn::Uint32List{}); });
	check_throws(WNNStatus_TypeError, "0 parts", [&] { b.split(x, 0); });
	/* The call is refused before it allocates memory for so many results. */
	check_throws(WNNStatus_TypeError, "at most 8192", [&] { b.split(x, UINT32_MAX); });
}

static void callbacks(wnn::Instance &instance)
{
	int made = 0, built = 0, lost = 0;
	wnn::ContextOptions options;
	wnn::ContextDeviceOptions device;
	wnn::Context context;

	device.device = wnn::view("cpu");
	options.nextInChain = &device.chain;
	WNNFuture future = instance.createContext(options, WNNCallbackMode_AllowProcessEvents,
						  [&](wnn::Result result, wnn::Context c) {
							  made += static_cast<bool>(result);
							  context = std::move(c);
						  });
	CHECK(instance.wait(future));
	CHECK(made == 1 && context && !context.accelerated());
	wnn::GraphBuilder b(context);
	auto y = b.relu(b.input("x", { WNNOperandDataType_Float32, { 3 } }));
	future = b.build({ { "y", y } }, WNNCallbackMode_WaitAnyOnly,
			 [&](wnn::Result result, wnn::Graph graph) {
				 built += result && graph.nodeCount() == 1;
			 });
	CHECK(instance.wait(future) && built == 1);
	future = context.lost(WNNCallbackMode_AllowProcessEvents, [&](wnn::Result result) {
		lost += result.message.find("wnnContextDestroy") != std::string::npos;
	});
	CHECK(!instance.wait(future, 0));
	context.destroy();
	CHECK(instance.wait(future) && lost == 1);
	check_throws(WNNStatus_InvalidStateError, "lost", [&] { wnn::GraphBuilder late(context); });
}

static void tensors_with_callbacks(wnn::Instance &instance)
{
	const WNNOperandDataType f32 = WNNOperandDataType_Float32;
	const WNNCallbackMode mode = WNNCallbackMode_WaitAnyOnly;
	const float data[] = { 3, 5 };
	wnn::Context context = instance.createContext("cpu");
	wnn::Tensor tensor, constant;
	float got[2] = {}, sum = 0;
	int done = 0;

	CHECK(instance.wait(context.createTensor({ f32, { 2 } }, mode,
						 [&](wnn::Result result, wnn::Tensor made) {
							 CHECK(result);
							 tensor = std::move(made);
						 })));
	CHECK(instance.wait(context.createConstantTensor({ f32, { 2 } }, data, sizeof(data), mode,
							 [&](wnn::Result result, wnn::Tensor made) {
								 CHECK(result);
								 constant = std::move(made);
							 })));
	CHECK(constant.constant() && !tensor.constant());
	context.writeTensor(tensor, data, sizeof(data));
	CHECK(instance.wait(context.readTensor(tensor, got, sizeof(got), mode,
					       [&](wnn::Result result) { done += !!result; })));
	CHECK(done == 1 && got[1] == 5);
	CHECK(instance.wait(context.readTensor(
		tensor, mode, [&](wnn::Result result, const void *read, size_t size) {
			CHECK(result && size == sizeof(data));
			sum = static_cast<const float *>(read)[0] +
			      static_cast<const float *>(read)[1];
		})));
	CHECK(sum == 8);
	CHECK(instance.wait(context.mapTensor(
		tensor, WNNMapMode_Read, mode, [&](wnn::Result result, void *map, size_t size) {
			CHECK(result && size == sizeof(data) && static_cast<float *>(map)[0] == 3);
			tensor.unmap();
		})));
	/*
	 * A call that fails reports to its callback; a call with an invalid callback mode throws.
	 */
	CHECK(instance.wait(context.readTensor(constant, mode,
					       [&](wnn::Result result, const void *read, size_t) {
						       CHECK(result.status == WNNStatus_TypeError &&
							     !read && !result.message.empty());
						       done++;
					       })));
	CHECK(done == 2);
	check_throws(WNNStatus_TypeError, "mode", [&] {
		context.readTensor(tensor, static_cast<WNNCallbackMode>(77),
				   [](wnn::Result, const void *, size_t) {});
	});
	CHECK(instance.devices()->count > 0 && instance.eventFd() >= 0);
}

static void profiles(wnn::Instance &instance)
{
	wnn::ContextOptions options;
	wnn::ContextDeviceOptions device;

	device.device = wnn::view("sim");
	device.profile = true;
	options.nextInChain = &device.chain;
	wnn::Context context = instance.createContext(options);
	wnn::Graph graph = build(context);
	wnn::Tensor x = context.createTensor({ WNNOperandDataType_Float32, { 1, 1, 4, 4 } });
	wnn::Tensor sum = context.createTensor({ WNNOperandDataType_Float32, { 1, 1, 2, 1 } });
	wnn::Tensor y = context.createTensor({ WNNOperandDataType_Float32, { 1, 1, 2, 2 } });

	check_throws(WNNStatus_InvalidStateError, "no dispatch", [&] { graph.profile(); });
	context.dispatch(graph, { { "x", x } }, { { "sum", sum }, { "y", y } });
	context.waitIdle();
	auto profile = graph.profile();
	CHECK(profile->nodeCount > 0 && profile->memory.eventCount == profile->eventCount);
	CHECK(profile->memory.events[0].bytesRead + profile->memory.events[1].bytesRead > 0);
}

int main()
{
	wnn::Instance instance;

	for (const char *name : { "cpu", "sim" }) {
		wnn::Context context = instance.createContext(name);

		CHECK(wnn::string(context.deviceInfo().device) == name);
		CHECK(context.opSupportLimits().relu.input.dataTypes != 0);
		run(context);
		errors(context);
	}
	numbers();
	options();
	callbacks(instance);
	tensors_with_callbacks(instance);
	profiles(instance);
	check_throws(WNNStatus_NotSupportedError, "tpu", [&] { instance.createContext("tpu"); });
	return 0;
}
