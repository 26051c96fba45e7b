/* SPDX-License-Identifier: MIT */
/* Graphs that are kept from one run of a program to the next. */
#ifndef SHLO_KEPT_H
#define SHLO_KEPT_H

#include "device.h"
#include "module.h"

/* The graphs depend on these members alone: they hold no value that a run computes. */
struct shlo_kept_key {
	const void *owner; /* the program */
	const struct shlo_module *module;
	WNNContext context;
	uint64_t loop_limit, unroll_limit;
};

/* A module, with its loops unrolled, and the device with its graphs. */
struct shlo_kept {
	struct shlo_kept_key key;
	struct shlo_kept *next;
	struct shlo_arena arena;	  /* memory of the unrolled module */
	const struct shlo_module *module; /* NULL: not unrolled yet */
	struct shlo_device *device;
	uint64_t serial; /* its number among all that were made, from 1 */
	/* bytes of the graphs and the unrolled module, as of when it was given back */
	size_t bytes;
};

/*
 * Returns what an earlier run left for this key, or else a new object, which holds a reference to
 * the context; NULL: memory is exhausted. It belongs to the caller, so that no other thread uses or
 * frees it, until it is given back.
 */
struct shlo_kept *shlo_kept_take(const struct shlo_kept_key *key);
/*
 * Keeps the graphs for the next run. The process keeps the newest ones, up to a number and a size.
 */
void shlo_kept_give(struct shlo_kept *kept);
void shlo_kept_free(struct shlo_kept *kept);
/* Frees all that is kept for a program; NULL: for all programs. Returns whether there was any. */
bool shlo_kept_drop(const void *owner);

#endif
