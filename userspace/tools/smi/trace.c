// SPDX-License-Identifier: MIT
/*
 * onpu-smi: parses lines of the kernel's trace about Open NPUs, and remembers the clients of jobs.
 */
#include "trace.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "dump.h"
#include "smi.h"

/*
 * The most submissions that are remembered: more than programs have in flight, and few enough to
 * search all of them whenever a job ends.
 */
#define JOBS_MAX 4096u

static const char *const kind_names[TRACE_KINDS] = {
	[TRACE_SUBMIT] = "submit",     [TRACE_FEED] = "feed",	      [TRACE_RAN] = "ran",
	[TRACE_COMPLETE] = "complete", [TRACE_FAULT] = "fault",	      [TRACE_RESET] = "reset",
	[TRACE_POWER] = "power",       [TRACE_FIRMWARE] = "firmware", [TRACE_CLOCK] = "clock",
	[TRACE_LOST] = "lost",
};

const char *trace_kind_name(enum trace_kind kind)
{
	return kind_names[kind];
}

const char *trace_engine_name(size_t engine)
{
	static const char *const names[ONPU_ENG_COUNT] = {
		[ONPU_ENG_CP] = "control", [ONPU_ENG_LD] = "load",    [ONPU_ENG_ST] = "store",
		[ONPU_ENG_MXU] = "matrix", [ONPU_ENG_VPU] = "vector",
	};

	return names[engine];
}

double trace_busy_share(const struct trace_event *event, size_t engine)
{
	return event->cycles ? (double)event->busy[engine] / (double)event->cycles : 0;
}

bool trace_is_of_jobs(enum trace_kind kind)
{
	return kind <= TRACE_FAULT;
}

/* ---- lines */

/* Copies a text up to @end, or as much as fits; unprintable characters become '?'. */
static void take_text(char *text, size_t size, const char *from, const char *end)
{
	size_t length = (size_t)(end - from);

	if (length >= size)
		length = size - 1;
	for (size_t i = 0; i < length; i++)
		text[i] = (char)(isprint((unsigned char)from[i]) ? from[i] : '?');
	text[length] = '\0';
}

/*
 * Parses the head of a line, "            bash-123     (    123) [001] d..1.  1234.567890:
 * onpu_submit: dev=…": the name of the task is 16 characters wide and may contain anything; the
 * process in parentheses is optional. Returns the text after the time, or NULL.
 */
static const char *take_head(const char *line, struct trace_event *event)
{
	const char *name = line + strspn(line, " ");
	const char *at, *point;
	char *end;
	long tgid;

	if (strnlen(line, 17) < 17 || line[16] != '-')
		return NULL;
	if (name > line + 16)
		name = line + 16;
	take_text(event->command, sizeof(event->command), name, line + 16);
	event->pid = (int)strtol(line + 17, &end, 10);
	at = end + strspn(end, " ");
	if (*at == '(') {
		tgid = strtol(at + 1, &end, 10);
		if (tgid > 0)
			event->pid = (int)tgid;
		at = strchr(at, ')');
		at = at ? at + 1 + strspn(at + 1, " ") : "";
	}
	at = *at == '[' ? strchr(at, ']') : NULL;
	/* A word of flags may come before the time. */
	point = at ? strchr(at, '.') : NULL;
	while (point && !(isdigit((unsigned char)point[-1]) && isdigit((unsigned char)point[1])))
		point = strchr(point + 1, '.');
	if (!point || strspn(point + 1, "0123456789") != 6 || strncmp(point + 7, ": ", 2))
		return NULL;
	for (at = point; isdigit((unsigned char)at[-1]); at--)
		;
	event->us = strtoull(at, NULL, 10) * 1000000 + strtoull(point + 1, NULL, 10);
	return point + 9;
}

/* Parses a line such as "CPU:1 [LOST 123 EVENTS]". Returns false for another line. */
static bool take_lost(const char *line, struct trace_event *event)
{
	const char *at = strstr(line, " [LOST ");

	if (strncmp(line, "CPU:", 4) || !at)
		return false;
	event->kind = TRACE_LOST;
	event->count = strtoull(at + 7, NULL, 10);
	return true;
}

static bool take_kind(const char **text, struct trace_event *event)
{
	if (strncmp(*text, "onpu_", 5))
		return false;
	*text += 5;
	for (size_t i = 0; i < TRACE_LOST; i++) {
		size_t length = strlen(kind_names[i]);

		if (!strncmp(*text, kind_names[i], length) && !strncmp(*text + length, ": ", 2)) {
			event->kind = (enum trace_kind)i;
			*text += length + 2;
			return true;
		}
	}
	return false;
}

/* Returns a negative errno from the field "error"; 0 when the field is absent or no errno. */
static int32_t error_of(const char *text)
{
	uint64_t value;

	if (!dump_field(text, "error", &value) || -value > 4095)
		return 0;
	return -(int32_t)-value;
}

static uint64_t number_of(const char *text, const char *name)
{
	uint64_t value;

	return dump_field(text, name, &value) ? value : 0;
}

/* Reads "what=\"…\"" up to its last quotation mark, because the firmware may write anything. */
static void take_what(const char *text, struct trace_event *event)
{
	const char *part = dump_rest(text, "what");
	const char *end = part ? strrchr(part, '"') : NULL;

	if (part && *part == '"' && end > part)
		take_text(event->what, sizeof(event->what), part + 1, end);
}

