/* SPDX-License-Identifier: MIT */
/* Convolutions and matrix products by the channels, or columns, of their results, as passes see them. */
#ifndef WNN_PASS_CHANNELS_H
#define WNN_PASS_CHANNELS_H

#include "pass/quantized.h"
#include "pass/rewrite.h"

/* The axis of the result along which the channels lie, and that of the second operand they come from. */
uint32_t channels_axis(const struct ir_node *node);
uint32_t channels_filter_axis(const struct ir_node *node);
/* Whether a value that is broadcast to the result has one element for each channel, or one for all. */
bool channels_each(const struct ir_node *node, const struct ir_type *type);
bool channels_each_or_one(const struct ir_node *node, const struct ir_type *type);
/*
 * Such a value as a vector: a constant is only named anew, other values are reshaped by a node named like `like`.
 * NULL when out of memory.
 */
struct ir_value *channels_vector(struct rewrite *rw, const struct ir_node *like,
				 struct ir_value *value);
/* A new constant vector; NULL when out of memory. */
struct ir_value *channels_constant(struct rewrite *rw, enum ir_dtype dtype, const void *data,
				   int64_t count);

/* How many products a sum has. */
double channels_depth(const struct ir_node *node);
/* Whether a quantised second operand has one scale for each channel, or one for all, and one zero point. */
bool channels_scales_fit(const struct quantized *q, uint32_t axis);

#endif
