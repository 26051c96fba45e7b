// SPDX-License-Identifier: MIT
/* Tests element-wise operators, reductions, softmax, normalisations and scans of random shapes. */
#include "fixture.h"
#include "nodes.h"

#include "plan/kernel/vprog.h"

#include <stdlib.h>
#include <string.h>

#define MAX_RANK 5

/* Draws a shape with at most `most` elements; returns its rank, @least_rank or more. */
static uint32_t random_shape(uint32_t least_rank, int64_t most, int64_t *dims)
{
	uint32_t rank = between(least_rank, MAX_RANK);

	for (uint32_t i = 0; i < rank; i++) {
		int64_t limit = most > 60 ? 60 : most;

		dims[i] = random_below(5) ? between(1, limit) : 1;
		most /= dims[i];
	}
	/* Move the long dimension anywhere. */
	if (rank > 1) {
		uint32_t a = random_below(rank), b = random_below(rank);
		int64_t swap = dims[a];

		dims[a] = dims[b];
		dims[b] = swap;
	}
	return rank;
}

static struct ir_value *broadcast_operand(struct test_graph *t, enum ir_dtype dtype, uint32_t rank,
					  const int64_t *dims, bool whole)
{
	uint32_t drop = whole || random_below(2) ? 0 : random_below(rank + 1);
	int64_t own[MAX_RANK];

	for (uint32_t i = drop; i < rank; i++)
		own[i - drop] = !whole && !random_below(3) ? 1 : dims[i];
	return add_operand(t, dtype, rank - drop, own, !random_below(4));
}

static struct ir_unary_attrs unary_attrs(int kind)
{
	return (struct ir_unary_attrs){ .kind = kind,
					.alpha = kind == IR_CLAMP ? -0.5f : 0.3f,
					.beta = 1.25f,
					.ilo = -7,
					.ihi = 9,
					.ulo = 3,
					.uhi = 12 };
}

static void run_unary(void **state, int kind, enum ir_dtype dtype)
{
	union ir_attrs attrs = { .unary = unary_attrs(kind) };
	bool test = kind == IR_IS_NAN || kind == IR_IS_INFINITE;
	int64_t dims[MAX_RANK];
	struct ir_value *input;
	struct test_graph t;
	uint32_t rank;

	graph_init(&t);
	rank = random_shape(0, 20000, dims);
	input = add_operand(&t, dtype, rank, dims, false);
	/* tan has poles; the tolerance is relative to the largest result. */
	t.tolerance = dtype == IR_F16 ? 4e-3 : 1e-5;
	add_result(&t,
		   add_node(&t, IR_OP_UNARY, &input, 1, test ? IR_U8 : dtype, rank, dims, &attrs));
	check_graph(&t, *state);
	graph_free(&t);
}

static void test_unary(void **state)
{
	static const int with_integers[] = { IR_ABS, IR_NEG, IR_SIGN, IR_RELU, IR_CLAMP };
	static const enum ir_dtype integers[] = { IR_I8, IR_I32, IR_I64 };

	for (int kind = 0; kind < IR_UNARY_COUNT; kind++) {
		random_seed(100 + kind);
		if (kind == IR_LOGICAL_NOT) {
			run_unary(state, kind, IR_U8);
			continue;
		}
		run_unary(state, kind, IR_F32);
		run_unary(state, kind, IR_F16);
	}
	for (int i = 0; i < 5; i++)
		for (int j = 0; j < 3; j++)
			run_unary(state, with_integers[i], integers[j]);
	run_unary(state, IR_CLAMP, IR_U32);
}

static void run_binary(void **state, enum ir_op op, int kind, enum ir_dtype dtype)
{
	union ir_attrs attrs = { .binary = { .kind = kind, .act = { .kind = IR_UNARY_NONE } } };
	int64_t dims[MAX_RANK];
	struct ir_value *operands[2];
	struct test_graph t;
	uint32_t rank;

	graph_init(&t);
	rank = random_shape(0, 20000, dims);
	operands[0] = broadcast_operand(&t, dtype, rank, dims, true);
	operands[1] = broadcast_operand(&t, dtype, rank, dims, false);
	if (random_below(2)) {
		struct ir_value *swap = operands[0];

		operands[0] = operands[1];
		operands[1] = swap;
	}
	if (op == IR_OP_BINARY && ir_dtype_is_float(dtype) && !random_below(3))
		attrs.binary.act = unary_attrs(IR_RELU);
	t.tolerance = dtype == IR_F16 ? 4e-3 : 1e-5;
	add_result(&t, add_node(&t, op, operands, 2, op == IR_OP_COMPARE ? IR_U8 : dtype, rank,
				dims, &attrs));
	check_graph(&t, *state);
	graph_free(&t);
}

