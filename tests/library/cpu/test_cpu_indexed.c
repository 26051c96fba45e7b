// SPDX-License-Identifier: MIT
/*
 * Compares the fast layer with the reference on random nodes: gather, scatter, quantisation,
 * resampling and recurrent networks.
 */
#include "rig.h"

#include <math.h>
#include <string.h>

static const enum ir_dtype all_types[] = { IR_F32, IR_F16, IR_I32, IR_U32,
					   IR_I64, IR_U64, IR_I8,  IR_U8 };
static const enum ir_dtype index_types[] = { IR_I32, IR_U32, IR_I64 };

/* Adds indices of every kind: inside, outside, and as far outside as the type allows. */
static void add_indices(struct rig *rig, uint32_t rank, const int64_t *dims)
{
	enum ir_dtype dtype = index_types[random_below(3)];
	struct ir_type type = ir_type_make(dtype, rank, dims);
	void *data = rig_add(rig, dtype, rank, dims);

	for (int64_t i = 0; i < ir_type_elements(&type); i++)
		if (random_below(8))
			rig_put(dtype, data, i,
				(double)random_below(16) - (dtype == IR_U32 ? 0 : 8));
}

static uint32_t random_dims(uint32_t lo, uint32_t hi, uint32_t most, int64_t *dims)
{
	uint32_t rank = between(lo, hi);

	for (uint32_t i = 0; i < rank; i++)
		dims[i] = between(1, most);
	return rank;
}

static bool gather_round(void)
{
	enum ir_dtype dtype = all_types[random_below(8)];
	int64_t x[8], indices[8], y[8];
	uint32_t rank = random_dims(1, 5, 6, x), axis = random_below(rank);
	uint32_t index_rank = random_dims(0, 8 - rank, 4, indices), n = 0;
	union ir_attrs attrs = { .gather = { .kind = IR_GATHER_AXIS, .axis = axis } };
	struct ir_type type;
	struct rig rig;

	if (index_rank && !random_below(8))
		indices[0] = 600; /* more than one chunk */
	for (uint32_t i = 0; i < axis; i++)
		y[n++] = x[i];
	for (uint32_t i = 0; i < index_rank; i++)
		y[n++] = indices[i];
	for (uint32_t i = axis + 1; i < rank; i++)
		y[n++] = x[i];
	type = ir_type_make(dtype, n, y);
	rig_init(&rig);
	rig_add(&rig, dtype, rank, x);
	add_indices(&rig, index_rank, indices);
	return rig_compare(&rig, IR_OP_GATHER, &attrs, 1, &type, 0);
}

static bool elements_round(void)
{
	enum ir_dtype dtype = all_types[random_below(8)];
	int64_t x[8], indices[8];
	uint32_t rank = random_dims(1, 8, 4, x), axis = random_below(rank);
	union ir_attrs attrs = { .gather = { .kind = IR_GATHER_ELEMENTS, .axis = axis } };
	bool scatter = random_below(2);
	struct ir_type type;
	struct rig rig;

	if (!random_below(8))
		x[random_below(rank)] = 300;
	memcpy(indices, x, sizeof(indices));
	indices[axis] = between(1, 7);
	type = ir_type_make(dtype, rank, scatter ? x : indices);
	rig_init(&rig);
	rig_add(&rig, dtype, rank, x);
	add_indices(&rig, rank, indices);
	if (scatter)
		rig_add(&rig, dtype, rank, indices);
	return rig_compare(&rig, scatter ? IR_OP_SCATTER : IR_OP_GATHER, &attrs, 1, &type, 0);
}

