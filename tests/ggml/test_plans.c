// SPDX-License-Identifier: MIT
/*
 * Tests that plans of graphs and repacked weights are kept until a weight that they use changes, or
 * memory that they use is freed.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "client.h"

#define K 64
#define N 32

static struct {
	uint64_t plans, runs, dispatches, moves, weights;
} before, *counts;

/* Fails unless, since the last call, @plans plans were made and @weights weights were repacked. */
static void expect(const char *when, uint64_t plans, uint64_t weights)
{
	if (counts->plans - before.plans != plans || counts->weights - before.weights != weights)
		fail("%s: %llu plans are made and %llu weights repacked, not %llu and %llu", when,
		     (unsigned long long)(counts->plans - before.plans),
		     (unsigned long long)(counts->weights - before.weights),
		     (unsigned long long)plans, (unsigned long long)weights);
	before = *counts;
}

/* A graph of one product. Its weight is in one buffer, and x and y are in another. */
struct product {
	struct gg_context *context, *weights;
	struct gg_buffer *own, *theirs;
	struct gg_tensor *weight, *x, *y;
	struct gg_graph *graph;
	unsigned char bytes[N * K / 32 * 34];
};

static void set_weight(struct product *p, int first)
{
	for (size_t i = 0; i < sizeof(p->bytes); i++)
		p->bytes[i] = (unsigned char)(i % 34 == 1 ? 0x3c : i % 34 ? i + (size_t)first : 0);
	gg.ggml_backend_tensor_set(p->weight, p->bytes, 0, sizeof(p->bytes));
}

static struct product make(struct gg_backend *backend)
{
	struct gg_init init = { 1 << 20, NULL, true };
	struct product p = { .context = gg.ggml_init(init), .weights = gg.ggml_init(init) };

	p.weight = gg.ggml_new_tensor_4d(p.weights, type_number("q8_0"), K, N, 1, 1);
	p.theirs = gg.ggml_backend_alloc_ctx_tensors(p.weights, backend);
	gg.ggml_backend_buffer_set_usage(p.theirs, GG_USAGE_WEIGHTS);
	p.x = gg.ggml_new_tensor_4d(p.context, type_number("f32"), K, 1, 1, 1);
	p.y = gg.ggml_mul_mat(p.context, p.weight, p.x);
	p.own = gg.ggml_backend_alloc_ctx_tensors(p.context, backend);
	p.graph = gg.ggml_new_graph(p.context);
	gg.ggml_build_forward_expand(p.graph, p.y);
	return p;
}

static void free_product(struct product *p)
{
	gg.ggml_backend_buffer_free(p->own);
	gg.ggml_backend_buffer_free(p->theirs);
	gg.ggml_free(p->context);
	gg.ggml_free(p->weights);
}

/* Computes the product with a row of ones, and compares it with sums of the weight's rows. */
static void compute(struct product *p, struct gg_backend *backend)
{
	float x[K], y[N];

	for (int i = 0; i < K; i++)
		x[i] = 1;
	gg.ggml_backend_tensor_set(p->x, x, 0, sizeof(x));
	if (gg.ggml_backend_graph_compute(backend, p->graph))
		fail("a graph is not computed");
	gg.ggml_backend_tensor_get(p->y, y, 0, sizeof(y));
	for (int n = 0; n < N; n++) {
		float sum = 0;

		for (int i = 0; i < K; i++)
			sum += (signed char)p->bytes[(n * K + i) / 32 * 34 + 2 + i % 32];
		if (y[n] != sum)
			fail("element %d is %g, not %g", n, y[n], sum);
	}
}

/*
 * Tests that setting a weight of type Q2_K, which becomes floats, does not repack it: only a graph
 * that needs it does.
 */
static void set_floats(struct gg_backend *backend)
{
	struct gg_init init = { 1 << 20, NULL, true };
	struct gg_context *context = gg.ggml_init(init);
	struct gg_tensor *weight =
		gg.ggml_new_tensor_4d(context, type_number("q2_K"), 256, 1, 1, 1);
	struct gg_buffer *buffer = gg.ggml_backend_alloc_ctx_tensors(context, backend);
	const unsigned char bytes[84] = { 0 };

	gg.ggml_backend_buffer_set_usage(buffer, GG_USAGE_WEIGHTS);
	gg.ggml_backend_tensor_set(weight, bytes, 0, sizeof(bytes));
	expect("a weight that becomes floats is set", 0, 0);
	gg.ggml_backend_buffer_free(buffer);
	gg.ggml_free(context);
}

int main(int argc, char **argv)
{
	struct gg_backend *backend;
	struct product a, b, c;
	unsigned char read[sizeof(a.bytes)];

	if (argc != 3)
		fail("usage: %s LIBRARY FOLDER", argv[0]);
	client_load(argv[2], argv[1]);
	backend = gg.ggml_backend_dev_init(gg.onpu, NULL);
	counts = gg.onpu->reg->table.get_proc_address(gg.onpu->reg, "onpu_counts");
	if (!counts)
		fail("there are no counts");
	a = make(backend);
	b = make(backend);
	set_weight(&a, 1);
	set_weight(&b, 2);
	expect("two weights are set", 0, 2);
	gg.ggml_backend_tensor_get(a.weight, read, 0, sizeof(read));
	if (memcmp(read, a.bytes, sizeof(read)))
		fail("a repacked weight does not give its bytes back");
	compute(&a, backend);
	compute(&b, backend);
	expect("two graphs are computed", 2, 0);
	for (int i = 0; i < 3; i++) {
		compute(&a, backend);
		compute(&b, backend);
	}
	expect("they are computed again", 0, 0);
	if (before.runs != 8 || before.dispatches != 8 || before.moves)
		fail("a product is not one dispatch");
	set_weight(&a, 3);
	expect("a weight is set again", 0, 1);
	compute(&b, backend);
	expect("a graph without this weight is computed", 0, 0);
	compute(&a, backend);
	expect("a graph with this weight is computed", 1, 0);
	gg.ggml_backend_tensor_memset(a.weight, 5, 2, 32);
	memset(a.bytes + 2, 5, 32);
	compute(&a, backend);
	expect("a part of a weight is filled", 1, 1);
	c = make(backend);
	set_weight(&c, 4);
	compute(&c, backend);
	expect("there is a third graph", 1, 1);
	free_product(&c);
	compute(&a, backend);
	compute(&b, backend);
	expect("memory of a third graph is freed", 0, 0);
	set_floats(backend);
	free_product(&a);
	free_product(&b);
	gg.ggml_backend_free(backend);
	printf("ok: %llu plans served %llu graphs\n", (unsigned long long)counts->plans,
	       (unsigned long long)counts->runs);
	return 0;
}
