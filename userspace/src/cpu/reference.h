/* SPDX-License-Identifier: MIT */
/* The reference kernels: one function an operator, slow and obvious. in/out as for cpu_run_node(). */
#ifndef WNN_CPU_REFERENCE_H
#define WNN_CPU_REFERENCE_H

#include "ir/ir.h"

typedef void (*cpu_reference_fn)(const struct ir_node *node, const void *const *in,
				 void *const *out);

void cpu_ref_conv(const struct ir_node *node, const void *const *in, void *const *out);
void cpu_ref_matmul(const struct ir_node *node, const void *const *in, void *const *out);
void cpu_ref_pool(const struct ir_node *node, const void *const *in, void *const *out);
void cpu_ref_unary(const struct ir_node *node, const void *const *in, void *const *out);
void cpu_ref_binary(const struct ir_node *node, const void *const *in, void *const *out);
void cpu_ref_compare(const struct ir_node *node, const void *const *in, void *const *out);
void cpu_ref_where(const struct ir_node *node, const void *const *in, void *const *out);
void cpu_ref_cast(const struct ir_node *node, const void *const *in, void *const *out);
void cpu_ref_copy(const struct ir_node *node, const void *const *in, void *const *out);
void cpu_ref_transpose(const struct ir_node *node, const void *const *in, void *const *out);
void cpu_ref_concat(const struct ir_node *node, const void *const *in, void *const *out);
void cpu_ref_slice(const struct ir_node *node, const void *const *in, void *const *out);
void cpu_ref_expand(const struct ir_node *node, const void *const *in, void *const *out);
void cpu_ref_pad(const struct ir_node *node, const void *const *in, void *const *out);
void cpu_ref_reverse(const struct ir_node *node, const void *const *in, void *const *out);
void cpu_ref_tile(const struct ir_node *node, const void *const *in, void *const *out);
void cpu_ref_reduce(const struct ir_node *node, const void *const *in, void *const *out);
void cpu_ref_softmax(const struct ir_node *node, const void *const *in, void *const *out);
void cpu_ref_arg(const struct ir_node *node, const void *const *in, void *const *out);
void cpu_ref_cumsum(const struct ir_node *node, const void *const *in, void *const *out);
void cpu_ref_triangular(const struct ir_node *node, const void *const *in, void *const *out);
void cpu_ref_batchnorm(const struct ir_node *node, const void *const *in, void *const *out);
void cpu_ref_instnorm(const struct ir_node *node, const void *const *in, void *const *out);
void cpu_ref_layernorm(const struct ir_node *node, const void *const *in, void *const *out);
void cpu_ref_gather(const struct ir_node *node, const void *const *in, void *const *out);
void cpu_ref_scatter(const struct ir_node *node, const void *const *in, void *const *out);
void cpu_ref_quantize(const struct ir_node *node, const void *const *in, void *const *out);
void cpu_ref_dequantize(const struct ir_node *node, const void *const *in, void *const *out);
void cpu_ref_resample(const struct ir_node *node, const void *const *in, void *const *out);

/* Recurrent networks carry states from step to step: cpu_ref_recurrent_state() doubles for them. */
size_t cpu_ref_recurrent_state(const struct ir_node *node);
void cpu_ref_recurrent(const struct ir_node *node, const void *const *in, void *const *out,
		       double *state);

/* The result of a reduction from what its elements add up to. */
double cpu_finish_reduce(enum ir_reduce kind, double acc, int64_t count);

/* A unary function of one value; activations fused into other nodes use it too. */
double cpu_apply_unary(const struct ir_unary_attrs *attrs, double x);
int64_t cpu_apply_unary_int(const struct ir_unary_attrs *attrs, enum ir_dtype dtype, int64_t x);

#endif
