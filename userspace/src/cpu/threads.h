/* SPDX-License-Identifier: MIT */
/*
 * The thread pool of a context. The caller works too; it never waits for a thread that comes too
 * late to help.
 */
#ifndef WNN_CPU_THREADS_H
#define WNN_CPU_THREADS_H

#include <stdbool.h>
#include <stdint.h>

struct cpu_threads;

/*
 * A function that does one item of work. @worker is below the number of threads; items that run at
 * the same time have different workers.
 */
typedef void (*cpu_work_fn)(void *argument, int64_t item, unsigned int worker);

/* Creates a pool; its threads start with the first work for them. NULL when out of memory. */
struct cpu_threads *cpu_threads_create(unsigned int threads);
/* Destroys a pool, which may be NULL; does not wait for the threads to end. */
void cpu_threads_destroy(struct cpu_threads *pool);

/*
 * Sets how long threads without work spin before they sleep while more work is expected
 * (cpu_threads_expect()); otherwise they spin for a short, fixed time. 0: they always sleep at
 * once. Call it before the first work.
 */
void cpu_threads_set_patience(struct cpu_threads *pool, uint64_t ns);
void cpu_threads_expect(struct cpu_threads *pool, bool more);

/*
 * Runs work for the items 0 to count - 1, in any order, and returns when all are done. Only one
 * caller at a time.
 */
void cpu_threads_run(struct cpu_threads *pool, int64_t count, cpu_work_fn work, void *argument);

#endif
