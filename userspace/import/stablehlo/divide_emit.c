// SPDX-License-Identifier: MIT
/*
 * Writes the program of one device: operations on parts of values, and collective operations that
 * join, cut and combine parts. Collective operations with equally many others before them come
 * together, behind all operations that need none of them, so that these stay in few graphs.
 */
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "divide_make.h"
#include "text.h"

/* ---- versions of values */

/* Notes that a value exists on the devices in this way of being divided. */
static void keep(struct shlo_emitter *e, size_t number, const struct shlo_spec *spec,
		 struct shlo_value *value)
{
	struct shlo_divided *of = &e->d->values[number];

	of->versions = shlo_arena_grow(e->d->arena, of->versions, of->version_count,
				       sizeof(*of->versions));
	of->versions[of->version_count++] = (struct shlo_version){ *spec, value };
}

/* Returns the longest list of axes with which both lists begin. */
static uint32_t common(uint32_t a, uint32_t b)
{
	uint32_t both = 0;

	for (int shift = 0; shift < 32 && a >> shift & 15; shift += 4) {
		if ((a >> shift & 15) != (b >> shift & 15))
			break;
		both |= a & (uint32_t)15 << shift;
	}
	return both;
}

static int length_of(uint32_t axes)
{
	int count = 0;

	for (; axes; axes >>= 4)
		count++;
	return count;
}

/*
 * Returns the version of a value from which the version @to is made: one with the same open sums,
 * else the first.
 */
static const struct shlo_version *nearest(const struct shlo_divided *of, const struct shlo_spec *to)
{
	for (size_t i = 0; i < of->version_count; i++)
		if (of->versions[i].spec.sums == to->sums)
			return &of->versions[i];
	return &of->versions[0];
}

/* Returns the version @to of a value; makes it from another version unless it exists. */
static struct shlo_value *get(struct shlo_emitter *e, size_t number, const struct shlo_spec *to)
{
	struct shlo_divided *of = &e->d->values[number];
	struct shlo_spec rest = { { 0 }, 0 };
	struct shlo_spec from;
	struct shlo_value *value;
	uint32_t added;
	bool is_cut = false;

	for (size_t i = 0; i < of->version_count; i++)
		if (!memcmp(&of->versions[i].spec, to, sizeof(*to)))
			return of->versions[i].value;
	from = nearest(of, to)->spec;
	value = nearest(of, to)->value;
	if (from.sums & ~to->sums) {
		value = shlo_make_sum(e, value, from.sums & ~to->sums);
		from.sums &= to->sums;
		keep(e, number, &from, value);
		if (!memcmp(&from, to, sizeof(*to)))
			return value;
	}
	added = to->sums & ~from.sums;
	for (int i = 0; i < of->type->rank && i < SHLO_DIVIDED_RANK; i++) {
		uint32_t kept = common(from.dims[i], to->dims[i]);
		int shift = 4 * length_of(kept);
		uint32_t left = shift < 32 ? from.dims[i] >> shift : 0;

		/* Parts of a value are addends of it, with zeros around them. */
		if (left && !(shlo_axes_bits(left) & ~added)) {
			value = shlo_make_placed(e, value, i, left);
			added &= ~shlo_axes_bits(left);
		} else if (left) {
			value = shlo_make_gathered(e, value, i, left);
		}
		rest.dims[i] = shift < 32 ? to->dims[i] >> shift : 0;
		is_cut |= rest.dims[i] != 0;
	}
	if (is_cut)
		value = shlo_make_part(e, value, &rest);
	if (added)
		value = shlo_make_addend(e, value, added);
	keep(e, number, to, value);
	return value;
}

/* ---- regions */

static void copy_op(struct shlo_emitter *e, struct shlo_op *op);

static void copy_values(struct shlo_emitter *e, struct shlo_value **values, size_t count,
			struct shlo_op *op)
{
	for (size_t i = 0; i < count; i++) {
		struct shlo_value *copy = shlo_make_value(e, values[i]->type, op, 0);

		e->copies[values[i]->slot] = copy;
		values[i] = copy;
	}
}

static void *copy_list(struct shlo_emitter *e, const void *list, size_t count)
{
	void *copy = shlo_arena_alloc(e->d->arena, count, sizeof(void *));

	if (count)
		memcpy(copy, list, count * sizeof(void *));
	return copy;
}

