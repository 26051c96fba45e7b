// SPDX-License-Identifier: MIT
/*
 * Compares random graphs on the device with ggml's own back end for the processor: the mean square
 * of the difference is at most 5e-4 of that of the result, as in ggml's tests. Each graph runs with
 * two sets of operands; the second run finds the graph of WebNN that the first one built.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../random.h"
#include "cases.h"

#define BOUND 5e-4

/* Returns random values for a leaf of floats, in memory that the caller frees. */
static float *make_floats(const struct leaf *leaf, struct rng *rng)
{
	int64_t count = gg.ggml_nelements(leaf->tensor);
	float *numbers = malloc((size_t)count * sizeof(*numbers));

	for (int64_t i = 0; i < count; i++) {
		switch (leaf->fill) {
		case FILL_POSITIVE:
			numbers[i] = (float)rng_real(rng, 0.1, 2);
			break;
		case FILL_MASK:
			numbers[i] = i % leaf->tensor->ne[0] && rng_below(rng, 3) == 0 ? -INFINITY :
											 0;
			break;
		default:
			numbers[i] = (float)rng_real(rng, -1, 1);
		}
	}
	return numbers;
}

static void fill_integers(const struct leaf *leaf, struct rng *rng)
{
	int64_t count = gg.ggml_nelements(leaf->tensor), longs[64];
	int32_t ints[64];

	for (int64_t i = 0; i < count; i++) {
		bool is_new;

		do {
			longs[i] = (int64_t)rng_below(rng, (uint64_t)leaf->limit);
			is_new = true;
			for (int64_t j = 0; leaf->fill == FILL_DISTINCT && j < i; j++)
				is_new &= longs[j] != longs[i];
		} while (!is_new);
		ints[i] = (int32_t)longs[i];
	}
	gg.ggml_backend_tensor_set(leaf->tensor,
				   leaf->fill == FILL_ROWS ? (void *)ints : (void *)longs, 0,
				   gg.ggml_nbytes(leaf->tensor));
}

static void fill(const struct leaf *leaf, struct rng *rng)
{
	struct gg_tensor *tensor = leaf->tensor;
	int64_t count = gg.ggml_nelements(tensor);
	void *bytes;
	float *numbers;

	if (leaf->fill == FILL_ROWS || leaf->fill == FILL_DISTINCT) {
		fill_integers(leaf, rng);
		return;
	}
	numbers = make_floats(leaf, rng);
	bytes = malloc(gg.ggml_nbytes(tensor));
	if (!strcmp(gg.ggml_type_name(tensor->type), "f32"))
		memcpy(bytes, numbers, gg.ggml_nbytes(tensor));
	else if (!strcmp(gg.ggml_type_name(tensor->type), "f16"))
		gg.ggml_fp32_to_fp16_row(numbers, bytes, count);
	else
		gg.ggml_quantize_chunk(tensor->type, numbers, bytes, 0, count / tensor->ne[0],
				       tensor->ne[0], NULL);
	gg.ggml_backend_tensor_set(tensor, bytes, 0, gg.ggml_nbytes(tensor));
	free(bytes);
	free(numbers);
}

static void read_result(const struct gg_tensor *tensor, float *to)
{
	int64_t count = gg.ggml_nelements(tensor);
	void *bytes = malloc(gg.ggml_nbytes(tensor));

	gg.ggml_backend_tensor_get(tensor, bytes, 0, gg.ggml_nbytes(tensor));
	if (!strcmp(gg.ggml_type_name(tensor->type), "f16"))
		gg.ggml_fp16_to_fp32_row(bytes, to, count);
	else
		memcpy(to, bytes, (size_t)count * sizeof(*to));
	free(bytes);
}

/*
 * Computes a case with two sets of operands. Returns both results, one after the other, in memory
 * that the caller frees; sets *count to the elements of one.
 */
static float *run(const struct test_case *test, int variant, struct gg_backend *backend,
		  bool is_ours, int64_t *count)
{
	struct gg_init init = { 1 << 22, NULL, true };
	struct world w = { .context = gg.ggml_init(init),
			   .weights = gg.ggml_init(init),
			   .variant = variant };
	struct gg_tensor *result = test->make(&w);
	struct gg_graph *graph = gg.ggml_new_graph(w.context);
	struct gg_buffer *buffer, *weights;
	float *results;

	gg.ggml_build_forward_expand(graph, result);
	/* Weights come first: ggml wants tensors to have memory before their views do. */
	weights = gg.ggml_backend_alloc_ctx_tensors(w.weights, backend);
	buffer = gg.ggml_backend_alloc_ctx_tensors(w.context, backend);
	if (weights)
		gg.ggml_backend_buffer_set_usage(weights, GG_USAGE_WEIGHTS);
	for (int i = 0; is_ours && i < gg.ggml_graph_n_nodes(graph); i++) {
		const struct gg_tensor *node = gg.ggml_graph_node(graph, i);

		if (!gg.ggml_backend_supports_op(backend, node))
			fail("%s %d: %s is not supported", test->name, variant,
			     gg.ggml_op_name(node->op));
	}
	*count = gg.ggml_nelements(result);
	results = malloc(2 * (size_t)*count * sizeof(*results));
	for (int set = 0; set < 2; set++) {
		struct rng rng = { (uint64_t)(1000 * set + variant) };

		for (int i = 0; i < w.leaf_count; i++)
			fill(&w.leaves[i], &rng);
		if (gg.ggml_backend_graph_compute(backend, graph))
			fail("%s %d: the graph is not computed", test->name, variant);
		read_result(result, results + set * *count);
	}
	gg.ggml_backend_buffer_free(buffer);
	if (weights)
		gg.ggml_backend_buffer_free(weights);
	gg.ggml_free(w.context);
	gg.ggml_free(w.weights);
	return results;
}

