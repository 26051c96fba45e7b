// SPDX-License-Identifier: MIT
/*
 * onpu-smi: puts events of driver, firmware and engines on one clock.
 *
 * The driver's events have the host's time. Jobs on the engines and lines of the firmware have the
 * device's clock, which a model of the device advances only while there is work. So the driver
 * reads that clock, as an event of its own, just before jobs go to the device and when it learns
 * that they have ended; between two such readings the host's time is interpolated. The first
 * reading comes after the event "feed" and the second before "complete", so that all work of the
 * device for a job lies between these two.
 */
#include "timeline.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "../chrome.h"
#include "smi.h"

struct writer {
	const struct timeline *timeline;
	const struct trace_history *history;
	json_t *list;
	/* A device, numbered in the order of appearance, and the end of its last job. */
	struct writer_device {
		char name[16];
		double job_end;
		uint64_t job_end_cycle;
	} *devices;
	size_t device_count, device_room;
	/* A context, which is a thread of the driver's process in the trace. */
	struct writer_ctx {
		size_t device;
		uint64_t client;
		uint32_t ctx;
	} *contexts;
	size_t ctx_count, ctx_room;
	int failed;
};

void timeline_add(struct timeline *timeline, const struct trace_event *event, uint64_t since_us)
{
	timeline->entries = grow_list(timeline->entries, sizeof(*timeline->entries),
				      timeline->count, &timeline->room);
	timeline->entries[timeline->count] = (struct timeline_entry){ *event, since_us };
	/* The trace has no time for lost events: they get that of the event before. */
	if (event->kind == TRACE_LOST && timeline->count)
		timeline->entries[timeline->count].event.us =
			timeline->entries[timeline->count - 1].event.us;
	timeline->count++;
}

void timeline_free(struct timeline *timeline)
{
	free(timeline->entries);
	memset(timeline, 0, sizeof(*timeline));
}

/* ---- the clock */

static bool is_clock_of(const struct trace_event *event, const char *device)
{
	return event->kind == TRACE_CLOCK && event->has_cycle && !strcmp(event->device, device);
}

/*
 * Returns the host's time, in us, of a cycle that the event at @at reports, and that has passed by
 * then. Readings of the clock go backwards where the device lost its power; earlier readings belong
 * to another clock. A negative time: the cycle is before all readings.
 */
static double host_time(const struct timeline *timeline, size_t at, uint64_t cycle)
{
	const struct trace_event *event = &timeline->entries[at].event, *next = NULL,
				 *before = NULL;
	double part, us;

	for (size_t i = at; i < timeline->count && !next; i++)
		if (is_clock_of(&timeline->entries[i].event, event->device))
			next = &timeline->entries[i].event;
	for (size_t i = at; i-- && !before;) {
		const struct trace_event *clock = &timeline->entries[i].event;

		if (!is_clock_of(clock, event->device))
			continue;
		if (next && clock->cycle > next->cycle)
			break;
		if (clock->cycle <= cycle)
			before = clock;
		else
			next = clock;
	}
	if (!before)
		return -1;
	if (!next || next->cycle <= before->cycle)
		return (double)event->us;
	part = (double)(cycle - before->cycle) / (double)(next->cycle - before->cycle);
	us = (double)before->us + part * (double)(next->us - before->us);
	return us < (double)event->us ? us : (double)event->us;
}

/*
 * Returns the host's time of an event's cycle; when it is unknown, the time at which the driver
 * noticed the event.
 */
static double time_or_event(const struct timeline *timeline, size_t at)
{
	const struct trace_event *event = &timeline->entries[at].event;
	double us = event->has_cycle ? host_time(timeline, at, event->cycle) : -1;

	return us < 0 ? (double)event->us : us;
}

/* ---- processes and threads */

static int process_of(enum chrome_process process, size_t device)
{
	return (int)process + CHROME_NEXT * (int)device;
}

static void name_process(struct writer *w, enum chrome_process process, size_t device,
			 const char *name)
{
	char *text = text_of("%s %s", name, w->devices[device].name);

	w->failed |= chrome_name_process(w->list, process_of(process, device), text);
	free(text);
}