static struct shlo_region *copy_region(struct shlo_emitter *e, const struct shlo_region *region)
{
	struct shlo_region *copy = shlo_arena_alloc(e->d->arena, 1, sizeof(*copy));
	struct shlo_block *block = &copy->block;

	*block = region->block;
	block->arguments = copy_list(e, block->arguments, block->argument_count);
	copy_values(e, block->arguments, block->argument_count, NULL);
	block->ops = copy_list(e, block->ops, block->op_count);
	for (size_t i = 0; i < block->op_count; i++) {
		struct shlo_op *op = shlo_arena_alloc(e->d->arena, 1, sizeof(*op));

		*op = *block->ops[i];
		copy_op(e, op);
		block->ops[i] = op;
	}
	return copy;
}

/* Gives an operation that is a copy its own lists, and values of the new program. */
static void copy_op(struct shlo_emitter *e, struct shlo_op *op)
{
	op->operands = copy_list(e, op->operands, op->operand_count);
	for (size_t i = 0; i < op->operand_count; i++)
		op->operands[i] = e->copies[op->operands[i]->slot];
	op->regions = copy_list(e, op->regions, op->region_count);
	for (size_t k = 0; k < op->region_count; k++)
		op->regions[k] = copy_region(e, op->regions[k]);
	op->results = copy_list(e, op->results, op->result_count);
	copy_values(e, op->results, op->result_count, op);
}

/* ---- steps */

static struct shlo_spec spec_of(const int *positions, const uint32_t *axes)
{
	struct shlo_spec spec = { { 0 }, 0 };

	for (int i = 0; i < SHLO_DIVIDED_RANK; i++)
		spec.dims[i] = positions[i] >= 0 ? axes[positions[i]] : 0;
	return spec;
}

/*
 * Changes the attributes of an operation whose operands and results are one device's parts already:
 * the attribute rule->sizes takes the sizes of the first operand's part along the divided
 * dimensions, and the value of a constant takes the type of the part.
 */
static void set_sizes(struct shlo_emitter *e, struct shlo_op *op, const struct shlo_rule *rule,
		      const uint32_t *axes)
{
	const struct shlo_attr *value = shlo_attr_find(&op->attrs, "value");
	int64_t sizes[SHLO_MAX_RANK];
	int count = 0;

	if (rule->sizes)
		count = (int)shlo_ints_of(shlo_attr_find(&op->attrs, rule->sizes), sizes,
					  SHLO_MAX_RANK);
	for (int i = 0; i < count && i < SHLO_DIVIDED_RANK; i++)
		if (rule->in[0][i] >= 0 && axes[rule->in[0][i]])
			sizes[i] = op->operands[0]->type->dims[i];
	if (count > 0)
		shlo_make_set(e, &op->attrs, rule->sizes, shlo_make_ints(e, sizes, count));
	if (op->kind->family == SHLO_CONSTANT && value && value->kind == SHLO_ATTR_DENSE) {
		struct shlo_attr *part = shlo_make_attr(e, SHLO_ATTR_DENSE, 0);

		*part = *value;
		part->type = op->results[0]->type;
		shlo_make_set(e, &op->attrs, "value", part);
	}
}

/*
 * Returns the only dimension that the result divides further than @have, by the axes @sums; -1:
 * there is no such dimension.
 */
static int scattered(const struct shlo_divided *of, const struct shlo_spec *have, uint32_t sums)
{
	int dim = -1;

	for (int i = 0; i < of->type->rank && i < SHLO_DIVIDED_RANK; i++) {
		uint32_t more = have->dims[i] | sums << 4 * length_of(have->dims[i]);

		if (of->spec.dims[i] == have->dims[i])
			continue;
		if (of->spec.dims[i] != more || dim >= 0)
			return -1;
		dim = i;
	}
	return dim;
}

/*
 * Adds an all_reduce that combines the devices' parts of a step's result along the axes @sums, or a
 * reduce_scatter if the result is then divided along these axes.
 */
static void combine(struct shlo_emitter *e, const struct shlo_step *step, struct shlo_value *part,
		    struct shlo_spec *spec, uint32_t sums)
{
	const struct shlo_divided *of = &e->d->values[step->out[0]];
	int dim = scattered(of, spec, sums);
	struct shlo_op *op = shlo_make_collective(
		e, dim < 0 ? "stablehlo.all_reduce" : "stablehlo.reduce_scatter", part, sums);

