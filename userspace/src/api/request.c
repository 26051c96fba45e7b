// SPDX-License-Identifier: MIT
/* The life of a request: it is created, and then completed, failed or cancelled once. */
#include <stdio.h>
#include <string.h>

#include "api/deliver.h"
#include "api/instance.h"
#include "api/tensor.h"
#include "util/clock.h"
#include "util/malloc.h"

struct request *request_create(WNNInstance instance, enum request_kind kind,
			       struct request_callback callback)
{
	struct request *request = wnn_calloc(1, sizeof(*request));

	if (!request)
		return NULL;
	instance_hold(instance);
	request->instance = instance;
	request->kind = kind;
	request->callback = callback;
	request->mode = callback.mode ? callback.mode : WNNCallbackMode_AllowProcessEvents;
	atomic_init(&request->refs, 1);
	return request;
}

void request_get(struct request *request)
{
	atomic_fetch_add(&request->refs, 1);
}

void request_put(struct request *request)
{
	WNNInstance instance;

	if (!request || atomic_fetch_sub(&request->refs, 1) != 1)
		return;
	instance = request->instance;
	deliver_discard(request);
	tensor_put(request->tensor);
	wnn_free(request->location);
	wnn_free(request);
	instance_drop(instance);
}

/*
 * Stores the position of the application's call for the debug layer; without memory for it the
 * position stays unknown.
 */
static void note_location(struct request *request, const char *function)
{
	if (!debug_on)
		return;
	request->location = wnn_malloc(sizeof(*request->location));
	if (request->location)
		debug_here(request->location, function);
}

static int check_callback(const struct request_callback *callback, const char *function,
			  struct wnn_error *err)
{
	if (api_check_no_chain(callback->chain, "the callback info", err))
		return -1;
	if (!callback->function)
		return wnn_error_set(err, WNN_TYPE_ERROR, "%s: the callback is NULL", function);
	if (callback->mode > WNNCallbackMode_AllowSpontaneous)
		return wnn_error_set(err, WNN_TYPE_ERROR,
				     "%s: the mode of the callback is %u, which is no value of "
				     "WNNCallbackMode",
				     function, (unsigned int)callback->mode);
	return 0;
}

struct request *request_begin_async(WNNInstance instance, enum request_kind kind,
				    struct request_callback callback, const char *function)
{
	struct events *events = &instance->events;
	struct wnn_error err = { 0 };
	struct request *request;
	bool closing;

	if (check_callback(&callback, function, &err)) {
		api_error(&err);
		return NULL;
	}
	request = request_create(instance, kind, callback);
	if (!request) {
		api_error_status(WNNStatus_UnknownError, "%s: out of memory", function);
		return NULL;
	}
	note_location(request, function);
	pthread_mutex_lock(&events->lock);
	closing = events->closing;
	if (!closing) {
		request_get(request);
		events_add(events, request, true);
	}
	pthread_mutex_unlock(&events->lock);
	if (!closing)
		return request;
	api_error_status(WNNStatus_InvalidStateError,
			 "%s: the last reference to the instance was released", function);
	request_put(request);
	return NULL;
}

struct request *request_begin_sync(WNNInstance instance, enum request_kind kind,
				   const char *function)
{
	struct request_callback none = { 0 };
	struct request *request;

	if (events_in_callback()) {
		api_error_status(WNNStatus_InvalidStateError,
				 "%s was called from inside a callback of the library: return "
				 "from the callback first",
				 function);
		return NULL;
	}
	request = request_create(instance, kind, none);
	if (!request) {
		api_error_status(WNNStatus_UnknownError, "%s: out of memory", function);
		return NULL;
	}
	request->sync = true;
	note_location(request, function);
	request_get(request);
	return request;
}

/*
 * Ends a request: makes it ready for delivery, or wakes the Sync function. Call it with the lock
 * held.
 */
static void end(struct events *events, struct request *request)
{
	if (!request->sync) {
		events_ready(events, request);
		return;
	}
	request->state = REQUEST_DONE;
	pthread_cond_broadcast(&events->changed);
}

static void set_status(struct request *request, WNNStatus status, const char *message)
{
	request->status = status;
	snprintf(request->message, sizeof(request->message), "%s", message);
}

bool request_complete(struct request *request, const struct wnn_error *err,
		      const union request_result *result)
{
	struct events *events = &request->instance->events;
	bool taken = false;

	/* A Sync function reports the error itself. */
	if (debug_on && err && !request->sync)
		debug_failed(err->message, request->location);
	pthread_mutex_lock(&events->lock);
	if (request->state == REQUEST_PENDING) {
		request->busy = false;
		if (!request->spoiled) {
			taken = true;
			if (err)
				set_status(request, (WNNStatus)err->status, err->message);
			else if (result)
				request->result = *result;
		}
		end(events, request);
	}
	pthread_mutex_unlock(&events->lock);
	return taken;
}

