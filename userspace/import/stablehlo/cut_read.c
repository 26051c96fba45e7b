// SPDX-License-Identifier: MIT
/* Reads a sharding of Shardy, and finds the slices that it gives to each device. */
#include "cut_read.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

void shlo_reading_refuse(struct shlo_reading *r, const char *reason, const char *name)
{
	if (!r->is_wrong && !r->is_quiet)
		shlo_refuse(r->file, r->location, r->op, "sharding of %s %zu: %s%s%s%s", r->what,
			    r->index, reason, *name ? " '" : "", name, *name ? "'" : "");
	r->is_wrong = true;
}

/* Skips blanks and the given word; false: the text has something else there. */
static bool take(struct shlo_reading *r, const char *word)
{
	const char *at = r->at;

	while (isspace((unsigned char)*at))
		at++;
	if (strncmp(at, word, strlen(word)))
		return false;
	r->at = at + strlen(word);
	return true;
}

void shlo_reading_expect(struct shlo_reading *r, const char *word)
{
	if (!r->is_wrong && !take(r, word))
		shlo_reading_refuse(r, shlo_arena_printf(&r->file->arena, "'%s' is missing", word),
				    "");
}

static int64_t read_number(struct shlo_reading *r)
{
	char *end;
	int64_t number = strtoll(r->at, &end, 10);

	if (end == r->at || number < 1)
		shlo_reading_refuse(r, "a number of at least 1 is missing", "");
	r->at = end;
	return number;
}

/*
 * Reads and returns a name and skips the quote after it; the quote before it is read already.
 * Without a quote at the end, refuses and returns "".
 */
static const char *read_name(struct shlo_reading *r)
{
	const char *start = r->at, *end = strchr(start, '"');

	if (!end) {
		shlo_reading_refuse(r, "a name in quotation marks has no end", "");
		return "";
	}
	r->at = end + 1;
	return shlo_arena_text(&r->file->arena, start, (size_t)(end - start));
}

static const struct shlo_attr *axes_of(const struct shlo_attr *mesh)
{
	const struct shlo_attr *axes = shlo_attr_find(mesh, "axes");

	return axes && axes->kind == SHLO_ATTR_ARRAY ? axes : NULL;
}

/* Whether values are cut along an axis; along other axes, each device has the whole value. */
static bool is_manual(struct shlo_reading *r, const char *name)
{
	return !r->manual || strstr(r->manual, shlo_arena_printf(&r->file->arena, "\"%s\"", name));
}

/* Demands that the mesh is a grid of all partitions; refuses and returns false when it is not. */
static bool check_mesh(struct shlo_reading *r)
{
	const struct shlo_attr *axes = axes_of(r->mesh);
	int64_t devices = 1;

	if (!axes) {
		shlo_reading_refuse(r, "there is no mesh", r->mesh_name);
		return false;
	}
	for (size_t i = 0; i < axes->count && devices <= (int64_t)r->file->partitions; i++) {
		int64_t size = shlo_axis_size(axes->items[i]);

		if (size < 1 || __builtin_mul_overflow(devices, size, &devices)) {
			devices = 0;
			break;
		}
	}
	if (devices != (int64_t)r->file->partitions)
		shlo_reading_refuse(r,
				    shlo_arena_printf(&r->file->arena,
						      "the program is loaded for %zu partitions, "
						      "which is not the number of devices of mesh",
						      (size_t)r->file->partitions),
				    r->mesh_name);
	return !r->is_wrong;
}

bool shlo_axes_apart(const struct shlo_axis *a, const struct shlo_axis *b)
{
	return a->size == 1 || b->size == 1 || a->stride % (b->stride * b->size) == 0 ||
	       b->stride % (a->stride * a->size) == 0;
}

static void add_axis(struct shlo_reading *r, int dim, const char *name, int64_t before,
		     int64_t size)
{
	struct shlo_axis axis;

	if (!check_mesh(r))
		return;
	if (!shlo_axis_find(axes_of(r->mesh), (int64_t)r->file->partitions, name, &axis)) {
		shlo_reading_refuse(r, "the mesh has no axis", name);
		return;
	}
	if (size && !shlo_axis_part(&axis, before, size)) {
		shlo_reading_refuse(r,
				    "the size and position of the part do not divide the "
				    "axis",
				    name);
		return;
	}
	if (r->count == SHLO_READING_AXES) {
		shlo_reading_refuse(r, "the sharding has more than 64 axes", "");
		return;
	}
	if (!is_manual(r, name))
		return;
	for (size_t i = 0; i < r->count; i++)
		if (!shlo_axes_apart(&axis, &r->axes[i])) {
			shlo_reading_refuse(r, "the sharding names twice a part of axis", name);
			return;
		}
	r->dims[r->count] = dim;
	r->names[r->count] = size ? shlo_arena_printf(&r->file->arena, "\"%s\":(%lld)%lld", name,
						      (long long)before, (long long)size) :
				    shlo_arena_printf(&r->file->arena, "\"%s\"", name);
	r->axes[r->count++] = axis;
}

