/* SPDX-License-Identifier: MIT */
/* Makes random legal instructions for the tests of this folder. */
#ifndef RANDOM_INSN_H
#define RANDOM_INSN_H

#include <string.h>

#include "../../random.h"
#include "onpu/isa.h"

/*
 * Returns a legal value of the field; the smallest and the largest are more frequent than others.
 */
static inline uint32_t random_value(struct rng *rng, const struct onpu_field_info *field)
{
	uint32_t mask = 0xffffffffu >> (31 - (field->high - field->low));
	uint32_t choice = rng_u32(rng) % 8;

	if (field->type == ONPU_FIELD_ENUM)
		return field->values->values[rng_u32(rng) % field->values->num_values].value;
	return choice == 0 ? 0 : choice == 1 ? mask : rng_u32(rng) & mask;
}

static inline void random_insn(struct rng *rng, enum onpu_op op, struct onpu_insn *insn)
{
	const struct onpu_op_info *info = &onpu_op_info[op];
	uint32_t i;

	memset(insn, 0, sizeof(*insn));
	insn->op = op;
	for (i = 0; i < info->num_fields; i++)
		onpu_insn_set(insn, (enum onpu_field)info->fields[i].id,
			      random_value(rng, &info->fields[i]));
}

#endif
