// SPDX-License-Identifier: MIT
/* Tests parts of run/ and util/ that need no graph: accounting, the timeline, clocks. */
#include "fixture.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "run/heap.h"
#include "run/timeline.h"
#include "util/clock.h"
#include "util/log.h"

static void memory_is_accounted_for(void **state)
{
	struct run_heap heap = { .limit = 1000 };
	struct wnn_error err = { 0 };
	struct run_buffer buffer;
	void *memory = run_host_alloc(&heap, 600, "a test", &err);

	(void)state;
	assert_non_null(memory);
	assert_int_equal((uintptr_t)memory % WNN_ALIGNMENT, 0);
	assert_int_equal(heap.used, 600);
	assert_int_equal(run_buffer_create(&heap, &buffer, 401, "a buffer", &err), -1);
	assert_int_equal(err.status, WNN_UNKNOWN_ERROR);
	assert_non_null(strstr(err.message, "a buffer needs 401 bytes"));
	assert_int_equal(run_buffer_create(&heap, &buffer, 400, "a buffer", &err), 0);
	assert_int_equal(heap.used, 1000);
	run_buffer_destroy(&heap, &buffer);
	run_host_free(&heap, memory, 600);
	assert_int_equal(heap.used, 0);
}

static void *crooked(size_t size, size_t alignment, void *userdata1, void *userdata2)
{
	(void)alignment;
	(void)userdata2;
	*(void **)userdata1 = aligned_alloc(64, size + 64);
	return *(char **)userdata1 + 1;
}

static void crooked_free(void *memory, void *userdata1, void *userdata2)
{
	(void)userdata2;
	assert_ptr_equal((char *)memory - 1, *(char **)userdata1);
	free(*(void **)userdata1);
}

static void an_allocator_that_ignores_the_alignment(void **state)
{
	void *block = NULL;
	struct wnn_allocator allocator = { crooked, crooked_free, &block, NULL };

	(void)state;
	assert_null(wnn_allocate(&allocator, 100));
	assert_non_null(block);
}

struct trace {
	pthread_mutex_t lock;
	pthread_cond_t ended;
	int order[100], count, cancelled;
	bool end;
};

struct traced_task {
	struct timeline_task task;
	struct trace *trace;
	int number;
};

static void run_traced(struct timeline_task *task, bool cancelled)
{
	struct traced_task *t = (void *)task;

	pthread_mutex_lock(&t->trace->lock);
	t->trace->order[t->trace->count++] = t->number;
	t->trace->cancelled += cancelled;
	pthread_mutex_unlock(&t->trace->lock);
	free(t);
}

static void idle(void *userdata)
{
	(void)userdata;
}

static void end(void *userdata)
{
	struct trace *trace = userdata;

	pthread_mutex_lock(&trace->lock);
	trace->end = true;
	pthread_cond_signal(&trace->ended);
	pthread_mutex_unlock(&trace->lock);
}

static void a_timeline_runs_all_of_it_in_order(void **state)
{
	static const struct timeline_ops ops = { idle, end };
	struct trace trace = {
		PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, { 0 }, 0, 0, false
	};
	struct timeline *timeline = timeline_create(&ops, &trace);

	(void)state;
	assert_non_null(timeline);
	for (int i = 0; i < 100; i++) {
		struct traced_task *t = calloc(1, sizeof(*t));

		t->task.run = run_traced;
		t->trace = &trace;
		t->number = i;
		if (i == 50)
			timeline_cancel(timeline);
		timeline_push(timeline, &t->task);
	}
	timeline_stop(timeline);
	pthread_mutex_lock(&trace.lock);
	while (!trace.end)
		pthread_cond_wait(&trace.ended, &trace.lock);
	pthread_mutex_unlock(&trace.lock);
	assert_int_equal(trace.count, 100);
	for (int i = 0; i < 100; i++)
		assert_int_equal(trace.order[i], i);
	assert_true(trace.cancelled >= 50);
}

/*
 * Several threads queue tasks and run some of them themselves: no two tasks run at the same time,
 * and the tasks of each thread run in the order in which it gave them.
 */
#define CALLERS 4
#define TASKS	2000

struct shared {
	struct trace trace;
	struct timeline *timeline;
	atomic_int running, done, entered, tried;
	int last[CALLERS];
};

struct shared_task {
	struct timeline_task task;
	struct shared *shared;
	int caller, number;
};