void request_settle(struct request *request, WNNStatus status, const char *message)
{
	struct events *events = &request->instance->events;

	pthread_mutex_lock(&events->lock);
	/*
	 * Waits for the copy, which is nearly done: work that is queued later must not overtake the
	 * copy.
	 */
	while (request->busy)
		pthread_cond_wait(&events->changed, &events->lock);
	if (request->state == REQUEST_PENDING) {
		set_status(request, status, message);
		end(events, request);
	}
	pthread_mutex_unlock(&events->lock);
}

void request_revoke(struct request *request, WNNStatus status, const char *message)
{
	struct events *events = &request->instance->events;

	request_settle(request, status, message);
	pthread_mutex_lock(&events->lock);
	if (request->state == REQUEST_READY && !request->status) {
		set_status(request, status, message);
		memset(&request->result, 0, sizeof(request->result));
	}
	pthread_mutex_unlock(&events->lock);
}

bool request_wanted(struct request *request)
{
	struct events *events = &request->instance->events;
	bool wanted;

	pthread_mutex_lock(&events->lock);
	wanted = request->state == REQUEST_PENDING && !request->spoiled;
	pthread_mutex_unlock(&events->lock);
	return wanted;
}

/*
 * Handles an error when too many errors wait: the first one becomes events->summary, whose message
 * says how many errors were not kept, and which was the latest; further ones are only counted.
 * Returns false when the error can be kept. Call it with the lock held.
 */
static bool summarize(struct events *events, struct request *request, WNNStatus status,
		      const char *message)
{
	struct request *summary = events->summary;

	if (request->kind != REQUEST_ERROR || request->mode != WNNCallbackMode_AllowProcessEvents ||
	    events->errors < EVENTS_MAX_ERRORS)
		return false;
	if (!summary)
		summary = events->summary = request;
	events->errors_lost++;
	summary->status = status;
	snprintf(summary->message, sizeof(summary->message),
		 "%llu more errors were not kept, because %u errors were waiting to be taken; the "
		 "last one: %s",
		 (unsigned long long)events->errors_lost, EVENTS_MAX_ERRORS, message);
	return true;
}

void request_post(struct request *request, WNNStatus status, const char *message)
{
	struct events *events = &request->instance->events;
	bool drop;

	pthread_mutex_lock(&events->lock);
	/*
	 * Errors are dropped when the application has released the instance. Borrowed data is still
	 * given back.
	 */
	drop = events->closing && request->kind == REQUEST_ERROR;
	if (!drop && summarize(events, request, status, message))
		drop = request != events->summary;
	else
		set_status(request, status, message);
	if (!drop) {
		events_add(events, request, false);
		events_ready(events, request);
	}
	pthread_mutex_unlock(&events->lock);
	if (drop)
		request_put(request);
}

bool request_set_busy(struct request *request)
{
	struct events *events = &request->instance->events;
	bool pending;

	pthread_mutex_lock(&events->lock);
	pending = request->state == REQUEST_PENDING && !request->spoiled;
	if (pending)
		request->busy = true;
	pthread_mutex_unlock(&events->lock);
	return pending;
}

WNNStatus request_wait(struct request *request, uint64_t timeout_ns, union request_result *result)
{
	struct events *events = &request->instance->events;
	uint64_t deadline = wnn_clock_deadline(timeout_ns);
	WNNStatus status;

	pthread_mutex_lock(&events->lock);
	while (request->state == REQUEST_PENDING &&
	       wnn_cond_wait(&events->changed, &events->lock, deadline))
		;
	/*
	 * Waits for a copy that has begun: after this the library does not write the caller's
	 * memory.
	 */
	while (request->busy)
		pthread_cond_wait(&events->changed, &events->lock);
	if (request->state == REQUEST_PENDING) {
		set_status(request, WNNStatus_TimedOut,
			   "the time is over; the operation is cancelled");
		request->state = REQUEST_DONE;
	}
	status = request->status;
	if (!status && result) {
		*result = request->result;
		memset(&request->result, 0, sizeof(request->result));
	}
	events_run_errors(events);
	pthread_mutex_unlock(&events->lock);
	if (debug_on && !status && result)
		deliver_note(request, result);
	if (status) {
		/*
		 * The task may still be queued. A tensor that was to be mapped can be used again at
		 * once.
		 */
		deliver_failed(request);
		api_error_status(status, "%s", request->message);
	}
	request_put(request);
	return status;
}
