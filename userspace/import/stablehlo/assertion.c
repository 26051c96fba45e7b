// SPDX-License-Identifier: MIT
/*
 * Assertions, which JAX writes into programs with open dimensions: the custom call @shape_assertion
 * takes a condition that must be true, a message, and numbers that the message names as {0}, {1}.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "run.h"

/*
 * Returns the number in braces at @text and sets *end after it; -1: there is no number in braces.
 */
static long named_number(const char *text, const char **end)
{
	char *after;
	long number = strtol(text + 1, &after, 10);

	if (after == text + 1 || text[1] == '-' || !strchr(",:}", *after))
		return -1;
	*end = strchr(after, '}');
	return *end ? number : -1;
}

void shlo_check_assertion(struct shlo_check *check)
{
	const char *message = shlo_attr_text(check->op, "error_message", NULL), *end;

	if (!check->in_count || check->op->result_count)
		shlo_wrong(check,
			   "shape_assertion has %zu operands and %zu results, expected at least "
			   "one operand and no result",
			   check->in_count, check->op->result_count);
	for (size_t i = 0; i < check->in_count; i++) {
		const struct shlo_type *type = shlo_need_tensor(check, i);

		if (type->rank || (i ? type->element != SHLO_I32 && type->element != SHLO_I64 :
				       type->element != SHLO_I1))
			shlo_wrong(check, "operand %zu of shape_assertion is %s, expected is %s", i,
				   shlo_type_text(check->arena, type),
				   i ? "tensor<i32> or tensor<i64>" : "tensor<i1>");
	}
	if (!message)
		shlo_wrong(check, "attribute error_message, a text, is missing");
	for (; *message; message++)
		if (*message == '{' && named_number(message, &end) >= (long)check->in_count - 1)
			shlo_wrong(check,
				   "error_message names number %ld, there are %zu numbers to name",
				   named_number(message, &end), check->in_count - 1);
}

void shlo_eval_assertion(struct shlo_call *call)
{
	const char *message = shlo_attr_text(call->op, "error_message", "");
	char text[800];
	size_t length = 0;

	/* An assertion does not count among the operations of the program. */
	call->run->reference_ops--;
	if (shlo_get(call->in[0], 0).i)
		return;
	for (; *message && length + 1 < sizeof(text); message++) {
		const char *end;
		long number = *message == '{' ? named_number(message, &end) : -1;
		int written;

		if (number < 0) {
			text[length++] = *message;
			continue;
		}
		written = snprintf(text + length, sizeof(text) - length, "%" PRId64,
				   shlo_get(call->in[number + 1], 0).i);
		length += (size_t)written;
		message = end;
	}
	shlo_run_error(call->run, "an assertion of the program failed: %.*s",
		       (int)(length < sizeof(text) ? length : sizeof(text) - 1), text);
}
