// SPDX-License-Identifier: MIT
/* The table of operations, and lookup by name. */
#include "kinds.h"

#include <stdlib.h>
#include <string.h>

static const struct shlo_kind kinds[] = {
#define KIND(name, operands, results, regions, check, eval, family, code, quantised, async, lower)  \
	{ name,		 operands, results,	     regions, shlo_check_##check, shlo_eval_##eval, \
	  SHLO_##family, code,	   SHLO_##quantised, async,   shlo_lower_##lower },
#include "kinds.def"
#undef KIND
};

const struct shlo_kind *shlo_kind_find(const char *name)
{
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		if (!strcmp(kinds[i].name, name))
			return &kinds[i];
	return NULL;
}
