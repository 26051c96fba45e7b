/* SPDX-License-Identifier: MIT */
/*
 * Traces for Perfetto and chrome://tracing. All tools that write traces use these processes and
 * threads, and times of CLOCK_MONOTONIC, so that the traces of several tools can be merged.
 */
#ifndef ONPU_TOOLS_CHROME_H
#define ONPU_TOOLS_CHROME_H

#include <jansson.h>
#include <stdint.h>

/*
 * Process numbers of the first device in a trace; the numbers of each further device are
 * CHROME_NEXT higher.
 */
enum chrome_process {
	CHROME_LIBRARY = 1,
	CHROME_NPU = 2, /* threads: a number of WNNProfileEngine for each engine, and CHROME_JOBS */
	CHROME_DRIVER = 3,
	CHROME_FIRMWARE = 4,
	CHROME_NEXT = 10,
};

/*
 * The thread of the process CHROME_NPU that shows jobs; its number is above those of the engines.
 */
enum { CHROME_JOBS = 16 };

/*
 * These functions append an event to @list and take over the JSON values @name and @arguments in
 * any case. They return 0, or another value when memory is exhausted or one of these two is NULL.
 * Times are in nanoseconds.
 */
int chrome_span(json_t *list, int process, int thread, json_t *name, double start, double end,
		json_t *arguments);
int chrome_instant(json_t *list, int process, int thread, json_t *name, double time,
		   json_t *arguments);
/*
 * Adds an event that may overlap others of its thread; @id distinguishes it from these. Returns
 * what chrome_span() does.
 */
int chrome_async(json_t *list, int process, int thread, json_t *name, const char *id, double start,
		 double end, json_t *arguments);

/* Name a process or a thread of the trace. Return what chrome_span() does. */
int chrome_name_process(json_t *list, int process, const char *name);
int chrome_name_thread(json_t *list, int process, int thread, const char *name);

/*
 * Writes the trace to a file, and releases @list in any case. Returns 0, or another value on
 * failure.
 */
int chrome_write(json_t *list, const char *path);

#endif
