// SPDX-License-Identifier: MIT
/*
 * Weights that stay in SRAM from one job to the next. They lie from address 0 on, in the layout of the
 * graph, where nothing else is ever written; the instructions that bring them there are in front of all
 * others, and a job that finds them there begins behind those (KEEP_START of the PROGRAM slot).
 */
#include "plan/place/values.h"
#include "util/malloc.h"

#include <string.h>

/* Fewer weights are not worth their place; more would leave too little of it to kernels and values. */
#define LEAST(sram) ((sram) / 64)
#define MOST(sram)  ((sram) / 8 * 5)

/* Kernels read a filter of these, and what is added to each channel, where it lies in SRAM. */
static bool takes_pinned(const struct ir_node *node, uint32_t operand)
{
	if (operand != 1 && operand != 2)
		return false;
	return node->op == IR_OP_MATMUL || (node->op == IR_OP_CONV && !node->attrs.conv.transposed);
}

/* Lists the constants that only such operands are, in the order of their first use; -1: no memory. */
static int find_constants(const struct plan *plan, struct plan_pinned *pinned)
{
	enum { UNUSED, CANDIDATE, REFUSED };
	uint8_t *state = wnn_calloc(plan->graph->num_values + 1, 1);
	uint32_t most = 0;

	for (uint32_t i = 0; i < plan->count; i++)
		most += plan->graph->nodes[plan->first + i]->num_operands;
	pinned->item = wnn_calloc((size_t)most + 1, sizeof(*pinned->item));
	if (!state || !pinned->item) {
		wnn_free(state);
		return -1;
	}
	for (uint32_t i = 0; i < plan->count; i++) {
		const struct ir_node *node = plan->graph->nodes[plan->first + i];

		for (uint32_t o = 0; o < node->num_operands; o++) {
			const struct ir_value *value = node->operands[o];

			if (!value || value->kind != IR_VALUE_CONSTANT)
				continue;
			if (!takes_pinned(node, o))
				state[value->id] = REFUSED;
			else if (state[value->id] == UNUSED)
				pinned->item[pinned->count++] =
					(struct plan_pin){ .value = value, .node = i };
			if (state[value->id] == UNUSED)
				state[value->id] = CANDIDATE;
		}
	}
	for (uint32_t i = pinned->count; i-- > 0;)
		if (state[pinned->item[i].value->id] == REFUSED)
			memmove(pinned->item + i, pinned->item + i + 1,
				(--pinned->count - i) * sizeof(*pinned->item));
	wnn_free(state);
	return 0;
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
		pin->bytes = (uint64_t)ir_type_bytes(&pin->value->type);
		pinned->bytes += plan_align(pin->bytes);
		if (pinned->bytes > MOST(sram))
			break;
	}
	if (pinned->bytes < LEAST(sram) || pinned->bytes > MOST(sram))
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
		struct place *place = &plan->values->place[pin->value->id];

		place->base = NPU_BASE_NONE;
		place->offset = (int64_t)pin->address;
	}
}

bool values_pinned(const struct plan *plan, const struct ir_value *value)
{
	return value->kind == IR_VALUE_CONSTANT &&
	       plan->values->place[value->id].base == NPU_BASE_NONE;
}
