// SPDX-License-Identifier: MIT
/* Reads modules and functions of MLIR text. */
#include "reader.h"
#include "sharding.h"

#include <string.h>

static void add_function(struct shlo_reader *r, struct shlo_function *function)
{
	struct shlo_module *module = r->module;

	function->slot_count = r->slot_count;
	module->functions = shlo_arena_grow(r->arena, module->functions, module->function_count,
					    sizeof(struct shlo_function *));
	module->functions[module->function_count++] = function;
}

static void forget_values(struct shlo_reader *r)
{
	memset(r->names, 0, sizeof(r->names));
	r->newest = NULL;
	r->slot_count = 0;
}

/*
 * Renames the return of a function: it is func.return, where regions have stablehlo.return; VHLO
 * has one operation for both.
 */
static void name_return(struct shlo_reader *r, const struct shlo_block *block)
{
	struct shlo_op *last = block->op_count ? block->ops[block->op_count - 1] : NULL;

	if (!last || strcmp(last->name, "stablehlo.return"))
		return;
	last->name = shlo_arena_text(r->arena, "func.return", strlen("func.return"));
	last->kind = shlo_kind_find(last->name);
}

/* Takes the attributes of arguments and results from lists that have an item for each of them. */
static void take_marks(struct shlo_function *function, const struct shlo_op *op)
{
	const struct shlo_attr *arguments = shlo_attr_find(&op->attrs, "arg_attrs");
	const struct shlo_attr *results = shlo_attr_find(&op->attrs, "res_attrs");

	if (function->region && arguments && arguments->kind == SHLO_ATTR_ARRAY &&
	    arguments->count == function->region->block.argument_count)
		for (size_t i = 0; i < arguments->count; i++)
			function->region->block.arguments[i]->marks = arguments->items[i];
	if (results && results->kind == SHLO_ATTR_ARRAY &&
	    results->count == function->type->result_count)
		function->result_marks = (const struct shlo_attr **)results->items;
}

void shlo_take_function(struct shlo_reader *r, struct shlo_op *op)
{
	struct shlo_function *function = shlo_arena_alloc(r->arena, 1, sizeof(*function));
	const struct shlo_attr *name = shlo_attr_find(&op->attrs, "sym_name");
	const struct shlo_attr *type = shlo_attr_find(&op->attrs, "function_type");
	const struct shlo_block *block;

	if (!name || !name->text || !type || type->kind != SHLO_ATTR_TYPE ||
	    type->type->kind != SHLO_FUNCTION || op->region_count != 1)
		shlo_read_error(r, "a function needs the attributes sym_name and function_type, "
				   "and one region");
	function->name = name->text;
	function->location = op->location;
	function->type = type->type;
	function->is_sharded = shlo_attr_is_sharded(&op->attrs);
	if (shlo_function_find(r->module, function->name))
		shlo_read_error(r, "there is a function @%s already", function->name);
	block = &op->regions[0]->block;
	if (block->op_count || block->argument_count) {
		function->region = op->regions[0];
		name_return(r, block);
		if (block->argument_count != function->type->item_count)
			shlo_read_error(r, "@%s has %zu arguments, its type has %zu",
					function->name, block->argument_count,
					function->type->item_count);
		for (size_t i = 0; i < block->argument_count; i++)
			if (!shlo_type_same(block->arguments[i]->type, function->type->items[i]))
				shlo_read_error(r,
						"argument %zu of @%s is %s, but function_type says "
						"%s",
						i, function->name,
						shlo_type_text(r->arena, block->arguments[i]->type),
						shlo_type_text(r->arena, function->type->items[i]));
	}
	take_marks(function, op);
	add_function(r, function);
}

/* Whether the arguments of a function are types without names, as in a declaration. */
static bool at_types(struct shlo_reader *r)
{
	struct shlo_reader copy = *r;

	return shlo_take(&copy, "(") && shlo_at_type(&copy);
}

/*
 * Reads the arguments of a function, or only their types, and makes @type a function that takes
 * these types.
 */
