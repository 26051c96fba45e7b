/* SPDX-License-Identifier: MIT */
/*
 * onpu-smi: the lines of the kernel's trace that are about Open NPUs, and who had which jobs in
 * them.
 */
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
	TRACE_LOST, /* so many events were overwritten before they were read: @count */
	TRACE_KINDS,
};

/* "submit" and so on. */
const char *trace_kind_name(enum trace_kind kind);

/* Returns the engine's name as in the profiles of webnn-run. */
const char *trace_engine_name(size_t engine);

/* Whether events of this kind are about jobs of a client. */
bool trace_is_of_jobs(enum trace_kind kind);

struct trace_event {
	enum trace_kind kind;
	uint64_t us;	  /* by the clock of the trace */
	char command[16]; /* of the task that ran then, and its process */
	int pid;
	char device[16];
	/* For jobs: their number is @count, and @seqno is the last. */
	uint64_t client, seqno, count;
	uint32_t ctx;
	int32_t queue, error; /* @error is negative, or 0 */
	/* For a fault. */
	uint64_t code, pc, address;
	/* For a job that ran: the device's clock at its end is @cycle. */
	uint64_t cycles, busy[ONPU_ENG_COUNT];
	/* For the clock, and for a line of the firmware that has it: the device's clock. */
	uint64_t cycle;
	bool has_cycle;
	/* For resets, power and firmware. */
	char what[112];
};

/* Reads a line without its end. False when it is about something else. */
bool trace_parse(const char *line, struct trace_event *event);

/* Returns the share of a job's cycles in which an engine worked, for an event TRACE_RAN. */
double trace_busy_share(const struct trace_event *event, size_t engine);

/* A client that was seen. */
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

/* Notes the process of a client; the first answer stays. */
void trace_know(struct trace_history *history, const char *device, uint64_t id, int pid,
		const char *command);
/* NULL when that is not known. */
const struct trace_client *trace_client(const struct trace_history *history,
					const struct trace_event *event);

/* Keeps when jobs were submitted, of an event TRACE_SUBMIT. */
void trace_submitted(struct trace_history *history, const struct trace_event *event);
/*
 * Finds it, of an event TRACE_COMPLETE, and forgets it and what was before it in the context. False
 * when the submission was not seen.
 */
bool trace_completed(struct trace_history *history, const struct trace_event *event,
		     uint64_t *submitted_us);

#endif
