// SPDX-License-Identifier: MIT
/*
 * Unrolls loops whose iterations can be computed in advance, so that a device runs them in one
 * graph.
 *
 * A loop is interpreted: condition and body are copied with the values of the iteration, and where
 * all operands of an operation on single integers are known, its result becomes a constant. If the
 * condition is such a constant in each iteration until it is false, the copies replace the loop.
 * The way it counts does not matter: by a constant, by a carried value, up or down.
 *
 * The operations of called functions replace the calls.
 */
#include "unroll.h"

#include <string.h>

#include "chain.h"
#include "cut.h"
#include "lower.h"
#include "program.h"
#include "run.h"

/*
 * Most operations, operands and results that are copied for a module, with those of failed
 * attempts.
 */
#define MOST_COPIES ((size_t)1 << 20)

struct list {
	struct shlo_op **ops;
	size_t count;
};

/* The values that replace the values of a function, by slot. */
struct scope {
	struct shlo_value **values;
	size_t room;  /* slots that a function's scope has memory for */
	bool own;     /* scope of the new function: a value without a replacement is used itself */
	bool missing; /* a value had no replacement where it was needed */
	uint64_t attempt; /* the attempt that the values belong to */
	size_t *set;	  /* slots that this attempt has set */
	size_t set_count;
};

struct unroller {
	const struct shlo_unroll *with;
	const struct shlo_module *module;
	struct shlo_arena *arena;
	const struct shlo_kind *constant;
	struct scope *scopes; /* by function: scopes of those that are called */
	/* copies have the operations of called functions in place of the calls */
	bool inlines;
	size_t copies_left; /* operations, operands and results that may still be copied */
	/* number of the current attempt; operations that its iterations have made */
	uint64_t attempt, made;
	size_t first, slots; /* first slot of new values in the function, and the end so far */
};

/* Counts @count objects that are about to be copied; false: the limit is reached. */
static bool take_shards(struct unroller *u, size_t count)
{
	if (count > u->copies_left)
		return false;
	u->copies_left -= count;
	return true;
}

/*
 * Returns the value that replaces @value, or @value itself when there is none; in the scope of a
 * called function, the latter also sets s->missing.
 */
static struct shlo_value *stands_for(struct scope *s, struct shlo_value *value)
{
	struct shlo_value *other = s->values[value->slot];

	if (!other && !s->own)
		s->missing = true;
	return other ? other : value;
}

static void set_value(struct unroller *u, struct scope *s, const struct shlo_value *value,
		      struct shlo_value *other)
{
	if (s->own && !s->values[value->slot]) {
		s->set = shlo_arena_grow(u->arena, s->set, s->set_count, sizeof(*s->set));
		s->set[s->set_count++] = value->slot;
	}
	s->values[value->slot] = other;
}

static struct shlo_value *new_value(struct unroller *u, const struct shlo_value *like,
				    struct shlo_op *op)
{
	struct shlo_value *value = shlo_arena_alloc(u->arena, 1, sizeof(*value));

	*value = *like;
	value->op = op;
	value->slot = u->slots++;
	return value;
}

static void append(struct unroller *u, struct list *list, struct shlo_op *op)
{
	list->ops = shlo_arena_grow(u->arena, list->ops, list->count, sizeof(struct shlo_op *));
	list->ops[list->count++] = op;
}

/* ---- copies */

static struct shlo_value **copy_values(struct unroller *u, struct scope *s,
				       struct shlo_value *const *values, size_t count,
				       struct shlo_op *op)
{
	struct shlo_value **copies = shlo_arena_alloc(u->arena, count, sizeof(*copies));

	for (size_t i = 0; i < count; i++) {
		copies[i] = new_value(u, values[i], op);
		set_value(u, s, values[i], copies[i]);
	}
	return copies;
}

static struct shlo_op *copy_op(struct unroller *u, struct scope *s, const struct shlo_op *op);
static bool inline_call(struct unroller *u, struct scope *s, const struct shlo_op *op,
			struct list *out);

/* Appends copies of the first @count operations of a block; false: the limit is reached. */
static bool copy_ops(struct unroller *u, struct scope *s, const struct shlo_block *block,
		     size_t count, struct list *out)
{
	for (size_t i = 0; i < count; i++) {
		struct shlo_op *op;

		if (u->inlines && inline_call(u, s, block->ops[i], out))
			continue;
		op = copy_op(u, s, block->ops[i]);
		if (!op)
			return false;
		append(u, out, op);
	}
	return true;
}

