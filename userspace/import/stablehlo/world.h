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

/*
 * Processes are numbered replica * partitions + partition. All operations on several devices are
 * made of exchange(): whoever carries values between processes implements that and the mailbox.
 */
struct shlo_world {
	size_t replicas, partitions;
	/*
	 * All members of a group come here with as many values each; @all is filled with copies of
	 * those of every member, member by member, which belong to the caller.
	 */
	void (*exchange)(struct shlo_run *run, const struct shlo_group *group, int64_t channel,
			 size_t count, struct shlo_tensor *const *own, struct shlo_tensor **all);
	void (*send)(struct shlo_run *run, int64_t channel, size_t count,
		     struct shlo_tensor *const *values);
	void (*receive)(struct shlo_run *run, int64_t channel, size_t count,
			struct shlo_tensor **values);
	/* The function that gives the next value of the infeed; NULL: there is none. */
	const char *(*infeed)(struct shlo_run *run);
};

#endif