static void test_binary(void **state)
{
	static const enum ir_dtype types[] = { IR_F32, IR_F16, IR_I32, IR_I64, IR_U32, IR_I8 };

	for (int kind = 0; kind <= IR_LE; kind++) {
		for (int j = 0; j < 6; j++) {
			bool logical = kind >= IR_AND && kind <= IR_XOR;

			if (kind >= IR_BIT_AND && kind <= IR_FLOORED_REMAINDER)
				continue; /* the NPU has no such operator */
			random_seed(200 + kind * 10 + j);
			if (kind == IR_PRELU && types[j] == IR_U32)
				continue;
			run_binary(state, kind >= IR_EQ ? IR_OP_COMPARE : IR_OP_BINARY, kind,
				   logical ? IR_U8 : types[j]);
		}
	}
}

static void test_where(void **state)
{
	static const enum ir_dtype types[] = { IR_F32, IR_F16, IR_I64, IR_U8 };

	for (int i = 0; i < 12; i++) {
		int64_t dims[MAX_RANK];
		struct ir_value *operands[3];
		struct test_graph t;
		uint32_t rank;

		random_seed(300 + i);
		graph_init(&t);
		t.tolerance = 0;
		rank = random_shape(1, 20000, dims);
		operands[0] = broadcast_operand(&t, IR_U8, rank, dims, i % 3 == 0);
		operands[1] = broadcast_operand(&t, types[i % 4], rank, dims, i % 3 == 1);
		operands[2] = broadcast_operand(&t, types[i % 4], rank, dims, i % 3 == 2);
		add_result(&t,
			   add_node(&t, IR_OP_WHERE, operands, 3, types[i % 4], rank, dims, NULL));
		check_graph(&t, *state);
		graph_free(&t);
	}
}

static void test_cast(void **state)
{
	static const enum ir_dtype types[] = { IR_F32, IR_F16, IR_I32, IR_U32,
					       IR_I64, IR_U64, IR_I8,  IR_U8 };

	for (int i = 0; i < 64; i++) {
		int64_t dims[MAX_RANK];
		struct ir_value *input;
		struct test_graph t;
		uint32_t rank;

		/* Conversions of negative numbers to unsigned types are undefined. */
		if (i / 8 < 2 && (i % 8 == 3 || i % 8 == 5 || i % 8 == 7))
			continue;
		random_seed(400 + i);
		graph_init(&t);
		t.tolerance = 0;
		rank = random_shape(0, 9000, dims);
		input = add_operand(&t, types[i / 8], rank, dims, false);
		add_result(&t, add_node(&t, IR_OP_CAST, &input, 1, types[i % 8], rank, dims, NULL));
		check_graph(&t, *state);
		graph_free(&t);
	}
}

static void test_triangular(void **state)
{
	for (int i = 0; i < 16; i++) {
		union ir_attrs attrs = {
			.triangular = { .upper = i & 1, .diagonal = (int64_t)random_below(60) - 30 }
		};
		int64_t dims[MAX_RANK];
		struct ir_value *input;
		struct test_graph t;
		uint32_t rank;

		random_seed(500 + i);
		graph_init(&t);
		t.tolerance = 0;
		rank = random_shape(2, 20000, dims);
		input = add_operand(&t, i % 3 ? IR_F32 : IR_I8, rank, dims, false);
		add_result(&t, add_node(&t, IR_OP_TRIANGULAR, &input, 1, i % 3 ? IR_F32 : IR_I8,
					rank, dims, &attrs));
		check_graph(&t, *state);
		graph_free(&t);
	}
}

/* ---- rotary embedding */

