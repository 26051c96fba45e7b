// SPDX-License-Identifier: MIT
/* Prints programs. Equal programs have equal texts, whatever they were read from. */
#include <stdlib.h>
#include <string.h>

#include "cut.h"
#include "text.h"

struct printer {
	struct shlo_text text;
	/*
	 * By slot of the printed function: the number of the value, and its index among the results
	 * of its operation, -1 for a single result.
	 */
	size_t *numbers;
	int *parts;
	size_t next, next_argument;
	int depth;
	/*
	 * For the program of a device: by slot, the operand that replaces the result of an
	 * operation of Shardy; the functions that the program calls; whether it has computations
	 * within a computation of Shardy; whether operations of Shardy were left out.
	 */
	bool is_device;
	const struct shlo_value **instead;
	const struct shlo_module *module;
	const struct shlo_function **called;
	size_t called_count;
	bool has_parts, has_left_out;
};

static void add_value(struct printer *p, const struct shlo_value *value)
{
	while (p->is_device && p->instead[value->slot])
		value = p->instead[value->slot];
	if (!value->op)
		shlo_text_add(&p->text, "%%arg%zu", p->numbers[value->slot]);
	else if (p->parts[value->slot] < 0)
		shlo_text_add(&p->text, "%%%zu", p->numbers[value->slot]);
	else
		shlo_text_add(&p->text, "%%%zu#%d", p->numbers[value->slot], p->parts[value->slot]);
}

static void add_indent(struct printer *p)
{
	shlo_text_add(&p->text, "%*s", 2 * p->depth, "");
}

static void add_types(struct printer *p, size_t count, struct shlo_value *const *values)
{
	shlo_text_add(&p->text, "(");
	for (size_t i = 0; i < count; i++) {
		shlo_text_add(&p->text, i ? ", " : "");
		shlo_text_add_type(&p->text, values[i]->type);
	}
	shlo_text_add(&p->text, ")");
}

static void add_arguments(struct printer *p, const struct shlo_block *block)
{
	shlo_text_add(&p->text, "(");
	for (size_t i = 0; i < block->argument_count; i++) {
		p->numbers[block->arguments[i]->slot] = p->next_argument++;
		shlo_text_add(&p->text, i ? ", " : "");
		add_value(p, block->arguments[i]);
		shlo_text_add(&p->text, ": ");
		shlo_text_add_type(&p->text, block->arguments[i]->type);
	}
	shlo_text_add(&p->text, ")");
}

static void add_op(struct printer *p, const struct shlo_op *op);

static void add_ops(struct printer *p, const struct shlo_block *block)
{
	p->depth++;
	for (size_t i = 0; i < block->op_count; i++)
		add_op(p, block->ops[i]);
	p->depth--;
	add_indent(p);
}

/*
 * Adds a function that the program of a device calls to the list p->called, once; NULL adds
 * nothing.
 */
static void note_call(struct printer *p, const struct shlo_function *function)
{
	for (size_t i = 0; i < p->called_count; i++)
		if (p->called[i] == function)
			return;
	if (!function)
		return;
	p->called = shlo_arena_grow(p->text.arena, p->called, p->called_count, sizeof(*p->called));
	p->called[p->called_count++] = function;
}

/*
 * Whether an operation of Shardy is not part of the program of a device; notes that its operand
 * replaces its result. For every operation, notes what it calls, and whether it is a computation of
 * Shardy.
 */
static bool is_left_out(struct printer *p, const struct shlo_op *op)
{
	if (!p->is_device)
		return false;
	if (!strcmp(op->name, "func.call"))
		note_call(p, shlo_function_find(p->module, shlo_attr_text(op, "callee", "")));
	p->has_parts |= !strcmp(op->name, "sdy.manual_computation") ||
			!strcmp(op->name, "sdy.named_computation");
	if (strncmp(op->name, "sdy.", 4) || !op->operand_count || op->region_count)
		return false;
	for (size_t i = 0; i < op->result_count; i++)
		p->instead[op->results[i]->slot] = op->operands[i];
	if (!strcmp(op->name, "sdy.return"))
		return false;
	p->has_left_out = true;
	return true;
}

