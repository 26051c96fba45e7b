// SPDX-License-Identifier: MIT
/* The thread pool of a context: its threads share the items of one piece of work at a time. */
#include "cpu/threads.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <unistd.h>

#include "util/clock.h"
#include "util/malloc.h"
#include "util/thread.h"

/* How often an idle thread checks for work before it sleeps: some ten microseconds. */
#define SPINS 2000
/*
 * How long it does so while more work is expected: waking a thread takes half as long as a small
 * operator.
 */
#define PATIENCE_NS 100000
/* With more threads than these the kernel finds idle CPUs by itself. */
#define FEW_THREADS 8
/* How often a thread checks for work before it reads the clock. */
#define CLOCK_SPINS 64

/*
 * The state of the pool in one word, so that a thread can enter, or find the work closed, in one
 * step without a lock: the number of threads inside, whether the work is open, and a sequence
 * number of the work.
 */
#define INSIDE ((uint64_t)1)
#define OPEN   ((uint64_t)1 << 32)
#define TURN   ((uint64_t)1 << 33)

/*
 * A worker's share of the items, in a cache line of its own. A worker takes its own items first, so
 * that it finds its data in its cache when one piece of work uses the data of the one before; then
 * it takes items that others have left.
 */
struct share {
	_Alignas(64) _Atomic int64_t next;
	int64_t end;
};

/* A thread while it sleeps, under the lock. */
struct sleeper {
	pid_t tid;    /* 0: it does not */
	int kept_off; /* the CPU on which it must not wake up, below 0: none */
};

struct cpu_threads {
	atomic_uint refs; /* the owner and every thread */
	unsigned int threads, started;
	atomic_uint named;	/* threads that know which worker they are */
	uint64_t patience_ns;	/* 0: nobody looks, all sleep at once */
	_Atomic uint64_t state; /* see above */
	atomic_bool expects;	/* more work */
	atomic_bool quit;
	/* The lock is for those who sleep, and who wake them; nobody else takes it. */
	pthread_mutex_t lock;
	pthread_cond_t work, left;
	atomic_uint sleepers; /* threads without work */
	atomic_bool waits;    /* the owner sleeps until nobody is inside */
	/* Written only while the work is closed and nobody is inside. */
	cpu_work_fn run;
	void *argument;
	struct share *shares;	  /* of each worker */
	struct sleeper *sleeping; /* the same */
};

static unsigned int inside(uint64_t state)
{
	return (unsigned int)(state % OPEN);
}

static uint64_t turn(uint64_t state)
{
	return state / TURN;
}

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
	wnn_free(pool->shares);
	wnn_free(pool->sleeping);
	wnn_free(pool);
}

static void take_items(struct cpu_threads *pool, unsigned int worker)
{
	for (unsigned int i = 0; i < pool->threads; i++) {
		struct share *share = &pool->shares[(worker + i) % pool->threads];
		int64_t item;

		while ((item = atomic_fetch_add(&share->next, 1)) < share->end)
			pool->run(pool->argument, item, worker);
	}
}

static void share_out(struct cpu_threads *pool, int64_t count)
{
	int64_t each = count / pool->threads, rest = count % pool->threads, begin = 0;

	for (unsigned int i = 0; i < pool->threads; i++) {
		pool->shares[i].end = begin + each + (i < rest);
		atomic_store_explicit(&pool->shares[i].next, begin, memory_order_relaxed);
		begin = pool->shares[i].end;
	}
}

/* --- Where threads wake up --- */

/* Lets a thread use a CPU, or not; true when that changes something. It keeps one at least. */
static bool allow_cpu(pid_t tid, int cpu, bool allow)
{
	cpu_set_t set;

	if (cpu < 0 || cpu >= CPU_SETSIZE || sched_getaffinity(tid, sizeof(set), &set) ||
	    !CPU_ISSET(cpu, &set) == !allow)
		return false;
	if (allow)
		CPU_SET(cpu, &set);
	else
		CPU_CLR(cpu, &set);
	return CPU_COUNT(&set) && !sched_setaffinity(tid, sizeof(set), &set);
}

/*
 * Keeps the woken threads off the caller's CPU: the kernel may queue a thread behind the one that
 * wakes it although another CPU is about to be idle, as where two processes alternate; there it
 * waits for milliseconds, which is the time of a whole network. Call it with the lock held.
 */
static void keep_off_caller(struct cpu_threads *pool)
{
	int cpu = sched_getcpu();

	for (unsigned int i = 0; i < pool->threads && pool->threads <= FEW_THREADS; i++) {
		struct sleeper *sleeper = &pool->sleeping[i];

		if (sleeper->tid && sleeper->kept_off < 0 && allow_cpu(sleeper->tid, cpu, false))
			sleeper->kept_off = cpu;
	}
}

