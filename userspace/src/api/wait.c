// SPDX-License-Identifier: MIT
/* wnnInstanceWaitAny, wnnInstanceProcessEvents, and the descriptor for other event loops. */
#include <errno.h>
#include <string.h>
#include <sys/eventfd.h>

#include "api/instance.h"
#include "util/clock.h"

static WNNStatus check_waiting(WNNInstance instance, const char *function)
{
	if (!api_check(instance, function, "instance"))
		return api_forked() ? WNNStatus_InvalidStateError : WNNStatus_TypeError;
	if (events_in_callback())
		return api_error_status(WNNStatus_InvalidStateError,
					"%s was called from inside a callback of the library: "
					"return from the callback first",
					function);
	return WNNStatus_Success;
}

WNNStatus wnnInstanceProcessEvents(WNNInstance instance)
{
	WNNStatus status = check_waiting(instance, "wnnInstanceProcessEvents");
	struct events *events;
	uint64_t end;

	if (status)
		return status;
	events = &instance->events;
	instance_hold(instance);
	pthread_mutex_lock(&events->lock);
	/* Only one thread at a time runs callbacks, so that they run in order. */
	if (!events->processing) {
		events->processing = true;
		end = events->next_order;
		/*
		 * Requests that callbacks add wait for the next call; otherwise this loop might
		 * never end.
		 */
		while (events->process.first && events->process.first->order < end)
			events_run(events, events->process.first);
		events->processing = false;
	}
	pthread_mutex_unlock(&events->lock);
	instance_drop(instance);
	return WNNStatus_Success;
}

/*
 * Returns the request that was completed first among those futures whose callbacks this thread may
 * run; NULL: there is none.
 */
static struct request *next_to_run(struct events *events, size_t count,
				   const WNNFutureWaitInfo *futures)
{
	struct request *found = NULL;

	for (size_t i = 0; i < count; i++) {
		struct request *request = events_find(events, futures[i].future.id);

		/*
		 * The callback thread runs the callbacks of spontaneous requests, so that these
		 * stay in order.
		 */
		if (!request || request->state != REQUEST_READY ||
		    request->mode == WNNCallbackMode_AllowSpontaneous)
			continue;
		if (!found || request->order < found->order)
			found = request;
	}
	return found;
}

static bool mark_completed(struct events *events, size_t count, WNNFutureWaitInfo *futures)
{
	bool any = false;

	for (size_t i = 0; i < count; i++) {
		futures[i].completed = !events_find(events, futures[i].future.id);
		any |= futures[i].completed;
	}
	return any;
}

static WNNStatus check_futures(struct events *events, size_t count,
			       const WNNFutureWaitInfo *futures)
{
	if (!count || !futures)
		return api_error_status(WNNStatus_TypeError,
					"wnnInstanceWaitAny: there is no future to wait for");
	for (size_t i = 0; i < count; i++) {
		uint64_t id = futures[i].future.id;

		if (id < events->first_id || id >= events->next_id)
			return api_error_status(WNNStatus_TypeError,
						"wnnInstanceWaitAny: futures[%zu] %s", i,
						id ? "belongs to no call of this instance" :
						     "is {0}: the call that returned it failed");
	}
	return WNNStatus_Success;
}

WNNStatus wnnInstanceWaitAny(WNNInstance instance, size_t futureCount, WNNFutureWaitInfo *futures,
			     uint64_t timeoutNS)
{
	WNNStatus status = check_waiting(instance, "wnnInstanceWaitAny");
	uint64_t deadline = wnn_clock_deadline(timeoutNS);
	struct events *events;
	struct request *request;
	bool in_time = true;

	if (status)
		return status;
	events = &instance->events;
	instance_hold(instance);
	pthread_mutex_lock(&events->lock);
	status = check_futures(events, futureCount, futures);
	while (!status) {
		while ((request = next_to_run(events, futureCount, futures)))
			events_run(events, request);
		if (mark_completed(events, futureCount, futures))
			break;
		if (!in_time)
			status = api_error_status(WNNStatus_TimedOut,
						  "wnnInstanceWaitAny: the time is over and no "
						  "future is complete");
		else
			in_time = wnn_cond_wait(&events->changed, &events->lock, deadline);
	}
	pthread_mutex_unlock(&events->lock);
	instance_drop(instance);
	return status;
}

WNNStatus wnnInstanceCancel(WNNInstance instance, WNNFuture future)
{
	struct request *request;
	struct events *events;
	bool known;

	if (!api_check(instance, "wnnInstanceCancel", "instance"))
		return wnnGetLastError(NULL);
	events = &instance->events;
	pthread_mutex_lock(&events->lock);
	known = future.id >= events->first_id && future.id < events->next_id;
	request = known ? events_find(events, future.id) : NULL;
	if (request)
		request_get(request);
	pthread_mutex_unlock(&events->lock);
	if (!known)
		return api_error_status(WNNStatus_TypeError, "wnnInstanceCancel: the future %s",
					future.id ? "belongs to no call of this instance" :
						    "is {0}: the call that returned it failed");
	if (!request)
		return WNNStatus_Success;
	request_settle(request, WNNStatus_Cancelled, "wnnInstanceCancel was called");
	request_put(request);
	return WNNStatus_Success;
}

int wnnInstanceGetEventFd(WNNInstance instance)
{
	struct events *events;
	int fd, why;

	if (!api_check(instance, "wnnInstanceGetEventFd", "instance"))
		return -1;
	events = &instance->events;
	pthread_mutex_lock(&events->lock);
	if (events->fd < 0)
		events->fd = eventfd(events->process.first ? 1 : 0, EFD_CLOEXEC | EFD_NONBLOCK);
	fd = events->fd;
	why = errno;
	pthread_mutex_unlock(&events->lock);
	if (fd < 0)
		api_error_status(WNNStatus_UnknownError,
				 "wnnInstanceGetEventFd: the system gives no file descriptor: %s; "
				 "close files (ulimit -n), or end other programs",
				 strerror(why));
	return fd;
}
