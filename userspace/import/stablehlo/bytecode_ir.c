// SPDX-License-Identifier: MIT
/* Reads bytecode operations, regions and values. */
#include <string.h>

#include "bytecode.h"
#include "vhlo.h"

/* The bits that say which parts of an operation follow its name and location. */
enum part {
	HAS_ATTRS = 1,
	HAS_RESULTS = 2,
	HAS_OPERANDS = 4,
	HAS_SUCCESSORS = 8,
	HAS_REGIONS = 16,
	HAS_USE_ORDERS = 32,
	HAS_PROPERTIES = 64,
};

/*
 * Values are numbered within the nearest isolated region, which is one that uses no values from
 * outside. Values of regions within it have higher numbers than values of the regions around them.
 */
struct scope {
	struct shlo_value **values; /* an item is NULL until its value is defined */
	size_t count, room;
};

/* The numbers of the values in the region that is read: the next one, and the end. */
struct span {
	size_t next, end;
};

static struct shlo_op *read_op(struct shlo_bytes *b, struct scope *scope, struct span *span);

/* Skips the order of the uses of values, which nothing here needs. */
static void skip_use_orders(struct shlo_bytes *b, size_t values)
{
	uint64_t count = values > 1 ? shlo_bytes_count(b) : 1;

	for (; count; count--) {
		bool pairs;
		uint64_t indices;

		if (values > 1)
			shlo_bytes_varint(b);
		indices = shlo_bytes_flagged(b, &pairs);
		for (; indices; indices--)
			shlo_bytes_varint(b);
	}
}

static void define(struct shlo_bytes *b, struct scope *scope, struct span *span,
		   struct shlo_value *value)
{
	if (span->next == span->end)
		shlo_bytes_error(b, "a region has more values than its header says");
	scope->values[span->next++] = value;
}

static void read_block_arguments(struct shlo_bytes *b, struct scope *scope, struct span *span,
				 struct shlo_block *block)
{
	struct shlo_bytecode *code = b->code;
	size_t count = shlo_bytes_count(b);

	block->arguments = shlo_arena_alloc(code->reader.arena, count, sizeof(struct shlo_value *));
	for (size_t i = 0; i < count; i++) {
		bool has_place = true;
		const struct shlo_type *type = code->version >= SHLO_BYTECODE_NO_UNKNOWN_LOCATIONS ?
						       shlo_bytes_flagged_type(b, &has_place) :
						       shlo_bytes_type(b);

		/* Bytecode has no names of values, but inputs of programs have one. */
		const char *name = shlo_arena_printf(code->reader.arena, "arg%zu", i);

		block->arguments[i] = shlo_value_new(&code->reader, name, type, NULL);
		if (has_place)
			shlo_bytes_varint(b);
		define(b, scope, span, block->arguments[i]);
	}
	block->argument_count = count;
	if (code->version >= SHLO_BYTECODE_USE_ORDERS && shlo_bytes_byte(b))
		skip_use_orders(b, count);
}

static void read_block(struct shlo_bytes *b, struct scope *scope, struct span *span,
		       struct shlo_block *block)
{
	bool has_arguments;
	uint64_t count = shlo_bytes_flagged(b, &has_arguments);

	if (has_arguments)
		read_block_arguments(b, scope, span, block);
	for (; count; count--)
		shlo_block_add(&b->code->reader, block, read_op(b, scope, span));
}

static struct shlo_region *read_region(struct shlo_bytes *b, struct scope *scope, size_t first)
{
	struct shlo_bytecode *code = b->code;
	struct shlo_region *region = shlo_arena_alloc(code->reader.arena, 1, sizeof(*region));
	size_t blocks = shlo_bytes_count(b), values;
	struct span span;

	shlo_enter(&code->reader);
	if (blocks > 1)
		shlo_bytes_error(b, "a region has %zu blocks, but a region of StableHLO has one",
				 blocks);
	if (blocks) {
		values = shlo_bytes_count(b);
		span = (struct span){ first, first + values };
		if (span.end > SHLO_MAX_VALUES)
			shlo_bytes_error(b, "there are more than %zu values", SHLO_MAX_VALUES);
		while (scope->room < span.end) {
			size_t room = scope->room ? 2 * scope->room : 64;
			struct shlo_value **more =
				shlo_arena_alloc(code->reader.arena, room, sizeof(*more));

			if (scope->room)
				memcpy(more, scope->values, scope->room * sizeof(*more));
			scope->values = more;
			scope->room = room;
		}
		for (size_t i = first; i < span.end; i++)
			scope->values[i] = NULL;
		scope->count = span.end;
		read_block(b, scope, &span, &region->block);
		scope->count = first;
	}
	shlo_leave(&code->reader);
	return region;
}

