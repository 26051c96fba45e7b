/* SPDX-License-Identifier: MIT */
/*
 * Host threads that share the work of one instruction. Which thread does which part has no
 * influence on the result: parts write different elements.
 */
#ifndef ONPU_MACHINE_THREADS_H
#define ONPU_MACHINE_THREADS_H

#include <stdbool.h>

struct onpu_pool;
struct onpu_sim_memory;

/* @threads includes the caller of onpu_pool_run(); NULL when a thread cannot be started. */
struct onpu_pool *onpu_pool_create(const struct onpu_sim_memory *memory, unsigned int threads);
void onpu_pool_destroy(struct onpu_pool *pool);
unsigned int onpu_pool_threads(const struct onpu_pool *pool);

/*
 * Calls fn(arg, part, thread) for every part below @parts, in any order, and waits for all; while it
 * does so it calls idle(idle_arg) now and then.
 */
void onpu_pool_run(struct onpu_pool *pool,
		   void (*fn)(void *arg, unsigned int part, unsigned int thread), void *arg,
		   unsigned int parts, void (*idle)(const void *idle_arg), const void *idle_arg);

/* Whether the calling thread was created by a pool. */
bool onpu_pool_helper(void);

/*
 * The default floating-point environment for the calling thread: round to nearest even,
 * subnormals kept, no traps. Returns what onpu_fp_leave() needs to bring back the old one.
 */
unsigned long long onpu_fp_enter(void);
void onpu_fp_leave(unsigned long long saved);

#endif
