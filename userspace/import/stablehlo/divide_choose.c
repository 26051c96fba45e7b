// SPDX-License-Identifier: MIT
/* Chooses how a step is divided: the axes of its indices, and the sums that it leaves open. */
#include <stdlib.h>
#include <string.h>

#include "divide.h"
#include "lower.h"
#include "sharding.h"

/*
 * Gives each index of a value's dimensions that has no axes yet those that divide the dimension, if
 * the number of parts divides the index's size; an axis goes to one index only.
 */
static void offer(const struct shlo_divider *d, const struct shlo_step *step, size_t value,
		  const int *positions, uint32_t *axes, bool *used)
{
	const struct shlo_divided *of = &d->values[value];

	for (int i = 0; i < of->type->rank && i < SHLO_DIVIDED_RANK; i++) {
		uint32_t list = 0;
		int count = 0;

		if (positions[i] < 0 || axes[positions[i]])
			continue;
		/* An axis that another index has ends the list. */
		for (uint32_t rest = of->spec.dims[i]; rest && !used[rest & 15]; rest >>= 4)
			list |= (rest & 15) << 4 * count++;
		if (!list || step->rule.size[positions[i]] % shlo_axes_parts(d, list))
			continue;
		axes[positions[i]] = list;
		for (uint32_t rest = list; rest; rest >>= 4)
			used[rest & 15] = true;
	}
}

bool shlo_divide_is_manual(const struct shlo_op *op)
{
	return !strcmp(op->name, "sdy.manual_computation");
}

/* An operand or result of a step, and the number of its elements. */
struct offered {
	size_t position;
	int64_t size;
};

/*
 * Compares two offers for qsort(): the one with more elements comes first, and of equals the later
 * one, since results come behind operands.
 */
static int by_size(const void *a, const void *b)
{
	const struct offered *x = a, *y = b;

	if (x->size != y->size)
		return x->size > y->size ? -1 : 1;
	return x->position > y->position ? -1 : x->position < y->position;
}

uint32_t *shlo_divide_choose(const struct shlo_divider *d, const struct shlo_step *step,
			     uint32_t sums)
{
	const struct shlo_rule *rule = &step->rule;
	size_t ins = step->op->operand_count, count = ins + step->op->result_count;
	uint32_t *axes = shlo_arena_alloc(d->arena, (size_t)rule->count + 1, sizeof(*axes));
	struct offered *order;
	bool used[16] = { false };

	if (!rule->count)
		return axes;
	for (uint32_t axis = 1; axis <= SHLO_DIVIDED_AXES; axis++)
		used[axis] = sums >> axis & 1;
	order = shlo_arena_alloc(d->arena, count, sizeof(*order));
	for (size_t k = 0; k < count; k++)
		order[k] = (struct offered){
			k,
			shlo_type_count(d->values[k < ins ? step->in[k] : step->out[k - ins]].type)
		};
	qsort(order, count, sizeof(*order), by_size);
	for (size_t i = 0; i < count; i++) {
		size_t k = order[i].position;

		if (k < ins)
			offer(d, step, step->in[k], rule->in[k], axes, used);
		else
			offer(d, step, step->out[k - ins], rule->out[k - ins], axes, used);
	}
	return axes;
}

bool shlo_divide_is_addition(const struct shlo_op *op)
{
	return strcmp(op->name, "stablehlo.reduce") ||
	       shlo_only_binary(op->regions[0]) == SHLO_B_ADD;
}

uint32_t shlo_divide_passed(const struct shlo_divider *d, const struct shlo_step *step,
			    size_t *first, size_t *end)
{
	uint32_t wanted, have = 0;
	enum shlo_linear linear;

	*first = *end = 0;
	if (step->op->result_count != 1 || step->captured_count)
		return 0;
	wanted = d->values[step->out[0]].spec.sums;
	linear = wanted ? shlo_divide_linear(d, step, first, end) : SHLO_LINEAR_NOT;
	if (wanted && shlo_is_constraint(step->op)) {
		*end = 1;
		return wanted;
	}
	for (size_t k = *first; linear != SHLO_LINEAR_NOT && k < *end; k++) {
		uint32_t sums = d->values[step->in[k]].versions[0].spec.sums;

		if (linear == SHLO_LINEAR_ONE && sums) {
			if (have)
				return 0;
			*first = k;
			*end = k + 1;
		}
		have |= sums;
	}
	return wanted & have;
}