/* Reads the axes of one dimension, or with @dim -1 those of sums that are not yet made. */
static void read_dimension(struct shlo_reading *r, int dim)
{
	shlo_reading_expect(r, "{");
	while (!r->is_wrong && !take(r, "}")) {
		int64_t before = 1, size = 0;
		const char *name;

		take(r, ",");
		if (take(r, "?"))
			continue;
		shlo_reading_expect(r, "\"");
		name = r->is_wrong ? "" : read_name(r);
		if (!r->is_wrong && take(r, ":(")) {
			before = read_number(r);
			shlo_reading_expect(r, ")");
			size = r->is_wrong ? 1 : read_number(r);
		}
		if (!r->is_wrong)
			add_axis(r, dim, name, before, size);
	}
	if (!r->is_wrong && *r->at == 'p')
		for (r->at++; isdigit((unsigned char)*r->at); r->at++)
			;
}

/*
 * Reads what follows the dimensions, up to the end of the sharding: `unreduced`, the axes along
 * which sums are still to be made. Skips everything else, such as replicated axes.
 */
static void read_rest(struct shlo_reading *r)
{
	r->cut_count = r->count;
	for (int depth = 0; *r->at && (depth || *r->at != '>'); r->at++) {
		if (!depth && take(r, "unreduced")) {
			shlo_reading_expect(r, "=");
			read_dimension(r, -1);
			if (r->is_wrong)
				return;
			r->at--;
		} else if (strchr("<[{(", *r->at)) {
			depth++;
		} else if (strchr(">]})", *r->at)) {
			depth--;
		}
	}
	shlo_reading_expect(r, ">");
}

static void read_mesh(struct shlo_reading *r)
{
	const char *start, *name;

	shlo_reading_expect(r, "<");
	if (!r->is_wrong && take(r, "mesh"))
		shlo_reading_refuse(r,
				    "a mesh within it is not supported: define the mesh with "
				    "sdy.mesh, and name it",
				    "");
	shlo_reading_expect(r, "@");
	if (r->is_wrong)
		return;
	if (take(r, "\"")) {
		name = read_name(r);
	} else {
		start = r->at;
		r->at += strcspn(r->at, ",> ");
		name = shlo_arena_text(&r->file->arena, start, (size_t)(r->at - start));
	}
	r->mesh = shlo_attr_find(&r->module->meshes, name);
	r->mesh_name = name;
	shlo_reading_expect(r, ",");
}

int64_t *shlo_reading_positions(struct shlo_reading *r)
{
	int64_t devices = (int64_t)r->file->partitions;
	int64_t *ids = shlo_arena_alloc(&r->file->arena, (size_t)devices, sizeof(*ids));
	int64_t *positions = shlo_arena_alloc(&r->file->arena, (size_t)devices, sizeof(*positions));
	const struct shlo_attr *said = shlo_attr_find(r->mesh, "device_ids");

	for (int64_t i = 0; i < devices; i++) {
		ids[i] = i;
		positions[i] = -1;
	}
	if (said && shlo_ints_of(said, ids, (size_t)devices) != devices)
		shlo_reading_refuse(r, "device_ids of the mesh must have a number for each device",
				    "");
	for (int64_t i = 0; i < devices && !r->is_wrong; i++) {
		if (ids[i] < 0 || ids[i] >= devices || positions[ids[i]] >= 0)
			shlo_reading_refuse(r, "device_ids of the mesh must name each device once",
					    "");
		else
			positions[ids[i]] = i;
	}
	return positions;
}

/*
 * Finds the groups of devices that differ along these axes alone. Returns their number of members;
 * *members: for each device those of its group, the last axis varying fastest; *own: its number
 * among them. Because the axes do not overlap, no group has more members than there are devices.
 */
