// SPDX-License-Identifier: MIT
/*
 * Finds chains: sequences of element-wise operations on values of one size with at least one
 * operation on integers that no graph computes, such as those that make random numbers. Without
 * chains, the kernels write each value of such a sequence to memory as a whole.
 */
#include "chain.h"

#include <string.h>

#include "lower.h"

/*
 * The most elements of operands and result of an operation that stands between operations of a
 * chain without being one of them.
 */
#define FEW 64

struct finder {
	struct shlo_arena *arena;
	const struct shlo_block *block;
	struct shlo_chain *chain; /* the chain that is made */
	size_t *index; /* by slot: index of a value in the chain, if @of is the chain's number */
	size_t *of;    /* by slot of a value: number of the chain that it is in */
	size_t *dead;  /* by slot: number of the chain after which nothing reads the value */
	size_t number;
	/* by index in the chain: the last step that reads the value, counted from 1; 0: none */
	size_t *last;
};

/* ---- which operations */

static bool is_plain(const struct shlo_type *type)
{
	return type->kind == SHLO_TENSOR && !type->quant && type->rank >= 0 &&
	       shlo_type_is_static(type) && shlo_elements[type->element].bytes <= 8;
}

static bool is_named(const struct shlo_op *op, const char *name)
{
	return !strcmp(op->name, name);
}

/* Whether an operation repeats a single element. */
static bool is_splat(const struct shlo_op *op)
{
	return (is_named(op, "stablehlo.broadcast_in_dim") ||
		is_named(op, "stablehlo.broadcast")) &&
	       shlo_type_count(op->operands[0]->type) == 1;
}

static bool is_count(const struct shlo_op *op)
{
	return is_named(op, "stablehlo.iota") && shlo_is_integer(op->results[0]->type->element);
}

/* Whether an operation gives the bytes of its operand another type. */
static bool is_retyped(const struct shlo_op *op)
{
	const struct shlo_element_info *from, *to;

	if (is_named(op, "stablehlo.reshape"))
		return true;
	if (!is_named(op, "stablehlo.bitcast_convert"))
		return false;
	from = &shlo_elements[op->operands[0]->type->element];
	to = &shlo_elements[op->results[0]->type->element];
	return from->bits == to->bits && from->bits == 8 * from->bytes && to->bits == 8 * to->bytes;
}

static bool is_elementwise(enum shlo_family family)
{
	return family == SHLO_UNARY || family == SHLO_BINARY || family == SHLO_COMPARE ||
	       family == SHLO_SELECT || family == SHLO_CLAMP || family == SHLO_CONVERT;
}

/* Whether the kernels are not much slower than a graph. */
static bool is_cheap(const struct shlo_op *op)
{
	int code = op->kind->code;

	if (!shlo_is_float(op->operands[0]->type->element))
		return !shlo_is_complex(op->operands[0]->type->element);
	switch (op->kind->family) {
	case SHLO_UNARY:
		return code == SHLO_U_ABS || code == SHLO_U_NEGATE;
	case SHLO_BINARY:
		return code == SHLO_B_ADD || code == SHLO_B_SUBTRACT || code == SHLO_B_MULTIPLY ||
		       code == SHLO_B_DIVIDE || code == SHLO_B_MAXIMUM || code == SHLO_B_MINIMUM;
	default:
		return true;
	}
}

/* Whether the kernel takes elements of this type. */
static bool is_defined(const struct shlo_op *op)
{
	enum shlo_element element = op->operands[0]->type->element;
	struct shlo_num one = shlo_one(element);
	bool done = true;

	if (op->kind->family == SHLO_UNARY)
		shlo_unary((enum shlo_unary)op->kind->code, element, one, &done);
	if (op->kind->family == SHLO_BINARY)
		shlo_binary((enum shlo_binary)op->kind->code, element, one, one, &done);
	return done;
}

