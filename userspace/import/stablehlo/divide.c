// SPDX-License-Identifier: MIT
/*
 * Finds how each value of a program is divided: writes the program as a list of steps without
 * calls, and spreads shardings from what the program says to all values.
 */
#include "divide.h"

#include <string.h>

#include "cut_read.h"
#include "sharding.h"

/*
 * the most operations, operands, results and block arguments of a program whose calls are expanded
 */
#define MOST_PARTS  ((size_t)1 << 19)
#define MOST_ROUNDS 16 /* walks over all steps, there and back */

/* ---- axes */

int64_t shlo_axes_parts(const struct shlo_divider *d, uint32_t axes)
{
	int64_t parts = 1;

	for (; axes; axes >>= 4)
		parts *= d->axis_size[(axes & 15) - 1];
	return parts;
}

/* Whether one list of axes begins with the other. */
static bool begins_with(uint32_t axes, uint32_t start)
{
	for (; start; start >>= 4, axes >>= 4)
		if ((start & 15) != (axes & 15))
			return false;
	return true;
}

static bool has_axis(uint32_t axes, uint32_t axis)
{
	for (; axes; axes >>= 4)
		if ((axes & 15) == axis)
			return true;
	return false;
}

/*
 * Returns the number of an axis, and adds an axis that is new; 0: there are too many axes, or this
 * one overlaps another.
 */
static uint32_t number_of(struct shlo_divider *d, const struct shlo_axis *axis, const char *name)
{
	for (size_t i = 0; i < d->axis_count; i++) {
		if (d->axis_size[i] == axis->size && d->axis_stride[i] == axis->stride)
			return (uint32_t)i + 1;
		if (!shlo_axes_apart(axis,
				     &(struct shlo_axis){ d->axis_size[i], d->axis_stride[i] }))
			return 0;
	}
	if (d->axis_count == SHLO_DIVIDED_AXES)
		return 0;
	d->axis_size[d->axis_count] = axis->size;
	d->axis_stride[d->axis_count] = axis->stride;
	d->axis_name[d->axis_count] = name;
	return (uint32_t)++d->axis_count;
}

/* Reads the sharding that comes next; false: shlo_divide() does not handle it. */
static bool read_next(struct shlo_divider *d, struct shlo_reading *r, const struct shlo_type *type,
		      struct shlo_spec *spec)
{
	int filled[SHLO_DIVIDED_RANK] = { 0 };

	memset(spec, 0, sizeof(*spec));
	shlo_reading_axes(r, type);
	if (r->is_wrong)
		return false;
	if (!r->count)
		return true;
	if (type->quant || type->rank > SHLO_DIVIDED_RANK ||
	    (d->mesh && strcmp(d->mesh, r->mesh_name)))
		return false;
	if (!d->mesh)
		d->positions = shlo_reading_positions(r);
	if (r->is_wrong)
		return false;
	d->mesh = r->mesh_name;
	for (size_t i = 0; i < r->count; i++) {
		uint32_t number = r->axes[i].size > 1 ? number_of(d, &r->axes[i], r->names[i]) : 0;

		if (r->axes[i].size > 1 && !number)
			return false;
		if (number && r->dims[i] < 0)
			spec->sums |= UINT32_C(1) << number;
		else if (number)
			spec->dims[r->dims[i]] |= number << 4 * filled[r->dims[i]]++;
	}
	return true;
}

/* Reads a sharding; false: shlo_divide() does not handle it. */
static bool read_spec(struct shlo_divider *d, const struct shlo_attr *mark,
		      const struct shlo_type *type, struct shlo_spec *spec)
{
	struct shlo_reading r = { .file = d->file, .module = d->module, .is_quiet = true };

	memset(spec, 0, sizeof(*spec));
	r.at = mark && mark->text ? strchr(mark->text, '<') : NULL;
	return r.at && read_next(d, &r, type, spec);
}

/*
 * Reads the list of shardings in attribute @name to @specs, one for each value. Returns false when
 * one cannot be read, or is missing.
 */
