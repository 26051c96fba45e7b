// SPDX-License-Identifier: MIT
/* Host threads that share the work of one instruction; see threads.h. */
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <time.h>

#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

#include "onpu_memory.h"
#include "machine/threads.h"

/* Nanoseconds between two calls of idle(). */
#define IDLE_NS 1000000

static _Thread_local bool is_helper;

/* The argument of a helper thread of the pool. */
struct helper {
	struct onpu_pool *pool;
	unsigned int number;
	pthread_t thread;
};

struct onpu_pool {
	struct onpu_sim_memory memory;
	unsigned int threads; /* including the caller of onpu_pool_run() */
	unsigned int started;
	struct helper *helpers;
	pthread_mutex_t lock;
	pthread_cond_t work, done;
	/* The lock protects the following members. */
	uint64_t generation;
	bool quit;
	unsigned int running;
	void (*fn)(void *arg, unsigned int part, unsigned int thread);
	void *arg;
	unsigned int next, parts;
};

unsigned long long onpu_fp_enter(void)
{
#if defined(__x86_64__)
	unsigned int saved = _mm_getcsr();

	_mm_setcsr(0x1f80);
	return saved;
#elif defined(__aarch64__)
	unsigned long long saved;

	__asm__ volatile("mrs %0, fpcr" : "=r"(saved));
	__asm__ volatile("msr fpcr, %0" : : "r"(0ULL));
	return saved;
#else
	return 0;
#endif
}

void onpu_fp_leave(unsigned long long saved)
{
#if defined(__x86_64__)
	_mm_setcsr((unsigned int)saved);
#elif defined(__aarch64__)
	__asm__ volatile("msr fpcr, %0" : : "r"(saved));
#else
	(void)saved;
#endif
}

/* Executes parts until none is left. Called and returns with the lock held. */
static void pool_work(struct onpu_pool *pool, unsigned int thread)
{
	while (pool->next < pool->parts) {
		unsigned int part = pool->next++;

		pthread_mutex_unlock(&pool->lock);
		pool->fn(pool->arg, part, thread);
		pthread_mutex_lock(&pool->lock);
	}
}

static void *pool_thread(void *arg)
{
	const struct helper *helper = arg;
	struct onpu_pool *pool = helper->pool;
	uint64_t seen = 0;

	is_helper = true;
	onpu_fp_enter();
	pthread_mutex_lock(&pool->lock);
	for (;;) {
		while (pool->generation == seen && !pool->quit)
			pthread_cond_wait(&pool->work, &pool->lock);
		if (pool->quit)
			break;
		seen = pool->generation;
		pool->running++;
		pool_work(pool, helper->number);
		if (!--pool->running)
			pthread_cond_signal(&pool->done);
	}
	pthread_mutex_unlock(&pool->lock);
	return NULL;
}

static bool pool_start_thread(struct onpu_pool *pool)
{
	struct helper *helper = &pool->helpers[pool->started];

	helper->pool = pool;
	helper->number = pool->started + 1;
	if (pthread_create(&helper->thread, NULL, pool_thread, helper))
		return false;
	pool->started++;
	return true;
}

struct onpu_pool *onpu_pool_create(const struct onpu_sim_memory *memory, unsigned int threads)
{
	struct onpu_pool *pool = sim_calloc(memory, 1, sizeof(*pool));

	if (!pool)
		return NULL;
	pool->memory = *memory;
	pool->threads = threads;
	pthread_mutex_init(&pool->lock, NULL);
	pthread_cond_init(&pool->work, NULL);
	pthread_cond_init(&pool->done, NULL);
	pool->helpers = sim_calloc(memory, threads, sizeof(*pool->helpers));
	if (!pool->helpers)
		goto fail;
	while (pool->started + 1 < threads) {
		if (!pool_start_thread(pool))
			goto fail;
	}
	return pool;
fail:
	onpu_pool_destroy(pool);
	return NULL;
}

void onpu_pool_destroy(struct onpu_pool *pool)
{
	struct onpu_sim_memory memory;

	if (!pool)
		return;
	pthread_mutex_lock(&pool->lock);
	pool->quit = true;
	pthread_cond_broadcast(&pool->work);
	pthread_mutex_unlock(&pool->lock);
	for (unsigned int i = 0; i < pool->started; i++)
		pthread_join(pool->helpers[i].thread, NULL);
	pthread_cond_destroy(&pool->done);
	pthread_cond_destroy(&pool->work);
	pthread_mutex_destroy(&pool->lock);
	memory = pool->memory;
	sim_free(&memory, pool->helpers);
	sim_free(&memory, pool);
}

unsigned int onpu_pool_threads(const struct onpu_pool *pool)
{
	return pool->threads;
}

/* Waits for at most IDLE_NS. Returns true when parts are still running after that time. */
static bool wait_a_little(struct onpu_pool *pool)
{
	struct timespec until;

	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_nsec += IDLE_NS;
	if (until.tv_nsec >= 1000000000) {
		until.tv_nsec -= 1000000000;
		until.tv_sec++;
	}
	return pthread_cond_timedwait(&pool->done, &pool->lock, &until) && pool->running;
}

void onpu_pool_run(struct onpu_pool *pool,
		   void (*fn)(void *arg, unsigned int part, unsigned int thread), void *arg,
		   unsigned int parts, void (*idle)(const void *idle_arg), const void *idle_arg)
{
	if (pool->threads == 1 || parts <= 1) {
		for (unsigned int part = 0; part < parts; part++)
			fn(arg, part, 0);
		return;
	}
	pthread_mutex_lock(&pool->lock);
	pool->fn = fn;
	pool->arg = arg;
	pool->next = 0;
	pool->parts = parts;
	pool->generation++;
	pthread_cond_broadcast(&pool->work);
	pool_work(pool, 0);
	/* A thread that wakes up late finds no part left. */
	while (pool->running) {
		if (!wait_a_little(pool))
			continue;
		pthread_mutex_unlock(&pool->lock);
		idle(idle_arg);
		pthread_mutex_lock(&pool->lock);
	}
	pthread_mutex_unlock(&pool->lock);
}

bool onpu_pool_helper(void)
{
	return is_helper;
}
