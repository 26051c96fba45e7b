/* SPDX-License-Identifier: MIT */
/* One node while the oracle looks at it. */
#ifndef TESTS_GRAPHS_ORACLE_H
#define TESTS_GRAPHS_ORACLE_H

#include "cpu/cpu.h"
#include "graph.h"

#define ORACLE_MAX_OPERANDS 16

/* Operands as they are read: floats as doubles, rounded to their type; NULL slack: no error. */
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
	bool slack; /* some operand has any */
};

/* A run of the node's reference kernel, or of one like it, with floats in double precision. */
struct kernel {
	struct cpu_context *cpu;
	struct ir_node node;
	struct ir_value values[ORACLE_MAX_OPERANDS + 3];
	struct ir_value *operands[ORACLE_MAX_OPERANDS], *results[3];
	const void *in[ORACLE_MAX_OPERANDS];
};

void kernel_init(struct kernel *kernel, const struct work *work);
/* Operand i is these doubles instead. */
void kernel_set(struct kernel *kernel, uint32_t i, const double *data);
/* The result is wanted in double precision whatever its type. */
void kernel_widen_result(struct kernel *kernel);
/* Elements of result r: doubles, or in the result's own type; malloc'ed. */
void *kernel_run(const struct kernel *kernel, uint32_t r);

/* What went wrong in the oracle itself: memory is exhausted, or a kernel failed. */
_Noreturn void oracle_fail(const char *what);
double *new_doubles(int64_t count);

/* --- Pieces (oracle_pieces.c) --- */

#define U32	     0x1p-24 /* half a unit of the last place of 1 in binary32 */
#define MAY_OVERFLOW 0x1p126 /* sums in binary32 may come to infinity */
#define ALL	     UINT32_MAX

/* What a sum of n terms may lose, relative to that of their absolute values. */
double sum_loss(double n);
double rounding(enum ir_dtype dtype, double x);
/* Elements of an operand as doubles, whatever its type; its errors. */
double *widened(const struct operand *in);
double *slack_of(const struct operand *in);
double largest(const double *data, int64_t count); /* 0 for NULL */
bool fits_integer(enum ir_dtype dtype, double x);
/* Elements that anything may be, where an error is. */
void taint(double *bound, const double *slack, int64_t count);

enum stand_in { ABSOLUTE, GROWN, RAISED, SLACK };

/*
 * run_on - the node's kernel on stand-ins for its operands
 * @which: absolute values, those plus the errors, those that are at least 1, or the errors
 * @mask: which operands; the others stay
 * @change: makes another node of it; may be NULL
 */
double *run_on(const struct work *work, enum stand_in which, uint32_t mask,
	       void (*change)(struct ir_node *node), uint32_t r);
/*
 * sample_slack - for operators whose errors no rule follows: runs with all operands moved by as much
 *	as they may be off
 * @times: the most that was seen times this is the bound
 */
void sample_slack(const struct work *work, uint32_t r, double times, double *bound);

/* What a sum of products loses of one more term, which may be the first of it; 0: value is no such sum. */
double fused_loss(const struct ir_value *value);

/* --- Bounds by family (operators.def); NULL: 0 everywhere --- */

double *bound_moved(const struct work *work, uint32_t r);
#define GRAPH_DRAW(op, function, floats)
#define GRAPH_BOUND(op, function) double *bound_##function(const struct work *work, uint32_t r);
#include "operators.def"
#undef GRAPH_DRAW
#undef GRAPH_BOUND

/* The bound of result r against its exact values; NULL: 0 everywhere (oracle_bound.c). */
double *oracle_bound(const struct work *work, uint32_t r);

#endif
