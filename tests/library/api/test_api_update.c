// SPDX-License-Identifier: MIT
/*
 * Tests outputs that update inputs in place: the cache of a language model, to which each dispatch
 * adds rows. The cache has HEADS heads of LENGTH positions with SIZE numbers.
 */
#include "fixture.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define HEADS  2
#define LENGTH 64
#define SIZE   8
#define CACHE  (HEADS * LENGTH * SIZE)
#define ROWS   (HEADS * SIZE) /* the numbers that a dispatch adds */

static const char *const devices[] = { "cpu", "sim" };

struct fixture {
	WNNInstance instance;
	WNNContext context;
	WNNGraphBuilder builder;
	WNNOperand cache, rows, place, stored, whole, sums;
};

static WNNOperand input(WNNGraphBuilder b, const char *name, WNNOperandDataType type, uint32_t rank,
			const uint32_t *shape)
{
	WNNOperandDescriptor descriptor = WNN_OPERAND_DESCRIPTOR_INIT;

	descriptor.dataType = type;
	descriptor.shape = (WNNUint32Array){ rank, shape };
	return wnnGraphBuilderInput(b, WNN_STR(name), &descriptor);
}

#define INPUT(b, name, type, ...)                                                          \
	input(b, name, WNNOperandDataType_##type, sizeof((uint32_t[]){ __VA_ARGS__ }) / 4, \
	      (uint32_t[]){ __VA_ARGS__ })

/*
 * Records a graph: whole[heads * length, size] is the cache with rows[heads, size] written at the
 * indices place[heads, 2], each a head and a position; sums[heads * length, 1] are sums over size.
 */
static void begin(struct fixture *f, const char *device)
{
	WNNReduceOptions reduce = WNN_REDUCE_OPTIONS_INIT;
	uint32_t parts[] = { HEADS, LENGTH, SIZE }, flat[] = { HEADS * LENGTH, SIZE },
		 axis[] = { 1 };
	WNNOperand cut;

	if (!f->instance)
		f->instance = wnnCreateInstance(NULL);
	f->context = open_context(f->instance, device);
	f->builder = wnnContextCreateGraphBuilder(f->context);
	f->cache = INPUT(f->builder, "cache", Float32, HEADS * LENGTH, SIZE);
	f->rows = INPUT(f->builder, "rows", Float32, HEADS, SIZE);
	f->place = INPUT(f->builder, "place", Int32, HEADS, 2);
	cut = wnnGraphBuilderReshape(f->builder, f->cache, WNN_UINT32_ARRAY(parts), NULL);
	f->stored = wnnGraphBuilderScatterND(f->builder, cut, f->place, f->rows, NULL);
	f->whole = wnnGraphBuilderReshape(f->builder, f->stored, WNN_UINT32_ARRAY(flat), NULL);
	reduce.axes = WNN_UINT32_ARRAY(axis);
	reduce.keepDimensions = true;
	f->sums = wnnGraphBuilderReduceSum(f->builder, f->whole, &reduce);
	assert_non_null(f->sums);
}

static WNNStatus build(const struct fixture *f, WNNGraph *graph)
{
	const WNNNamedOperand outputs[] = { { WNN_STR("whole"), f->whole },
					    { WNN_STR("sums"), f->sums } };

	return wnnGraphBuilderBuildSync(f->builder, 2, outputs, GENEROUS, graph);
}

static void end(struct fixture *f)
{
	wnnGraphBuilderRelease(f->builder);
	wnnContextRelease(f->context);
}

static WNNTensor make(WNNContext context, WNNOperandDataType type, uint32_t rows, uint32_t cols)
{
	WNNTensorDescriptor descriptor = WNN_TENSOR_DESCRIPTOR_INIT;
	uint32_t shape[] = { rows, cols };
	WNNTensor tensor = NULL;

	descriptor.dataType = type;
	descriptor.shape = WNN_UINT32_ARRAY(shape);
	descriptor.readable = descriptor.writable = true;
	assert_ok(wnnContextCreateTensorSync(context, &descriptor, GENEROUS, &tensor));
	return tensor;
}

