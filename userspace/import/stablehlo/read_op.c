// SPDX-License-Identifier: MIT
/* Reads values, regions and operations in their generic form. */
#include "reader.h"

#include <string.h>

#include "vhlo.h"

static size_t bucket_of(const char *text)
{
	uint32_t hash = 2166136261u;

	for (; *text; text++)
		hash = (hash ^ (uint8_t)*text) * 16777619u;
	return hash % SHLO_BUCKETS;
}

static struct shlo_name *name_find(struct shlo_reader *r, const char *text)
{
	for (struct shlo_name *name = r->names[bucket_of(text)]; name; name = name->next)
		if (!strcmp(name->text, text))
			return name;
	return NULL;
}

void shlo_name_add(struct shlo_reader *r, const char *text, size_t count,
		   struct shlo_value **values)
{
	struct shlo_name *name = shlo_arena_alloc(r->arena, 1, sizeof(*name));

	if (name_find(r, text))
		shlo_read_error(r, "there is a value %%%s already: give this one another name",
				text);
	name->text = text;
	name->count = count;
	name->values = values;
	name->bucket = bucket_of(text);
	name->next = r->names[name->bucket];
	name->before = r->newest;
	r->names[name->bucket] = name;
	r->newest = name;
}

void shlo_forget(struct shlo_reader *r, struct shlo_name *mark)
{
	for (; r->newest != mark; r->newest = r->newest->before)
		r->names[r->newest->bucket] = r->newest->next;
}

struct shlo_value *shlo_value_new(struct shlo_reader *r, const char *name,
				  const struct shlo_type *type, struct shlo_op *op)
{
	struct shlo_value *value = shlo_arena_alloc(r->arena, 1, sizeof(*value));

	if (++r->file->value_count > SHLO_MAX_VALUES)
		shlo_read_error(r, "there are more than %zu values", SHLO_MAX_VALUES);
	value->name = name;
	value->type = type;
	value->op = op;
	value->slot = r->slot_count++;
	return value;
}

struct shlo_value *shlo_read_operand(struct shlo_reader *r)
{
	const char *text;
	struct shlo_name *name;
	int64_t index = 0;

	shlo_expect(r, "%");
	text = shlo_read_word(r);
	name = text ? name_find(r, text) : NULL;
	if (!name)
		shlo_read_error(r, "there is no value %%%s before this", text ? text : "");
	if (r->at < r->end && *r->at == '#') {
		r->at++;
		index = shlo_read_integer(r);
	}
	if (index < 0 || (size_t)index >= name->count)
		shlo_read_error(r, "there is no %%%s#%lld: %%%s is %zu values, counted from 0",
				text, (long long)index, text, name->count);
	return name->values[index];
}

void shlo_op_add_operand(struct shlo_reader *r, struct shlo_op *op, struct shlo_value *value)
{
	op->operands = shlo_arena_grow(r->arena, op->operands, op->operand_count,
				       sizeof(struct shlo_value *));
	op->operands[op->operand_count++] = value;
}

void shlo_op_add_region(struct shlo_reader *r, struct shlo_op *op, struct shlo_region *region)
{
	op->regions = shlo_arena_grow(r->arena, op->regions, op->region_count,
				      sizeof(struct shlo_region *));
	op->regions[op->region_count++] = region;
}

void shlo_block_add(struct shlo_reader *r, struct shlo_block *block, struct shlo_op *op)
{
	block->ops =
		shlo_arena_grow(r->arena, block->ops, block->op_count, sizeof(struct shlo_op *));
	block->ops[block->op_count++] = op;
}

void shlo_op_results(struct shlo_reader *r, struct shlo_op *op, size_t count,
		     const struct shlo_type *const *types)
{
	op->results = shlo_arena_alloc(r->arena, count, sizeof(struct shlo_value *));
	op->result_count = count;
	for (size_t i = 0; i < count; i++)
		op->results[i] = shlo_value_new(r, "", types[i], op);
}

void shlo_read_arguments(struct shlo_reader *r, struct shlo_block *block)
{
	shlo_expect(r, "(");
	while (!shlo_take(r, ")")) {
		struct shlo_value **value;
		const char *name;

		if (block->argument_count)
			shlo_expect(r, ",");
		shlo_expect(r, "%");
		name = shlo_read_word(r);
		if (!name)
			shlo_read_error(r, "expected the name of an argument here");
		shlo_expect(r, ":");
		block->arguments = shlo_arena_grow(r->arena, block->arguments,
						   block->argument_count,
						   sizeof(struct shlo_value *));
		value = &block->arguments[block->argument_count++];
		*value = shlo_value_new(r, name, shlo_read_type(r), NULL);
		if (shlo_peek(r) == '{')
			(*value)->marks = shlo_read_marks(r);
		shlo_skip_location(r);
		shlo_name_add(r, name, 1,
			      memcpy(shlo_arena_alloc(r->arena, 1, sizeof(*value)), value,
				     sizeof(*value)));
	}
}

struct shlo_region *shlo_read_region(struct shlo_reader *r, size_t count,
				     struct shlo_value **arguments, struct shlo_name *mark)
{
	struct shlo_region *region = shlo_arena_alloc(r->arena, 1, sizeof(*region));