/* Returns a copy of a region with values of its own. */
static struct shlo_region *copy_region(struct unroller *u, struct scope *s,
				       const struct shlo_region *region)
{
	struct shlo_region *copy = shlo_arena_alloc(u->arena, 1, sizeof(*copy));
	const struct shlo_block *block = &region->block;
	struct list ops = { 0 };

	if (!take_shards(u, block->argument_count))
		return NULL;
	copy->block.argument_count = block->argument_count;
	copy->block.arguments = copy_values(u, s, block->arguments, block->argument_count, NULL);
	if (!copy_ops(u, s, block, block->op_count, &ops))
		return NULL;
	copy->block.ops = ops.ops;
	copy->block.op_count = ops.count;
	return copy;
}

/* Returns a copy of an operation; NULL: the limit is reached. */
static struct shlo_op *copy_op(struct unroller *u, struct scope *s, const struct shlo_op *op)
{
	struct shlo_op *copy;

	if (!take_shards(u, 1 + op->operand_count + op->result_count))
		return NULL;
	copy = shlo_arena_alloc(u->arena, 1, sizeof(*copy));
	*copy = *op;
	copy->operands = shlo_arena_alloc(u->arena, op->operand_count, sizeof(*copy->operands));
	for (size_t i = 0; i < op->operand_count; i++)
		copy->operands[i] = stands_for(s, op->operands[i]);
	copy->regions = shlo_arena_alloc(u->arena, op->region_count, sizeof(*copy->regions));
	for (size_t i = 0; i < op->region_count; i++) {
		copy->regions[i] = copy_region(u, s, op->regions[i]);
		if (!copy->regions[i])
			return NULL;
	}
	copy->results = copy_values(u, s, op->results, op->result_count, copy);
	return copy;
}

/* Copies a constant once: all iterations and calls share it. False: the limit is reached. */
static bool copy_constant(struct unroller *u, struct scope *s, const struct shlo_op *op,
			  struct list *out)
{
	struct shlo_op *copy;

	if (s->values[op->results[0]->slot])
		return take_shards(u, 1);
	copy = copy_op(u, s, op);
	if (copy)
		append(u, out, copy);
	return copy != NULL;
}

/* ---- what is known */

static bool is_single_integer(const struct shlo_type *type)
{
	enum shlo_class class = shlo_class(type->element);

	return type->kind == SHLO_TENSOR && !type->quant && shlo_type_count(type) == 1 &&
	       (class == SHLO_SIGNED || class == SHLO_UNSIGNED || type->element == SHLO_I1);
}

static bool is_known(const struct shlo_value *value, struct shlo_num *number)
{
	const struct shlo_attr *attr = NULL;

	if (value->op && value->op->kind->family == SHLO_CONSTANT)
		attr = shlo_attr_find(&value->op->attrs, "value");
	if (!attr || attr->kind != SHLO_ATTR_DENSE || !is_single_integer(value->type))
		return false;
	*number = shlo_load(value->type->element, attr->data, 0);
	return true;
}

/*
 * Whether an operation computes one integer from others, as starts of slices and loop counters do.
 */
static bool computes_integer(const struct shlo_op *op)
{
	if (op->result_count != 1 || !op->operand_count || op->operand_count > 3 ||
	    !is_single_integer(op->results[0]->type))
		return false;
	switch (op->kind->family) {
	case SHLO_UNARY:
	case SHLO_BINARY:
	case SHLO_COMPARE:
	case SHLO_SELECT:
	case SHLO_CLAMP:
	case SHLO_CONVERT:
		return true;
	default:
		return !strcmp(op->name, "stablehlo.reshape") ||
		       !strcmp(op->name, "stablehlo.broadcast_in_dim");
	}
}