/*
 * Returns a new operand of cosines or sines that broadcasts to @rows; with @halves, its last
 * dimension is halved unless it is 1.
 */
static struct ir_value *angles(struct test_graph *t, enum ir_dtype dtype, uint32_t rank,
			       const int64_t *rows, bool halves)
{
	uint32_t own = random_below(rank + 1);
	int64_t dims[MAX_RANK];

	for (uint32_t i = 0; i < own; i++)
		dims[i] = random_below(3) ? rows[rank - own + i] : 1;
	if (own && dims[own - 1] > 1 && halves)
		dims[own - 1] /= 2;
	return add_operand(t, dtype, own, dims, random_below(2));
}

/* Returns a rotation of x composed of simple operators, with cosines and sines of whole rows. */
static struct ir_value *from_parts(struct test_graph *t, struct ir_value *x,
				   struct ir_value *cosine, struct ir_value *sine)
{
	uint32_t last = x->type.rank - 1;
	int64_t half = ir_type_dim(&x->type, last) / 2;
	struct ir_value *swapped =
		node_concat(t, node_unary(t, IR_NEG, node_slice(t, x, last, half, half)),
			    node_slice(t, x, last, 0, half), last);

	return node_binary(t, IR_ADD, node_binary(t, IR_MUL, x, cosine),
			   node_binary(t, IR_MUL, swapped, sine));
}

/* Checks that float32 results have the bits that the simple operators give. */
static void check_parts(struct test_graph *t, void *state)
{
	for (int size = 0; size < NUM_SIZES; size++) {
		size_t bytes = (size_t)ir_type_bytes(&t->output[0]->type);
		void *out[MAX_DATA] = { malloc(bytes), malloc(bytes) };

		assert_true(out[0] && out[1]);
		run_graph(t, state, size, out);
		assert_memory_equal(out[0], out[1], bytes);
		free(out[0]);
		free(out[1]);
	}
}

static void test_rotary(void **state)
{
	for (int i = 0; i < 48; i++) {
		enum ir_dtype dtype = i % 3 ? IR_F32 : IR_F16;
		bool halves = i % 4 == 0;
		struct ir_value *operands[3], *y;
		int64_t dims[MAX_RANK];
		struct test_graph t;
		uint32_t rank;

		random_seed(560 + i);
		graph_init(&t);
		t.tolerance = dtype == IR_F16 ? 2e-3 : 1e-6;
		rank = random_shape(1, 10000, dims);
		dims[rank - 1] *= 2;
		operands[0] = add_operand(&t, dtype, rank, dims, false);
		if (random_below(2))
			operands[0] = node_unary(&t, IR_NEG, operands[0]);
		operands[1] = angles(&t, dtype, rank, dims, halves);
		operands[2] = angles(&t, dtype, rank, dims, halves);
		y = add_node(&t, IR_OP_ROTARY, operands, 3, dtype, rank, dims, NULL)->results[0];
		add_output(&t, y);
		/* The result may also stay in SRAM. */
		if (halves)
			add_output(&t, node_unary(&t, IR_ABS, node_unary(&t, IR_NEG, y)));
		if (!halves && dtype == IR_F32)
			add_output(&t, from_parts(&t, operands[0], operands[1], operands[2]));
		check_graph(&t, *state);
		if (!halves && dtype == IR_F32)
			check_parts(&t, *state);
		graph_free(&t);
	}
}

/* ---- reductions */

static void run_reduce(void **state, int kind, enum ir_dtype dtype, uint32_t rank,
		       const int64_t *dims, uint32_t axes)
{
	union ir_attrs attrs = {
		.reduce = { .kind = kind, .axes = axes, .keep_dims = random_below(2) }
	};
	int64_t out[IR_MAX_RANK], terms = 1;
	struct ir_value *input;
	struct test_graph t;
	uint32_t n = 0;

	for (uint32_t i = 0; i < rank; i++) {
		bool reduced = axes >> i & 1;

		terms *= reduced ? dims[i] : 1;
		if (!reduced || attrs.reduce.keep_dims)
			out[n++] = reduced ? 1 : dims[i];
	}
	if (kind == IR_REDUCE_PROD && terms > 12)
		return;
	graph_init(&t);
	input = add_operand(&t, dtype, rank, dims, false);
	if (kind == IR_REDUCE_LOG_SUM && dtype == IR_F32)
		for (int64_t i = 0; i < ir_type_elements(&input->type); i++)
			((float *)t.data[0])[i] += 2.5f;
	t.tolerance = (dtype == IR_F16 ? 4e-3 : 1e-5) + 2e-7 * terms;
	add_result(&t, add_node(&t, IR_OP_REDUCE, &input, 1, dtype, n, out, &attrs));
	check_graph(&t, *state);
	graph_free(&t);
}