/* Returns a tensor of the cache whose memory is @data. */
static WNNTensor lend(WNNContext context, float *data)
{
	WNNTensorDescriptor descriptor = WNN_TENSOR_DESCRIPTOR_INIT;
	WNNTensorHostMemory memory = WNN_TENSOR_HOST_MEMORY_INIT;
	WNNTensor tensor = NULL;

	memory.data = data;
	memory.size = CACHE * sizeof(*data);
	descriptor.nextInChain = &memory.chain;
	descriptor.dataType = WNNOperandDataType_Float32;
	descriptor.shape = WNN_UINT32_ARRAY(((uint32_t[]){ HEADS * LENGTH, SIZE }));
	descriptor.readable = descriptor.writable = true;
	assert_ok(wnnContextCreateTensorSync(context, &descriptor, GENEROUS, &tensor));
	return tensor;
}

struct tensors {
	WNNTensor cache, rows, place, sums;
	float want[CACHE]; /* what the cache must hold */
};

static void open_tensors(struct tensors *t, WNNContext context)
{
	t->cache = make(context, WNNOperandDataType_Float32, HEADS * LENGTH, SIZE);
	t->rows = make(context, WNNOperandDataType_Float32, HEADS, SIZE);
	t->place = make(context, WNNOperandDataType_Int32, HEADS, 2);
	t->sums = make(context, WNNOperandDataType_Float32, HEADS * LENGTH, 1);
	for (int i = 0; i < CACHE; i++)
		t->want[i] = (float)(i % 37);
	assert_ok(wnnContextWriteTensor(context, t->cache, t->want, sizeof(t->want)));
}

static void close_tensors(const struct tensors *t)
{
	wnnTensorRelease(t->cache);
	wnnTensorRelease(t->rows);
	wnnTensorRelease(t->place);
	wnnTensorRelease(t->sums);
}

/*
 * Writes new rows and their place @position to the input tensors, and dispatches with @whole as the
 * new cache; returns the status of the dispatch. Sets t->want to the cache's content after it.
 */
static WNNStatus add_rows(WNNContext context, WNNGraph graph, struct tensors *t, int32_t position,
			  WNNTensor whole)
{
	const WNNNamedTensor in[] = { { WNN_STR("cache"), t->cache },
				      { WNN_STR("rows"), t->rows },
				      { WNN_STR("place"), t->place } };
	const WNNNamedTensor out[] = { { WNN_STR("whole"), whole }, { WNN_STR("sums"), t->sums } };
	int32_t place[HEADS][2];
	float rows[ROWS];

	for (int h = 0; h < HEADS; h++) {
		place[h][0] = h;
		place[h][1] = position;
		for (int i = 0; i < SIZE; i++)
			t->want[(h * LENGTH + position) * SIZE + i] = rows[h * SIZE + i] =
				(float)(100 * position + 10 * h + i);
	}
	assert_ok(wnnContextWriteTensor(context, t->rows, rows, sizeof(rows)));
	assert_ok(wnnContextWriteTensor(context, t->place, place, sizeof(place)));
	return wnnContextDispatch(context, graph, 3, in, 2, out);
}

static void check(WNNContext context, const struct tensors *t, WNNTensor whole)
{
	float got[CACHE], sums[HEADS * LENGTH];

	assert_ok(wnnContextReadTensorIntoSync(context, whole, got, sizeof(got), GENEROUS));
	assert_memory_equal(got, t->want, sizeof(got));
	assert_ok(wnnContextReadTensorIntoSync(context, t->sums, sums, sizeof(sums), GENEROUS));
	for (int i = 0; i < HEADS * LENGTH; i++) {
		float sum = 0;

		for (int k = 0; k < SIZE; k++)
			sum += t->want[i * SIZE + k];
		assert_true(sums[i] == sum);
	}
}

/*
 * Checks that the NPU writes the rows and the sums, and nothing else; without an NPU, that the
 * statistics count no cycles of it.
 */
static void check_traffic(WNNGraph graph, bool npu)
{
	WNNGraphStatistics statistics = WNN_GRAPH_STATISTICS_INIT;

	assert_ok(wnnGraphGetLastStatistics(graph, &statistics));
	assert_int_equal(statistics.npuCycles != 0, npu);
	if (npu)
		assert_int_equal(statistics.bytesWritten, (ROWS + HEADS * LENGTH) * sizeof(float));
}

