/* SPDX-License-Identifier: MIT */
/* Translates operations that WebNN has as well to operators of a graph. */
#ifndef SHLO_LOWER_H
#define SHLO_LOWER_H

#include <webnn/webnn.h>

#include "../common/integers.h"
#include "kinds.h"

/* The most operands or results of an operation that may have any number of them. */
#define SHLO_MOST_LOWERED 32

struct shlo_frame;
struct shlo_list;

struct shlo_lower {
	WNNGraphBuilder b;	    /* NULL: shlo_can_lower() only asks whether it is possible */
	WNNOperatorOptions options; /* with a label: operation, line and column */
	const struct shlo_op *op;
	WNNOperand *operands; /* by slot: the operands of values */
	/* by slot: what an expand repeats to make the value, or NULL; the list is NULL on the NPU */
	WNNOperand *narrow;
	struct shlo_frame *frame; /* holds the values of constants */
};

static inline const struct shlo_type *shlo_operand_type(const struct shlo_lower *l, size_t operand)
{
	return l->op->operands[operand]->type;
}

static inline const struct shlo_type *shlo_result_type(const struct shlo_lower *l)
{
	return l->op->results[0]->type;
}

/* Whether the operation, with its types and attributes, can become operators of a graph. */
bool shlo_can_lower(const struct shlo_op *op);
/* Adds the operation to the graph, and its results to l->operands; false: the builder refused. */
bool shlo_lower(struct shlo_lower *l);

/*
 * Returns the type in which a graph holds elements: their own, or a type of the same size if they
 * are only moved.
 */
WNNOperandDataType shlo_held_type(enum shlo_element element);
/* Whether a graph can compute with these elements. */
bool shlo_is_computed(enum shlo_element element);
/* Whether a graph can hold values of this type. */
bool shlo_is_held(const struct shlo_type *type);

/*
 * Copies the numbers of an attribute to @numbers, which has room for SHLO_MAX_RANK; returns their
 * count, -1 when the attribute is absent.
 */
int shlo_lower_ints(const struct shlo_lower *l, const char *name, int64_t *numbers);

struct shlo_sizes {
	WNNUint32Array array;
	uint32_t data[8];
};

void shlo_sizes_init(struct shlo_sizes *sizes, const int64_t *numbers, int count);
/*
 * Returns a constant of rank 1 with @count elements of @size bytes; NULL: the builder has refused
 * it.
 */
WNNOperand shlo_lower_list(const struct shlo_lower *l, WNNOperandDataType type, const void *data,
			   int64_t count, size_t size);
/* Returns what stands in the graph for an operand of l->op. */
WNNOperand shlo_lowered(const struct shlo_lower *l, size_t operand);
/*
 * Returns an operand of an element-wise operation: the operand before it was expanded, if all
 * operators run on the CPU and another operand has the shape of the result, because WebNN's
 * operators expand operands themselves.
 */
WNNOperand shlo_lowered_narrow(const struct shlo_lower *l, size_t operand);
/* Add a reshape or transpose; return NULL when x is NULL, or the builder refuses. */
WNNOperand shlo_lower_reshape(const struct shlo_lower *l, WNNOperand x, const int64_t *dims,
			      int rank);
WNNOperand shlo_lower_transpose(const struct shlo_lower *l, WNNOperand x, const int64_t *order,
				int rank);

/* Returns the elements of a flat operand at @offsets, by a gather. */
WNNOperand shlo_lower_taken(const struct shlo_lower *l, WNNOperand x, const int32_t *offsets,
			    int64_t count);

/*
 * Padding before, after and between the elements of each dimension; a negative number removes
 * elements at an end.
 */
struct shlo_padding {
	int64_t low[SHLO_MAX_RANK], high[SHLO_MAX_RANK], interior[SHLO_MAX_RANK];
};

/*
 * Returns x with padding of the scalar @value, which may be NULL if @padding adds nothing; NULL: x
 * is NULL, or the builder has refused an operator. @dims has the dimensions of x, and is set to
 * those of the result.
 */
WNNOperand shlo_lower_padded(const struct shlo_lower *l, WNNOperand x, int64_t *dims, int rank,
			     const struct shlo_padding *padding, WNNOperand value);

typedef import_combine_fn shlo_combine_fn;

/* Calls @make; returns NULL when a or b is NULL, as the builder has then refused it. */
static inline WNNOperand shlo_lower_both(const struct shlo_lower *l, shlo_combine_fn make,
					 WNNOperand a, WNNOperand b)
{
	return a && b ? make(l->b, a, b, &l->options) : NULL;
}

/* Returns x cast to @type: x itself when it has this type already, or is NULL. */
static inline WNNOperand shlo_lower_cast(const struct shlo_lower *l, WNNOperand x,
					 WNNOperandDataType type)
{
	if (!x || wnnOperandGetDataType(x) == type)
		return x;
	return wnnGraphBuilderCast(l->b, x, type, &l->options);
}

static inline WNNOperand shlo_lower_choice(const struct shlo_lower *l, WNNOperand which,
					   WNNOperand a, WNNOperand b)
{
	return which && a && b ? wnnGraphBuilderWhere(l->b, which, a, b, &l->options) : NULL;
}

/* Returns the operator for an operation on two values of this element type; NULL: there is none. */
shlo_combine_fn shlo_binary_of(int op, enum shlo_element element);
/*
 * Returns the code of the binary operation that is all of @region, on its two arguments in their
 * order, or in any order when that does not matter; -1: the region is something else.
 */
int shlo_only_binary(const struct shlo_region *region);
/* Whether the order of the operands of a binary operation does not matter. */
bool shlo_is_commutative(int op);
/* Whether a region returns its second argument: updates of a scatter then replace elements. */
bool shlo_only_second(const struct shlo_region *region);

/*
 * Whether a region consists of operations on its arguments and on constants, and each result has an
 * element for each element of the arguments.
 */
bool shlo_can_lower_region(const struct shlo_region *region);
/* Builds the operators of a region for these arguments; false when the builder has refused one. */
bool shlo_lower_region(const struct shlo_lower *l, const struct shlo_region *region,
		       WNNOperand const *in, WNNOperand *out);
/*
 * Whether a region only compares, selects, takes minima or maxima, and combines booleans, so that
 * the order of evaluation does not matter.
 */
bool shlo_only_chooses(const struct shlo_region *region);

/*
 * Functions that the `lower` functions of kinds.def call for some operands. Those that return bool
 * return false when a graph cannot compute the operation; without a builder they only tell this,
 * else they set *out, to NULL when the builder refuses.
 */

/* Translates integer operations that take several operators: division, shifts, bit operations. */
bool shlo_lower_integers(const struct shlo_lower *l, WNNOperand *out);
bool shlo_lower_bits_unary(const struct shlo_lower *l, WNNOperand *out);
/* Translates a pad between elements, by negative numbers, or with a computed value. */
bool shlo_lower_pad_between(struct shlo_lower *l, WNNOperand *out);
/* Translates a reduction over these dimensions by a region of more than one operation. */
bool shlo_lower_reduce_any(struct shlo_lower *l, const struct shlo_list *over, WNNOperand *out);
/* Translates a gather whose indices are not constant. */
bool shlo_lower_gather_computed(struct shlo_lower *l, WNNOperand *out);

#endif
