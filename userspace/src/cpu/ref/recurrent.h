/* SPDX-License-Identifier: MIT */
/*
 * Sizes, operands and the order of gates of a recurrent network, read from its node; for the
 * kernels.
 */
#ifndef WNN_CPU_RECURRENT_H
#define WNN_CPU_RECURRENT_H

#include "cpu/element.h"

struct cpu_recurrent {
	const struct ir_node *node;
	enum ir_dtype dtype;
	bool lstm;
	int64_t steps, batch, input, hidden, directions;
	int64_t gates; /* number of gates: 1 (plain), 3 (gru) or 4 (lstm) */
	/* NULL when absent. The first axis of all these but x is the direction. */
	const void *x, *weight, *recurrent, *bias, *recurrent_bias, *peephole, *hidden_state,
		*cell_state;
	const int32_t *lengths;
	void *last_hidden, *last_cell, *sequence;
	/* position in the weights of the gates z, r, n (gru) or i, o, f, g (lstm), in this order */
	int gate[4];
};

static inline const void *cpu_optional(const struct ir_node *node, const void *const *in,
				       uint32_t i)
{
	return i < node->num_operands && node->operands[i] ? in[i] : NULL;
}

static inline struct cpu_recurrent cpu_recurrent_of(const struct ir_node *node,
						    const void *const *in, void *const *out)
{
	const struct ir_type *x = &node->operands[0]->type;
	bool lstm = node->op == IR_OP_LSTM;
	bool other = node->attrs.rnn.gate_order && !node->attrs.rnn.plain;
	struct cpu_recurrent r = {
		.node = node,
		.dtype = x->dtype,
		.lstm = lstm,
		.steps = node->attrs.rnn.steps,
		.batch = ir_type_dim(x, x->rank - 2),
		.input = ir_type_dim(x, x->rank - 1),
		.hidden = node->attrs.rnn.hidden_size,
		.directions = node->attrs.rnn.direction == IR_BOTH ? 2 : 1,
		.gates = ir_rnn_gates(node),
		.x = in[0],
		.weight = in[1],
		.recurrent = in[2],
		.bias = cpu_optional(node, in, 3),
		.recurrent_bias = cpu_optional(node, in, 4),
		.peephole = lstm ? cpu_optional(node, in, 5) : NULL,
		.hidden_state = cpu_optional(node, in, lstm ? 6 : 5),
		.cell_state = lstm ? cpu_optional(node, in, 7) : NULL,
		.lengths = cpu_optional(node, in, lstm ? 8 : 6),
		.last_hidden = out[0],
		.last_cell = lstm ? out[1] : NULL,
		.sequence = node->attrs.rnn.return_sequence ? out[lstm ? 2 : 1] : NULL,
	};

	if (lstm) /* gate order iofg or ifgo */
		memcpy(r.gate, other ? (int[]){ 0, 3, 1, 2 } : (int[]){ 0, 1, 2, 3 },
		       sizeof(r.gate));
	else /* gate order zrn or rzn */
		memcpy(r.gate, other ? (int[]){ 1, 0, 2, 3 } : (int[]){ 0, 1, 2, 3 },
		       sizeof(r.gate));
	return r;
}

/*
 * Whether step t lies within the sequence of an item of the batch; t counts in the order of time.
 */
static inline bool cpu_recurrent_inside(const struct cpu_recurrent *r, int64_t batch, int64_t t)
{
	return !r->lengths || t < r->lengths[batch];
}

/* Returns the step, in the order of time, that a direction computes as its s-th. */
static inline int64_t cpu_recurrent_step(const struct cpu_recurrent *r, int64_t direction,
					 int64_t s)
{
	bool backward = r->node->attrs.rnn.direction == IR_BACKWARD || direction == 1;

	return backward ? r->steps - 1 - s : s;
}

#endif
