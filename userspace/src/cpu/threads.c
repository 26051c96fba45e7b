// SPDX-License-Identifier: MIT
/* The thread pool of a context: its threads share the items of one task at a time. */
#include "cpu/threads.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <unistd.h>

#include "util/clock.h"
#include "util/malloc.h"
#include "util/thread.h"

/*
 * The number of checks for work that an idle thread makes before it sleeps; this many take some ten
 * microseconds.
 */
#define SPINS 2000
/*
 * The default of how long an idle thread checks for work before it sleeps, while more work is
 * expected: waking a sleeping thread takes half as long as a small operator.
 */
#define PATIENCE_NS 100000
/* With more threads, the operating system finds idle CPUs without keep_off_caller(). */
#define FEW_THREADS 8
/* Checks for work between two readings of the clock. */
#define CLOCK_SPINS 64

/*
 * The state of the pool is one word, so that a thread can enter, or find the work closed, in one
 * atomic step without a lock: the number of threads inside, whether the work is open, and a
 * sequence number of the work (SEQUENCE).
 */
#define INSIDE	 ((uint64_t)1)
#define OPEN	 ((uint64_t)1 << 32)
#define SEQUENCE ((uint64_t)1 << 33)

/*
 * A worker's share of the items, in a cache line of its own. A worker takes its own items first, so
 * that it finds its data in its cache when one task uses the data of the one before; then
 * it takes items that other workers have not begun.
 */
struct share {
	_Alignas(64) _Atomic int64_t next;
	int64_t end;
};

/* A sleeping thread. The pool's lock protects it. */
struct sleeper {
	pid_t tid;    /* thread id; 0: the thread is awake */
	int kept_off; /* the CPU on which it must not wake up, below 0: none */
};

struct cpu_threads {
	atomic_uint refs; /* references: the owner's, and one for each thread */
	unsigned int threads, started;
	atomic_uint named;	/* threads that have got their worker number */
	uint64_t patience_ns;	/* time for which idle threads spin; 0: they sleep at once */
	_Atomic uint64_t state; /* INSIDE, OPEN and SEQUENCE, see above */
	atomic_bool expects;	/* whether more work is expected soon */
	atomic_bool quit;
	/* Only threads that sleep, and threads that wake them, take the lock. */
	pthread_mutex_t lock;
	pthread_cond_t work, left;
	atomic_uint sleepers; /* threads that sleep until there is work */
	atomic_bool waits;    /* whether the owner sleeps until no thread is inside */
	/*
	 * The members below change only while the work is closed and no thread is inside; what
	 * shares and sleeping point to changes at other times, too.
	 */
	cpu_work_fn run;
	void *argument;
	struct share *shares;	  /* [worker] */
	struct sleeper *sleeping; /* [worker] */
};

static unsigned int inside(uint64_t state)
{
	return (unsigned int)(state % OPEN);
}

static uint64_t sequence_of(uint64_t state)
{
	return state / SEQUENCE;
}

static inline void relax(void)
{
#if defined(__x86_64__)
	__builtin_ia32_pause();
#elif defined(__aarch64__)
	__asm__ volatile("yield");
#endif
}

/* The state of a thread that waits by spinning; all zeros at the beginning. */
struct wait {
	unsigned int checks;
	uint64_t end_ns;
};

/*
 * Waits for a moment and returns true, or returns false when the thread should sleep instead of
 * checking again.
 */
static bool look_again(const struct cpu_threads *pool, struct wait *wait)
{
	uint64_t now;

	if (!pool->patience_ns)
		return false;
	relax();
	if (++wait->checks < SPINS)
		return true;
	if (!atomic_load(&pool->expects))
		return false;
	if (wait->checks % CLOCK_SPINS)
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

/*
 * Allows or forbids a thread to run on a CPU, but never forbids its last CPU. Returns true when the
 * set of its CPUs changed.
 */
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
 * Keeps the woken threads off the caller's CPU, unless there are more than FEW_THREADS: the
 * operating system may queue a thread behind the one that wakes it although another CPU is about to
 * be idle, as when two processes alternate. The woken thread then waits for milliseconds, the time
 * of a whole network. Call it with the lock held.
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
	return sequence_of(atomic_load(&pool->state)) == seen && !atomic_load(&pool->quit);
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
	/*
	 * This thread is counted before it looks for work a last time, and a caller looks at the
	 * count after opening its work, so that no wake-up is lost.
	 */
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

/*
 * Enters the work if it is open; returns false when it is closed. *seen becomes the work's sequence
 * number in both cases.
 */
static bool come_in(struct cpu_threads *pool, uint64_t *seen)
{
	uint64_t state = atomic_load(&pool->state);

	do {
		*seen = sequence_of(state);
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

/*
 * Starts the threads. It is not an error when a thread cannot be started: the threads that exist
 * share the work.
 */
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

/* Closes the work, so that no thread enters, and waits until all threads have left. */
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
	atomic_store(&pool->state, (sequence_of(atomic_load(&pool->state)) + 1) * SEQUENCE + OPEN);
	if (atomic_load(&pool->sleepers))
		wake_sleepers(pool);
	take_items(pool, 0);
	close_work(pool);
}
