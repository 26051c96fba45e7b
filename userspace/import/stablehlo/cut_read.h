/* SPDX-License-Identifier: MIT */
/* Reads a sharding of Shardy, and finds the slices that it gives to each device. */
#ifndef SHLO_CUT_READ_H
#define SHLO_CUT_READ_H

#include "cut.h"
#include "mesh.h"

#define SHLO_READING_AXES 64

/* The state of reading one sharding, such as <@mesh, [{"x", ?}, {"y":(2)4}p1], …>. */
struct shlo_reading {
	struct shlo_file *file;
	const struct shlo_module *module;
	struct shlo_location location;
	/* for messages: the operation, and "argument" or the like, with the number @index */
	const char *op, *what;
	size_t index;
	const char *at;
	const char *manual; /* text with the names of the axes that cut values here; NULL: all do */
	const struct shlo_attr *mesh;
	const char *mesh_name;
	bool is_wrong, is_quiet; /* quiet: an error in the sharding adds no refusal */
	struct shlo_axis axes[SHLO_READING_AXES];
	/* the dimension that each axis cuts; -1 for the last ones, along which there are addends */
	int dims[SHLO_READING_AXES];
	const char *names[SHLO_READING_AXES]; /* axes as a sharding names them */
	size_t count, cut_count; /* number of all axes, and of those that cut dimensions */
};

/* Adds a refusal for the first thing that is wrong; @name: "", or what it is about. */
void shlo_reading_refuse(struct shlo_reading *r, const char *reason, const char *name);
/*
 * Skips blanks and @word in the text; refuses the sharding when the text has something else there.
 */
void shlo_reading_expect(struct shlo_reading *r, const char *word);
/* Reads the axes of a sharding from its "<"; there are none when the value is not cut. */
void shlo_reading_axes(struct shlo_reading *r, const struct shlo_type *type);
/* Reads a sharding from its "<"; NULL: the value is not cut, or the sharding is refused. */
const struct shlo_slices *shlo_reading_sharding(struct shlo_reading *r,
						const struct shlo_type *type);

/* Returns the position of each device in the grid of the mesh, which may have its own order. */
int64_t *shlo_reading_positions(struct shlo_reading *r);
/* Whether two axes, or parts of axes, do not overlap. */
bool shlo_axes_apart(const struct shlo_axis *a, const struct shlo_axis *b);

#endif
