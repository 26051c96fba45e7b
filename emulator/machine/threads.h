/* SPDX-License-Identifier: MIT */
/*
 * Host threads that share the work of one instruction. The assignment of parts to threads does not
 * influence the result: parts write different elements.
 */
#ifndef ONPU_MACHINE_THREADS_H
#define ONPU_MACHINE_THREADS_H

#include <stdbool.h>

struct onpu_pool;
struct onpu_sim_memory;

/*
 * Creates a pool. @threads includes the caller of onpu_pool_run(). Returns NULL when there is no
 * memory or a thread cannot be started.
 */
struct onpu_pool *onpu_pool_create(const struct onpu_sim_memory *memory, unsigned int threads);
void onpu_pool_destroy(struct onpu_pool *pool);
unsigned int onpu_pool_threads(const struct onpu_pool *pool);

/*
 * Calls fn(arg, part, thread) for each part below @parts, in any order, and waits until all have
 * returned; while it waits it calls idle(idle_arg) repeatedly.
 */
void onpu_pool_run(struct onpu_pool *pool,
		   void (*fn)(void *arg, unsigned int part, unsigned int thread), void *arg,
		   unsigned int parts, void (*idle)(const void *idle_arg), const void *idle_arg);

/* Returns whether a pool created the calling thread. */
bool onpu_pool_helper(void);

/*
 * Sets the default floating-point environment for the calling thread: round to nearest even,
 * subnormals kept, no traps. Returns the old environment for onpu_fp_leave().
 */
unsigned long long onpu_fp_enter(void);
void onpu_fp_leave(unsigned long long saved);

#endif
