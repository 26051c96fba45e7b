/* SPDX-License-Identifier: MIT */
/* Marks that tell how to distribute values over devices; exporters write them for a partitioner. */
#ifndef SHLO_SHARDING_H
#define SHLO_SHARDING_H

#include "module.h"

/* Whether a custom call is a mark of sharding; if so, sets *gives to whether it has results. */
bool shlo_is_mark(const char *call, bool *gives);
/* Whether an operation returns its operand, for which it asks for a sharding. */
bool shlo_is_constraint(const struct shlo_op *op);
/* Whether an attribute, or one within it, says that a value is sharded. */
bool shlo_attr_is_sharded(const struct shlo_attr *attr);
/*
 * Returns the location of the first function or operation whose attributes shard a value, and in
 * @what its name, such as "func.func"; NULL: there is none.
 */
const struct shlo_location *shlo_first_sharding(const struct shlo_module *module,
						const char **what);

#endif
