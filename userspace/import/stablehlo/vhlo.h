/* SPDX-License-Identifier: MIT */
/*
 * VHLO is StableHLO with a version in every name, without defaults and without dictionaries of
 * attributes. Both readers convert it to StableHLO's current operations.
 */
#ifndef SHLO_VHLO_H
#define SHLO_VHLO_H

#include "reader.h"

/* Whether a name is that of a VHLO operation. */
bool shlo_is_vhlo(const char *name);
/*
 * Returns the attributes that a VHLO operation has as properties, in their order, separated by
 * blanks; NULL: there is no such operation or version.
 */
const char *shlo_vhlo_properties(const char *name);
/* Gives the operation the name and attributes of StableHLO. An unknown operation is not changed. */
void shlo_vhlo_upgrade(struct shlo_reader *r, struct shlo_op *op);

/*
 * Return the name of an enumeration by its number in bytecode, and the word of a value; NULL: there
 * is none.
 */
const char *shlo_vhlo_enum_name(uint64_t code);
const char *shlo_vhlo_enum_text(uint64_t code, uint64_t value);
/*
 * Returns the enumeration of the StableHLO attribute with this name, such as fft_type; NULL: it is
 * no enumeration.
 */
const char *shlo_enum_of_attr(const char *attr);

/* Returns a symbol whose name is the text of the string @attr; another attribute unchanged. */
const struct shlo_attr *shlo_vhlo_symbol(struct shlo_reader *r, const struct shlo_attr *attr);

/* Whether an attribute has the default that StableHLO uses when it is absent. */
bool shlo_attr_is_default(const char *op, const char *name, const struct shlo_attr *attr);
/*
 * Returns the VHLO attributes that are the members of one StableHLO attribute, separated by blanks;
 * NULL: the attribute has no such members.
 */
const char *shlo_group_members(const char *op, const char *attr);

#endif
