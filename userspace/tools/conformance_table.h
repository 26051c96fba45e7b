/* SPDX-License-Identifier: MIT */
/* wnn-conformance: tables that map the arguments of each operator from JSON names to C structs. */
#ifndef CONFORMANCE_TABLE_H
#define CONFORMANCE_TABLE_H

#include "conformance.h"
#include "webnn_calls.h"

/* The kinds of arguments: their form in JSON, and the C type that holds them. */
enum kind {
	KIND_OPERAND,  /* {"operand": name}: WNNOperand */
	KIND_OPERANDS, /* a list of such objects: struct operands */
	KIND_U32,
	KIND_I32,
	KIND_BOOL, /* true, false, or a number: WNNBool */
	KIND_DOUBLE,
	KIND_NUMBER,
	KIND_U32_ARRAY,
	KIND_FLOAT_ARRAY,
	KIND_STRING,
	KIND_ENUM,	 /* a name of ->choices: the enumeration's type */
	KIND_ENUM_ARRAY, /* a list of such values */
};

/* A value of an enumeration; a list of them ends with a NULL name. */
struct choice {
	const char *name;
	uint32_t value;
};

struct member {
	const char *name;
	enum kind kind;
	size_t offset;		      /* offset in struct arguments, or in the struct of options */
	const struct choice *choices; /* choices of KIND_ENUM and KIND_ENUM_ARRAY */
};

struct options_kind {
	const void *init; /* the struct of options with its defaults */
	size_t size;
	const struct member *members;
	size_t count;
};

struct operator_kind {
	const char *name;
	/* Calls the builder and sets arguments->outputs, to NULL when the builder refuses. */
	void (*call)(WNNGraphBuilder builder, const struct arguments *arguments);
	/* Returns the number of outputs for these arguments; NULL: there is one. */
	size_t (*outputs)(const struct arguments *arguments);
	const struct options_kind *options;
	const struct member *parameters; /* members of struct arguments; ends with a NULL name */
};

/*
 * Returns the operator that a case names; NULL when there is none. Among overloads of one name,
 * returns the overload that takes what @arguments hold.
 */
const struct operator_kind *operator_find(const char *name, const json_t *arguments);

#endif
