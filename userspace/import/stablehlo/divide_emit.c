// SPDX-License-Identifier: MIT
/*
 * Writes the program of one device: operations on parts of values, and collective operations that
 * join, cut and combine parts. These come as late as their operands allow and all at once, so that
 * the operations between them stay in few graphs.
 */
#include <stdlib.h>
#include <string.h>

#include "divide.h"
#include "mesh.h"
#include "text.h"

struct made {
	struct shlo_op *op;
	int level; /* 2 * collectives before it in a chain; + 1 if it is one */
	size_t order;
};

/* The number of a device's part along axes, times the size of a part. */
struct start {
	uint32_t axes;
	int64_t size;
	struct shlo_value *value;
};

struct emitter {
	struct shlo_divider *d;
	struct made *ops;
	size_t op_count;
	size_t first;	 /* slot of the first new value */
	int *levels;	 /* by slot from @first on */
	int64_t channel; /* number of collectives so far */
	struct start *starts;
	size_t start_count;
	struct shlo_value *device; /* number of this device */
	/* by slot of a value in a region that is copied: the copy */
	struct shlo_value **copies;
	struct shlo_location location; /* of the step whose operations are made */
};

/* ---- making operations */

static struct shlo_value *value_new(struct emitter *e, const struct shlo_type *type,
				    struct shlo_op *op, int level)
{
	struct shlo_value *value = shlo_arena_alloc(e->d->arena, 1, sizeof(*value));
	size_t at = e->d->function->slot_count - e->first;

	value->name = "";
	value->type = type;
	value->op = op;
	value->slot = e->d->function->slot_count++;
	e->levels = shlo_arena_grow(e->d->arena, e->levels, at, sizeof(*e->levels));
	e->levels[at] = level;
	return value;
}

static struct shlo_op *op_new(struct emitter *e, const char *name, size_t operands, size_t results)
{
	struct shlo_op *op = shlo_arena_alloc(e->d->arena, 1, sizeof(*op));

	op->kind = shlo_kind_find(name);
	op->name = op->kind->name;
	op->location = e->location;
	op->operand_count = operands;
	op->operands = shlo_arena_alloc(e->d->arena, operands, sizeof(*op->operands));
	op->result_count = results;
	op->results = shlo_arena_alloc(e->d->arena, results, sizeof(*op->results));
	op->attrs.kind = SHLO_ATTR_DICT;
	return op;
}

static void append(struct emitter *e, struct shlo_op *op, int level)
{
	e->ops = shlo_arena_grow(e->d->arena, e->ops, e->op_count, sizeof(*e->ops));
	e->ops[e->op_count] = (struct made){ op, level, e->op_count };
	e->op_count++;
}

static int level_of(const struct emitter *e, const struct shlo_value *value)
{
	return value->slot < e->first ? 0 : e->levels[value->slot - e->first];
}

/* Returns the level of an operation on these values. */
static int level_behind(const struct emitter *e, struct shlo_value *const *values, size_t count,
			bool is_collective)
{
	int level = 0;

	for (size_t i = 0; i < count; i++)
		level = level_of(e, values[i]) > level ? level_of(e, values[i]) : level;
	level += level & 1;
	return level + is_collective;
}

/* Appends an operation with one result of this type, and returns the result. */
static struct shlo_value *finish(struct emitter *e, struct shlo_op *op,
				 const struct shlo_type *type, bool is_collective)
{
	int level = level_behind(e, op->operands, op->operand_count, is_collective);

	op->results[0] = value_new(e, type, op, level);
	append(e, op, level);
	return op->results[0];
}

static struct shlo_attr *attr_new(struct emitter *e, enum shlo_attr_kind kind, int64_t number)
{
	struct shlo_attr *attr = shlo_arena_alloc(e->d->arena, 1, sizeof(*attr));

	attr->kind = kind;
	attr->number = number;
	return attr;
}