/*
 * Reads the device's clock, which is the start of the firmware's lines: "[0x1234] resident queue
 * 0x1".
 */
static void take_cycle_of_line(struct trace_event *event)
{
	char *end;
	uint64_t cycle;

	if (strncmp(event->what, "[0x", 3))
		return;
	cycle = strtoull(event->what + 1, &end, 16);
	if (strncmp(end, "] ", 2))
		return;
	event->cycle = cycle;
	event->has_cycle = true;
	memmove(event->what, end + 2, strlen(end + 2) + 1);
	for (size_t i = strlen(event->what); i && event->what[i - 1] == ' '; i--)
		event->what[i - 1] = '\0';
}

/*
 * Reads the cycles of a job and of each engine, "busy={0x1,0x2,…}", and the device's clock at the
 * job's end.
 */
static void take_engines(const char *text, struct trace_event *event)
{
	const char *part = dump_rest(text, "busy");

	event->cycles = number_of(text, "cycles");
	event->has_cycle = dump_field(text, "end", &event->cycle);
	for (size_t i = 0; i < ONPU_ENG_COUNT && part && strchr("{,", *part) && *part; i++) {
		char *end;

		event->busy[i] = strtoull(part + 1, &end, 16);
		part = end;
	}
}

static void take_of_device(const char *text, struct trace_event *event)
{
	if (event->kind == TRACE_CLOCK)
		event->has_cycle = dump_field(text, "cycle", &event->cycle);
	else
		take_what(text, event);
	if (event->kind == TRACE_FIRMWARE)
		take_cycle_of_line(event);
	/* A clock of all ones means that the device is gone. */
	event->has_cycle = event->has_cycle && event->cycle != UINT64_MAX;
}

bool trace_parse(const char *line, struct trace_event *event)
{
	const char *text, *part;

	memset(event, 0, sizeof(*event));
	if (take_lost(line, event))
		return true;
	text = take_head(line, event);
	if (!text || !take_kind(&text, event))
		return false;
	part = dump_rest(text, "dev");
	if (!part)
		return false;
	take_text(event->device, sizeof(event->device), part, part + strcspn(part, " "));
	event->error = error_of(text);
	if (!trace_is_of_jobs(event->kind)) {
		take_of_device(text, event);
		return true;
	}
	event->client = number_of(text, "client");
	event->ctx = (uint32_t)number_of(text, "ctx");
	event->queue = (int32_t)number_of(text, "queue");
	event->seqno = number_of(text, "seqno");
	/* Faults and runs concern a single job. */
	event->count = event->kind == TRACE_FAULT || event->kind == TRACE_RAN ?
			       1 :
			       number_of(text, "count");
	if (event->kind == TRACE_RAN)
		take_engines(text, event);
	event->code = number_of(text, "code");
	event->pc = number_of(text, "pc");
	event->address = number_of(text, "address");
	return true;
}

/* ---- what was seen */

void trace_history_free(struct trace_history *history)
{
	free(history->clients);
	free(history->jobs);
	memset(history, 0, sizeof(*history));
}

static struct trace_client *find_client(const struct trace_history *history, const char *device,
					uint64_t id)
{
	for (size_t i = 0; i < history->client_count; i++)
		if (history->clients[i].id == id && !strcmp(history->clients[i].device, device))
			return &history->clients[i];
	return NULL;
}

void trace_know(struct trace_history *history, const char *device, uint64_t id, int pid,
		const char *command)
{
	struct trace_client *client;

	if (find_client(history, device, id))
		return;
	history->clients = grow_list(history->clients, sizeof(*client), history->client_count,
				     &history->client_room);
	client = &history->clients[history->client_count++];
	client->id = id;
	client->pid = pid;
	snprintf(client->device, sizeof(client->device), "%s", device);
	take_text(client->command, sizeof(client->command), command, command + strlen(command));
}

const struct trace_client *trace_client(const struct trace_history *history,
					const struct trace_event *event)
{
	return find_client(history, event->device, event->client);
}

static bool is_of_context(const struct trace_job *job, const struct trace_event *event)
{
	return job->client == event->client && job->ctx == event->ctx &&
	       !strcmp(job->device, event->device);
}

void trace_submitted(struct trace_history *history, const struct trace_event *event)
{
	struct trace_job *job;

	/* The oldest half is dropped: the ends of these jobs were among lost events. */
	if (history->job_count == JOBS_MAX) {
		history->job_count /= 2;
		memmove(history->jobs, history->jobs + history->job_count,
			history->job_count * sizeof(*job));
	}
	history->jobs =
		grow_list(history->jobs, sizeof(*job), history->job_count, &history->job_room);
	job = &history->jobs[history->job_count++];
	memcpy(job->device, event->device, sizeof(job->device));
	job->client = event->client;
	job->ctx = event->ctx;
	job->seqno = event->seqno;
	job->us = event->us;
}

bool trace_completed(struct trace_history *history, const struct trace_event *event,
		     uint64_t *submitted_us)
{
	size_t kept = 0;
	bool found = false;

	for (size_t i = 0; i < history->job_count; i++) {
		const struct trace_job *job = &history->jobs[i];

		if (!is_of_context(job, event) || job->seqno > event->seqno) {
			history->jobs[kept++] = *job;
		} else if (job->seqno == event->seqno) {
			*submitted_us = job->us;
			found = true;
		}
	}
	history->job_count = kept;
	return found;
}
