// SPDX-License-Identifier: MIT
/*
 * Changes a valid instruction or its slots slightly. The reference says what the result is: mostly
 * one of the faults, at times another valid instruction.
 */
#include "generate.h"

#include <string.h>

static unsigned int index_of(const struct gen *g, unsigned int x)
{
	const unsigned int index[] = {
		g->insn.dst, g->insn.s0, g->insn.s1, g->insn.s2, g->insn.param,
	};

	return index[x];
}

static unsigned int random_operand(struct gen *g)
{
	unsigned int x;

	do {
		x = (unsigned int)rng_below(&g->random, ONPU_OPERAND_COUNT);
	} while (!g->has[x]);
	return x;
}

static int64_t nudge(struct gen *g)
{
	static const int64_t by[] = { 1, -1, 2, -2, 4, -4, 8, -8, 3, 64, -64 };

	return by[rng_below(&g->random, sizeof(by) / sizeof(*by))];
}

static void mutate_shape(struct gen *g, struct onpu_slot_tensor *t)
{
	unsigned int d = (unsigned int)rng_below(&g->random, t->rank ? t->rank : 1);

	switch (rng_below(&g->random, 6)) {
	case 0:
		t->dim[d] += (uint32_t)nudge(g);
		break;
	case 1:
		t->stride[d] += nudge(g);
		break;
	case 2:
		t->stride[d] = 0;
		break;
	case 3:
		t->stride[d] = -t->stride[d];
		break;
	case 4:
		t->dim[d] = (uint32_t)rng_bits(&g->random);
		break;
	default:
		t->stride[d] = (int64_t)rng_bits(&g->random);
	}
}

static void mutate_tensor(struct gen *g, struct onpu_slot_tensor *t)
{
	switch (rng_below(&g->random, 9)) {
	case 0:
		t->dtype = (uint8_t)rng_below(&g->random, ONPU_DT_COUNT + 1);
		break;
	case 1:
		t->rank = (uint8_t)rng_below(&g->random, 10);
		break;
	case 2:
		t->space ^= (uint8_t)(1 + rng_below(&g->random, 3) / 2);
		break;
	case 3:
		t->base += (uint64_t)nudge(g);
		break;
	case 4:
		t->size += (uint64_t)nudge(g);
		break;
	case 5:
		t->offset += (uint64_t)nudge(g);
		break;
	case 6:
		t->base = rng_bits(&g->random);
		break;
	default:
		mutate_shape(g, t);
	}
}

static void flip_bit(struct gen *g, union onpu_slot *slot)
{
	unsigned int bit = (unsigned int)rng_below(&g->random, ONPU_SLOT_SIZE * 8);

	slot->bytes[bit / 8] ^= (uint8_t)(1u << bit % 8);
}

static void mutate_param(struct gen *g, union onpu_slot *slot)
{
	unsigned int word = (unsigned int)rng_below(&g->random, 28);

	slot->words[word] += (uint32_t)nudge(g);
}

static void mutate_index(struct gen *g)
{
	uint16_t *index[ONPU_OPERAND_COUNT] = {
		&g->insn.dst, &g->insn.s0, &g->insn.s1, &g->insn.s2, &g->insn.param,
	};
	unsigned int x = random_operand(g), other = random_operand(g);

	switch (rng_below(&g->random, 4)) {
	case 0:
		*index[x] = 0;
		break;
	case 1:
		*index[x] = (uint16_t)(g->job->program.num_slots + rng_below(&g->random, 3));
		break;
	case 2:
		*index[x] = *index[other];
		break;
	default:
		*index[x] = (uint16_t)rng_bits(&g->random);
	}
	rig_put_insn(g->job, 0, &g->insn);
}

static void mutate_word(struct gen *g)
{
	unsigned int bit = (unsigned int)rng_below(&g->random, 128);
	uint32_t *words = (uint32_t *)(void *)(g->job->memory + RIG_PROGRAM);

	words[bit / 32] ^= 1u << bit % 32;
}

/*
 * Moves a source to the address of the destination or near it, so that the two overlap or are the
 * same.
 */
static void mutate_place(struct gen *g)
{
	unsigned int x = (unsigned int)rng_below(&g->random, 4);
	struct onpu_slot_tensor *t, *dst;

	if (!g->has[0] || !g->has[x] || x == 0)
		return;
	t = &rig_slot(g->job, index_of(g, x))->tensor;
	dst = &rig_slot(g->job, index_of(g, 0))->tensor;
	t->space = dst->space;
	t->base = dst->base;
	t->offset = dst->offset;
	if (rng_chance(&g->random, 50)) {
		t->size = dst->size;
		memcpy(t->stride, dst->stride, sizeof(t->stride));
	}
	if (rng_chance(&g->random, 40))
		t->base += (uint64_t)nudge(g);
}

static void mutate_once(struct gen *g)
{
	unsigned int x = random_operand(g);
	union onpu_slot *slot = rig_slot(g->job, index_of(g, x));

	switch (rng_below(&g->random, 10)) {
	case 0:
		mutate_index(g);
		break;
	case 1:
		mutate_word(g);
		break;
	case 2:
		flip_bit(g, slot);
		break;
	case 3:
		mutate_place(g);
		break;
	case 4:
		rig_slot(g->job, 0)->program.sram_bytes -= (uint32_t)rng_below(&g->random, 300);
		break;
	default:
		if (x == ONPU_OPERAND_PARAM)
			mutate_param(g, slot);
		else
			mutate_tensor(g, &slot->tensor);
	}
}

void mutate(struct gen *g)
{
	mutate_once(g);
	if (rng_chance(&g->random, 25) && index_of(g, 0) && index_of(g, 0) < RIG_NUM_SLOTS)
		mutate_once(g);
}
