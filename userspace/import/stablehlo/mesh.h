/* SPDX-License-Identifier: MIT */
/* Meshes: grids of devices with named axes, along which processes form groups. */
#ifndef SHLO_MESH_H
#define SHLO_MESH_H

#include "module.h"

/*
 * An axis of a mesh, or a part of one: (device / stride) % size is a device's coordinate along it.
 */
struct shlo_axis {
	int64_t size, stride;
};

/* Returns the size of an axis of a mesh; 0: it has none. */
int64_t shlo_axis_size(const struct shlo_attr *axis);
/*
 * Finds an axis by its name among those of a mesh, whose sizes are at least 1 and have the product
 * @devices; false: there is none.
 */
bool shlo_axis_find(const struct shlo_attr *axes, int64_t devices, const char *name,
		    struct shlo_axis *axis);
/*
 * Replaces an axis by a part of it, such as "x":(2)4: its size is @size, after a part of size
 * @before; false: it has no such part.
 */
bool shlo_axis_part(struct shlo_axis *axis, int64_t before, int64_t size);

/*
 * Returns the groups of devices that differ along these axes alone, as a table with a row for each
 * group; the last axis varies fastest. @ids: the device at each position of the mesh
 */
const struct shlo_attr *shlo_axes_groups(struct shlo_arena *arena, const struct shlo_axis *axes,
					 size_t count, const int64_t *ids, int64_t devices);

/* Replaces replica_groups that name axes of a known mesh by tables of ids, in the whole file. */
void shlo_resolve_meshes(struct shlo_file *file);

#endif
