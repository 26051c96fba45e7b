// SPDX-License-Identifier: MIT
/* Threads that share the items of one piece of work after the other. */
#include "cpu/threads.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "util/clock.h"
#include "util/malloc.h"
#include "util/thread.h"

/* How often an idle thread looks for work before it sleeps: some ten microseconds. */
#define SPINS 2000
/* And how long while more work is expected: to wake a thread takes half as long as a small operator. */
#define PATIENCE_NS 100000
/* How often it looks before it looks at the clock. */
#define CLOCK_SPINS 64

struct cpu_threads {
	atomic_uint refs; /* the owner and every thread */
	unsigned int threads, started;
	pthread_mutex_t lock;
	pthread_cond_t work, left;
	/* Under the lock; generation and inside are also looked at without. */
	atomic_uint generation; /* of work */
	atomic_uint inside;	/* threads at work */
	atomic_bool expects;	/* more work */
	uint64_t patience_ns;	/* 0: nobody looks, all sleep at once */
	bool open, quit;
	unsigned int next_worker;
	cpu_work_fn run;
	void *argument;
	int64_t count;
	_Atomic int64_t next;
};

static inline void relax(void)
{
#if defined(__x86_64__)
	__builtin_ia32_pause();
#elif defined(__aarch64__)
	__asm__ volatile("yield");
#endif
}

/* One that waits without sleeping; all zeros when it begins. */
struct wait {
	unsigned int turns;
	uint64_t end_ns;
};

/* After a moment; false when it is time to sleep. */
static bool look_again(const struct cpu_threads *pool, struct wait *wait)
{
	uint64_t now;

	if (!pool->patience_ns)
		return false;
	relax();
	if (++wait->turns < SPINS)
		return true;
	if (!atomic_load(&pool->expects))
		return false;
	if (wait->turns % CLOCK_SPINS)
		return true;
	now = wnn_clock_ns();
	if (!wait->end_ns)
		wait->end_ns = now + pool->patience_ns;
	return now < wait->end_ns;
}

static void put(struct cpu_threads *pool)
{
	if (atomic_fetch_sub(&pool->refs, 1) != 1)
		return;
	pthread_mutex_destroy(&pool->lock);
	pthread_cond_destroy(&pool->work);
	pthread_cond_destroy(&pool->left);
	wnn_free(pool);
}

static void take_items(struct cpu_threads *pool, cpu_work_fn run, void *argument, int64_t count,
		       unsigned int worker)
{
	int64_t item;

	while ((item = atomic_fetch_add(&pool->next, 1)) < count)
		run(argument, item, worker);
}

/* Waits for work newer than *seen; false at the end. Returns with the lock held. */
static bool wait_for_work(struct cpu_threads *pool, unsigned int *seen)
{
	struct wait wait = { 0 };

	while (atomic_load(&pool->generation) == *seen && look_again(pool, &wait))
		;
	pthread_mutex_lock(&pool->lock);
	while (!pool->quit && atomic_load(&pool->generation) == *seen)
		pthread_cond_wait(&pool->work, &pool->lock);
	*seen = atomic_load(&pool->generation);
	return !pool->quit;
}

static void *pool_thread(void *argument)
{
	struct cpu_threads *pool = argument;
	unsigned int seen = 0;

	wnn_thread_name("wnn-cpu");
	while (wait_for_work(pool, &seen)) {
		if (pool->open && pool->next_worker < pool->threads) {
			unsigned int worker = pool->next_worker++;
			cpu_work_fn run = pool->run;
			void *with = pool->argument;
			int64_t count = pool->count;

			atomic_fetch_add(&pool->inside, 1);
			pthread_mutex_unlock(&pool->lock);
			take_items(pool, run, with, count, worker);
			pthread_mutex_lock(&pool->lock);
			if (atomic_fetch_sub(&pool->inside, 1) == 1)
				pthread_cond_signal(&pool->left);
		}
		pthread_mutex_unlock(&pool->lock);
	}
	pthread_mutex_unlock(&pool->lock);
	put(pool);
	return NULL;
}

struct cpu_threads *cpu_threads_create(unsigned int threads)
{
	struct cpu_threads *pool = wnn_calloc(1, sizeof(*pool));

	if (!pool)
		return NULL;
	atomic_init(&pool->refs, 1);
	pool->threads = threads;
	pool->started = 1;
	pool->patience_ns = PATIENCE_NS;
	pthread_mutex_init(&pool->lock, NULL);
	pthread_cond_init(&pool->work, NULL);
	pthread_cond_init(&pool->left, NULL);
	return pool;
}

void cpu_threads_set_patience(struct cpu_threads *pool, uint64_t ns)
{
	pool->patience_ns = ns;
}

void cpu_threads_expect(struct cpu_threads *pool, bool more)
{
	atomic_store(&pool->expects, more);
}

void cpu_threads_destroy(struct cpu_threads *pool)
{
	if (!pool)
		return;
	pthread_mutex_lock(&pool->lock);
	pool->quit = true;
	pthread_cond_broadcast(&pool->work);
	pthread_mutex_unlock(&pool->lock);
	put(pool);
}

/* A thread that cannot be started is no error: those that are there share the work. */
static void start_threads(struct cpu_threads *pool)
{
	while (pool->started < pool->threads) {
		atomic_fetch_add(&pool->refs, 1);
		if (wnn_thread_start(pool_thread, pool)) {
			atomic_fetch_sub(&pool->refs, 1);
			return;
		}
		pool->started++;
	}
}

void cpu_threads_run(struct cpu_threads *pool, int64_t count, cpu_work_fn work, void *argument)
{
	struct wait wait = { 0 };

	if (pool->threads == 1 || count == 1) {
		for (int64_t i = 0; i < count; i++)
			work(argument, i, 0);
		return;
	}
	start_threads(pool);
	pthread_mutex_lock(&pool->lock);
	pool->run = work;
	pool->argument = argument;
	pool->count = count;
	pool->next_worker = 1;
	pool->open = true;
	atomic_store(&pool->next, 0);
	atomic_fetch_add(&pool->generation, 1);
	pthread_cond_broadcast(&pool->work);
	pthread_mutex_unlock(&pool->lock);

	take_items(pool, work, argument, count, 0);
	/* The other threads are in the middle of one item each at the most, so that this wait is short. */
	while (atomic_load(&pool->inside) && look_again(pool, &wait))
		;
	pthread_mutex_lock(&pool->lock);
	pool->open = false;
	while (atomic_load(&pool->inside))
		pthread_cond_wait(&pool->left, &pool->lock);
	pthread_mutex_unlock(&pool->lock);
}
