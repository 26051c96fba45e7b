// SPDX-License-Identifier: MIT
/* Finds the slices of values that each device has. */
#include "cut.h"

#include <string.h>

#include "cut_read.h"
#include "kinds.h"
#include "sharding.h"

/* ---- the shardings of a file */

/*
 * Returns the slices that the sharding among @marks gives an argument or result; NULL: it is whole,
 * or its sharding is refused.
 */
static const struct shlo_slices *read_mark(struct shlo_reading *r, const struct shlo_attr *marks,
					   const struct shlo_type *type)
{
	const struct shlo_attr *mark = shlo_attr_find(marks, "sdy.sharding");
	const struct shlo_attr *old = shlo_attr_find(marks, "mhlo.sharding");

	r->is_wrong = false;
	if (!mark && old && old->text && strstr(old->text, "devices="))
		shlo_reading_refuse(
			r,
			"it is written as mhlo.sharding, but only sdy.sharding (Shardy) is "
			"supported: export the program with Shardy",
			"");
	r->at = mark && mark->text ? strchr(mark->text, '<') : NULL;
	return r->at ? shlo_reading_sharding(r, type) : NULL;
}

static struct shlo_cut *cut_new(struct shlo_file *file, size_t in, size_t out)
{
	struct shlo_arena *arena = &file->arena;
	struct shlo_cut *cut = shlo_arena_alloc(arena, 1, sizeof(*cut));

	cut->partitions = file->partitions;
	cut->in = shlo_arena_alloc(arena, in, sizeof(const struct shlo_slices *));
	cut->out = shlo_arena_alloc(arena, out, sizeof(const struct shlo_slices *));
	cut->in_local = shlo_arena_alloc(arena, in, sizeof(bool));
	cut->out_local = shlo_arena_alloc(arena, out, sizeof(bool));
	return cut;
}

static void cut_function(struct shlo_file *file, const struct shlo_module *module,
			 struct shlo_function *function)
{
	const struct shlo_type *type = function->type;
	struct shlo_reading r = { .file = file,
				  .module = module,
				  .location = function->location,
				  .op = "func.func",
				  .what = "argument" };
	struct shlo_cut *cut = cut_new(file, type->item_count, type->result_count);

	for (r.index = 0; r.index < type->item_count; r.index++)
		cut->in[r.index] = read_mark(&r, function->region->block.arguments[r.index]->marks,
					     type->items[r.index]);
	r.what = "result";
	for (r.index = 0; function->result_marks && r.index < type->result_count; r.index++)
		cut->out[r.index] =
			read_mark(&r, function->result_marks[r.index], type->results[r.index]);
	function->cut = cut;
}

/* Skips blanks, and returns the character after them. */
static char next_of(struct shlo_reading *r)
{
	r->at += strspn(r->at, " \t\r\n");
	return *r->at;
}

/* Reads attribute @name, a list with one sharding for each value, into @slices. */
static void read_list(struct shlo_reading *r, const struct shlo_op *op, const char *name,
		      struct shlo_value *const *values, size_t count,
		      const struct shlo_slices **slices)
{
	const struct shlo_attr *list = shlo_attr_find(&op->attrs, name);

	r->index = 0;
	r->is_wrong = false;
	r->at = list && list->text ? strchr(list->text, '[') : NULL;
	if (!r->at) {
		if (count)
			shlo_reading_refuse(r, "the operation has no list", name);
		return;
	}
	shlo_reading_expect(r, "[");
	for (r->index = 0; !r->is_wrong && r->index < count; r->index++) {
		if (next_of(r) == ']')
			shlo_reading_refuse(r, "there is none in", name);
		else if (r->index)
			shlo_reading_expect(r, ",");
		if (!r->is_wrong)
			slices[r->index] = shlo_reading_sharding(r, values[r->index]->type);
	}
	if (!r->is_wrong && next_of(r) != ']')
		shlo_reading_refuse(r, "there is no such value, for which there is a sharding in",
				    name);
}

