// SPDX-License-Identifier: MIT
/*
 * Adds events to ONNX Runtime's own profile, from 1.25 on: one for each run of a group, with what
 * the device did.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "profile.h"
#include "read.h"

#define MAX_EVENTS 1000000 /* as many as ONNX Runtime keeps of its own events */
#define MAX_ARGS   10

struct event {
	char *name;
	int32_t thread;
	int64_t start, end; /* nanoseconds of the monotonic clock */
	WNNDispatchStatistics statistics;
	WNNDispatchCopies copies;
};

struct profiler {
	struct ort_profiler base;
	struct onpu_ep *ep; /* NULL: the session has ended */
	const struct ort_api *ort;
	struct profiler *next; /* next profiler of the session */
	char device[16];
	bool on;
	/*
	 * When ONNX Runtime's profile began, on the monotonic clock. It is too late by the time
	 * that ONNX Runtime took to call start().
	 */
	int64_t begin;
	struct event *events;
	size_t count, room;
};

/*
 * Protects the lists of profilers, as ONNX Runtime may release profiler and session in any order.
 */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

int64_t onpu_profile_now(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

/* Switches a profiler on or off. The caller holds the lock. */
static void set_on(struct profiler *profiler, bool on)
{
	if (profiler->on == on)
		return;
	profiler->on = on;
	if (profiler->ep)
		atomic_fetch_add(&profiler->ep->profiling, on ? 1 : -1);
}

static void clear(struct profiler *profiler)
{
	for (size_t i = 0; i < profiler->count; i++)
		free(profiler->events[i].name);
	free(profiler->events);
	profiler->events = NULL;
	profiler->count = profiler->room = 0;
}

static void release(struct ort_profiler *base)
{
	struct profiler *profiler = (struct profiler *)base;

	pthread_mutex_lock(&lock);
	set_on(profiler, false);
	for (struct profiler **link = profiler->ep ? &profiler->ep->profilers : NULL; link && *link;
	     link = &(*link)->next) {
		if (*link == profiler) {
			*link = profiler->next;
			break;
		}
	}
	pthread_mutex_unlock(&lock);
	clear(profiler);
	free(profiler);
}

static struct ort_status *start(struct ort_profiler *base, int64_t nanoseconds)
{
	struct profiler *profiler = (struct profiler *)base;

	pthread_mutex_lock(&lock);
	clear(profiler);
	profiler->begin = onpu_profile_now() - nanoseconds;
	set_on(profiler, true);
	pthread_mutex_unlock(&lock);
	return NULL;
}

static struct ort_status *add(const struct profiler *profiler, const struct event *event,
			      struct ort_events *events)
{
	const WNNDispatchStatistics *s = &event->statistics;
	const struct {
		const char *name;
		uint64_t value;
	} numbers[] = {
		{ "npu_nodes", s->npuNodes },
		{ "cpu_nodes", s->cpuNodes },
		{ "npu_cycles", s->npuCycles },
		{ "npu_ns", s->npuNanoseconds },
		{ "cpu_ns", s->cpuNanoseconds },
		{ "bytes_read", s->bytesRead },
		{ "bytes_written", s->bytesWritten },
		{ "copied_in", event->copies.bytesIn },
		{ "copied_out", event->copies.bytesOut },
	};
	const char *keys[MAX_ARGS] = { "device" }, *values[MAX_ARGS] = { profiler->device };
	const struct ort_profiling_event *made;
	struct ort_profiling_event *out;
	struct ort_status *status;
	char text[MAX_ARGS][24];
	int64_t begin = (event->start - profiler->begin) / 1000;

	_Static_assert(sizeof(numbers) / sizeof(numbers[0]) + 1 == MAX_ARGS, "all have room");
	for (size_t i = 1; i < MAX_ARGS; i++) {
		snprintf(text[i], sizeof(text[i]), "%" PRIu64, numbers[i - 1].value);
		keys[i] = numbers[i - 1].name;
		values[i] = text[i];
	}
	ORT_TRY(profiler->ort->CreateProfilingEvent(
		ORT_PROFILE_KERNEL, getpid(), event->thread, event->name, begin,
		(event->end - profiler->begin) / 1000 - begin, keys, values, MAX_ARGS, &out));
	made = out;
	status = profiler->ort->ProfilingEventsContainer_AddEvents(events, &made, 1);
	profiler->ort->ReleaseProfilingEvent(out);
	return status;
}

static struct ort_status *end(struct ort_profiler *base, struct ort_events *events)
{
	struct profiler *profiler = (struct profiler *)base;
	struct ort_status *status = NULL;

	pthread_mutex_lock(&lock);
	set_on(profiler, false);
	pthread_mutex_unlock(&lock);
	for (size_t i = 0; i < profiler->count && !status; i++)
		status = add(profiler, &profiler->events[i], events);
	clear(profiler);
	return status;
}

struct ort_status *onpu_profiler_create(struct ort_ep *base, struct ort_profiler **out)
{
	struct onpu_ep *ep = (struct onpu_ep *)base;
	struct profiler *profiler;
	WNNDeviceInfo info = WNN_DEVICE_INFO_INIT;

	*out = NULL;
	/* An idle session has no context and computes nothing. */
	if (!ep->context || wnnContextGetDeviceInfo(ep->context, &info) != WNNStatus_Success)
		return NULL;
	profiler = calloc(1, sizeof(*profiler));
	if (!profiler)
		return onpu_nomem(&ep->factory->ort);
	profiler->base.version = ep->factory->ort.version;
	profiler->base.release = release;
	profiler->base.start = start;
	profiler->base.end = end;
	profiler->ort = &ep->factory->ort;
	profiler->ep = ep;
	snprintf(profiler->device, sizeof(profiler->device), "%.*s", (int)info.device.length,
		 info.device.data);
	pthread_mutex_lock(&lock);
	profiler->next = ep->profilers;
	ep->profilers = profiler;
	pthread_mutex_unlock(&lock);
	*out = &profiler->base;
	return NULL;
}

/*
 * Appends an event. Events that do not fit into memory are dropped, as ONNX Runtime drops its own.
 */
static void append(struct profiler *profiler, const struct event *event)
{
	char *name;

	if (profiler->count == MAX_EVENTS)
		return;
	if (profiler->count == profiler->room) {
		size_t room = profiler->room ? profiler->room * 2 : 64;
		struct event *more = realloc(profiler->events, room * sizeof(*more));

		if (!more)
			return;
		profiler->events = more;
		profiler->room = room;
	}
	name = strdup(event->name);
	if (!name)
		return;
	profiler->events[profiler->count] = *event;
	profiler->events[profiler->count++].name = name;
}

void onpu_profile_add(struct onpu_ep *ep, char *name, int64_t start_ns,
		      const WNNDispatchStatistics *statistics, const WNNDispatchCopies *copies)
{
	struct event event = { .name = name,
			       .thread = gettid(),
			       .start = start_ns,
			       .end = onpu_profile_now(),
			       .statistics = *statistics,
			       .copies = *copies };

	pthread_mutex_lock(&lock);
	for (struct profiler *profiler = ep->profilers; profiler; profiler = profiler->next)
		if (profiler->on)
			append(profiler, &event);
	pthread_mutex_unlock(&lock);
}

void onpu_profilers_leave(struct onpu_ep *ep)
{
	pthread_mutex_lock(&lock);
	for (struct profiler *profiler = ep->profilers; profiler; profiler = profiler->next)
		profiler->ep = NULL;
	ep->profilers = NULL;
	pthread_mutex_unlock(&lock);
}
