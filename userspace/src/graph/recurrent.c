// SPDX-License-Identifier: MIT
/*
 * The rules of gru, gruCell, lstm and lstmCell: they check a call, infer the types of its results
 * and emit IR nodes.
 */
#include <math.h>

#include <webnn/webnn_npu.h>

#include "graph/rules.h"
#include "util/number.h"

struct recurrent {
	const WNNRecurrentDetails *details; /* in the chain of the options; NULL: there are none */
	uint32_t gates;			    /* number of gates: 1 (plain), 3 (gru) or 4 (lstm) */
	bool cell;
	int64_t directions, batch, input_size, hidden_size, steps;
	WNNRecurrentNetworkActivationArray activations;
	uint32_t num_activations;
	struct ir_value *lengths; /* lengths of the sequences; NULL: all have all steps */
};

static int activation_kind(WNNRecurrentNetworkActivation activation)
{
	switch (activation) {
	case WNNRecurrentNetworkActivation_Relu:
		return IR_RELU;
	case WNNRecurrentNetworkActivation_Sigmoid:
		return IR_SIGMOID;
	default:
		return IR_TANH;
	}
}

/*
 * Sets the activations to those of the options, or else to sigmoid for the gates and tanh for the
 * rest. Returns 0 or -1.
 */
static int set_activations(struct wnn_rule *rule, const struct recurrent *r, union ir_attrs *attrs)
{
	static const int defaults[3] = { IR_SIGMOID, IR_TANH, IR_TANH };
	const int *absent = r->gates == 1 ? defaults + 1 : defaults;

	if (r->activations.data && r->activations.count != r->num_activations)
		return rule_error(rule, "options.activations has %zu items, expected %" PRIu32,
				  r->activations.count, r->num_activations);
	for (uint32_t i = 0; i < r->num_activations; i++)
		attrs->rnn.activations[i] =
			r->activations.data ? activation_kind(r->activations.data[i]) : absent[i];
	return 0;
}

static enum ir_dtype dtype_of(const struct wnn_rule *rule)
{
	return rule_type(rule, 0)->dtype;
}

/*
 * Finds WNNRecurrentDetails in the chain of the options. With their member `plain`, a gru becomes a
 * network with one gate. Returns 0 or -1.
 */
static int find_details(struct wnn_rule *rule, struct recurrent *r)
{
	const WNNOperatorOptions *head = rule->call->options;

	r->details = (const WNNRecurrentDetails *)head->nextInChain;
	if (!r->details || !r->details->plain)
		return 0;
	if (r->gates == 4)
		return rule_error(rule, "plain is allowed for gru only");
	r->gates = 1;
	r->num_activations = 1;
	return 0;
}

/*
 * Checks the shape of operand i: [a, b] in rank 2 or [a] in rank 1; operators other than cells have
 * the directions as first dimension. Returns 0 or -1.
 */
static int check_shape(struct wnn_rule *rule, size_t i, const struct recurrent *r, uint32_t rank,
		       int64_t a, int64_t b)
{
	int64_t dims[3] = { r->directions, a, b };

	return rule_shape_is(rule, i, rank + !r->cell, r->cell ? dims + 1 : dims);
}

/* Reads the sizes from the arguments and the first operand, and checks them. Returns 0 or -1. */
static int check_sizes(struct wnn_rule *rule, struct recurrent *r)
{
	const struct wnn_op_arguments *arguments = &rule->call->arguments;
	const struct ir_type *input = rule_type(rule, 0);

	r->hidden_size = arguments->hidden_size;
	r->batch = ir_type_dim(input, r->cell ? 0 : 1);
	r->input_size = ir_type_dim(input, r->cell ? 1 : 2);
	if (!r->cell) {
		r->steps = arguments->steps;
		if (!r->steps || ir_type_dim(input, 0) != r->steps)
			return rule_error(rule,
					  "steps is %" PRId64 ", but input has %" PRId64
					  " (its first dimension)",
					  r->steps, ir_type_dim(input, 0));
	}
	if (!r->hidden_size || r->hidden_size * 2 * r->gates > WNN_MAX_DIMENSION)
		return rule_error(rule, "hiddenSize is %" PRId64 "; it must be from 1 to %d",
				  r->hidden_size, (int)(WNN_MAX_DIMENSION / (2 * r->gates)));
	return 0;
}

