/* SPDX-License-Identifier: MIT */
/*
 * Values that are cut over partitions, as their shardings say: each device has one slice of a
 * value, or the whole. A program on partitions computes with whole values, on every device, except
 * in regions of sdy.manual_computation, which take and give slices. divide.h makes such regions.
 */
#ifndef SHLO_CUT_H
#define SHLO_CUT_H

#include <webnn/stablehlo.h>

#include "module.h"

struct shlo_run;
struct shlo_tensor;

/*
 * How a value is cut. Devices with equal coordinates along all axes that do not cut it make a
 * group.
 */
struct shlo_slices {
	int rank;
	size_t count;	      /* number of slices, and devices of a group */
	const int64_t *parts; /* number of slices along each dimension */
	/*
	 * devices: for each device a row of @count numbers: the devices of its group that have the
	 * slices, in row-major order; own: for each device the index of its own slice
	 */
	const size_t *devices, *own;
	/*
	 * Number of devices whose values must be added up to give a slice (unreduced), else 1.
	 * adding: for each device a row of @addends numbers: the devices that have the addends of
	 * its slice; own_addend: for each device the index of its own addend. A whole value becomes
	 * the addend of the first device, and zeros on the others.
	 */
	size_t addends;
	const size_t *adding, *own_addend;
};

/* The operands and results of sdy.manual_computation, or arguments and results of a function. */
struct shlo_cut {
	size_t partitions;
	const struct shlo_slices **in, **out; /* NULL: whole on each device */
	/*
	 * whether the value outside of the region has only this device's slice, as nothing uses
	 * more of it
	 */
	bool *in_local, *out_local;
};

/*
 * Finds the slices of all values in a file that is for partitions; what cannot be cut becomes a
 * refusal.
 */
void shlo_cut_resolve(struct shlo_file *file);
/* Returns the type of a slice; @slices may be NULL. */
const struct shlo_type *shlo_cut_type(struct shlo_arena *arena, const struct shlo_type *type,
				      const struct shlo_slices *slices);

/* Describes slices for the library's callers; @slices may be NULL. */
WNNStablehloSlices shlo_cut_tell(const struct shlo_slices *slices, size_t partitions);

/*
 * shlo_cut_slice() returns this device's slice of a whole value. shlo_cut_concat() returns the
 * whole value of which each device of the group has a slice; it adds up slices that are addends
 * first.
 */
struct shlo_tensor *shlo_cut_slice(struct shlo_run *run, const struct shlo_tensor *whole,
				   const struct shlo_slices *slices);
struct shlo_tensor *shlo_cut_concat(struct shlo_run *run, const struct shlo_tensor *slice,
				    const struct shlo_slices *slices);
/* Replaces the elements of a whole value, on each device of a replica, by those of the first. */
void shlo_cut_share(struct shlo_run *run, struct shlo_tensor *value);

#endif