static void read_taken(struct shlo_reader *r, struct shlo_block *block, struct shlo_type *type)
{
	const struct shlo_type **items;

	type->kind = SHLO_FUNCTION;
	if (at_types(r)) {
		type->items = shlo_read_types(r, &type->item_count);
		return;
	}
	shlo_read_arguments(r, block);
	items = shlo_arena_alloc(r->arena, block->argument_count, sizeof(*items));
	for (size_t i = 0; i < block->argument_count; i++)
		items[i] = block->arguments[i]->type;
	type->item_count = block->argument_count;
	type->items = items;
}

static void read_function(struct shlo_reader *r)
{
	struct shlo_module *module = r->module;
	struct shlo_function *function = shlo_arena_alloc(r->arena, 1, sizeof(*function));
	struct shlo_type *type = shlo_arena_alloc(r->arena, 1, sizeof(*type));
	struct shlo_block block = { 0 };

	function->location = shlo_read_location(r);
	if (!shlo_take_word(r, "public") && !shlo_take_word(r, "private"))
		shlo_take_word(r, "nested");
	function->name = shlo_read_symbol(r);
	if (shlo_function_find(module, function->name))
		shlo_read_error(r, "there is a function @%s already", function->name);
	forget_values(r);
	r->is_sharded = false;
	r->marks = NULL;
	read_taken(r, &block, type);
	if (shlo_take(r, "->"))
		type->results = shlo_read_types(r, &type->result_count);
	function->result_marks = type->result_count ? r->marks : NULL;
	function->type = type;
	function->is_sharded = r->is_sharded;
	if (shlo_take_word(r, "attributes")) {
		struct shlo_attr attrs = { 0 };

		shlo_expect(r, "{");
		shlo_read_dict(r, &attrs, '}');
	}
	if (shlo_peek(r) == '{') {
		if (block.argument_count != type->item_count)
			shlo_read_error(r, "the arguments of @%s have no names", function->name);
		function->region = shlo_read_region(r, block.argument_count, block.arguments, NULL);
		name_return(r, &function->region->block);
	}
	/* VHLO prints a function's attributes after its body. */
	if (shlo_peek(r) == '{' && r->at[1] != '-') {
		struct shlo_attr attrs = { 0 };

		shlo_expect(r, "{");
		shlo_read_dict(r, &attrs, '}');
	}
	shlo_skip_location(r);
	add_function(r, function);
}

static void read_alias(struct shlo_reader *r)
{
	struct shlo_alias *alias = shlo_arena_alloc(r->arena, 1, sizeof(*alias));
	bool of_type = shlo_peek(r) == '!';

	r->at++;
	alias->text = shlo_read_word(r);
	if (!alias->text)
		shlo_read_error(r, "expected the name of an alias here");
	shlo_expect(r, "=");
	if (of_type)
		alias->type = shlo_read_type(r);
	else
		alias->attr = shlo_read_attr(r);
	alias->next = r->aliases;
	r->aliases = alias;
}

void shlo_module_new(struct shlo_reader *r)
{
	struct shlo_module *module = shlo_arena_alloc(r->arena, 1, sizeof(*module));
	struct shlo_file *file = r->file;

	module->name = "";
	module->location = shlo_read_location(r);
	module->attrs.kind = SHLO_ATTR_DICT;
	module->meshes.kind = SHLO_ATTR_DICT;
	file->modules = shlo_arena_grow(r->arena, file->modules, file->module_count,
					sizeof(struct shlo_module *));
	file->modules[file->module_count++] = module;
	r->module = module;
}

void shlo_take_module_attrs(struct shlo_reader *r, const struct shlo_attr *attrs)
{
	const struct shlo_attr *name = shlo_attr_find(attrs, "sym_name");

	if (name && name->text)
		r->module->name = name->text;
	for (size_t i = 0; i < attrs->count; i++)
		if (strncmp(attrs->names[i], "sym_", 4))
			shlo_dict_add(r, &r->module->attrs, attrs->names[i], attrs->items[i]);
}

static void read_body(struct shlo_reader *r, bool inner);

static void read_module(struct shlo_reader *r)
{
	struct shlo_module *outer = r->module;

	if (outer)
		shlo_read_error(r, "a module within a module is not read");
	shlo_module_new(r);
	if (shlo_peek(r) == '@')
		r->module->name = shlo_read_symbol(r);
	if (shlo_take_word(r, "attributes")) {
		shlo_expect(r, "{");
		shlo_read_dict(r, &r->module->attrs, '}');
	}
	shlo_expect(r, "{");
	read_body(r, true);
	shlo_skip_location(r);
	r->module = outer;
}

