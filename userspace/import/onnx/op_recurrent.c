// SPDX-License-Identifier: MIT
/*
 * Recurrent networks become WebNN's operators lstm and gru, which have the same gates in the same
 * order, with WNNRecurrentDetails where a node asks for more. A network of two directions with
 * different activations becomes two networks.
 */
#include <string.h>

#include <webnn/webnn_npu.h>

#include "ops.h"

#define SIZE(array) (sizeof(array) / sizeof((array)[0]))

struct recurrent {
	WNNOperand x, w, r, bias, recurrent_bias, h, c, peephole;
	WNNOperand lengths; /* length of each sequence; NULL: all are as long as the input */
	uint32_t steps, hidden, directions, gates;
	bool batch_first;
	bool coupled;	  /* the forget gate of an LSTM is 1 minus its input gate */
	bool reset_after; /* a GRU applies the reset gate after the recurrent product */
	double clip;	  /* bound of the gates' inputs; 0: none */
	WNNRecurrentNetworkDirection direction;
	uint32_t activation_count;		  /* number of activations for one direction */
	WNNRecurrentActivation activations[2][3]; /* of each direction */
};

/* The outputs of a network: the last states, hidden and cell, and the states of all steps. */
struct outputs {
	WNNOperand state[2], sequence;
};

static const struct {
	const char *name;
	bool has_alpha, has_beta;
	double alpha, beta; /* defaults of the attributes */
	WNNRecurrentFunction function;
} functions[] = {
	{ "Relu", false, false, 0, 0, WNNRecurrentFunction_Relu },
	{ "Sigmoid", false, false, 0, 0, WNNRecurrentFunction_Sigmoid },
	{ "Tanh", false, false, 0, 0, WNNRecurrentFunction_Tanh },
	{ "Affine", true, true, 1, 0, WNNRecurrentFunction_Linear },
	{ "LeakyRelu", true, false, 0.01, 0, WNNRecurrentFunction_LeakyRelu },
	{ "ThresholdedRelu", true, false, 1, 0, WNNRecurrentFunction_ThresholdedRelu },
	{ "ScaledTanh", true, true, 1, 1, WNNRecurrentFunction_ScaledTanh },
	{ "HardSigmoid", true, true, 0.2, 0.5, WNNRecurrentFunction_HardSigmoid },
	{ "Elu", true, false, 1, 0, WNNRecurrentFunction_Elu },
	{ "Softsign", false, false, 0, 0, WNNRecurrentFunction_Softsign },
	{ "Softplus", false, false, 0, 0, WNNRecurrentFunction_Softplus },
};

static bool is_name(const ProtobufCBinaryData *text, const char *name)
{
	if (text->len != strlen(name))
		return false;
	for (size_t i = 0; i < text->len; i++)
		if ((text->data[i] | 32) != (name[i] | 32))
			return false;
	return true;
}

/*
 * Returns the next item of alphas or betas if the function has this parameter: the lists have items
 * only for functions that do.
 */
static double parameter(const Onnx__AttributeProto *attr, size_t *used, bool has, double fallback)
{
	return has && attr && *used < attr->n_floats ? (double)attr->floats[(*used)++] : fallback;
}

/* Returns the activation that is item i of the attribute. */
static WNNRecurrentActivation *activation(struct recurrent *n, size_t i)
{
	return &n->activations[i / n->activation_count][i % n->activation_count];
}

