// SPDX-License-Identifier: MIT
/* wnn-conformance: includes the generated table of all operators, and finds rows in it. */
#include <stddef.h>
#include <string.h>

#include "conformance_table.h"

#include "webnn_calls.inc"

/*
 * Returns whether the arguments have an integer wherever the function takes an integer, and a list
 * wherever it takes a list of integers.
 */
static bool takes(const struct operator_kind *kind, const json_t *arguments)
{
	for (const struct member *member = kind->parameters; member->name; member++) {
		const json_t *value = json_object_get(arguments, member->name);

		if (member->kind == KIND_U32 && !json_is_integer(value) && !value_is_large(value))
			return false;
		if (member->kind == KIND_U32_ARRAY && !json_is_array(value))
			return false;
	}
	return true;
}

const struct operator_kind *operator_find(const char *name, const json_t *arguments)
{
	const struct operator_kind *first = NULL;

	for (size_t i = 0; i < ARRAY_SIZE(operators); i++) {
		if (strcmp(operators[i].name, name))
			continue;
		if (takes(&operators[i], arguments))
			return &operators[i];
		if (!first)
			first = &operators[i];
	}
	/*
	 * When none fits, the first is returned: reading the arguments for it reports what is
	 * wrong.
	 */
	return first;
}
