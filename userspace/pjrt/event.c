// SPDX-License-Identifier: MIT
/*
 * Events. Those of the plugin's own work are ready when the caller gets them; those that a caller
 * creates become ready when it says so.
 */
#include <stdlib.h>
#include <string.h>

#include "plugin.h"

struct waiter {
	struct waiter *next;
	pjrt_ready_fn callback;
	void *user;
	struct pjrt_error *error; /* what the callback gets, when the event is ready */
};

struct pjrt_event {
	pthread_mutex_t lock;
	pthread_cond_t changed;
	bool is_ready;
	struct pjrt_error *error;     /* error of the operation; NULL: success */
	struct waiter *first, **last; /* called once the event is ready */
};

static struct pjrt_event *create(bool is_ready)
{
	struct pjrt_event *event = calloc(1, sizeof(*event));

	if (!event)
		return NULL;
	pthread_mutex_init(&event->lock, NULL);
	pthread_cond_init(&event->changed, NULL);
	event->is_ready = is_ready;
	event->last = &event->first;
	return event;
}

struct pjrt_event *onpu_event_ready(void)
{
	return create(true);
}

/* Returns a copy of an event's error; each caller releases its own copy. */
static struct pjrt_error *copy(const struct pjrt_error *error)
{
	return error ? onpu_error(error->code, "%s", error->text) : NULL;
}

/*
 * Makes an event ready with @error, which it takes over, and calls its callbacks without the lock.
 * Returns false, and takes nothing over, when the event was ready before.
 */
static bool set(struct pjrt_event *event, struct pjrt_error *error)
{
	struct waiter *waiter, *next;

	pthread_mutex_lock(&event->lock);
	if (event->is_ready) {
		pthread_mutex_unlock(&event->lock);
		return false;
	}
	event->is_ready = true;
	event->error = error;
	waiter = event->first;
	event->first = NULL;
	event->last = &event->first;
	/* Once the lock is released, a thread that waited may destroy the event and its error. */
	for (next = waiter; next; next = next->next)
		next->error = copy(error);
	pthread_cond_broadcast(&event->changed);
	pthread_mutex_unlock(&event->lock);
	for (; waiter; waiter = next) {
		next = waiter->next;
		waiter->callback(waiter->error, waiter->user);
		free(waiter);
	}
	return true;
}

void onpu_event_free(struct pjrt_event *event)
{
	if (!event)
		return;
	if (!event->is_ready)
		set(event,
		    onpu_error(PJRT_CANCELLED, "onpu: the event is destroyed before it is set"));
	onpu_error_free(event->error);
	pthread_cond_destroy(&event->changed);
	pthread_mutex_destroy(&event->lock);
	free(event);
}

struct pjrt_error *onpu_Event_Destroy(struct pjrt_Event_Destroy_args *args)
{
	onpu_event_free(args->event);
	return NULL;
}

struct pjrt_error *onpu_Event_Create(struct pjrt_Event_Create_args *args)
{
	args->event = create(false);
	return args->event ? NULL : onpu_nomem();
}

struct pjrt_error *onpu_Event_Set(struct pjrt_Event_Set_args *args)
{
	struct pjrt_error *error = NULL;

	if (args->code != PJRT_OK)
		error = onpu_error(args->code, "%.*s", (int)args->length,
				   args->message ? args->message : "");
	if (set(args->event, error))
		return NULL;
	onpu_error_free(error);
	return onpu_error(PJRT_FAILED_PRECONDITION, "onpu: the event is ready already");
}

struct pjrt_error *onpu_Event_IsReady(struct pjrt_Event_IsReady_args *args)
{
	pthread_mutex_lock(&args->event->lock);
	args->is_ready = args->event->is_ready;
	pthread_mutex_unlock(&args->event->lock);
	return NULL;
}

struct pjrt_error *onpu_Event_Error(struct pjrt_Event_Error_args *args)
{
	struct pjrt_event *event = args->event;
	struct pjrt_error *error;

	pthread_mutex_lock(&event->lock);
	error = event->is_ready ?
			copy(event->error) :
			onpu_error(PJRT_FAILED_PRECONDITION, "onpu: the event is not ready yet");
	pthread_mutex_unlock(&event->lock);
	return error;
}

struct pjrt_error *onpu_Event_Await(struct pjrt_Event_Await_args *args)
{
	struct pjrt_event *event = args->event;
	struct pjrt_error *error;

	pthread_mutex_lock(&event->lock);
	while (!event->is_ready)
		pthread_cond_wait(&event->changed, &event->lock);
	error = copy(event->error);
	pthread_mutex_unlock(&event->lock);
	return error;
}

struct pjrt_error *onpu_Event_OnReady(struct pjrt_Event_OnReady_args *args)
{
	struct pjrt_event *event = args->event;
	struct pjrt_error *error;
	struct waiter *waiter;

	pthread_mutex_lock(&event->lock);
	if (!event->is_ready) {
		waiter = malloc(sizeof(*waiter));
		if (waiter) {
			*waiter = (struct waiter){ .callback = args->callback, .user = args->user };
			*event->last = waiter;
			event->last = &waiter->next;
		}
		pthread_mutex_unlock(&event->lock);
		return waiter ? NULL : onpu_nomem();
	}
	error = copy(event->error);
	pthread_mutex_unlock(&event->lock);
	args->callback(error, args->user);
	return NULL;
}