	shlo_enter(r);
	region->block.argument_count = count;
	region->block.arguments = arguments;
	shlo_expect(r, "{");
	if (shlo_take(r, "^")) {
		shlo_read_word(r);
		if (shlo_peek(r) == '(')
			shlo_read_arguments(r, &region->block);
		shlo_expect(r, ":");
	}
	while (!shlo_take(r, "}")) {
		if (shlo_peek(r) == '^')
			shlo_read_error(r, "a second block begins here, but a region of "
					   "StableHLO has one");
		shlo_block_add(r, &region->block, shlo_read_op(r));
	}
	shlo_forget(r, mark);
	shlo_leave(r);
	return region;
}

void shlo_read_signature(struct shlo_reader *r, struct shlo_op *op)
{
	size_t count, result_count;
	const struct shlo_type *const *types = shlo_read_types(r, &count);
	const struct shlo_type *const *results;

	shlo_expect(r, "->");
	results = shlo_read_types(r, &result_count);
	if (count != op->operand_count)
		shlo_read_error(r, "%s has %zu operands and %zu types", op->name, op->operand_count,
				count);
	for (size_t i = 0; i < count; i++)
		if (!shlo_type_same(types[i], op->operands[i]->type))
			shlo_read_error(r, "operand %zu of %s is %s, not %s", i, op->name,
					shlo_type_text(r->arena, op->operands[i]->type),
					shlo_type_text(r->arena, types[i]));
	shlo_op_results(r, op, result_count, results);
}

/*
 * Reads an operation in generic form: "name"(%operands) <{properties}> ({regions}) {attributes} :
 * (types) -> types.
 */
static void read_generic(struct shlo_reader *r, struct shlo_op *op)
{
	shlo_expect(r, "(");
	while (!shlo_take(r, ")")) {
		if (op->operand_count)
			shlo_expect(r, ",");
		shlo_op_add_operand(r, op, shlo_read_operand(r));
	}
	if (shlo_take(r, "<{")) {
		shlo_read_dict(r, &op->attrs, '}');
		shlo_expect(r, ">");
	}
	if (shlo_take(r, "(")) {
		do
			shlo_op_add_region(r, op, shlo_read_region(r, 0, NULL, r->newest));
		while (shlo_take(r, ","));
		shlo_expect(r, ")");
	}
	if (shlo_take(r, "{"))
		shlo_read_dict(r, &op->attrs, '}');
	shlo_expect(r, ":");
	shlo_read_signature(r, op);
}

struct shlo_op *shlo_op_new(struct shlo_reader *r, const char *name, struct shlo_location location)
{
	struct shlo_op *op = shlo_arena_alloc(r->arena, 1, sizeof(*op));

	/* The text may leave out the dialect of func.return and func.call. */
	if (!strcmp(name, "return") || !strcmp(name, "call"))
		name = shlo_arena_printf(r->arena, "func.%s", name);
	op->name = name;
	op->location = location;
	op->attrs.kind = SHLO_ATTR_DICT;
	op->kind = shlo_kind_find(name);
	return op;
}

struct left {
	const char *name;
	size_t count;
};

static void bind(struct shlo_reader *r, struct shlo_op *op, const struct left *names, size_t count)
{
	size_t at = 0, total = 0;

	for (size_t i = 0; i < count; i++)
		total += names[i].count;
	if (count && total != op->result_count)
		shlo_read_error(r, "%s has %zu results, but names for %zu are in front of it",
				op->name, op->result_count, total);
	for (size_t i = 0; i < count; i++) {
		shlo_name_add(r, names[i].name, names[i].count, op->results + at);
		for (size_t k = 0; k < names[i].count; k++)
			op->results[at + k]->name = names[i].name;
		at += names[i].count;
	}
}

struct shlo_op *shlo_read_op(struct shlo_reader *r)
{
	struct shlo_location location = shlo_read_location(r);
	struct left *names = NULL;
	size_t count = 0, total = 0;
	struct shlo_op *op;
	const char *name;

	while (shlo_peek(r) == '%') {
		struct left left = { NULL, 1 };

		r->at++;
		left.name = shlo_read_word(r);
		if (!left.name)
			shlo_read_error(r, "expected the name of a result here");
		if (shlo_take(r, ":"))
			left.count = (size_t)shlo_read_integer(r);
		if (left.count > 4096)
			shlo_read_error(r, "an operation has at most 4096 results");
		names = shlo_arena_grow(r->arena, names, count, sizeof(*names));
		names[count++] = left;
		total += left.count;
		if (!shlo_take(r, ","))
			break;
	}
	if (count)
		shlo_expect(r, "=");
	if (shlo_peek(r) == '"') {
		op = shlo_op_new(r, shlo_read_string(r, NULL), location);
		read_generic(r, op);
		shlo_vhlo_upgrade(r, op);
	} else {
		name = shlo_read_word(r);
		if (!name)
			shlo_read_error(r, "expected an operation here");
		op = shlo_op_new(r, name, location);
		shlo_read_pretty(r, op, total);
	}
	shlo_skip_location(r);
	bind(r, op, names, count);
	return op;
}
