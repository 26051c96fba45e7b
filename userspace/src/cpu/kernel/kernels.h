/* SPDX-License-Identifier: MIT */
/* Our own kernels, for choose.c: see struct cpu_kernel for refuses, loses, plan and run. */
#ifndef WNN_CPU_KERNELS_H
#define WNN_CPU_KERNELS_H

#include "cpu/plan.h"

#define SENTENCE(name) const char *name(const struct cpu_ask *ask);
#define PLAN(name)     struct cpu_plan *name(const struct cpu_ask *ask);
#define RUN(name)                                                                            \
	int name(struct cpu_context *cpu, const struct ir_node *node, const void *const *in, \
		 void *const *out, struct wnn_error *err);

/* Convolutions. */
SENTENCE(cpu_depthwise_refuses)
SENTENCE(cpu_depthwise_loses) /* NULL if the kernel computes several pixels at a time */
PLAN(cpu_depthwise_plan)
SENTENCE(cpu_conv_packed_refuses)
SENTENCE(cpu_conv_packed_loses) /* NULL if the kernel is faster for windows of this size */
PLAN(cpu_conv_packed_plan)
SENTENCE(cpu_conv_transposed_refuses)
PLAN(cpu_conv_transposed_plan)
SENTENCE(cpu_winograd_refuses)
SENTENCE(cpu_winograd_tiles_refuses) /* refuses channels that do not fill vectors, too */
SENTENCE(cpu_winograd_loses)
PLAN(cpu_winograd_plan)

/* Convolutions of single pixels, and products with a constant matrix. */
SENTENCE(cpu_tile_rows_refuses)
SENTENCE(cpu_tile_rows_loses)
PLAN(cpu_tile_rows_plan)

/* Products. */
SENTENCE(cpu_tile_matmul_refuses)
SENTENCE(cpu_tile_matmul_loses)
PLAN(cpu_tile_matmul_plan)
/*
 * Whether the product on tiles, which reads operands with strides, is faster than another kernel
 * that needs dense copies of them.
 */
bool cpu_tile_matmul_gains(const struct cpu_ask *ask);
SENTENCE(cpu_matmul_packed_refuses)
PLAN(cpu_matmul_packed_plan)
SENTENCE(cpu_matmul_line_refuses)
SENTENCE(cpu_matmul_refuses)
RUN(cpu_matmul)
SENTENCE(cpu_weights_refuses)
PLAN(cpu_weights_plan)
PLAN(cpu_dequantize_matmul_plan)

/* Operators on 8-bit integers. */
SENTENCE(cpu_integer_dots_refuses)
SENTENCE(cpu_integer_pairs_refuses)
PLAN(cpu_integer_dots_plan)
SENTENCE(cpu_integer_product_refuses)
PLAN(cpu_integer_product_plan)
RUN(cpu_integer_unary)
SENTENCE(cpu_integer_binary_refuses)
RUN(cpu_integer_binary)
/* Whether a value has 8-bit integers. */
bool cpu_integer_is_byte(const struct ir_value *value);
/*
 * Returns what a QBINARY, or a QUNARY without a function, computes: it reads scales and zero points
 * from the operands. A QUNARY has no second operand.
 */
struct cpu_integers cpu_integers_of(const struct ir_node *node, const void *const *in);
/*
 * Returns true when no number of the operation can be infinite, NaN or far above the integers, and
 * fma(v, inverse, v * inverse_rest) rounds to the integer of each quotient v / scale. It then sets
 * inverse and inverse_rest, and makes lo and hi part of least and most. Otherwise it changes
 * nothing.
 */
bool cpu_integers_are_tame(struct cpu_integers *op);
SENTENCE(cpu_pool_integer_refuses)
RUN(cpu_pool_integer)

/* Element-wise functions. */
SENTENCE(cpu_elementwise_refuses)
PLAN(cpu_elementwise_plan)
SENTENCE(cpu_whole_refuses)
RUN(cpu_unary_whole)
RUN(cpu_binary_whole)
SENTENCE(cpu_unary_says_refuses)
RUN(cpu_unary_says)
SENTENCE(cpu_select_refuses)
RUN(cpu_select)
SENTENCE(cpu_cast_refuses)
RUN(cpu_cast)
RUN(cpu_quantization)

/* Pools, reductions, normalisations, recurrent networks. */
SENTENCE(cpu_pool_refuses)
RUN(cpu_pool)
SENTENCE(cpu_reduce_refuses)
RUN(cpu_reduce)
SENTENCE(cpu_reduce_integers_refuses)
RUN(cpu_reduce_integers)
SENTENCE(cpu_normalize_refuses)
RUN(cpu_normalize)
SENTENCE(cpu_normalize_channels_refuses)
RUN(cpu_normalize_channels)
SENTENCE(cpu_softmax_refuses)
RUN(cpu_softmax)
SENTENCE(cpu_arg_refuses)
RUN(cpu_arg)
SENTENCE(cpu_topk_refuses)
RUN(cpu_topk)
SENTENCE(cpu_cumsum_refuses)
RUN(cpu_cumsum)
RUN(cpu_recurrent_network)

/* Operators that move elements. */
SENTENCE(cpu_move_refuses)
RUN(cpu_concat)
RUN(cpu_transpose)
RUN(cpu_slice)
RUN(cpu_expand)
RUN(cpu_reverse)
SENTENCE(cpu_rows_refuses)
RUN(cpu_pad)
RUN(cpu_tile_copies)
RUN(cpu_triangular)
RUN(cpu_gather)
RUN(cpu_scatter)
RUN(cpu_resample)

#undef SENTENCE
#undef PLAN
#undef RUN

#endif