/* Whether an attribute names a mesh of the file. */
static bool names_mesh(const struct shlo_attr *groups)
{
	const struct shlo_attr *mesh =
		groups && groups->kind == SHLO_ATTR_DICT ? shlo_attr_find(groups, "mesh") : NULL;

	return mesh && mesh->kind == SHLO_ATTR_SYMBOL;
}

/*
 * Adds the attributes of an operation. Groups along axes of a mesh of the file, which the text does
 * not define, become their table of ids.
 */
static void add_attrs(struct printer *p, const struct shlo_op *op)
{
	struct shlo_attr attrs = op->attrs;
	const struct shlo_attr **items;

	if (op->groups && names_mesh(shlo_attr_find(&attrs, "replica_groups"))) {
		items = shlo_arena_alloc(p->text.arena, attrs.count, sizeof(*items));
		for (size_t i = 0; i < attrs.count; i++)
			items[i] = strcmp(attrs.names[i], "replica_groups") ? attrs.items[i] :
									      op->groups;
		attrs.items = items;
	}
	shlo_text_add_attrs(&p->text, " ", op->name, &attrs);
}

static void add_op(struct printer *p, const struct shlo_op *op)
{
	/*
	 * The program of a device lacks the region that all operations are in, so the end of the
	 * region becomes that of the function.
	 */
	const char *name = p->is_device && !strcmp(op->name, "sdy.return") ? "func.return" :
									     op->name;

	if (is_left_out(p, op))
		return;
	add_indent(p);
	if (op->result_count) {
		shlo_text_add(&p->text, "%%%zu", p->next);
		if (op->result_count > 1)
			shlo_text_add(&p->text, ":%zu", op->result_count);
		shlo_text_add(&p->text, " = ");
	}
	for (size_t i = 0; i < op->result_count; i++) {
		p->numbers[op->results[i]->slot] = p->next;
		p->parts[op->results[i]->slot] = op->result_count > 1 ? (int)i : -1;
	}
	p->next += op->result_count > 0;
	shlo_text_add(&p->text, "\"%s\"(", name);
	for (size_t i = 0; i < op->operand_count; i++) {
		shlo_text_add(&p->text, i ? ", " : "");
		add_value(p, op->operands[i]);
	}
	shlo_text_add(&p->text, ")");
	for (size_t i = 0; i < op->region_count; i++) {
		const struct shlo_block *block = &op->regions[i]->block;

		shlo_text_add(&p->text, i ? ", {\n" : " ({\n");
		if (block->argument_count) {
			add_indent(p);
			shlo_text_add(&p->text, "^bb0");
			add_arguments(p, block);
			shlo_text_add(&p->text, ":\n");
		}
		add_ops(p, block);
		shlo_text_add(&p->text, i + 1 < op->region_count ? "}" : "})");
	}
	add_attrs(p, op);
	shlo_text_add(&p->text, " : ");
	add_types(p, op->operand_count, op->operands);
	shlo_text_add(&p->text, " -> ");
	add_types(p, op->result_count, op->results);
	shlo_text_add(&p->text, "\n");
}

/*
 * Adds a function with this body, which is its own or that of a device; NULL: it is only declared.
 */