	op->region_count = 1;
	op->regions = shlo_arena_alloc(e->d->arena, 1, sizeof(*op->regions));
	op->regions[0] = strcmp(step->op->name, "stablehlo.reduce") ?
				 shlo_make_adding(e, part->type->element) :
				 copy_region(e, step->op->regions[0]);
	if (dim >= 0) {
		shlo_make_set(e, &op->attrs, "scatter_dimension",
			      shlo_make_attr(e, SHLO_ATTR_INT, dim));
		spec->dims[dim] = of->spec.dims[dim];
	}
	keep(e, step->out[0], spec,
	     shlo_make_result(e, op, shlo_make_type(e->d, of->type, spec), true));
}

/*
 * Whether an operation, or one in its regions, calls a function of the application or, with
 * @any_function, one of the module.
 */
static bool has_call(const struct shlo_op *op, bool any_function)
{
	if (shlo_is_callback(op) || (any_function && !strcmp(op->name, "func.call")))
		return true;
	for (size_t k = 0; k < op->region_count; k++)
		for (size_t i = 0; i < op->regions[k]->block.op_count; i++)
			if (has_call(op->regions[k]->block.ops[i], any_function))
				return true;
	return false;
}

static bool has_callbacks(const struct shlo_module *module)
{
	for (size_t i = 0; i < module->function_count; i++) {
		const struct shlo_region *region = module->functions[i]->region;

		for (size_t k = 0; region && k < region->block.op_count; k++)
			if (has_call(region->block.ops[k], false))
				return true;
	}
	return false;
}

/*
 * Returns the level of a step whose operands allow @level. A step that may call the application
 * does not come before an earlier one that may, because the calls keep their order.
 */
static int ordered(struct shlo_emitter *e, const struct shlo_op *op, int level)
{
	if (!e->has_callbacks || !has_call(op, true))
		return level;
	if (level > e->callback_level)
		e->callback_level = level;
	return e->callback_level;
}

/* Puts the operations of a region that computes with parts in the place of the step. */
static void emit_manual(struct shlo_emitter *e, const struct shlo_step *step)
{
	const struct shlo_op *manual = step->op;
	const struct shlo_block *block = &manual->regions[0]->block;
	const struct shlo_op *last = block->ops[block->op_count - 1];
	struct shlo_value **parts =
		shlo_arena_alloc(e->d->arena, manual->operand_count + 1, sizeof(*parts));
	int level;

	e->location = manual->location;
	for (size_t i = 0; i < manual->operand_count; i++) {
		parts[i] = get(e, step->in[i], &step->in_specs[i]);
		e->copies[block->arguments[i]->slot] = parts[i];
	}
	level = ordered(e, manual, shlo_make_level(e, parts, manual->operand_count, false));
	for (size_t i = 0; i + 1 < block->op_count; i++) {
		struct shlo_op *op = shlo_arena_alloc(e->d->arena, 1, sizeof(*op));

		*op = *block->ops[i];
		copy_op(e, op);
		for (size_t k = 0; k < op->result_count; k++)
			e->levels[op->results[k]->slot - e->first] = level;
		shlo_make_append(e, op, level);
	}
	for (size_t k = 0; k < manual->result_count; k++)
		keep(e, step->out[k], &step->out_specs[k], e->copies[last->operands[k]->slot]);
}

