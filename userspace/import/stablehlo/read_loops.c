// SPDX-License-Identifier: MIT
/* Reads operations whose printed form contains regions. */
#include "reader.h"

#include <string.h>

/* Reads "(%a = %b, …) : types [attributes {…}]", and then "cond { … } do { … }". */
void shlo_read_while(struct shlo_reader *r, struct shlo_op *op)
{
	struct shlo_name *mark = r->newest;
	const char **names = NULL;
	const struct shlo_type **types = NULL;
	size_t count = 0;

	shlo_expect(r, "(");
	while (!shlo_take(r, ")")) {
		if (count)
			shlo_expect(r, ",");
		shlo_expect(r, "%");
		names = shlo_arena_grow(r->arena, names, count, sizeof(*names));
		names[count] = shlo_read_word(r);
		if (!names[count++])
			shlo_read_error(r, "expected the name of an argument here");
		shlo_expect(r, "=");
		shlo_op_add_operand(r, op, shlo_read_operand(r));
	}
	if (shlo_take(r, ":"))
		for (size_t i = 0; i < count; i++) {
			if (i)
				shlo_expect(r, ",");
			types = shlo_arena_grow(r->arena, types, i, sizeof(*types));
			types[i] = shlo_read_type(r);
			if (!shlo_type_same(types[i], op->operands[i]->type))
				shlo_read_error(r, "operand %zu of %s is %s, not %s", i, op->name,
						shlo_type_text(r->arena, op->operands[i]->type),
						shlo_type_text(r->arena, types[i]));
		}
	else if (count)
		shlo_read_error(r, "expected ':' and the types here");
	if (shlo_take_word(r, "attributes")) {
		shlo_expect(r, "{");
		shlo_read_dict(r, &op->attrs, '}');
	}
	for (int i = 0; i < 2; i++) {
		struct shlo_value **arguments =
			shlo_arena_alloc(r->arena, count, sizeof(struct shlo_value *));

		if (!shlo_take_word(r, i ? "do" : "cond"))
			shlo_read_error(r, "expected '%s' here", i ? "do" : "cond");
		for (size_t k = 0; k < count; k++) {
			arguments[k] = shlo_value_new(r, names[k], types[k], NULL);
			shlo_name_add(r, names[k], 1, &arguments[k]);
		}
		shlo_op_add_region(r, op, shlo_read_region(r, count, arguments, mark));
	}
	shlo_op_results(r, op, count, types);
}

/* Makes the region that "applies NAME" stands for: one operation on two scalars. */
static void make_body(struct shlo_reader *r, struct shlo_op *op, const char *name)
{
	struct shlo_region *region = shlo_arena_alloc(r->arena, 1, sizeof(*region));
	struct shlo_block *block = &region->block;
	const struct shlo_type *type;
	struct shlo_op *inner = shlo_op_new(r, name, op->location);
	struct shlo_op *end = shlo_op_new(r, "stablehlo.return", op->location);

	if (!op->operand_count || op->operands[0]->type->kind != SHLO_TENSOR)
		shlo_read_error(r, "the first operand of %s must be a tensor", op->name);
	type = op->operands[0]->type;
	if (!type->quant) {
		type = shlo_tensor_type(r->arena, type->element, 0, NULL);
	} else {
		struct shlo_type *scalar = shlo_arena_alloc(r->arena, 1, sizeof(*scalar));

		scalar->element = type->element;
		scalar->quant = type->quant;
		type = scalar;
	}
	block->argument_count = 2;
	block->arguments = shlo_arena_alloc(r->arena, 2, sizeof(struct shlo_value *));
	for (int i = 0; i < 2; i++) {
		block->arguments[i] = shlo_value_new(r, "", type, NULL);
		shlo_op_add_operand(r, inner, block->arguments[i]);
	}
	shlo_op_results(r, inner, 1, &type);
	shlo_op_add_operand(r, end, inner->results[0]);
	shlo_op_results(r, end, 0, NULL);
	shlo_block_add(r, block, inner);
	shlo_block_add(r, block, end);
	shlo_op_add_region(r, op, region);
}