static void add_function(struct printer *p, const struct shlo_function *function,
			 const struct shlo_block *block)
{
	const struct shlo_type *type = function->type;
	const struct shlo_op *last = block && block->op_count ? block->ops[block->op_count - 1] :
								NULL;

	p->numbers = shlo_arena_alloc(p->text.arena, function->slot_count, sizeof(*p->numbers));
	p->parts = shlo_arena_alloc(p->text.arena, function->slot_count, sizeof(*p->parts));
	p->instead = shlo_arena_alloc(p->text.arena, function->slot_count, sizeof(*p->instead));
	p->next = 0;
	p->next_argument = 0;
	shlo_text_add(&p->text, "  func.func %s@", block ? "" : "private ");
	shlo_text_add_string(&p->text, function->name, strlen(function->name));
	if (block) {
		add_arguments(p, block);
	} else {
		shlo_text_add(&p->text, "(");
		for (size_t i = 0; i < type->item_count; i++) {
			shlo_text_add(&p->text, "%s%%arg%zu: ", i ? ", " : "", i);
			shlo_text_add_type(&p->text, type->items[i]);
		}
		shlo_text_add(&p->text, ")");
	}
	shlo_text_add(&p->text, " -> (");
	for (size_t i = 0; i < type->result_count; i++) {
		shlo_text_add(&p->text, i ? ", " : "");
		shlo_text_add_type(&p->text, p->is_device && last ? last->operands[i]->type :
								    type->results[i]);
	}
	shlo_text_add(&p->text, ")");
	if (block) {
		shlo_text_add(&p->text, " {\n");
		p->depth = 1;
		add_ops(p, block);
		shlo_text_add(&p->text, "}");
	}
	shlo_text_add(&p->text, "\n");
}

static void begin_module(struct printer *p, const struct shlo_module *module, bool is_first)
{
	shlo_text_add(&p->text, is_first ? "module" : "// -----\nmodule");
	if (*module->name) {
		shlo_text_add(&p->text, " @");
		shlo_text_add_string(&p->text, module->name, strlen(module->name));
	}
	shlo_text_add_attrs(&p->text, " attributes ", "", &module->attrs);
	shlo_text_add(&p->text, " {\n");
}

const char *shlo_print(struct shlo_arena *arena, const struct shlo_file *file)
{
	struct printer p = { .text = { .arena = arena } };

	for (size_t m = 0; m < file->module_count; m++) {
		const struct shlo_module *module = file->modules[m];

		begin_module(&p, module, !m);
		for (size_t i = 0; i < module->function_count; i++) {
			const struct shlo_function *function = module->functions[i];

			add_function(&p, function,
				     function->region ? &function->region->block : NULL);
		}
		shlo_text_add(&p.text, "}\n");
	}
	shlo_text_add(&p.text, "%s", "");
	return p.text.data;
}

/*
 * Returns the block of operations that one device runs: the function's own, or that of a
 * sdy.manual_computation which is all that the function does. NULL: the function does more than
 * that computation, or takes or gives whole values that the computation divides.
 */
static const struct shlo_block *device_block(const struct shlo_function *function)
{
	const struct shlo_block *block = &function->region->block;
	const struct shlo_op *op = block->ops[0];
	const struct shlo_cut *cut = op->cut;

	if (!cut)
		return block;
	if (block->op_count != 2 || op->operand_count != block->argument_count ||
	    op->result_count != block->ops[1]->operand_count)
		return NULL;
	for (size_t i = 0; i < op->operand_count; i++)
		if (op->operands[i] != block->arguments[i] || (cut->in[i] && !cut->in_local[i]))
			return NULL;
	for (size_t i = 0; i < op->result_count; i++)
		if (block->ops[1]->operands[i] != op->results[i] ||
		    (cut->out[i] && !cut->out_local[i]))
			return NULL;
	return &op->regions[0]->block;
}

const char *shlo_print_device(struct shlo_arena *arena, const struct shlo_file *file)
{
	/* A file that is refused may have a function without operations. */
	const struct shlo_module *module =
		file->module_count == 1 && !file->refusal_count ? file->modules[0] : NULL;
	const struct shlo_function *entry = module ? shlo_module_entry(module) : NULL;
	const struct shlo_block *block = entry && entry->region ? device_block(entry) : NULL;
	struct printer p = { .text = { .arena = arena }, .is_device = true, .module = module };

	if (!block)
		return NULL;
	begin_module(&p, module, true);
	add_function(&p, entry, block);
	for (size_t i = 0; i < p.called_count; i++)
		add_function(&p, p.called[i],
			     p.called[i]->region ? &p.called[i]->region->block : NULL);
	shlo_text_add(&p.text, "}\n");
	if (p.has_parts || (!p.has_left_out && block == &entry->region->block))
		return NULL;
	return p.text.data;
}
