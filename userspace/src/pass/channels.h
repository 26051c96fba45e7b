/* SPDX-License-Identifier: MIT */
/*
 * The channels of convolutions and the columns of matrix products, treated alike: both are called
 * channels. For the passes that scale a product, add to it or fuse it.
 */
#ifndef WNN_PASS_CHANNELS_H
#define WNN_PASS_CHANNELS_H

#include "pass/quantized.h"
#include "pass/rewrite.h"

/*
 * Return the axis of the result along which its channels lie, and the axis of the second operand
 * that they come from.
 */
uint32_t channels_axis(const struct ir_node *node);
uint32_t channels_filter_axis(const struct ir_node *node);
/*
 * channels_each() returns whether a value of this type, which is broadcast to the result, has one
 * element for each channel; channels_each_or_one() also accepts one element for all channels.
 */
bool channels_each(const struct ir_node *node, const struct ir_type *type);
bool channels_each_or_one(const struct ir_node *node, const struct ir_type *type);
/*
 * Returns a vector with the elements of @value, which channels_each_or_one() accepts: the value
 * itself if it is a vector, a constant that shares its data, or the result of a reshape with the
 * label and source of `like`. NULL when out of memory.
 */
struct ir_value *channels_vector(struct rewrite *rw, const struct ir_node *like,
				 struct ir_value *value);
/* Adds a constant vector with a copy of the data; NULL when out of memory. */
struct ir_value *channels_constant(struct rewrite *rw, enum ir_dtype dtype, const void *data,
				   int64_t count);

/*
 * Returns the axis of `to` that has the elements of axis `axis` of `from` after a reshape from one
 * type to the other; -1: there is none.
 */
int channels_reshaped_axis(const struct ir_type *from, uint32_t axis, const struct ir_type *to);

/* Returns how many products are added up for each element of the result. */
double channels_depth(const struct ir_node *node);
/*
 * Whether a quantised second operand has one scale for each channel or one for all, and a single
 * zero point.
 */
bool channels_scales_fit(const struct quantized *q, uint32_t axis);

#endif
