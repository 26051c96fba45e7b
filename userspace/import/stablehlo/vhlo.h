/* SPDX-License-Identifier: MIT */
/*
 * VHLO is StableHLO with a version in every name, and without defaults and groups of attributes. Both
 * readers make StableHLO's present operations of it.
 */
#ifndef SHLO_VHLO_H
#define SHLO_VHLO_H

#include "reader.h"

/* Whether the name of an operation is one of VHLO. */
bool shlo_is_vhlo(const char *name);
/* The attributes that an operation of VHLO has as properties, in their order, with blanks between;
 * NULL if there is no such operation in that version. */
const char *shlo_vhlo_properties(const char *name);
/* Gives the operation the name and the attributes of StableHLO. One that is not known stays. */
void shlo_vhlo_upgrade(struct shlo_reader *r, struct shlo_op *op);

/* Enumerations by their number in bytecode, and by their name: NULL if there is none. */
const char *shlo_vhlo_enum_name(uint64_t code);
const char *shlo_vhlo_enum_text(uint64_t code, uint64_t value);
/* The enumeration that the attribute of StableHLO with this name has, such as fft_type. */
const char *shlo_enum_of_attr(const char *attr);

/* A string as the name of a symbol. */
const struct shlo_attr *shlo_vhlo_symbol(struct shlo_reader *r, const struct shlo_attr *attr);

/* Whether StableHLO takes this value when the attribute is not there. */
bool shlo_attr_is_default(const char *op, const char *name, const struct shlo_attr *attr);
/* Attributes that are one of StableHLO and several of VHLO: the members, with blanks between; NULL if
 * this is none. */
const char *shlo_group_members(const char *op, const char *attr);

#endif
