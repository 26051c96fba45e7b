/* SPDX-License-Identifier: MIT */
/*
 * The memory of recurrent networks: what a step reads and writes, and what of it stays in SRAM from
 * the first step to the last.
 */
#ifndef WNN_PLAN_LOWER_RECURRENT_H
#define WNN_PLAN_LOWER_RECURRENT_H

#include "plan/list/plan.h"

/*
 * The regions of the node's scratch memory in the arena. A region that a step makes follows the one
 * that it reads: recurrent_begin() and recurrent_swap() rely on that.
 */
enum region {
	REGION_INPUT,	   /* [dirs, steps, batch, gates * hidden]: input times weight, biases */
	REGION_GATES,	   /* [dirs, batch, gates * hidden]: sums of a step, not yet activated */
	REGION_HIDDEN,	   /* [dirs, batch, hidden]: hidden state, in the type of the operands */
	REGION_NEW_HIDDEN, /* the hidden state that a step makes */
	/* [dirs, batch, hidden], float32: cell state of lstm, hidden state of a float16 gru */
	REGION_STATE,
	REGION_NEW_STATE, /* the state in float32 that a step makes */
	REGION_RESET,	  /* [dirs, batch, hidden]: hidden state times reset gate */
	REGION_INSIDE, /* [steps in time order, batch]: 1 when an item of the batch has the step */
	REGION_COUNT
};

/* An operand that every step reads, and its copy in SRAM. */
struct recurrent_constant {
	const struct ir_value *value;
	struct npu_view memory, sram;
};

#define RECURRENT_CONSTANTS 3 /* recurrent weights, recurrent bias, peephole weights */

struct rnn {
	struct plan *plan;
	const struct ir_node *node;
	bool lstm, after; /* after: gru multiplies by the reset gate after the product */
	bool plain;	  /* a gru that is a network without gates */
	uint8_t dtype;
	int64_t dirs, steps, batch, input, hidden, gates;
	int gate[4]; /* by gate (z, r, n or i, o, f, g): its position in the operands */
	struct npu_view region[REGION_COUNT]; /* in SRAM or in the arena; rank 0: not needed */
	struct npu_view home[REGION_COUNT];   /* the views of the regions in the arena */
	struct recurrent_constant constant[RECURRENT_CONSTANTS];
	uint32_t num_constants;
	uint64_t base;	  /* plan.sram.base before the node: regions and constants begin there */
	size_t paused_at; /* see plan_pause_since() */
	const struct ir_value *bias[2], *peephole, *first_hidden, *first_cell, *lengths;
	const struct ir_value *sequence; /* the result with the states of all steps, or NULL */
};

enum { GRU_Z, GRU_R, GRU_N };
enum { LSTM_I, LSTM_O, LSTM_F, LSTM_G };

/* Returns the index of the operand with the lengths of sequences. */
uint32_t recurrent_lengths(const struct ir_node *node);
/* Fills in *r from the node, except for the plan and the memory. */
void recurrent_analyse(const struct ir_node *node, struct rnn *r);
/*
 * recurrent_begin - choose the memory of a node
 *
 * Regions and operands that every step reads get SRAM as far as there is room; kernels use the rest
 * of the SRAM until recurrent_end(). Loads the operands, too.
 */
void recurrent_begin(struct rnn *r);
void recurrent_end(struct rnn *r);
/*
 * Called between two steps: where the program may have to be cut, moves the regions that the next
 * steps read to memory and back, and loads the operands again.
 */
void recurrent_pause(struct rnn *r);
/* Exchanges old and new states: the next step reads the states that this step has made. */
void recurrent_swap(struct rnn *r);
/* Returns true if an operand has a copy in SRAM. */
bool recurrent_has_copy(const struct rnn *r, const struct ir_value *value);
/* Returns true if an operand is in SRAM: as a copy, or because it stays there. */
bool recurrent_in_sram(const struct rnn *r, const struct ir_value *value);
/*
 * Returns how many of n columns of a step's product the matrix unit computes, when the vector unit
 * computes the others at the same time. Returns n when the batch has several rows, or when the row
 * in region @from, the recurrent weights or REGION_GATES are not in SRAM.
 */
int64_t recurrent_matrix_share(const struct rnn *r, enum region from, int64_t n);
/* Returns the view of an operand: of its copy in SRAM, when there is one. */
struct npu_view recurrent_operand(const struct rnn *r, const struct ir_value *value);

#endif
