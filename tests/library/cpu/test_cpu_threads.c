// SPDX-License-Identifier: MIT
/*
 * Tests the thread pool: it does every item once, with any number of threads, and when threads
 * cannot be started; no thread stays behind.
 */
#define _GNU_SOURCE
#include "rig.h"

#include <dirent.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "cpu/fast.h"
#include "cpu/simd/simd.h"
#include "util/thread.h"

enum { MAX_THREADS = 9, MAX_ITEMS = 300 };

/*
 * Milliseconds to wait for something that should come; on a busy machine a thread may have to wait
 * for a processor.
 */
enum { MAX_WAIT = 100000 };

int __real_wnn_thread_start(void *(*run)(void *), void *argument);
int __wrap_wnn_thread_start(void *(*run)(void *), void *argument);

static int starts_left = -1; /* how many threads can still be started; -1: any number */

int __wrap_wnn_thread_start(void *(*run)(void *), void *argument)
{
	if (!starts_left)
		return -1;
	starts_left -= starts_left > 0;
	return __real_wnn_thread_start(run, argument);
}

struct work {
	unsigned int threads;
	pthread_t caller;
	atomic_bool busy[MAX_THREADS]; /* indexed by worker */
	atomic_uint done[MAX_ITEMS], wrong, others;
	bool needs_others;
};

static void sleep_a_moment(void)
{
	const struct timespec moment = { .tv_nsec = 1000000 };

	nanosleep(&moment, NULL);
}

/* Returns the number of threads of the process, including those that are ending. */
static int count_threads(void)
{
	DIR *dir = opendir("/proc/self/task");
	int count = 0;

	assert_non_null(dir);
	for (struct dirent *e = readdir(dir); e; e = readdir(dir))
		count += e->d_name[0] != '.';
	closedir(dir);
	return count;
}

/* Returns how many threads of the process, besides the caller, run or could run. */
static int count_awake(void)
{
	DIR *dir = opendir("/proc/self/task");
	int count = -1;

	assert_non_null(dir);
	for (struct dirent *e = readdir(dir); e; e = readdir(dir)) {
		char path[64], line[512], *state;
		FILE *f;

		snprintf(path, sizeof(path), "/proc/self/task/%.20s/stat", e->d_name);
		f = e->d_name[0] == '.' ? NULL : fopen(path, "r");
		if (!f)
			continue;
		state = fgets(line, sizeof(line), f) ? strrchr(line, ')') : NULL;
		count += state && state[1] && state[2] == 'R';
		fclose(f);
	}
	closedir(dir);
	return count;
}

static void expect_all_sleep(void)
{
	for (int i = 0; i < MAX_WAIT && count_awake(); i++)
		sleep_a_moment();
	assert_int_equal(count_awake(), 0);
}

static void expect_threads_end(int before)
{
	for (int i = 0; i < MAX_WAIT && count_threads() > before; i++)
		sleep_a_moment();
	assert_true(count_threads() <= before);
}

static void do_item(void *argument, int64_t item, unsigned int worker)
{
	struct work *w = argument;

	if (worker >= w->threads || item < 0 || item >= MAX_ITEMS ||
	    atomic_exchange(&w->busy[worker], true)) {
		atomic_fetch_add(&w->wrong, 1);
		return;
	}
	if (!pthread_equal(pthread_self(), w->caller))
		atomic_fetch_add(&w->others, 1);
	else
		for (int i = 0; w->needs_others && i < MAX_WAIT && !atomic_load(&w->others); i++)
			sleep_a_moment();
	atomic_fetch_add(&w->done[item], 1);
	atomic_store(&w->busy[worker], false);
}

/*
 * Runs @count items, and checks that each is done once. With `needs_others`, the caller waits in
 * its item until another thread has begun one.
 */
static void run_items(struct cpu_threads *pool, unsigned int threads, int64_t count,
		      bool needs_others)
{
	struct work w = { .threads = threads,
			  .caller = pthread_self(),
			  .needs_others = needs_others };

	cpu_threads_run(pool, count, do_item, &w);
	assert_int_equal(atomic_load(&w.wrong), 0);
	for (int64_t i = 0; i < MAX_ITEMS; i++)
		assert_int_equal(atomic_load(&w.done[i]), i < count);
	assert_true(!needs_others || atomic_load(&w.others));
}

static void test_every_item_once(void **state)
{
	int before = count_threads();

	(void)state;
	for (unsigned int threads = 1; threads <= MAX_THREADS; threads++) {
		struct cpu_threads *pool = cpu_threads_create(threads);

		assert_non_null(pool);
		for (int i = 0; i < rounds(); i++)
			run_items(pool, threads, random_below(20), false);
		run_items(pool, threads, MAX_ITEMS, threads > 1);
		cpu_threads_destroy(pool);
	}
	expect_threads_end(before);
}