/*
 * Whether a chain may have the operation: it computes @count elements, each from the element at the
 * same position of each operand, or from an operand's only element, or counts up as an iota does,
 * and a graph would not be much faster.
 */
static bool is_member(const struct shlo_op *op, int64_t count)
{
	enum shlo_family family = op->kind->family;

	if (op->result_count != 1 || op->region_count || !is_plain(op->results[0]->type) ||
	    shlo_type_count(op->results[0]->type) != count)
		return false;
	for (size_t i = 0; i < op->operand_count; i++)
		if (!is_plain(op->operands[i]->type))
			return false;
	if (is_count(op) || is_splat(op))
		return true;
	for (size_t i = 0; i < op->operand_count; i++)
		if (shlo_type_count(op->operands[i]->type) != count &&
		    shlo_type_count(op->operands[i]->type) != 1)
			return false;
	if (is_retyped(op))
		return shlo_type_count(op->operands[0]->type) == count;
	return is_elementwise(family) && (is_cheap(op) || !shlo_can_lower(op)) && is_defined(op);
}

/* Whether an operation computes with integers, and no graph computes it. */
static bool is_cause(const struct shlo_op *op)
{
	enum shlo_family family = op->kind->family;

	return (family == SHLO_UNARY || family == SHLO_BINARY) &&
	       shlo_is_integer(op->operands[0]->type->element) && !shlo_can_lower(op);
}

static bool is_in_chain(const struct finder *f, const struct shlo_value *value)
{
	return f->of[value->slot] == f->number;
}

/*
 * Whether an operation between those of a chain can run before it: it moves or computes few
 * elements, and reads nothing that the chain computes.
 */
static bool is_aside(const struct finder *f, const struct shlo_op *op)
{
	if (op->kind->family == SHLO_CONSTANT)
		return true;
	if (!is_elementwise(op->kind->family) && !is_named(op, "stablehlo.slice") &&
	    !is_named(op, "stablehlo.reshape") && !is_named(op, "stablehlo.concatenate") &&
	    !is_named(op, "stablehlo.broadcast_in_dim"))
		return false;
	for (size_t i = 0; i < op->operand_count; i++)
		if (is_in_chain(f, op->operands[i]) || !is_plain(op->operands[i]->type) ||
		    shlo_type_count(op->operands[i]->type) > FEW)
			return false;
	return is_plain(op->results[0]->type) && shlo_type_count(op->results[0]->type) <= FEW;
}

/* ---- values of the chain */

static size_t add_value(struct finder *f, enum shlo_chain_memory memory,
			const struct shlo_value *value, enum shlo_element element)
{
	struct shlo_chain *chain = f->chain;

	chain->values = shlo_arena_grow(f->arena, chain->values, chain->value_count,
					sizeof(*chain->values));
	f->last = shlo_arena_grow(f->arena, f->last, chain->value_count, sizeof(*f->last));
	f->last[chain->value_count] = 0;
	chain->values[chain->value_count] =
		(struct shlo_chain_value){ .memory = memory, .element = element, .value = value };
	return chain->value_count++;
}

static void set_index(struct finder *f, const struct shlo_value *value, size_t index)
{
	f->of[value->slot] = f->number;
	f->index[value->slot] = index;
}

/* Whether all elements of a constant are equal. */
static bool is_equal_constant(const struct shlo_value *value)
{
	const struct shlo_attr *attr = value->op && value->op->kind->family == SHLO_CONSTANT &&
						       !is_named(value->op, "stablehlo.iota") ?
					       shlo_attr_find(&value->op->attrs, "value") :
					       NULL;

	return attr && attr->splat && attr->type->element == value->type->element;
}

/* Returns the index of an operand, which is new for a value from outside. */
static size_t index_of(struct finder *f, const struct shlo_value *value)
{
	bool single = shlo_type_count(value->type) == 1 || is_equal_constant(value);

	if (!is_in_chain(f, value))
		set_index(f, value,
			  add_value(f, single ? SHLO_AT_SPLAT : SHLO_AT_ARRAY, value,
				    value->type->element));
	return f->index[value->slot];
}

