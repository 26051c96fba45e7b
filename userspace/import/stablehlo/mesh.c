// SPDX-License-Identifier: MIT
/* Meshes, and the groups of processes along their axes. */
#include "mesh.h"

#include <string.h>

#define MAX_DEVICES ((int64_t)1 << 16) /* of a mesh */

struct grid {
	struct shlo_file *file;
	const struct shlo_op *op;
	const struct shlo_attr *axes, *ids; /* axes and device ids of the mesh */
	int64_t devices;
	size_t count; /* number of axes that form the groups */
	struct shlo_axis at[SHLO_MAX_RANK];
};

static int64_t number_of(const struct shlo_attr *dict, const char *name)
{
	const struct shlo_attr *attr = shlo_attr_find(dict, name);

	return attr && attr->kind == SHLO_ATTR_INT ? attr->number : 0;
}

int64_t shlo_axis_size(const struct shlo_attr *axis)
{
	return number_of(axis, "size");
}

static const char *text_of(const struct shlo_attr *dict, const char *name)
{
	const struct shlo_attr *attr = shlo_attr_find(dict, name);

	return attr && attr->text ? attr->text : "";
}

static bool refuse(const struct grid *grid, const char *what, const char *name)
{
	shlo_refuse(grid->file, grid->op->location, grid->op->name, "replica_groups: %s%s%s%s",
		    what, *name ? " '" : "", name, *name ? "'" : "");
	return false;
}

static bool measure(struct grid *grid)
{
	grid->devices = 1;
	for (size_t i = 0; i < grid->axes->count; i++) {
		int64_t size = shlo_axis_size(grid->axes->items[i]);

		if (size < 1 || size > MAX_DEVICES || grid->devices * size > MAX_DEVICES)
			return refuse(grid, "the mesh has no devices, or more than 65536", "");
		grid->devices *= size;
	}
	if (grid->ids && shlo_ints_of(grid->ids, NULL, 0) != grid->devices)
		return refuse(grid, "device_ids of the mesh must have a number for each device",
			      "");
	return true;
}

bool shlo_axis_find(const struct shlo_attr *axes, int64_t devices, const char *name,
		    struct shlo_axis *axis)
{
	axis->stride = devices;
	for (size_t i = 0; i < axes->count; i++) {
		axis->size = shlo_axis_size(axes->items[i]);
		axis->stride /= axis->size;
		if (!strcmp(text_of(axes->items[i], "name"), name))
			return true;
	}
	return false;
}

bool shlo_axis_part(struct shlo_axis *axis, int64_t before, int64_t size)
{
	if (before < 1 || size < 1 || before > axis->size || size > axis->size ||
	    axis->size % (before * size))
		return false;
	axis->stride *= axis->size / (before * size);
	axis->size = size;
	return true;
}

/* Adds an axis of the mesh, or a part of one. False: it is refused. */
static bool add_axis(struct grid *grid, const struct shlo_attr *ref)
{
	const struct shlo_attr *sub = shlo_attr_find(ref, "sub_axis_info");
	const char *name = text_of(ref, "name");
	struct shlo_axis axis;

	if (!shlo_axis_find(grid->axes, grid->devices, name, &axis))
		return refuse(grid, "the mesh has no axis", name);
	if (sub && !shlo_axis_part(&axis, number_of(sub, "pre_size"), number_of(sub, "size")))
		return refuse(grid,
			      "the size and position of the part do not divide the "
			      "axis",
			      name);
	if (grid->count == SHLO_MAX_RANK)
		return refuse(grid, "there are more than 64 axes", "");
	grid->at[grid->count++] = axis;
	return true;
}

static bool starts_group(const struct shlo_axis *axes, size_t count, int64_t position)
{
	for (size_t i = 0; i < count; i++)
		if (position / axes[i].stride % axes[i].size)
			return false;
	return true;
}

/*
 * Returns the position in the grid of member @index of the group that starts at @start; the last
 * axis varies fastest.
 */
static int64_t member(const struct shlo_axis *axes, size_t count, int64_t start, int64_t index)
{
	for (size_t i = count; i-- > 0; index /= axes[i].size)
		start += index % axes[i].size * axes[i].stride;
	return start;
}