/* Checks the shapes of weight and recurrentWeight, operands 1 and 2. Returns 0 or -1. */
static int check_weights(struct wnn_rule *rule, const struct recurrent *r)
{
	int64_t rows = r->gates * r->hidden_size;

	if (check_shape(rule, 1, r, 2, rows, r->input_size) ||
	    check_shape(rule, 2, r, 2, rows, r->hidden_size))
		return -1;
	return 0;
}

static int check_states(struct wnn_rule *rule, const struct recurrent *r, size_t first,
			size_t count)
{
	for (size_t i = first; i < first + count; i++)
		if (check_shape(rule, i, r, 2, r->batch, r->hidden_size))
			return -1;
	return 0;
}

static int check_vectors(struct wnn_rule *rule, const struct recurrent *r, size_t first,
			 size_t count, int64_t size)
{
	for (size_t i = first; i < first + count; i++)
		if (check_shape(rule, i, r, 1, size, 0))
			return -1;
	return 0;
}

static void set_common(const struct recurrent *r, union ir_attrs *attrs)
{
	attrs->rnn.steps = r->cell ? 1 : (uint32_t)r->steps;
	attrs->rnn.hidden_size = (uint32_t)r->hidden_size;
	attrs->rnn.cell = r->cell;
}

/*
 * Emits the node. Its results are the states after the last step, and all hidden states with
 * returnSequence. Returns 0 or -1.
 */
static int emit_sequence(struct wnn_rule *rule, enum ir_op op, const struct recurrent *r,
			 uint32_t states, union ir_attrs *attrs)
{
	int64_t state[3] = { r->directions, r->batch, r->hidden_size };
	int64_t sequence[4] = { r->steps, r->directions, r->batch, r->hidden_size };
	uint32_t results = states + attrs->rnn.return_sequence;
	uint32_t n = (uint32_t)rule->call->operand_count;
	struct ir_value *operands[9];
	struct ir_type types[3];

	if (rule_output_count(rule, results))
		return -1;
	for (uint32_t i = 0; i < n; i++)
		operands[i] = rule_value(rule, i);
	if (r->lengths)
		operands[n++] = r->lengths;
	for (uint32_t i = 0; i < states; i++)
		types[i] =
			ir_type_make(dtype_of(rule), r->cell ? 2 : 3, r->cell ? state + 1 : state);
	if (attrs->rnn.return_sequence)
		types[states] = ir_type_make(dtype_of(rule), 4, sequence);
	set_common(r, attrs);
	return rule_emit_results(rule, op, operands, n, types, results, attrs);
}

static int check_lengths(struct wnn_rule *rule, const struct recurrent *r, WNNOperand lengths)
{
	const struct ir_type *type;

	if (lengths->builder != rule->builder)
		return rule_error(rule, "sequenceLengths belongs to another builder");
	type = &lengths->value->type;
	if (type->dtype != IR_I32)
		return rule_error(rule, "sequenceLengths has type %s; allowed is int32",
				  ir_dtype_name(type->dtype));
	if (type->rank != 1 || ir_type_dim(type, 0) != r->batch)
		return rule_error(rule, "sequenceLengths has shape %s, expected [%" PRId64 "]",
				  SHAPE(type), r->batch);
	return 0;
}

