/* SPDX-License-Identifier: MIT */
/* The profile of a graph's last dispatch, for readers and for trace viewers. */
#ifndef ONPU_TOOLS_PROFILE_H
#define ONPU_TOOLS_PROFILE_H

#include <webnn/webnn_npu.h>

/* A table on standard output: one line for each node, then the engines. 0, or -1 after a message. */
int profile_print(WNNGraph graph);

/*
 * The Trace Event Format that Perfetto and chrome://tracing read: a lane for the library in host
 * time, and one for each engine, scaled into the host time of the job; exact cycles are arguments.
 * 0, or -1 after a message.
 */
int profile_write_trace(WNNGraph graph, const char *path);

#endif