static void run_shared(struct timeline_task *task, bool cancelled)
{
	struct shared_task *t = (void *)task;
	struct shared *s = t->shared;

	assert_false(cancelled);
	assert_int_equal(atomic_fetch_add(&s->running, 1), 0);
	assert_int_equal(t->number, s->last[t->caller] + 1);
	s->last[t->caller] = t->number;
	atomic_fetch_sub(&s->running, 1);
	atomic_fetch_add(&s->done, 1);
	free(t);
}

struct caller {
	pthread_t thread;
	struct shared *shared;
	int index;
};

enum how { PUSH, ENTER, TRY, HOWS };

static void give(struct shared *s, int caller, int number, enum how how)
{
	struct shared_task *t = calloc(1, sizeof(*t));

	*t = (struct shared_task){ { NULL, run_shared }, s, caller, number };
	if (how == TRY && timeline_try_enter(s->timeline)) {
		atomic_fetch_add(&s->tried, 1);
		run_shared(&t->task, false);
		timeline_leave(s->timeline);
	} else if (how != ENTER) {
		timeline_push(s->timeline, &t->task);
	} else if (timeline_enter(s->timeline, &t->task)) {
		atomic_fetch_add(&s->entered, 1);
		timeline_run(s->timeline, &t->task);
	}
}

static void *call(void *argument)
{
	struct caller *caller = argument;

	for (int i = 1; i <= TASKS; i++)
		give(caller->shared, caller->index, i, i % HOWS);
	return NULL;
}

static void callers_may_run_tasks(void **state)
{
	static const struct timeline_ops ops = { idle, end };
	struct shared s = {
		.trace = { PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, { 0 }, 0, 0, false },
	};
	struct caller callers[CALLERS];

	(void)state;
	s.timeline = timeline_create(&ops, &s.trace);
	assert_non_null(s.timeline);
	/* A single caller runs tasks itself once the timeline's thread has begun to wait. */
	for (int i = 1; !atomic_load(&s.entered) || !atomic_load(&s.tried); i++) {
		give(&s, 0, i, i % 2 ? ENTER : TRY);
		while (atomic_load(&s.done) < i)
			usleep(1000);
	}
	memset(s.last, 0, sizeof(s.last));
	atomic_store(&s.done, 0);
	for (int i = 0; i < CALLERS; i++) {
		callers[i] = (struct caller){ .shared = &s, .index = i };
		assert_int_equal(pthread_create(&callers[i].thread, NULL, call, &callers[i]), 0);
	}
	for (int i = 0; i < CALLERS; i++)
		pthread_join(callers[i].thread, NULL);
	timeline_stop(s.timeline);
	pthread_mutex_lock(&s.trace.lock);
	while (!s.trace.end)
		pthread_cond_wait(&s.trace.ended, &s.trace.lock);
	pthread_mutex_unlock(&s.trace.lock);
	assert_int_equal(atomic_load(&s.done), CALLERS * TASKS);
}

static void deadlines(void **state)
{
	(void)state;
	assert_true(wnn_clock_deadline(UINT64_MAX) == UINT64_MAX);
	assert_true(wnn_clock_deadline(UINT64_MAX - 1) == UINT64_MAX);
	assert_true(wnn_clock_deadline(0) >= wnn_clock_ns() - 1000000000);
	assert_true(wnn_clock_deadline(1000000000) > wnn_clock_ns());
}

static void take_line(void *userdata, enum wnn_log_level level, const char *message)
{
	(void)level;
	strcpy(userdata, message);
}

static void log_lines(void **state)
{
	char line[1024] = "";
	struct wnn_log log = { WNN_LOG_WARNING, take_line, line };

	(void)state;
	wnn_log_write(&log, WNN_LOG_INFO, "not this");
	assert_string_equal(line, "");
	wnn_log_write(&log, WNN_LOG_WARNING, "a\n%d", 7);
	assert_string_equal(line, "a\\u000a7");
	wnn_log_write(NULL, WNN_LOG_ERROR, "nobody listens");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(memory_is_accounted_for),
		cmocka_unit_test(an_allocator_that_ignores_the_alignment),
		cmocka_unit_test(a_timeline_runs_all_of_it_in_order),
		cmocka_unit_test(callers_may_run_tasks),
		cmocka_unit_test(deadlines),
		cmocka_unit_test(log_lines),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
