/* SPDX-License-Identifier: MIT */
/*
 * Checks nodes of which the test gives each element of the operands, and each bit of the result.
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

int64_t lowest(enum ir_dtype dtype);  /* of a signed type */
int64_t highest(enum ir_dtype dtype); /* for uint64: -1, which has the same bits */

/* Adds the next operand with the elements @ints or @reals; the other of these two is NULL. */
void add_shape(struct rig *rig, enum ir_dtype dtype, uint32_t rank, const int64_t *dims,
	       const int64_t *ints, const double *reals);
void add_ints(struct rig *rig, enum ir_dtype dtype, int64_t n, const int64_t *ints);
void add_reals(struct rig *rig, enum ir_dtype dtype, int64_t n, const double *reals);

/*
 * Checks that the node's result has the elements @ints or @reals, to the bit, on each layer of the
 * CPU; the other of these two is NULL, and any NaN equals any other. Calls rig_exit().
 */
void expect(struct rig *rig, enum ir_op op, const union ir_attrs *attrs, const struct ir_type *type,
	    const int64_t *ints, const double *reals);
void expect_vector(struct rig *rig, enum ir_op op, const union ir_attrs *attrs, enum ir_dtype dtype,
		   int64_t n, const int64_t *ints, const double *reals);

#endif
