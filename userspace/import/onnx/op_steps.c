// SPDX-License-Identifier: MIT
/*
 * Unrolls recurrent networks into steps: RNN, and networks with activations that WebNN's operators
 * lack. The steps also have peepholes, clipping, coupled gates and sequences of different lengths.
 */
#include "recurrent.h"

static WNNOperand activate(struct onnx_node *node, const struct activation *a, WNNOperand x)
{
	WNNLeakyReluOptions leaky = WNN_LEAKY_RELU_OPTIONS_INIT;
	WNNHardSigmoidOptions hard = WNN_HARD_SIGMOID_OPTIONS_INIT;
	WNNEluOptions elu = WNN_ELU_OPTIONS_INIT;

	leaky.label = hard.label = elu.label = node->options.label;
	leaky.alpha = hard.alpha = elu.alpha = a->alpha;
	hard.beta = a->beta;
	switch (a->kind) {
	case A_RELU:
		return x_relu(node, x);
	case A_SIGMOID:
		return x_sigmoid(node, x);
	case A_TANH:
		return x_tanh(node, x);
	case A_AFFINE:
		return x_linear(node, x, a->alpha, a->beta);
	case A_LEAKY_RELU:
		return wnnGraphBuilderLeakyRelu(node->b, x, &leaky);
	case A_THRESHOLDED_RELU:
		return x_where(node, x_greater(node, x, x_like(node, x, a->alpha)), x,
			       x_like(node, x, 0));
	case A_SCALED_TANH:
		return x_linear(node, x_tanh(node, x_linear(node, x, a->beta, 0)), a->alpha, 0);
	case A_HARD_SIGMOID:
		return wnnGraphBuilderHardSigmoid(node->b, x, &hard);
	case A_ELU:
		return wnnGraphBuilderElu(node->b, x, &elu);
	case A_SOFTSIGN:
		return wnnGraphBuilderSoftsign(node->b, x, &node->options);
	default:
		return x_softplus(node, x);
	}
}

/* Returns the activation of a gate, with its input clipped. */
static WNNOperand activate_gate(struct onnx_node *node, const struct recurrent *n,
				const struct activation *a, WNNOperand x)
{
	if (n->clip > 0)
		x = x_clamp(node, x, -n->clip, n->clip);
	return activate(node, a, x);
}

/* Operands of one direction of the network. */
struct steps {
	const struct recurrent *n;
	const struct activation *f;
	WNNOperand r;		/* recurrence weights, transposed: [hidden, gates] */
	WNNOperand bias;	/* recurrence bias of a GRU's hidden gate, else NULL */
	WNNOperand peephole[3]; /* peephole weights of input, output and forget gate */
	WNNOperand h, c;	/* states: [batch, hidden] */
};

static WNNOperand gate(struct onnx_node *node, const struct steps *s, WNNOperand gates,
		       uint32_t index)
{
	return x_slice_axis(node, gates, 1, (int64_t)index * s->n->hidden, s->n->hidden, 1);
}

static WNNOperand peep(struct onnx_node *node, const struct steps *s, uint32_t index, WNNOperand x,
		       WNNOperand cell)
{
	if (!s->peephole[index])
		return x;
	return x_add(node, x, x_mul(node, s->peephole[index], cell));
}

static WNNOperand rnn_step(struct onnx_node *node, struct steps *s, WNNOperand x)
{
	x = x_add(node, x, x_matmul(node, s->h, s->r));
	return activate_gate(node, s->n, &s->f[0], x);
}

/*
 * Computes a step of an LSTM: returns the new state and sets *cell to the new cell state. @x holds
 * the products of the gates input, output, forget and cell.
 */
static WNNOperand lstm_step(struct onnx_node *node, struct steps *s, WNNOperand x, WNNOperand *cell)
{
	WNNOperand all = x_add(node, x, x_matmul(node, s->h, s->r)), i, o, f, c;

	i = activate_gate(node, s->n, &s->f[0], peep(node, s, 0, gate(node, s, all, 0), s->c));
	if (s->n->coupled)
		f = x_linear(node, i, -1, 1);
	else
		f = activate_gate(node, s->n, &s->f[0],
				  peep(node, s, 2, gate(node, s, all, 2), s->c));
	c = activate_gate(node, s->n, &s->f[1], gate(node, s, all, 3));
	*cell = x_add(node, x_mul(node, f, s->c), x_mul(node, i, c));
	o = activate_gate(node, s->n, &s->f[0], peep(node, s, 1, gate(node, s, all, 1), *cell));
	/*
	 * The cell is not clipped, as in ONNX Runtime: the specification clips inputs of gates
	 * alone.
	 */
	return x_mul(node, o, activate(node, &s->f[2], *cell));
}

/*
 * Returns the new state of a GRU after one step. @x holds the products of the gates update, reset
 * and hidden.
 */
static WNNOperand gru_step(struct onnx_node *node, struct steps *s, WNNOperand x)
{
	int64_t hidden = s->n->hidden;
	WNNOperand both, z, r, h, product;

	both = x_matmul(node, s->h, x_slice_axis(node, s->r, 1, 0, 2 * hidden, 1));
	both = x_add(node, x_slice_axis(node, x, 1, 0, 2 * hidden, 1), both);
	both = activate_gate(node, s->n, &s->f[0], both);
	z = gate(node, s, both, 0);
	r = gate(node, s, both, 1);
	product = s->n->reset_after ? s->h : x_mul(node, r, s->h);
	product = x_matmul(node, product, x_slice_axis(node, s->r, 1, 2 * hidden, hidden, 1));
	if (s->bias)
		product = x_add(node, product, s->bias);
	if (s->n->reset_after)
		product = x_mul(node, r, product);
	h = activate_gate(node, s->n, &s->f[1], x_add(node, gate(node, s, x, 2), product));
	return x_add(node, h, x_mul(node, z, x_sub(node, s->h, h)));
}

