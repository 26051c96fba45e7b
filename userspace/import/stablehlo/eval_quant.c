// SPDX-License-Identifier: MIT
/* Quantised values: conversion to and from real numbers, and operations by way of real numbers. */
#include <math.h>
#include <string.h>

#include "run.h"

/*
 * Returns the index of an element's scale: its position along the axis, or 0 when there is one
 * scale for all.
 */
static size_t scale_of(const struct shlo_tensor *tensor, int64_t index)
{
	const struct shlo_quant *quant = tensor->type.quant;
	int64_t inner = 1;

	if (quant->axis < 0 || quant->axis >= tensor->type.rank)
		return 0;
	for (int i = quant->axis + 1; i < tensor->type.rank; i++)
		inner *= tensor->dims[i];
	index = index / inner % tensor->dims[quant->axis];
	return index < (int64_t)quant->count ? (size_t)index : 0;
}

double shlo_dequantised(const struct shlo_tensor *tensor, int64_t index)
{
	const struct shlo_quant *quant = tensor->type.quant;
	size_t at = scale_of(tensor, index);
	struct shlo_num difference = shlo_convert(
		quant->expressed, SHLO_I64, shlo_int(shlo_get(tensor, index).i - quant->zeros[at]));

	/*
	 * Computes in the expressed type and rounds each step, as a composition of operations
	 * would.
	 */
	return shlo_round(quant->expressed,
			  shlo_real(difference.re *
				    shlo_round(quant->expressed, shlo_real(quant->scales[at])).re))
		.re;
}

void shlo_set_quantised(struct shlo_tensor *tensor, int64_t index, double value)
{
	const struct shlo_quant *quant = tensor->type.quant;
	size_t at = scale_of(tensor, index);
	double scale = shlo_round(quant->expressed, shlo_real(quant->scales[at])).re;

	value = shlo_round(quant->expressed, shlo_real(value / scale)).re;
	value = shlo_round(quant->expressed, shlo_real(rint(value) + (double)quant->zeros[at])).re;
	if (isnan(value))
		value = 0;
	if (value < (double)quant->least)
		value = (double)quant->least;
	if (value > (double)quant->most)
		value = (double)quant->most;
	shlo_set(tensor, index, shlo_int((int64_t)value));
}

void shlo_eval_uniform_dequantize(struct shlo_call *call)
{
	struct shlo_tensor *out = shlo_result(call, 0);

	for (int64_t i = 0; i < out->count; i++)
		shlo_set(out, i, shlo_real(shlo_dequantised(call->in[0], i)));
}

void shlo_eval_uniform_quantize(struct shlo_call *call)
{
	const struct shlo_tensor *x = call->in[0];
	struct shlo_tensor *out = shlo_result(call, 0);

	for (int64_t i = 0; i < out->count; i++)
		shlo_set_quantised(out, i,
				   x->type.quant ? shlo_dequantised(x, i) : shlo_get(x, i).re);
}

/*
 * Whether an operation computes with numbers; operations that only move elements work on stored
 * values.
 */
static bool computes(const struct shlo_op *op)
{
	static const char *const others[] = {
		"stablehlo.dot_general",	  "stablehlo.convolution",
		"stablehlo.dynamic_conv",	  "stablehlo.dot",
		"stablehlo.select_and_scatter",	  "stablehlo.reduce_precision",
		"stablehlo.batch_norm_inference", "stablehlo.batch_norm_training",
		"stablehlo.batch_norm_grad",	  "stablehlo.cholesky",
		"stablehlo.triangular_solve",	  "stablehlo.rng",
	};

	if (op->kind->family == SHLO_UNARY || op->kind->family == SHLO_BINARY ||
	    op->kind->family == SHLO_COMPARE || op->kind->family == SHLO_CLAMP ||
	    !strncmp(op->name, "chlo.broadcast_", 15))
		return true;
	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
		if (!strcmp(others[i], op->name))
			return true;
	return false;
}

bool shlo_any_quantised(const struct shlo_call *call)
{
	if (!computes(call->op))
		return false;
	for (size_t i = 0; i < call->op->operand_count; i++)
		if (call->in[i]->type.quant)
			return true;
	return false;
}

static struct shlo_tensor *dequantised(struct shlo_run *run, const struct shlo_tensor *x)
{
	struct shlo_type type = {
		.element = x->type.quant->expressed,
		.rank = x->type.rank,
		.dims = x->dims,
	};
	struct shlo_tensor *out = shlo_tensor_new(run, &type);

	for (int64_t i = 0; i < out->count; i++)
		shlo_set(out, i, shlo_real(shlo_dequantised(x, i)));
	return out;
}

void shlo_eval_dequantised(struct shlo_call *call)
{
	const struct shlo_op *op = call->op;
	struct shlo_op plain = *op;
	struct shlo_value values[8], *results[8];
	struct shlo_type types[8];
	const struct shlo_type *known[8];
	struct shlo_tensor *in[8], *out[8] = { NULL };
	struct shlo_call inner = { .run = call->run, .frame = call->frame, .op = &plain };

	/* The operations of computes() have at most 5 operands and 3 results. */
	for (size_t i = 0; i < op->operand_count; i++)
		in[i] = call->in[i]->type.quant ? dequantised(call->run, call->in[i]) :
						  shlo_tensor_get(call->in[i]);
	for (size_t i = 0; i < op->result_count; i++) {
		const struct shlo_type *type = call->types[i] ? call->types[i] :
								op->results[i]->type;

		types[i] = *type;
		if (type->quant) {
			types[i].element = type->quant->expressed;
			types[i].quant = NULL;
		}
		values[i] = *op->results[i];
		values[i].type = &types[i];
		results[i] = &values[i];
		known[i] = call->types[i] ? &types[i] : NULL;
	}
	plain.results = results;
	inner.in = in;
	inner.types = known;
	inner.out = out;
	op->kind->eval(&inner);
	for (size_t i = 0; i < op->result_count; i++) {
		if (!op->results[i]->type->quant) {
			call->out[i] = out[i];
			continue;
		}
		call->out[i] = shlo_tensor_like(call->run, op->results[i]->type, out[i]->type.rank,
						out[i]->dims);
		for (int64_t k = 0; k < out[i]->count; k++)
			shlo_set_quantised(call->out[i], k, shlo_get(out[i], k).re);
		shlo_tensor_put(out[i]);
	}
	for (size_t i = 0; i < op->operand_count; i++)
		shlo_tensor_put(in[i]);
}
