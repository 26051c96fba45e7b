/* SPDX-License-Identifier: MIT */
/*
 * Values that are 8-bit integers with a scale and a zero point, for the passes on quantised graphs.
 */
#ifndef WNN_PASS_QUANTIZED_H
#define WNN_PASS_QUANTIZED_H

#include "ir/ir.h"

/*
 * Integers with their scale and zero point: the operands of a dequantisation, or the result of a
 * quantisation and its operands.
 */
struct quantized {
	struct ir_value *integers, *scale, *zero;
};

/*
 * Fills in *q with the 8-bit integers from which a value is dequantised; false when it is not
 * dequantised.
 */
bool quantized_any(const struct ir_value *value, struct quantized *q);
/*
 * Like quantized_any(), but also requires that scale and zero point are constants and that scales
 * are positive and not extreme.
 */
bool quantized_value(const struct ir_value *value, struct quantized *q);
/*
 * Like quantized_value(), but for the result of a quantisation, and also requires one scale and
 * zero point for all elements.
 */
bool quantized_result(const struct ir_node *quantize, struct quantized *q);
/* Whether all elements have one scale and zero point. */
bool quantized_whole(const struct quantized *q);
/* Returns the largest distance of an integer of the type from a zero point. */
double quantized_largest(const struct quantized *q, int64_t zero);
/*
 * quantized_float() returns an element of a float32 or float16 constant; quantized_scale() and
 * quantized_zero() return element i of a constant scale or zero point. A float is NaN when out of
 * memory for a constant that is computed when it is first read.
 */
float quantized_float(const struct ir_value *constant, int64_t i);
float quantized_scale(const struct quantized *q, int64_t i);
int64_t quantized_zero(const struct quantized *q, int64_t i);
/*
 * Whether both have the same integer type, scale and zero point, with one scale for all elements.
 */
bool quantized_alike(const struct quantized *a, const struct quantized *b);

#endif