/*
 * Tests that the threads that could be started do the work, and that the pool tries to start the
 * others when it gets the next work.
 */
static void test_threads_that_do_not_start(void **state)
{
	int before = count_threads();

	(void)state;
	for (int started = 0; started < 4; started++) {
		struct cpu_threads *pool = cpu_threads_create(4);

		assert_non_null(pool);
		starts_left = started;
		for (int i = 0; i < 20; i++)
			run_items(pool, 4, 1 + random_below(MAX_ITEMS), false);
		assert_int_equal(starts_left, 0);
		run_items(pool, 4, MAX_ITEMS, started > 0);
		starts_left = -1;
		run_items(pool, 4, MAX_ITEMS, true);
		cpu_threads_destroy(pool);
	}
	expect_threads_end(before);
}

/*
 * Tests work that ends before the threads have started, and pools that are destroyed before that.
 */
static void test_short_lives(void **state)
{
	int before = count_threads();

	(void)state;
	cpu_threads_destroy(NULL);
	for (int i = 0; i < rounds(); i++) {
		struct cpu_threads *pool = cpu_threads_create(between(1, 4));

		assert_non_null(pool);
		for (uint32_t runs = random_below(3); runs; runs--)
			run_items(pool, 4, random_below(4), false);
		cpu_threads_destroy(pool);
	}
	expect_threads_end(before);
}

/*
 * Tests that threads keep looking for work while more is expected (patient), and otherwise soon
 * fall asleep.
 */
static void test_patience(void **state)
{
	const uint64_t ever = UINT64_MAX / 2;
	int before = count_threads();

	(void)state;
	for (int patient = 0; patient < 2; patient++) {
		struct cpu_threads *pool = cpu_threads_create(2);

		assert_non_null(pool);
		cpu_threads_set_patience(pool, patient ? ever : 0);
		run_items(pool, 2, MAX_ITEMS, true);
		expect_all_sleep();
		cpu_threads_expect(pool, true);
		run_items(pool, 2, MAX_ITEMS, true);
		for (int i = 0; i < 20; i++)
			sleep_a_moment();
		if (patient)
			assert_int_equal(count_awake(), 1);
		else
			expect_all_sleep();
		run_items(pool, 2, MAX_ITEMS, true);
		cpu_threads_expect(pool, false);
		expect_all_sleep();
		cpu_threads_destroy(pool);
	}
	expect_threads_end(before);
}

struct places {
	pthread_t caller;
	cpu_set_t allowed; /* processors that all threads may use */
	atomic_uint others, wrong;
};

/*
 * Checks the affinity of the pool's thread. The caller's item waits until that thread has an item,
 * which always happens: there are two items, and the caller is in the other one.
 */
static void look_where(void *argument, int64_t item, unsigned int worker)
{
	struct places *p = argument;
	cpu_set_t set;

	(void)item;
	(void)worker;
	if (pthread_equal(pthread_self(), p->caller)) {
		while (!atomic_load(&p->others))
			sched_yield();
		return;
	}
	atomic_fetch_add(&p->wrong,
			 sched_getaffinity(0, sizeof(set), &set) || !CPU_EQUAL(&set, &p->allowed));
	atomic_fetch_add(&p->others, 1);
}

/*
 * The pool forbids a thread the caller's processor while it wakes the thread. Tests that the thread
 * may use every allowed processor again while it works, also when only one is allowed.
 */
static void test_positions(void **state)
{
	cpu_set_t all, one;

	(void)state;
	assert_int_equal(sched_getaffinity(0, sizeof(all), &all), 0);
	CPU_ZERO(&one);
	CPU_SET(sched_getcpu(), &one);
	for (int few = 0; few < 2; few++) {
		struct places p = { .caller = pthread_self(), .allowed = few ? one : all };
		struct cpu_threads *pool = cpu_threads_create(2);

		assert_non_null(pool);
		cpu_threads_set_patience(pool, 0);
		assert_int_equal(sched_setaffinity(0, sizeof(all), &p.allowed), 0);
		for (int i = 0; i < rounds(); i++) {
			atomic_store(&p.others, 0);
			cpu_threads_run(pool, 2, look_where, &p);
			expect_all_sleep();
		}
		assert_int_equal(atomic_load(&p.wrong), 0);
		cpu_threads_destroy(pool);
		assert_int_equal(sched_setaffinity(0, sizeof(all), &all), 0);
	}
}

/* Tests that 0 asks for one thread for each processor. */
static void test_number_of_threads(void **state)
{
	struct cpu_context *cpu;
	cpu_set_t set;

	(void)state;
	assert_int_equal(sched_getaffinity(0, sizeof(set), &set), 0);
	for (unsigned int threads = 0; threads < 4; threads++) {
		cpu = cpu_context_create(threads);
		assert_non_null(cpu);
		assert_int_equal(cpu->threads, threads ? threads : CPU_COUNT(&set));
		cpu_context_destroy(cpu);
	}
}