static void test_reduce(void **state)
{
	for (int i = 0; i < 120; i++) {
		int kind = i % IR_REDUCE_COUNT;
		bool integers = kind <= IR_REDUCE_MIN || kind == IR_REDUCE_L1 ||
				kind == IR_REDUCE_SUM_SQUARE;
		enum ir_dtype dtype = IR_F32;
		int64_t dims[MAX_RANK];
		uint32_t rank;

		random_seed(600 + i);
		if (integers && i % 4 == 3)
			dtype = i % 8 == 3 ? IR_I32 : IR_I64;
		else if (i % 4 == 2 && kind != IR_REDUCE_LOG_SUM)
			dtype = IR_F16;
		rank = random_shape(0, 20000, dims);
		run_reduce(state, kind, dtype, rank, dims, rank ? random_below(1u << rank) : 0);
	}
}

/* Tests rows that are longer than a small SRAM, in one dimension or several, inner or outer. */
static void test_reduce_long(void **state)
{
	static const struct {
		uint32_t rank;
		int64_t dims[4];
		uint32_t axes;
	} shapes[] = {
		{ 1, { 30001 }, 1 },	     { 2, { 3, 20011 }, 2 },	 { 2, { 20011, 3 }, 1 },
		{ 2, { 9001, 70 }, 1 },	     { 3, { 7, 33, 300 }, 5 },	 { 3, { 50, 9, 77 }, 5 },
		{ 4, { 5, 4, 31, 90 }, 13 }, { 4, { 41, 3, 37, 5 }, 7 },
	};

	for (int i = 0; i < 8; i++) {
		for (int kind = 0; kind < IR_REDUCE_COUNT; kind++) {
			random_seed(700 + i * 10 + kind);
			run_reduce(state, kind, kind % 3 == 1 ? IR_F16 : IR_F32, shapes[i].rank,
				   shapes[i].dims, shapes[i].axes);
		}
		run_reduce(state, IR_REDUCE_SUM, IR_I64, shapes[i].rank, shapes[i].dims,
			   shapes[i].axes);
	}
}

/*
 * Tests tensors with all 8 dimensions that a view can have; kept and reduced ones alternate, or
 * only the last one is reduced.
 */
static void test_reduce_rank8(void **state)
{
	static const int64_t mixed[8] = { 7, 2, 9, 2, 7, 3, 9, 2 };
	static const int64_t row[8] = { 2, 2, 2, 2, 2, 1, 2, 5000 };

	for (int kind = 0; kind < IR_REDUCE_COUNT; kind++) {
		run_reduce(state, kind, IR_F32, 8, mixed, 0x55);
		run_reduce(state, kind, IR_F32, 8, mixed, 0xaa);
		run_reduce(state, kind, IR_F32, 8, row, 0x80);
	}
}

static void run_simple(void **state, enum ir_op op, const union ir_attrs *attrs,
		       enum ir_dtype dtype, uint32_t rank, const int64_t *dims)
{
	struct ir_value *input;
	struct test_graph t;

	graph_init(&t);
	input = add_operand(&t, dtype, rank, dims, false);
	t.tolerance = dtype == IR_F16 ? 4e-3 : 1e-4;
	add_result(&t, add_node(&t, op, &input, 1, dtype, rank, dims, attrs));
	check_graph(&t, *state);
	graph_free(&t);
}

