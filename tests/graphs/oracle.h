/* SPDX-License-Identifier: MIT */
/*
 * The state and the functions with which the oracle computes a node: its operands, its reference
 * kernel, and the bounds of its results.
 */
#ifndef TESTS_GRAPHS_ORACLE_H
#define TESTS_GRAPHS_ORACLE_H

#include "cpu/cpu.h"
#include "graph.h"

#define ORACLE_MAX_OPERANDS 16

/*
 * An operand: floats are doubles, rounded to the operand's type. slack is the error that each
 * element may have; NULL: 0.
 */
struct operand {
	const struct ir_type *type;
	int64_t count;
	bool is_float;
	const void *native;
	double *wide;
	double *slack;
};

struct work {
	struct cpu_context *cpu;
	const struct ir_node *node;
	uint32_t num_operands;
	struct operand in[ORACLE_MAX_OPERANDS];
	struct truth *out[3];
	bool slack; /* some operand may have errors */
};

/* A run of the node's reference kernel, or of a similar node's, with floats in double precision. */
struct kernel {
	struct cpu_context *cpu;
	struct ir_node node;
	struct ir_value values[ORACLE_MAX_OPERANDS + 3];
	struct ir_value *operands[ORACLE_MAX_OPERANDS], *results[3];
	const void *in[ORACLE_MAX_OPERANDS];
};

void kernel_init(struct kernel *kernel, const struct work *work);
/* Makes operand @i of the kernel point to @data, doubles. */
void kernel_set(struct kernel *kernel, uint32_t i, const double *data);
/* Makes the kernel give all its results in double precision, whatever their types are. */
void kernel_widen_result(struct kernel *kernel);
/* Returns the elements of result r: doubles, or in the result's own type; malloc'ed. */
void *kernel_run(const struct kernel *kernel, uint32_t r);

/*
 * Prints @what and ends the program, after an error of the oracle itself: memory is exhausted, or a
 * kernel failed.
 */
_Noreturn void oracle_fail(const char *what);
double *new_doubles(int64_t count);

/* --- Helpers (oracle_pieces.c) --- */

#define U32	     0x1p-24 /* half a unit in the last place of 1 in binary32 */
#define MAY_OVERFLOW 0x1p126 /* binary32 sums above this may become infinite */
#define ALL	     UINT32_MAX

/*
 * Returns the error that a sum of n terms may have, relative to the sum of their absolute values.
 */
double sum_loss(double n);
double rounding(enum ir_dtype dtype, double x);
/*
 * widened() returns the elements of an operand as doubles, whatever its type is; slack_of() returns
 * the errors that they may have, 0 without operand.slack. The caller frees both.
 */
double *widened(const struct operand *in);
double *slack_of(const struct operand *in);
/* Returns the largest element that is not NaN, but at least 0; 0 when @data is NULL. */
double largest(const double *data, int64_t count);
bool fits_integer(enum ir_dtype dtype, double x);
/* Makes the bound infinite wherever @slack is above 0 or NaN. */
void taint(double *bound, const double *slack, int64_t count);

enum stand_in { ABSOLUTE, GROWN, RAISED, SLACK };

/*
 * run_on - run the node's kernel on other numbers in place of its operands
 * @which: ABSOLUTE: absolute values; GROWN: those plus the errors; RAISED: those plus the errors,
 * but at least 1; SLACK: the errors
 * @mask: operands that are replaced; the others stay
 * @change: changes the node before the run; may be NULL
 * @r: index of the result that is returned, which the caller frees
 */
double *run_on(const struct work *work, enum stand_in which, uint32_t mask,
	       void (*change)(struct ir_node *node), uint32_t r);
/*
 * sample_slack - raise the bound by the effect of operands' errors for which there is no rule
 * @r: index of the result
 * @times: the bound becomes at least this times the largest difference of any run
 * @bound: the bound, which is changed
 *
 * The runs move all operands by as much as they may be wrong.
 */
void sample_slack(const struct work *work, uint32_t r, double times, double *bound);

/*
 * Returns the error that a device may cause by adding one more term to the sums of products of
 * which @value is the result, or by beginning each sum with that term. The error is relative to the
 * term's absolute value. Returns 0 when @value is not the result of a matmul or convolution.
 */
double fused_loss(const struct ir_value *value);

/* --- Return the bounds of a family of operators (operators.def); NULL: all of them are 0 --- */

double *bound_moved(const struct work *work, uint32_t r);
#define GRAPH_DRAW(op, function, floats)
#define GRAPH_BOUND(op, function) double *bound_##function(const struct work *work, uint32_t r);
#include "operators.def"
#undef GRAPH_DRAW
#undef GRAPH_BOUND

/*
 * Returns the bound of result r, the largest allowed distance from the exact values; NULL: 0
 * everywhere (oracle_bound.c).
 */
double *oracle_bound(const struct work *work, uint32_t r);

#endif