static bool read_specs(struct shlo_divider *d, const struct shlo_op *op, const char *name,
		       struct shlo_value *const *values, size_t count, struct shlo_spec *specs)
{
	const struct shlo_attr *list = shlo_attr_find(&op->attrs, name);
	const struct shlo_attr *axes = shlo_attr_find(&op->attrs, "manual_axes");
	struct shlo_reading r = { .file = d->file,
				  .module = d->module,
				  .is_quiet = true,
				  .manual = axes && axes->text ? axes->text : "" };

	r.at = list && list->text ? strchr(list->text, '[') : NULL;
	if (!r.at)
		return !count;
	shlo_reading_expect(&r, "[");
	for (size_t i = 0; i < count; i++) {
		if (i)
			shlo_reading_expect(&r, ",");
		if (r.is_wrong || !read_next(d, &r, values[i]->type, &specs[i]))
			return false;
	}
	return true;
}

/* ---- steps */

static size_t add_value(struct shlo_divider *d, const struct shlo_type *type, size_t maker)
{
	d->values = shlo_arena_grow(d->arena, d->values, d->value_count, sizeof(*d->values));
	d->values[d->value_count] = (struct shlo_divided){ .type = type, .maker = maker };
	return d->value_count++;
}

/*
 * Notes the values from around an operation that a region of it reads. Here and below, @numbers
 * has, by the slot of a function's value, the value's number + 1, or 0.
 */
static void capture(struct shlo_divider *d, const size_t *numbers, struct shlo_step *step,
		    const struct shlo_block *block)
{
	for (size_t i = 0; i < block->op_count; i++) {
		const struct shlo_op *op = block->ops[i];

		for (size_t k = 0; k < op->operand_count; k++) {
			size_t number = numbers[op->operands[k]->slot];
			size_t count = step->captured_count;

			if (!number)
				continue;
			step->captured = shlo_arena_grow(d->arena, step->captured, count,
							 sizeof(*step->captured));
			step->captured_numbers = shlo_arena_grow(d->arena, step->captured_numbers,
								 count,
								 sizeof(*step->captured_numbers));
			step->captured[count] = op->operands[k];
			step->captured_numbers[count] = number - 1;
			step->captured_count++;
		}
		for (size_t k = 0; k < op->region_count; k++)
			capture(d, numbers, step, &op->regions[k]->block);
	}
}

/*
 * Whether an operation, or one in its regions, cannot be divided: it exchanges values with other
 * devices or the host, depends on the device, or has operands or results that are no tensors.
 */
static bool is_odd(const struct shlo_op *op)
{
	/* Its region computes with parts: nothing in there is divided. */
	if (shlo_divide_is_manual(op))
		return false;
	if (!op->kind || op->kind->family == SHLO_CHECK || op->kind->async ||
	    !strncmp(op->name, "interpreter.", 12))
		/* Slices may be asynchronous, and exchange nothing. */
		if (!op->kind || !strstr(op->name, "slice"))
			return true;
	if (strstr(op->name, "_id") || strstr(op->name, "async_") || strstr(op->name, "-"))
		return true;
	for (size_t i = 0; i < op->operand_count; i++)
		if (op->operands[i]->type->kind != SHLO_TENSOR)
			return true;
	for (size_t i = 0; i < op->result_count; i++)
		if (op->results[i]->type->kind != SHLO_TENSOR)
			return true;
	for (size_t k = 0; k < op->region_count; k++)
		for (size_t i = 0; i < op->regions[k]->block.op_count; i++)
			if (is_odd(op->regions[k]->block.ops[i]))
				return true;
	return false;
}

/*
 * Returns the number of operations in an operation, itself included, plus the number of their
 * operands, results and block arguments.
 */
static size_t parts_of(const struct shlo_op *op)
{
	size_t parts = 1 + op->operand_count + op->result_count;

	for (size_t k = 0; k < op->region_count; k++) {
		const struct shlo_block *block = &op->regions[k]->block;

		parts += block->argument_count;
		for (size_t i = 0; i < block->op_count; i++)
			parts += parts_of(block->ops[i]);
	}
	return parts;
}