static int read_activations(struct onnx_node *node, struct recurrent *n)
{
	const Onnx__AttributeProto *attr = onnx_attr(node, "activations");
	const Onnx__AttributeProto *alphas = onnx_attr(node, "activation_alpha");
	const Onnx__AttributeProto *betas = onnx_attr(node, "activation_beta");
	size_t alpha = 0, beta = 0;

	for (uint32_t i = 0; i < n->activation_count * n->directions; i++)
		activation(n, i)->function = i % n->activation_count || n->gates == 1 ?
						     WNNRecurrentFunction_Tanh :
						     WNNRecurrentFunction_Sigmoid;
	if (!attr || !attr->n_strings)
		return 0;
	if (attr->n_strings != n->activation_count * n->directions)
		return onnx_refuse(node, "activations", "activations has %zu items instead of %u",
				   attr->n_strings, n->activation_count * n->directions);
	for (size_t i = 0; i < attr->n_strings; i++) {
		size_t k = 0;

		while (k < SIZE(functions) && !is_name(&attr->strings[i], functions[k].name))
			k++;
		if (k == SIZE(functions))
			return onnx_refuse(
				node, "activations",
				"activation \"%.*s\" is not known: allowed are Relu, Sigmoid, "
				"Tanh, Affine, LeakyRelu, ThresholdedRelu, ScaledTanh, "
				"HardSigmoid, Elu, Softsign and Softplus",
				(int)(attr->strings[i].len < 100 ? attr->strings[i].len : 100),
				(const char *)attr->strings[i].data);
		*activation(n, i) = (WNNRecurrentActivation){
			.function = functions[k].function,
			.alpha = parameter(alphas, &alpha, functions[k].has_alpha,
					   functions[k].alpha),
			.beta = parameter(betas, &beta, functions[k].has_beta, functions[k].beta),
		};
	}
	return 0;
}

static WNNOperand optional(struct onnx_node *node, size_t input, int *result)
{
	WNNOperand x = NULL;

	if (onnx_has(node, input) && !(x = onnx_in(node, input)))
		*result = -1;
	return x;
}

static int read_lengths(struct onnx_node *node, struct recurrent *n)
{
	const struct onnx_value *value = onnx_has(node, 4) ? node->inputs[4] : NULL;
	int64_t batch = x_shape(n->x).dim[1];
	bool full = value && value->data;

	if (!value)
		return 0;
	if (value->shape.rank != 1 || value->shape.dim[0] != batch)
		return onnx_refuse(node, "sequence_lens",
				   "sequence_lens has a wrong shape: the inputs are %s",
				   onnx_inputs_text(node));
	for (int64_t i = 0; full && i < batch; i++)
		full = onnx_value_int(value, (size_t)i) == n->steps;
	if (full)
		return 0;
	n->lengths = onnx_in(node, 4);
	return n->lengths ? 0 : -1;
}

static int read_bias(struct onnx_node *node, struct recurrent *n)
{
	int64_t size = (int64_t)n->gates * n->hidden;
	int result = 0;
	WNNOperand bias = optional(node, 3, &result);

	if (!bias)
		return result;
	if (x_shape(bias).rank != 2 || x_shape(bias).dim[1] != 2 * size ||
	    x_shape(bias).dim[0] != n->directions)
		return onnx_refuse(node, "B", "B has shape %s instead of [%u,%lld]",
				   onnx_shape_text(node->import->arena, onnx_in_shape(node, 3)),
				   n->directions, 2 * (long long)size);
	n->bias = x_slice_axis(node, bias, 1, 0, size, 1);
	n->recurrent_bias = x_slice_axis(node, bias, 1, size, size, 1);
	return n->bias && n->recurrent_bias ? 0 : onnx_out(node, 0, NULL);
}

static int check_shapes(struct onnx_node *node, const struct recurrent *n)
{
	struct onnx_shape w = x_shape(n->w), r = x_shape(n->r), x = x_shape(n->x);

	if (x.rank != 3 || w.rank != 3 || r.rank != 3)
		return onnx_refuse(node, "", "X, W and R must have 3 dimensions");
	if (w.dim[0] != r.dim[0] ||
	    w.dim[0] != 1 + (n->direction == WNNRecurrentNetworkDirection_Both) ||
	    w.dim[1] != n->gates * r.dim[2] || r.dim[1] != n->gates * r.dim[2] ||
	    w.dim[2] != x.dim[2])
		return onnx_refuse(
			node, "", "the shapes of X, W and R do not fit together: the inputs are %s",
			onnx_inputs_text(node));
	return 0;
}

static int check_attributes(struct onnx_node *node, const struct recurrent *n)
{
	int64_t hidden = x_shape(n->r).dim[2], layout = onnx_attr_int(node, "layout", 0);
	int64_t given = onnx_attr_int(node, "hidden_size", hidden);

	if (given != hidden)
		return onnx_refuse(node, "hidden_size",
				   "the node is damaged: hidden_size is %lld, and R has %lld "
				   "columns",
				   (long long)given, (long long)hidden);
	if (layout != 0 && layout != 1)
		return onnx_refuse(node, "layout", "layout is %lld: 0 and 1 are allowed",
				   (long long)layout);
	return 0;
}