static void add_iota(struct finder *f, const struct shlo_op *op)
{
	const struct shlo_type *type = op->results[0]->type;
	int dimension = (int)shlo_attr_int(op, "iota_dimension", 0);
	size_t at = add_value(f, SHLO_AT_IOTA, op->results[0], type->element);
	struct shlo_chain_value *iota = &f->chain->values[at];

	iota->inner = 1;
	iota->dim = type->dims[dimension];
	for (int i = dimension + 1; i < type->rank; i++)
		iota->inner *= type->dims[i];
	set_index(f, op->results[0], at);
}

/* ---- steps */

static bool is_read_later(const struct finder *f, const struct shlo_value *value)
{
	return f->dead[value->slot] != f->number;
}

static struct shlo_chain_step *add_step(struct finder *f, const struct shlo_op *op)
{
	struct shlo_chain *chain = f->chain;
	struct shlo_chain_step *step;

	chain->steps =
		shlo_arena_grow(f->arena, chain->steps, chain->step_count, sizeof(*chain->steps));
	step = &chain->steps[chain->step_count++];
	*step = (struct shlo_chain_step){ .op = op };
	return step;
}

/* Adds a step that sets the result of an operation to the elements of a chain value. */
static void add_copy(struct finder *f, const struct shlo_op *op, size_t from)
{
	size_t out = add_value(f, SHLO_AT_RESULT, op->results[0], op->results[0]->type->element);
	struct shlo_chain_step *step = add_step(f, op);

	step->copies = true;
	step->in_count = 1;
	step->in[0] = from;
	step->out = out;
	f->last[from] = f->chain->step_count;
	set_index(f, op->results[0], out);
}

static void add_member(struct finder *f, const struct shlo_op *op)
{
	const struct shlo_value *result = op->results[0];
	struct shlo_chain_step *step;
	size_t in[3] = { 0 };

	if (is_count(op))
		add_iota(f, op);
	else if (is_splat(op) || is_retyped(op))
		set_index(f, result, index_of(f, op->operands[0]));
	if (is_in_chain(f, result)) {
		if (is_read_later(f, result))
			add_copy(f, op, f->index[result->slot]);
		return;
	}
	for (size_t i = 0; i < op->operand_count; i++)
		in[i] = index_of(f, op->operands[i]);
	set_index(f, result,
		  add_value(f, is_read_later(f, result) ? SHLO_AT_RESULT : SHLO_AT_BUFFER, result,
			    result->type->element));
	step = add_step(f, op);
	step->step = shlo_step_of(op);
	step->in_count = op->operand_count;
	step->out = f->index[result->slot];
	for (size_t i = 0; i < op->operand_count; i++) {
		step->in[i] = in[i];
		step->step.in[i] = i;
		f->last[in[i]] = f->chain->step_count;
	}
	step->by_one = op->operand_count > 1 && f->chain->values[in[1]].memory == SHLO_AT_SPLAT;
}

/* Gives buffers to the chain's values; a buffer is used again after the last step that reads it. */
static void give_buffers(struct finder *f)
{
	struct shlo_chain *chain = f->chain;
	size_t *free_buffers =
		shlo_arena_alloc(f->arena, chain->value_count, sizeof(*free_buffers));
	size_t free_count = 0;

	for (size_t i = 0; i < chain->value_count; i++)
		if (chain->values[i].memory == SHLO_AT_SPLAT ||
		    chain->values[i].memory == SHLO_AT_IOTA)
			chain->values[i].buffer = chain->buffer_count++;
	for (size_t i = 0; i < chain->step_count; i++) {
		const struct shlo_chain_step *step = &chain->steps[i];
		struct shlo_chain_value *out = &chain->values[step->out];

		if (out->memory == SHLO_AT_BUFFER)
			out->buffer = free_count ? free_buffers[--free_count] :
						   chain->buffer_count++;
		if (out->memory == SHLO_AT_BUFFER && !f->last[step->out])
			free_buffers[free_count++] = out->buffer;
		for (size_t k = 0; k < step->in_count; k++) {
			size_t in = step->in[k];

			if (chain->values[in].memory != SHLO_AT_BUFFER || f->last[in] != i + 1)
				continue;
			free_buffers[free_count++] = chain->values[in].buffer;
			f->last[in] = 0; /* the value may be an operand twice */
		}
	}
}

