// SPDX-License-Identifier: MIT
/*
 * Pins weights, so that they stay in SRAM from one job to the next. They are at the addresses from
 * 0 on, in the layout of the graph, and no other instruction writes there. The instructions that
 * load them come first in the program, and a job that finds them in SRAM begins after those loads
 * (KEEP_START of the PROGRAM slot).
 *
 * The code generator calls pinned_find() for a range before it plans it; lowering calls
 * values_pinned() to find out whether a constant is in SRAM.
 */
#include "plan/place/values.h"
#include "util/float16.h"
#include "util/malloc.h"

#include <string.h>

/* The most bytes to pin: more would leave too little SRAM to kernels and values. */
#define MOST(sram) ((sram) / 8 * 5)

/* How a kernel can use a pinned constant. */
enum use {
	REFUSED, /* it cannot use the constant */
	PINNED,	 /* it reads the constant from SRAM */
	WIDE,	 /* it reads the constant from SRAM as floats, which the compiler dequantised */
	UNSEEN	 /* it does not read the constant from memory; as a state: no use was seen yet */
};

/*
 * Returns how a node's kernel can use a constant operand from SRAM. Kernels of products can read
 * filters there, and the scale and bias of each channel. Grouped convolutions of integers cannot,
 * as windows over integers need a filter of floats.
 */
static enum use use_of(const struct ir_node *node, uint32_t operand)
{
	bool conv = node->op == IR_OP_CONV || node->op == IR_OP_QCONV;

	if (!operand || (conv && node->attrs.conv.transposed))
		return REFUSED;
	switch (node->op) {
	case IR_OP_MATMUL:
	case IR_OP_CONV:
	case IR_OP_QMATMUL:
		return PINNED;
	case IR_OP_QCONV:
		return node->attrs.conv.groups == 1 ? PINNED : REFUSED;
	case IR_OP_WMATMUL:
		return operand == 1 ? WIDE : operand < 4 ? UNSEEN : PINNED;
	default:
		return REFUSED;
	}
}

/*
 * Returns the state of a constant after one more use: PINNED when all its uses are PINNED, WIDE
 * when its only use is WIDE, otherwise REFUSED. Uses that are UNSEEN do not count.
 */
static enum use both(const uint8_t *state, const struct ir_value *value, enum use use)
{
	enum use before = (enum use)state[value->id];

	if (before == UNSEEN)
		return use;
	return before == use && use != WIDE ? use : REFUSED;
}

/*
 * Lists the constants that all their users can read from SRAM, in the order of the first use.
 * Returns 0, or -1: no memory.
 */
static int find_constants(const struct plan *plan, struct plan_pinned *pinned)
{
	uint8_t *state = wnn_malloc((size_t)plan->graph->num_values + 1);
	uint32_t most = 0;

	for (uint32_t i = 0; i < plan->count; i++)
		most += plan->graph->nodes[plan->first + i]->num_operands;
	pinned->item = wnn_calloc((size_t)most + 1, sizeof(*pinned->item));
	if (!state || !pinned->item) {
		wnn_free(state);
		return -1;
	}
	memset(state, UNSEEN, (size_t)plan->graph->num_values + 1);
	for (uint32_t i = 0; i < plan->count; i++) {
		const struct ir_node *node = plan->graph->nodes[plan->first + i];

		for (uint32_t o = 0; o < node->num_operands; o++) {
			const struct ir_value *value = node->operands[o];
			enum use use = use_of(node, o);

			if (!value || value->kind != IR_VALUE_CONSTANT || use == UNSEEN)
				continue;
			if (state[value->id] == UNSEEN && use != REFUSED)
				pinned->item[pinned->count++] = (struct plan_pin){
					.value = value, .node = i, .wide = use == WIDE ? node : NULL
				};
			state[value->id] = (uint8_t)both(state, value, use);
		}
	}
	for (uint32_t i = pinned->count; i-- > 0;)
		if (state[pinned->item[i].value->id] == REFUSED)
			memmove(pinned->item + i, pinned->item + i + 1,
				(--pinned->count - i) * sizeof(*pinned->item));
	wnn_free(state);
	return 0;
}