static struct shlo_op *constant_of(struct unroller *u, const struct shlo_op *op,
				   struct shlo_num number)
{
	const struct shlo_type *type = op->results[0]->type;
	struct shlo_op *constant = shlo_arena_alloc(u->arena, 1, sizeof(*constant));
	struct shlo_attr *value = shlo_arena_alloc(u->arena, 1, sizeof(*value));
	const struct shlo_attr **items = shlo_arena_alloc(u->arena, 1, sizeof(*items));
	static const char *const names[] = { "value" };
	uint64_t *data = shlo_arena_alloc(u->arena, 1, sizeof(*data));

	shlo_store(type->element, data, 0, number);
	value->kind = SHLO_ATTR_DENSE;
	value->type = type;
	value->data = data;
	items[0] = value;
	constant->kind = u->constant;
	constant->name = constant->kind->name;
	constant->location = op->location;
	constant->attrs = (struct shlo_attr){
		.kind = SHLO_ATTR_DICT, .count = 1, .items = items, .names = names
	};
	return constant;
}

/* Replaces an operation on known integers by a constant; false: it is no such operation. */
static bool compute(struct unroller *u, struct scope *s, const struct shlo_op *op, struct list *out)
{
	struct shlo_num in[3] = { 0 }, number;
	struct shlo_op *constant;

	if (!computes_integer(op))
		return false;
	for (size_t i = 0; i < op->operand_count; i++)
		if (!is_known(stands_for(s, op->operands[i]), &in[i]))
			return false;
	number = op->kind->family == SHLO_OTHER ? in[0] : shlo_run_op(op, in);
	constant = constant_of(u, op, number);
	constant->result_count = 1;
	constant->results = copy_values(u, s, op->results, 1, constant);
	append(u, out, constant);
	return true;
}

/* ---- loops and calls */

static bool flatten(struct unroller *u, struct scope *s, const struct shlo_block *block,
		    struct list *out);

static bool same_types(struct shlo_value *const *a, struct shlo_value *const *b, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (!shlo_type_is_static(a[i]->type) || !shlo_type_same(a[i]->type, b[i]->type))
			return false;
	return true;
}

static const struct shlo_op *last_of(const struct shlo_block *block)
{
	return block->ops[block->op_count - 1];
}

/* Returns the values that replace @values at present. */
static struct shlo_value **values_now(struct unroller *u, struct scope *s,
				      struct shlo_value *const *values, size_t count)
{
	struct shlo_value **now = shlo_arena_alloc(u->arena, count, sizeof(*now));

	for (size_t i = 0; i < count; i++)
		now[i] = stands_for(s, values[i]);
	return now;
}

static void set_values(struct unroller *u, struct scope *s, struct shlo_value *const *values,
		       struct shlo_value *const *others, size_t count)
{
	for (size_t i = 0; i < count; i++)
		set_value(u, s, values[i], others[i]);
}

/*
 * Appends the operations of all iterations of a loop; false: its types are open, a condition is not
 * known, a limit is reached, or a device cannot run an operation.
 */
static bool flatten_loop(struct unroller *u, struct scope *s, const struct shlo_op *op,
			 struct list *out)
{
	const struct shlo_block *cond = &op->regions[0]->block, *body = &op->regions[1]->block;
	size_t count = op->operand_count;
	struct shlo_value **carried;

	if (!same_types(op->operands, op->results, count) ||
	    !same_types(op->operands, cond->arguments, count) ||
	    !same_types(op->operands, body->arguments, count) ||
	    !same_types(op->operands, last_of(body)->operands, count))
		return false;
	carried = values_now(u, s, op->operands, count);
	for (uint64_t iteration = 0;; iteration++) {
		struct shlo_num go;

		if (!take_shards(u, 1 + count))
			return false;
		set_values(u, s, cond->arguments, carried, count);
		if (!flatten(u, s, cond, out) ||
		    !is_known(stands_for(s, last_of(cond)->operands[0]), &go))
			return false;
		if (!go.i)
			break;
		if (iteration == u->with->loop_limit)
			return false;
		set_values(u, s, body->arguments, carried, count);
		if (!flatten(u, s, body, out))
			return false;
		carried = values_now(u, s, last_of(body)->operands, count);
	}
	set_values(u, s, op->results, carried, count);
	return true;
}

/*
 * Returns the scope of a function. One scope serves all its calls, since each ends before the next
 * begins.
 */
static struct scope *scope_of(struct unroller *u, size_t function)
{
	struct scope *scope = &u->scopes[function];
	size_t count = u->module->functions[function]->slot_count;