/* Tests gathers so large that threads share the result. */
static void test_large_gathers(void **state)
{
	static const struct {
		struct ir_gather_attrs attrs;
		uint32_t rank, index_rank, y_rank;
		int64_t x[3], indices[3], y[4];
	} cases[] = {
		{ { IR_GATHER_AXIS, 1, false }, 3, 1, 3, { 4, 500, 30 }, { 800 }, { 4, 800, 30 } },
		{ { IR_GATHER_AXIS, 0, false }, 2, 2, 3, { 9, 3000 }, { 5, 4 }, { 5, 4, 3000 } },
		{ { IR_GATHER_ELEMENTS, 0, false },
		  2,
		  2,
		  2,
		  { 9, 3000 },
		  { 40, 3000 },
		  { 40, 3000 } },
		{ { IR_GATHER_ELEMENTS, 1, false },
		  2,
		  2,
		  2,
		  { 300, 20 },
		  { 300, 350 },
		  { 300, 350 } },
		{ { IR_GATHER_ND, 0, false }, 3, 2, 2, { 10, 9, 20 }, { 5000, 2 }, { 5000, 20 } },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		union ir_attrs attrs = { .gather = cases[i].attrs };
		struct ir_type type = ir_type_make(IR_F32, cases[i].y_rank, cases[i].y);
		struct rig rig;

		rig_init(&rig);
		rig_add(&rig, IR_F32, cases[i].rank, cases[i].x);
		add_indices(&rig, cases[i].index_rank, cases[i].indices);
		assert_true(rig_compare(&rig, IR_OP_GATHER, &attrs, 1, &type, 0));
	}
}

static bool coordinates_round(void)
{
	enum ir_dtype dtype = all_types[random_below(8)];
	int64_t x[8], indices[8], y[8];
	uint32_t rank = random_dims(1, 5, 5, x), depth = between(1, rank);
	uint32_t index_rank = random_dims(0, 8 - (rank - depth) - 1, 4, indices), n;
	union ir_attrs attrs = { .gather = { .kind = IR_GATHER_ND } };
	bool scatter = random_below(2);
	struct ir_type type;
	struct rig rig;

	index_rank = index_rank > 3 ? 3 : index_rank;
	if (index_rank && !random_below(8))
		indices[0] = 300;
	memcpy(y, indices, sizeof(y));
	n = index_rank;
	for (uint32_t i = depth; i < rank; i++)
		y[n++] = x[i];
	indices[index_rank++] = depth;
	type = ir_type_make(dtype, scatter ? rank : n, scatter ? x : y);
	rig_init(&rig);
	rig_add(&rig, dtype, rank, x);
	add_indices(&rig, index_rank, indices);
	if (scatter)
		rig_add(&rig, dtype, n, y);
	return rig_compare(&rig, scatter ? IR_OP_SCATTER : IR_OP_GATHER, &attrs, 1, &type, 0);
}

/* --- Quantisation ----------------------------------------------------------------------------- */

static const enum ir_dtype quantized[] = { IR_I8, IR_U8, IR_I32, IR_U32, IR_I4, IR_U4 };

/*
 * Draws the shape @x of a tensor and the shape @scale of its scale, and returns the rank. Each
 * dimension of the scale divides that of the tensor.
 */
static uint32_t blocked(int64_t *x, int64_t *scale)
{
	uint32_t rank = between(0, random_below(4) ? 4 : 8);

	for (uint32_t i = 0; i < rank; i++) {
		int64_t block = between(1, rank > 4 ? 2 : 5);

		scale[i] = random_below(2) ? 1 : between(1, rank > 4 ? 2 : 5);
		x[i] = scale[i] * block;
	}
	if (rank && !random_below(6)) {
		x[rank - 1] = 600; /* more than one chunk */
		scale[rank - 1] = random_below(2) ? 600 : 2;
	}
	return rank;
}

static bool quantize_round(void)
{
	static const double odd[] = { NAN, INFINITY, -INFINITY, -0.0, 0, 1e30, -1e30 };
	enum ir_dtype real = random_below(2) ? IR_F32 : IR_F16;
	enum ir_dtype integer = quantized[random_below(6)];
	int64_t x[8], scale[8];
	uint32_t rank = blocked(x, scale);
	struct ir_type type = ir_type_make(integer, rank, x);
	double range = random_below(2) ? 100 : 40000, least = random_below(2) ? 0.25 : 0.01;
	struct rig rig;
	void *data;

	rig_init(&rig);
	data = rig_add_between(&rig, real, rank, x, -range, range);
	if (!random_below(3))
		rig_put(real, data, random_below((uint32_t)ir_type_elements(&type)),
			odd[random_below(7)]);
	/* With the scale 0.25, some quotients are halfway between two integers. */
	rig_add_between(&rig, real, rank, scale, least, random_below(2) ? least : 3);
	rig_add(&rig, integer, rank, scale);
	return rig_compare(&rig, IR_OP_QUANTIZE, NULL, 1, &type, 0);
}

