// SPDX-License-Identifier: MIT
/* The thread of a timeline, and the queue of its tasks. */
#include "run/timeline.h"

#include <pthread.h>
#include <stdatomic.h>

#include "util/malloc.h"
#include "util/thread.h"

struct timeline {
	const struct timeline_ops *ops;
	void *userdata;
	pthread_mutex_t lock;
	pthread_cond_t wake;
	struct timeline_task *first, **last;
	bool busy; /* whether some thread runs a task or idle() */
	bool stop;
	atomic_bool cancelled;
};

/*
 * Waits until the queue has a task and no other thread runs one, then takes and returns the task;
 * calls idle() first when the queue is empty. NULL: the queue is empty and the timeline has been
 * stopped.
 */
static struct timeline_task *next_task(struct timeline *timeline)
{
	struct timeline_task *task;

	pthread_mutex_lock(&timeline->lock);
	if (!timeline->first) {
		pthread_mutex_unlock(&timeline->lock);
		timeline->ops->idle(timeline->userdata);
		pthread_mutex_lock(&timeline->lock);
	}
	timeline->busy = false;
	while (timeline->busy || (!timeline->first && !timeline->stop))
		pthread_cond_wait(&timeline->wake, &timeline->lock);
	task = timeline->first;
	if (task) {
		timeline->busy = true;
		timeline->first = task->next;
		if (!timeline->first)
			timeline->last = &timeline->first;
	}
	pthread_mutex_unlock(&timeline->lock);
	return task;
}

static void free_timeline(struct timeline *timeline)
{
	pthread_cond_destroy(&timeline->wake);
	pthread_mutex_destroy(&timeline->lock);
	wnn_free(timeline);
}

static void *work(void *argument)
{
	struct timeline *timeline = argument;
	const struct timeline_ops *ops = timeline->ops;
	void *userdata = timeline->userdata;
	struct timeline_task *task;

	wnn_thread_name("wnn-timeline");
	while ((task = next_task(timeline)))
		task->run(task, timeline_cancelled(timeline));
	free_timeline(timeline);
	ops->end(userdata);
	return NULL;
}

struct timeline *timeline_create(const struct timeline_ops *ops, void *userdata)
{
	struct timeline *timeline = wnn_calloc(1, sizeof(*timeline));

	if (!timeline)
		return NULL;
	timeline->ops = ops;
	timeline->userdata = userdata;
	timeline->last = &timeline->first;
	/* The thread has the timeline until it waits in next_task(). */
	timeline->busy = true;
	pthread_mutex_init(&timeline->lock, NULL);
	pthread_cond_init(&timeline->wake, NULL);
	if (wnn_thread_start(work, timeline)) {
		free_timeline(timeline);
		return NULL;
	}
	return timeline;
}

static void append(struct timeline *timeline, struct timeline_task *task)
{
	task->next = NULL;
	*timeline->last = task;
	timeline->last = &task->next;
	/*
	 * If the timeline is busy, the thread that runs it takes the next task or wakes the
	 * timeline's thread.
	 */
	if (!timeline->busy)
		pthread_cond_signal(&timeline->wake);
}

void timeline_push(struct timeline *timeline, struct timeline_task *task)
{
	pthread_mutex_lock(&timeline->lock);
	append(timeline, task);
	pthread_mutex_unlock(&timeline->lock);
}

/*
 * Takes the timeline if nothing is queued or running, else returns false. The lock must be held.
 */
static bool take_idle(struct timeline *timeline)
{
	if (timeline->busy || timeline->first)
		return false;
	timeline->busy = true;
	return true;
}

bool timeline_try_enter(struct timeline *timeline)
{
	bool enters;

	pthread_mutex_lock(&timeline->lock);
	enters = take_idle(timeline);
	pthread_mutex_unlock(&timeline->lock);
	return enters;
}

bool timeline_enter(struct timeline *timeline, struct timeline_task *task)
{
	bool enters;

	pthread_mutex_lock(&timeline->lock);
	enters = take_idle(timeline);
	if (!enters)
		append(timeline, task);
	pthread_mutex_unlock(&timeline->lock);
	return enters;
}

void timeline_leave(struct timeline *timeline)
{
	pthread_mutex_lock(&timeline->lock);
	timeline->busy = false;
	if (timeline->first || timeline->stop)
		pthread_cond_signal(&timeline->wake);
	pthread_mutex_unlock(&timeline->lock);
}

void timeline_run(struct timeline *timeline, struct timeline_task *task)
{
	task->run(task, timeline_cancelled(timeline));
	timeline_leave(timeline);
}

void timeline_cancel(struct timeline *timeline)
{
	atomic_store(&timeline->cancelled, true);
}

bool timeline_cancelled(struct timeline *timeline)
{
	return atomic_load(&timeline->cancelled);
}

void timeline_stop(struct timeline *timeline)
{
	pthread_mutex_lock(&timeline->lock);
	timeline->stop = true;
	pthread_cond_signal(&timeline->wake);
	pthread_mutex_unlock(&timeline->lock);
}
