/* SPDX-License-Identifier: MIT */
/* Values that are 8-bit integers with a scale and a zero point, as passes see them. */
#ifndef WNN_PASS_QUANTIZED_H
#define WNN_PASS_QUANTIZED_H

#include "ir/ir.h"

/* What a float32 value was dequantised from. */
struct quantized {
	struct ir_value *integers, *scale, *zero; /* scale and zero point are constants */
};

/* Fills in what a value was dequantised from; false for others. Scales are positive and not extreme. */
bool quantized_value(const struct ir_value *value, struct quantized *q);
/* The same of the result of a quantisation. */
bool quantized_result(const struct ir_node *quantize, struct quantized *q);
/* Whether one scale and zero point stand for all elements. */
bool quantized_whole(const struct quantized *q);
float quantized_scale(const struct quantized *q, int64_t i);
int64_t quantized_zero(const struct quantized *q, int64_t i);
/* Whether both are of one type and have the same scale and zero point, one for all elements. */
bool quantized_alike(const struct quantized *a, const struct quantized *b);

#endif