static void emit_step(struct shlo_emitter *e, const struct shlo_step *step)
{
	const struct shlo_rule *rule = &step->rule;
	size_t first, end;
	uint32_t passed = shlo_divide_passed(e->d, step, &first, &end), sums = 0, left;
	uint32_t *axes = shlo_divide_choose(e->d, step, passed);
	static const struct shlo_spec whole;
	struct shlo_op *op = shlo_arena_alloc(e->d->arena, 1, sizeof(*op));
	int level;

	e->location = step->op->location;
	*op = *step->op;
	op->operands = copy_list(e, op->operands, op->operand_count);
	for (size_t k = 0; k < op->operand_count; k++) {
		struct shlo_spec spec = spec_of(rule->in[k], axes);

		spec.sums = k >= first && k < end ? passed : 0;
		op->operands[k] = get(e, step->in[k], &spec);
	}
	level = shlo_make_level(e, op->operands, op->operand_count, false);
	for (size_t k = 0; k < step->captured_count; k++) {
		struct shlo_value *value = get(e, step->captured_numbers[k], &whole);

		e->copies[step->captured[k]->slot] = value;
		if (level < shlo_make_level(e, &value, 1, false))
			level = shlo_make_level(e, &value, 1, false);
	}
	level = ordered(e, step->op, level);
	op->regions = copy_list(e, op->regions, op->region_count);
	for (size_t k = 0; k < op->region_count; k++)
		op->regions[k] = copy_region(e, op->regions[k]);
	for (int i = 0; i < rule->count; i++)
		if (rule->is_sum[i] && axes[i])
			sums |= axes[i] << 4 * length_of(sums);
	/* Sums that the program leaves open are made where someone needs them. */
	left = sums && shlo_divide_is_addition(op) ?
		       shlo_axes_bits(sums) & e->d->values[step->out[0]].spec.sums :
		       0;
	if (left)
		sums = shlo_axes_list(shlo_axes_bits(sums) & ~left);
	op->results = copy_list(e, op->results, op->result_count);
	for (size_t k = 0; k < op->result_count; k++) {
		struct shlo_spec spec = spec_of(rule->out[k], axes);

		spec.sums = passed | left;
		op->results[k] = shlo_make_value(
			e, shlo_make_type(e->d, e->d->values[step->out[k]].type, &spec), op, level);
		if (!sums)
			keep(e, step->out[k], &spec, op->results[k]);
	}
	set_sizes(e, op, rule, axes);
	shlo_make_append(e, op, level);
	if (sums) {
		struct shlo_spec spec = spec_of(rule->out[0], axes);

		spec.sums = passed | left;
		combine(e, step, op->results[0], &spec, sums);
	}
}

/* ---- the function */

static int by_level(const void *a, const void *b)
{
	const struct shlo_made *x = a, *y = b;

	if (x->level != y->level)
		return x->level < y->level ? -1 : 1;
	return x->order < y->order ? -1 : x->order > y->order;
}

static void add_spec(struct shlo_text *text, const struct shlo_divider *d, int rank,
		     const struct shlo_spec *spec)
{
	shlo_text_add(text, "<@\"%s\", [", d->mesh);
	for (int i = 0; i < rank; i++) {
		uint32_t rest = i < SHLO_DIVIDED_RANK ? spec->dims[i] : 0;

		shlo_text_add(text, "%s{", i ? ", " : "");
		for (; rest; rest >>= 4)
			shlo_text_add(text, "%s%s", d->axis_name[(rest & 15) - 1],
				      rest >> 4 ? ", " : "");
		shlo_text_add(text, "}");
	}
	shlo_text_add(text, "]");
	for (uint32_t rest = shlo_axes_list(spec->sums), i = 0; rest; rest >>= 4, i++)
		shlo_text_add(text, "%s%s", i ? ", " : ", unreduced={",
			      d->axis_name[(rest & 15) - 1]);
	shlo_text_add(text, spec->sums ? "}>" : ">");
}

/* Sets the attribute @name to the shardings of values, as the text that files have for them. */
static void set_list(struct shlo_emitter *e, struct shlo_op *op, const char *name, size_t count,
		     struct shlo_value *const *values, const struct shlo_spec *specs)
{
	struct shlo_attr *attr = shlo_make_attr(e, SHLO_ATTR_UNIT, 0);
	struct shlo_text text = { .arena = e->d->arena };

	shlo_text_add(&text, "#sdy.sharding_per_value<[");
	for (size_t i = 0; i < count; i++) {
		shlo_text_add(&text, "%s", i ? ", " : "");
		add_spec(&text, e->d, values[i]->type->rank, &specs[i]);
	}
	shlo_text_add(&text, "]>");
	attr->text = text.data;
	shlo_make_set(e, &op->attrs, name, attr);
}