/* Swaps the first two dimensions. */
static void turn(struct onnx_shape *shape)
{
	int64_t first = shape->dim[0];

	shape->dim[0] = shape->dim[1];
	shape->dim[1] = first;
}

static int check_state(struct onnx_node *node, const struct recurrent *n, WNNOperand state,
		       const char *name)
{
	struct onnx_shape wanted = { 3, { n->directions, x_shape(n->x).dim[1], n->hidden } }, own;

	if (!state)
		return 0;
	own = x_shape(state);
	if (onnx_shape_same(&own, &wanted))
		return 0;
	/* The model has the batch first, in both shapes. */
	if (n->batch_first) {
		turn(&own);
		turn(&wanted);
	}
	return onnx_refuse(node, name, "%s has shape %s instead of %s", name,
			   onnx_shape_text(node->import->arena, &own),
			   onnx_shape_text(node->import->arena, &wanted));
}

static int read_inputs(struct onnx_node *node, uint32_t gates, struct recurrent *n)
{
	static const char *const directions[] = {
		[WNNRecurrentNetworkDirection_Forward] = "forward",
		[WNNRecurrentNetworkDirection_Backward] = "reverse",
		[WNNRecurrentNetworkDirection_Both] = "bidirectional",
	};
	int result = 0, direction = onnx_attr_choice(node, "direction", "forward", directions,
						     SIZE(directions));

	*n = (struct recurrent){ .gates = gates, .activation_count = gates == 1 ? 1 : gates - 1 };
	n->batch_first = onnx_attr_int(node, "layout", 0);
	n->coupled = onnx_attr_int(node, "input_forget", 0);
	n->reset_after = onnx_attr_int(node, "linear_before_reset", 0);
	n->clip = onnx_attr_float(node, "clip", 0);
	if (direction < 0)
		return -1;
	n->direction = (WNNRecurrentNetworkDirection)direction;
	if (!(n->x = onnx_in(node, 0)) || !(n->w = onnx_in(node, 1)) || !(n->r = onnx_in(node, 2)))
		return -1;
	if (check_shapes(node, n) || check_attributes(node, n))
		return -1;
	if (n->batch_first)
		n->x = x_move_axis(node, n->x, 1, 0);
	n->h = optional(node, 5, &result);
	n->c = gates == 4 ? optional(node, 6, &result) : NULL;
	n->peephole = gates == 4 ? optional(node, 7, &result) : NULL;
	if (n->h && n->batch_first)
		n->h = x_move_axis(node, n->h, 1, 0);
	if (n->c && n->batch_first)
		n->c = x_move_axis(node, n->c, 1, 0);
	if (result || !n->x)
		return -1;
	n->steps = (uint32_t)x_shape(n->x).dim[0];
	n->hidden = (uint32_t)x_shape(n->r).dim[2];
	n->directions = (uint32_t)x_shape(n->w).dim[0];
	if (n->peephole &&
	    (x_shape(n->peephole).rank != 2 || x_shape(n->peephole).dim[0] != n->directions ||
	     x_shape(n->peephole).dim[1] != 3 * (int64_t)n->hidden))
		return onnx_refuse(node, "P", "P has shape %s instead of [%u,%lld]",
				   onnx_shape_text(node->import->arena, onnx_in_shape(node, 7)),
				   n->directions, 3 * (long long)n->hidden);
	if (check_state(node, n, n->h, "initial_h") || check_state(node, n, n->c, "initial_c"))
		return -1;
	return read_bias(node, n) || read_lengths(node, n) ? -1 : read_activations(node, n);
}

