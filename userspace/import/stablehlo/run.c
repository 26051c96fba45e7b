// SPDX-License-Identifier: MIT
/* Runs a module: evaluates its operations in order, and calls functions and regions. */
#include "run.h"

#include <stdio.h>
#include <string.h>

#include "chain.h"
#include "cut.h"
#include "segment.h"

static _Noreturn void vfail(struct shlo_run *run, WNNStatus status, const char *format,
			    va_list args)
{
	char text[900];

	vsnprintf(text, sizeof(text), format, args);
	if (run->at)
		shlo_throw(&run->guard, status, "%s: %s: %s",
			   shlo_location_text(run->at->location).text, run->at->name, text);
	shlo_throw(&run->guard, status, "%s", text);
}

static _Noreturn __attribute__((format(printf, 3, 4))) void
fail(struct shlo_run *run, WNNStatus status, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vfail(run, status, format, args);
}

void shlo_run_verror(struct shlo_run *run, const char *format, va_list args)
{
	vfail(run, WNNStatus_OperationError, format, args);
}

void shlo_run_error(struct shlo_run *run, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	shlo_run_verror(run, format, args);
}

void shlo_run_lack(struct shlo_run *run, size_t bytes)
{
	if (bytes)
		fail(run, WNNStatus_UnknownError,
		     "too little memory is free: a value of this %s takes %zu bytes, and other "
		     "values of the run take %zu; divide the run into smaller ones, or end other "
		     "programs",
		     run->at ? "operation" : "program", bytes, run->bytes);
	fail(run, WNNStatus_UnknownError,
	     "too little memory is free to run this %s: end other programs",
	     run->at ? "operation" : "program");
}

void shlo_run_differ(struct shlo_run *run)
{
	shlo_run_error(
		run,
		"the processes give this operation values of different shapes or types: let all "
		"processes give values of the same shape and type");
}

static struct shlo_scratch *scratch_push(struct shlo_run *run)
{
	struct shlo_scratch *scratch = import_alloc(sizeof(*scratch));

	if (!scratch)
		shlo_run_lack(run, 0);
	scratch->arena.guard = &run->guard;
	/* The scratch memory lives for one operation and is zeroed, so its chunks are small. */
	scratch->arena.chunk_size = 1024;
	scratch->before = run->scratches;
	run->scratches = scratch;
	return scratch;
}

static void scratch_pop(struct shlo_run *run)
{
	struct shlo_scratch *scratch = run->scratches;

	run->scratches = scratch->before;
	shlo_arena_exit(&scratch->arena);
	import_free(scratch);
}

static struct shlo_frame *frame_push(struct shlo_run *run, size_t slots)
{
	struct shlo_frame *frame = import_alloc(sizeof(*frame));

	if (!frame)
		shlo_run_lack(run, 0);
	frame->before = run->frames;
	run->frames = frame;
	frame->slots = import_alloc(slots * sizeof(struct shlo_tensor *));
	if (!frame->slots)
		shlo_run_lack(run, 0);
	frame->count = slots;
	return frame;
}

static void frame_pop(struct shlo_run *run)
{
	struct shlo_frame *frame = run->frames;

	run->frames = frame->before;
	for (size_t i = 0; i < frame->count; i++)
		shlo_tensor_put(frame->slots[i]);
	import_free(frame->slots);
	import_free(frame);
}

static void set_slot(struct shlo_frame *frame, const struct shlo_value *value,
		     struct shlo_tensor *tensor)
{
	struct shlo_tensor **slot = &frame->slots[value->slot];

	shlo_tensor_put(*slot);
	*slot = tensor;
}

/*
 * Returns the type of a value. For a tuple, adds the types of its items, which value->type lacks.
 */
static const struct shlo_type *type_of(struct shlo_arena *arena, const struct shlo_tensor *value)
{
	const struct shlo_type **items;
	struct shlo_type *type;

	if (!value->items)
		return &value->type;
	type = shlo_arena_alloc(arena, 1, sizeof(*type));
	items = shlo_arena_alloc(arena, value->type.item_count, sizeof(*items));
	*type = value->type;
	for (size_t i = 0; i < type->item_count; i++)
		items[i] = type_of(arena, value->items[i]);
	type->items = items;
	return type;
}

