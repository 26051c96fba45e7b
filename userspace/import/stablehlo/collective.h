/* SPDX-License-Identifier: MIT */
/* Groups of processes and the exchange of values in them, for all collective operations. */
#ifndef SHLO_COLLECTIVE_H
#define SHLO_COLLECTIVE_H

#include "world.h"

/* How the ids of replica_groups become processes. */
enum shlo_grouping { CROSS_REPLICA, CROSS_PARTITION, CROSS_BOTH, FLATTENED };

/*
 * The grouping of all_gather, all_reduce and reduce_scatter, which their flag use_global_device_ids
 * selects.
 */
enum shlo_grouping shlo_grouping_by_flag(const struct shlo_op *op);
/* The group of this process; its members are in a value, which is returned. */
struct shlo_tensor *shlo_group_of(struct shlo_call *call, enum shlo_grouping grouping,
				  struct shlo_group *group);
/* Fails when the process belongs to none of the groups. */
void shlo_need_group(struct shlo_call *call, const struct shlo_group *group);

/*
 * The member of a group whose value, or who, gives or gets result @i: the first, unless the last operand
 * holds it.
 */
size_t shlo_root_of(struct shlo_call *call, const struct shlo_group *group, size_t i);

/* Room for numbers of 64 bits, or pointers. */
struct shlo_tensor *shlo_room(struct shlo_run *run, size_t count);

/* A part for each member of a group; all are empty. */
struct shlo_parts {
	struct shlo_tensor *room;
	struct shlo_part *out, *in;
};

struct shlo_parts shlo_parts_new(struct shlo_run *run, size_t count);
/* Swaps them, after which they are gone. */
void shlo_parts_swap(struct shlo_call *call, const struct shlo_group *group,
		     struct shlo_parts *parts);

size_t shlo_bytes_of(const struct shlo_tensor *x);
/* The values of all members, as a tuple of them. */
struct shlo_tensor *shlo_gathered(struct shlo_call *call, const struct shlo_group *group,
				  size_t operand);
/* Every member gets a part from each: item i of the result is what member i had for this one. */
struct shlo_tensor *shlo_dealt(struct shlo_call *call, const struct shlo_group *group,
			       const struct shlo_tensor *x, int dim);

#endif
