/* SPDX-License-Identifier: MIT */
/*
 * Traces for Perfetto and chrome://tracing. Each tool that writes one has the same processes and
 * threads in it, and times by CLOCK_MONOTONIC, so that traces of several tools can be one.
 */
#ifndef ONPU_TOOLS_CHROME_H
#define ONPU_TOOLS_CHROME_H

#include <jansson.h>
#include <stdint.h>

/* Processes of the trace; a further device has those of the first plus CHROME_NEXT. */
enum chrome_process {
	CHROME_LIBRARY = 1,
	CHROME_NPU = 2, /* its threads: engines by WNNProfileEngine, from 1 on, and CHROME_JOBS */
	CHROME_DRIVER = 3,
	CHROME_FIRMWARE = 4,
	CHROME_NEXT = 10,
};

enum { CHROME_JOBS = 16 };

/*
 * All append to @list, take @name and @arguments over, and return something else than 0 when memory
 * is exhausted, also where these are NULL. Times are in nanoseconds.
 */
int chrome_span(json_t *list, int process, int thread, json_t *name, double start, double end,
		json_t *arguments);
int chrome_instant(json_t *list, int process, int thread, json_t *name, double time,
		   json_t *arguments);
/* Adds an event that may overlap others of its thread; @id distinguishes it from these. */
int chrome_async(json_t *list, int process, int thread, json_t *name, const char *id, double start,
		 double end, json_t *arguments);

int chrome_name_process(json_t *list, int process, const char *name);
int chrome_name_thread(json_t *list, int process, int thread, const char *name);

/* Writes a file, and gives @list up in any case. 0, or something else when that fails. */
int chrome_write(json_t *list, const char *path);

#endif
