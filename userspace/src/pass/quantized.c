// SPDX-License-Identifier: MIT
/* Recognises values that are 8-bit integers with a scale and a zero point, for passes. */
#include "pass/quantized.h"

#include <math.h>

#include "util/float16.h"

/*
 * With scales within these limits, dequantising an integer and quantising the result gives the
 * integer again.
 */
#define LEAST_SCALE 1e-30f
#define MOST_SCALE  1e30f
/* Up to this scale, all integers dequantise to finite float16 numbers. */
#define MOST_HALF_SCALE 256.0f

float quantized_float(const struct ir_value *constant, int64_t i)
{
	const void *data = ir_constant_data(constant->constant);

	if (!data)
		return NAN;
	return constant->type.dtype == IR_F16 ? wnn_half_to_float(((const uint16_t *)data)[i]) :
						((const float *)data)[i];
}

float quantized_scale(const struct quantized *q, int64_t i)
{
	return quantized_float(q->scale, i);
}

int64_t quantized_zero(const struct quantized *q, int64_t i)
{
	const void *data = ir_constant_data(q->zero->constant);

	return q->zero->type.dtype == IR_I8 ? ((const int8_t *)data)[i] :
					      ((const uint8_t *)data)[i];
}

double quantized_largest(const struct quantized *q, int64_t zero)
{
	int64_t lo = q->integers->type.dtype == IR_I8 ? INT8_MIN : 0;
	int64_t below = zero - lo, above = lo + UINT8_MAX - zero;

	return (double)(below > above ? below : above);
}

bool quantized_whole(const struct quantized *q)
{
	return ir_type_elements(&q->scale->type) == 1 && ir_type_elements(&q->zero->type) == 1;
}

static bool is_usable(const struct quantized *q)
{
	enum ir_dtype dtype = q->integers->type.dtype;
	float most = q->scale->type.dtype == IR_F16 ? MOST_HALF_SCALE : MOST_SCALE;
	int64_t count = ir_type_elements(&q->scale->type);

	if ((dtype != IR_I8 && dtype != IR_U8) || q->scale->kind != IR_VALUE_CONSTANT ||
	    q->zero->kind != IR_VALUE_CONSTANT || !ir_constant_data(q->zero->constant))
		return false;
	for (int64_t i = 0; i < count; i++)
		if (!(quantized_scale(q, i) >= LEAST_SCALE && quantized_scale(q, i) <= most))
			return false;
	return true;
}

bool quantized_any(const struct ir_value *value, struct quantized *q)
{
	const struct ir_node *def = value->kind == IR_VALUE_RESULT ? value->def : NULL;

	if (!def || def->op != IR_OP_DEQUANTIZE)
		return false;
	*q = (struct quantized){ def->operands[0], def->operands[1], def->operands[2] };
	return q->integers->type.dtype == IR_I8 || q->integers->type.dtype == IR_U8;
}

bool quantized_value(const struct ir_value *value, struct quantized *q)
{
	return quantized_any(value, q) && is_usable(q);
}

bool quantized_result(const struct ir_node *quantize, struct quantized *q)
{
	if (quantize->op != IR_OP_QUANTIZE)
		return false;
	*q = (struct quantized){ quantize->results[0], quantize->operands[1],
				 quantize->operands[2] };
	return is_usable(q) && quantized_whole(q);
}

bool quantized_alike(const struct quantized *a, const struct quantized *b)
{
	return a->integers->type.dtype == b->integers->type.dtype && quantized_whole(a) &&
	       quantized_whole(b) && quantized_scale(a, 0) == quantized_scale(b, 0) &&
	       quantized_zero(a, 0) == quantized_zero(b, 0);
}
