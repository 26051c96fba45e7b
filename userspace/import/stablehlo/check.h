/* SPDX-License-Identifier: MIT */
/*
 * Constraints that the specification repeats for several operations. shlo_need_…() refuse an
 * operation that breaks them.
 */
#ifndef SHLO_CHECK_H
#define SHLO_CHECK_H

#include "numbers.h"

/* Returns the last operation of a region that shlo_need_region() has checked. */
const struct shlo_op *shlo_return_of(const struct shlo_op *op, size_t region);

/* Demands that an operand's type is that of an argument of a region. */
void shlo_need_argument(struct shlo_check *check, size_t operand, size_t region, size_t argument);

/* Returns the element type in which a tensor is computed: the expressed type if it is quantised. */
enum shlo_element shlo_computed_element(const struct shlo_type *type);

/*
 * Returns the type as MLIR writes it; a long text, such as that of many scales, lacks its middle, so
 * that a message has room for two types.
 */
const char *shlo_type_brief(struct shlo_arena *arena, const struct shlo_type *type);

/* ---- regions of scalars */

/* Demands that the operands are inputs and as many initial values, with a result for each input. */
void shlo_need_initial(struct shlo_check *check);
/* Demands that the region takes 2 * @count scalars and returns @count scalars of their types. */
void shlo_need_reducer(struct shlo_check *check, size_t region, size_t count);
/*
 * Demands that an operand's elements are of the kind of the region's argument, such as float, and
 * have no more bits.
 */
void shlo_need_promoted(struct shlo_check *check, size_t operand, size_t region, size_t argument);
/* Demands that the region's argument is a scalar of the operand's element type. */
void shlo_need_element_argument(struct shlo_check *check, size_t operand, size_t region,
				size_t argument);
/* Demands that the region returns one tensor<i1>. */
void shlo_need_predicate(struct shlo_check *check, size_t region);

/* ---- operands that say dimensions */

/*
 * Sets @numbers from an operand that is a constant and returns their count; -1: the operand is no
 * constant of integers or booleans, or has more than SHLO_MAX_RANK of them.
 */
int shlo_known_ints(struct shlo_check *check, size_t operand, int64_t *numbers);
/*
 * Demands that the operand is a list of integers, whose count is known and at most SHLO_MAX_RANK,
 * and is @count unless @count is negative; returns the count.
 */
int shlo_need_list(struct shlo_check *check, size_t operand, int64_t count);
/*
 * Demands that the operand is a list of integers, one for each dimension of the result; if it is a
 * constant, each must be able to be the size of that dimension.
 */
void shlo_need_shape(struct shlo_check *check, size_t operand);

/* Demands that the sizes of a slice, one for each dimension, are within those of @x. */
void shlo_need_slice_sizes(struct shlo_check *check, const int64_t *sizes,
			   const struct shlo_type *x);

/* ---- processes */

/* Flags for the conditions that replica_groups must meet. */
enum shlo_grouped {
	SHLO_GROUPED_ANY = 0,
	SHLO_GROUPED_EVEN = 1, /* all groups have equal sizes */
	SHLO_GROUPED_ALL = 2,  /* every process belongs to a group */
};

/*
 * Checks the attribute replica_groups, if there is one. @grouped: flags of enum shlo_grouped;
 * @size: size of each group, 0: any.
 */
void shlo_need_groups(struct shlo_check *check, int grouped, int64_t size);

/* ---- quantised types */

/*
 * Whether a constant of this type may have these elements: its own or, for a quantised type whose
 * stored values are unsigned, the signed ones in which MLIR writes them.
 */
bool shlo_is_stored_as(const struct shlo_type *elements, const struct shlo_type *type);
/* Demands that operands and results are quantised only where the specification allows it. */
void shlo_check_quantised(struct shlo_check *check);
/* Returns a text that says why a type is invalid; NULL: the type is valid. */
const char *shlo_type_flaw(struct shlo_arena *arena, const struct shlo_type *type);
/*
 * Demands that all operands, and result 0 unless it is boolean, have equal storage and expressed
 * types.
 */
void shlo_need_same_base(struct shlo_check *check);
/* Demands that the result has the operand's scales, along dimension @axis of the result. */
void shlo_need_scales(struct shlo_check *check, int axis);
/* Checks the scales of dot_general and convolution. */
void shlo_need_product_scales(struct shlo_check *check);

/* ---- attributes */

void shlo_need_precision(struct shlo_check *check);
void shlo_need_accuracy(struct shlo_check *check);

/* Checks a custom call that compares two values. */
void shlo_check_comparison(struct shlo_check *check, const char *name);
/*
 * Checks a custom call to shape_assertion, by which a program ends with an error when a condition
 * on shapes does not hold.
 */
void shlo_check_assertion(struct shlo_check *check);
/* Whether an operation calls a function of the application. */
bool shlo_is_callback(const struct shlo_op *op);
/* Checks a custom call of a function of the application. */
void shlo_check_callback(struct shlo_check *check);
/* Checks a custom call that factors matrices. */
void shlo_check_factor(struct shlo_check *check, const char *name);
/* Whether a custom call with this target factors matrices. */
bool shlo_is_factor(const char *name);

#endif
