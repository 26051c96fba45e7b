// SPDX-License-Identifier: MIT
/*
 * Tests random graphs that update a cache in place, which other operators read in many ways: the
 * results are the bits of graphs that write the new cache to other memory.
 */
#include "fixture.h"

#include <stdlib.h>
#include <string.h>

#include "../../random.h"

#define GRAPHS 60
#define MOST   4096 /* no input or output has more elements */

static WNNOperand input(WNNGraphBuilder b, const char *name, WNNOperandDataType type, uint32_t rows,
			uint32_t columns)
{
	WNNOperandDescriptor descriptor = WNN_OPERAND_DESCRIPTOR_INIT;
	uint32_t shape[] = { rows, columns };

	descriptor.dataType = type;
	descriptor.shape = WNN_UINT32_ARRAY(shape);
	return wnnGraphBuilderInput(b, WNN_STR(name), &descriptor);
}

static WNNOperand draw_reader(struct rng *rng, WNNGraphBuilder b, WNNOperand x, uint32_t rows,
			      uint32_t columns)
{
	WNNReduceOptions reduce = WNN_REDUCE_OPTIONS_INIT;
	uint32_t half = rows / 2 + 1, from[] = { rows - half, 0 }, size[] = { half, columns };
	uint32_t turned[] = { columns, rows }, axis[] = { 1 };
	WNNOperand other;

	switch (rng_below(rng, 7)) {
	case 0:
		reduce.axes = WNN_UINT32_ARRAY(axis);
		return wnnGraphBuilderReduceSum(b, x, &reduce);
	case 1:
		other = wnnGraphBuilderTranspose(b, x, NULL);
		return wnnGraphBuilderMatmul(b, x, other, NULL);
	case 2:
		other = wnnGraphBuilderSlice(b, x, WNN_UINT32_ARRAY(from), WNN_UINT32_ARRAY(size),
					     NULL);
		return wnnGraphBuilderMatmul(b, x, wnnGraphBuilderTranspose(b, other, NULL), NULL);
	case 3:
		return wnnGraphBuilderSoftmax(b, x, 1, NULL);
	case 4:
		other = wnnGraphBuilderSigmoid(b, x, NULL);
		return wnnGraphBuilderConcat(b, 2, (WNNOperand[]){ x, other }, 0, NULL);
	case 5:
		return wnnGraphBuilderNeg(
			b, wnnGraphBuilderReshape(b, x, WNN_UINT32_ARRAY(turned), NULL), NULL);
	default:
		return wnnGraphBuilderIdentity(b, wnnGraphBuilderTranspose(b, x, NULL), NULL);
	}
}

/*
 * Adds a scatter of 1 to 4 rows to x, now and then between two reshapes that undo each other;
 * returns the new value of x.
 */
static WNNOperand draw_scatter(struct rng *rng, WNNGraphBuilder b, WNNOperand x, int number,
			       uint32_t rows, uint32_t columns)
{
	WNNScatterOptions options = WNN_SCATTER_OPTIONS_INIT;
	uint32_t count = (uint32_t)rng_between(rng, 1, rows < 4 ? rows : 4);
	uint32_t blocks[] = { rows, columns / 2, 2 }, flat[] = { rows, columns };
	WNNOperand update =
		input(b, number ? "u1" : "u0", WNNOperandDataType_Float32, count, columns);
	bool elements = rng_below(rng, 2), cut = !elements && columns % 2 == 0;
	WNNOperand place = input(b, number ? "p1" : "p0", WNNOperandDataType_Int32, count,
				 elements ? columns : 1);

	options.axis = 0;
	if (elements)
		return wnnGraphBuilderScatterElements(b, x, place, update, &options);
	if (cut) {
		uint32_t parts[] = { count, columns / 2, 2 };

		x = wnnGraphBuilderReshape(b, x, WNN_UINT32_ARRAY(blocks), NULL);
		update = wnnGraphBuilderReshape(b, update, WNN_UINT32_ARRAY(parts), NULL);
	}
	x = wnnGraphBuilderScatterND(b, x, place, update, NULL);
	return cut ? wnnGraphBuilderReshape(b, x, WNN_UINT32_ARRAY(flat), NULL) : x;
}

/* Returns the built graph of a seed; with @declared, the builder declares the update in place. */
static WNNGraph draw_graph(WNNContext context, uint64_t seed, bool declared)
{
	static const char *const names[] = { "r0", "r1", "r2" };
	struct rng rng = { seed };
	WNNGraphBuilder b = wnnContextCreateGraphBuilder(context);
	uint32_t rows = (uint32_t)rng_between(&rng, 1, 40);
	uint32_t columns = (uint32_t)rng_between(&rng, 1, 50);
	WNNOperand old = input(b, "cache", WNNOperandDataType_Float32, rows, columns), x = old;
	int scatters = (int)rng_between(&rng, 1, 2), readers = (int)rng_between(&rng, 0, 3);
	WNNNamedOperand outputs[4];
	WNNGraph graph = NULL;

	for (int i = 0; i < scatters; i++)
		x = draw_scatter(&rng, b, x, i, rows, columns);
	for (int i = 0; i < readers; i++)
		outputs[1 + i] = (WNNNamedOperand){ WNN_STR(names[i]),
						    draw_reader(&rng, b, x, rows, columns) };
	outputs[0] = (WNNNamedOperand){ WNN_STR("whole"), x };
	if (declared)
		assert_ok(wnnGraphBuilderUpdateInput(b, old, x));
	assert_ok(wnnGraphBuilderBuildSync(b, (size_t)readers + 1, outputs, GENEROUS, &graph));
	wnnGraphBuilderRelease(b);
	return graph;
}