/* Sets an attribute of a dictionary that no other operation shares. */
static void set_attr(struct emitter *e, struct shlo_attr *dict, const char *name,
		     const struct shlo_attr *attr)
{
	struct shlo_arena *arena = e->d->arena;
	const struct shlo_attr **items;
	const char **names;
	size_t at = 0, count = dict->count;

	while (at < count && strcmp(dict->names[at], name))
		at++;
	items = shlo_arena_alloc(arena, count + 1, sizeof(*items));
	names = shlo_arena_alloc(arena, count + 1, sizeof(*names));
	for (size_t i = 0; i < count; i++) {
		items[i] = dict->items[i];
		names[i] = dict->names[i];
	}
	items[at] = attr;
	names[at] = name;
	dict->count = at == count ? count + 1 : count;
	dict->items = items;
	dict->names = names;
}

static const struct shlo_attr *attr_ints(struct emitter *e, const int64_t *numbers, int count)
{
	struct shlo_attr *attr = attr_new(e, SHLO_ATTR_ARRAY, 0);
	const struct shlo_attr **items =
		shlo_arena_alloc(e->d->arena, (size_t)count, sizeof(*items));

	for (int i = 0; i < count; i++)
		items[i] = attr_new(e, SHLO_ATTR_INT, numbers[i]);
	attr->count = (size_t)count;
	attr->items = items;
	return attr;
}

static const struct shlo_attr *attr_dense(struct emitter *e, const struct shlo_type *type,
					  const void *data)
{
	struct shlo_attr *attr = attr_new(e, SHLO_ATTR_DENSE, 0);

	attr->type = type;
	attr->data = data;
	return attr;
}

static struct shlo_value *constant_new(struct emitter *e, const struct shlo_type *type,
				       const void *data)
{
	struct shlo_op *op = op_new(e, "stablehlo.constant", 0, 1);

	set_attr(e, &op->attrs, "value", attr_dense(e, type, data));
	return finish(e, op, type, false);
}

/* Returns the type of a part. */
static const struct shlo_type *part_type(const struct shlo_divider *d, const struct shlo_type *type,
					 const struct shlo_spec *spec)
{
	static const struct shlo_spec whole;
	int64_t dims[SHLO_DIVIDED_RANK];

	/* A whole value keeps bounds, scales, and dimensions that are not known. */
	if (!memcmp(spec, &whole, sizeof(whole)))
		return type;
	for (int i = 0; i < type->rank; i++)
		dims[i] = type->dims[i] / shlo_axes_parts(d, spec->dims[i]);
	return shlo_tensor_type(d->arena, type->element, type->rank, dims);
}

/* ---- collectives */

/* Returns the groups of devices that differ along these axes only, in the order of their parts. */
static const struct shlo_attr *groups_along(struct emitter *e, uint32_t axes)
{
	const struct shlo_divider *d = e->d;
	size_t devices = d->file->partitions, count = 0;
	struct shlo_axis list[SHLO_DIVIDED_AXES];
	int64_t *ids = shlo_arena_alloc(d->arena, devices, sizeof(*ids));

	for (size_t i = 0; i < devices; i++)
		ids[d->positions[i]] = (int64_t)i;
	for (; axes; axes >>= 4)
		list[count++] = (struct shlo_axis){ d->axis_size[(axes & 15) - 1],
						    d->axis_stride[(axes & 15) - 1] };
	return shlo_axes_groups(d->arena, list, count, ids, (int64_t)devices);
}

static struct shlo_op *collective_new(struct emitter *e, const char *name, struct shlo_value *x,
				      uint32_t axes)
{
	struct shlo_op *op = op_new(e, name, 1, 1);
	struct shlo_attr *channel = attr_new(e, SHLO_ATTR_DICT, 0);

	set_attr(e, channel, "handle", attr_new(e, SHLO_ATTR_INT, ++e->channel));
	set_attr(e, channel, "type", attr_new(e, SHLO_ATTR_INT, 1));
	set_attr(e, &op->attrs, "channel_handle", channel);
	set_attr(e, &op->attrs, "replica_groups", groups_along(e, axes));
	set_attr(e, &op->attrs, "use_global_device_ids", attr_new(e, SHLO_ATTR_UNIT, 0));
	op->operands[0] = x;
	return op;
}

static struct shlo_value *gathered(struct emitter *e, struct shlo_value *x, int dim, uint32_t axes)
{
	struct shlo_op *op = collective_new(e, "stablehlo.all_gather", x, axes);
	int64_t dims[SHLO_DIVIDED_RANK];

