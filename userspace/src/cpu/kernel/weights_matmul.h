/* SPDX-License-Identifier: MIT */
/* Matrix products with constant weights of 4 or 8 bits that are kept packed. */
#ifndef WNN_CPU_WEIGHTS_MATMUL_H
#define WNN_CPU_WEIGHTS_MATMUL_H

#include "cpu/fast.h"

/* Whether the kernel takes a WMATMUL node. */
bool cpu_weights_take(const struct ir_node *node);
size_t cpu_weights_pack_bytes(const struct cpu_context *cpu, const struct ir_node *node);
void cpu_weights_pack(const struct cpu_context *cpu, const struct ir_node *node, const void *from,
		      void *to);
/* Computes the product with the context's packed weights. */
int cpu_weights_matmul(struct cpu_context *cpu, const struct ir_node *node, const void *const *in,
		       void *const *out, struct wnn_error *err);

#endif