static WNNTensor make(WNNContext context, const WNNNamedOperandDescriptor *like)
{
	WNNTensorDescriptor descriptor = WNN_TENSOR_DESCRIPTOR_INIT;
	WNNTensor tensor = NULL;

	descriptor.dataType = like->dataType;
	descriptor.shape = like->shape;
	descriptor.readable = descriptor.writable = true;
	assert_ok(wnnContextCreateTensorSync(context, &descriptor, GENEROUS, &tensor));
	return tensor;
}

static size_t elements(const WNNNamedOperandDescriptor *item)
{
	size_t count = 1;

	for (size_t i = 0; i < item->shape.count; i++)
		count *= item->shape.data[i];
	assert_in_range(count, 1, MOST);
	return count;
}

/* Writes random numbers to a tensor of float32, or random indices below @rows to one of int32. */
static void fill(WNNContext context, struct rng *rng, WNNTensor tensor,
		 const WNNNamedOperandDescriptor *item, uint32_t rows)
{
	static union {
		float f32[MOST];
		int32_t i32[MOST];
	} data;
	size_t count = elements(item);

	for (size_t i = 0; i < count; i++)
		if (item->dataType == WNNOperandDataType_Int32)
			data.i32[i] = (int32_t)rng_below(rng, rows);
		else
			data.f32[i] = (float)rng_between(rng, -64, 64) / 16;
	assert_ok(wnnContextWriteTensor(context, tensor, &data, count * 4));
}

static bool is(const WNNNamedOperandDescriptor *item, const char *name)
{
	return item->name.length == strlen(name) &&
	       !memcmp(item->name.data, name, item->name.length);
}

struct results {
	float data[2][4][MOST]; /* by dispatch and output */
};

/*
 * Dispatches the graph twice. The second dispatch reads the cache that the first one has written,
 * and new values of all other inputs. With @in_place, one tensor is both the old and the new cache.
 * Stores all outputs in *r.
 */
static void run(WNNContext context, WNNGraph graph, uint64_t seed, bool in_place, struct results *r)
{
	WNNNamedOperandDescriptorArray ins = wnnGraphGetInputs(graph);
	WNNNamedOperandDescriptorArray outs = wnnGraphGetOutputs(graph);
	WNNNamedTensor in[8], out[4], *cache = NULL, *whole = NULL;
	struct rng rng = { seed + 1 };

	memset(r, 0, sizeof(*r));
	for (size_t i = 0; i < ins.count; i++) {
		in[i] = (WNNNamedTensor){ ins.data[i].name, make(context, &ins.data[i]) };
		if (!is(&ins.data[i], "cache"))
			continue;
		cache = &in[i];
		fill(context, &rng, in[i].tensor, &ins.data[i], 0);
	}
	for (size_t i = 0; i < outs.count; i++) {
		out[i] = (WNNNamedTensor){ outs.data[i].name, make(context, &outs.data[i]) };
		if (is(&outs.data[i], "whole"))
			whole = &out[i];
	}
	assert_true(cache && whole);
	if (in_place) {
		wnnTensorRelease(whole->tensor);
		whole->tensor = cache->tensor;
	}
	for (int step = 0; step < 2; step++) {
		WNNTensor old = cache->tensor;

		for (size_t i = 0; i < ins.count; i++)
			if (&in[i] != cache)
				fill(context, &rng, in[i].tensor, &ins.data[i],
				     ins.data[0].shape.data[0]);
		assert_ok(wnnContextDispatch(context, graph, ins.count, in, outs.count, out));
		for (size_t i = 0; i < outs.count; i++)
			assert_ok(wnnContextReadTensorIntoSync(
				context, out[i].tensor, r->data[step][i],
				elements(&outs.data[i]) * 4, GENEROUS));
		cache->tensor = whole->tensor;
		whole->tensor = old;
	}
	for (size_t i = 0; i < ins.count; i++)
		wnnTensorRelease(in[i].tensor);
	for (size_t i = 0; i < outs.count; i++)
		if (!in_place || &out[i] != whole)
			wnnTensorRelease(out[i].tensor);
}

static void updates_have_the_same_bits(void **state)
{
	static const char *const devices[] = { "cpu", "sim" };
	static struct results want, got;

	(void)state;
	for (int d = 0; d < 2; d++) {
		WNNInstance instance = wnnCreateInstance(NULL);
		WNNContext context = open_context(instance, devices[d]);

		for (uint64_t seed = 0; seed < GRAPHS; seed++) {
			WNNGraph plain = draw_graph(context, seed, false);
			WNNGraph updating = draw_graph(context, seed, true);

			run(context, plain, seed, false, &want);
			for (int in_place = 0; in_place < 2; in_place++) {
				run(context, updating, seed, in_place, &got);
				if (memcmp(&got, &want, sizeof(got)))
					fail_msg("graph %d on %s%s", (int)seed, devices[d],
						 in_place ? " in place" : "");
			}
			wnnGraphRelease(plain);
			wnnGraphRelease(updating);
		}
		wnnContextRelease(context);
		wnnInstanceRelease(instance);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(updates_have_the_same_bits),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
