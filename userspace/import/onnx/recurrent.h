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
	WNNOperand lengths; /* length of each sequence; NULL: all are as long as the input */
	uint32_t steps, hidden, directions, gates;
	bool batch_first;
	bool coupled;	  /* the forget gate of an LSTM is 1 minus its input gate */
	bool reset_after; /* a GRU applies the reset gate after the recurrent product */
	double clip;	  /* bound of the gates' inputs; 0: none */
	WNNRecurrentNetworkDirection direction;
	uint32_t activation_count;	/* number of activations for one direction */
	struct activation functions[6]; /* activations of both directions */
};

/* Sets the outputs of all steps and the last states. Returns 0; -1: refused. */
int onnx_recurrent_steps(struct onnx_node *node, const struct recurrent *n, WNNOperand *sequence,
			 WNNOperand *states);

#endif