static bool dequantize_round(void)
{
	enum ir_dtype real = random_below(2) ? IR_F32 : IR_F16;
	enum ir_dtype integer = quantized[random_below(6)];
	int64_t x[8], scale[8];
	uint32_t rank = blocked(x, scale);
	struct ir_type type = ir_type_make(real, rank, x);
	struct rig rig;

	rig_init(&rig);
	rig_add(&rig, integer, rank, x);
	rig_add_between(&rig, real, rank, scale, 0.001, 2);
	rig_add(&rig, integer, rank, scale);
	return rig_compare(&rig, IR_OP_DEQUANTIZE, NULL, 1, &type, 0);
}

/* --- Resampling ------------------------------------------------------------------------------- */

static bool resample_round(void)
{
	static const enum ir_dtype types[] = { IR_F32, IR_F16, IR_I8, IR_U8 };
	static const double tolerances[] = { 1e-6, 1e-3, 0, 0 };
	uint32_t t = random_below(4), a = random_below(4), b = (a + between(1, 3)) % 4;
	union ir_attrs attrs = { .resample = { .linear = random_below(2), .axes = { a, b } } };
	int64_t x[4], y[4];
	struct ir_type type;
	struct rig rig;

	for (int i = 0; i < 4; i++)
		x[i] = y[i] = between(1, 9);
	y[a] = between(1, 20);
	y[b] = between(1, 20);
	type = ir_type_make(types[t], 4, y);
	rig_init(&rig);
	rig_add(&rig, types[t], 4, x);
	return rig_compare(&rig, IR_OP_RESAMPLE, &attrs, 1, &type,
			   attrs.resample.linear ? tolerances[t] : 0);
}

/* --- Recurrent networks ----------------------------------------------------------------------- */

static void add_or_skip(struct rig *rig, enum ir_dtype dtype, uint32_t rank, const int64_t *dims)
{
	if (random_below(2))
		rig_add(rig, dtype, rank, dims);
	else
		rig_skip(rig);
}

/* The shapes of a network begin with the number of directions; the shapes of a cell do not. */
struct network {
	bool lstm, cell;
	int64_t steps, batch, input, hidden, directions, gates;
	enum ir_dtype dtype;
};

static uint32_t shape(const struct network *n, int64_t *dims, int64_t a, int64_t b)
{
	uint32_t rank = 0;

	if (!n->cell)
		dims[rank++] = n->directions;
	dims[rank++] = a;
	if (b)
		dims[rank++] = b;
	return rank;
}

static void add_operands(struct rig *rig, const struct network *n)
{
	double range = 1 / sqrt((double)n->hidden);
	int64_t d[3], x[3] = { n->steps, n->batch, n->input };
	uint32_t rank;

	rig_add(rig, n->dtype, n->cell ? 2 : 3, n->cell ? x + 1 : x);
	rank = shape(n, d, n->gates * n->hidden, n->input);
	rig_add(rig, n->dtype, rank, d);
	rank = shape(n, d, n->gates * n->hidden, n->hidden);
	rig_add_between(rig, n->dtype, rank, d, -range, range);
	for (int i = 0; i < 2; i++) {
		rank = shape(n, d, n->gates * n->hidden, 0);
		add_or_skip(rig, n->dtype, rank, d);
	}
	if (n->lstm) {
		rank = shape(n, d, 3 * n->hidden, 0);
		add_or_skip(rig, n->dtype, rank, d);
	}
	for (int i = 0; i <= n->lstm; i++) {
		rank = shape(n, d, n->batch, n->hidden);
		if (n->cell)
			rig_add(rig, n->dtype, rank, d);
		else
			add_or_skip(rig, n->dtype, rank, d);
	}
}