static bool is_manual_computation(const struct shlo_op *op)
{
	return !strcmp(op->name, "sdy.manual_computation");
}

static bool is_cast(const struct shlo_op *op)
{
	return op && !strcmp(op->name, "builtin.unrealized_conversion_cast") &&
	       op->operand_count == 1 && op->result_count == 1 &&
	       shlo_type_same(op->operands[0]->type, op->results[0]->type);
}

static void cut_block(struct shlo_file *file, const struct shlo_module *module,
		      const struct shlo_block *block)
{
	for (size_t i = 0; i < block->op_count; i++) {
		struct shlo_op *op = block->ops[i];
		struct shlo_reading r = { .file = file,
					  .module = module,
					  .location = op->location,
					  .op = op->name,
					  .what = "operand" };

		if (is_manual_computation(op)) {
			const struct shlo_attr *axes = shlo_attr_find(&op->attrs, "manual_axes");
			struct shlo_cut *cut = cut_new(file, op->operand_count, op->result_count);

			r.manual = axes && axes->text ? axes->text : "";
			read_list(&r, op, "in_shardings", op->operands, op->operand_count, cut->in);
			r.what = "result";
			read_list(&r, op, "out_shardings", op->results, op->result_count, cut->out);
			op->cut = cut;
		}
		for (size_t k = 0; k < op->region_count; k++)
			cut_block(file, module, &op->regions[k]->block);
	}
}

/*
 * Removes casts that return their operand unchanged: bytecode has one around each value that goes
 * from one dialect to another.
 */
static void drop_casts(struct shlo_block *block)
{
	size_t count = 0;

	for (size_t i = 0; i < block->op_count; i++) {
		struct shlo_op *op = block->ops[i];

		for (size_t k = 0; k < op->operand_count; k++)
			/* In a wrong file, casts may be their own operands. */
			for (int hop = 0; hop < 64 && is_cast(op->operands[k]->op); hop++)
				op->operands[k] = op->operands[k]->op->operands[0];
		for (size_t k = 0; k < op->region_count; k++)
			drop_casts(&op->regions[k]->block);
		if (!is_cast(op))
			block->ops[count++] = op;
	}
	block->op_count = count;
}

/* ---- marks that ask for the slices that are there */

static bool is_mark(const struct shlo_op *op)
{
	return shlo_is_constraint(op) && op->operand_count == 1 && op->result_count == 1 &&
	       shlo_type_same(op->operands[0]->type, op->results[0]->type);
}

/*
 * Returns the slices that a mark within the function asks for; NULL: it has no sharding, or one
 * that cuts nothing or cannot be read.
 */
static const struct shlo_slices *
read_constraint(struct shlo_file *file, const struct shlo_module *module, const struct shlo_op *op)
{
	const struct shlo_attr *mark = shlo_attr_find(&op->attrs, "sharding");
	struct shlo_reading r = { .file = file,
				  .module = module,
				  .location = op->location,
				  .op = op->name,
				  .is_quiet = true };

	r.at = mark && mark->text ? strchr(mark->text, '<') : NULL;
	return r.at ? shlo_reading_sharding(&r, op->results[0]->type) : NULL;
}

static bool are_same(const struct shlo_slices *a, const struct shlo_slices *b, size_t devices)
{
	if (!a || !b)
		return a == b;
	return a->rank == b->rank && a->count == b->count &&
	       !memcmp(a->parts, b->parts, (size_t)a->rank * sizeof(*a->parts)) &&
	       !memcmp(a->own, b->own, devices * sizeof(*a->own)) &&
	       !memcmp(a->devices, b->devices, devices * a->count * sizeof(*a->devices)) &&
	       a->addends == b->addends &&
	       !memcmp(a->own_addend, b->own_addend, devices * sizeof(*a->own_addend)) &&
	       !memcmp(a->adding, b->adding, devices * a->addends * sizeof(*a->adding));
}

