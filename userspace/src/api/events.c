// SPDX-License-Identifier: MIT
/* The requests of an instance and its callback thread. */
#include "api/events.h"

#include <string.h>
#include <unistd.h>

#include "api/deliver.h"
#include "api/instance.h"
#include "util/clock.h"
#include "util/thread.h"

/*
 * Instances have numbers, which are part of their futures, so that a future of another instance is
 * refused.
 */
static atomic_uint instance_number;

#define INSTANCE_NUMBERS       0xffffffu
#define IDS_PER_INSTANCE_SHIFT 40

/* --- Lists and table, under the lock --- */

static void list_append(struct event_list *list, struct request *request)
{
	request->next_ready = NULL;
	if (list->last)
		list->last->next_ready = request;
	else
		list->first = request;
	list->last = request;
}

static void list_remove(struct event_list *list, struct request *request)
{
	struct request *before = NULL, **link = &list->first;

	for (; *link && *link != request; link = &before->next_ready)
		before = *link;
	if (!*link)
		return;
	*link = request->next_ready;
	if (list->last == request)
		list->last = before;
}

struct request *events_find(struct events *events, uint64_t id)
{
	struct request *request = events->table[id % EVENTS_BUCKETS];

	while (request && request->id != id)
		request = request->next_in_table;
	return request;
}

void events_add(struct events *events, struct request *request, bool future)
{
	struct request **head;

	request->link_live = events->live_end;
	*events->live_end = request;
	events->live_end = &request->next_live;
	if (!future)
		return;
	request->id = events->next_id++;
	head = &events->table[request->id % EVENTS_BUCKETS];
	request->next_in_table = *head;
	*head = request;
}

static void forget(struct events *events, struct request *request)
{
	struct request **link;

	*request->link_live = request->next_live;
	if (request->next_live)
		request->next_live->link_live = request->link_live;
	else
		events->live_end = request->link_live;
	if (!request->id)
		return;
	link = &events->table[request->id % EVENTS_BUCKETS];
	while (*link != request)
		link = &(*link)->next_in_table;
	*link = request->next_in_table;
}

/*
 * Updates the event descriptor: it is readable while wnnInstanceProcessEvents has something to run.
 */
static void signal_fd(struct events *events, bool before)
{
	bool now = events->process.first;
	uint64_t n = 1;
	ssize_t ret;

	if (events->fd < 0 || before == now)
		return;
	/* The call cannot fail, as the counter has only the values 0 and 1. */
	ret = now ? write(events->fd, &n, sizeof(n)) : read(events->fd, &n, sizeof(n));
	(void)ret;
}

/* Counts the errors that wait until the application asks for them, see request_post(). */
static void count_error(struct events *events, const struct request *request, int by)
{
	if (request->kind != REQUEST_ERROR || request->mode != WNNCallbackMode_AllowProcessEvents)
		return;
	events->errors += (uint32_t)by;
	if (by < 0 && request == events->summary) {
		events->summary = NULL;
		events->errors_lost = 0;
	}
}

void events_ready(struct events *events, struct request *request)
{
	bool before = events->process.first;

	count_error(events, request, 1);
	request->state = REQUEST_READY;
	request->order = events->next_order++;
	if (request->mode == WNNCallbackMode_AllowSpontaneous) {
		list_append(&events->spontaneous, request);
		pthread_cond_signal(&events->work);
	} else if (request->mode == WNNCallbackMode_AllowProcessEvents) {
		list_append(&events->process, request);
		signal_fd(events, before);
	}
	pthread_cond_broadcast(&events->changed);
}

static void unready(struct events *events, struct request *request)
{
	bool before = events->process.first;

	count_error(events, request, -1);
	list_remove(&events->process, request);
	list_remove(&events->spontaneous, request);
	signal_fd(events, before);
}

void events_run(struct events *events, struct request *request)
{
	unready(events, request);
	request->state = REQUEST_RUNNING;
	pthread_mutex_unlock(&events->lock);
	deliver_run(request);
	pthread_mutex_lock(&events->lock);
	request->state = REQUEST_DONE;
	forget(events, request);
	pthread_cond_broadcast(&events->changed);
	pthread_mutex_unlock(&events->lock);
	/* The caller holds the instance, so request_put() does not free it. */
	request_put(request);
	pthread_mutex_lock(&events->lock);
}

/*
 * Returns an error that waits for wnnInstanceProcessEvents and came before @end; NULL: there is
 * none.
 */
