/* SPDX-License-Identifier: MIT */
/*
 * The reference kernels: one slow and obvious function for each operator. `in` and `out` are as for
 * cpu_run_node().
 */
#ifndef WNN_CPU_REFERENCE_H
#define WNN_CPU_REFERENCE_H

#include "ir/ir.h"

typedef void (*cpu_reference_fn)(const struct ir_node *node, const void *const *in,
				 void *const *out);

#define CPU_OPERATOR(op, name, function, family) \
	void function(const struct ir_node *node, const void *const *in, void *const *out);
#define CPU_RECURRENT(op, name, family)
#include "cpu/operators.def"
#undef CPU_OPERATOR
#undef CPU_RECURRENT

size_t cpu_ref_recurrent_state(const struct ir_node *node);
void cpu_ref_recurrent(const struct ir_node *node, const void *const *in, void *const *out,
		       double *state);

/* Returns the result of a reduction of `count` elements whose accumulated value is acc. */
double cpu_finish_reduce(enum ir_reduce kind, double acc, int64_t count);

/*
 * Returns a unary function of one value; activations that are fused into other nodes use it, too.
 */
double cpu_apply_unary(const struct ir_unary_attrs *attrs, double x);
/* Returns a function of two floats; comparisons have functions of their own. */
double cpu_apply_binary(enum ir_binary kind, double a, double b);
int64_t cpu_apply_unary_int(const struct ir_unary_attrs *attrs, enum ir_dtype dtype, int64_t x);

#endif