/* Sets the activations that the details have instead of those of the options. Returns 0 or -1. */
static int set_functions(struct wnn_rule *rule, const struct recurrent *r, union ir_attrs *attrs)
{
	static const int kinds[] = {
		[WNNRecurrentFunction_Relu] = IR_RELU,
		[WNNRecurrentFunction_Sigmoid] = IR_SIGMOID,
		[WNNRecurrentFunction_Tanh] = IR_TANH,
		[WNNRecurrentFunction_Linear] = IR_LINEAR,
		[WNNRecurrentFunction_LeakyRelu] = IR_LEAKY_RELU,
		[WNNRecurrentFunction_ThresholdedRelu] = IR_STEP_GATE,
		[WNNRecurrentFunction_ScaledTanh] = IR_SCALED_TANH,
		[WNNRecurrentFunction_HardSigmoid] = IR_HARD_SIGMOID,
		[WNNRecurrentFunction_Elu] = IR_ELU,
		[WNNRecurrentFunction_Softsign] = IR_SOFTSIGN,
		[WNNRecurrentFunction_Softplus] = IR_SOFTPLUS,
	};
	size_t count = r->details->activationCount;

	if (count && count != r->num_activations)
		return rule_error(rule, "activationCount is %zu; it must be %" PRIu32 " or 0",
				  count, r->num_activations);
	if (count && !r->details->activations)
		return rule_error(rule,
				  "activations is NULL; with activationCount %zu, it must point to "
				  "as many activations",
				  count);
	for (size_t i = 0; i < count; i++) {
		const WNNRecurrentActivation *a = &r->details->activations[i];

		if (a->function < WNNRecurrentFunction_Relu ||
		    (size_t)a->function >= ARRAY_SIZE(kinds))
			return rule_error(rule,
					  "activations[%zu].function is %d; it must be from %d to "
					  "%zu",
					  i, (int)a->function, (int)WNNRecurrentFunction_Relu,
					  ARRAY_SIZE(kinds) - 1);
		attrs->rnn.activations[i] = kinds[a->function];
		attrs->rnn.alphas[i] = wnn_double_cast(dtype_of(rule), a->alpha);
		attrs->rnn.betas[i] = wnn_double_cast(dtype_of(rule), a->beta);
	}
	return 0;
}

/* Reads the details, if there are any, into the attributes. Returns 0 or -1. */
static int set_details(struct wnn_rule *rule, struct recurrent *r, union ir_attrs *attrs)
{
	const WNNRecurrentDetails *details = r->details;

	if (!details)
		return 0;
	if (!(details->clip >= 0))
		return rule_error(rule, "clip is %g; it must be 0 or more", details->clip);
	if (r->gates != 4 && (details->coupledGates || details->latePeephole))
		return rule_error(rule, "coupledGates and latePeephole are allowed for lstm only");
	if (details->sequenceLengths) {
		if (check_lengths(rule, r, details->sequenceLengths))
			return -1;
		r->lengths = details->sequenceLengths->value;
	}
	attrs->rnn.clip = isfinite(details->clip) ? wnn_double_cast(dtype_of(rule), details->clip) :
						    0;
	attrs->rnn.coupled = details->coupledGates;
	attrs->rnn.late_peephole = details->latePeephole;
	attrs->rnn.plain = details->plain;
	return set_functions(rule, r, attrs);
}

static int ir_direction(WNNRecurrentNetworkDirection direction)
{
	return direction == WNNRecurrentNetworkDirection_Backward ? IR_BACKWARD :
	       direction == WNNRecurrentNetworkDirection_Both	  ? IR_BOTH :
								    IR_FORWARD;
}

int rule_gru(struct wnn_rule *rule)
{
	const WNNGruOptions *options = rule_options(rule, WNNGruOptions);
	bool both = options->direction == WNNRecurrentNetworkDirection_Both;
	struct recurrent r = { .gates = 3,
			       .directions = both ? 2 : 1,
			       .activations = options->activations,
			       .num_activations = 2 };
	union ir_attrs attrs = { .rnn = {
					 .reset_after = options->resetAfter,
					 .return_sequence = options->returnSequence,
					 .direction = ir_direction(options->direction),
					 .gate_order = options->layout == WNNGruWeightLayout_Rzn,
				 } };

	if (find_details(rule, &r) || check_sizes(rule, &r) || check_weights(rule, &r) ||
	    check_vectors(rule, &r, 3, 2, r.gates * r.hidden_size) ||
	    check_states(rule, &r, 5, 1) || set_activations(rule, &r, &attrs) ||
	    set_details(rule, &r, &attrs))
		return -1;
	return emit_sequence(rule, IR_OP_GRU, &r, 1, &attrs);
}

