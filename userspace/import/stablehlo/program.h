/* SPDX-License-Identifier: MIT */
/* Regions of scalars, compiled to programs over numbers, for reductions and the like. */
#ifndef SHLO_PROGRAM_H
#define SHLO_PROGRAM_H

#include "kinds.h"

struct shlo_step {
	enum shlo_family family;
	int code;		   /* operation, or direction of a comparison */
	enum shlo_element element; /* element type of the operands */
	enum shlo_element to;	   /* target type of a conversion */
	bool total;		   /* whether a comparison uses the total order */
	size_t in[3], out;	   /* registers */
};

struct shlo_constant {
	size_t out; /* register */
	struct shlo_num number;
};

/* A value that the region uses from outside. */
struct shlo_captured {
	size_t slot, out; /* slot: index in the frame; out: register */
	enum shlo_element element;
};

struct shlo_program {
	size_t register_count; /* number of registers; the arguments are the first ones */
	size_t step_count, constant_count, captured_count, result_count;
	struct shlo_step *steps;
	struct shlo_constant *constants;
	struct shlo_captured *captured;
	size_t *results;
};

/* Returns the direction of a comparison. */
enum shlo_direction shlo_direction_of(const struct shlo_op *op);
/* Returns the step for an operation; the caller fills in the registers. */
struct shlo_step shlo_step_of(const struct shlo_op *op);
/* Returns the result of a step whose operands are in the registers @r. */
struct shlo_num shlo_run_step(const struct shlo_step *step, const struct shlo_num *r);
/* Returns the result of one operation on elements; there are at most three operands. */
struct shlo_num shlo_run_op(const struct shlo_op *op, const struct shlo_num *operands);

#endif
