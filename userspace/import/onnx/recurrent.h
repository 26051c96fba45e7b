/* SPDX-License-Identifier: MIT */
/*
 * Attributes and activations of recurrent networks, for both translations: WebNN's operators
 * (op_recurrent.c) and single steps (op_steps.c).
 */
#ifndef ONNX_RECURRENT_H
#define ONNX_RECURRENT_H

#include "node.h"

enum activation_kind {
	A_RELU,
	A_SIGMOID,
	A_TANH,
	A_AFFINE,
	A_LEAKY_RELU,
	A_THRESHOLDED_RELU,
	A_SCALED_TANH,
	A_HARD_SIGMOID,
	A_ELU,
	A_SOFTSIGN,
	A_SOFTPLUS
};

struct activation {
	enum activation_kind kind;
	double alpha, beta;
};

struct recurrent {
	WNNOperand x, w, r, bias, recurrent_bias, h, c, peephole;
	WNNOperand lengths; /* of the sequences, one a row; NULL: all are as long as the input */
	uint32_t steps, hidden, directions, gates;
	bool batch_first;
	bool coupled;	  /* the forget gate of an LSTM is 1 minus its input gate */
	bool reset_after; /* a GRU resets behind the product */
	double clip;	  /* 0: none */
	WNNRecurrentNetworkDirection direction;
	uint32_t activation_count;	/* of one direction */
	struct activation functions[6]; /* of both directions */
};

/* The outputs of all steps and the last states; refuses and returns -1, or 0. */
int onnx_recurrent_steps(struct onnx_node *node, const struct recurrent *n, WNNOperand *sequence,
			 WNNOperand *states);

#endif