static void read_generic_module(struct shlo_reader *r)
{
	struct shlo_attr attrs = { .kind = SHLO_ATTR_DICT };

	if (r->module)
		shlo_read_error(r, "a module within a module is not read");
	shlo_module_new(r);
	shlo_expect(r, "(");
	shlo_expect(r, ")");
	if (shlo_take(r, "<{")) {
		shlo_read_dict(r, &attrs, '}');
		shlo_expect(r, ">");
	}
	shlo_expect(r, "(");
	shlo_expect(r, "{");
	if (shlo_take(r, "^")) {
		shlo_read_word(r);
		shlo_expect(r, ":");
	}
	read_body(r, true);
	shlo_expect(r, ")");
	if (shlo_take(r, "{"))
		shlo_read_dict(r, &attrs, '}');
	for (int i = 0; i < 2; i++) {
		shlo_expect(r, i ? "->" : ":");
		shlo_expect(r, "(");
		shlo_expect(r, ")");
	}
	shlo_skip_location(r);
	shlo_take_module_attrs(r, &attrs);
	r->module = NULL;
}

/*
 * Reads a module, function or mesh in generic form, which begins with a name in quotes, such as
 * "builtin.module" or "func.func".
 */
static void read_generic_item(struct shlo_reader *r)
{
	struct shlo_reader before = *r;
	struct shlo_op *op;
	const char *name = shlo_read_string(r, NULL);

	if (!strcmp(name, "builtin.module")) {
		read_generic_module(r);
		return;
	}
	if (strcmp(name, "func.func") && strcmp(name, "vhlo.func_v1") && strcmp(name, "sdy.mesh"))
		shlo_read_error(r, "expected a module or a function here");
	if (!r->module)
		shlo_module_new(r);
	r->at = before.at;
	forget_values(r);
	op = shlo_read_op(r);
	if (strcmp(name, "sdy.mesh"))
		shlo_take_function(r, op);
	else
		shlo_take_mesh(r, op);
}

static void read_body(struct shlo_reader *r, bool inner)
{
	for (;;) {
		char c = shlo_peek(r);

		if (inner && shlo_take(r, "}"))
			return;
		if (!c && !inner)
			return;
		if (shlo_take_word(r, "module") || shlo_take_word(r, "builtin.module")) {
			read_module(r);
		} else if (shlo_take_word(r, "func.func") || shlo_take_word(r, "vhlo.func_v1")) {
			if (!r->module)
				shlo_module_new(r);
			read_function(r);
		} else if (shlo_take_word(r, "sdy.mesh")) {
			if (!r->module)
				shlo_module_new(r);
			shlo_read_mesh(r);
		} else if (c == '"') {
			read_generic_item(r);
		} else if (c == '#' || c == '!') {
			read_alias(r);
		} else if (!strncmp(r->at, "{-#", 3)) {
			shlo_skip_resources(r);
		} else if (!c) {
			/* Without a '}', the module goes on at the end of the file. */
			shlo_expect(r, "}");
		} else {
			shlo_read_error(r, "expected a module or a function here");
		}
	}
}

/* Returns where the next "// -----" divides the file, or its end. */
static const char *chunk_end(const char *at, const char *end)
{
	const char *mark = memmem(at, (size_t)(end - at), "// -----", 8);

	return mark ? mark : end;
}

void shlo_read_text(struct shlo_file *file, const char *text, size_t size)
{
	const char *end = text + size, *at = text, *line_start = text;
	unsigned int line = 1;

	while (at < end) {
		const char *stop = chunk_end(at, end);
		struct shlo_reader r = {
			.file = file,
			.arena = &file->arena,
			.text = text,
			.at = at,
			.end = stop,
			.line = line,
			.line_start = line_start,
		};

		shlo_read_resources(&r);
		read_body(&r, false);
		for (; at < stop; at++)
			if (*at == '\n') {
				line++;
				line_start = at + 1;
			}
		/* Skips the dashes of "// -----". */
		if (at < end)
			at += 3;
		while (at < end && *at == '-')
			at++;
	}
}
