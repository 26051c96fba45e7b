// SPDX-License-Identifier: MIT
/* Declares which operands update inputs in place. */
#include <stdio.h>
#include <string.h>

#include "graph/builder_private.h"
#include "util/arena.h"
#include "util/malloc.h"
#include "util/printable.h"

static int check_operands(const struct wnn_builder *builder, WNNOperand input, WNNOperand output,
			  struct wnn_error *err)
{
	static const char what[] = "updateInput";

	if (!input || !output)
		return wnn_error_missing(err, "%s: %s is NULL", what, input ? "output" : "input");
	if (input->builder != builder || output->builder != builder)
		return wnn_error_set(err, WNN_TYPE_ERROR, "%s: %s belongs to another builder", what,
				     input->builder != builder ? "input" : "output");
	if (input->value->kind != IR_VALUE_INPUT)
		return wnn_error_set(err, WNN_TYPE_ERROR,
				     "%s: input is %s; it must be an input of the graph", what,
				     input->value->kind == IR_VALUE_CONSTANT ?
					     "a constant" :
					     "the result of an operator");
	return 0;
}

static int check_types(const struct ir_type *have, const struct ir_type *want, const char *what,
		       struct wnn_error *err)
{
	char one[WNN_SHAPE_TEXT_SIZE], other[WNN_SHAPE_TEXT_SIZE];

	if (have->dtype == want->dtype && ir_type_same_shape(have, want))
		return 0;
	return wnn_error_set(err, WNN_TYPE_ERROR,
			     "%s: output is %s%s, and the input is %s%s; both must be equal", what,
			     ir_dtype_name(have->dtype), wnn_shape_text(have, one, sizeof(one)),
			     ir_dtype_name(want->dtype),
			     wnn_shape_text(want, other, sizeof(other)));
}

/* Checks that neither the input nor the output is in another update. Returns 0 or -1. */
static int check_new(const struct wnn_builder *builder, const struct ir_value *input,
		     const struct ir_value *output, const char *what, struct wnn_error *err)
{
	for (const struct wnn_update *u = builder->updates; u; u = u->next)
		if (u->input == input || u->value == output)
			return wnn_error_set(err, WNN_TYPE_ERROR,
					     "%s: %s already; one output updates one input", what,
					     u->input == input ? "the input has an update" :
								 "output updates an input");
	return 0;
}

int wnn_builder_update(struct wnn_builder *builder, WNNOperand input, WNNOperand output,
		       struct wnn_error *err)
{
	struct wnn_update *update;
	char name[64], what[128];

	if (wnn_builder_can_build(builder, err) || check_operands(builder, input, output, err))
		return -1;
	wnn_text_printable(name, sizeof(name), input->value->name, strlen(input->value->name));
	snprintf(what, sizeof(what), "updateInput of \"%s\"", name);
	if (check_types(&output->value->type, &input->value->type, what, err) ||
	    ir_check_update(output->value, input->value, NULL, what, err) ||
	    check_new(builder, input->value, output->value, what, err))
		return -1;
	update = wnn_arena_alloc(builder->arena, sizeof(*update));
	if (!update)
		return wnn_error_nomem(err, "updateInput");
	*update = (struct wnn_update){ input->value, output->value, builder->updates };
	builder->updates = update;
	return 0;
}
