/* SPDX-License-Identifier: MIT */
/*
 * Values that are 8-bit integers with a scale and a zero point, for the passes on quantised graphs.
 */
#ifndef WNN_PASS_QUANTIZED_H
#define WNN_PASS_QUANTIZED_H

#include "ir/ir.h"

/* The operands of the dequantisation that made a float value. */
struct quantized {
	struct ir_value *integers, *scale, *zero;
};

/* Fills in which 8-bit integers a value was dequantised from; false for others. */
bool quantized_any(const struct ir_value *value, struct quantized *q);
/*
 * quantized_any() where scale and zero point are constants, as in all functions below. Scales are
 * positive and not extreme.
 */
bool quantized_value(const struct ir_value *value, struct quantized *q);
/* quantized_value() for the result of a quantisation. */
bool quantized_result(const struct ir_node *quantize, struct quantized *q);
/* Whether one scale and zero point stand for all elements. */
bool quantized_whole(const struct quantized *q);
/* The largest distance that an integer of the type may have from a zero point. */
double quantized_largest(const struct quantized *q, int64_t zero);
/* An element of a constant of float32 or float16. */
float quantized_float(const struct ir_value *constant, int64_t i);
float quantized_scale(const struct quantized *q, int64_t i);
int64_t quantized_zero(const struct quantized *q, int64_t i);
/* Whether both are of one type and have the same scale and zero point, one for all elements. */
bool quantized_alike(const struct quantized *a, const struct quantized *b);

#endif
