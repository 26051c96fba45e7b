/* SPDX-License-Identifier: MIT */
/* Operations that WebNN has as well, as operators of a graph. */
#ifndef SHLO_LOWER_H
#define SHLO_LOWER_H

#include <webnn/webnn.h>

#include "../common/integers.h"
#include "kinds.h"

#define SHLO_MOST_LOWERED 32 /* operands or results that are of any number */

struct shlo_frame;
struct shlo_list;

struct shlo_lower {
	WNNGraphBuilder b;	    /* NULL: it is only asked whether this can be done */
	WNNOperatorOptions options; /* the label: operation and place in the file */
	const struct shlo_op *op;
	WNNOperand *operands;	  /* of values, by their slots */
	struct shlo_frame *frame; /* for the values of constants */
};

static inline const struct shlo_type *shlo_operand_type(const struct shlo_lower *l, size_t operand)
{
	return l->op->operands[operand]->type;
}

static inline const struct shlo_type *shlo_result_type(const struct shlo_lower *l)
{
	return l->op->results[0]->type;
}

/* Whether the operation with these types and attributes becomes operators. */
bool shlo_can_lower(const struct shlo_op *op);
/* Adds it to the graph and its results to l->operands; false: the builder has refused. */
bool shlo_lower(struct shlo_lower *l);

/* The type that a graph holds elements in: as they are, or one of the same size that is only moved. */
WNNOperandDataType shlo_held_type(enum shlo_element element);
/* Whether a graph can compute with these elements. */
bool shlo_is_computed(enum shlo_element element);
/* Whether values of this type can be in a graph at all. */
bool shlo_is_held(const struct shlo_type *type);

/* The numbers of an attribute of the operation, into @numbers of SHLO_MAX_RANK; how many there are. */
int shlo_lower_ints(const struct shlo_lower *l, const char *name, int64_t *numbers);

struct shlo_sizes {
	WNNUint32Array array;
	uint32_t data[8];
};

void shlo_sizes_init(struct shlo_sizes *sizes, const int64_t *numbers, int count);
/* A constant of rank 1. */
WNNOperand shlo_lower_list(const struct shlo_lower *l, WNNOperandDataType type, const void *data,
			   int64_t count, size_t size);
WNNOperand shlo_lowered(const struct shlo_lower *l, size_t operand);
WNNOperand shlo_lower_reshape(const struct shlo_lower *l, WNNOperand x, const int64_t *dims,
			      int rank);
WNNOperand shlo_lower_transpose(const struct shlo_lower *l, WNNOperand x, const int64_t *order,
				int rank);

/* The elements of a flat operand at these places. */
WNNOperand shlo_lower_taken(const struct shlo_lower *l, WNNOperand x, const int32_t *places,
			    int64_t count);

/*
 * Padding around a value and between its elements; a negative number at an end takes elements away.
 */
struct shlo_padding {
	int64_t low[SHLO_MAX_RANK], high[SHLO_MAX_RANK], interior[SHLO_MAX_RANK];
};

/* @dims are those of the value, and then of the result. */
WNNOperand shlo_lower_padded(const struct shlo_lower *l, WNNOperand x, int64_t *dims, int rank,
			     const struct shlo_padding *padding, WNNOperand value);

typedef import_combine_fn shlo_combine_fn;

/* NULL where an operand is, as the builder has refused it. */
static inline WNNOperand shlo_lower_both(const struct shlo_lower *l, shlo_combine_fn make,
					 WNNOperand a, WNNOperand b)
{
	return a && b ? make(l->b, a, b, &l->options) : NULL;
}

/* Casts to @type; an operand that has this type already is the result itself. */
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

/* The operator for an operation on two values of this type; NULL if there is none. */
shlo_combine_fn shlo_binary_of(int op, enum shlo_element element);
/* Returns the code of the binary operation that is all of @region, on its two arguments, or -1. */
int shlo_only_binary(const struct shlo_region *region);

/* Whether a region is operations on its arguments and constants alone, and all that it returns has an
 * element for each of the arguments'. */
bool shlo_can_lower_region(const struct shlo_region *region);
/* Builds the operators of a region for these arguments; false when the builder has refused one. */
bool shlo_lower_region(const struct shlo_lower *l, const struct shlo_region *region,
		       WNNOperand const *in, WNNOperand *out);
/* Whether a region only compares and chooses, so that the order of evaluation does not show. */
bool shlo_only_chooses(const struct shlo_region *region);

/*
 * Parts of what kinds.def names (struct shlo_kind.lower).
 */

/* Operations on integers that take several operators: division, shifts, operations on bits. */
bool shlo_lower_integers(const struct shlo_lower *l, WNNOperand *out);
bool shlo_lower_bits_unary(const struct shlo_lower *l, WNNOperand *out);
/* Pads between elements, by negative numbers, or with a value that is computed. */
bool shlo_lower_pad_between(struct shlo_lower *l, WNNOperand *out);
/* Reduces over these dimensions by a region that is more than one operation. */
bool shlo_lower_reduce_any(struct shlo_lower *l, const struct shlo_list *over, WNNOperand *out);
/* Gathers by indices that are no constants. */
bool shlo_lower_gather_computed(struct shlo_lower *l, WNNOperand *out);

#endif