/* Sets output Y and the last states; with layout 1 the batch comes first. Returns 0 or -1. */
static int write_outputs(struct onnx_node *node, const struct recurrent *n,
			 const struct outputs *outputs)
{
	static const uint32_t batch_first[] = { 2, 0, 1, 3 };
	WNNOperand sequence = outputs->sequence;

	if (onnx_wants(node, 0) &&
	    onnx_out(node, 0, n->batch_first ? x_transpose(node, sequence, batch_first) : sequence))
		return -1;
	for (size_t i = 0; i < (n->gates == 4 ? 2 : 1); i++) {
		WNNOperand state = outputs->state[i];

		if (onnx_wants(node, 1 + i) &&
		    onnx_out(node, 1 + i, n->batch_first ? x_move_axis(node, state, 1, 0) : state))
			return -1;
	}
	return 0;
}

/*
 * Returns the details of a recurrent operator for WebNN. The peephole of the output gate is late,
 * because in ONNX it reads the new cell state.
 */
static WNNRecurrentDetails details_of(const struct recurrent *n)
{
	WNNRecurrentDetails details = WNN_RECURRENT_DETAILS_INIT;

	details.sequenceLengths = n->lengths;
	details.clip = n->clip > 0 ? n->clip : 0;
	details.coupledGates = n->coupled;
	details.latePeephole = n->peephole != NULL;
	details.plain = n->gates == 1;
	details.activationCount = n->activation_count;
	details.activations = n->activations[0];
	return details;
}

static int add_lstm(struct onnx_node *node, const struct recurrent *n, struct outputs *outputs)
{
	WNNRecurrentDetails details = details_of(n);
	WNNLstmOptions options = WNN_LSTM_OPTIONS_INIT;
	WNNOperand all[3] = { NULL };

	options.nextInChain = &details.chain;
	options.label = node->options.label;
	options.peepholeWeight = n->peephole;
	options.bias = n->bias;
	options.recurrentBias = n->recurrent_bias;
	options.initialHiddenState = n->h;
	options.initialCellState = n->c;
	options.returnSequence = WNN_TRUE;
	options.direction = n->direction;
	options.layout = WNNLstmWeightLayout_Iofg;
	if (wnnGraphBuilderLstm(node->b, n->x, n->w, n->r, n->steps, n->hidden, &options, 3, all) !=
	    WNNStatus_Success)
		return onnx_out(node, 0, NULL);
	*outputs = (struct outputs){ { all[0], all[1] }, all[2] };
	return 0;
}

static int add_gru(struct onnx_node *node, const struct recurrent *n, struct outputs *outputs)
{
	WNNRecurrentDetails details = details_of(n);
	WNNGruOptions options = WNN_GRU_OPTIONS_INIT;
	WNNOperand all[2] = { NULL };

	options.nextInChain = &details.chain;
	options.label = node->options.label;
	options.bias = n->bias;
	options.recurrentBias = n->recurrent_bias;
	options.initialHiddenState = n->h;
	options.resetAfter = n->reset_after;
	options.returnSequence = WNN_TRUE;
	options.direction = n->direction;
	options.layout = WNNGruWeightLayout_Zrn;
	if (wnnGraphBuilderGru(node->b, n->x, n->w, n->r, n->steps, n->hidden, &options, 2, all) !=
	    WNNStatus_Success)
		return onnx_out(node, 0, NULL);
	*outputs = (struct outputs){ { all[0] }, all[1] };
	return 0;
}

static int add_network(struct onnx_node *node, const struct recurrent *n, struct outputs *outputs)
{
	return n->gates == 4 ? add_lstm(node, n, outputs) : add_gru(node, n, outputs);
}

/* Sets @n to direction @d alone of a network of two directions. Returns 0 or -1. */
static int one_direction(struct onnx_node *node, const struct recurrent *both, uint32_t d,
			 struct recurrent *n)
{
	WNNOperand *const of_directions[] = { &n->w, &n->r, &n->bias,	 &n->recurrent_bias,
					      &n->h, &n->c, &n->peephole };

	*n = *both;
	for (size_t i = 0; i < SIZE(of_directions); i++) {
		WNNOperand *operand = of_directions[i];

		if (*operand && !(*operand = x_slice_axis(node, *operand, 0, d, 1, 1)))
			return onnx_out(node, 0, NULL);
	}
	n->directions = 1;
	n->direction = d ? WNNRecurrentNetworkDirection_Backward :
			   WNNRecurrentNetworkDirection_Forward;
	memcpy(n->activations[0], both->activations[d], sizeof(n->activations[0]));
	return 0;
}