static void compare(const struct test_case *test, int variant, const float *wanted,
		    const float *got, int64_t count)
{
	double difference = 0, whole = 0;

	for (int64_t i = 0; i < count; i++) {
		difference += (double)(got[i] - wanted[i]) * (got[i] - wanted[i]);
		whole += (double)wanted[i] * wanted[i];
	}
	if (!(whole > 0) || !(difference <= BOUND * whole))
		fail("%s %d: the mean square of the difference is %g of the result's", test->name,
		     variant, difference / whole);
}

/* Tests that operators which the device cannot compute are left to others. */
static void test_refused(struct gg_backend *backend)
{
	struct gg_context *context = gg.ggml_init((struct gg_init){ 1 << 20, NULL, true });
	struct gg_tensor *a = gg.ggml_new_tensor_4d(context, type_number("f32"), 8, 4, 1, 1);

	if (gg.ggml_backend_supports_op(
		    backend, gg.ggml_unary(context, a, number_of(gg.ggml_unary_op_name, "STEP"))))
		fail("STEP is said to be supported");
	gg.ggml_free(context);
}

/* Tests operators without elements, which llama.cpp has in batches without an output. */
static void test_empty(struct gg_backend *backend)
{
	struct gg_context *context = gg.ggml_init((struct gg_init){ 1 << 20, NULL, true });
	uint32_t real = type_number("f32");
	struct gg_tensor *a = gg.ggml_new_tensor_4d(context, real, 8, 0, 1, 1);
	struct gg_tensor *b = gg.ggml_new_tensor_4d(context, real, 8, 0, 1, 1);
	struct gg_tensor *whole = gg.ggml_new_tensor_4d(context, real, 8, 4, 1, 1);

	if (!gg.ggml_backend_supports_op(backend, gg.ggml_add(context, a, b)))
		fail("ADD of nothing is not supported");
	if (!gg.ggml_backend_supports_op(backend, gg.ggml_mul_mat(context, whole, a)))
		fail("MUL_MAT of nothing is not supported");
	if (gg.ggml_backend_supports_op(backend, gg.ggml_concat(context, whole, a, 1)))
		fail("CONCAT with nothing is said to be supported");
	gg.ggml_free(context);
}

/* Tests that a weight is read again after training has changed it without a function of ours. */
static void test_trained(struct gg_backend *backend)
{
	struct gg_init init = { 1 << 20, NULL, true };
	struct gg_context *context = gg.ggml_init(init), *weights = gg.ggml_init(init);
	struct gg_tensor *weight = gg.ggml_new_tensor_4d(weights, type_number("f32"), 8, 1, 1, 1);
	struct gg_tensor *square = gg.ggml_sqr(context, weight);
	struct gg_graph *graph = gg.ggml_new_graph(context);
	struct gg_buffer *theirs = gg.ggml_backend_alloc_ctx_tensors(weights, backend), *own;
	float result[8];

	gg.ggml_backend_buffer_set_usage(theirs, GG_USAGE_WEIGHTS);
	own = gg.ggml_backend_alloc_ctx_tensors(context, backend);
	weight->flags |= GG_FLAG_PARAM;
	gg.ggml_build_forward_expand(graph, square);
	for (int step = 1; step < 4; step++) {
		for (int i = 0; i < 8; i++)
			((float *)weight->data)[i] = (float)(step * (i + 1));
		if (gg.ggml_backend_graph_compute(backend, graph))
			fail("step %d of a training is not computed", step);
		gg.ggml_backend_tensor_get(square, result, 0, sizeof(result));
		for (int i = 0; i < 8; i++)
			if (result[i] != (float)(step * step * (i + 1) * (i + 1)))
				fail("step %d of a training has the weights of another", step);
	}
	gg.ggml_backend_buffer_free(own);
	gg.ggml_backend_buffer_free(theirs);
	gg.ggml_free(context);
	gg.ggml_free(weights);
}

int main(int argc, char **argv)
{
	struct gg_backend *cpu, *ours;
	void (*set_threads)(struct gg_backend *backend, int count);
	int done = 0;

	if (argc != 3)
		fail("usage: %s LIBRARY FOLDER", argv[0]);
	client_load(argv[2], argv[1]);
	cpu = gg.ggml_backend_dev_init(gg.cpu, NULL);
	/* Threads of ggml poll while they wait, which takes the processor from others. */
	*(void **)&set_threads =
		gg.cpu->reg->table.get_proc_address(gg.cpu->reg, "ggml_backend_set_n_threads");
	if (!set_threads)
		fail("the number of threads cannot be set");
	set_threads(cpu, 1);
	ours = gg.ggml_backend_dev_init(gg.onpu, NULL);
	test_refused(ours);
	test_empty(ours);
	test_trained(ours);
	for (const struct test_case *test = cases; test->name; test++) {
		for (int variant = 0; variant < test->variants; variant++, done++) {
			int64_t count;
			float *wanted = run(test, variant, cpu, false, &count);
			float *got = run(test, variant, ours, true, &count);

			compare(test, variant, wanted, got, count);
			compare(test, variant, wanted + count, got + count, count);
			free(wanted);
			free(got);
		}
	}
	gg.ggml_backend_free(ours);
	gg.ggml_backend_free(cpu);
	printf("ok: %d graphs agree with ggml's\n", done);
	return 0;
}