	if (scope->attempt == u->attempt)
		return scope;
	if (!take_shards(u, count))
		return NULL;
	if (!scope->values || scope->room < count) {
		scope->values = shlo_arena_alloc(u->arena, count, sizeof(*scope->values));
		scope->room = count;
	} else {
		memset(scope->values, 0, count * sizeof(*scope->values));
	}
	scope->attempt = u->attempt;
	scope->missing = false;
	return scope;
}

/*
 * Returns the index of the function that an operation calls; shlo_verify() has checked that it
 * exists.
 */
static size_t callee_of(const struct unroller *u, const struct shlo_op *op)
{
	const char *attr = !strcmp(op->name, "func.call") ? "callee" : "decomposition";
	const char *name = shlo_attr_text(op, attr, "");
	size_t i = 0;

	while (strcmp(u->module->functions[i]->name, name))
		i++;
	return i;
}

static bool flatten_call(struct unroller *u, struct scope *s, const struct shlo_op *op,
			 struct list *out)
{
	size_t i = callee_of(u, op);
	const struct shlo_block *block = &u->module->functions[i]->region->block;
	struct scope *inner;

	if (!same_types(op->operands, block->arguments, op->operand_count) ||
	    !same_types(op->results, last_of(block)->operands, op->result_count) ||
	    !take_shards(u, 1 + op->operand_count + op->result_count))
		return false;
	inner = scope_of(u, i);
	if (!inner)
		return false;
	set_values(u, inner, block->arguments, values_now(u, s, op->operands, op->operand_count),
		   op->operand_count);
	if (!flatten(u, inner, block, out))
		return false;
	set_values(u, s, op->results,
		   values_now(u, inner, last_of(block)->operands, op->result_count),
		   op->result_count);
	return !inner->missing;
}

static bool is_loop(const struct shlo_op *op)
{
	return !strcmp(op->name, "stablehlo.while");
}

static bool is_call(const struct shlo_op *op)
{
	return !strcmp(op->name, "func.call") || !strcmp(op->name, "stablehlo.composite");
}

/* Whether the operation's region runs exactly once, with the operands as arguments. */
static bool runs_once(const struct shlo_op *op)
{
	for (size_t i = 0; op->cut && i < op->operand_count; i++)
		if (op->cut->in[i])
			return false;
	for (size_t i = 0; op->cut && i < op->result_count; i++)
		if (op->cut->out[i])
			return false;
	return !strcmp(op->name, "sdy.manual_computation") ||
	       !strcmp(op->name, "sdy.named_computation");
}

static bool flatten_part(struct unroller *u, struct scope *s, const struct shlo_op *op,
			 struct list *out)
{
	const struct shlo_block *block = &op->regions[0]->block;

	if (!same_types(op->operands, block->arguments, op->operand_count) ||
	    !same_types(op->results, last_of(block)->operands, op->result_count) ||
	    !take_shards(u, 1 + op->operand_count + op->result_count))
		return false;
	set_values(u, s, block->arguments, values_now(u, s, op->operands, op->operand_count),
		   op->operand_count);
	if (!flatten(u, s, block, out))
		return false;
	set_values(u, s, op->results, values_now(u, s, last_of(block)->operands, op->result_count),
		   op->result_count);
	return true;
}

/*
 * Appends all operations of a block but the last, with loops unrolled; the caller handles the last.
 * False: a device cannot run one of them, or a limit is reached.
 */
static bool flatten(struct unroller *u, struct scope *s, const struct shlo_block *block,
		    struct list *out)
{
	for (size_t i = 0; i + 1 < block->op_count; i++) {
		const struct shlo_op *op = block->ops[i];
		struct shlo_op *copy;

		if (op->kind->family == SHLO_CONSTANT) {
			if (!copy_constant(u, s, op, out))
				return false;
			continue;
		}
		if (++u->made > u->with->limit || !take_shards(u, 1))
			return false;
		if (is_loop(op) || is_call(op) || runs_once(op)) {
			if (!(is_loop(op) ? flatten_loop :
			      is_call(op) ? flatten_call :
					    flatten_part)(u, s, op, out))
				return false;
			continue;
		}
		if (compute(u, s, op, out))
			continue;
		copy = copy_op(u, s, op);
		if (!copy || s->missing || !shlo_can_lower(copy))
			return false;
		append(u, out, copy);
	}
	return true;
}