/*
 * Removes marks that ask for the slices that their operand has, so that a value stays on its
 * devices as it is. @slices: by slot, those of arguments and of results of manual computations
 */
static void drop_marks(struct shlo_file *file, const struct shlo_module *module,
		       const struct shlo_slices **slices, struct shlo_value **instead,
		       struct shlo_block *block)
{
	size_t count = 0;

	for (size_t i = 0; i < block->op_count; i++) {
		struct shlo_op *op = block->ops[i];
		const struct shlo_slices *asked;

		for (size_t k = 0; k < op->operand_count; k++)
			if (instead[op->operands[k]->slot])
				op->operands[k] = instead[op->operands[k]->slot];
		for (size_t k = 0; op->cut && k < op->result_count; k++)
			slices[op->results[k]->slot] = op->cut->out[k];
		for (size_t k = 0; k < op->region_count; k++)
			drop_marks(file, module, slices, instead, &op->regions[k]->block);
		asked = is_mark(op) && slices[op->operands[0]->slot] ?
				read_constraint(file, module, op) :
				NULL;
		if (asked && are_same(asked, slices[op->operands[0]->slot], file->partitions))
			instead[op->results[0]->slot] = op->operands[0];
		else
			block->ops[count++] = op;
	}
	block->op_count = count;
}

static void drop_marks_of(struct shlo_file *file, const struct shlo_module *module,
			  struct shlo_function *function)
{
	size_t slots = function->slot_count;
	const struct shlo_slices **slices = shlo_arena_alloc(&file->arena, slots, sizeof(*slices));
	struct shlo_value **instead = shlo_arena_alloc(&file->arena, slots, sizeof(*instead));
	struct shlo_block *block = &function->region->block;

	for (size_t i = 0; function->cut && i < block->argument_count; i++)
		slices[block->arguments[i]->slot] = function->cut->in[i];
	drop_marks(file, module, slices, instead, block);
}

/* ---- values that no device needs as a whole */

/* By slot of a value in a function: its slices, and whether something needs the whole, too. */
struct values {
	const struct shlo_slices **slices;
	bool *is_whole;
};

static void find_slices(struct values *values, const struct shlo_block *block)
{
	for (size_t i = 0; i < block->op_count; i++) {
		const struct shlo_op *op = block->ops[i];

		for (size_t k = 0; op->cut && k < op->result_count; k++)
			values->slices[op->results[k]->slot] = op->cut->out[k];
		for (size_t k = 0; k < op->region_count; k++)
			find_slices(values, &op->regions[k]->block);
	}
}

/*
 * Notes which values are needed as a whole. @of: the cut of the function, if the block is its body;
 * NULL: the function has none, or the block is a region of an operation
 */
static void find_uses(struct values *values, const struct shlo_block *block,
		      const struct shlo_cut *of)
{
	for (size_t i = 0; i < block->op_count; i++) {
		const struct shlo_op *op = block->ops[i];
		bool is_end = of && i + 1 == block->op_count;

		for (size_t k = 0; k < op->operand_count; k++) {
			size_t slot = op->operands[k]->slot;
			const struct shlo_slices *wanted = is_end  ? of->out[k] :
							   op->cut ? op->cut->in[k] :
								     NULL;

			if (!wanted || !are_same(wanted, values->slices[slot],
						 of ? of->partitions : op->cut->partitions))
				values->is_whole[slot] = true;
		}
		for (size_t k = 0; k < op->region_count; k++)
			find_uses(values, &op->regions[k]->block, NULL);
	}
}

static bool is_local(const struct values *values, const struct shlo_value *value)
{
	return values->slices[value->slot] && !values->is_whole[value->slot];
}

static void set_local(const struct values *values, const struct shlo_block *block)
{
	for (size_t i = 0; i < block->op_count; i++) {
		const struct shlo_op *op = block->ops[i];

		for (size_t k = 0; op->cut && k < op->operand_count; k++)
			op->cut->in_local[k] = is_local(values, op->operands[k]);
		for (size_t k = 0; op->cut && k < op->result_count; k++)
			op->cut->out_local[k] = is_local(values, op->results[k]);
		for (size_t k = 0; k < op->region_count; k++)
			set_local(values, &op->regions[k]->block);
	}
}

