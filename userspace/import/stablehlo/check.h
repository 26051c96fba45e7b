/* SPDX-License-Identifier: MIT */
/* Constraints that the specification repeats for several operations. */
#ifndef SHLO_CHECK_H
#define SHLO_CHECK_H

#include "numbers.h"

/* The last operation of a region that shlo_need_region() has seen. */
const struct shlo_op *shlo_return_of(const struct shlo_op *op, size_t region);

/* Demands that an operand may be the argument of a region. */
void shlo_need_argument(struct shlo_check *check, size_t operand, size_t region, size_t argument);

/* The element type of a tensor as numbers are computed: of quantised ones what they express. */
enum shlo_element shlo_computed_element(const struct shlo_type *type);

/* ---- regions of scalars */

/* Demands that the region takes 2 * @count scalars and returns @count of their types. */
void shlo_need_reducer(struct shlo_check *check, size_t region, size_t count);
/* Demands that the elements of an operand become those of the region's argument without loss. */
void shlo_need_promoted(struct shlo_check *check, size_t operand, size_t region, size_t argument);
/* Demands that the region's argument is a scalar of the operand's element type. */
void shlo_need_element_argument(struct shlo_check *check, size_t operand, size_t region,
				size_t argument);
/* Demands that the region returns one tensor<i1>. */
void shlo_need_predicate(struct shlo_check *check, size_t region);

/* ---- operands that say dimensions */

/* The numbers of an operand that is a constant: their count, -1 if it is none. */
int shlo_known_ints(struct shlo_check *check, size_t operand, int64_t *numbers);
/*
 * Demands that the operand is a list of integers, of @count if that is not negative; returns its
 * count.
 */
int shlo_need_list(struct shlo_check *check, size_t operand, int64_t count);
/* Demands that an operand, if it is a constant, says the dimensions of the result. */
void shlo_need_shape(struct shlo_check *check, size_t operand);

/* ---- processes */

/* Demands on groups of processes. */
enum shlo_grouped {
	SHLO_GROUPED_ANY = 0,
	SHLO_GROUPED_EVEN = 1, /* all of the same size */
	SHLO_GROUPED_ALL = 2,  /* no process is left out */
};

/* Attribute replica_groups; @size of a group, 0: any. */
void shlo_need_groups(struct shlo_check *check, int grouped, int64_t size);

/* ---- quantised types */

/* Demands that operands and results are quantised only where the specification has it. */
void shlo_check_quantised(struct shlo_check *check);
/* Returns what is wrong with a type by itself, NULL when nothing is. */
const char *shlo_type_flaw(struct shlo_arena *arena, const struct shlo_type *type);
/*
 * Demands that all operands, and a result that is not of booleans, have equal storage and expressed
 * types.
 */
void shlo_need_same_base(struct shlo_check *check);
/* Demands that the result has the scales of the operand, along @axis of the result. */
void shlo_need_scales(struct shlo_check *check, int axis);
/* Checks the scales of dot_general and convolution. */
void shlo_need_product_scales(struct shlo_check *check);

/* ---- attributes */

void shlo_need_precision(struct shlo_check *check);
void shlo_need_accuracy(struct shlo_check *check);

/*
 * Checks a custom call to shape_assertion, by which a program ends when a condition on shapes does
 * not hold.
 */
void shlo_check_assertion(struct shlo_check *check);

#endif