void shlo_check_init(struct shlo_check *check, struct shlo_call *call, struct shlo_arena *arena,
		     const struct shlo_type **types)
{
	*check = (struct shlo_check){
		.arena = arena,
		.guard = &call->run->guard,
		.run = call->run,
		.op = call->op,
		.module = call->run->module,
		.in_count = call->op->operand_count,
		.in = types,
	};
	for (size_t i = 0; i < check->in_count; i++)
		types[i] = type_of(arena, call->in[i]);
}

/* Infers the types of results with open dimensions from the types of the operands. */
static void infer(struct shlo_call *call, struct shlo_arena *arena)
{
	const struct shlo_op *op = call->op;
	const struct shlo_type **types = shlo_arena_alloc(arena, op->operand_count, sizeof(*types));
	struct shlo_check check;

	shlo_check_init(&check, call, arena, types);
	check.out = shlo_arena_alloc(arena, op->result_count, sizeof(*check.out));
	op->kind->check(&check);
	for (size_t i = 0; i < op->result_count; i++) {
		const struct shlo_type *declared = op->results[i]->type;

		/* Kernels trust that operands and results fit together. */
		if (check.out[i] && !shlo_type_fits(check.out[i], declared))
			shlo_wrong(&check, "result %zu would be %s, but its type is %s", i,
				   shlo_type_text(arena, check.out[i]),
				   shlo_type_text(arena, declared));
		if (shlo_type_is_static(declared))
			check.out[i] = declared;
		else if (check.out[i] && !shlo_type_is_static(check.out[i]))
			check.out[i] = NULL;
	}
	call->types = check.out;
}

static bool all_static(const struct shlo_op *op)
{
	for (size_t i = 0; i < op->operand_count; i++)
		if (!shlo_type_is_static(op->operands[i]->type))
			return false;
	for (size_t i = 0; i < op->result_count; i++)
		if (!shlo_type_is_static(op->results[i]->type))
			return false;
	return true;
}

struct shlo_tensor *shlo_result(struct shlo_call *call, size_t result)
{
	if (!call->types[result])
		shlo_run_error(call->run, "the dimensions of result %zu are not known", result);
	call->out[result] = shlo_tensor_new(call->run, call->types[result]);
	return call->out[result];
}

struct shlo_tensor *shlo_result_from(struct shlo_call *call, size_t result, size_t operand)
{
	struct shlo_tensor *x = call->in[operand];
	struct shlo_tensor **slot = &call->frame->slots[call->op->operands[operand]->slot];
	/* A dequantised operand is a copy of the value in the operand's slot. */
	bool alone = operand < 64 && call->op->last >> operand & 1 && *slot == x && x->refs == 1 &&
		     !x->is_lent;

	for (size_t i = 0; i < call->op->operand_count; i++)
		alone = alone && (i == operand || call->in[i] != x);
	if (alone) {
		*slot = NULL;
		call->out[result] = x;
		return x;
	}
	call->out[result] = shlo_tensor_copy(call->run, x);
	call->run->copied_bytes += shlo_bytes_of(x);
	return call->out[result];
}

bool shlo_value_fits(const struct shlo_tensor *value, const struct shlo_type *type)
{
	if (value->type.kind != type->kind)
		return false;
	if (type->kind == SHLO_TENSOR)
		return value->type.element == type->element && shlo_dims_fit(&value->type, type);
	if (value->type.item_count != type->item_count)
		return false;
	for (size_t i = 0; i < type->item_count; i++)
		if (!value->items || !value->items[i] ||
		    !shlo_value_fits(value->items[i], type->items[i]))
			return false;
	return true;
}

