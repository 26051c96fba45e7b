// SPDX-License-Identifier: MIT
/*
 * Finds the last operation that reads each value. The operand's bit in op->last is set there: a
 * kernel may write its result into the memory of such an operand. The operation's list op->dead has
 * the values that a run frees behind it. op->wanted of a sort becomes the number of elements that
 * its readers read.
 */
#include <string.h>

#include "module.h"

struct finder {
	struct shlo_arena *arena;
	size_t *home; /* by slot: number of the block that defines the value */
	bool *read;   /* by slot: a later operation reads the value, or it is in a list of dead */
	size_t blocks;
	/* values whose last reader the search has found, and that no list of dead has yet */
	struct shlo_value **ended;
	size_t ended_count;
};

static void note_read(struct finder *f, struct shlo_value *value)
{
	if (f->read[value->slot])
		return;
	f->read[value->slot] = true;
	f->ended = shlo_arena_grow(f->arena, f->ended, f->ended_count, sizeof(*f->ended));
	f->ended[f->ended_count++] = value;
}

/*
 * Moves the values of this block from f->ended, from item @from on, to the list of an operation.
 * Those of outer blocks stay: the operation that holds this block is their last reader.
 */
static void set_dead(struct finder *f, struct shlo_op *op, size_t own, size_t from)
{
	size_t kept = from;

	op->dead = NULL;
	op->dead_count = 0;
	for (size_t i = from; i < f->ended_count; i++) {
		struct shlo_value *value = f->ended[i];

		if (f->home[value->slot] != own) {
			f->ended[kept++] = value;
			continue;
		}
		op->dead = shlo_arena_grow(f->arena, op->dead, op->dead_count, sizeof(*op->dead));
		op->dead[op->dead_count++] = value;
	}
	f->ended_count = kept;
}

/* Adds what an operation reads of a value to what is read of the sort that makes the value. */
static void note_wanted(const struct shlo_op *op, const struct shlo_value *value)
{
	int64_t limit[SHLO_MAX_RANK];
	int64_t dim, wanted = INT64_MAX;
	struct shlo_op *sort = value->op;

	if (!sort || strcmp(sort->name, "stablehlo.sort"))
		return;
	dim = shlo_attr_int(sort, "dimension", -1);
	dim += dim < 0 ? value->type->rank : 0;
	if (!strcmp(op->name, "stablehlo.slice")) {
		shlo_ints_of(shlo_attr_find(&op->attrs, "limit_indices"), limit, SHLO_MAX_RANK);
		wanted = limit[dim];
	}
	sort->wanted = wanted > sort->wanted ? wanted : sort->wanted;
}

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
		size_t from = f->ended_count;

		for (size_t k = 0; k < op->region_count; k++)
			find(f, &op->regions[k]->block);
		op->last = 0;
		/* A value of an outer block may be read by the next iteration. */
		for (size_t k = 0; k < op->operand_count && k < 64; k++)
			if (f->home[op->operands[k]->slot] == own &&
			    !f->read[op->operands[k]->slot])
				op->last |= UINT64_C(1) << k;
		for (size_t k = 0; k < op->operand_count; k++) {
			note_read(f, op->operands[k]);
			note_wanted(op, op->operands[k]);
		}
		for (size_t k = 0; k < op->result_count; k++)
			note_read(f, op->results[k]);
		set_dead(f, op, own, from);
	}
}

void shlo_find_last_reads(struct shlo_arena *arena, const struct shlo_function *function)
{
	struct finder f = {
		.arena = arena,
		.home = shlo_arena_alloc(arena, function->slot_count, sizeof(*f.home)),
		.read = shlo_arena_alloc(arena, function->slot_count, sizeof(*f.read)),
	};

	if (function->region)
		find(&f, &function->region->block);
}