/* Adds an IR_OP_GRU node, which has the hidden state as its last operand. Returns 0 or -1. */
int rule_gru_cell(struct wnn_rule *rule)
{
	const WNNGruCellOptions *options = rule_options(rule, WNNGruCellOptions);
	struct recurrent r = { .gates = 3,
			       .cell = true,
			       .directions = 1,
			       .activations = options->activations,
			       .num_activations = 2 };
	union ir_attrs attrs = { .rnn = {
					 .reset_after = options->resetAfter,
					 .gate_order = options->layout == WNNGruWeightLayout_Rzn,
				 } };
	struct ir_value *operands[6] = {
		rule_value(rule, 0), rule_value(rule, 1), rule_value(rule, 2),
		rule_value(rule, 4), rule_value(rule, 5), rule_value(rule, 3),
	};
	struct ir_type type;

	if (check_sizes(rule, &r) || check_weights(rule, &r) || check_states(rule, &r, 3, 1) ||
	    check_vectors(rule, &r, 4, 2, 3 * r.hidden_size) || set_activations(rule, &r, &attrs))
		return -1;
	set_common(&r, &attrs);
	type = ir_type_make(dtype_of(rule), 2, (int64_t[]){ r.batch, r.hidden_size });
	return rule_emit(rule, IR_OP_GRU, operands, 6, &type, &attrs);
}

int rule_lstm(struct wnn_rule *rule)
{
	const WNNLstmOptions *options = rule_options(rule, WNNLstmOptions);
	bool both = options->direction == WNNRecurrentNetworkDirection_Both;
	struct recurrent r = { .gates = 4,
			       .directions = both ? 2 : 1,
			       .activations = options->activations,
			       .num_activations = 3 };
	union ir_attrs attrs = { .rnn = {
					 .return_sequence = options->returnSequence,
					 .direction = ir_direction(options->direction),
					 .gate_order = options->layout == WNNLstmWeightLayout_Ifgo,
				 } };

	if (find_details(rule, &r) || check_sizes(rule, &r) || check_weights(rule, &r) ||
	    check_vectors(rule, &r, 3, 2, 4 * r.hidden_size) ||
	    check_vectors(rule, &r, 5, 1, 3 * r.hidden_size) || check_states(rule, &r, 6, 2) ||
	    set_activations(rule, &r, &attrs) || set_details(rule, &r, &attrs))
		return -1;
	return emit_sequence(rule, IR_OP_LSTM, &r, 2, &attrs);
}

/* Adds an IR_OP_LSTM node, which has the states as its last operands. Returns 0 or -1. */
int rule_lstm_cell(struct wnn_rule *rule)
{
	const WNNLstmCellOptions *options = rule_options(rule, WNNLstmCellOptions);
	struct recurrent r = { .gates = 4,
			       .cell = true,
			       .directions = 1,
			       .activations = options->activations,
			       .num_activations = 3 };
	union ir_attrs attrs = { .rnn = {
					 .gate_order = options->layout == WNNLstmWeightLayout_Ifgo,
				 } };
	struct ir_value *operands[8] = {
		rule_value(rule, 0), rule_value(rule, 1), rule_value(rule, 2), rule_value(rule, 5),
		rule_value(rule, 6), rule_value(rule, 7), rule_value(rule, 3), rule_value(rule, 4),
	};
	struct ir_type types[2];

	if (check_sizes(rule, &r) || check_weights(rule, &r) || check_states(rule, &r, 3, 2) ||
	    check_vectors(rule, &r, 5, 2, 4 * r.hidden_size) ||
	    check_vectors(rule, &r, 7, 1, 3 * r.hidden_size) || set_activations(rule, &r, &attrs) ||
	    rule_output_count(rule, 2))
		return -1;
	set_common(&r, &attrs);
	types[0] = ir_type_make(dtype_of(rule), 2, (int64_t[]){ r.batch, r.hidden_size });
	types[1] = types[0];
	return rule_emit_results(rule, IR_OP_LSTM, operands, 8, types, 2, &attrs);
}
