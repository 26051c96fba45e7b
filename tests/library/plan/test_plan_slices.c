// SPDX-License-Identifier: MIT
/*
 * Tests products that read the operands of a concat directly, such as the caches of a decoder's
 * step.
 */
#include "fixture.h"
#include "nodes.h"

#include <stdlib.h>
#include <string.h>

/*
 * A step of a decoder with caches: @past tokens have cached keys and values, @fresh tokens are new.
 * @shared heads of queries share one head of keys; each head has @rows queries of @size numbers.
 */
struct step {
	int64_t batch, heads, shared, rows, past, fresh, size;
	enum ir_dtype dtype;
	bool computed; /* a node computes the rows of the new tokens */
	/* further cached rows follow the new ones, so that the concats have three operands */
	bool middle;
	bool kept; /* both caches are outputs */
};

static struct step random_step(int seed)
{
	random_seed(7000 + seed);
	return (struct step){
		.batch = between(1, 2),
		.heads = between(1, 4),
		.shared = between(1, 2),
		.rows = random_below(3) ? 1 : between(2, 40),
		.past = between(17, 500),
		.fresh = random_below(2) ? 1 : between(2, 16),
		.size = between(1, 70),
		.dtype = random_below(2) ? IR_F16 : IR_F32,
		.computed = random_below(3) > 0,
		.middle = !random_below(3),
	};
}

static struct ir_value *words(struct test_graph *t, const struct step *s, int64_t count)
{
	const int64_t dims[4] = { s->batch, s->heads, count, s->size };

	return add_operand(t, s->dtype, 4, dims, !random_below(4));
}

static struct ir_value *cache(struct test_graph *t, const struct step *s)
{
	struct ir_value *past = words(t, s, s->past), *fresh = words(t, s, s->fresh), *whole;

	if (s->computed)
		fresh = node_unary(t, IR_NEG, fresh);
	whole = node_concat(t, past, fresh, 2);
	if (s->middle) {
		struct ir_value *operands[3] = { past, fresh, words(t, s, s->fresh) };
		union ir_attrs attrs = { .axis = 2 };
		const int64_t dims[4] = { s->batch, s->heads, s->past + 2 * s->fresh, s->size };

		whole = add_node(t, IR_OP_CONCAT, operands, 3, s->dtype, 4, dims, &attrs)
				->results[0];
	}
	if (s->kept)
		add_output(t, whole);
	return whole;
}

/*
 * Returns shared heads with one more dimension, as exporters write them. Its size is either
 * expanded to the number of heads that share, or stays 1 and the product broadcasts.
 */
static struct ir_value *share(struct test_graph *t, const struct step *s, struct ir_value *x)
{
	int64_t dims[5] = { s->batch, s->heads, 1, ir_type_dim(&x->type, 2),
			    ir_type_dim(&x->type, 3) };

	x = node_reshape(t, x, 5, dims);
	dims[2] = s->shared;
	return random_below(2) ? x : node_expand(t, x, 5, dims);
}

static struct ir_value *build(struct test_graph *t, const struct step *s)
{
	static const uint32_t swap[5] = { 0, 1, 2, 4, 3 };
	const int64_t query[5] = { s->batch, s->heads, s->shared, s->rows, s->size };
	struct ir_value *q = add_operand(t, s->dtype, 5, query, false), *keys, *values, *scores;

	keys = node_transpose(t, share(t, s, cache(t, s)), swap);
	values = share(t, s, cache(t, s));
	if (!random_below(3) && s->size > 1) {
		int64_t half = s->size / 2;

		keys = node_slice(t, keys, 3, 1, half);
		q = node_slice(t, q, 4, 1, half);
	}
	scores = node_softmax(t, node_matmul(t, q, keys), 4);
	return node_matmul(t, scores, values);
}

static void make(struct test_graph *t, const struct step *s, int seed)
{
	random_seed(8000 + seed);
	graph_init(t);
	t->split_keys = true;
	t->tolerance = s->dtype == IR_F16 ? 1e-2 : 2e-5;
	add_output(t, build(t, s));
}

static void *run_first(struct test_graph *t, void *state, int size, uint32_t output)
{
	void *out[MAX_DATA];

	for (uint32_t o = 0; o < t->num_outputs; o++) {
		out[o] = malloc((size_t)ir_type_bytes(&t->output[o]->type));
		assert_non_null(out[o]);
	}
	run_graph(t, state, size, out);
	for (uint32_t o = 0; o < t->num_outputs; o++)
		if (o != output)
			free(out[o]);
	return out[output];
}

static bool splits_keys(struct test_graph *t, void *state, int size)
{
	char *text = plan_text(t, state, size);
	bool split = strstr(text, "split-keys");

	free(text);
	return split;
}

/*
 * Tests that every node is exact or splits keys. A second graph outputs its caches too, which must
 * therefore be whole values; it must give the same bits, unless only one of the two plans processes
 * keys in blocks.
 */
