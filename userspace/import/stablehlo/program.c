// SPDX-License-Identifier: MIT
/* Compiles regions of scalars to programs, and applies them to numbers. */
#include "program.h"

#include <string.h>

#include "run.h"

struct compiler {
	struct shlo_arena *arena;
	struct shlo_program *program;
	size_t *slots, *registers; /* of each value with a register: its slot, and the register */
	size_t known;
};

enum shlo_direction shlo_direction_of(const struct shlo_op *op)
{
	static const char *const names[] = { "EQ", "NE", "GE", "GT", "LE", "LT" };
	const char *text = shlo_attr_text(op, "comparison_direction", "EQ");

	for (int i = 0; i < 6; i++)
		if (!strcmp(names[i], text))
			return (enum shlo_direction)i;
	return SHLO_EQ;
}

static bool is_scalar(const struct shlo_type *type)
{
	return type->kind == SHLO_TENSOR && type->rank == 0 && !type->quant;
}

static size_t define(struct compiler *c, const struct shlo_value *value)
{
	c->slots = shlo_arena_grow(c->arena, c->slots, c->known, sizeof(*c->slots));
	c->registers = shlo_arena_grow(c->arena, c->registers, c->known, sizeof(*c->registers));
	c->slots[c->known] = value->slot;
	c->registers[c->known++] = c->program->register_count;
	return c->program->register_count++;
}

static size_t use(struct compiler *c, const struct shlo_value *value)
{
	struct shlo_program *p = c->program;
	struct shlo_captured *captured;

	for (size_t i = 0; i < c->known; i++)
		if (c->slots[i] == value->slot)
			return c->registers[i];
	p->captured =
		shlo_arena_grow(c->arena, p->captured, p->captured_count, sizeof(*p->captured));
	captured = &p->captured[p->captured_count++];
	captured->slot = value->slot;
	captured->element = value->type->element;
	captured->out = define(c, value);
	return captured->out;
}

static void add_constant(struct compiler *c, const struct shlo_op *op)
{
	const struct shlo_attr *value = shlo_attr_find(&op->attrs, "value");
	struct shlo_program *p = c->program;

	p->constants =
		shlo_arena_grow(c->arena, p->constants, p->constant_count, sizeof(*p->constants));
	p->constants[p->constant_count].number = shlo_load(value->type->element, value->data, 0);
	p->constants[p->constant_count++].out = define(c, op->results[0]);
}

struct shlo_step shlo_step_of(const struct shlo_op *op)
{
	struct shlo_step step = { .family = op->kind->family, .code = op->kind->code };

	step.element =
		op->operands[op->kind->family == SHLO_SELECT || op->kind->family == SHLO_CLAMP]
			->type->element;
	step.to = op->results[0]->type->element;
	if (step.family == SHLO_COMPARE) {
		step.code = (int)shlo_direction_of(op);
		step.total = !strcmp(shlo_attr_text(op, "compare_type", ""), "TOTALORDER");
	}
	return step;
}

static void add_step(struct compiler *c, const struct shlo_op *op)
{
	struct shlo_program *p = c->program;
	struct shlo_step step = shlo_step_of(op);

	for (size_t i = 0; i < op->operand_count; i++)
		step.in[i] = use(c, op->operands[i]);
	step.out = define(c, op->results[0]);
	p->steps = shlo_arena_grow(c->arena, p->steps, p->step_count, sizeof(*p->steps));
	p->steps[p->step_count++] = step;
}

static bool can_compile(const struct shlo_block *block)
{
	for (size_t i = 0; i < block->argument_count; i++)
		if (!is_scalar(block->arguments[i]->type))
			return false;
	for (size_t i = 0; i < block->op_count; i++) {
		const struct shlo_op *op = block->ops[i];

		if (op->region_count || !op->kind || op->kind->family == SHLO_OTHER ||
		    op->kind->family == SHLO_CHECK)
			return false;
		for (size_t k = 0; k < op->operand_count; k++)
			if (!is_scalar(op->operands[k]->type))
				return false;
		for (size_t k = 0; k < op->result_count; k++)
			if (!is_scalar(op->results[k]->type))
				return false;
	}
	return block->op_count > 0;
}

static void compile(struct shlo_arena *arena, struct shlo_region *region)
{
	const struct shlo_block *block = &region->block;
	struct shlo_program *program;
	struct compiler c = { .arena = arena };

	if (region->program || !can_compile(block))
		return;
	program = shlo_arena_alloc(arena, 1, sizeof(*program));
	c.program = program;
	for (size_t i = 0; i < block->argument_count; i++)
		define(&c, block->arguments[i]);
	for (size_t i = 0; i < block->op_count; i++) {
		const struct shlo_op *op = block->ops[i];

		if (op->kind->family == SHLO_CONSTANT) {
			add_constant(&c, op);
		} else if (op->kind->family == SHLO_RETURN) {
			program->results = shlo_arena_alloc(arena, op->operand_count,
							    sizeof(*program->results));
			program->result_count = op->operand_count;
			for (size_t k = 0; k < op->operand_count; k++)
				program->results[k] = use(&c, op->operands[k]);
		} else {
			add_step(&c, op);
		}
	}
	region->program = program;
}

