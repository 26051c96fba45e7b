// SPDX-License-Identifier: MIT
/* Makes operations of the program of one device, and those that join, cut and add up parts. */
#include "divide_make.h"

#include <string.h>

#include "mesh.h"

/* ---- making operations */

struct shlo_value *shlo_make_value(struct shlo_emitter *e, const struct shlo_type *type,
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

struct shlo_op *shlo_make_op(struct shlo_emitter *e, const char *name, size_t operands,
			     size_t results)
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

void shlo_make_append(struct shlo_emitter *e, struct shlo_op *op, int level)
{
	e->ops = shlo_arena_grow(e->d->arena, e->ops, e->op_count, sizeof(*e->ops));
	e->ops[e->op_count] = (struct shlo_made){ op, level, e->op_count };
	e->op_count++;
}

static int level_of(const struct shlo_emitter *e, const struct shlo_value *value)
{
	return value->slot < e->first ? 0 : e->levels[value->slot - e->first];
}

int shlo_make_level(const struct shlo_emitter *e, struct shlo_value *const *values, size_t count,
		    bool is_collective)
{
	int level = 0;

	for (size_t i = 0; i < count; i++)
		level = level_of(e, values[i]) > level ? level_of(e, values[i]) : level;
	level += level & 1;
	return level + is_collective;
}

struct shlo_value *shlo_make_result(struct shlo_emitter *e, struct shlo_op *op,
				    const struct shlo_type *type, bool is_collective)
{
	int level = shlo_make_level(e, op->operands, op->operand_count, is_collective);

	op->results[0] = shlo_make_value(e, type, op, level);
	shlo_make_append(e, op, level);
	return op->results[0];
}

struct shlo_attr *shlo_make_attr(struct shlo_emitter *e, enum shlo_attr_kind kind, int64_t number)
{
	struct shlo_attr *attr = shlo_arena_alloc(e->d->arena, 1, sizeof(*attr));

	attr->kind = kind;
	attr->number = number;
	return attr;
}

void shlo_make_set(struct shlo_emitter *e, struct shlo_attr *dict, const char *name,
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

const struct shlo_attr *shlo_make_ints(struct shlo_emitter *e, const int64_t *numbers, int count)
{
	struct shlo_attr *attr = shlo_make_attr(e, SHLO_ATTR_ARRAY, 0);
	const struct shlo_attr **items =
		shlo_arena_alloc(e->d->arena, (size_t)count, sizeof(*items));

	for (int i = 0; i < count; i++)
		items[i] = shlo_make_attr(e, SHLO_ATTR_INT, numbers[i]);
	attr->count = (size_t)count;
	attr->items = items;
	return attr;
}

static const struct shlo_attr *attr_dense(struct shlo_emitter *e, const struct shlo_type *type,
					  const void *data)
{
	struct shlo_attr *attr = shlo_make_attr(e, SHLO_ATTR_DENSE, 0);

	attr->type = type;
	attr->data = data;
	return attr;
}

static struct shlo_value *constant_new(struct shlo_emitter *e, const struct shlo_type *type,
				       const void *data)
{
	struct shlo_op *op = shlo_make_op(e, "stablehlo.constant", 0, 1);

	shlo_make_set(e, &op->attrs, "value", attr_dense(e, type, data));
	return shlo_make_result(e, op, type, false);
}

const struct shlo_type *shlo_make_type(const struct shlo_divider *d, const struct shlo_type *type,
				       const struct shlo_spec *spec)
{
	static const struct shlo_spec whole;
	int64_t dims[SHLO_DIVIDED_RANK];

	/* A whole value keeps bounds, scales, and dimensions that are not known. */
	if (!memcmp(spec->dims, whole.dims, sizeof(whole.dims)))
		return type;
	for (int i = 0; i < type->rank; i++)
		dims[i] = type->dims[i] / shlo_axes_parts(d, spec->dims[i]);
	return shlo_tensor_type(d->arena, type->element, type->rank, dims);
}

/* ---- collectives */

/* Returns the groups of devices that differ along these axes only, in the order of their parts. */
static const struct shlo_attr *groups_along(struct shlo_emitter *e, uint32_t axes)
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

struct shlo_op *shlo_make_collective(struct shlo_emitter *e, const char *name, struct shlo_value *x,
				     uint32_t axes)
{
	struct shlo_op *op = shlo_make_op(e, name, 1, 1);
	struct shlo_attr *channel = shlo_make_attr(e, SHLO_ATTR_DICT, 0);

	shlo_make_set(e, channel, "handle", shlo_make_attr(e, SHLO_ATTR_INT, ++e->channel));
	shlo_make_set(e, channel, "type", shlo_make_attr(e, SHLO_ATTR_INT, 1));
	shlo_make_set(e, &op->attrs, "channel_handle", channel);
	shlo_make_set(e, &op->attrs, "replica_groups", groups_along(e, axes));
	shlo_make_set(e, &op->attrs, "use_global_device_ids", shlo_make_attr(e, SHLO_ATTR_UNIT, 0));
	op->operands[0] = x;
	return op;
}

struct shlo_value *shlo_make_gathered(struct shlo_emitter *e, struct shlo_value *x, int dim,
				      uint32_t axes)
{
	struct shlo_op *op = shlo_make_collective(e, "stablehlo.all_gather", x, axes);
	int64_t dims[SHLO_DIVIDED_RANK];

	memcpy(dims, x->type->dims, (size_t)x->type->rank * sizeof(*dims));
	dims[dim] *= shlo_axes_parts(e->d, axes);
	shlo_make_set(e, &op->attrs, "all_gather_dim", shlo_make_attr(e, SHLO_ATTR_INT, dim));
	return shlo_make_result(
		e, op, shlo_tensor_type(e->d->arena, x->type->element, x->type->rank, dims), true);
}

/* ---- cutting */

static struct shlo_value *start_keep(struct shlo_emitter *e, uint32_t axes, int64_t size,
				     struct shlo_value *value)
{
	e->starts = shlo_arena_grow(e->d->arena, e->starts, e->start_count, sizeof(*e->starts));
	e->starts[e->start_count++] = (struct shlo_start){ axes, size, value };
	return value;
}

/* Returns the number of a device's part along axes. */
static int64_t number_along(const struct shlo_divider *d, size_t device, uint32_t axes)
{
	int64_t number = 0;

	for (; axes; axes >>= 4) {
		size_t axis = (axes & 15) - 1;

		number = number * d->axis_size[axis] +
			 d->positions[device] / d->axis_stride[axis] % d->axis_size[axis];
	}
	return number;
}

/* Makes operations that read this device's element of a table, which has one for each device. */
static struct shlo_value *own_of(struct shlo_emitter *e, enum shlo_element element,
				 const void *table)
{
	const struct shlo_divider *d = e->d;
	int64_t devices = (int64_t)d->file->partitions, one = 1;
	struct shlo_op *take = shlo_make_op(e, "stablehlo.dynamic_slice", 2, 1), *shape;

	if (!e->device)
		e->device = shlo_make_result(e, shlo_make_op(e, "stablehlo.partition_id", 0, 1),
					     shlo_tensor_type(d->arena, SHLO_UI32, 0, NULL), false);
	take->operands[0] =
		constant_new(e, shlo_tensor_type(d->arena, element, 1, &devices), table);
	take->operands[1] = e->device;
	shlo_make_set(e, &take->attrs, "slice_sizes", shlo_make_ints(e, &one, 1));
	shape = shlo_make_op(e, "stablehlo.reshape", 1, 1);
	shape->operands[0] =
		shlo_make_result(e, take, shlo_tensor_type(d->arena, element, 1, &one), false);
	return shlo_make_result(e, shape, shlo_tensor_type(d->arena, element, 0, NULL), false);
}

/* Returns where the part of this device begins along a dimension, as a number. */
static struct shlo_value *start_of(struct shlo_emitter *e, uint32_t axes, int64_t size)
{
	const struct shlo_divider *d = e->d;
	size_t devices = d->file->partitions;
	int32_t *positions = shlo_arena_alloc(d->arena, devices, sizeof(*positions));

	for (size_t i = 0; i < e->start_count; i++)
		if (e->starts[i].axes == axes && (!axes || e->starts[i].size == size))
			return e->starts[i].value;
	for (size_t i = 0; i < devices; i++)
		positions[i] = (int32_t)(number_along(d, i, axes) * size);
	return start_keep(e, axes, size,
			  axes ? own_of(e, SHLO_I32, positions) :
				 constant_new(e, shlo_tensor_type(d->arena, SHLO_I32, 0, NULL),
					      positions));
}

struct shlo_value *shlo_make_part(struct shlo_emitter *e, struct shlo_value *x,
				  const struct shlo_spec *axes)
{
	const struct shlo_type *type = shlo_make_type(e->d, x->type, axes);
	size_t rank = (size_t)type->rank;
	struct shlo_op *op = shlo_make_op(e, "stablehlo.dynamic_slice", 1 + rank, 1);

	op->operands[0] = x;
	for (size_t i = 0; i < rank; i++)
		op->operands[1 + i] = start_of(e, axes->dims[i], type->dims[i]);
	shlo_make_set(e, &op->attrs, "slice_sizes", shlo_make_ints(e, type->dims, type->rank));
	return shlo_make_result(e, op, type, false);
}

/* ---- sums that are not yet made */

struct shlo_region *shlo_make_adding(struct shlo_emitter *e, enum shlo_element element)
{
	struct shlo_region *region = shlo_arena_alloc(e->d->arena, 1, sizeof(*region));
	const struct shlo_type *type = shlo_tensor_type(e->d->arena, element, 0, NULL);
	struct shlo_op *add = shlo_make_op(e, "stablehlo.add", 2, 1);
	struct shlo_op *end = shlo_make_op(e, "stablehlo.return", 1, 0);
	struct shlo_block *block = &region->block;

	block->argument_count = 2;
	block->arguments = shlo_arena_alloc(e->d->arena, 2, sizeof(*block->arguments));
	for (size_t i = 0; i < 2; i++)
		add->operands[i] = block->arguments[i] = shlo_make_value(e, type, NULL, 0);
	add->results[0] = end->operands[0] = shlo_make_value(e, type, add, 0);
	block->op_count = 2;
	block->ops = shlo_arena_alloc(e->d->arena, 2, sizeof(*block->ops));
	block->ops[0] = add;
	block->ops[1] = end;
	return region;
}

uint32_t shlo_axes_list(uint32_t sums)
{
	uint32_t list = 0;
	int count = 0;

	for (uint32_t axis = 1; axis <= SHLO_DIVIDED_AXES; axis++)
		if (sums >> axis & 1)
			list |= axis << 4 * count++;
	return list;
}

uint32_t shlo_axes_bits(uint32_t axes)
{
	uint32_t bits = 0;

	for (; axes; axes >>= 4)
		bits |= UINT32_C(1) << (axes & 15);
	return bits;
}

struct shlo_value *shlo_make_sum(struct shlo_emitter *e, struct shlo_value *x, uint32_t sums)
{
	struct shlo_op *op =
		shlo_make_collective(e, "stablehlo.all_reduce", x, shlo_axes_list(sums));

	op->region_count = 1;
	op->regions = shlo_arena_alloc(e->d->arena, 1, sizeof(*op->regions));
	op->regions[0] = shlo_make_adding(e, x->type->element);
	return shlo_make_result(e, op, x->type, true);
}

static struct shlo_value *zeros_of(struct shlo_emitter *e, const struct shlo_type *type)
{
	struct shlo_attr *zero = shlo_make_attr(e, SHLO_ATTR_DENSE, 0);
	struct shlo_op *op = shlo_make_op(e, "stablehlo.constant", 0, 1);

	zero->type = type;
	zero->data = shlo_arena_alloc(e->d->arena, 1, sizeof(struct shlo_num));
	zero->splat = true;
	shlo_make_set(e, &op->attrs, "value", zero);
	return shlo_make_result(e, op, type, false);
}

struct shlo_value *shlo_make_addend(struct shlo_emitter *e, struct shlo_value *x, uint32_t sums)
{
	size_t devices = e->d->file->partitions;
	unsigned char *is_first = shlo_arena_alloc(e->d->arena, devices, 1);
	struct shlo_op *op = shlo_make_op(e, "stablehlo.select", 3, 1);

	for (size_t i = 0; i < devices; i++)
		is_first[i] = !number_along(e->d, i, shlo_axes_list(sums));
	op->operands[0] = own_of(e, SHLO_I1, is_first);
	op->operands[1] = x;
	op->operands[2] = zeros_of(e, x->type);
	return shlo_make_result(e, op, x->type, false);
}

struct shlo_value *shlo_make_placed(struct shlo_emitter *e, struct shlo_value *x, int dim,
				    uint32_t axes)
{
	size_t rank = (size_t)x->type->rank;
	struct shlo_op *op = shlo_make_op(e, "stablehlo.dynamic_update_slice", 2 + rank, 1);
	int64_t dims[SHLO_DIVIDED_RANK];
	const struct shlo_type *type;

	memcpy(dims, x->type->dims, rank * sizeof(*dims));
	dims[dim] *= shlo_axes_parts(e->d, axes);
	type = shlo_tensor_type(e->d->arena, x->type->element, x->type->rank, dims);
	op->operands[0] = zeros_of(e, type);
	op->operands[1] = x;
	for (size_t i = 0; i < rank; i++)
		op->operands[2 + i] =
			start_of(e, (int)i == dim ? axes : 0, (int)i == dim ? x->type->dims[i] : 0);
	return shlo_make_result(e, op, type, false);
}
