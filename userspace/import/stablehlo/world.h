/* SPDX-License-Identifier: MIT */
/* Several processes that run one module: how they meet. */
#ifndef SHLO_WORLD_H
#define SHLO_WORLD_H

#include "run.h"

struct shlo_group {
	size_t count;
	const size_t *members; /* numbers of processes, in the order of the group */
	size_t own;	       /* which of them is this process; count: none */
};

/* Bytes that go to another process, or room for those that come. */
struct shlo_part {
	void *data;
	size_t size; /* 0: nothing */
};

/*
 * Processes are numbered replica * partitions + partition. All operations on several devices are
 * made of swap(): whoever carries values between processes implements that and the mailbox.
 */
struct shlo_world {
	size_t replicas, partitions;
	/*
	 * All members of a group come here, with a part for each member and room for what that one
	 * has for this process, whose size both know. Own parts are left alone.
	 */
	void (*swap)(struct shlo_run *run, const struct shlo_group *group, int64_t channel,
		     const struct shlo_part *out, const struct shlo_part *in);
	/* @process: who takes it, or gives it; -1: whoever comes to the channel. */
	void (*send)(struct shlo_run *run, int64_t channel, int64_t process, size_t count,
		     struct shlo_tensor *const *values);
	/* @types: of the values as the file has them. */
	void (*receive)(struct shlo_run *run, int64_t channel, int64_t process, size_t count,
			const struct shlo_type *const *types, struct shlo_tensor **values);
	/* The function that gives the next value of the infeed; NULL: there is none. */
	const char *(*infeed)(struct shlo_run *run);
	/* Runs functions as processes of their own; NULL: in threads. */
	void (*run_parallel)(struct shlo_call *call, const struct shlo_attr *programs);
};

/* The function of a process of interpreter.run_parallel; it fails where there is none. */
const struct shlo_function *
shlo_parallel_function(struct shlo_call *call, const struct shlo_attr *programs, size_t process);

#endif
