// SPDX-License-Identifier: MIT
/* Prints programs. Equal programs have equal texts, whatever they were read from. */
#include <stdlib.h>
#include <string.h>

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
};

static void add_value(struct printer *p, const struct shlo_value *value)
{
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

static void add_op(struct printer *p, const struct shlo_op *op)
{
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
	shlo_text_add(&p->text, "\"%s\"(", op->name);
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
	shlo_text_add_attrs(&p->text, " ", op->name, &op->attrs);
	shlo_text_add(&p->text, " : ");
	add_types(p, op->operand_count, op->operands);
	shlo_text_add(&p->text, " -> ");
	add_types(p, op->result_count, op->results);
	shlo_text_add(&p->text, "\n");
}

static void add_function(struct printer *p, const struct shlo_function *function)
{
	const struct shlo_type *type = function->type;

	p->numbers = shlo_arena_alloc(p->text.arena, function->slot_count, sizeof(*p->numbers));
	p->parts = shlo_arena_alloc(p->text.arena, function->slot_count, sizeof(*p->parts));
	p->next = 0;
	p->next_argument = 0;
	shlo_text_add(&p->text, "  func.func %s@", function->region ? "" : "private ");
	shlo_text_add_string(&p->text, function->name, strlen(function->name));
	if (function->region) {
		add_arguments(p, &function->region->block);
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
		shlo_text_add_type(&p->text, type->results[i]);
	}
	shlo_text_add(&p->text, ")");
	if (function->region) {
		shlo_text_add(&p->text, " {\n");
		p->depth = 1;
		add_ops(p, &function->region->block);
		shlo_text_add(&p->text, "}");
	}
	shlo_text_add(&p->text, "\n");
}

const char *shlo_print(struct shlo_arena *arena, const struct shlo_file *file)
{
	struct printer p = { .text = { .arena = arena } };

	for (size_t m = 0; m < file->module_count; m++) {
		const struct shlo_module *module = file->modules[m];

		shlo_text_add(&p.text, m ? "// -----\nmodule" : "module");
		if (*module->name) {
			shlo_text_add(&p.text, " @");
			shlo_text_add_string(&p.text, module->name, strlen(module->name));
		}
		shlo_text_add_attrs(&p.text, " attributes ", "", &module->attrs);
		shlo_text_add(&p.text, " {\n");
		for (size_t i = 0; i < module->function_count; i++)
			add_function(&p, module->functions[i]);
		shlo_text_add(&p.text, "}\n");
	}
	shlo_text_add(&p.text, "%s", "");
	return p.text.data;
}
