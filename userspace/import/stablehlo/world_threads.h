/* SPDX-License-Identifier: MIT */
/* Processes as threads of this one, which exchange values through memory. */
#ifndef SHLO_WORLD_THREADS_H
#define SHLO_WORLD_THREADS_H

#include "world.h"

/* A process: body(data) runs in a thread of its own, and its errors leave by the run's guard. */
struct shlo_thread {
	struct shlo_run *run;
	void (*body)(void *data);
	void *data;
};

struct shlo_threads {
	size_t replicas, partitions;
	const struct shlo_attr *infeed; /* names of functions that give its values, or NULL */
	struct shlo_thread *processes;	/* an array of replicas * partitions */
};

/*
 * Runs all processes to their ends; when one fails, those that wait for others fail, too. False:
 * @error has the status and message of the first that did not fail because of another. The world of
 * the runs is gone afterwards, though their pointers to it remain.
 */
bool shlo_threads_run(const struct shlo_threads *threads, struct shlo_guard *error);

#endif
