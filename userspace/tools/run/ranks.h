/* SPDX-License-Identifier: MIT */
/* webnn-run: programs that mpirun has started as several ranks. */
#ifndef ONPU_TOOLS_RUN_RANKS_H
#define ONPU_TOOLS_RUN_RANKS_H

#include "run.h"

/* The rank of the process; alone it is rank 0 of 1. */
struct ranks {
	struct WNNStablehloWorldImpl *world; /* NULL: alone */
	uint32_t rank, count, local_rank;
};

/* Joins the others where there are any; functions return DONE or an exit code after a message. */
int ranks_join(struct ranks *ranks);
/* Waits until all ranks have come here without an error. */
int ranks_agree(const struct ranks *ranks);
/* Ends the rank; after an error it ends all, and does not return when there are others. */
void ranks_leave(struct ranks *ranks, int ret);

/*
 * The node of the NPU that this rank takes, where the machine has several and they are asked for:
 * ranks of a machine take one after the other. False: there is no choice.
 */
bool ranks_node(const struct ranks *ranks, const char *device, char *node, size_t room);

/* Whether a file has its name for each rank, which has %r in it. */
bool ranks_has_number(const char *path);
/* The name with the number in place of %r, to be freed; NULL: memory is exhausted. */
char *ranks_path(const struct ranks *ranks, const char *path);

#endif