/* Replaces a loop by its unrolled operations; false, with nothing changed: that is not possible. */
static bool replace(struct unroller *u, struct scope *s, const struct shlo_op *op, struct list *out)
{
	size_t before = out->count;

	u->attempt++;
	u->made = 0;
	s->set_count = 0;
	if (flatten_loop(u, s, op, out))
		return true;
	out->count = before;
	for (size_t i = 0; i < s->set_count; i++)
		s->values[s->set[i]] = NULL;
	return false;
}

/* ---- functions */

static bool is_changed(const struct shlo_block *block)
{
	for (size_t i = 0; i < block->op_count; i++) {
		const struct shlo_op *op = block->ops[i];

		if (is_loop(op) || runs_once(op) || is_call(op))
			return true;
		for (size_t k = 0; k < op->region_count; k++)
			if (is_changed(&op->regions[k]->block))
				return true;
	}
	return false;
}

static struct shlo_region *rebuild(struct unroller *u, struct scope *s,
				   const struct shlo_region *region);

/* Appends an operation with its own values; loops in it that can be unrolled are replaced. */
static void rebuild_op(struct unroller *u, struct scope *s, const struct shlo_op *op,
		       struct list *out)
{
	struct shlo_op *other;

	if (is_loop(op) && replace(u, s, op, out))
		return;
	if (runs_once(op)) {
		const struct shlo_block *block = &op->regions[0]->block;

		set_values(u, s, block->arguments,
			   values_now(u, s, op->operands, op->operand_count), op->operand_count);
		for (size_t i = 0; i + 1 < block->op_count; i++)
			rebuild_op(u, s, block->ops[i], out);
		set_values(u, s, op->results,
			   values_now(u, s, last_of(block)->operands, op->result_count),
			   op->result_count);
		return;
	}
	other = shlo_arena_alloc(u->arena, 1, sizeof(*other));
	*other = *op;
	other->operands = values_now(u, s, op->operands, op->operand_count);
	other->regions = shlo_arena_alloc(u->arena, op->region_count, sizeof(*other->regions));
	for (size_t i = 0; i < op->region_count; i++)
		other->regions[i] = rebuild(u, s, op->regions[i]);
	append(u, out, other);
}

static struct shlo_region *rebuild(struct unroller *u, struct scope *s,
				   const struct shlo_region *region)
{
	struct shlo_region *copy = shlo_arena_alloc(u->arena, 1, sizeof(*copy));
	struct list ops = { 0 };

	for (size_t i = 0; i < region->block.op_count; i++)
		rebuild_op(u, s, region->block.ops[i], &ops);
	copy->block = region->block;
	copy->block.ops = ops.ops;
	copy->block.op_count = ops.count;
	return copy;
}

/*
 * Removes new operations that nothing uses, such as loop counters, from the last to the first. None
 * of the new operations has an effect but its results.
 */
static void sweep(const struct unroller *u, struct shlo_block *block, bool *used)
{
	size_t kept = block->op_count;

	for (size_t i = block->op_count; i-- > 0;) {
		struct shlo_op *op = block->ops[i];
		bool is_new = op->result_count && op->results[0]->slot >= u->first;

		for (size_t k = 0; is_new && k < op->result_count; k++)
			is_new = !used[op->results[k]->slot];
		if (is_new)
			continue;
		for (size_t k = 0; k < op->operand_count; k++)
			used[op->operands[k]->slot] = true;
		for (size_t k = 0; k < op->region_count; k++)
			sweep(u, &op->regions[k]->block, used);
		block->ops[--kept] = op;
	}
	block->op_count -= kept;
	if (kept)
		memmove(block->ops, block->ops + kept, block->op_count * sizeof(*block->ops));
}

static struct shlo_function *replaced_in(struct unroller *u, struct shlo_function *function)
{
	struct shlo_function *copy;
	struct scope s = { .own = true };

