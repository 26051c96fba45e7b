/* SPDX-License-Identifier: MIT */
/* Processes as ranks: process i is rank i. */
#ifndef SHLO_WORLD_RANKS_H
#define SHLO_WORLD_RANKS_H

#include "ranks.h"
#include "world.h"

struct shlo_ranks_world {
	struct shlo_world world;
	struct WNNStablehloWorldImpl *ranks;
	const struct shlo_attr *infeed;
};

void shlo_ranks_world_init(struct shlo_ranks_world *world, struct WNNStablehloWorldImpl *ranks,
			   size_t replicas, size_t partitions);

#endif
