// SPDX-License-Identifier: MIT
/*
 * Finds the last operation that reads each value, from a function to a bit for each operand: a
 * kernel may write its result into the memory of such an operand.
 */
#include "module.h"

struct finder {
	size_t *home; /* by slot: number of the block that defines the value */
	bool *read;   /* by slot: a later operation reads the value */
	size_t blocks;
};

static void find(struct finder *f, const struct shlo_block *block)
{
	size_t own = ++f->blocks;

	for (size_t i = 0; i < block->argument_count; i++)
		f->home[block->arguments[i]->slot] = own;
	for (size_t i = 0; i < block->op_count; i++)
		for (size_t k = 0; k < block->ops[i]->result_count; k++)
			f->home[block->ops[i]->results[k]->slot] = own;
	for (size_t i = block->op_count; i-- > 0;) {
		struct shlo_op *op = block->ops[i];

		for (size_t k = 0; k < op->region_count; k++)
			find(f, &op->regions[k]->block);
		op->last = 0;
		/* A value of an outer block may be read by the next iteration. */
		for (size_t k = 0; k < op->operand_count && k < 64; k++)
			if (f->home[op->operands[k]->slot] == own &&
			    !f->read[op->operands[k]->slot])
				op->last |= UINT64_C(1) << k;
		for (size_t k = 0; k < op->operand_count; k++)
			f->read[op->operands[k]->slot] = true;
	}
}

void shlo_find_last_reads(struct shlo_arena *arena, const struct shlo_function *function)
{
	struct finder f = {
		.home = shlo_arena_alloc(arena, function->slot_count, sizeof(*f.home)),
		.read = shlo_arena_alloc(arena, function->slot_count, sizeof(*f.read)),
	};

	if (function->region)
		find(&f, &function->region->block);
}
