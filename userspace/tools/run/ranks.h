/* SPDX-License-Identifier: MIT */
/* webnn-run: programs that mpirun has started as several ranks. */
#ifndef ONPU_TOOLS_RUN_RANKS_H
#define ONPU_TOOLS_RUN_RANKS_H

#include "run.h"

/* The rank of this process; without others it is rank 0 of 1. */
struct ranks {
	struct WNNStablehloWorldImpl *world; /* NULL: mpirun has not started the program */
	uint32_t rank, count, local_rank;
};

/*
 * Joins the other ranks, if mpirun has started the program. Returns DONE, or an exit code after a
 * message.
 */
int ranks_join(struct ranks *ranks);
/*
 * Waits until all ranks have arrived here without an error. Returns DONE, or the exit code after a
 * message.
 */
int ranks_agree(const struct ranks *ranks);
/*
 * Leaves the world. If mpirun has started the program and @ret is not 0, ends the processes of all
 * ranks, also this one: the function does not return.
 */
void ranks_leave(struct ranks *ranks, int ret);

/*
 * Sets the node of the NPU for this rank, and returns true, if there are several ranks, the machine
 * has several NPUs, and @device, or without it WEBNN_DEVICE, is npu without a number. The ranks of
 * a machine take its NPUs in order.
 */
bool ranks_node(const struct ranks *ranks, const char *device, char *node, size_t room);

/* Returns whether a path contains %r, so that each rank has a file of its own. */
bool ranks_has_number(const char *path);
/*
 * Returns a path for the caller to free, with the rank's number instead of %r if mpirun has started
 * the program; NULL: memory is exhausted.
 */
char *ranks_path(const struct ranks *ranks, const char *path);

#endif