static void wake_sleepers(struct cpu_threads *pool)
{
	pthread_mutex_lock(&pool->lock);
	keep_off_caller(pool);
	pthread_cond_broadcast(&pool->work);
	pthread_mutex_unlock(&pool->lock);
}

/* --- Work --- */

static bool nothing_new(struct cpu_threads *pool, uint64_t seen)
{
	return turn(atomic_load(&pool->state)) == seen && !atomic_load(&pool->quit);
}

static void wait_for_work(struct cpu_threads *pool, uint64_t seen, unsigned int worker)
{
	struct sleeper *sleeper = &pool->sleeping[worker];
	struct wait wait = { 0 };
	int kept_off;

	while (nothing_new(pool, seen) && look_again(pool, &wait))
		;
	if (!nothing_new(pool, seen))
		return;
	pthread_mutex_lock(&pool->lock);
	/* Counted before the last look: who brings work looks at the count after that. */
	atomic_fetch_add(&pool->sleepers, 1);
	*sleeper = (struct sleeper){ gettid(), -1 };
	while (nothing_new(pool, seen))
		pthread_cond_wait(&pool->work, &pool->lock);
	kept_off = sleeper->kept_off;
	sleeper->tid = 0;
	atomic_fetch_sub(&pool->sleepers, 1);
	pthread_mutex_unlock(&pool->lock);
	allow_cpu(0, kept_off, true);
}

/* Enters the open work; false when it is closed. *seen is its sequence number. */
static bool come_in(struct cpu_threads *pool, uint64_t *seen)
{
	uint64_t state = atomic_load(&pool->state);

	do {
		*seen = turn(state);
		if (!(state & OPEN))
			return false;
	} while (!atomic_compare_exchange_weak(&pool->state, &state, state + INSIDE));
	return true;
}

static void leave(struct cpu_threads *pool)
{
	if (inside(atomic_fetch_sub(&pool->state, INSIDE)) > 1 || !atomic_load(&pool->waits))
		return;
	pthread_mutex_lock(&pool->lock);
	pthread_cond_signal(&pool->left);
	pthread_mutex_unlock(&pool->lock);
}

static void *pool_thread(void *argument)
{
	struct cpu_threads *pool = argument;
	/* The caller of cpu_threads_run() is worker 0. */
	unsigned int worker = atomic_fetch_add(&pool->named, 1) + 1;
	uint64_t seen = 0;

	wnn_thread_name("wnn-cpu");
	for (;;) {
		wait_for_work(pool, seen, worker);
		if (atomic_load(&pool->quit))
			break;
		if (!come_in(pool, &seen))
			continue;
		take_items(pool, worker);
		leave(pool);
	}
	put(pool);
	return NULL;
}

struct cpu_threads *cpu_threads_create(unsigned int threads)
{
	struct cpu_threads *pool = wnn_calloc(1, sizeof(*pool));

	if (!pool)
		return NULL;
	pool->shares = wnn_aligned_alloc(sizeof(struct share), threads * sizeof(struct share));
	pool->sleeping = wnn_calloc(threads, sizeof(*pool->sleeping));
	if (!pool->shares || !pool->sleeping) {
		wnn_free(pool->shares);
		wnn_free(pool->sleeping);
		wnn_free(pool);
		return NULL;
	}
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
	atomic_store(&pool->quit, true);
	pthread_mutex_lock(&pool->lock);
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

/* Nobody comes in any more; returns when those who did are gone. */
static void close_work(struct cpu_threads *pool)
{
	struct wait wait = { 0 };

	atomic_fetch_and(&pool->state, ~OPEN);
	/* The other threads are within one item each at most, so that this wait is short. */
	while (inside(atomic_load(&pool->state)))
		if (!look_again(pool, &wait))
			break;
	if (!inside(atomic_load(&pool->state)))
		return;
	pthread_mutex_lock(&pool->lock);
	atomic_store(&pool->waits, true);
	while (inside(atomic_load(&pool->state)))
		pthread_cond_wait(&pool->left, &pool->lock);
	atomic_store(&pool->waits, false);
	pthread_mutex_unlock(&pool->lock);
}

void cpu_threads_run(struct cpu_threads *pool, int64_t count, cpu_work_fn work, void *argument)
{
	if (pool->threads == 1 || count <= 1) {
		for (int64_t i = 0; i < count; i++)
			work(argument, i, 0);
		return;
	}
	start_threads(pool);
	pool->run = work;
	pool->argument = argument;
	share_out(pool, count);
	atomic_store(&pool->state, (turn(atomic_load(&pool->state)) + 1) * TURN + OPEN);
	if (atomic_load(&pool->sleepers))
		wake_sleepers(pool);
	take_items(pool, 0);
	close_work(pool);
}