/* ---- results without a mark, whose slices are open */

#define MOST_STEPS 256 /* operations that are looked through, from a result backwards */

/*
 * Whether each element of the result depends only on the elements at the same position in operands
 * of the same shape.
 */
static bool is_elementwise(const struct shlo_op *op)
{
	return op->kind && op->kind->family >= SHLO_UNARY && op->kind->family <= SHLO_CONVERT;
}

/* The position of the search for slices: a function, and the call through which it came there. */
struct within {
	struct shlo_file *file;
	const struct shlo_module *module;
	const struct shlo_function *function;
	const struct shlo_op *call; /* NULL: the function is the one that runs */
	const struct within *outer;
	int *steps; /* operations that may still be looked through */
};

static const struct shlo_slices *coming(const struct within *in, const struct shlo_value *value);

static size_t index_of(struct shlo_value *const *values, size_t count,
		       const struct shlo_value *value)
{
	size_t i = 0;

	while (i < count && values[i] != value)
		i++;
	return i;
}

/*
 * Returns the slices of an argument of the function: from the call, or of the function that runs
 * from its sharding. NULL: it comes whole, or is an argument of a region.
 */
static const struct shlo_slices *coming_in(const struct within *in, const struct shlo_value *value)
{
	const struct shlo_block *block = &in->function->region->block;
	size_t i = index_of(block->arguments, block->argument_count, value);

	if (i == block->argument_count)
		return NULL;
	if (in->call)
		return i < in->call->operand_count ? coming(in->outer, in->call->operands[i]) :
						     NULL;
	return in->function->cut->in[i];
}

/* Returns the slices of a result of a call, from the called function; NULL: it comes whole. */
static const struct shlo_slices *coming_back(const struct within *in, const struct shlo_op *op,
					     size_t result)
{
	const char *name = shlo_attr_text(op, "callee", "");
	struct within callee = *in;
	const struct shlo_op *last;

	callee.function = shlo_function_find(in->module, name);
	callee.call = op;
	callee.outer = in;
	if (!callee.function || !callee.function->region ||
	    !callee.function->region->block.op_count)
		return NULL;
	last = callee.function->region->block.ops[callee.function->region->block.op_count - 1];
	return result < last->operand_count ? coming(&callee, last->operands[result]) : NULL;
}

/*
 * Returns the slices in which a value is computed: those of a manual computation, a mark or an
 * argument, from which it comes through calls and element-wise operations. NULL: it is computed as
 * a whole.
 */
static const struct shlo_slices *coming(const struct within *in, const struct shlo_value *value)
{
	const struct shlo_slices *slices = NULL;
	const struct shlo_op *op = value->op;

	if (!*in->steps)
		return NULL;
	--*in->steps;
	if (!op)
		return coming_in(in, value);
	if (op->cut)
		return op->cut->out[index_of(op->results, op->result_count, value)];
	if (!strcmp(op->name, "func.call"))
		return coming_back(in, op, index_of(op->results, op->result_count, value));
	if (is_mark(op))
		return read_constraint(in->file, in->module, op);
	for (size_t i = 0; is_elementwise(op) && i < op->operand_count && !slices; i++)
		if (shlo_dims_fit(op->operands[i]->type, value->type))
			slices = coming(in, op->operands[i]);
	return slices;
}

/* Whether a value of the type can be cut like another value. */
static bool can_have(const struct shlo_type *type, const struct shlo_slices *slices)
{
	if (!slices || slices->addends > 1 || type->kind != SHLO_TENSOR ||
	    type->rank != slices->rank)
		return false;
	for (int i = 0; i < type->rank; i++)
		if (type->dims[i] == SHLO_DYNAMIC || type->dims[i] % slices->parts[i])
			return false;
	return true;
}

