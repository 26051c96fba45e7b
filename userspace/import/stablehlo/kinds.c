// SPDX-License-Identifier: MIT
/* The table of operations. */
#include "kinds.h"

#include <stdlib.h>
#include <string.h>

static const struct shlo_kind kinds[] = {
#define KIND(name, operands, results, regions, check, eval, family, code, quantised, async)         \
	{ name,		 operands, results,	     regions, shlo_check_##check, shlo_eval_##eval, \
	  SHLO_##family, code,	   SHLO_##quantised, async },
#include "kinds.def"
#undef KIND
};

#define KIND_COUNT (sizeof(kinds) / sizeof(kinds[0]))

const struct shlo_kind *shlo_kind_find(const char *name)
{
	for (size_t i = 0; i < KIND_COUNT; i++)
		if (!strcmp(kinds[i].name, name))
			return &kinds[i];
	return NULL;
}

const struct shlo_kind *shlo_kind_table(size_t *count)
{
	*count = KIND_COUNT;
	return kinds;
}