static struct request *next_error(struct events *events, uint64_t end)
{
	struct request *request = events->errors ? events->process.first : NULL;

	while (request && request->kind != REQUEST_ERROR)
		request = request->next_ready;
	return request && request->order < end ? request : NULL;
}

void events_run_errors(struct events *events)
{
	uint64_t end = events->next_order;
	struct request *request;

	/* Another thread is running callbacks, and will run these in order, too. */
	if (events->processing)
		return;
	events->processing = true;
	while ((request = next_error(events, end)))
		events_run(events, request);
	events->processing = false;
}

/* --- The callback thread --- */

static void *callback_thread(void *argument)
{
	WNNInstance instance = argument;
	struct events *events = &instance->events;

	wnn_thread_name("wnn-callbacks");
	pthread_mutex_lock(&events->lock);
	while (events->spontaneous.first || !events->closing || events->users) {
		if (events->spontaneous.first)
			events_run(events, events->spontaneous.first);
		else
			pthread_cond_wait(&events->work, &events->lock);
	}
	pthread_mutex_unlock(&events->lock);
	instance_drop(instance);
	return NULL;
}

int events_init(WNNInstance instance, struct wnn_error *err)
{
	struct events *events = &instance->events;
	uint64_t number = atomic_fetch_add(&instance_number, 1) % INSTANCE_NUMBERS + 1;

	events->fd = -1;
	events->live_end = &events->live;
	events->first_id = events->next_id = number << IDS_PER_INSTANCE_SHIFT;
	if (wnn_cond_init(&events->changed))
		return wnn_error_nomem(err, "an instance");
	pthread_cond_init(&events->work, NULL);
	pthread_mutex_init(&events->lock, NULL);
	instance_hold(instance);
	if (!wnn_thread_start(callback_thread, instance))
		return 0;
	events_exit(events);
	return wnn_error_set(err, WNN_UNKNOWN_ERROR,
			     "no thread can be started for callbacks: end other programs, or raise "
			     "the limits (ulimit -u, ulimit -v)");
}

void events_exit(struct events *events)
{
	if (events->fd >= 0)
		close(events->fd);
	pthread_cond_destroy(&events->changed);
	pthread_cond_destroy(&events->work);
	pthread_mutex_destroy(&events->lock);
}

void events_add_user(struct events *events)
{
	pthread_mutex_lock(&events->lock);
	events->users++;
	pthread_mutex_unlock(&events->lock);
}

void events_drop_user(struct events *events)
{
	pthread_mutex_lock(&events->lock);
	events->users--;
	pthread_cond_signal(&events->work);
	pthread_mutex_unlock(&events->lock);
}

/*
 * Cancels a request, unless its callback runs already or gives borrowed memory back. Whatever the
 * mode, the callback thread runs the callback, and releases the object that the operation made.
 */
static void cancel(struct events *events, struct request *request)
{
	static const char message[] = "the last reference to the instance was released";

	if (request->kind == REQUEST_RELEASE_CONSTANT || request->state == REQUEST_RUNNING)
		return;
	if (request->state == REQUEST_READY)
		unready(events, request);
	request->mode = WNNCallbackMode_AllowSpontaneous;
	request->status = WNNStatus_Cancelled;
	memcpy(request->message, message, sizeof(message));
	if (request->busy)
		request->spoiled = true;
	else
		events_ready(events, request);
}

/* Returns the request that was completed first, but not before @order; NULL: there is none. */
static struct request *next_completed(struct events *events, uint64_t order)
{
	struct request *found = NULL;

	for (struct request *r = events->live; r; r = r->next_live)
		if (r->state == REQUEST_READY && r->order >= order &&
		    (!found || r->order < found->order))
			found = r;
	return found;
}

void events_close(struct events *events)
{
	struct request *request;
	uint64_t order = 0, end;

	pthread_mutex_lock(&events->lock);
	events->closing = true;
	end = events->next_order;
	/*
	 * Cancels completed requests in the order of their completion, then pending ones in the
	 * order of the calls.
	 */
	while ((request = next_completed(events, order)) && request->order < end) {
		order = request->order + 1;
		cancel(events, request);
	}
	for (request = events->live; request; request = request->next_live)
		if (request->state == REQUEST_PENDING)
			cancel(events, request);
	pthread_cond_signal(&events->work);
	pthread_mutex_unlock(&events->lock);
}
