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

#define CPU_REFERENCE_KERNEL(name) \
	void name(const struct ir_node *node, const void *const *in, void *const *out);
CPU_REFERENCE_KERNEL(cpu_ref_conv)
CPU_REFERENCE_KERNEL(cpu_ref_matmul)
CPU_REFERENCE_KERNEL(cpu_ref_wmatmul)
CPU_REFERENCE_KERNEL(cpu_ref_pool)
CPU_REFERENCE_KERNEL(cpu_ref_unary)
CPU_REFERENCE_KERNEL(cpu_ref_binary)
CPU_REFERENCE_KERNEL(cpu_ref_compare)
CPU_REFERENCE_KERNEL(cpu_ref_where)
CPU_REFERENCE_KERNEL(cpu_ref_cast)
CPU_REFERENCE_KERNEL(cpu_ref_copy)
CPU_REFERENCE_KERNEL(cpu_ref_transpose)
CPU_REFERENCE_KERNEL(cpu_ref_concat)
CPU_REFERENCE_KERNEL(cpu_ref_slice)
CPU_REFERENCE_KERNEL(cpu_ref_expand)
CPU_REFERENCE_KERNEL(cpu_ref_pad)
CPU_REFERENCE_KERNEL(cpu_ref_reverse)
CPU_REFERENCE_KERNEL(cpu_ref_tile)
CPU_REFERENCE_KERNEL(cpu_ref_reduce)
CPU_REFERENCE_KERNEL(cpu_ref_softmax)
CPU_REFERENCE_KERNEL(cpu_ref_arg)
CPU_REFERENCE_KERNEL(cpu_ref_topk)
CPU_REFERENCE_KERNEL(cpu_ref_cumsum)
CPU_REFERENCE_KERNEL(cpu_ref_triangular)
CPU_REFERENCE_KERNEL(cpu_ref_batchnorm)
CPU_REFERENCE_KERNEL(cpu_ref_instnorm)
CPU_REFERENCE_KERNEL(cpu_ref_layernorm)
CPU_REFERENCE_KERNEL(cpu_ref_resample)
CPU_REFERENCE_KERNEL(cpu_ref_quantize)
CPU_REFERENCE_KERNEL(cpu_ref_dequantize)
CPU_REFERENCE_KERNEL(cpu_ref_qconv)
CPU_REFERENCE_KERNEL(cpu_ref_qmatmul)
CPU_REFERENCE_KERNEL(cpu_ref_qpool)
CPU_REFERENCE_KERNEL(cpu_ref_qunary)
CPU_REFERENCE_KERNEL(cpu_ref_qbinary)
CPU_REFERENCE_KERNEL(cpu_ref_rotary)
CPU_REFERENCE_KERNEL(cpu_ref_gather)
CPU_REFERENCE_KERNEL(cpu_ref_scatter)
#undef CPU_REFERENCE_KERNEL

/*
 * Computes a gru or lstm. @state: scratch memory, as many doubles as cpu_ref_recurrent_state()
 * returns.
 */
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
