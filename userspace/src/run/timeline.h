/* SPDX-License-Identifier: MIT */
/*
 * The timeline of a context: tasks run one after the other in the order in which they were queued,
 * on the timeline's own thread, or on the thread of a caller, which then need not wait for another
 * thread. The timeline does not know what the tasks do.
 */
#ifndef WNN_RUN_TIMELINE_H
#define WNN_RUN_TIMELINE_H

#include <stdbool.h>

struct timeline_task {
	struct timeline_task *next;
	/* Runs the task and frees it. When @cancelled, it does only what must be done even then. */
	void (*run)(struct timeline_task *task, bool cancelled);
};

struct timeline_ops {
	/* Called when the queue is empty; may wait for work that tasks have left to the device. */
	void (*idle)(void *userdata);
	/* Called last on the thread; the timeline does not exist any more. */
	void (*end)(void *userdata);
};

struct timeline;

/* Starts the thread; NULL when that fails: then no function of @ops is called. */
struct timeline *timeline_create(const struct timeline_ops *ops, void *userdata);

/* Appends a task, from any thread. Never fails, never waits. */
void timeline_push(struct timeline *timeline, struct timeline_task *task);

/*
 * timeline_enter - run a task on the calling thread if nothing is queued or running, else queue it
 *
 * Running it on the calling thread saves two switches of threads. Returns true when nothing is
 * queued or running: then the caller owns the timeline, and calls timeline_run() soon and with no
 * lock held. Only for tasks that take little time, on devices whose idle() has nothing to do.
 */
bool timeline_enter(struct timeline *timeline, struct timeline_task *task);
void timeline_run(struct timeline *timeline, struct timeline_task *task);

/*
 * Takes the timeline for work that is not a task. Returns true when the caller owns the timeline
 * until timeline_leave(); false when the timeline is in use, and nothing was queued.
 */
bool timeline_try_enter(struct timeline *timeline);
void timeline_leave(struct timeline *timeline);

/* Makes all tasks run cancelled from now on, also those that are queued already. */
void timeline_cancel(struct timeline *timeline);
bool timeline_cancelled(struct timeline *timeline);

/*
 * timeline_stop - end the thread when its queue is empty
 *
 * Does not wait for the thread; may be called on it. Nobody may push a task after this.
 */
void timeline_stop(struct timeline *timeline);

#endif
