/* SPDX-License-Identifier: MIT */
/* onpu-smi: events of driver, firmware and engines on one clock, as a trace for Perfetto. */
#ifndef ONPU_TOOLS_SMI_TIMELINE_H
#define ONPU_TOOLS_SMI_TIMELINE_H

#include <stddef.h>
#include <stdint.h>

#include "trace.h"

struct timeline_entry {
	struct trace_event event;
	/*
	 * Time at which the ended jobs were submitted; the event's own time if that was not seen.
	 */
	uint64_t since_us;
};

struct timeline {
	struct timeline_entry *entries;
	size_t count, room;
};

/* Adds an event, in the order of the trace. Ends the program when memory is exhausted. */
void timeline_add(struct timeline *timeline, const struct trace_event *event, uint64_t since_us);
/*
 * Writes the trace; @history tells the clients of the jobs. Returns DONE, or an exit code after a
 * message.
 */
int timeline_write(const struct timeline *timeline, const struct trace_history *history,
		   const char *path);
void timeline_free(struct timeline *timeline);

#endif