/* Returns the slice at index @d of the first dimension, which keeps size 1. */
static WNNOperand row(struct onnx_node *node, WNNOperand x, uint32_t d)
{
	return x ? x_slice_axis(node, x, 0, d, 1, 1) : NULL;
}

/* Multiplies the inputs of all steps by the weights at once, and adds the biases. */
static WNNOperand input_products(struct onnx_node *node, struct steps *s, uint32_t d)
{
	const struct recurrent *n = s->n;
	WNNOperand x, bias = row(node, n->bias, d), recurrent = row(node, n->recurrent_bias, d);

	x = x_matmul(node, n->x, x_move_axis(node, x_at(node, n->w, 0, d), 1, 0));
	if (bias)
		x = x_add(node, x, bias);
	if (recurrent && n->gates == 3) {
		/*
		 * The recurrence bias of the hidden gate is added to the product that the reset
		 * gate may scale.
		 */
		WNNOperand first = x_slice_axis(node, recurrent, 1, 0, 2 * (int64_t)n->hidden, 1),
			   zeros;
		struct onnx_shape shape = { 2, { 1, n->hidden } };

		s->bias = x_slice_axis(node, recurrent, 1, 2 * (int64_t)n->hidden, n->hidden, 1);
		zeros = x_expand(node, x_like(node, first, 0), &shape);
		recurrent = x_concat(node, 2, (WNNOperand[]){ first, zeros }, 1);
	}
	return recurrent ? x_add(node, x, recurrent) : x;
}

static WNNOperand initial(struct onnx_node *node, const struct recurrent *n, WNNOperand state,
			  uint32_t d)
{
	struct onnx_shape shape = { 2, { x_shape(n->x).dim[1], n->hidden } };

	return state ? x_at(node, state, 0, d) : x_expand(node, x_like(node, n->x, 0), &shape);
}

static WNNOperand one_step(struct onnx_node *node, struct steps *s, WNNOperand x, uint32_t step)
{
	WNNOperand h, c = NULL, y;

	h = s->n->gates == 1 ? rnn_step(node, s, x) :
	    s->n->gates == 3 ? gru_step(node, s, x) :
			       lstm_step(node, s, x, &c);
	y = h;
	if (s->n->lengths) {
		/* In steps after the end of a sequence, its states stay and its outputs are 0. */
		struct onnx_shape column = { 2, { x_shape(s->n->lengths).dim[0], 1 } };
		WNNOperand inside =
			x_greater(node, x_reshape(node, s->n->lengths, &column),
				  x_integer(node, wnnOperandGetDataType(s->n->lengths), step));

		y = x_where(node, inside, h, x_like(node, h, 0));
		h = x_where(node, inside, h, s->h);
		c = c ? x_where(node, inside, c, s->c) : NULL;
	}
	s->h = h;
	s->c = c;
	return y;
}

/* Runs one direction, and returns its outputs [steps, 1, batch, hidden]. */
static WNNOperand run(struct onnx_node *node, struct steps *s, uint32_t d)
{
	const struct recurrent *n = s->n;
	bool backward = d || n->direction == WNNRecurrentNetworkDirection_Backward;
	WNNOperand *ys = onnx_node_alloc(node, n->steps * sizeof(*ys)), products;

	products = input_products(node, s, d);
	if (!ys || !products)
		return NULL;
	for (uint32_t i = 0; i < n->steps; i++) {
		uint32_t step = backward ? n->steps - 1 - i : i;
		struct onnx_shape shape = { 4, { 1, 1, x_shape(n->x).dim[1], n->hidden } };

		ys[step] = one_step(node, s, x_at(node, products, 0, step), step);
		ys[step] = x_reshape(node, ys[step], &shape);
		if (!ys[step])
			return NULL;
	}
	return x_concat(node, n->steps, ys, 0);
}

int onnx_recurrent_steps(struct onnx_node *node, const struct recurrent *n, WNNOperand *sequence,
			 WNNOperand *states)
{
	WNNOperand ys[2] = { NULL }, hs[2], cs[2];

	if (onnx_unroll(node, (uint64_t)n->steps * n->directions * 24))
		return -1;
	for (uint32_t d = 0; d < n->directions; d++) {
		struct steps s = { .n = n, .f = &n->functions[d * n->activation_count] };

		s.r = x_move_axis(node, x_at(node, n->r, 0, d), 1, 0);
		s.h = initial(node, n, n->h, d);
		if (n->gates == 4)
			s.c = initial(node, n, n->c, d);
		for (uint32_t k = 0; n->peephole && k < 3; k++)
			s.peephole[k] = x_slice_axis(node, row(node, n->peephole, d), 1,
						     (int64_t)k * n->hidden, n->hidden, 1);
		ys[d] = run(node, &s, d);
		hs[d] = ys[d] ? x_unsqueeze(node, s.h, 0) : NULL;
		cs[d] = ys[d] && s.c ? x_unsqueeze(node, s.c, 0) : NULL;
		if (!hs[d])
			return onnx_out(node, 0, NULL);
	}
	*sequence = x_concat(node, n->directions, ys, 1);
	states[0] = x_concat(node, n->directions, hs, 0);
	if (n->gates == 4)
		states[1] = x_concat(node, n->directions, cs, 0);
	return 0;
}