static void compile_block(struct shlo_arena *arena, const struct shlo_block *block)
{
	for (size_t i = 0; i < block->op_count; i++)
		for (size_t k = 0; k < block->ops[i]->region_count; k++) {
			compile(arena, block->ops[i]->regions[k]);
			compile_block(arena, &block->ops[i]->regions[k]->block);
		}
}

void shlo_compile_regions(struct shlo_arena *arena, const struct shlo_module *module)
{
	for (size_t i = 0; i < module->function_count; i++)
		if (module->functions[i]->region)
			compile_block(arena, &module->functions[i]->region->block);
}

/* ---- applying */

enum shlo_element shlo_argument_element(const struct shlo_region *region, size_t argument)
{
	return region->block.arguments[argument]->type->element;
}

void shlo_applier_init(struct shlo_applier *applier, struct shlo_run *run, struct shlo_frame *frame,
		       const struct shlo_region *region)
{
	const struct shlo_program *program = region->program;
	int64_t count = program ? (int64_t)program->register_count : 1;
	struct shlo_type type = { .element = SHLO_C128, .rank = 1, .dims = &count };

	*applier = (struct shlo_applier){
		.run = run,
		.frame = frame,
		.region = region,
		.argument_count = region->block.argument_count,
		.result_count = region->block.ops[region->block.op_count - 1]->operand_count,
	};
	/*
	 * The registers are a tensor, so that an error which ends the run frees them with all
	 * others.
	 */
	applier->room = shlo_tensor_new(run, &type);
	applier->registers = applier->room->data;
	if (!program)
		return;
	for (size_t i = 0; i < program->constant_count; i++)
		applier->registers[program->constants[i].out] = program->constants[i].number;
	for (size_t i = 0; i < program->captured_count; i++) {
		const struct shlo_captured *captured = &program->captured[i];
		const struct shlo_tensor *value = frame->slots[captured->slot];

		if (!value)
			shlo_run_error(run, "its region uses a value before it is computed");
		applier->registers[captured->out] = shlo_get(value, 0);
	}
}

void shlo_applier_exit(struct shlo_applier *applier)
{
	shlo_tensor_put(applier->room);
}

struct shlo_num shlo_run_step(const struct shlo_step *step, const struct shlo_num *r)
{
	struct shlo_num x = r[step->in[0]], y = r[step->in[1]], z = r[step->in[2]];
	bool done;

	switch (step->family) {
	case SHLO_UNARY:
		return shlo_unary((enum shlo_unary)step->code, step->element, x, &done);
	case SHLO_BINARY:
		return shlo_binary((enum shlo_binary)step->code, step->element, x, y, &done);
	case SHLO_COMPARE:
		return shlo_int(shlo_compare((enum shlo_direction)step->code, step->element,
					     step->total, x, y));
	case SHLO_SELECT:
		return x.i ? y : z;
	case SHLO_CLAMP:
		x = shlo_binary(SHLO_B_MAXIMUM, step->element, x, y, &done);
		return shlo_binary(SHLO_B_MINIMUM, step->element, x, z, &done);
	default:
		return shlo_convert(step->to, step->element, x);
	}
}

struct shlo_num shlo_run_op(const struct shlo_op *op, const struct shlo_num *operands)
{
	struct shlo_step step = shlo_step_of(op);

	for (size_t i = 0; i < op->operand_count; i++)
		step.in[i] = i;
	return shlo_run_step(&step, operands);
}

/* Evaluates a region with tensors, when it is more than operations on scalars. */
static void apply_region(struct shlo_applier *applier, const struct shlo_num *arguments,
			 struct shlo_num *results)
{
	const struct shlo_block *block = &applier->region->block;
	struct shlo_tensor *in[64], *out[64];

	if (applier->argument_count > 64 || applier->result_count > 64)
		shlo_run_error(applier->run, "its region has more than 64 arguments or results");
	for (size_t i = 0; i < applier->argument_count; i++) {
		in[i] = shlo_tensor_like(applier->run, block->arguments[i]->type, 0, NULL);
		shlo_set(in[i], 0, arguments[i]);
	}
	shlo_call_region(applier->run, applier->frame, applier->region, in, out);
	for (size_t i = 0; i < applier->result_count; i++) {
		results[i] = shlo_get(out[i], 0);
		shlo_tensor_put(out[i]);
	}
	for (size_t i = 0; i < applier->argument_count; i++)
		shlo_tensor_put(in[i]);
}

void shlo_apply(struct shlo_applier *applier, const struct shlo_num *arguments,
		struct shlo_num *results)
{
	const struct shlo_program *program = applier->region->program;
	struct shlo_num *r = applier->registers;

	if (!program) {
		apply_region(applier, arguments, results);
		return;
	}
	for (size_t i = 0; i < applier->argument_count; i++)
		r[i] = arguments[i];
	for (size_t i = 0; i < program->step_count; i++)
		r[program->steps[i].out] = shlo_run_step(&program->steps[i], r);
	for (size_t i = 0; i < program->result_count; i++)
		results[i] = r[program->results[i]];
}