/*
 * Reads the regions of an operation. @end: number after the values of the region around the
 * operation.
 */
static void read_regions(struct shlo_bytes *b, struct scope *scope, size_t end, struct shlo_op *op)
{
	struct shlo_bytecode *code = b->code;
	struct scope own = { 0 };
	struct shlo_bytes part;
	unsigned int id;
	bool isolated;
	uint64_t count = shlo_bytes_flagged(b, &isolated);
	bool is_function = !strcmp(op->name, "vhlo.func_v1") || !strcmp(op->name, "func.func");

	if (is_function) {
		/* A value's slot is its number within a function, which may use no other values. */
		if (code->in_function || (!isolated && end))
			shlo_bytes_error(b, "a function is within another, or not isolated");
		code->in_function = true;
		code->reader.slot_count = 0;
	}
	/* Functions are added to the module while its region is read. */
	if (!strcmp(op->name, "builtin.module")) {
		if (code->reader.module)
			shlo_bytes_error(b, "a module within a module is not read");
		shlo_module_new(&code->reader);
	}
	/* Isolated regions of an operation share a section, so that a reader can skip them. */
	if (count && isolated && code->version >= SHLO_BYTECODE_LAZY_REGIONS) {
		part = shlo_bytes_section(b, &id);
		if (id != SHLO_SECTION_IR)
			shlo_bytes_error(b, "expected a section of operations here");
		b = &part;
	}
	for (; count; count--)
		shlo_op_add_region(&code->reader, op,
				   isolated ? read_region(b, &own, 0) : read_region(b, scope, end));
	if (is_function)
		code->in_function = false;
}

/*
 * Reads the properties of an operation, which are indices of attributes; @names: their names,
 * separated by blanks.
 */
static void read_listed(struct shlo_bytes *b, struct shlo_op *op, const char *names)
{
	struct shlo_reader *r = &b->code->reader;

	while (*names) {
		size_t length = strcspn(names, " ");

		shlo_dict_add(r, &op->attrs, shlo_arena_text(r->arena, names, length),
			      shlo_bytes_attr(b));
		names += length + (names[length] == ' ');
	}
}

/* Returns the names of the properties of an operation of Shardy; NULL: it has none. */
static const char *sdy_properties(const char *op)
{
	static const char *const lists[][2] = {
		{ "sdy.constant", "value" },
		{ "sdy.manual_computation", "in_shardings manual_axes out_shardings" },
		{ "sdy.mesh", "mesh sym_name" },
		{ "sdy.propagation_barrier", "allowed_direction" },
		{ "sdy.reshard", "sharding" },
		{ "sdy.sharding_constraint", "sharding" },
		{ "sdy.sharding_group", "group_id" },
	};

	for (size_t i = 0; i < sizeof(lists) / sizeof(lists[0]); i++)
		if (!strcmp(lists[i][0], op))
			return lists[i][1];
	return NULL;
}

static void read_optional(struct shlo_bytes *b, struct shlo_op *op, const char *name)
{
	const struct shlo_attr *attr = shlo_bytes_optional_attr(b);

	if (attr)
		shlo_dict_add(&b->code->reader, &op->attrs, name, attr);
}

static void read_properties(struct shlo_bytes *b, struct shlo_op *op)
{
	struct shlo_bytecode *code = b->code;
	uint64_t index = shlo_bytes_varint(b);
	const char *names = shlo_vhlo_properties(op->name);
	struct shlo_bytes part;

	if (!names)
		names = sdy_properties(op->name);
	if (index >= code->property_count)
		shlo_bytes_error(b, "there are no properties with index %llu, there are %zu",
				 (unsigned long long)index, code->property_count);
	part = code->properties[index];
	if (names) {
		read_listed(&part, op, names);
	} else if (!strcmp(op->name, "builtin.module")) {
		read_optional(&part, op, "sym_name");
		read_optional(&part, op, "sym_visibility");
	} else if (!strcmp(op->name, "func.func")) {
		read_listed(&part, op, "sym_name function_type");
		read_optional(&part, op, "sym_visibility");
	} else if (!strcmp(op->name, "func.call")) {
		read_listed(&part, op, "callee");
	} else {
		shlo_bytes_error(b,
				 "the properties of %s are not read: write the program as a "
				 "portable artifact, which has operations of vhlo and sdy, or as "
				 "one of an older version",
				 op->name);
	}
}