	if (!function->region || !is_changed(&function->region->block))
		return function;
	u->first = u->slots = function->slot_count;
	s.values = shlo_arena_alloc(u->arena, function->slot_count, sizeof(*s.values));
	copy = shlo_arena_alloc(u->arena, 1, sizeof(*copy));
	*copy = *function;
	copy->region = rebuild(u, &s, function->region);
	copy->slot_count = u->slots;
	sweep(u, &copy->region->block, shlo_arena_alloc(u->arena, u->slots, sizeof(bool)));
	return copy;
}

/* ---- calls */

/*
 * Appends the operations of a called function in the place of the call; false: it is no call, types
 * are open, or the limit is reached. Operations keep their locations in the file, which errors
 * name.
 */
static bool inline_call(struct unroller *u, struct scope *s, const struct shlo_op *op,
			struct list *out)
{
	size_t before = out->count, function = is_call(op) ? callee_of(u, op) : 0;
	const struct shlo_block *block;
	struct scope *inner;
	bool done;

	if (!is_call(op) || !take_shards(u, 1 + op->operand_count + op->result_count))
		return false;
	block = &u->module->functions[function]->region->block;
	if (!same_types(op->operands, block->arguments, op->operand_count) ||
	    !same_types(op->results, last_of(block)->operands, op->result_count))
		return false;
	u->attempt++;
	inner = scope_of(u, function);
	if (!inner)
		return false;
	set_values(u, inner, block->arguments, values_now(u, s, op->operands, op->operand_count),
		   op->operand_count);
	done = copy_ops(u, inner, block, block->op_count - 1, out);
	if (done)
		set_values(u, s, op->results,
			   values_now(u, inner, last_of(block)->operands, op->result_count),
			   op->result_count);
	if (!done || inner->missing)
		out->count = before;
	return done && !inner->missing;
}

/* Puts operations in the place of all calls in a region of a new function. */
static void inline_calls(struct unroller *u, struct scope *s, struct shlo_region *region)
{
	struct list ops = { 0 };

	for (size_t i = 0; i < region->block.op_count; i++) {
		struct shlo_op *op = region->block.ops[i];

		if (inline_call(u, s, op, &ops))
			continue;
		op->operands = values_now(u, s, op->operands, op->operand_count);
		for (size_t k = 0; k < op->region_count; k++)
			inline_calls(u, s, op->regions[k]);
		append(u, &ops, op);
	}
	region->block.ops = ops.ops;
	region->block.op_count = ops.count;
}

/*
 * Puts operations in the place of calls in all new functions. Graphs then do not end at calls, and
 * the iterations of a loop are in one region, where values change in place.
 */
static void inline_all_calls(struct unroller *u, struct shlo_module *copy)
{
	const struct shlo_module *old = u->module;

	u->module = copy;
	u->inlines = true;
	u->scopes = shlo_arena_alloc(u->arena, copy->function_count, sizeof(*u->scopes));
	for (size_t i = 0; i < copy->function_count; i++) {
		struct shlo_function *function = copy->functions[i];
		struct scope s = { .own = true };

		if (function == old->functions[i])
			continue;
		u->slots = function->slot_count;
		s.values = shlo_arena_alloc(u->arena, u->slots, sizeof(*s.values));
		inline_calls(u, &s, function->region);
		function->slot_count = u->slots;
	}
}

const struct shlo_module *shlo_unroll(const struct shlo_unroll *unroll,
				      const struct shlo_module *module)
{
	struct unroller u = {
		.with = unroll,
		.module = module,
		.arena = unroll->arena,
		.constant = shlo_kind_find("stablehlo.constant"),
		.copies_left = MOST_COPIES,
	};
	struct shlo_module *copy = shlo_arena_alloc(u.arena, 1, sizeof(*copy));

	*copy = *module;
	copy->functions =
		shlo_arena_alloc(u.arena, module->function_count, sizeof(*copy->functions));
	u.scopes = shlo_arena_alloc(u.arena, module->function_count, sizeof(*u.scopes));
	for (size_t i = 0; i < module->function_count; i++)
		copy->functions[i] = replaced_in(&u, module->functions[i]);
	inline_all_calls(&u, copy);
	shlo_compile_regions(u.arena, copy);
	for (size_t i = 0; i < module->function_count; i++)
		if (copy->functions[i] != module->functions[i]) {
			shlo_find_last_reads(u.arena, copy->functions[i]);
			shlo_find_chains(u.arena, copy->functions[i]);
		}
	return copy;
}