static void test_softmax(void **state)
{
	static const int64_t shapes[][3] = {
		{ 1, 1, 20000 }, { 3, 9001, 1 }, { 2, 5001, 5 }, { 700, 3, 11 }
	};
	union ir_attrs attrs = { .axis = 0 };

	for (int i = 0; i < 32; i++) {
		int64_t dims[MAX_RANK];
		uint32_t rank;

		random_seed(800 + i);
		rank = random_shape(1, 20000, dims);
		attrs.softmax = (struct ir_softmax_attrs){
			.axis = random_below(rank),
			.log = i & 1,
			.guarded = i & 2,
			.nan_to_zero = i & 4,
		};
		run_simple(state, IR_OP_SOFTMAX, &attrs, i % 3 ? IR_F32 : IR_F16, rank, dims);
	}
	for (int i = 0; i < 4; i++) {
		for (attrs.axis = 0; attrs.axis < 3; attrs.axis++)
			run_simple(state, IR_OP_SOFTMAX, &attrs, i ? IR_F32 : IR_F16, 3, shapes[i]);
	}
}

static void test_cumsum(void **state)
{
	static const enum ir_dtype types[] = { IR_F32, IR_F16, IR_I32, IR_I64 };

	for (int i = 0; i < 32; i++) {
		union ir_attrs attrs = { .cumsum = { .exclusive = i & 1, .reversed = i & 2 } };
		int64_t dims[MAX_RANK] = { 2, 9000, 2 };
		uint32_t rank = 3;

		random_seed(900 + i);
		attrs.cumsum.axis = 1;
		if (i < 24) {
			rank = random_shape(1, 20000, dims);
			attrs.cumsum.axis = random_below(rank);
		}
		run_simple(state, IR_OP_CUMSUM, &attrs, types[i / 4 % 4], rank, dims);
	}
}

static void run_arg(void **state, enum ir_dtype dtype, uint32_t rank, const int64_t *dims,
		    uint32_t axis, int bits)
{
	union ir_attrs attrs = { .arg = { .max = bits & 1, .keep_dims = bits & 2, .axis = axis } };
	int64_t out[IR_MAX_RANK];
	struct ir_value *input;
	struct test_graph t;
	uint32_t n = 0;

	for (uint32_t i = 0; i < rank; i++)
		if (i != axis || attrs.arg.keep_dims)
			out[n++] = i == axis ? 1 : dims[i];
	graph_init(&t);
	input = add_operand(&t, dtype, rank, dims, false);
	add_result(&t,
		   add_node(&t, IR_OP_ARG, &input, 1, bits & 4 ? IR_I64 : IR_I32, n, out, &attrs));
	check_graph(&t, *state);
	graph_free(&t);
}

static void test_arg(void **state)
{
	static const enum ir_dtype types[] = { IR_F32, IR_F16, IR_I32, IR_I8 };

	for (int i = 0; i < 32; i++) {
		int64_t dims[MAX_RANK] = { 2, 9000, 3 };
		uint32_t rank = 3, axis = 1;

		random_seed(1100 + i);
		if (i < 16) {
			rank = random_shape(1, 20000, dims);
			axis = random_below(rank);
		}
		run_arg(state, types[i % 4], rank, dims, axis, i / 4);
	}
}

/* ---- normalisation */

static void run_norm(void **state, enum ir_op op, const union ir_attrs *attrs, const int64_t *dims,
		     uint32_t rank, uint32_t num_fixed, uint32_t operand_rank,
		     const int64_t *operand_dims, enum ir_dtype dtype)
{
	struct ir_value *operands[5] = { NULL };
	struct test_graph t;

	graph_init(&t);
	t.tolerance = dtype == IR_F16 ? 2e-2 : 1e-4;
	operands[0] = add_operand(&t, dtype, rank, dims, false);
	for (uint32_t i = 1; i < num_fixed + 2; i++) {
		int64_t n = 1;

		if (i >= num_fixed && !random_below(3))
			continue;
		operands[i] = add_operand(&t, dtype, operand_rank, operand_dims, random_below(2));
		for (uint32_t d = 0; d < operand_rank; d++)
			n *= operand_dims[d];
		/* Variances must be positive. */
		for (int64_t e = 0; op == IR_OP_BATCHNORM && i == 2 && e < n; e++) {
			void *data = (void *)(operands[i]->constant ? operands[i]->constant->data :
								      t.data[t.num_inputs - 1]);

			if (dtype == IR_F32)
				((float *)data)[e] = 0.5f + (float)e / n;
			else
				((uint16_t *)data)[e] = 0x3800 + e % 64;
			memcpy(t.data[t.num_inputs - 1], data, n * ir_dtype_bits(dtype) / 8);
		}
	}
	add_result(&t, add_node(&t, op, operands, num_fixed + 2, dtype, rank, dims, attrs));
	check_graph(&t, *state);
	graph_free(&t);
}