static void add_steps(struct shlo_divider *d, const struct shlo_function *function,
		      const size_t *arguments, size_t *results);

static void add_call(struct shlo_divider *d, size_t *numbers, const struct shlo_op *op)
{
	const struct shlo_function *callee =
		shlo_function_find(d->module, shlo_attr_text(op, "callee", ""));
	size_t *in = shlo_arena_alloc(d->arena, op->operand_count, sizeof(*in));
	size_t *out = shlo_arena_alloc(d->arena, op->result_count, sizeof(*out));

	for (size_t i = 0; i < op->operand_count; i++)
		in[i] = numbers[op->operands[i]->slot] - 1;
	if (!callee || !callee->region) {
		d->is_odd = true;
		return;
	}
	add_steps(d, callee, in, out);
	for (size_t i = 0; !d->is_odd && i < op->result_count; i++)
		numbers[op->results[i]->slot] = out[i] + 1;
}

static void add_step(struct shlo_divider *d, size_t *numbers, const struct shlo_op *op)
{
	struct shlo_step step = { .op = op };

	step.in = shlo_arena_alloc(d->arena, op->operand_count, sizeof(*step.in));
	step.out = shlo_arena_alloc(d->arena, op->result_count, sizeof(*step.out));
	for (size_t i = 0; i < op->operand_count; i++)
		step.in[i] = numbers[op->operands[i]->slot] - 1;
	for (size_t k = 0; k < op->region_count; k++)
		capture(d, numbers, &step, &op->regions[k]->block);
	if (shlo_divide_is_manual(op)) {
		d->is_odd |= step.captured_count;
		step.in_specs = shlo_arena_alloc(d->arena, op->operand_count + op->result_count + 1,
						 sizeof(*step.in_specs));
		step.out_specs = step.in_specs + op->operand_count;
	}
	for (size_t i = 0; i < op->result_count; i++) {
		step.out[i] = add_value(d, op->results[i]->type, d->step_count + 1);
		numbers[op->results[i]->slot] = step.out[i] + 1;
	}
	d->steps = shlo_arena_grow(d->arena, d->steps, d->step_count, sizeof(*d->steps));
	d->steps[d->step_count] = step;
	shlo_divide_rule(d, &d->steps[d->step_count++]);
}

/*
 * Adds a barrier as a step for each value that goes through it, so that each of the values may be
 * divided in its own way.
 */
static void add_barrier(struct shlo_divider *d, size_t *numbers, const struct shlo_op *op)
{
	for (size_t i = 0; i < op->operand_count; i++) {
		struct shlo_op *one = shlo_arena_alloc(d->arena, 1, sizeof(*one));

		*one = *op;
		one->operand_count = one->result_count = 1;
		one->operands = &op->operands[i];
		one->results = &op->results[i];
		add_step(d, numbers, one);
	}
}

/* Adds the operations of a function; for a call, adds those of the called function. */
static void add_steps(struct shlo_divider *d, const struct shlo_function *function,
		      const size_t *arguments, size_t *results)
{
	const struct shlo_block *block = &function->region->block;
	const struct shlo_op *last = block->ops[block->op_count - 1];
	size_t *numbers = shlo_arena_alloc(d->arena, function->slot_count, sizeof(*numbers));

	for (size_t i = 0; i < block->argument_count; i++)
		numbers[block->arguments[i]->slot] = arguments[i] + 1;
	for (size_t i = 0; i + 1 < block->op_count && !d->is_odd; i++) {
		const struct shlo_op *op = block->ops[i];

		/* Calls count, too: few of them may become very many. */
		d->part_count += parts_of(op);
		if (d->part_count > MOST_PARTS || is_odd(op))
			d->is_odd = true;
		else if (!strcmp(op->name, "func.call"))
			add_call(d, numbers, op);
		else if (!strcmp(op->name, "stablehlo.optimization_barrier"))
			add_barrier(d, numbers, op);
		else
			add_step(d, numbers, op);
	}
	for (size_t i = 0; !d->is_odd && i < last->operand_count; i++)
		results[i] = numbers[last->operands[i]->slot] - 1;
}

