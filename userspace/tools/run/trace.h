/* SPDX-License-Identifier: MIT */
/* webnn-run: a profile written as a trace for Perfetto and chrome://tracing. */
#ifndef ONPU_TOOLS_RUN_TRACE_H
#define ONPU_TOOLS_RUN_TRACE_H

#include "report.h"

/* Writes the trace. Returns DONE, or an exit code after a message. */
int trace_write(const struct report *report, const char *path);

#endif