void shlo_need_value(struct shlo_run *run, const struct shlo_tensor *value,
		     const struct shlo_type *type, const char *what, size_t i)
{
	struct shlo_arena *arena;

	if (shlo_value_fits(value, type))
		return;
	arena = &scratch_push(run)->arena;
	shlo_run_error(run, "%s %zu is %s, but its type is %s", what, i,
		       shlo_type_text(arena, type_of(arena, value)), shlo_type_text(arena, type));
}

/* Demands that the results have the types that the file declares, bounds included. */
static void need_declared(struct shlo_call *call)
{
	for (size_t i = 0; i < call->op->result_count; i++) {
		const struct shlo_type *type = call->op->results[i]->type;
		const struct shlo_tensor *value = call->out[i];

		if (!value || (call->op->cut && call->op->cut->out_local[i]))
			continue;
		shlo_need_value(call->run, value, type, "result", i);
		for (int k = 0; type->bounds && k < type->rank; k++)
			if (type->bounds[k] != SHLO_DYNAMIC && value->dims[k] > type->bounds[k])
				shlo_run_error(call->run,
					       "dimension %d of result %zu is %lld, its bound is "
					       "%lld",
					       k, i, (long long)value->dims[k],
					       (long long)type->bounds[k]);
	}
}

/* Evaluates the call, whose lists have room for its values. */
static void eval(struct shlo_call *call, struct shlo_tensor **in)
{
	struct shlo_run *run = call->run;
	const struct shlo_op *op = call->op;

	for (size_t i = 0; i < op->operand_count; i++) {
		in[i] = call->frame->slots[op->operands[i]->slot];
		if (!in[i])
			shlo_run_error(run, "operand %zu is used before it is computed", i);
	}
	call->in = in;
	if (!call->types)
		infer(call, &run->scratches->arena);
	if (op->kind->family != SHLO_CONSTANT && op->kind->family != SHLO_CHECK)
		run->reference_ops++;
	if (shlo_any_quantised(call))
		shlo_eval_dequantised(call);
	else
		op->kind->eval(call);
	run->at = op;
	need_declared(call);
	for (size_t i = 0; i < op->result_count; i++)
		set_slot(call->frame, op->results[i], call->out[i]);
}

static void set_types(const struct shlo_op *op, const struct shlo_type **types)
{
	for (size_t i = 0; i < op->result_count; i++)
		types[i] = op->results[i]->type;
}

#define FEW 8 /* most operands or results whose lists need no memory from an arena */

void shlo_eval_op(struct shlo_run *run, struct shlo_frame *frame, const struct shlo_op *op)
{
	struct shlo_call call = { .run = run, .frame = frame, .op = op };
	struct shlo_tensor *few_in[FEW], *few_out[FEW] = { NULL };
	const struct shlo_type *few_types[FEW], **types;
	struct shlo_scratch *scratch;
	bool is_static = all_static(op);

	run->at = op;
	/* A constant keeps the value that it has from an earlier iteration. */
	if (op->kind->family == SHLO_CONSTANT && frame->slots[op->results[0]->slot])
		return;
	if (is_static && op->operand_count <= FEW && op->result_count <= FEW) {
		set_types(op, few_types);
		call.types = few_types;
		call.out = few_out;
		eval(&call, few_in);
		return;
	}
	scratch = scratch_push(run);
	if (is_static) {
		types = shlo_arena_alloc(&scratch->arena, op->result_count, sizeof(*types));
		set_types(op, types);
		call.types = types;
	}
	call.out = shlo_arena_alloc(&scratch->arena, op->result_count, sizeof(*call.out));
	eval(&call, shlo_arena_alloc(&scratch->arena, op->operand_count, sizeof(*call.in)));
	scratch_pop(run);
}

/*
 * Runs what begins at operation @at: a chain, a graph or one operation. Returns the number of
 * operations that are done.
 */