/* Reads "reducer(%a: t, %b: t) (%c: t, %d: t) {…}": each pair is an accumulator and an element. */
static void read_reducer(struct shlo_reader *r, struct shlo_op *op)
{
	struct shlo_name *mark = r->newest;
	size_t pairs = op->operand_count / 2;
	struct shlo_value **arguments =
		shlo_arena_alloc(r->arena, 2 * pairs, sizeof(struct shlo_value *));

	for (size_t i = 0; i < pairs; i++) {
		struct shlo_block pair = { 0 };

		shlo_read_arguments(r, &pair);
		if (pair.argument_count != 2)
			shlo_read_error(r, "a reducer takes arguments in pairs, (%%a: type, %%b: "
					   "type): one for each input");
		arguments[i] = pair.arguments[0];
		arguments[pairs + i] = pair.arguments[1];
	}
	shlo_op_add_region(r, op, shlo_read_region(r, 2 * pairs, arguments, mark));
}

void shlo_read_reduce(struct shlo_reader *r, struct shlo_op *op)
{
	struct shlo_value **inits = NULL;
	const char *applies = NULL;
	size_t count = 0;

	do {
		shlo_expect(r, "(");
		shlo_op_add_operand(r, op, shlo_read_operand(r));
		if (!shlo_take_word(r, "init"))
			shlo_read_error(r, "expected 'init: %%value' here");
		shlo_expect(r, ":");
		inits = shlo_arena_grow(r->arena, inits, count, sizeof(struct shlo_value *));
		inits[count++] = shlo_read_operand(r);
		shlo_expect(r, ")");
	} while (shlo_take(r, ","));
	for (size_t i = 0; i < count; i++)
		shlo_op_add_operand(r, op, inits[i]);
	if (shlo_take_word(r, "applies")) {
		applies = shlo_read_word(r);
		if (!applies)
			shlo_read_error(r, "expected the name of an operation here");
	}
	if (!shlo_take_word(r, "across") || !shlo_take_word(r, "dimensions"))
		shlo_read_error(r, "expected 'across dimensions = [...]' here");
	shlo_expect(r, "=");
	shlo_dict_add(r, &op->attrs, "dimensions", shlo_read_attr(r));
	if (shlo_take(r, "{"))
		shlo_read_dict(r, &op->attrs, '}');
	shlo_expect(r, ":");
	shlo_read_signature(r, op);
	shlo_skip_location(r);
	if (applies)
		make_body(r, op, applies);
	else if (shlo_take_word(r, "reducer"))
		read_reducer(r, op);
	else
		shlo_read_error(r, "expected 'reducer' here");
}

/* Reads chlo.scan(%inputs) inits(%inits) dimension=0 {…} : (types) -> types. */
void shlo_read_scan(struct shlo_reader *r, struct shlo_op *op)
{
	for (int i = 0; i < 2; i++) {
		bool first = true;

		if (i && !shlo_take_word(r, "inits"))
			shlo_read_error(r, "expected 'inits' here");
		shlo_expect(r, "(");
		for (; !shlo_take(r, ")"); first = false) {
			if (!first)
				shlo_expect(r, ",");
			shlo_op_add_operand(r, op, shlo_read_operand(r));
		}
		if (!i)
			shlo_dict_add(r, &op->attrs, "input_count",
				      shlo_attr_number(r, (int64_t)op->operand_count));
	}
	if (!shlo_take_word(r, "dimension"))
		shlo_read_error(r, "expected 'dimension' here");
	shlo_expect(r, "=");
	shlo_dict_add(r, &op->attrs, "dimension", shlo_attr_number(r, shlo_read_integer(r)));
	if (shlo_take_word(r, "attributes")) {
		shlo_expect(r, "{");
		shlo_read_dict(r, &op->attrs, '}');
	}
	shlo_op_add_region(r, op, shlo_read_region(r, 0, NULL, r->newest));
	shlo_expect(r, ":");
	shlo_read_signature(r, op);
}