static size_t groups_of(struct shlo_reading *r, size_t first, size_t end, const int64_t *positions,
			const size_t **members, const size_t **own)
{
	struct shlo_arena *arena = &r->file->arena;
	size_t devices = r->file->partitions, count = 1, *at, *which, *who;

	for (size_t i = first; i < end; i++)
		count *= (size_t)r->axes[i].size;
	at = shlo_arena_alloc(arena, devices * count, sizeof(*at));
	which = shlo_arena_alloc(arena, devices, sizeof(*which));
	who = shlo_arena_alloc(arena, devices, sizeof(*who));
	for (size_t d = 0; d < devices; d++)
		who[positions[d]] = d;
	for (size_t d = 0; d < devices; d++) {
		int64_t start = positions[d];

		for (size_t i = first; i < end; i++) {
			int64_t digit = positions[d] / r->axes[i].stride % r->axes[i].size;

			start -= digit * r->axes[i].stride;
			which[d] = which[d] * (size_t)r->axes[i].size + (size_t)digit;
		}
		for (size_t k = 0; k < count; k++) {
			int64_t position = start;
			size_t rest = k;

			for (size_t i = end; i-- > first; rest /= (size_t)r->axes[i].size)
				position += (int64_t)(rest % (size_t)r->axes[i].size) *
					    r->axes[i].stride;
			at[d * count + k] = who[position];
		}
	}
	*members = at;
	*own = which;
	return count;
}

/*
 * Returns the slice that each device has, and the groups of devices that have the other slices and
 * the addends; NULL after an earlier refusal.
 */
static const struct shlo_slices *slices_of(struct shlo_reading *r, const struct shlo_type *type)
{
	struct shlo_arena *arena = &r->file->arena;
	struct shlo_slices *slices = shlo_arena_alloc(arena, 1, sizeof(*slices));
	int64_t *parts = shlo_arena_alloc(arena, (size_t)type->rank, sizeof(*parts));
	int64_t *positions = shlo_reading_positions(r);

	if (r->is_wrong)
		return NULL;
	slices->rank = type->rank;
	for (int i = 0; i < type->rank; i++)
		parts[i] = 1;
	for (size_t i = 0; i < r->cut_count; i++)
		parts[r->dims[i]] *= r->axes[i].size;
	slices->parts = parts;
	/* Axes come in the order of dimensions, so that slices are in row-major order. */
	slices->count = groups_of(r, 0, r->cut_count, positions, &slices->devices, &slices->own);
	slices->addends = groups_of(r, r->cut_count, r->count, positions, &slices->adding,
				    &slices->own_addend);
	return slices;
}

/* Demands that sizes are known, and that the axes cut each dimension into equal slices. */
static void check_dimensions(struct shlo_reading *r, const struct shlo_type *type)
{
	for (int i = 0; i < type->rank; i++) {
		int64_t parts = 1;

		for (size_t k = 0; k < r->count; k++)
			parts *= r->dims[k] == i ? r->axes[k].size : 1;
		if (type->dims[i] == SHLO_DYNAMIC)
			shlo_reading_refuse(r,
					    shlo_arena_printf(&r->file->arena,
							      "the size of dimension %d is not "
							      "known; a value that is cut needs "
							      "known sizes",
							      i),
					    "");
		else if (type->dims[i] % parts)
			shlo_reading_refuse(
				r,
				shlo_arena_printf(&r->file->arena,
						  "dimension %d has size %lld and cannot "
						  "be cut into %lld equal slices",
						  i, (long long)type->dims[i], (long long)parts),
				"");
	}
}

/* Refuses a sharding of @rank dimensions for a value of another rank, or of no tensor's type. */
static void refuse_rank(struct shlo_reading *r, const struct shlo_type *type, int rank)
{
	struct shlo_arena *arena = &r->file->arena;
	const char *text = shlo_type_text(arena, type);

	if (type->kind != SHLO_TENSOR)
		shlo_reading_refuse(
			r,
			shlo_arena_printf(arena, "the value is %s, and only tensors are cut", text),
			"");
	else
		shlo_reading_refuse(
			r,
			shlo_arena_printf(
				arena,
				"the sharding has rank %d, which is not that of the value, "
				"%s",
				rank, text),
			"");
}

void shlo_reading_axes(struct shlo_reading *r, const struct shlo_type *type)
{
	int dim = 0;

	r->count = 0;
	read_mesh(r);
	shlo_reading_expect(r, "[");
	while (!r->is_wrong && !take(r, "]")) {
		take(r, ",");
		read_dimension(r, dim++);
	}
	if (!r->is_wrong)
		read_rest(r);
	if (r->is_wrong || !r->count)
		return;
	if (type->kind != SHLO_TENSOR || type->rank != dim)
		refuse_rank(r, type, dim);
	else
		check_dimensions(r, type);
}

const struct shlo_slices *shlo_reading_sharding(struct shlo_reading *r,
						const struct shlo_type *type)
{
	shlo_reading_axes(r, type);
	return r->is_wrong || !r->count ? NULL : slices_of(r, type);
}