static size_t device_of(struct writer *w, const struct trace_event *event)
{
	size_t device = 0;

	while (device < w->device_count && strcmp(w->devices[device].name, event->device))
		device++;
	if (device < w->device_count)
		return device;
	w->devices = grow_list(w->devices, sizeof(*w->devices), w->device_count, &w->device_room);
	w->devices[w->device_count] = (struct writer_device){ .job_end = 0 };
	memcpy(w->devices[w->device_count++].name, event->device, sizeof(event->device));
	name_process(w, CHROME_NPU, device, "NPU");
	for (size_t i = 0; i < ONPU_ENG_COUNT; i++)
		w->failed |= chrome_name_thread(w->list, process_of(CHROME_NPU, device), (int)i + 1,
						trace_engine_name(i));
	w->failed |=
		chrome_name_thread(w->list, process_of(CHROME_NPU, device), CHROME_JOBS, "jobs");
	name_process(w, CHROME_DRIVER, device, "driver of");
	w->failed |= chrome_name_thread(w->list, process_of(CHROME_DRIVER, device), 1, "device");
	name_process(w, CHROME_FIRMWARE, device, "firmware of");
	w->failed |= chrome_name_thread(w->list, process_of(CHROME_FIRMWARE, device), 1, "log");
	return device;
}

/* Returns the thread of the driver for a context; the numbers begin with 2. */
static int thread_of(struct writer *w, size_t device, const struct trace_event *event)
{
	const struct trace_client *client = trace_client(w->history, event);
	struct writer_ctx *ctx;
	char *name;

	for (size_t i = 0; i < w->ctx_count; i++) {
		ctx = &w->contexts[i];
		if (ctx->device == device && ctx->client == event->client && ctx->ctx == event->ctx)
			return (int)i + 2;
	}
	w->contexts = grow_list(w->contexts, sizeof(*w->contexts), w->ctx_count, &w->ctx_room);
	w->contexts[w->ctx_count++] = (struct writer_ctx){ device, event->client, event->ctx };
	name = text_of("%s %d, client %llu, context %u", client ? client->command : "process",
		       client ? client->pid : 0, (unsigned long long)event->client, event->ctx);
	w->failed |= chrome_name_thread(w->list, process_of(CHROME_DRIVER, device),
					(int)w->ctx_count + 1, name);
	free(name);
	return (int)w->ctx_count + 1;
}

/* ---- events */

static json_t *text_json(char *text)
{
	json_t *json = json_string(text);

	free(text);
	return json;
}

static json_t *jobs_name(const struct trace_event *event)
{
	const unsigned long long last = event->seqno;

	if (event->count <= 1)
		return text_json(text_of("job %llu", last));
	return text_json(text_of("jobs %llu to %llu", last - event->count + 1, last));
}

static json_t *jobs_arguments(const struct trace_event *event)
{
	return json_pack("{s:I, s:I, s:I, s:I, s:i, s:i}", "client", (json_int_t)event->client,
			 "context", (json_int_t)event->ctx, "seqno", (json_int_t)event->seqno,
			 "count", (json_int_t)event->count, "queue", (int)event->queue, "error",
			 -event->error);
}

/* Draws jobs in the driver: a mark for each event, and a bar from submission to end. */
static void add_jobs(struct writer *w, size_t device, const struct timeline_entry *entry)
{
	const struct trace_event *event = &entry->event;
	int process = process_of(CHROME_DRIVER, device), thread = thread_of(w, device, event);
	char *id;

	w->failed |= chrome_instant(w->list, process, thread,
				    json_string(trace_kind_name(event->kind)),
				    (double)event->us * 1000, jobs_arguments(event));
	if (event->kind != TRACE_COMPLETE || entry->since_us == event->us)
		return;
	id = text_of("%zu.%d.%llu", device, thread, (unsigned long long)event->seqno);
	w->failed |= chrome_async(w->list, process, thread, jobs_name(event), id,
				  (double)entry->since_us * 1000, (double)event->us * 1000,
				  jobs_arguments(event));
	free(id);
}

static json_t *run_arguments(const struct trace_event *event)
{
	json_t *arguments = jobs_arguments(event);

	json_object_update_new(arguments,
			       json_pack("{s:I, s:I}", "cycles", (json_int_t)event->cycles,
					 "end_cycle", (json_int_t)event->cycle));
	return arguments;
}

