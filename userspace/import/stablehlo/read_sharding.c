// SPDX-License-Identifier: MIT
/* Reads meshes, and operations of Shardy (sdy) in printed form. */
#include <string.h>

#include "reader.h"
#include "sharding.h"

/* Reads the axes and devices of a mesh: <["x"=2, "y"=4], device_ids=[…]>. */
static const struct shlo_attr *read_grid(struct shlo_reader *r)
{
	struct shlo_attr *mesh = shlo_attr_new(r, SHLO_ATTR_DICT);
	struct shlo_attr *axes = shlo_attr_new(r, SHLO_ATTR_ARRAY);

	if (shlo_peek(r) != '<')
		shlo_read_error(r, "expected a mesh here");
	shlo_expect(r, "<");
	shlo_expect(r, "[");
	while (!shlo_take(r, "]")) {
		struct shlo_attr *axis = shlo_attr_new(r, SHLO_ATTR_DICT);
		struct shlo_attr *name = shlo_attr_new(r, SHLO_ATTR_STRING);

		if (axes->count)
			shlo_expect(r, ",");
		name->text = shlo_read_string(r, &name->count);
		shlo_expect(r, "=");
		shlo_dict_add(r, axis, "name", name);
		shlo_dict_add(r, axis, "size", shlo_attr_number(r, shlo_read_integer(r)));
		axes->items = shlo_arena_grow(r->arena, (void *)axes->items, axes->count,
					      sizeof(*axes->items));
		((const struct shlo_attr **)axes->items)[axes->count++] = axis;
	}
	shlo_dict_add(r, mesh, "axes", axes);
	if (shlo_take(r, ",")) {
		shlo_read_word(r);
		shlo_expect(r, "=");
		shlo_dict_add(r, mesh, "device_ids", shlo_read_attr(r));
	}
	shlo_expect(r, ">");
	return mesh;
}

void shlo_read_mesh(struct shlo_reader *r)
{
	const char *name = shlo_read_symbol(r);
	struct shlo_attr *more = shlo_attr_new(r, SHLO_ATTR_DICT);

	shlo_expect(r, "=");
	shlo_dict_add(r, &r->module->meshes, name, read_grid(r));
	/* Other attributes have no meaning here. */
	if (shlo_take(r, "{"))
		shlo_read_dict(r, more, '}');
	shlo_skip_location(r);
}

void shlo_take_mesh(struct shlo_reader *r, const struct shlo_op *op)
{
	const struct shlo_attr *mesh = shlo_attr_find(&op->attrs, "mesh");
	const char *name = shlo_attr_text(op, "sym_name", ""), *text;
	struct shlo_reader grid = *r;

	text = mesh && mesh->text ? strchr(mesh->text, '<') : NULL;
	if (!text)
		shlo_read_error(r, "expected a mesh here");
	grid.at = grid.line_start = text;
	grid.end = text + strlen(text);
	shlo_dict_add(r, &r->module->meshes, name, read_grid(&grid));
}

const struct shlo_attr *shlo_read_marks(struct shlo_reader *r)
{
	struct shlo_attr *marks = shlo_attr_new(r, SHLO_ATTR_DICT);

	shlo_expect(r, "{");
	shlo_read_dict(r, marks, '}');
	if (shlo_attr_is_sharded(marks))
		r->is_sharded = true;
	return marks;
}

/* Skips a sharding in brackets, and keeps its text. */
static void read_sharding(struct shlo_reader *r, struct shlo_op *op, const char *name)
{
	struct shlo_attr *attr = shlo_attr_new(r, SHLO_ATTR_UNIT);
	const char *start;

	shlo_skip(r);
	start = r->at;
	if (!strchr("<[{", shlo_peek(r)))
		shlo_read_error(r, "expected a sharding here");
	shlo_skip_balanced(r);
	attr->text = shlo_arena_printf(r->arena, "#sdy.sharding%.*s", (int)(r->at - start), start);
	shlo_dict_add(r, &op->attrs, name, attr);
}

/* Reads "(%a, %b)", or with @bare "%a, %b". */
static void read_operands(struct shlo_reader *r, struct shlo_op *op, bool bare)
{
	if (!bare)
		shlo_expect(r, "(");
	while (bare ? shlo_peek(r) == '%' : !shlo_take(r, ")")) {
		shlo_op_add_operand(r, op, shlo_read_operand(r));
		if (!shlo_take(r, ",") && shlo_peek(r) != ')')
			break;
	}
	if (!bare && op->operand_count && r->at[-1] != ')')
		shlo_expect(r, ")");
}

/* Reads attributes NAME = VALUE, such as in_shardings=[…] and group_id=0. */
static void read_words(struct shlo_reader *r, struct shlo_op *op)
{
	const char *word;

	while ((word = shlo_read_word(r))) {
		shlo_expect(r, "=");
		if (shlo_peek(r) == '[' || shlo_peek(r) == '{') {
			read_sharding(r, op, word);
			continue;
		}
		/* The types after the number belong to the operation, not to the number. */
		r->bare = true;
		shlo_dict_add(r, &op->attrs, word, shlo_read_attr(r));
		r->bare = false;
	}
}

/* Reads the types of the operands; @gives: the operation has results, of these types, too. */
static void read_types(struct shlo_reader *r, struct shlo_op *op, bool gives)
{
	const struct shlo_type **types =
		shlo_arena_alloc(r->arena, op->operand_count, sizeof(*types));

	if (shlo_take(r, "{"))
		shlo_read_dict(r, &op->attrs, '}');
	if (op->operand_count)
		shlo_expect(r, ":");
	for (size_t i = 0; i < op->operand_count; i++) {
		if (i)
			shlo_expect(r, ",");
		types[i] = shlo_read_type(r);
		if (!shlo_type_same(types[i], op->operands[i]->type))
			shlo_read_error(r, "operand %zu of %s is %s, not %s", i, op->name,
					shlo_type_text(r->arena, op->operands[i]->type),
					shlo_type_text(r->arena, types[i]));
	}
	shlo_op_results(r, op, gives ? op->operand_count : 0, types);
}

/*
 * Reads the operands, attributes and region of a manual computation: (%operands) in_shardings=[…] …
 * (%arguments: types) {…} : (types) -> types.
 */
static void read_computation(struct shlo_reader *r, struct shlo_op *op)
{
	struct shlo_name *mark;
	struct shlo_block block = { 0 };

	if (shlo_peek(r) == '<')
		shlo_skip_balanced(r);
	read_operands(r, op, false);
	read_words(r, op);
	mark = r->newest;
	shlo_read_arguments(r, &block);
	shlo_op_add_region(r, op, shlo_read_region(r, block.argument_count, block.arguments, mark));
	if (shlo_take(r, "{"))
		shlo_read_dict(r, &op->attrs, '}');
	shlo_expect(r, ":");
	shlo_read_signature(r, op);
}

bool shlo_read_sharding(struct shlo_reader *r, struct shlo_op *op)
{
	const char *name = op->name + strlen("sdy.");

	if (strncmp(op->name, "sdy.", strlen("sdy.")) || !op->kind ||
	    op->kind->family == SHLO_CONSTANT)
		return false;
	if (!strcmp(name, "manual_computation") || !strcmp(name, "named_computation")) {
		read_computation(r, op);
		return true;
	}
	read_operands(r, op, true);
	if (shlo_peek(r) == '<')
		read_sharding(r, op, "sharding");
	read_words(r, op);
	read_types(r, op, op->kind->results != 0);
	return true;
}