	memcpy(dims, x->type->dims, (size_t)x->type->rank * sizeof(*dims));
	dims[dim] *= shlo_axes_parts(e->d, axes);
	set_attr(e, &op->attrs, "all_gather_dim", attr_new(e, SHLO_ATTR_INT, dim));
	return finish(e, op, shlo_tensor_type(e->d->arena, x->type->element, x->type->rank, dims),
		      true);
}

/* ---- cutting */

static struct shlo_value *start_keep(struct emitter *e, uint32_t axes, int64_t size,
				     struct shlo_value *value)
{
	e->starts = shlo_arena_grow(e->d->arena, e->starts, e->start_count, sizeof(*e->starts));
	e->starts[e->start_count++] = (struct start){ axes, size, value };
	return value;
}

/* Returns where the part of this device begins along a dimension, as a number. */
static struct shlo_value *start_of(struct emitter *e, uint32_t axes, int64_t size)
{
	const struct shlo_divider *d = e->d;
	int64_t devices = (int64_t)d->file->partitions, one = 1;
	const struct shlo_type *number = shlo_tensor_type(d->arena, SHLO_I32, 0, NULL);
	const struct shlo_type *table = shlo_tensor_type(d->arena, SHLO_I32, 1, &devices);
	int32_t *positions = shlo_arena_alloc(d->arena, (size_t)devices, sizeof(*positions));
	struct shlo_op *take, *shape;

	for (size_t i = 0; i < e->start_count; i++)
		if (e->starts[i].axes == axes && (!axes || e->starts[i].size == size))
			return e->starts[i].value;
	for (int64_t i = 0; i < devices; i++) {
		for (uint32_t rest = axes; rest; rest >>= 4) {
			size_t axis = (rest & 15) - 1;

			positions[i] = (int32_t)(positions[i] * d->axis_size[axis] +
						 d->positions[i] / d->axis_stride[axis] %
							 d->axis_size[axis]);
		}
		positions[i] *= (int32_t)size;
	}
	if (!axes)
		return start_keep(e, axes, size, constant_new(e, number, positions));
	if (!e->device)
		e->device = finish(e, op_new(e, "stablehlo.partition_id", 0, 1),
				   shlo_tensor_type(d->arena, SHLO_UI32, 0, NULL), false);
	take = op_new(e, "stablehlo.dynamic_slice", 2, 1);
	take->operands[0] = constant_new(e, table, positions);
	take->operands[1] = e->device;
	set_attr(e, &take->attrs, "slice_sizes", attr_ints(e, &one, 1));
	shape = op_new(e, "stablehlo.reshape", 1, 1);
	shape->operands[0] = finish(e, take, shlo_tensor_type(d->arena, SHLO_I32, 1, &one), false);
	return start_keep(e, axes, size, finish(e, shape, number, false));
}

/* Returns the part of this device; each dimension of @axes says along which axes it is cut. */
static struct shlo_value *part_of(struct emitter *e, struct shlo_value *x,
				  const struct shlo_spec *axes)
{
	const struct shlo_type *type = part_type(e->d, x->type, axes);
	size_t rank = (size_t)type->rank;
	struct shlo_op *op = op_new(e, "stablehlo.dynamic_slice", 1 + rank, 1);

	op->operands[0] = x;
	for (size_t i = 0; i < rank; i++)
		op->operands[1 + i] = start_of(e, axes->dims[i], type->dims[i]);
	set_attr(e, &op->attrs, "slice_sizes", attr_ints(e, type->dims, type->rank));
	return finish(e, op, type, false);
}

/* ---- versions of values */