/* ---- chains */

/*
 * Returns the end of the sequence of operations from @first on that compute @count elements, and
 * sets *has_cause to whether it is worth a chain.
 */
static size_t sequence_end(struct finder *f, size_t first, int64_t count, bool *has_cause)
{
	size_t end = first;

	f->number++;
	for (size_t i = first; i + 1 < f->block->op_count; i++) {
		const struct shlo_op *op = f->block->ops[i];

		if (is_member(op, count)) {
			*has_cause |= is_cause(op);
			f->of[op->results[0]->slot] = f->number;
			end = i + 1;
		} else if (!is_aside(f, op)) {
			break;
		}
	}
	return end;
}

/* Whether an operation need not run: a constant with equal elements that only the chain reads. */
static bool is_skipped(const struct finder *f, const struct shlo_op *op)
{
	return op->result_count == 1 && is_equal_constant(op->results[0]) &&
	       !is_read_later(f, op->results[0]) && is_plain(op->results[0]->type) &&
	       shlo_type_count(op->results[0]->type) == f->chain->count;
}

static void make_chain(struct finder *f, size_t first, size_t end, int64_t count)
{
	struct shlo_chain *chain = shlo_arena_alloc(f->arena, 1, sizeof(*chain));

	f->chain = chain;
	f->last = NULL;
	f->number++;
	chain->first = first;
	chain->end = end;
	chain->count = count;
	chain->is_member = shlo_arena_alloc(f->arena, end - first, sizeof(bool));
	for (size_t i = first; i < end; i++)
		for (size_t k = 0; k < f->block->ops[i]->dead_count; k++)
			f->dead[f->block->ops[i]->dead[k]->slot] = f->number;
	for (size_t i = first; i < end; i++) {
		struct shlo_op *op = f->block->ops[i];

		op->chain = chain;
		chain->is_member[i - first] = is_member(op, count) || is_skipped(f, op);
		if (!is_member(op, count))
			continue;
		chain->counted += op->kind->family != SHLO_CONSTANT;
		add_member(f, op);
	}
	give_buffers(f);
}

static void find(struct finder *f, const struct shlo_block *block)
{
	for (size_t i = 0; i < block->op_count; i++) {
		block->ops[i]->chain = NULL;
		for (size_t k = 0; k < block->ops[i]->region_count; k++)
			find(f, &block->ops[i]->regions[k]->block);
	}
	f->block = block;
	for (size_t i = 0; i + 1 < block->op_count;) {
		const struct shlo_op *op = block->ops[i];
		int64_t count = op->result_count == 1 && op->results[0]->type->kind == SHLO_TENSOR ?
					shlo_type_count(op->results[0]->type) :
					-1;
		bool has_cause = false;
		size_t end = i + 1;

		if (count >= SHLO_CHAIN_LEAST && is_member(op, count))
			end = sequence_end(f, i, count, &has_cause);
		if (has_cause)
			make_chain(f, i, end, count);
		i = end;
	}
}

void shlo_find_chains(struct shlo_arena *arena, const struct shlo_function *function)
{
	struct finder f = {
		.arena = arena,
		.index = shlo_arena_alloc(arena, function->slot_count, sizeof(*f.index)),
		.of = shlo_arena_alloc(arena, function->slot_count, sizeof(*f.of)),
		.dead = shlo_arena_alloc(arena, function->slot_count, sizeof(*f.dead)),
	};

	if (function->region)
		find(&f, &function->region->block);
}