static void test_norm(void **state)
{
	for (int i = 0; i < 36; i++) {
		union ir_attrs attrs = { .norm = { .epsilon = 1e-5f, .layout = i & 1 } };
		enum ir_dtype dtype = i % 5 == 4 ? IR_F16 : IR_F32;
		int64_t dims[MAX_RANK], own[MAX_RANK];
		uint32_t rank;

		random_seed(1200 + i);
		rank = i % 3 == 1 ? 4 : random_shape(1, 20000, dims);
		for (uint32_t d = 0; i % 3 == 1 && d < 4; d++)
			dims[d] = between(2, d ? 30 : 2);
		if (i % 3 == 0) {
			attrs.norm.axis = random_below(rank);
			own[0] = dims[attrs.norm.axis];
			run_norm(state, IR_OP_BATCHNORM, &attrs, dims, rank, 3, 1, own, dtype);
		} else if (i % 3 == 1) {
			own[0] = dims[i & 1 ? 3 : 1];
			run_norm(state, IR_OP_INSTNORM, &attrs, dims, rank, 1, 1, own, dtype);
		} else {
			/* The axes descend, so that the scale has another order than the input. */
			for (uint32_t d = rank; d-- > random_below(rank);) {
				attrs.norm.axes[attrs.norm.num_axes] = d;
				own[attrs.norm.num_axes++] = dims[d];
			}
			attrs.norm.rms = i / 3 % 2;
			run_norm(state, IR_OP_LAYERNORM, &attrs, dims, rank, 1, attrs.norm.num_axes,
				 own, dtype);
		}
	}
}

/* Tests normalisations of groups of channels of images of rank 3 to 5, in both layouts. */
static void test_norm_groups(void **state)
{
	for (int i = 0; i < 16; i++) {
		union ir_attrs attrs = { .norm = { .epsilon = 1e-5f, .layout = i & 1 } };
		int64_t dims[MAX_RANK];
		uint32_t rank, channel;

		random_seed(1300 + i);
		rank = between(3, 5);
		channel = i & 1 ? rank - 1 : 1;
		for (uint32_t d = 0; d < rank; d++)
			dims[d] = between(2, 7);
		if (i & 2) {
			attrs.norm.groups = between(1, 4);
			dims[channel] = attrs.norm.groups * between(1, 9);
		}
		run_norm(state, IR_OP_INSTNORM, &attrs, dims, rank, 1, 1, dims + channel,
			 i & 4 ? IR_F16 : IR_F32);
	}
	for (int i = 0; i < 2; i++) {
		union ir_attrs attrs = { .norm = { .epsilon = 1e-5f, .layout = i, .groups = 2 } };
		int64_t dims[4] = { 2, i ? 90 : 6, 80, i ? 6 : 90 };

		run_norm(state, IR_OP_INSTNORM, &attrs, dims, 4, 1, 1, (int64_t[]){ 6 }, IR_F32);
	}
}

static void test_norm_long(void **state)
{
	union ir_attrs attrs = { .norm = { .epsilon = 1e-5f, .num_axes = 1, .axes = { 1 } } };
	int64_t image[4] = { 2, 3, 80, 70 };

	run_norm(state, IR_OP_LAYERNORM, &attrs, (int64_t[]){ 3, 9000 }, 2, 1, 1,
		 (int64_t[]){ 9000 }, IR_F32);
	run_norm(state, IR_OP_LAYERNORM, &attrs, (int64_t[]){ 3, 9000 }, 2, 1, 1,
		 (int64_t[]){ 9000 }, IR_F16);
	attrs.norm.rms = true;
	run_norm(state, IR_OP_LAYERNORM, &attrs, (int64_t[]){ 3, 9000 }, 2, 1, 1,
		 (int64_t[]){ 9000 }, IR_F32);
	attrs.norm.rms = false;
	attrs.norm.layout = IR_NCHW;
	run_norm(state, IR_OP_INSTNORM, &attrs, image, 4, 1, 1, (int64_t[]){ 3 }, IR_F32);
	attrs.norm.layout = IR_NHWC;
	run_norm(state, IR_OP_INSTNORM, &attrs, image, 4, 1, 1, (int64_t[]){ 70 }, IR_F32);
}