/* Adds a network for each direction, and joins their outputs. Returns 0 or -1. */
static int add_directions(struct onnx_node *node, const struct recurrent *both,
			  struct outputs *outputs)
{
	struct outputs one[2] = { 0 };

	for (uint32_t d = 0; d < 2; d++) {
		struct recurrent n;

		if (one_direction(node, both, d, &n) || add_network(node, &n, &one[d]))
			return -1;
	}
	for (size_t i = 0; i < 2 && one[0].state[i]; i++)
		outputs->state[i] =
			x_concat(node, 2, (WNNOperand[]){ one[0].state[i], one[1].state[i] }, 0);
	outputs->sequence =
		x_concat(node, 2, (WNNOperand[]){ one[0].sequence, one[1].sequence }, 1);
	return 0;
}

static bool same_activations(const struct recurrent *n)
{
	for (uint32_t i = 0; n->directions == 2 && i < n->activation_count; i++) {
		const WNNRecurrentActivation *a = &n->activations[0][i], *b = &n->activations[1][i];

		if (a->function != b->function || a->alpha != b->alpha || a->beta != b->beta)
			return false;
	}
	return true;
}

static int recurrent(struct onnx_node *node, uint32_t gates)
{
	struct outputs outputs = { 0 };
	struct recurrent n;

	if (read_inputs(node, gates, &n))
		return -1;
	if (same_activations(&n) ? add_network(node, &n, &outputs) :
				   add_directions(node, &n, &outputs))
		return -1;
	return write_outputs(node, &n, &outputs);
}

int onnx_op_rnn(struct onnx_node *node)
{
	return recurrent(node, 1);
}

int onnx_op_gru(struct onnx_node *node)
{
	return recurrent(node, 3);
}

int onnx_op_lstm(struct onnx_node *node)
{
	return recurrent(node, 4);
}

/*
 * Returns weights [directions, size, gates] of integers, with a scale for each direction or gate,
 * as floats [directions, gates, size].
 */
static struct onnx_value *dequantised(struct onnx_node *node, size_t input, size_t scale_at)
{
	static const uint32_t turned[] = { 0, 2, 1 };
	struct onnx_shape shape = *onnx_in_shape(node, input), one = { 3, { 1, 1, 1 } }, own;
	WNNOperand x = onnx_in(node, input), scale = onnx_in(node, scale_at);
	WNNOperand zero = onnx_in(node, scale_at + 1);

	if (!x || !scale || !zero)
		return NULL;
	own = x_shape(scale);
	if (shape.rank != 3 || own.rank < 1 || own.rank > 2 || own.dim[0] != shape.dim[0] ||
	    (own.rank == 2 && own.dim[1] != shape.dim[2])) {
		onnx_refuse(node, "", "weights and scales do not fit together: the inputs are %s",
			    onnx_inputs_text(node));
		return NULL;
	}
	one.dim[0] = own.dim[0];
	one.dim[2] = own.rank == 2 ? own.dim[1] : 1;
	x = wnnGraphBuilderDequantizeLinear(node->b, x, x_reshape(node, scale, &one),
					    x_reshape(node, zero, &one), &node->options);
	return onnx_value_of(node, x_transpose(node, x, turned), ONNX_FLOAT);
}

/*
 * Translates DynamicQuantizeLSTM of com.microsoft: an LSTM with weights of integers. ONNX Runtime
 * also rounds inputs and states to 8 bits, which would only lose precision here.
 */
int onnx_op_dynamic_quantize_lstm(struct onnx_node *node)
{
	struct onnx_value **inputs = onnx_node_alloc(node, 8 * sizeof(*inputs));

	if (!inputs)
		return -1;
	for (size_t i = 0; i < 8 && i < node->input_count; i++)
		inputs[i] = node->inputs[i];
	inputs[1] = dequantised(node, 1, 8);
	inputs[2] = inputs[1] ? dequantised(node, 2, 10) : NULL;
	if (!inputs[2])
		return -1;
	node->inputs = inputs;
	node->input_count = 8;
	return onnx_op_lstm(node);
}