static bool recurrent_round(bool lstm)
{
	static const int activations[] = { IR_SIGMOID,	   IR_TANH,	    IR_RELU,
					   IR_SCALED_TANH, IR_HARD_SIGMOID, IR_LEAKY_RELU,
					   IR_ELU,	   IR_SOFTSIGN,	    IR_LINEAR };
	bool plain = !lstm && !random_below(3);
	struct network n = { .lstm = lstm,
			     .cell = !random_below(3),
			     .batch = between(1, 3),
			     .input = between(1, 9),
			     .hidden = between(1, 20),
			     .directions = 1,
			     .gates = lstm  ? 4 :
				      plain ? 1 :
					      3,
			     .dtype = random_below(3) ? IR_F32 : IR_F16 };
	union ir_attrs attrs = { .rnn = { .cell = n.cell,
					  .plain = plain,
					  .reset_after = random_below(2),
					  .gate_order = random_below(2) } };
	struct ir_type types[3];
	int64_t d[4];
	uint32_t count = lstm ? 2 : 1, rank;
	struct rig rig;

	/* More steps with relu would measure how errors grow. */
	n.steps = n.cell ? 1 : between(1, 3);
	if (!n.cell) {
		attrs.rnn.direction = random_below(3);
		attrs.rnn.return_sequence = random_below(2);
		n.directions = attrs.rnn.direction == IR_BOTH ? 2 : 1;
	}
	for (int i = 0; i < 3; i++) {
		attrs.rnn.activations[i] = activations[random_below(9)];
		attrs.rnn.alphas[i] = 0.2f + (float)random_below(8) / 10;
		attrs.rnn.betas[i] = (float)random_below(8) / 10;
	}
	attrs.rnn.clip = random_below(3) ? 0 : 0.5f;
	attrs.rnn.coupled = lstm && random_below(3) == 0;
	attrs.rnn.late_peephole = lstm && random_below(2);
	attrs.rnn.steps = (uint32_t)n.steps;
	attrs.rnn.hidden_size = (uint32_t)n.hidden;
	rank = shape(&n, d, n.batch, n.hidden);
	types[0] = types[1] = ir_type_make(n.dtype, rank, d);
	if (attrs.rnn.return_sequence)
		types[count++] = ir_type_make(
			n.dtype, 4, (int64_t[]){ n.steps, n.directions, n.batch, n.hidden });
	rig_init(&rig);
	rig.by_largest = true;
	add_operands(&rig, &n);
	if (!n.cell && random_below(2))
		rig_add_between(&rig, IR_I32, 1, &n.batch, 0, n.steps + 1);
	return rig_compare(&rig, lstm ? IR_OP_LSTM : IR_OP_GRU, &attrs, count, types,
			   n.dtype == IR_F32 ? 1e-5 : 2e-3);
}

static bool gru_round(void)
{
	return recurrent_round(false);
}

static bool lstm_round(void)
{
	return recurrent_round(true);
}

/*
 * Tests 700 steps, more than the buffer of gates can hold: the gates are computed in several
 * slices, from either end. The tolerance is large because rounding errors of all steps add up.
 */
static void test_long_sequence(void **state)
{
	union ir_attrs attrs = { .rnn = { .steps = 700,
					  .hidden_size = 64,
					  .direction = IR_BOTH,
					  .return_sequence = true,
					  .activations = { IR_SIGMOID, IR_TANH, IR_TANH } } };
	struct network n = { true, false, 700, 9, 1, 64, 2, 4, IR_F32 };
	struct ir_type types[3];
	struct rig rig;

	(void)state;
	types[0] = types[1] = ir_type_make(IR_F32, 3, (int64_t[]){ 2, 9, 64 });
	types[2] = ir_type_make(IR_F32, 4, (int64_t[]){ 700, 2, 9, 64 });
	rig_init(&rig);
	add_operands(&rig, &n);
	assert_true(rig_compare(&rig, IR_OP_LSTM, &attrs, 3, types, 5e-4));
}

FAMILY(gather)
FAMILY(elements)
FAMILY(coordinates)
FAMILY(quantize)
FAMILY(dequantize)
FAMILY(resample)
FAMILY(gru)
FAMILY(lstm)

static void test_all_seen(void **state)
{
	(void)state;
	rig_expect_all_seen(~((uint64_t)RIG_OPS_FAST | RIG_OPS_INTEGER | RIG_OPS_SELECT |
			      RIG_OPS_ELEMENTWISE | RIG_OPS_ROWS));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_gather),	      cmocka_unit_test(test_elements),
		cmocka_unit_test(test_large_gathers), cmocka_unit_test(test_coordinates),
		cmocka_unit_test(test_quantize),      cmocka_unit_test(test_dequantize),
		cmocka_unit_test(test_resample),      cmocka_unit_test(test_gru),
		cmocka_unit_test(test_lstm),	      cmocka_unit_test(test_long_sequence),
		cmocka_unit_test(test_all_seen),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
