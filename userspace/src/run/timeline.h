/* SPDX-License-Identifier: MIT */
/*
 * The timeline of a context: tasks run one after the other in the order in which they were queued,
 * on a thread of its own, or on that of a caller who need not wait for it. It knows nothing of what
 * they do.
 */
#ifndef WNN_RUN_TIMELINE_H
#define WNN_RUN_TIMELINE_H

#include <stdbool.h>

struct timeline_task {
	struct timeline_task *next;
	/* Does the work, or only what must be done even when work is @cancelled; frees the task. */
	void (*run)(struct timeline_task *task, bool cancelled);
};

struct timeline_ops {
	/* The queue is empty; may wait for what the tasks left to the device. */
	void (*idle)(void *userdata);
	/* The last thing that the thread does; the timeline is gone already. */
	void (*end)(void *userdata);
};

struct timeline;

/* Starts the thread; NULL when that fails, and then nothing of @ops is called. */
struct timeline *timeline_create(const struct timeline_ops *ops, void *userdata);

/* From any thread. Never fails, never waits. */
void timeline_push(struct timeline *timeline, struct timeline_task *task);

/*
 * timeline_enter - run a task on the calling thread if nothing is queued or running, else queue it
 *
 * Saves two switches of threads. True when nothing is queued or running: then the caller owns the
 * timeline and calls timeline_run(), soon and with no lock held. Only for tasks that take little
 * time, on devices whose idle() has nothing to do.
 */
bool timeline_enter(struct timeline *timeline, struct timeline_task *task);
void timeline_run(struct timeline *timeline, struct timeline_task *task);

/*
 * timeline_enter() for work that has no task: true when the caller owns the timeline until
 * timeline_leave(). Otherwise nothing is queued.
 */
bool timeline_try_enter(struct timeline *timeline);
void timeline_leave(struct timeline *timeline);

/* From now on tasks run cancelled, also those that are queued already. */
void timeline_cancel(struct timeline *timeline);
bool timeline_cancelled(struct timeline *timeline);

/*
 * timeline_stop - end the thread once its queue is empty
 *
 * Does not wait for it; may be called on the thread itself. Nobody may push after this.
 */
void timeline_stop(struct timeline *timeline);

#endif
