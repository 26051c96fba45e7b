/* SPDX-License-Identifier: MIT */
/*
 * Chains: sequences of element-wise operations that run block by block, so that values between them
 * need no memory for all of their elements.
 */
#ifndef SHLO_CHAIN_H
#define SHLO_CHAIN_H

#include "program.h"

struct shlo_run;
struct shlo_frame;

/* elements of a block: those of some values fit into the nearest cache */
#define SHLO_CHAIN_BLOCK 1024
/* Values of fewer elements are not worth the preparations. */
#define SHLO_CHAIN_LEAST 1024

/* Where the elements of a value are while a chain runs. */
enum shlo_chain_memory {
	SHLO_AT_BUFFER, /* a buffer of the chain, until the last step that reads it */
	SHLO_AT_ARRAY,	/* the memory of a value from outside */
	/* a buffer of the chain, filled with the element that a value has or repeats */
	SHLO_AT_SPLAT,
	SHLO_AT_IOTA,	/* a buffer of the chain with elements of an iota */
	SHLO_AT_RESULT, /* the memory of a value that operations behind the chain read */
};

struct shlo_chain_value {
	enum shlo_chain_memory memory;
	enum shlo_element element;
	const struct shlo_value *value;
	size_t buffer;	    /* number of the buffer; each has a block of elements */
	int64_t inner, dim; /* of an iota: element i is i / inner % dim */
};

struct shlo_chain_step {
	const struct shlo_op *op;
	struct shlo_step step;
	size_t in_count, in[3], out; /* indices of chain values */
	bool copies;		     /* the step only copies its operand to the result */
	bool by_one;		     /* all elements of the second operand are equal */
};

struct shlo_chain {
	size_t first, end; /* range of operations in the block */
	/*
	 * by operation of the range: whether it need not run, because the steps do its work; the
	 * other operations run before the steps
	 */
	bool *is_member;
	size_t counted; /* number of the members that a run counts as operations */
	size_t value_count, step_count, buffer_count;
	int64_t count; /* elements of each value */
	struct shlo_chain_value *values;
	struct shlo_chain_step *steps;
};

/*
 * Finds the chains of a function, and sets op->chain of their operations. It needs the lists of
 * shlo_find_last_reads().
 */
void shlo_find_chains(struct shlo_arena *arena, const struct shlo_function *function);
/* Runs a chain of this block, and puts its results into the frame. */
void shlo_run_chain(struct shlo_run *run, struct shlo_frame *frame, const struct shlo_block *block,
		    const struct shlo_chain *chain);

#endif