static void read_operands(struct shlo_bytes *b, const struct scope *scope, struct shlo_op *op)
{
	for (size_t count = shlo_bytes_count(b); count; count--) {
		uint64_t index = shlo_bytes_varint(b);

		if (index >= scope->count || !scope->values[index])
			shlo_bytes_error(
				b,
				"operand %zu of %s is value %llu, which is used before it is "
				"defined",
				op->operand_count, op->name, (unsigned long long)index);
		shlo_op_add_operand(&b->code->reader, op, scope->values[index]);
	}
}

static void read_attrs(struct shlo_bytes *b, struct shlo_op *op)
{
	const struct shlo_attr *dict = shlo_bytes_attr(b);

	if (dict->kind != SHLO_ATTR_DICT)
		shlo_bytes_error(b, "the attributes of %s are no dictionary", op->name);
	for (size_t i = 0; i < dict->count; i++)
		shlo_dict_add(&b->code->reader, &op->attrs, dict->names[i], dict->items[i]);
}

static struct shlo_op *read_op(struct shlo_bytes *b, struct scope *scope, struct span *span)
{
	struct shlo_bytecode *code = b->code;
	struct shlo_location location = { 0, (unsigned int)(b->at - code->start) };
	uint64_t name = shlo_bytes_varint(b);
	uint8_t parts = shlo_bytes_byte(b);
	struct shlo_op *op;

	if (name >= code->name_count)
		shlo_bytes_error(b, "there is no operation %llu, there are %zu",
				 (unsigned long long)name, code->name_count);
	op = shlo_op_new(&code->reader, code->names[name], shlo_bytes_location(b, location));
	if (parts & HAS_ATTRS)
		read_attrs(b, op);
	if (parts & HAS_PROPERTIES)
		read_properties(b, op);
	if (parts & HAS_RESULTS) {
		size_t count;
		const struct shlo_type **types = shlo_bytes_types(b, &count);

		shlo_op_results(&code->reader, op, count, types);
	}
	if (parts & HAS_OPERANDS)
		read_operands(b, scope, op);
	if (parts & HAS_SUCCESSORS)
		shlo_bytes_error(b,
				 "%s branches to another block; a region of StableHLO has one "
				 "block",
				 op->name);
	if (parts & HAS_USE_ORDERS)
		skip_use_orders(b, op->result_count);
	for (size_t i = 0; i < op->result_count; i++)
		define(b, scope, span, op->results[i]);
	if (parts & HAS_REGIONS)
		read_regions(b, scope, span->end, op);
	shlo_vhlo_upgrade(&code->reader, op);
	if (!strcmp(op->name, "func.func")) {
		if (!code->reader.module)
			shlo_module_new(&code->reader);
		shlo_take_function(&code->reader, op);
	} else if (!strcmp(op->name, "sdy.mesh")) {
		if (!code->reader.module)
			shlo_bytes_error(b, "sdy.mesh is outside of a module");
		shlo_take_mesh(&code->reader, op);
	} else if (!strcmp(op->name, "builtin.module")) {
		if (!code->reader.module)
			shlo_module_new(&code->reader);
		shlo_take_module_attrs(&code->reader, &op->attrs);
		code->reader.module = NULL;
	}
	return op;
}

/* Reads the operations of the file, which form the block of a region of their own. */
void shlo_bytecode_read_ir(struct shlo_bytecode *code)
{
	struct shlo_bytes b = code->sections[SHLO_SECTION_IR];
	struct shlo_block block = { 0 };
	struct scope scope = { 0 };
	struct span span = { 0, 0 };

	read_block(&b, &scope, &span, &block);
	for (size_t i = 0; i < block.op_count; i++)
		if (strcmp(block.ops[i]->name, "builtin.module") &&
		    strcmp(block.ops[i]->name, "func.func"))
			shlo_bytes_error(&b, "%s is outside of a module", block.ops[i]->name);
}
