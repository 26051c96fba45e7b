/* SPDX-License-Identifier: MIT */
/*
 * Checks of nodes whose operands are given element by element, and whose results are known to the
 * bit.
 */
#ifndef TESTS_CPU_EXACT_H
#define TESTS_CPU_EXACT_H

#include "rig.h"

#define INTS(...)           \
	(const int64_t[])   \
	{                   \
		__VA_ARGS__ \
	}
#define REALS(...)          \
	(const double[])    \
	{                   \
		__VA_ARGS__ \
	}

extern const enum ir_dtype signed_types[3], unsigned_types[3];

int64_t lowest(enum ir_dtype dtype);
int64_t highest(enum ir_dtype dtype); /* for uint64: the number with the same bits */

/* Adds the next operand, from integers or from real numbers; the other pointer is NULL. */
void add_shape(struct rig *rig, enum ir_dtype dtype, uint32_t rank, const int64_t *dims,
	       const int64_t *ints, const double *reals);
void add_ints(struct rig *rig, enum ir_dtype dtype, int64_t n, const int64_t *ints);
void add_reals(struct rig *rig, enum ir_dtype dtype, int64_t n, const double *reals);

/*
 * Checks that each layer of the CPU gives these bits, where all NaN count as equal. Frees the rig.
 */
void expect(struct rig *rig, enum ir_op op, const union ir_attrs *attrs, const struct ir_type *type,
	    const int64_t *ints, const double *reals);
void expect_line(struct rig *rig, enum ir_op op, const union ir_attrs *attrs, enum ir_dtype dtype,
		 int64_t n, const int64_t *ints, const double *reals);

#endif