/*
 * Cuts results without a mark into the slices in which the returned values are computed. The file
 * is not checked yet: these values may have other types than the results.
 */
static void cut_results(struct shlo_file *file, const struct shlo_module *module,
			struct shlo_function *function)
{
	const struct shlo_block *block = &function->region->block;
	const struct shlo_op *last = block->ops[block->op_count - 1];

	for (size_t i = 0;
	     i < last->operand_count && last->operand_count == function->type->result_count; i++) {
		const struct shlo_attr *marks = function->result_marks ? function->result_marks[i] :
									 NULL;
		int steps = MOST_STEPS;
		struct within in = {
			.file = file, .module = module, .function = function, .steps = &steps
		};
		const struct shlo_slices *slices = NULL;

		if (!shlo_attr_find(marks, "sdy.sharding"))
			slices = coming(&in, last->operands[i]);
		if (can_have(function->type->results[i], slices))
			function->cut->out[i] = slices;
	}
}

static void find_local(struct shlo_file *file, struct shlo_function *function)
{
	const struct shlo_block *block = &function->region->block;
	const struct shlo_op *last = block->op_count ? block->ops[block->op_count - 1] : NULL;
	const struct shlo_cut *cut = function->cut;
	struct values values;

	if (cut && last->operand_count != function->type->result_count)
		cut = NULL;
	values.slices = shlo_arena_alloc(&file->arena, function->slot_count,
					 sizeof(const struct shlo_slices *));
	values.is_whole = shlo_arena_alloc(&file->arena, function->slot_count, sizeof(bool));
	for (size_t i = 0; cut && i < block->argument_count; i++)
		values.slices[block->arguments[i]->slot] = cut->in[i];
	find_slices(&values, block);
	find_uses(&values, block, cut);
	set_local(&values, block);
	for (size_t i = 0; cut && i < block->argument_count; i++)
		cut->in_local[i] = is_local(&values, block->arguments[i]);
	for (size_t i = 0; cut && i < last->operand_count; i++)
		cut->out_local[i] = is_local(&values, last->operands[i]);
}

void shlo_cut_resolve(struct shlo_file *file)
{
	for (size_t m = 0; m < file->module_count; m++) {
		struct shlo_module *module = file->modules[m];
		struct shlo_function *entry = shlo_module_entry(module);

		if (entry && entry->region)
			cut_function(file, module, entry);
		for (size_t i = 0; i < module->function_count; i++) {
			struct shlo_function *function = module->functions[i];

			if (!function->region || !function->region->block.op_count)
				continue;
			drop_casts(&function->region->block);
			cut_block(file, module, &function->region->block);
			drop_marks_of(file, module, function);
		}
		if (entry && entry->cut && entry->region->block.op_count)
			cut_results(file, module, entry);
		for (size_t i = 0; i < module->function_count; i++)
			if (module->functions[i]->region &&
			    module->functions[i]->region->block.op_count)
				find_local(file, module->functions[i]);
	}
}

const struct shlo_type *shlo_cut_type(struct shlo_arena *arena, const struct shlo_type *type,
				      const struct shlo_slices *slices)
{
	struct shlo_type *part;
	int64_t *dims;

	if (!slices)
		return type;
	dims = shlo_arena_alloc(arena, (size_t)type->rank, sizeof(*dims));
	for (int i = 0; i < type->rank; i++)
		dims[i] = type->dims[i] / slices->parts[i];
	part = shlo_arena_alloc(arena, 1, sizeof(*part));
	*part = *type;
	part->dims = dims;
	return part;
}

WNNStablehloSlices shlo_cut_tell(const struct shlo_slices *slices, size_t partitions)
{
	WNNStablehloSlices told = { 0 };

	if (slices)
		told = (WNNStablehloSlices){
			.rank = (size_t)slices->rank,
			.parts = slices->parts,
			.partitions = partitions,
			.slices = slices->own,
			.addends = slices->addends,
			.addend = slices->own_addend,
		};
	return told;
}
