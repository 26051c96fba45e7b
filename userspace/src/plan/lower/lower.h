/* SPDX-License-Identifier: MIT */
/* The functions that the rows of operators.c name; struct plan_operator says what they do. */
#ifndef WNN_PLAN_LOWER_LOWER_H
#define WNN_PLAN_LOWER_LOWER_H

#include "plan/list/plan.h"
#include "plan/operators.h"

bool supports_conv(const struct ir_node *node, struct npu_reason *reason);
bool supports_matmul(const struct ir_node *node, struct npu_reason *reason);
bool supports_weights(const struct ir_node *node, struct npu_reason *reason);
bool supports_pool(const struct ir_node *node, struct npu_reason *reason);
bool supports_unary(const struct ir_node *node, struct npu_reason *reason);
bool supports_rotary(const struct ir_node *node, struct npu_reason *reason);
bool supports_binary(const struct ir_node *node, struct npu_reason *reason);
bool supports_reduce(const struct ir_node *node, struct npu_reason *reason);
bool supports_arg(const struct ir_node *node, struct npu_reason *reason);
bool supports_quantize(const struct ir_node *node, struct npu_reason *reason);
bool supports_resample(const struct ir_node *node, struct npu_reason *reason);
bool supports_float_only(const struct ir_node *node, struct npu_reason *reason);
bool supports_integer_product(const struct ir_node *node, struct npu_reason *reason);
bool supports_qunary(const struct ir_node *node, struct npu_reason *reason);
bool supports_qbinary(const struct ir_node *node, struct npu_reason *reason);
bool supports_recurrent(const struct ir_node *node, struct npu_reason *reason);

/* Emits a convolution and the addition that is fused with it. */
void lower_conv_add(struct plan *plan, const struct ir_node *conv, const struct ir_node *add);
void lower_conv(struct plan *plan, const struct ir_node *node);
void lower_matmul(struct plan *plan, const struct ir_node *node);
void lower_pool(struct plan *plan, const struct ir_node *node);
void lower_elementwise(struct plan *plan, const struct ir_node *node);
void lower_rotary(struct plan *plan, const struct ir_node *node);
void lower_norm(struct plan *plan, const struct ir_node *node);
void lower_reduce(struct plan *plan, const struct ir_node *node);
void lower_softmax(struct plan *plan, const struct ir_node *node);
void lower_arg(struct plan *plan, const struct ir_node *node);
void lower_topk(struct plan *plan, const struct ir_node *node);
void lower_cumsum(struct plan *plan, const struct ir_node *node);
void lower_recurrent(struct plan *plan, const struct ir_node *node);
void lower_move(struct plan *plan, const struct ir_node *node);
void lower_gather(struct plan *plan, const struct ir_node *node);
void lower_scatter(struct plan *plan, const struct ir_node *node);
void lower_resample(struct plan *plan, const struct ir_node *node);
void lower_quantize(struct plan *plan, const struct ir_node *node);
void lower_integer_elementwise(struct plan *plan, const struct ir_node *node);

uint64_t quantize_scratch(const struct ir_node *node);
uint64_t recurrent_scratch(const struct ir_node *node);

/*
 * Emits a copy from memory to memory: by the DMA engines alone when runs are long, otherwise
 * through SRAM. The views have equal dims and no element in common.
 */
void plan_move(struct plan *plan, struct npu_view dst, struct npu_view src);

#endif
