/* SPDX-License-Identifier: MIT */
/* Several processes that run one module: how they exchange values. */
#ifndef SHLO_WORLD_H
#define SHLO_WORLD_H

#include "run.h"

#define SHLO_MAX_PROCESSES 1024

struct shlo_group {
	size_t count;
	const size_t *members; /* process numbers, in the order of the group */
	size_t own;	       /* index of this process in members; count: it is not a member */
};

/* Bytes that go to another process, or memory for those that come from it. */
struct shlo_shard {
	void *data;
	size_t size; /* 0: nothing to transfer */
};

/*
 * The number of a process is replica * partitions + partition. All collective operations are
 * composed of swap(): an implementation provides it and the other functions below.
 */
struct shlo_world {
	size_t replicas, partitions;
	/*
	 * Exchanges with the group: @out has a slice for each member, and @in memory for each
	 * member's slice, whose size both sides know. The slice for the process itself is not
	 * copied.
	 */
	void (*swap)(struct shlo_run *run, const struct shlo_group *group, int64_t channel,
		     const struct shlo_shard *out, const struct shlo_shard *in);
	/*
	 * Send and receive values by a channel. @process: the receiver or sender; -1: any process
	 * that uses the channel.
	 */
	void (*send)(struct shlo_run *run, int64_t channel, int64_t process, size_t count,
		     struct shlo_tensor *const *values);
	/* @types: the types that the file gives the values */
	void (*receive)(struct shlo_run *run, int64_t channel, int64_t process, size_t count,
			const struct shlo_type *const *types, struct shlo_tensor **values);
	/*
	 * Returns the name of the function that computes the infeed's next value; NULL: there is
	 * none.
	 */
	const char *(*infeed)(struct shlo_run *run);
	/* Runs functions as processes of their own; NULL: they run in threads. */
	void (*run_parallel)(struct shlo_call *call, const struct shlo_attr *programs);
};

/*
 * Fails unless the functions of interpreter.run_parallel take as many values in all as it has
 * operands, and give as many as it has results.
 */
void shlo_parallel_check(struct shlo_call *call, const struct shlo_attr *programs);
/* Returns the function of a process of interpreter.run_parallel; fails when there is none. */
const struct shlo_function *
shlo_parallel_function(struct shlo_call *call, const struct shlo_attr *programs, size_t process);

#endif
