// SPDX-License-Identifier: MIT
/*
 * Rules that move padding of images into the windows that read them.
 *
 *	%1 = pad(%0) begin=0,0,1,1 end=0,0,1,1
 *	%3 = conv(%1, %2)			->	%3 = conv(%0, %2) pad=1,1,1,1 ; conv2d+pad
 *
 * Convolutions and L2 pools pad with zeros, maximum pools with the least value; zeros give equal
 * results in front of a maximum pool whose input has neither negative numbers nor -0. Average
 * pools do not count padding: a pool without padding of its own, all of whose windows lie inside,
 * gets `counts_padding`.
 */
#include <math.h>
#include <string.h>

#include "pass/rules.h"
#include "util/float16.h"

/*
 * Sets *number to the constant with which a pad fills; false when the pad does not fill with a
 * constant or is not of floats.
 */
static bool padded_with(const struct ir_node *pad, double *number)
{
	uint32_t bits = (uint32_t)pad->attrs.pad.value;
	float single;

	if (pad->attrs.pad.mode != IR_PAD_CONSTANT)
		return false;
	if (pad->results[0]->type.dtype == IR_F16) {
		*number = (double)wnn_half_to_float((uint16_t)bits);
		return true;
	}
	memcpy(&single, &bits, sizeof(single));
	*number = (double)single;
	return pad->results[0]->type.dtype == IR_F32;
}

/*
 * Adds the sizes of a pad along height and width to `padding`; false when it pads other axes, or
 * a size is above UINT16_MAX.
 */
static bool add_padding(const struct ir_node *pad, enum ir_layout layout, uint32_t *padding)
{
	uint32_t rows = layout == IR_NCHW ? 2 : 1;
	const struct ir_pad_attrs *p = &pad->attrs.pad;

	for (uint32_t i = 0; i < 4; i++)
		if ((i < rows || i > rows + 1) && (p->begin[i] || p->end[i]))
			return false;
	for (uint32_t i = 0; i < 2; i++) {
		if (padding[2 * i] > UINT16_MAX || padding[2 * i + 1] > UINT16_MAX ||
		    p->begin[rows + i] > UINT16_MAX || p->end[rows + i] > UINT16_MAX)
			return false;
		padding[2 * i] += p->begin[rows + i];
		padding[2 * i + 1] += p->end[rows + i];
	}
	return true;
}

static const struct ir_node *pad_of(const struct ir_node *node)
{
	const struct ir_value *from = node->operands[0];

	return from->type.rank == 4 ? rules_maker(from, IR_OP_PAD) : NULL;
}

struct ir_value *rule_pad_before_conv(struct rules *rules, struct ir_node *node)
{
	const struct ir_node *pad = pad_of(node);
	struct ir_value *operands[3] = { NULL };
	union ir_attrs attrs = node->attrs;
	double number;

	if (!pad || attrs.conv.transposed || !padded_with(pad, &number) || number != 0 ||
	    !add_padding(pad, attrs.conv.layout, attrs.conv.padding))
		return NULL;
	for (uint32_t i = 1; i < node->num_operands; i++)
		operands[i] = node->operands[i];
	operands[0] = pad->operands[0];
	return rules_emit_product(rules, node, operands, &attrs, NULL, pad);
}

bool rules_windows_see_input(const struct ir_pool_attrs *pool, const struct ir_type *input,
			     const struct ir_type *result)
{
	uint32_t rows = pool->layout == IR_NCHW ? 2 : 1;

	for (uint32_t i = 0; i < 2; i++) {
		int64_t step = pool->dilations[i], size = ir_type_dim(input, rows + i);

		/* Windows of a smaller input may begin elsewhere. */
		if (input->dim[rows + i].symbol)
			return false;
		for (int64_t o = 0; o < ir_type_dim(result, rows + i); o++) {
			int64_t start = o * pool->strides[i] - pool->padding[2 * i];
			/* The first tap that does not lie in front of the input. */
			int64_t tap = start < 0 ? (step - 1 - start) / step : 0;

			if (tap >= pool->window[i] || start + tap * step >= size)
				return false;
		}
	}
	return true;
}

/*
 * Whether an average pool already counts all taps of its windows, or no tap lies outside of the
 * padded input.
 */
static bool counts_all_taps(const struct ir_node *node)
{
	const struct ir_pool_attrs *pool = &node->attrs.pool;
	uint32_t rows = pool->layout == IR_NCHW ? 2 : 1;

	for (uint32_t i = 0; i < 2 && !pool->counts_padding; i++) {
		int64_t last =
			(ir_type_dim(&node->results[0]->type, rows + i) - 1) * pool->strides[i] +
			(int64_t)(pool->window[i] - 1) * pool->dilations[i];

		if (pool->padding[2 * i] || pool->padding[2 * i + 1] ||
		    node->operands[0]->type.dim[rows + i].symbol ||
		    last >= ir_type_dim(&node->operands[0]->type, rows + i))
			return false;
	}
	return true;
}

/* Whether a pool of this kind has the same results with the number as with its own padding. */
static bool is_unseen(enum ir_pool kind, double number, const struct ir_value *input)
{
	if (kind != IR_POOL_MAX)
		return number == 0;
	return number == (double)-INFINITY || (number == 0 && rules_is_positive(input));
}

struct ir_value *rule_pad_before_pool(struct rules *rules, struct ir_node *node)
{
	const struct ir_node *pad = pad_of(node);
	union ir_attrs attrs = node->attrs;
	double number;

	if (!pad || (attrs.pool.kind == IR_POOL_AVERAGE && !counts_all_taps(node)) ||
	    !padded_with(pad, &number) || !is_unseen(attrs.pool.kind, number, pad->operands[0]) ||
	    !add_padding(pad, attrs.pool.layout, attrs.pool.padding) ||
	    !rules_windows_see_input(&attrs.pool, &pad->operands[0]->type, &node->results[0]->type))
		return NULL;
	attrs.pool.counts_padding = attrs.pool.kind == IR_POOL_AVERAGE;
	return rules_emit(rules, IR_OP_POOL, pad->operands, 1, &node->results[0]->type, &attrs,
			  node, pad);
}