static size_t run_some(struct shlo_run *run, struct shlo_frame *frame,
		       const struct shlo_region *region, size_t at)
{
	const struct shlo_op *op = region->block.ops[at];
	size_t done = shlo_run_segment(run, frame, region, at);

	/* shlo_run_segment() notes that the run came to this region, even if a chain begins here. */
	if (done)
		return done;
	if (op->chain && op->chain->first == at) {
		shlo_run_chain(run, frame, &region->block, op->chain);
		return op->chain->end - at;
	}
	shlo_eval_op(run, frame, op);
	return 1;
}

/* Frees the values that no operation reads any more; constants stay for the next iteration. */
static void free_dead(struct shlo_frame *frame, const struct shlo_op *op)
{
	for (size_t i = 0; i < op->dead_count; i++)
		if (!op->dead[i]->op || op->dead[i]->op->kind->family != SHLO_CONSTANT)
			set_slot(frame, op->dead[i], NULL);
}

static void run_block(struct shlo_run *run, struct shlo_frame *frame,
		      const struct shlo_region *region, struct shlo_tensor **results)
{
	const struct shlo_block *block = &region->block;
	const struct shlo_op *last;

	for (size_t i = 0; i + 1 < block->op_count;)
		for (size_t end = i + run_some(run, frame, region, i); i < end; i++)
			free_dead(frame, block->ops[i]);
	last = block->ops[block->op_count - 1];
	run->at = last;
	for (size_t i = 0; i < last->operand_count; i++) {
		struct shlo_tensor *value = frame->slots[last->operands[i]->slot];

		if (!value)
			shlo_run_error(run, "operand %zu is used before it is computed", i);
		results[i] = shlo_tensor_get(value);
	}
}

/*
 * Releases the values of a block that has ended, so that the results have no other reader.
 * Constants stay for the next iteration.
 */
static void leave_block(struct shlo_frame *frame, const struct shlo_block *block)
{
	for (size_t i = 0; i < block->argument_count; i++)
		set_slot(frame, block->arguments[i], NULL);
	for (size_t i = 0; i < block->op_count; i++) {
		const struct shlo_op *op = block->ops[i];

		for (size_t k = 0; op->kind->family != SHLO_CONSTANT && k < op->result_count; k++)
			set_slot(frame, op->results[k], NULL);
	}
}

void shlo_call_region(struct shlo_run *run, struct shlo_frame *frame,
		      const struct shlo_region *region, struct shlo_tensor *const *arguments,
		      struct shlo_tensor **results)
{
	for (size_t i = 0; i < region->block.argument_count; i++)
		set_slot(frame, region->block.arguments[i], shlo_tensor_get(arguments[i]));
	run_block(run, frame, region, results);
	leave_block(frame, &region->block);
}

void shlo_give_region(struct shlo_run *run, struct shlo_frame *frame,
		      const struct shlo_region *region, struct shlo_tensor **arguments,
		      struct shlo_tensor **results)
{
	for (size_t i = 0; i < region->block.argument_count; i++) {
		set_slot(frame, region->block.arguments[i], arguments[i]);
		arguments[i] = NULL;
	}
	run_block(run, frame, region, results);
	leave_block(frame, &region->block);
}

static struct shlo_frame *enter(struct shlo_run *run, const struct shlo_function *function)
{
	/* The function that the run begins with is not called by another. */
	if (++run->depth > SHLO_MAX_DEPTH + 1)
		shlo_run_error(run, "calls are nested more than %d deep", SHLO_MAX_DEPTH);
	return frame_push(run, function->slot_count);
}

void shlo_call_function(struct shlo_run *run, const struct shlo_function *function,
			struct shlo_tensor *const *arguments, struct shlo_tensor **results)
{
	struct shlo_frame *frame = enter(run, function);

	shlo_call_region(run, frame, function->region, arguments, results);
	frame_pop(run);
	run->depth--;
}

void shlo_give_function(struct shlo_run *run, const struct shlo_function *function,
			struct shlo_tensor **arguments, struct shlo_tensor **results)
{
	struct shlo_frame *frame = enter(run, function);

	shlo_give_region(run, frame, function->region, arguments, results);
	frame_pop(run);
	run->depth--;
}