static void test_bits(void **state)
{
	int compared = 0;

	for (int i = 0; i < 80; i++) {
		struct step s = random_step(i), kept = s;
		struct test_graph t, whole;
		void *a, *b;

		make(&t, &s, i);
		check_graph(&t, *state);
		kept.kept = true;
		make(&whole, &kept, i);
		assert_int_equal(whole.num_outputs, 3);
		if (splits_keys(&t, *state, i % NUM_SIZES) !=
		    splits_keys(&whole, *state, i % NUM_SIZES)) {
			check_graph(&whole, *state);
		} else {
			a = run_first(&t, *state, i % NUM_SIZES, 0);
			b = run_first(&whole, *state, i % NUM_SIZES, 2);
			assert_memory_equal(a, b, (size_t)ir_type_bytes(&t.output[0]->type));
			free(a);
			free(b);
			compared++;
		}
		graph_free(&t);
		graph_free(&whole);
	}
	assert_in_range(compared, 76, 80);
}

/*
 * Returns whether the program has no code for its concats and, unless @arena is set, needs no
 * arena.
 */
static bool no_code(struct test_graph *t, void *state, int size, bool arena)
{
	char *text = plan_text(t, state, size);
	bool none = !strstr(text, "concat: dma") && !strstr(text, "concat: vector") &&
		    (arena || strstr(text, " 0 arena bytes"));

	free(text);
	return none;
}

/* Tests that the program reads each input at most once and writes nothing but the result. */
static void test_traffic(void **state)
{
	const struct step s = { .batch = 1,
				.heads = 4,
				.shared = 1,
				.rows = 1,
				.past = 1023,
				.fresh = 1,
				.size = 64,
				.dtype = IR_F16,
				.computed = true };
	struct step kept = s;
	struct test_graph t;

	for (int size = 1; size < NUM_SIZES; size++) {
		uint64_t bytes = 0;
		struct traffic traffic;

		make(&t, &s, 3);
		for (uint32_t i = 0; i < t.num_inputs; i++)
			bytes += (uint64_t)ir_type_bytes(&t.input[i]->type);
		assert_true(no_code(&t, *state, size, false));
		traffic = count_traffic(&t, *state, size);
		/* No input is read twice, and at least half of all bytes are read. */
		assert_in_range(traffic.later_loaded, bytes / 2, bytes);
		assert_int_equal(traffic.stored, ir_type_bytes(&t.output[0]->type));
		graph_free(&t);
	}
	/* Caches that are outputs are copied. */
	kept.kept = true;
	make(&t, &kept, 3);
	assert_false(no_code(&t, *state, 3, true));
	graph_free(&t);
}

/* Returns the result of a concat, into which the nodes before it write their results directly. */
static struct ir_value *made_here(struct test_graph *t, const int64_t *dims)
{
	return node_concat(t, node_unary(t, IR_NEG, add_operand(t, IR_F32, 3, dims, false)),
			   node_unary(t, IR_ABS, add_operand(t, IR_F32, 3, dims, false)), 1);
}

static struct ir_value *from_outside(struct test_graph *t, const int64_t *dims)
{
	return node_concat(t, add_operand(t, IR_F32, 3, dims, false),
			   add_operand(t, IR_F32, 3, dims, false), 1);
}

/* Tests uses that need the whole concat, and a concat that would not be copied anyway. */
static void test_wholes(void **state)
{
	static const uint32_t perm[3] = { 0, 2, 1 };
	const int64_t dims[3] = { 2, 33, 20 }, rows[3] = { 2, 5, 66 }, wide[3] = { 2, 5, 20 };

	for (int i = 0; i < 9; i++) {
		struct test_graph t;
		struct ir_value *x, *a, *whole;

		random_seed(7900 + i);
		graph_init(&t);
		t.tolerance = 2e-5;
		a = add_operand(&t, IR_F32, 3, rows, false);
		whole = i ? from_outside(&t, dims) : made_here(&t, dims);
		x = i == 1 ? NULL : node_matmul(&t, a, whole);
		switch (i) {
		case 1: /* the product's first and second operand */
			x = node_matmul(&t, node_transpose(&t, whole, perm), whole);
			break;
		case 2: /* used by another operator */
			add_output(&t, node_unary(&t, IR_ABS, whole));
			break;
		case 3: /* used by a reshape that mixes the operands */
			add_output(&t, node_reshape(&t, whole, 2, (const int64_t[]){ 132, 20 }));
			break;
		case 4: /* a view is an output */
			add_output(&t, node_transpose(&t, whole, perm));
			break;
		case 5: /* used by two products */
			add_output(&t,
				   node_matmul(&t, add_operand(&t, IR_F32, 3, rows, false), whole));
			break;
		case 6: /* a slice along the concat's axis is used */
			add_output(&t,
				   node_matmul(&t, add_operand(&t, IR_F32, 3, wide, false),
					       node_transpose(&t, node_slice(&t, whole, 1, 20, 30),
							      perm)));
			break;
		case 7: /* operand of another concat */
			add_output(&t, node_concat(&t, whole, whole, 0));
			break;
		case 8: /* used by a reshape of its transpose */
			add_output(&t,
				   node_matmul(&t,
					       add_operand(&t, IR_F32, 3,
							   (const int64_t[]){ 2, 5, 20 }, false),
					       node_reshape(&t, node_transpose(&t, whole, perm), 3,
							    (const int64_t[]){ 2, 20, 66 })));
			break;
		}
		add_output(&t, x);
		check_graph(&t, *state);
		graph_free(&t);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_bits),
		cmocka_unit_test(test_traffic),
		cmocka_unit_test(test_wholes),
	};

	return cmocka_run_group_tests(tests, fixture_setup, fixture_teardown);
}