/* ---- spreading */

/* Whether a dimension of a value can have these axes. */
static bool can_have(const struct shlo_divider *d, const struct shlo_divided *value, int dim,
		     uint32_t axes)
{
	if (value->is_fixed || value->type->dims[dim] % shlo_axes_parts(d, axes))
		return false;
	for (uint32_t rest = axes; rest; rest >>= 4)
		for (int i = 0; i < value->type->rank; i++)
			if (value->spec.sums >> (rest & 15) & 1)
				return false;
			else if (i != dim && has_axis(value->spec.dims[i], rest & 15))
				return false;
	return true;
}

/*
 * @longest has a list of axes for each index of the step's rule. Without @is_setting, puts in the
 * list of each dimension of the value that continues the index's list and whose parts divide the
 * index's size, and returns false. With @is_setting, gives the lists to the dimensions whose own
 * lists they continue and that can have them; returns whether a dimension got one.
 */
static bool spread_to(struct shlo_divider *d, const struct shlo_step *step, size_t value,
		      const int *positions, uint32_t *longest, bool is_setting)
{
	struct shlo_divided *of = &d->values[value];
	bool changed = false;

	for (int i = 0; i < of->type->rank && i < SHLO_DIVIDED_RANK; i++) {
		uint32_t *best = positions[i] >= 0 ? &longest[positions[i]] : NULL;

		if (!best)
			continue;
		if (!is_setting) {
			if (begins_with(of->spec.dims[i], *best) &&
			    step->rule.size[positions[i]] % shlo_axes_parts(d, of->spec.dims[i]) ==
				    0)
				*best = of->spec.dims[i];
		} else if (*best != of->spec.dims[i] && begins_with(*best, of->spec.dims[i]) &&
			   can_have(d, of, i, *best)) {
			of->spec.dims[i] = *best;
			changed = true;
		}
	}
	return changed;
}

/* Spreads axes along the indices of a step; returns whether a value has more of them now. */
static bool spread(struct shlo_divider *d, const struct shlo_step *step)
{
	uint32_t *longest;
	bool changed = false;

	if (!step->rule.count)
		return false;
	longest = shlo_arena_alloc(d->arena, (size_t)step->rule.count, sizeof(*longest));
	for (int setting = 0; setting < 2; setting++) {
		for (size_t k = 0; k < step->op->operand_count; k++)
			changed |=
				spread_to(d, step, step->in[k], step->rule.in[k], longest, setting);
		for (size_t k = 0; k < step->op->result_count; k++)
			changed |= spread_to(d, step, step->out[k], step->rule.out[k], longest,
					     setting);
	}
	return changed;
}

static void spread_all(struct shlo_divider *d)
{
	bool changed = true;

	for (int round = 0; changed && round < MOST_ROUNDS; round++) {
		changed = false;
		for (size_t i = 0; i < d->step_count; i++)
			changed |= spread(d, &d->steps[i]);
		for (size_t i = d->step_count; i-- > 0;)
			changed |= spread(d, &d->steps[i]);
	}
}

/* ---- what the program says */

/*
 * Gives the values around a region that computes with parts the shardings that its operation has.
 * Those of results are fixed then. Returns false when they cannot be read.
 */
static bool take_manual(struct shlo_divider *d, const struct shlo_step *step)
{
	const struct shlo_op *op = step->op;

	if (!read_specs(d, op, "in_shardings", op->operands, op->operand_count, step->in_specs) ||
	    !read_specs(d, op, "out_shardings", op->results, op->result_count, step->out_specs))
		return false;
	for (size_t i = 0; i < op->operand_count; i++)
		if (!d->values[step->in[i]].is_fixed)
			d->values[step->in[i]].spec = step->in_specs[i];
	for (size_t i = 0; i < op->result_count; i++) {
		d->values[step->out[i]].spec = step->out_specs[i];
		d->values[step->out[i]].is_fixed = true;
	}
	return true;
}