/* Returns the bytes that a pinned constant takes in SRAM. */
static uint64_t pinned_bytes(const struct plan_pin *pin)
{
	const struct ir_type *type = &pin->value->type;

	if (!pin->wide)
		return (uint64_t)ir_type_bytes(type);
	return (uint64_t)ir_type_elements(type) *
	       plan_dtype_bytes(plan_dtype(pin->wide->operands[0]->type.dtype));
}

int pinned_find(const struct plan *plan, struct plan_pinned *pinned)
{
	uint64_t sram = plan->caps->sram_bytes;

	*pinned = (struct plan_pinned){ .count = 0 };
	if (find_constants(plan, pinned))
		return -1;
	for (uint32_t i = 0; i < pinned->count; i++) {
		struct plan_pin *pin = &pinned->item[i];

		pin->address = pinned->bytes;
		pin->bytes = pinned_bytes(pin);
		pinned->bytes += plan_align(pin->bytes);
		if (pinned->bytes > MOST(sram))
			break;
	}
	if (pinned->bytes > MOST(sram))
		pinned->count = 0;
	if (!pinned->count)
		pinned->bytes = 0;
	return 0;
}

void pinned_release(struct plan_pinned *pinned)
{
	wnn_free(pinned->item);
	*pinned = (struct plan_pinned){ .count = 0 };
}

void pinned_place(struct plan *plan)
{
	const struct plan_pinned *pinned = plan->sram.pinned;

	for (uint32_t i = 0; pinned && i < pinned->count; i++) {
		const struct plan_pin *pin = &pinned->item[i];
		struct value_location *location = &plan->values->location[pin->value->id];

		location->base = NPU_BASE_NONE;
		location->offset = (int64_t)pin->address;
	}
}

bool values_pinned(const struct plan *plan, const struct ir_value *value)
{
	return value->kind == IR_VALUE_CONSTANT &&
	       plan->values->location[value->id].base == NPU_BASE_NONE;
}

static int32_t integer_at(const struct ir_value *value, int64_t i)
{
	const uint8_t *data = value->constant->data;
	uint8_t nibble = data[i / 2] >> (i % 2 * 4) & 15;

	switch (value->type.dtype) {
	case IR_I4:
		return (nibble ^ 8) - 8;
	case IR_U4:
		return nibble;
	case IR_I8:
		return ((const int8_t *)data)[i];
	default:
		return data[i];
	}
}

/* Writes the dequantised weights of a product, with the bits that the device would compute. */
static void widen(const struct ir_node *node, void *to)
{
	const struct ir_value *b = node->operands[1], *scale = node->operands[2];
	uint32_t rank = b->type.rank;
	int64_t rows = ir_type_dim(&b->type, rank - 2), columns = ir_type_dim(&b->type, rank - 1);
	int64_t row_blocks = ir_type_dim(&scale->type, rank - 2);
	int64_t column_blocks = ir_type_dim(&scale->type, rank - 1);

	for (int64_t i = 0; i < rows * columns; i++) {
		int64_t at = i / columns / (rows / row_blocks) * column_blocks +
			     i % columns / (columns / column_blocks);
		float number = (float)(integer_at(b, i) - integer_at(node->operands[3], at));

		if (scale->type.dtype == IR_F16)
			((uint16_t *)to)[i] = wnn_float_to_half(
				number *
				wnn_half_to_float(((const uint16_t *)scale->constant->data)[at]));
		else
			((float *)to)[i] = number * ((const float *)scale->constant->data)[at];
	}
}

uint64_t pinned_pack(struct plan *plan, const struct plan_pin *pin)
{
	struct ir_constant *wide;
	uint64_t at = 0;
	void *data;

	if (!pin->wide)
		return plan_constant_of(plan, pin->value->constant);
	data = wnn_malloc(pin->bytes);
	wide = data ? ir_constant_own(data, pin->bytes) : NULL;
	if (wide) {
		widen(pin->wide, data);
		at = plan_constant_of(plan, wide);
	} else {
		plan_nomem(plan);
	}
	ir_constant_unref(wide);
	return at;
}
