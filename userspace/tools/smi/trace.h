/* SPDX-License-Identifier: MIT */
/* onpu-smi: the lines of the kernel's trace about Open NPUs, and the clients of their jobs. */
#ifndef ONPU_TOOLS_SMI_TRACE_H
#define ONPU_TOOLS_SMI_TRACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "onpu/registers.h"

/* The trace events of the driver, which Documentation/driver.rst lists. */
enum trace_kind {
	TRACE_SUBMIT,
	TRACE_FEED,
	TRACE_RAN,
	TRACE_COMPLETE,
	TRACE_FAULT,
	TRACE_RESET,
	TRACE_POWER,
	TRACE_FIRMWARE,
	TRACE_CLOCK,
	TRACE_LOST, /* @count events were overwritten before they were read */
	TRACE_KINDS,
};

/* Returns a name such as "submit". */
const char *trace_kind_name(enum trace_kind kind);

/* Returns the engine's name as in the profiles of webnn-run. */
const char *trace_engine_name(size_t engine);

/* Returns whether events of this kind are about jobs of a client. */
bool trace_is_of_jobs(enum trace_kind kind);

struct trace_event {
	enum trace_kind kind;
	uint64_t us;	  /* time on the trace's clock */
	char command[16]; /* name of the task that ran then; the pid is that of its process */
	int pid;
	char device[16];
	/* For jobs: @count is their number, and @seqno the last one. */
	uint64_t client, seqno, count;
	uint32_t ctx;
	int32_t queue, error; /* error: a negative errno, or 0 */
	/* For faults. */
	uint64_t code, pc, address;
	/* For a job that ran; @cycle is the device's clock at its end. */
	uint64_t cycles, busy[ONPU_ENG_COUNT];
	/* The device's clock, for events TRACE_CLOCK and lines of the firmware that have it. */
	uint64_t cycle;
	bool has_cycle;
	/* Text for resets, power and firmware. */
	char what[112];
};

/* Parses a line without its line end. Returns false when it is about something else. */
bool trace_parse(const char *line, struct trace_event *event);

/* Returns the share of a job's cycles in which an engine worked, for an event TRACE_RAN. */
double trace_busy_share(const struct trace_event *event, size_t engine);

struct trace_client {
	char device[16];
	uint64_t id;
	int pid;
	char command[16];
};

struct trace_job {
	char device[16];
	uint64_t client, seqno, us;
	uint32_t ctx;
};

struct trace_history {
	struct trace_client *clients;
	size_t client_count, client_room;
	struct trace_job *jobs;
	size_t job_count, job_room;
};

void trace_history_free(struct trace_history *history);

/* Notes the process of a client; the first one that is noted stays. */
void trace_know(struct trace_history *history, const char *device, uint64_t id, int pid,
		const char *command);
/* Returns the client of an event; NULL when it is not known. */
const struct trace_client *trace_client(const struct trace_history *history,
					const struct trace_event *event);

/* Remembers the time of submission of jobs, from an event TRACE_SUBMIT. */
void trace_submitted(struct trace_history *history, const struct trace_event *event);
/*
 * Finds the time of submission for an event TRACE_COMPLETE, and forgets these jobs and earlier ones
 * of the context. Returns false when the submission was not seen.
 */
bool trace_completed(struct trace_history *history, const struct trace_event *event,
		     uint64_t *submitted_us);

#endif