/* A process that may run on one processor alone has one thread. */
static void test_one_processor(void **state)
{
	cpu_set_t all, one;
	struct cpu_context *cpu;

	(void)state;
	assert_int_equal(sched_getaffinity(0, sizeof(all), &all), 0);
	CPU_ZERO(&one);
	for (int i = 0; i < CPU_SETSIZE && !CPU_COUNT(&one); i++)
		if (CPU_ISSET(i, &all))
			CPU_SET(i, &one);
	assert_int_equal(sched_setaffinity(0, sizeof(one), &one), 0);
	cpu = cpu_context_create(0);
	assert_int_equal(sched_setaffinity(0, sizeof(all), &all), 0);
	assert_non_null(cpu);
	assert_int_equal(cpu->threads, 1);
	cpu_context_destroy(cpu);
}

/*
 * Returns a new convolution in the rig, which is so large that it is cut into slices. As it is
 * dilated, Winograd's kernels refuse it.
 */
static struct ir_node *make_conv(struct rig *rig)
{
	union ir_attrs attrs = { .conv = { .padding = { 2, 2, 2, 2 },
					   .strides = { 1, 1 },
					   .dilations = { 2, 2 },
					   .groups = 1,
					   .layout = IR_NHWC,
					   .act = { .kind = IR_UNARY_NONE } } };
	struct ir_type x = ir_type_make(IR_F32, 4, (const int64_t[]){ 1, 32, 32, 32 });
	struct ir_type f = ir_type_make(IR_F32, 4, (const int64_t[]){ 32, 32, 3, 3 });
	struct ir_node *node;

	rig_init(rig);
	rig_add(rig, IR_F32, 4, (const int64_t[]){ 1, 32, 32, 32 });
	rig_add(rig, IR_F32, 4, (const int64_t[]){ 32, 32, 3, 3 });
	rig->operand[1] = ir_add_constant(
		rig->graph, &f,
		ir_constant_borrow(rig->data[1], (size_t)ir_type_bytes(&f), NULL, NULL));
	node = ir_add_node(rig->graph, IR_OP_CONV, rig->operand, 2, &x, 1, &attrs, "", NULL);
	assert_non_null(node);
	return node;
}

/* oneDNN starts no threads of its own: the process has those of the pool alone. */
static void test_onednn_starts_none(void **state)
{
	struct rig rig;
	struct ir_node *node = make_conv(&rig);
	float *y = malloc((size_t)ir_type_bytes(&node->results[0]->type));

	(void)state;
	assert_non_null(y);
	for (unsigned int threads = 1; threads < 4; threads++) {
		int before = count_threads();
		struct cpu_context *cpu = cpu_context_create(threads);
		struct cpu_plan *plan;
		struct wnn_error err = { 0 };
		void *packed;

		assert_non_null(cpu);
		if (!cpu_onednn_form())
			skip();
		/* On the lowest level oneDNN computes this; with AVX2, our own tiles would. */
		cpu_set_level(cpu, cpu_simd_level(CPU_LEVEL_BASE));
		plan = cpu_plan_create(cpu, node, CPU_PACKS | CPU_KEEPS, &err);
		assert_non_null(plan);
		assert_non_null(strstr(cpu_plan_name(plan), "onednn"));
		packed = aligned_alloc(64, cpu_round_up(cpu_plan_pack_bytes(plan)));
		assert_non_null(packed);
		assert_int_equal(cpu_plan_pack(plan, rig.data[1], packed, &err), 0);
		for (int i = 0; i < 20; i++)
			assert_int_equal(cpu_plan_run(plan, cpu, packed,
						      (const void *[]){ rig.data[0], NULL },
						      (void *[]){ y }, &err),
					 0);
		assert_true(count_threads() <= before + (int)threads - 1);
		cpu_plan_destroy(plan);
		cpu_context_destroy(cpu);
		free(packed);
		expect_threads_end(before);
	}
	free(y);
	rig_exit(&rig);
}

static void *end_at_once(void *argument)
{
	return argument;
}

/*
 * Starts and joins one thread; returns 0, or not 0 on an error. With the first thread
 * ThreadSanitizer starts a thread of its own, which the tests must not count as one of a pool.
 */
static int start_first_thread(void **state)
{
	pthread_t thread;

	(void)state;
	return pthread_create(&thread, NULL, end_at_once, NULL) || pthread_join(thread, NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_every_item_once),
		cmocka_unit_test(test_threads_that_do_not_start),
		cmocka_unit_test(test_short_lives),
		cmocka_unit_test(test_patience),
		cmocka_unit_test(test_positions),
		cmocka_unit_test(test_number_of_threads),
		cmocka_unit_test(test_one_processor),
		cmocka_unit_test(test_onednn_starts_none),
	};

	return cmocka_run_group_tests(tests, start_first_thread, NULL);
}