/* Sets the division of values that the program shards; false: shlo_divide() cannot handle one. */
static bool take_marks(struct shlo_divider *d)
{
	const struct shlo_function *function = d->function;

	for (size_t i = 0; i < function->type->item_count; i++) {
		struct shlo_divided *value = &d->values[d->arguments[i]];
		const struct shlo_attr *mark =
			shlo_attr_find(function->region->block.arguments[i]->marks, "sdy.sharding");

		value->is_fixed = true;
		if (mark && !read_spec(d, mark, value->type, &value->spec))
			return false;
	}
	for (size_t i = 0; i < d->step_count; i++) {
		const struct shlo_op *op = d->steps[i].op;
		const struct shlo_attr *mark = shlo_attr_find(&op->attrs, "sharding");
		struct shlo_divided *value;

		if (d->steps[i].in_specs && !take_manual(d, &d->steps[i]))
			return false;
		if (!shlo_is_constraint(op))
			continue;
		value = &d->values[d->steps[i].out[0]];
		if (!read_spec(d, mark, value->type, &value->spec))
			return false;
		value->is_fixed = !strchr(mark->text, '?');
		/* Where the constraint leaves a sum open, its operand may leave it open, too. */
		if (!d->values[d->steps[i].in[0]].is_fixed)
			d->values[d->steps[i].in[0]].spec.sums |= value->spec.sums;
	}
	return true;
}

/*
 * Sets how results are divided: as the program says, or as the returned values are. @is_before:
 * shardings have not spread yet, so that results with a sharding also set that of the returned
 * value. Returns false when a sharding cannot be read.
 */
static bool take_results(struct shlo_divider *d, bool is_before)
{
	const struct shlo_function *function = d->function;

	for (size_t i = 0; i < function->type->result_count; i++) {
		const struct shlo_attr *mark = shlo_attr_find(
			function->result_marks ? function->result_marks[i] : NULL, "sdy.sharding");
		struct shlo_divided *value = &d->values[d->results[i]];

		if (!mark) {
			d->result_specs[i] = value->spec;
			d->result_specs[i].sums = 0;
			continue;
		}
		if (!read_spec(d, mark, value->type, &d->result_specs[i]))
			return false;
		if (is_before && !value->is_fixed)
			value->spec = d->result_specs[i];
	}
	return true;
}

static bool divide_function(struct shlo_file *file, struct shlo_module *module,
			    struct shlo_function *function)
{
	struct shlo_divider d = {
		.file = file, .arena = &file->arena, .module = module, .function = function
	};
	const struct shlo_type *type = function->type;

	d.arguments = shlo_arena_alloc(d.arena, type->item_count, sizeof(*d.arguments));
	d.results = shlo_arena_alloc(d.arena, type->result_count, sizeof(*d.results));
	d.result_specs = shlo_arena_alloc(d.arena, type->result_count, sizeof(*d.result_specs));
	for (size_t i = 0; i < type->item_count; i++) {
		d.is_odd |= type->items[i]->kind != SHLO_TENSOR || type->items[i]->rank < 0;
		d.arguments[i] = add_value(&d, type->items[i], 0);
	}
	for (size_t i = 0; i < type->result_count; i++)
		d.is_odd |= type->results[i]->kind != SHLO_TENSOR || type->results[i]->rank < 0;
	if (d.is_odd)
		return false;
	add_steps(&d, function, d.arguments, d.results);
	if (d.is_odd || !take_marks(&d) || !take_results(&d, true) || !d.axis_count)
		return false;
	spread_all(&d);
	take_results(&d, false);
	shlo_divide_emit(&d);
	return true;
}

bool shlo_divide(struct shlo_file *file)
{
	bool changed = false;

	for (size_t m = 0; m < file->module_count; m++) {
		struct shlo_module *module = file->modules[m];
		struct shlo_function *entry = shlo_module_entry(module);

		/* The collectives that are added name the devices of a single replica. */
		if (entry && entry->region && shlo_module_said(module, "mhlo.num_replicas") == 1)
			changed |= divide_function(file, module, entry);
	}
	return changed;
}