static void check_graph(WNNContext context, WNNGraph graph, bool npu)
{
	struct tensors t;
	WNNTensor other;

	open_tensors(&t, context);
	/* The second and third dispatch are queued while the first may still run. */
	for (int32_t position = 0; position < 3; position++)
		assert_ok(add_rows(context, graph, &t, position, t.cache));
	check(context, &t, t.cache);
	assert_ok(add_rows(context, graph, &t, LENGTH - 1, t.cache));
	check(context, &t, t.cache);
	check_traffic(graph, npu);
	/* When the output has a tensor of its own, the input keeps its data. */
	other = make(context, WNNOperandDataType_Float32, HEADS * LENGTH, SIZE);
	assert_ok(add_rows(context, graph, &t, 7, other));
	check(context, &t, other);
	for (int h = 0; h < HEADS; h++)
		for (int i = 0; i < SIZE; i++)
			t.want[(h * LENGTH + 7) * SIZE + i] =
				(float)(((h * LENGTH + 7) * SIZE + i) % 37);
	assert_ok(add_rows(context, graph, &t, 9, t.cache));
	check(context, &t, t.cache);
	wnnTensorRelease(other);
	close_tensors(&t);
}

static void rows_are_written_in_place(void **state)
{
	struct fixture f = { 0 };

	(void)state;
	for (int d = 0; d < 2; d++) {
		WNNGraph graph = NULL;

		begin(&f, devices[d]);
		assert_ok(wnnGraphBuilderUpdateInput(f.builder, f.cache, f.whole));
		assert_ok(build(&f, &graph));
		check_graph(f.context, graph, !strcmp(devices[d], "sim"));
		wnnGraphRelease(graph);
		end(&f);
	}
	wnnInstanceRelease(f.instance);
}

/* The application's memory is updated, too, also where the device works on a copy of it. */
static void memory_of_the_application(void **state)
{
	struct fixture f = { 0 };

	(void)state;
	for (int d = 0; d < 2; d++) {
		float memory[CACHE];
		WNNGraph graph = NULL;
		WNNTensor cache;
		struct tensors t;

		begin(&f, devices[d]);
		assert_ok(wnnGraphBuilderUpdateInput(f.builder, f.cache, f.whole));
		assert_ok(build(&f, &graph));
		open_tensors(&t, f.context);
		memcpy(memory, t.want, sizeof(memory));
		cache = t.cache;
		t.cache = lend(f.context, memory);
		for (int32_t position = 5; position < 8; position++)
			assert_ok(add_rows(f.context, graph, &t, position, t.cache));
		check(f.context, &t, t.cache);
		assert_memory_equal(memory, t.want, sizeof(memory));
		wnnTensorRelease(cache);
		close_tensors(&t);
		wnnGraphRelease(graph);
		end(&f);
	}
	wnnInstanceRelease(f.instance);
}

static void a_loaded_graph_updates(void **state)
{
	struct fixture f = { 0 };

	(void)state;
	for (int d = 0; d < 2; d++) {
		char path[] = "/tmp/test-api-update-XXXXXX";
		WNNGraph graph = NULL, loaded = NULL;
		int fd = mkstemp(path);

		assert_true(fd >= 0);
		close(fd);
		begin(&f, devices[d]);
		assert_ok(wnnGraphBuilderUpdateInput(f.builder, f.cache, f.whole));
		assert_ok(build(&f, &graph));
		assert_ok(wnnGraphSave(graph, WNN_STR(path)));
		assert_ok(wnnContextLoadGraphSync(f.context, WNN_STR(path), GENEROUS, &loaded));
		check_graph(f.context, loaded, !strcmp(devices[d], "sim"));
		wnnGraphRelease(graph);
		wnnGraphRelease(loaded);
		unlink(path);
		end(&f);
	}
	wnnInstanceRelease(f.instance);
}

/*
 * Two scatters, one after the other, update a cache of float16; another operator reads the result,
 * which is also an output. The CPU computes float16 in float32, but the cache stays float16.
 */