/*
 * Tests long rows with values around 1,000, where the errors of sums must not exceed the
 * differences from the mean.
 */
static void test_norm_far(void **state)
{
	static const int64_t dims[4] = { 1, 2, 1, 100003 };
	union ir_attrs attrs = { .norm = { .epsilon = 1e-5f, .num_axes = 1, .axes = { 3 } } };
	static const enum ir_op ops[] = { IR_OP_LAYERNORM, IR_OP_INSTNORM };

	for (int i = 0; i < 2; i++) {
		struct ir_value *operands[3] = { NULL };
		struct test_graph t;
		float *data;

		random_seed((uint64_t)i);
		graph_init(&t);
		t.tolerance = 4e-6;
		operands[0] = add_operand(&t, IR_F32, 4, dims, false);
		data = t.data[0];
		for (int64_t e = 0; e < 2 * dims[3]; e++)
			data[e] += 1000;
		add_result(&t, add_node(&t, ops[i], operands, 3, IR_F32, 4, dims, &attrs));
		check_graph(&t, *state);
		graph_free(&t);
	}
}

/*
 * Builds a vector program with this many registers and operations; checks that its plan fails if
 * there are too many, and succeeds otherwise.
 */
static void check_size_of_program(uint32_t regs, uint32_t ops)
{
	static const int64_t dims[1] = { 8 };
	bool full = regs > VP_MAX_REGS || ops > VP_MAX_OPS;
	struct wnn_error err = { 0 };
	struct plan plan = { .report = { .err = &err } };
	struct vprog prog;
	struct test_graph t;
	struct ir_value *x;

	/* The graph has the node that the message names. */
	graph_init(&t);
	x = add_operand(&t, IR_F32, 1, dims, false);
	add_node(&t, IR_OP_COPY, &x, 1, IR_F32, 1, dims, NULL);
	plan.graph = t.graph;
	vp_begin(&prog, "test", 1, dims);
	for (uint32_t i = 0; i < regs; i++)
		assert_in_range(vp_temp(&prog, ONPU_DT_F32, 1), 0, VP_MAX_REGS - 1);
	for (uint32_t i = 0; i < ops; i++)
		assert_in_range(vp_add(&prog, ONPU_OP_VABS, 0, 0, -1, -1) - prog.op, 0,
				VP_MAX_OPS - 1);
	assert_int_equal(prog.overflow, full);
	if (full) {
		vp_emit(&plan, &prog);
		assert_true(plan.report.failed);
		assert_non_null(
			strstr(err.message, "the vector program of kernel test has no room"));
	}
	graph_free(&t);
}

static void test_full_program(void **state)
{
	(void)state;
	check_size_of_program(VP_MAX_REGS, VP_MAX_OPS);
	check_size_of_program(VP_MAX_REGS + 1, 1);
	check_size_of_program(1, VP_MAX_OPS + 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_unary),	     cmocka_unit_test(test_binary),
		cmocka_unit_test(test_where),	     cmocka_unit_test(test_cast),
		cmocka_unit_test(test_triangular),   cmocka_unit_test(test_rotary),
		cmocka_unit_test(test_reduce),	     cmocka_unit_test(test_reduce_long),
		cmocka_unit_test(test_reduce_rank8), cmocka_unit_test(test_softmax),
		cmocka_unit_test(test_cumsum),	     cmocka_unit_test(test_arg),
		cmocka_unit_test(test_norm),	     cmocka_unit_test(test_norm_groups),
		cmocka_unit_test(test_norm_long),    cmocka_unit_test(test_norm_far),
		cmocka_unit_test(test_full_program),
	};

	return cmocka_run_group_tests(tests, fixture_setup, fixture_teardown);
}
