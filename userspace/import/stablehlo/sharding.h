/* SPDX-License-Identifier: MIT */
/* Marks that say how values are to be parted over devices: what exporters write for a partitioner. */
#ifndef SHLO_SHARDING_H
#define SHLO_SHARDING_H

#include "module.h"

/* Whether a custom call is such a mark; *gives: it has results, the values that it takes. */
bool shlo_is_mark(const char *call, bool *gives);
/* Whether the text of an attribute says that a value is in parts. */
bool shlo_says_parts(const char *text);
/* The same of an attribute, those in it included. */
bool shlo_attr_says_parts(const struct shlo_attr *attr);
/* The first mark of a module that parts a value: its place; @what: who says it. NULL: there is none. */
const struct shlo_place *shlo_parting(const struct shlo_module *module, const char **what);

#endif