const struct shlo_attr *shlo_axes_groups(struct shlo_arena *arena, const struct shlo_axis *axes,
					 size_t count, const int64_t *ids, int64_t devices)
{
	struct shlo_attr *attr = shlo_arena_alloc(arena, 1, sizeof(*attr));
	int64_t *data = shlo_arena_alloc(arena, (size_t)devices, sizeof(*data));
	int64_t dims[2] = { devices, 1 }, row = 0;

	for (size_t i = 0; i < count; i++) {
		dims[0] /= axes[i].size;
		dims[1] *= axes[i].size;
	}
	for (int64_t i = 0; i < devices; i++)
		for (int64_t k = 0; starts_group(axes, count, i) && k < dims[1]; k++)
			data[row++] = ids[member(axes, count, i, k)];
	attr->kind = SHLO_ATTR_DENSE;
	attr->type = shlo_tensor_type(arena, SHLO_I64, 2, dims);
	attr->data = data;
	return attr;
}

static const struct shlo_attr *table(struct grid *grid)
{
	struct shlo_arena *arena = &grid->file->arena;
	int64_t dims[2] = { 0, 1 }, *ids;

	for (size_t i = 0; i < grid->count; i++)
		if (__builtin_mul_overflow(dims[1], grid->at[i].size, &dims[1]) ||
		    dims[1] > grid->devices)
			dims[1] = grid->devices + 1;
	for (int64_t i = 0; i < grid->devices; i++)
		dims[0] += starts_group(grid->at, grid->count, i);
	if (dims[0] * dims[1] != grid->devices) {
		refuse(grid, "its axes have devices in common", "");
		return NULL;
	}
	ids = shlo_arena_alloc(arena, (size_t)grid->devices, sizeof(*ids));
	for (int64_t i = 0; i < grid->devices; i++)
		ids[i] = i;
	shlo_ints_of(grid->ids, ids, (size_t)grid->devices);
	return shlo_axes_groups(arena, grid->at, grid->count, ids, grid->devices);
}

/* Returns the mesh of an attribute; NULL: the module does not define it. */
static const struct shlo_attr *mesh_of(struct shlo_file *file, const struct shlo_module *module,
				       const struct shlo_op *op, const struct shlo_attr *groups)
{
	const struct shlo_attr *mesh = shlo_attr_find(groups, "mesh");
	const char *name = mesh && mesh->text ? mesh->text : "";

	if (mesh && mesh->kind == SHLO_ATTR_DICT)
		return mesh;
	mesh = shlo_attr_find(&module->meshes, name);
	/* A symbol that names a function is accepted here; a run of the operation fails then. */
	if (!mesh && !shlo_function_find(module, name))
		shlo_refuse(file, op->location, op->name, "replica_groups: there is no mesh @%s",
			    name);
	return mesh;
}

static void resolve(struct shlo_file *file, const struct shlo_module *module, struct shlo_op *op)
{
	for (size_t i = 0; i < op->attrs.count; i++) {
		const struct shlo_attr *groups = op->attrs.items[i], *mesh, *axes;
		struct grid grid = { .file = file, .op = op };
		bool good;

		if (strcmp(op->attrs.names[i], "replica_groups") || groups->kind != SHLO_ATTR_DICT)
			continue;
		mesh = mesh_of(file, module, op, groups);
		axes = shlo_attr_find(groups, "axes");
		grid.axes = shlo_attr_find(mesh, "axes");
		grid.ids = shlo_attr_find(mesh, "device_ids");
		if (!mesh)
			continue;
		if (!axes || axes->kind != SHLO_ATTR_ARRAY || !grid.axes ||
		    grid.axes->kind != SHLO_ATTR_ARRAY) {
			refuse(&grid,
			       "the mesh must have a list of axes, and the groups a list of those "
			       "along which they lie",
			       "");
			continue;
		}
		good = measure(&grid);
		for (size_t k = 0; good && k < axes->count; k++)
			good = add_axis(&grid, axes->items[k]);
		if (good)
			op->groups = table(&grid);
	}
}

static void resolve_block(struct shlo_file *file, const struct shlo_module *module,
			  const struct shlo_block *block)
{
	for (size_t i = 0; i < block->op_count; i++) {
		struct shlo_op *op = block->ops[i];

		resolve(file, module, op);
		for (size_t k = 0; k < op->region_count; k++)
			resolve_block(file, module, &op->regions[k]->block);
	}
}

void shlo_resolve_meshes(struct shlo_file *file)
{
	for (size_t m = 0; m < file->module_count; m++)
		for (size_t i = 0; i < file->modules[m]->function_count; i++)
			if (file->modules[m]->functions[i]->region)
				resolve_block(file, file->modules[m],
					      &file->modules[m]->functions[i]->region->block);
}