static void chains_of_halves(void **state)
{
	struct fixture f = { 0 };

	(void)state;
	for (int d = 0; d < 2; d++) {
		uint16_t halves[4][8], got[4][8];
		int32_t first[2] = { 0, 0 }, second[8] = { 3, 3, 3, 3, 3, 3, 3, 3 };
		WNNScatterOptions options = WNN_SCATTER_OPTIONS_INIT;
		uint32_t rows[] = { 4, 8 }, flat[] = { 2, 16 };
		WNNOperand cache, parts, one, two, x, y, z;
		WNNNamedTensor in[5], out[2];
		WNNNamedOperand outputs[2];
		WNNGraph graph = NULL;
		WNNTensor t;

		begin(&f, devices[d]);
		cache = INPUT(f.builder, "h", Float16, 2, 16);
		one = INPUT(f.builder, "i", Int32, 1, 2);
		two = INPUT(f.builder, "j", Int32, 1, 8);
		x = INPUT(f.builder, "x", Float16, 1);
		y = INPUT(f.builder, "y", Float16, 1, 8);
		parts = wnnGraphBuilderReshape(f.builder, cache, WNN_UINT32_ARRAY(rows), NULL);
		x = wnnGraphBuilderScatterND(f.builder, parts, one, x, NULL);
		options.axis = 0;
		y = wnnGraphBuilderScatterElements(f.builder, x, two, y, &options);
		z = wnnGraphBuilderMul(f.builder, y, y, NULL);
		y = wnnGraphBuilderReshape(f.builder, y, WNN_UINT32_ARRAY(flat), NULL);
		assert_non_null(y);
		assert_ok(wnnGraphBuilderUpdateInput(f.builder, cache, y));
		outputs[0] = (WNNNamedOperand){ WNN_STR("H"), y };
		outputs[1] = (WNNNamedOperand){ WNN_STR("z"), z };
		assert_ok(wnnGraphBuilderBuildSync(f.builder, 2, outputs, GENEROUS, &graph));
		for (int i = 0; i < 32; i++)
			halves[i / 8][i % 8] = 0x3c00; /* 1 */
		t = make(f.context, WNNOperandDataType_Float16, 2, 16);
		assert_ok(wnnContextWriteTensor(f.context, t, halves, sizeof(halves)));
		in[0] = out[0] = (WNNNamedTensor){ WNN_STR("h"), t };
		out[0].name = WNN_STR("H");
		in[1] = (WNNNamedTensor){ WNN_STR("i"),
					  make(f.context, WNNOperandDataType_Int32, 1, 2) };
		in[2] = (WNNNamedTensor){ WNN_STR("j"),
					  make(f.context, WNNOperandDataType_Int32, 1, 8) };
		in[4] = (WNNNamedTensor){ WNN_STR("y"),
					  make(f.context, WNNOperandDataType_Float16, 1, 8) };
		out[1] = (WNNNamedTensor){ WNN_STR("z"),
					   make(f.context, WNNOperandDataType_Float16, 4, 8) };
		{
			WNNTensorDescriptor descriptor = WNN_TENSOR_DESCRIPTOR_INIT;

			descriptor.dataType = WNNOperandDataType_Float16;
			descriptor.shape = WNN_UINT32_ARRAY(((uint32_t[]){ 1 }));
			descriptor.writable = true;
			in[3].name = WNN_STR("x");
			assert_ok(wnnContextCreateTensorSync(f.context, &descriptor, GENEROUS,
							     &in[3].tensor));
		}
		for (int i = 0; i < 8; i++)
			halves[0][i] = 0x4000; /* 2 */
		assert_ok(wnnContextWriteTensor(f.context, in[1].tensor, first, sizeof(first)));
		assert_ok(wnnContextWriteTensor(f.context, in[2].tensor, second, sizeof(second)));
		assert_ok(wnnContextWriteTensor(f.context, in[3].tensor, halves, 2));
		assert_ok(wnnContextWriteTensor(f.context, in[4].tensor, halves, 16));
		assert_ok(wnnContextDispatch(f.context, graph, 5, in, 2, out));
		assert_ok(wnnContextReadTensorIntoSync(f.context, t, got, sizeof(got), GENEROUS));
		for (int i = 0; i < 32; i++)
			assert_int_equal(got[i / 8][i % 8], !i || i >= 24 ? 0x4000 : 0x3c00);
		assert_ok(wnnContextReadTensorIntoSync(f.context, out[1].tensor, got, sizeof(got),
						       GENEROUS));
		for (int i = 0; i < 32; i++)
			assert_int_equal(got[i / 8][i % 8], !i || i >= 24 ? 0x4400 : 0x3c00);
		for (int i = 0; i < 5; i++)
			wnnTensorRelease(in[i].tensor);
		wnnTensorRelease(out[1].tensor);
		wnnGraphRelease(graph);
		end(&f);
	}
	wnnInstanceRelease(f.instance);
}

/* ---- refusals */

