/* SPDX-License-Identifier: MIT */
/* Regions of scalars as programs over numbers, for reductions and the like. */
#ifndef SHLO_PROGRAM_H
#define SHLO_PROGRAM_H

#include "kinds.h"

struct shlo_step {
	enum shlo_family family;
	int code;		   /* the operation; the direction of a comparison */
	enum shlo_element element; /* of the operands */
	enum shlo_element to;	   /* of a conversion */
	bool total;		   /* of a comparison */
	size_t in[3], out;	   /* registers */
};

struct shlo_constant {
	size_t out;
	struct shlo_num number;
};

/* A value from outside of the region. */
struct shlo_captured {
	size_t slot, out;
	enum shlo_element element;
};

struct shlo_program {
	size_t register_count; /* the first are the arguments */
	size_t step_count, constant_count, captured_count, result_count;
	struct shlo_step *steps;
	struct shlo_constant *constants;
	struct shlo_captured *captured;
	size_t *results;
};

enum shlo_direction shlo_direction_of(const struct shlo_op *op);
/* An operation that could be a step, on elements; there is room for three operands. */
struct shlo_num shlo_run_op(const struct shlo_op *op, const struct shlo_num *operands);

#endif
