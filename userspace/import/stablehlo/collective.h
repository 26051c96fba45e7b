/* SPDX-License-Identifier: MIT */
/* Groups of processes, and the exchange of values within a group, for all collective operations. */
#ifndef SHLO_COLLECTIVE_H
#define SHLO_COLLECTIVE_H

#include "world.h"

/* How ids in replica_groups name processes; the names are those of the specification. */
enum shlo_grouping {
	CROSS_REPLICA,	 /* replicas: a group has their processes of one partition */
	CROSS_PARTITION, /* partitions: a group has their processes of one replica */
	CROSS_BOTH,	 /* replicas: a group has their processes of all partitions */
	FLATTENED	 /* processes */
};

/*
 * Returns the grouping of all_gather, all_reduce, collective_reduce or reduce_scatter, which
 * depends on use_global_device_ids and on whether there is a channel.
 */
enum shlo_grouping shlo_grouping_by_flag(const struct shlo_op *op);
/*
 * Fills in the group of this process; group->own is group->count when it belongs to none. Returns
 * the tensor that holds the list of members, which the caller releases.
 */
struct shlo_tensor *shlo_group_of(struct shlo_call *call, enum shlo_grouping grouping,
				  struct shlo_group *group);
/* Fails when the process belongs to none of the groups. */
void shlo_need_group(struct shlo_call *call, const struct shlo_group *group);

/*
 * Returns the member that is the root for result @i: the number in the last operand if that names
 * roots, else the first member.
 */
size_t shlo_root_of(struct shlo_call *call, const struct shlo_group *group, size_t i);

/* Returns a tensor as memory for @count numbers of 64 bits, or pointers. */
struct shlo_tensor *shlo_scratch(struct shlo_run *run, size_t count);

/* Slices that go to and come from each member of a group; one of size 0 is not transferred. */
struct shlo_exchange {
	struct shlo_tensor *room;
	struct shlo_shard *out, *in;
};

/* Returns an exchange with @count members, in which all slices have size 0. */
struct shlo_exchange shlo_exchange_new(struct shlo_run *run, size_t count);
/* Exchanges the slices with the group, and releases their list. */
void shlo_exchange_swap(struct shlo_call *call, const struct shlo_group *group,
			struct shlo_exchange *exchange);

/* Returns a tuple of the values that all members have as this operand. */
struct shlo_tensor *shlo_gathered(struct shlo_call *call, const struct shlo_group *group,
				  size_t operand);
/*
 * Cuts x along @dim into one slice for each member, and exchanges them. Returns a tuple: item i is
 * the slice that member i sent to this process.
 */
struct shlo_tensor *shlo_dealt(struct shlo_call *call, const struct shlo_group *group,
			       const struct shlo_tensor *x, int dim);

#endif