static void what_cannot_be_an_update(void **state)
{
	struct fixture f = { 0 };
	WNNGraphBuilder b;
	WNNOperand other, wide;

	(void)state;
	begin(&f, "cpu");
	b = f.builder;
	other = INPUT(b, "other", Float32, HEADS * LENGTH, SIZE);
	assert_failed(wnnGraphBuilderUpdateInput(b, NULL, f.whole), WNNStatus_TypeError,
		      "updateInput: input is NULL");
	assert_failed(wnnGraphBuilderUpdateInput(b, f.cache, NULL), WNNStatus_TypeError,
		      "updateInput: output is NULL");
	assert_failed(wnnGraphBuilderUpdateInput(b, f.stored, f.whole), WNNStatus_TypeError,
		      "input is the result of an operator; it must be an input of the graph");
	assert_failed(wnnGraphBuilderUpdateInput(b, f.cache, f.stored), WNNStatus_TypeError,
		      "updateInput of \"cache\": output is float32[2,64,8], and the input is "
		      "float32[128,8]; both must be equal");
	assert_failed(wnnGraphBuilderUpdateInput(b, other, f.whole), WNNStatus_TypeError,
		      "updateInput of \"other\": the new value is made of another input or of a "
		      "constant");
	wide = wnnGraphBuilderRelu(b, f.whole, NULL);
	assert_failed(wnnGraphBuilderUpdateInput(b, f.cache, wide), WNNStatus_TypeError,
		      "the new value is made of a result of relu; only scatterElements");
	assert_failed(wnnGraphBuilderUpdateInput(b, f.cache,
						 wnnGraphBuilderIdentity(b, f.cache, NULL)),
		      WNNStatus_TypeError, "no scatterElements or scatterND changes the input");
	assert_ok(wnnGraphBuilderUpdateInput(b, f.cache, f.whole));
	assert_failed(wnnGraphBuilderUpdateInput(b, f.cache, f.whole), WNNStatus_TypeError,
		      "the input has an update already");
	end(&f);
	wnnInstanceRelease(f.instance);
}

static void what_reads_the_old_value(void **state)
{
	struct fixture f = { 0 };
	WNNGraph graph = NULL;
	WNNOperand sums, twice;

	(void)state;
	begin(&f, "cpu");
	twice = wnnGraphBuilderScatterND(f.builder, f.stored, f.place, f.rows, NULL);
	twice = wnnGraphBuilderReshape(
		f.builder, twice, WNN_UINT32_ARRAY(((uint32_t[]){ HEADS * LENGTH, SIZE })), NULL);
	assert_ok(wnnGraphBuilderUpdateInput(f.builder, f.cache, twice));
	sums = f.sums;
	f.whole = twice;
	assert_failed(build(&f, &graph), WNNStatus_TypeError,
		      "another operator reads the value that scatterND overwrites, or it is an "
		      "output; only the new value can be read");
	f.sums = wnnGraphBuilderAdd(f.builder, f.cache, twice, NULL);
	assert_failed(build(&f, &graph), WNNStatus_TypeError,
		      "the update of input \"cache\": another operator reads the input that "
		      "scatterND overwrites");
	f.whole = sums;
	assert_failed(build(&f, &graph), WNNStatus_TypeError,
		      "the update of input \"cache\" is no output of the graph");
	end(&f);
	wnnInstanceRelease(f.instance);
}

/* Unless the builder declares the update, one tensor cannot be both input and output. */
static void an_update_is_declared(void **state)
{
	struct fixture f = { 0 };
	WNNGraph graph = NULL;
	struct tensors t;

	(void)state;
	begin(&f, "cpu");
	assert_ok(build(&f, &graph));
	assert_failed(wnnGraphBuilderUpdateInput(f.builder, f.cache, f.whole),
		      WNNStatus_InvalidStateError, "");
	open_tensors(&t, f.context);
	assert_failed(add_rows(f.context, graph, &t, 1, t.cache), WNNStatus_TypeError,
		      "given twice, as input \"cache\" and as output \"whole\"; only an output "
		      "that updates an input in place may have its tensor");
	close_tensors(&t);
	wnnGraphRelease(graph);
	end(&f);
	wnnInstanceRelease(f.instance);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(rows_are_written_in_place),
		cmocka_unit_test(memory_of_the_application),
		cmocka_unit_test(a_loaded_graph_updates),
		cmocka_unit_test(chains_of_halves),
		cmocka_unit_test(what_cannot_be_an_update),
		cmocka_unit_test(what_reads_the_old_value),
		cmocka_unit_test(an_update_is_declared),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