static void set_axes(struct shlo_emitter *e, struct shlo_op *op)
{
	struct shlo_attr *attr = shlo_make_attr(e, SHLO_ATTR_UNIT, 0);
	const char *text = "#sdy<manual_axes{";

	for (size_t i = 0; i < e->d->axis_count; i++) {
		const char *name = e->d->axis_name[i];

		/* A part of an axis has a colon behind the name. */
		text = shlo_arena_printf(e->d->arena, "%s%s%.*s\"", text, i ? ", " : "",
					 (int)(1 + strcspn(name + 1, "\"")), name);
	}
	attr->text = shlo_arena_printf(e->d->arena, "%s}>", text);
	shlo_make_set(e, &op->attrs, "manual_axes", attr);
}

/*
 * Moves the operations of @inner into a sdy.manual_computation, which is then the function's only
 * operation besides its return.
 */
static void wrap(struct shlo_emitter *e, struct shlo_block *inner, const struct shlo_spec *in_specs)
{
	struct shlo_function *function = e->d->function;
	struct shlo_block *block = &function->region->block;
	const struct shlo_op *last = block->ops[block->op_count - 1];
	struct shlo_op *op = shlo_make_op(e, "sdy.manual_computation", block->argument_count,
					  last->operand_count);
	struct shlo_op *end = shlo_arena_alloc(e->d->arena, 1, sizeof(*end));

	*end = *last;
	end->operands = shlo_arena_alloc(e->d->arena, last->operand_count, sizeof(*end->operands));
	for (size_t i = 0; i < block->argument_count; i++)
		op->operands[i] = block->arguments[i];
	for (size_t i = 0; i < last->operand_count; i++)
		end->operands[i] = op->results[i] =
			shlo_make_value(e, e->d->values[e->d->results[i]].type, op, 0);
	set_list(e, op, "in_shardings", op->operand_count, op->operands, in_specs);
	set_list(e, op, "out_shardings", op->result_count, op->results, e->d->result_specs);
	set_axes(e, op);
	op->region_count = 1;
	op->regions = shlo_arena_alloc(e->d->arena, 1, sizeof(*op->regions));
	op->regions[0] = shlo_arena_alloc(e->d->arena, 1, sizeof(*op->regions[0]));
	op->regions[0]->block = *inner;
	block->op_count = 2;
	block->ops = shlo_arena_alloc(e->d->arena, 2, sizeof(*block->ops));
	block->ops[0] = op;
	block->ops[1] = end;
}

static size_t most_slots(const struct shlo_module *module)
{
	size_t most = 0;

	for (size_t i = 0; i < module->function_count; i++)
		if (module->functions[i]->slot_count > most)
			most = module->functions[i]->slot_count;
	return most;
}

void shlo_divide_emit(struct shlo_divider *d)
{
	struct shlo_emitter e = { .d = d,
				  .first = d->function->slot_count,
				  .has_callbacks = has_callbacks(d->module) };
	size_t ins = d->function->type->item_count, outs = d->function->type->result_count;
	struct shlo_spec *specs = shlo_arena_alloc(d->arena, ins, sizeof(*specs));
	struct shlo_block inner = { .argument_count = ins };
	struct shlo_op *end;

	e.copies = shlo_arena_alloc(d->arena, most_slots(d->module), sizeof(*e.copies));
	inner.arguments = shlo_arena_alloc(d->arena, ins, sizeof(*inner.arguments));
	for (size_t i = 0; i < ins; i++) {
		struct shlo_divided *of = &d->values[d->arguments[i]];

		specs[i] = of->spec;
		inner.arguments[i] =
			shlo_make_value(&e, shlo_make_type(d, of->type, &of->spec), NULL, 0);
		keep(&e, d->arguments[i], &of->spec, inner.arguments[i]);
	}
	for (size_t i = 0; i < d->step_count; i++)
		if (d->steps[i].in_specs)
			emit_manual(&e, &d->steps[i]);
		else
			emit_step(&e, &d->steps[i]);
	end = shlo_make_op(&e, "sdy.return", outs, 0);
	for (size_t i = 0; i < outs; i++)
		end->operands[i] = get(&e, d->results[i], &d->result_specs[i]);
	qsort(e.ops, e.op_count, sizeof(*e.ops), by_level);
	inner.op_count = e.op_count + 1;
	inner.ops = shlo_arena_alloc(d->arena, inner.op_count, sizeof(*inner.ops));
	for (size_t i = 0; i < e.op_count; i++)
		inner.ops[i] = e.ops[i].op;
	inner.ops[e.op_count] = end;
	wrap(&e, &inner, specs);
}