/*
 * Draws a job on the engines. A job that was interrupted took fewer cycles than passed between its
 * start and end: its bar ends at its end and has its cycles as length, but does not begin before
 * the end of the job before it.
 */
static void add_run(struct writer *w, size_t device, size_t at)
{
	const struct trace_event *event = &w->timeline->entries[at].event;
	struct writer_device *d = &w->devices[device];
	const uint64_t begin = event->cycle > event->cycles ? event->cycle - event->cycles : 0;
	double start = host_time(w->timeline, at, begin) * 1000;
	double end = time_or_event(w->timeline, at) * 1000;
	int process = process_of(CHROME_NPU, device);

	if (!event->has_cycle)
		return;
	if (start < 0)
		start = (double)w->timeline->entries[0].event.us * 1000;
	if (d->job_end_cycle <= event->cycle && start < d->job_end && d->job_end <= end)
		start = d->job_end;
	d->job_end = end;
	d->job_end_cycle = event->cycle;
	w->failed |= chrome_span(w->list, process, CHROME_JOBS, jobs_name(event), start, end,
				 run_arguments(event));
	for (size_t i = 0; i < ONPU_ENG_COUNT; i++) {
		json_t *name, *arguments;

		if (!event->busy[i])
			continue;
		name = text_json(text_of("job %llu: %.0f %%", (unsigned long long)event->seqno,
					 trace_busy_share(event, i) * 100));
		arguments = run_arguments(event);
		json_object_set_new(arguments, "busy_cycles",
				    json_integer((json_int_t)event->busy[i]));
		w->failed |= chrome_span(w->list, process, (int)i + 1, name, start, end, arguments);
	}
}

static void add_line(struct writer *w, size_t device, size_t at)
{
	const struct trace_event *event = &w->timeline->entries[at].event;
	json_t *arguments = json_object();

	if (event->has_cycle)
		json_object_set_new(arguments, "cycle", json_integer((json_int_t)event->cycle));
	w->failed |= chrome_instant(w->list, process_of(CHROME_FIRMWARE, device), 1,
				    json_string(event->what), time_or_event(w->timeline, at) * 1000,
				    arguments);
}

static void add_entry(struct writer *w, size_t at)
{
	const struct trace_event *event = &w->timeline->entries[at].event;
	size_t device;

	if (event->kind == TRACE_CLOCK)
		return;
	/* The trace does not tell to which devices the lost events belonged. */
	if (event->kind == TRACE_LOST) {
		w->failed |= chrome_instant(w->list, CHROME_DRIVER, 1,
					    text_json(text_of("%llu events were lost",
							      (unsigned long long)event->count)),
					    (double)event->us * 1000, json_object());
		return;
	}
	device = device_of(w, event);
	if (event->kind == TRACE_RAN)
		add_run(w, device, at);
	else if (trace_is_of_jobs(event->kind))
		add_jobs(w, device, &w->timeline->entries[at]);
	else if (event->kind == TRACE_FIRMWARE)
		add_line(w, device, at);
	else
		w->failed |= chrome_instant(
			w->list, process_of(CHROME_DRIVER, device), 1,
			text_json(text_of("%s: %s", trace_kind_name(event->kind), event->what)),
			(double)event->us * 1000, json_pack("{s:i}", "error", -event->error));
}

int timeline_write(const struct timeline *timeline, const struct trace_history *history,
		   const char *path)
{
	struct writer w = { .timeline = timeline, .history = history, .list = json_array() };
	int ret = DONE;

	for (size_t i = 0; i < timeline->count; i++)
		add_entry(&w, i);
	if (w.failed) {
		json_decref(w.list);
		ret = complain(FAILED, "memory is exhausted");
	} else {
		/* chrome_write() sets no error when memory is exhausted. */
		errno = 0;
		if (chrome_write(w.list, path))
			ret = complain(FAILED, "%s: cannot be written: %s", path,
				       errno ? strerror(errno) : "memory is exhausted");
	}
	free(w.devices);
	free(w.contexts);
	return ret;
}