static void keep(struct emitter *e, size_t number, const struct shlo_spec *spec,
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
 * Returns the version of a value that is divided as @to says; if there is none, makes it from the
 * first version.
 */
static struct shlo_value *get(struct emitter *e, size_t number, const struct shlo_spec *to)
{
	struct shlo_divided *of = &e->d->values[number];
	struct shlo_spec rest = { { 0 } };
	struct shlo_spec from;
	struct shlo_value *value;
	bool is_cut = false;

	for (size_t i = 0; i < of->version_count; i++)
		if (!memcmp(&of->versions[i].spec, to, sizeof(*to)))
			return of->versions[i].value;
	from = of->versions[0].spec;
	value = of->versions[0].value;
	for (int i = 0; i < of->type->rank && i < SHLO_DIVIDED_RANK; i++) {
		uint32_t kept = common(from.dims[i], to->dims[i]);
		int shift = 4 * length_of(kept);

		if (shift < 32 && from.dims[i] >> shift)
			value = gathered(e, value, i, from.dims[i] >> shift);
		rest.dims[i] = shift < 32 ? to->dims[i] >> shift : 0;
		is_cut |= rest.dims[i] != 0;
	}
	if (is_cut)
		value = part_of(e, value, &rest);
	keep(e, number, to, value);
	return value;
}

/* ---- regions */

static void copy_op(struct emitter *e, struct shlo_op *op);

static void copy_values(struct emitter *e, struct shlo_value **values, size_t count,
			struct shlo_op *op)
{
	for (size_t i = 0; i < count; i++) {
		struct shlo_value *copy = value_new(e, values[i]->type, op, 0);

		e->copies[values[i]->slot] = copy;
		values[i] = copy;
	}
}

static void *copy_list(struct emitter *e, const void *list, size_t count)
{
	void *copy = shlo_arena_alloc(e->d->arena, count, sizeof(void *));

	if (count)
		memcpy(copy, list, count * sizeof(void *));
	return copy;
}

static struct shlo_region *copy_region(struct emitter *e, const struct shlo_region *region)
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
static void copy_op(struct emitter *e, struct shlo_op *op)
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

/* Returns a region that adds its two arguments. */
static struct shlo_region *adding(struct emitter *e, enum shlo_element element)
{
	struct shlo_region *region = shlo_arena_alloc(e->d->arena, 1, sizeof(*region));
	const struct shlo_type *type = shlo_tensor_type(e->d->arena, element, 0, NULL);
	struct shlo_op *add = op_new(e, "stablehlo.add", 2, 1);
	struct shlo_op *end = op_new(e, "stablehlo.return", 1, 0);
	struct shlo_block *block = &region->block;

	block->argument_count = 2;
	block->arguments = shlo_arena_alloc(e->d->arena, 2, sizeof(*block->arguments));
	for (size_t i = 0; i < 2; i++)
		add->operands[i] = block->arguments[i] = value_new(e, type, NULL, 0);
	add->results[0] = end->operands[0] = value_new(e, type, add, 0);
	block->op_count = 2;
	block->ops = shlo_arena_alloc(e->d->arena, 2, sizeof(*block->ops));
	block->ops[0] = add;
	block->ops[1] = end;
	return region;
}

/* ---- steps */

/*
 * Gives the axes of a value's dimensions to the indices of these dimensions that have no axes yet.
 * An axis that another index has is not given again.
 */
static void offer(const struct emitter *e, const struct shlo_step *step, size_t value,
		  const int *positions, uint32_t *axes, bool *used)
{
	const struct shlo_divided *of = &e->d->values[value];

	for (int i = 0; i < of->type->rank && i < SHLO_DIVIDED_RANK; i++) {
		uint32_t list = 0;
		int count = 0;

		if (positions[i] < 0 || axes[positions[i]])
			continue;
		/* An axis that another index has ends the list. */
		for (uint32_t rest = of->spec.dims[i]; rest && !used[rest & 15]; rest >>= 4)
			list |= (rest & 15) << 4 * count++;
		if (!list || step->rule.size[positions[i]] % shlo_axes_parts(e->d, list))
			continue;
		axes[positions[i]] = list;
		for (uint32_t rest = list; rest; rest >>= 4)
			used[rest & 15] = true;
	}
}

/*
 * Chooses the axes of each index: results come first, unless an operand has more elements, since
 * moving what is large costs more.
 */
static uint32_t *choose(const struct emitter *e, const struct shlo_step *step)
{
	const struct shlo_rule *rule = &step->rule;
	size_t ins = step->op->operand_count, count = ins + step->op->result_count;
	uint32_t *axes = shlo_arena_alloc(e->d->arena, (size_t)rule->count + 1, sizeof(*axes));
	bool *done = shlo_arena_alloc(e->d->arena, count, sizeof(*done));
	bool used[16] = { false };

	for (size_t round = 0; rule->count && round < count; round++) {
		size_t best = count;
		int64_t most = -1;

		for (size_t k = count; k-- > 0;) {
			size_t value = k < ins ? step->in[k] : step->out[k - ins];
			int64_t size = shlo_type_count(e->d->values[value].type);

			if (!done[k] && size > most) {
				most = size;
				best = k;
			}
		}
		done[best] = true;
		if (best < ins)
			offer(e, step, step->in[best], rule->in[best], axes, used);
		else
			offer(e, step, step->out[best - ins], rule->out[best - ins], axes, used);
	}
	return axes;
}

static struct shlo_spec spec_of(const int *positions, const uint32_t *axes)
{
	struct shlo_spec spec = { { 0 } };

	for (int i = 0; i < SHLO_DIVIDED_RANK; i++)
		spec.dims[i] = positions[i] >= 0 ? axes[positions[i]] : 0;
	return spec;
}

/*
 * Sets attributes of an operation to the sizes of its part; a constant gets the type of its part.
 */
static void set_sizes(struct emitter *e, struct shlo_op *op, const struct shlo_rule *rule,
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
		set_attr(e, &op->attrs, rule->sizes, attr_ints(e, sizes, count));
	if (op->kind->family == SHLO_CONSTANT && value && value->kind == SHLO_ATTR_DENSE) {
		struct shlo_attr *part = attr_new(e, SHLO_ATTR_DENSE, 0);

		*part = *value;
		part->type = op->results[0]->type;
		set_attr(e, &op->attrs, "value", part);
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

/* Combines the parts of a result over the devices along the axes of a sum. */
static void combine(struct emitter *e, const struct shlo_step *step, struct shlo_value *part,
		    struct shlo_spec *spec, uint32_t sums)
{
	const struct shlo_divided *of = &e->d->values[step->out[0]];
	int dim = scattered(of, spec, sums);
	struct shlo_op *op = collective_new(
		e, dim < 0 ? "stablehlo.all_reduce" : "stablehlo.reduce_scatter", part, sums);

	op->region_count = 1;
	op->regions = shlo_arena_alloc(e->d->arena, 1, sizeof(*op->regions));
	op->regions[0] = strcmp(step->op->name, "stablehlo.reduce") ?
				 adding(e, part->type->element) :
				 copy_region(e, step->op->regions[0]);
	if (dim >= 0) {
		set_attr(e, &op->attrs, "scatter_dimension", attr_new(e, SHLO_ATTR_INT, dim));
		spec->dims[dim] = of->spec.dims[dim];
	}
	keep(e, step->out[0], spec, finish(e, op, part_type(e->d, of->type, spec), true));
}

static void emit_step(struct emitter *e, const struct shlo_step *step)
{
	const struct shlo_rule *rule = &step->rule;
	uint32_t *axes = choose(e, step), sums = 0;
	static const struct shlo_spec whole;
	struct shlo_op *op = shlo_arena_alloc(e->d->arena, 1, sizeof(*op));
	int level;

	e->location = step->op->location;
	*op = *step->op;
	op->operands = copy_list(e, op->operands, op->operand_count);
	for (size_t k = 0; k < op->operand_count; k++) {
		struct shlo_spec spec = spec_of(rule->in[k], axes);

		op->operands[k] = get(e, step->in[k], &spec);
	}
	level = level_behind(e, op->operands, op->operand_count, false);
	for (size_t k = 0; k < step->captured_count; k++) {
		struct shlo_value *value = get(e, step->captured_numbers[k], &whole);

		e->copies[step->captured[k]->slot] = value;
		if (level < level_behind(e, &value, 1, false))
			level = level_behind(e, &value, 1, false);
	}
	op->regions = copy_list(e, op->regions, op->region_count);
	for (size_t k = 0; k < op->region_count; k++)
		op->regions[k] = copy_region(e, op->regions[k]);
	for (int i = 0; i < rule->count; i++)
		if (rule->is_sum[i] && axes[i])
			sums |= axes[i] << 4 * length_of(sums);
	op->results = copy_list(e, op->results, op->result_count);
	for (size_t k = 0; k < op->result_count; k++) {
		struct shlo_spec spec = spec_of(rule->out[k], axes);

		op->results[k] = value_new(
			e, part_type(e->d, e->d->values[step->out[k]].type, &spec), op, level);
		if (!sums)
			keep(e, step->out[k], &spec, op->results[k]);
	}
	set_sizes(e, op, rule, axes);
	append(e, op, level);
	if (sums) {
		struct shlo_spec spec = spec_of(rule->out[0], axes);

		combine(e, step, op->results[0], &spec, sums);
	}
}

/* ---- the function */

static int by_level(const void *a, const void *b)
{
	const struct made *x = a, *y = b;

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
	shlo_text_add(text, "]>");
}

/* Sets a list of shardings, in the form in which files have them. */
static void set_list(struct emitter *e, struct shlo_op *op, const char *name, size_t count,
		     struct shlo_value *const *values, const struct shlo_spec *specs)
{
	struct shlo_attr *attr = attr_new(e, SHLO_ATTR_UNIT, 0);
	struct shlo_text text = { .arena = e->d->arena };

	shlo_text_add(&text, "#sdy.sharding_per_value<[");
	for (size_t i = 0; i < count; i++) {
		shlo_text_add(&text, "%s", i ? ", " : "");
		add_spec(&text, e->d, values[i]->type->rank, &specs[i]);
	}
	shlo_text_add(&text, "]>");
	attr->text = text.data;
	set_attr(e, &op->attrs, name, attr);
}

static void set_axes(struct emitter *e, struct shlo_op *op)
{
	struct shlo_attr *attr = attr_new(e, SHLO_ATTR_UNIT, 0);
	const char *text = "#sdy<manual_axes{";

	for (size_t i = 0; i < e->d->axis_count; i++) {
		const char *name = e->d->axis_name[i];

		/* A part of an axis has a colon behind the name. */
		text = shlo_arena_printf(e->d->arena, "%s%s%.*s\"", text, i ? ", " : "",
					 (int)(1 + strcspn(name + 1, "\"")), name);
	}
	attr->text = shlo_arena_printf(e->d->arena, "%s}>", text);
	set_attr(e, &op->attrs, "manual_axes", attr);
}

/* Makes a sdy.manual_computation of the operations, and the function one that calls it. */
static void wrap(struct emitter *e, struct shlo_block *inner, const struct shlo_spec *in_specs)
{
	struct shlo_function *function = e->d->function;
	struct shlo_block *block = &function->region->block;
	const struct shlo_op *last = block->ops[block->op_count - 1];
	struct shlo_op *op =
		op_new(e, "sdy.manual_computation", block->argument_count, last->operand_count);
	struct shlo_op *end = shlo_arena_alloc(e->d->arena, 1, sizeof(*end));

	*end = *last;
	end->operands = shlo_arena_alloc(e->d->arena, last->operand_count, sizeof(*end->operands));
	for (size_t i = 0; i < block->argument_count; i++)
		op->operands[i] = block->arguments[i];
	for (size_t i = 0; i < last->operand_count; i++)
		end->operands[i] = op->results[i] =
			value_new(e, e->d->values[e->d->results[i]].type, op, 0);
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
	struct emitter e = { .d = d, .first = d->function->slot_count };
	size_t ins = d->function->type->item_count, outs = d->function->type->result_count;
	struct shlo_spec *specs = shlo_arena_alloc(d->arena, ins, sizeof(*specs));
	struct shlo_block inner = { .argument_count = ins };
	struct shlo_op *end;

	e.copies = shlo_arena_alloc(d->arena, most_slots(d->module), sizeof(*e.copies));
	inner.arguments = shlo_arena_alloc(d->arena, ins, sizeof(*inner.arguments));
	for (size_t i = 0; i < ins; i++) {
		struct shlo_divided *of = &d->values[d->arguments[i]];

		specs[i] = of->spec;
		inner.arguments[i] = value_new(&e, part_type(d, of->type, &of->spec), NULL, 0);
		keep(&e, d->arguments[i], &of->spec, inner.arguments[i]);
	}
	for (size_t i = 0; i < d->step_count; i++)
		emit_step(&e, &d->steps[i]);
	end = op_new(&e, "sdy.return", outs, 0);
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
