// SPDX-License-Identifier: MIT
/*
 * Moves dequantisations after operators that only move or select elements, so that these work on
 * integers.
 *
 * Precondition: a verified graph. Postcondition: where all data of such an operator was dequantised
 * with one scale and zero point, the operator is on the integers, and its result is dequantised.
 *
 *	%1 = dequantize(%0, s, z)		%1 = reshape(%0)
 *	%2 = reshape(%1)		->	%2 = dequantize(%1, s, z)
 */
#include <math.h>
#include <string.h>

#include "pass/quantized.h"
#include "pass/rewrite.h"

#include "util/float16.h"
#include "util/malloc.h"

/*
 * Whether each window of a maximum pool has an element of the input. Windows in the padding have
 * none, and neither have dilated windows whose taps step over a small input: dilated windows with
 * padding are not accepted at all. The maximum of no elements is -infinity in float32, for which
 * there is no integer.
 */
static bool windows_meet_input(const struct ir_node *node)
{
	const struct ir_pool_attrs *attrs = &node->attrs.pool;
	uint32_t row = attrs->layout == IR_NHWC ? 1 : 2;

	for (uint32_t i = 0; i < 2; i++) {
		int64_t in = ir_type_dim(&node->operands[0]->type, row + i);
		int64_t out = ir_type_dim(&node->results[0]->type, row + i);
		int64_t before = attrs->padding[2 * i];

		if ((out - 1) * attrs->strides[i] - before >= in || before >= attrs->window[i] ||
		    (before && attrs->dilations[i] != 1))
			return false;
	}
	return true;
}

/* Sets *value to the integer that dequantises to the padding's value; false when there is none. */
static bool quantize_padding(const struct ir_pad_attrs *attrs, const struct quantized *q,
			     uint64_t *value)
{
	bool is_signed = q->integers->type.dtype == IR_I8;
	bool half = q->scale->type.dtype == IR_F16;
	float scale = quantized_scale(q, 0), zero = (float)quantized_zero(q, 0), real, n, back;

	memcpy(&real, &attrs->value, sizeof(real));
	if (half)
		real = wnn_half_to_float((uint16_t)attrs->value);
	n = nearbyintf(real / scale);
	back = half ? wnn_half_to_float(wnn_float_to_half(n * scale)) : n * scale;
	if (!(back == real) || n + zero < (is_signed ? INT8_MIN : 0) ||
	    n + zero > (is_signed ? INT8_MAX : UINT8_MAX))
		return false;
	*value = (uint8_t)(int)(n + zero);
	return true;
}

/*
 * Returns how many operands, from the first on, are data that an operator moves; 0 for operators
 * that compute.
 */
static uint32_t moved_operands(const struct ir_node *node)
{
	switch (node->op) {
	case IR_OP_RESHAPE:
	case IR_OP_TRANSPOSE:
	case IR_OP_SLICE:
	case IR_OP_REVERSE:
	case IR_OP_COPY:
	case IR_OP_PAD:
	case IR_OP_GATHER:
		return 1;
	case IR_OP_RESAMPLE:
		return !node->attrs.resample.linear;
	case IR_OP_POOL:
		return node->attrs.pool.kind == IR_POOL_MAX && windows_meet_input(node);
	case IR_OP_CONCAT:
		return node->num_operands;
	default:
		return 0;
	}
}

/*
 * Whether all data operands were dequantised with one scale and zero point; *q becomes the operands
 * of the first dequantisation.
 */
static bool find_integers(const struct rewrite *rw, const struct ir_node *node, struct quantized *q)
{
	uint32_t count = moved_operands(node);

	for (uint32_t i = 0; i < count; i++) {
		struct quantized other;

		if (!quantized_value(rw->value[node->operands[i]->id], i ? &other : q) ||
		    (i ? !quantized_alike(q, &other) : !quantized_whole(q)))
			return false;
	}
	return count > 0;
}

/*
 * Returns a constant of one element with @rank axes that has the bytes of `constant`; NULL when out
 * of memory.
 */
static struct ir_value *with_rank(struct rewrite *rw, struct ir_value *constant, uint32_t rank)
{
	const int64_t ones[IR_MAX_RANK] = { 1, 1, 1, 1, 1, 1, 1, 1 };
	struct ir_type type = ir_type_make(constant->type.dtype, rank, ones);
	struct ir_value *value;

	if (constant->type.rank == rank)
		return constant;
	value = ir_add_constant(rw->to, &type, ir_constant_ref(constant->constant));
	if (!value)
		ir_constant_unref(constant->constant);
	return value;
}

static struct ir_node *move_integers(struct rewrite *rw, const struct ir_node *node,
				     const struct quantized *q)
{
	struct ir_value **operands = wnn_calloc(node->num_operands, sizeof(*operands));
	struct ir_type type = node->results[0]->type;
	union ir_attrs attrs = node->attrs;
	struct ir_node *moved = NULL;

	type.dtype = q->integers->type.dtype;
	if (node->op == IR_OP_PAD && attrs.pad.mode == IR_PAD_CONSTANT)
		quantize_padding(&node->attrs.pad, q, &attrs.pad.value);
	for (uint32_t i = 0; operands && i < node->num_operands; i++) {
		operands[i] = rw->value[node->operands[i]->id];
		if (i < moved_operands(node))
			operands[i] = operands[i]->def->operands[0];
	}
	if (operands)
		moved = ir_add_node(rw->to, node->op, operands, node->num_operands, &type, 1,
				    &attrs, node->label, node->source);
	wnn_free(operands);
	return moved;
}

static int sink(struct rewrite *rw, const struct ir_node *node, const struct quantized *q)
{
	struct ir_node *moved = move_integers(rw, node, q), *real = NULL;
	struct ir_value *operands[3] = { NULL };

	if (moved) {
		operands[0] = moved->results[0];
		operands[1] = with_rank(rw, q->scale, moved->results[0]->type.rank);
		operands[2] = with_rank(rw, q->zero, moved->results[0]->type.rank);
	}
	if (moved && operands[1] && operands[2])
		real = ir_add_node(rw->to, IR_OP_DEQUANTIZE, operands, 3, &node->results[0]->type,
				   1, NULL, node->label, "dequantizeLinear");
	if (!real)
		return rewrite_nomem(rw);
	rw->value[node->results[0]->id] = real->results[0];
	rw->fate[node->id] = (struct rewrite_fate){ WNN_FATE_KEPT, moved->id };
	return 0;
}

int pass_sink_dequantize(struct rewrite *rw, const struct pass_context *ctx)
{
	(void)ctx;
	for (uint32_t n = 0; n < rw->from->num_nodes; n++) {
		const struct ir_node *node = rw->from->nodes[n];
		struct quantized q;
		uint64_t value;
		int ret;

		if (find_integers(rw, node, &q) &&
		    (node->op != IR_OP_PAD || node->attrs.pad.mode != IR_PAD_CONSTANT ||
		     quantize_padding(&node->attrs.pad, &q, &value)))
			ret = sink(rw, node, &q);
		else
			ret = rewrite_copy(rw, node);
		if (ret)
			return ret;
	}
	return 0;
}
