// SPDX-License-Identifier: MIT
/* LSTM and GRU, which WebNN has with the same gates in the same order. */
#include <string.h>

#include "ops.h"

struct recurrent {
	WNNOperand x, w, r, bias, recurrent_bias, h, c, peephole;
	uint32_t steps, hidden, directions;
	bool batch_first;
	WNNRecurrentNetworkDirection direction;
	WNNRecurrentNetworkActivation activations[3];
};

static int read_activations(struct onnx_node *node, uint32_t count, struct recurrent *n)
{
	static const struct {
		const char *name;
		WNNRecurrentNetworkActivation webnn;
	} known[] = {
		{ "Relu", WNNRecurrentNetworkActivation_Relu },
		{ "Sigmoid", WNNRecurrentNetworkActivation_Sigmoid },
		{ "Tanh", WNNRecurrentNetworkActivation_Tanh },
	};
	const Onnx__AttributeProto *attr = onnx_attr(node, "activations");

	for (uint32_t i = 0; i < 3; i++)
		n->activations[i] = i ? WNNRecurrentNetworkActivation_Tanh :
					WNNRecurrentNetworkActivation_Sigmoid;
	if (!attr || !attr->n_strings)
		return 0;
	if (attr->n_strings != count * n->directions)
		return onnx_refuse(node, "activations", "activations has %zu items",
				   attr->n_strings);
	for (size_t i = 0; i < attr->n_strings; i++) {
		const ProtobufCBinaryData *text = &attr->strings[i];
		WNNRecurrentNetworkActivation found = WNNRecurrentNetworkActivation_Undefined;

		for (size_t k = 0; k < sizeof(known) / sizeof(known[0]); k++)
			if (text->len == strlen(known[k].name) &&
			    !memcmp(text->data, known[k].name, text->len))
				found = known[k].webnn;
		if (!found || (i >= count && found != n->activations[i % count]))
			return onnx_refuse(node, "activations",
					   "WebNN has relu, sigmoid and tanh, the same in both "
					   "directions");
		n->activations[i % count] = found;
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

static int read_lengths(struct onnx_node *node, const struct recurrent *n)
{
	const int64_t *lengths;
	size_t count;

	if (onnx_in_ints(node, 4, "sequence_lens", &lengths, &count))
		return -1;
	for (size_t i = 0; i < count; i++)
		if (lengths[i] != n->steps)
			return onnx_refuse(node, "sequence_lens",
					   "sequences are shorter than the input");
	return 0;
}

static int read_inputs(struct onnx_node *node, uint32_t gates, struct recurrent *n)
{
	const char *direction = onnx_attr_string(node, "direction", "forward");
	WNNOperand bias;
	int result = 0;

	memset(n, 0, sizeof(*n));
	n->batch_first = onnx_attr_int(node, "layout", 0);
	n->direction = !strcmp(direction, "reverse")	   ? WNNRecurrentNetworkDirection_Backward :
		       !strcmp(direction, "bidirectional") ? WNNRecurrentNetworkDirection_Both :
							     WNNRecurrentNetworkDirection_Forward;
	if (!(n->x = onnx_in(node, 0)) || !(n->w = onnx_in(node, 1)) || !(n->r = onnx_in(node, 2)))
		return -1;
	if (x_shape(n->x).rank != 3 || x_shape(n->w).rank != 3 || x_shape(n->r).rank != 3)
		return onnx_refuse(node, "", "X, W and R must have 3 dimensions");
	if (onnx_attr(node, "clip") || onnx_attr_int(node, "input_forget", 0))
		return onnx_refuse(node, "clip", "clip and input_forget are not in WebNN");
	if (n->batch_first)
		n->x = x_move_axis(node, n->x, 1, 0);
	n->steps = (uint32_t)x_shape(n->x).dim[0];
	n->hidden = (uint32_t)x_shape(n->r).dim[2];
	n->directions = (uint32_t)x_shape(n->w).dim[0];
	bias = optional(node, 3, &result);
	if (bias && x_shape(bias).rank == 2 &&
	    x_shape(bias).dim[1] == 2 * (int64_t)gates * n->hidden) {
		n->bias = x_part(node, bias, 1, 0, (int64_t)gates * n->hidden, 1);
		n->recurrent_bias = x_part(node, bias, 1, (int64_t)gates * n->hidden,
					   (int64_t)gates * n->hidden, 1);
	} else if (bias) {
		return onnx_refuse(node, "B", "B has a wrong shape");
	}
	n->h = optional(node, 5, &result);
	if (n->h && n->batch_first)
		n->h = x_move_axis(node, n->h, 1, 0);
	return result || read_lengths(node, n) ? -1 : 0;
}

/* Y, then the last states; with layout 1 the batch comes first. */
static int write_outputs(struct onnx_node *node, const struct recurrent *n, WNNOperand sequence,
			 const WNNOperand *states, size_t count)
{
	static const uint32_t batch_first[] = { 2, 0, 1, 3 };

	if (onnx_wants(node, 0) &&
	    onnx_out(node, 0, n->batch_first ? x_transpose(node, sequence, batch_first) : sequence))
		return -1;
	for (size_t i = 0; i < count; i++)
		if (onnx_wants(node, 1 + i) &&
		    onnx_out(node, 1 + i,
			     n->batch_first ? x_move_axis(node, states[i], 1, 0) : states[i]))
			return -1;
	return 0;
}

int onnx_op_lstm(struct onnx_node *node)
{
	WNNLstmOptions options = WNN_LSTM_OPTIONS_INIT;
	WNNOperand outputs[3] = { NULL };
	struct recurrent n;
	int result = 0;

	if (read_inputs(node, 4, &n) || read_activations(node, 3, &n))
		return -1;
	/* ONNX lets the output gate see the cell after the step, WebNN the one before. */
	if (onnx_has(node, 7))
		return onnx_refuse(node, "P", "WebNN has peepholes of another kind");
	n.c = optional(node, 6, &result);
	if (n.c && n.batch_first)
		n.c = x_move_axis(node, n.c, 1, 0);
	options.label = node->options.label;
	options.bias = n.bias;
	options.recurrentBias = n.recurrent_bias;
	options.initialHiddenState = n.h;
	options.initialCellState = n.c;
	options.returnSequence = WNN_TRUE;
	options.direction = n.direction;
	options.layout = WNNLstmWeightLayout_Iofg;
	options.activations = WNN_RECURRENT_NETWORK_ACTIVATION_ARRAY(n.activations);
	if (result)
		return -1;
	if (wnnGraphBuilderLstm(node->b, n.x, n.w, n.r, n.steps, n.hidden, &options, 3, outputs) !=
	    WNNStatus_Success)
		return onnx_out(node, 0, NULL);
	return write_outputs(node, &n, outputs[2], outputs, 2);
}

int onnx_op_gru(struct onnx_node *node)
{
	WNNGruOptions options = WNN_GRU_OPTIONS_INIT;
	WNNOperand outputs[2] = { NULL };
	struct recurrent n;

	if (read_inputs(node, 3, &n) || read_activations(node, 2, &n))
		return -1;
	options.label = node->options.label;
	options.bias = n.bias;
	options.recurrentBias = n.recurrent_bias;
	options.initialHiddenState = n.h;
	options.resetAfter = onnx_attr_int(node, "linear_before_reset", 0) != 0;
	options.returnSequence = WNN_TRUE;
	options.direction = n.direction;
	options.layout = WNNGruWeightLayout_Zrn;
	options.activations = (WNNRecurrentNetworkActivationArray){ 2, n.activations };
	if (wnnGraphBuilderGru(node->b, n.x, n.w, n.r, n.steps, n.hidden, &options, 2, outputs) !=
	    WNNStatus_Success)
		return onnx_out(node, 0, NULL);
	return write_outputs(node, &n, outputs[1], outputs, 1);
}
