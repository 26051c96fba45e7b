/* SPDX-License-Identifier: MIT */
/*
 * webnn-run: what a dispatch cost, with what follows from it. Text, JSON and HTML are written from
 * this, so that their figures are the same.
 */
#ifndef ONPU_TOOLS_RUN_REPORT_H
#define ONPU_TOOLS_RUN_REPORT_H

#include "subject.h"

/* What follows for a node of the profile. */
struct report_node {
	double share;	      /* of all cycles */
	double share_of_cpu;  /* of the time on the CPU */
	double share_of_peak; /* of the multiply-accumulates that the cycles had room for */
	double intensity;     /* multiply-accumulates for each byte; 0: it moves none */
	double macs_per_cycle;
	const char *bound;     /* the engine that limits it, "latency" or "cpu" */
	double share_of_bound; /* of its cycles in which the busiest engine worked */
};

struct report_engine {
	const char *name;
	uint64_t busy, instructions, waiting;
};

#define REPORT_ENGINES 6 /* by WNNProfileEngine, which counts from 1 */

/* A dispatch in parts of the same length, for pictures. */
#define REPORT_PARTS 200

struct report_part {
	uint64_t bytes_read, bytes_written; /* by the NPU */
	uint64_t sram_bytes;		    /* in use, at most */
};

struct report {
	const char *model;
	WNNStringView device;
	WNNGraph graph;
	WNNGraphProfile profile;
	WNNGraphPlacement placement;
	WNNGraphStatistics statistics;
	struct report_node *nodes; /* as many as the profile has */
	struct report_engine engines[REPORT_ENGINES];
	struct report_part parts[REPORT_PARTS]; /* zero without cycles */
	uint64_t cpu_nanoseconds;		/* of all nodes on the CPU */
	uint64_t sram_bytes;			/* that the NPU has */
	uint64_t sram_most;			/* that were in use at once */
	const char *bound;			/* the busiest engine; "cpu" without cycles */
	double share_of_bound;			/* of all cycles in which it worked */
	double share_of_peak;
	double peak_macs_per_cycle; /* with the types of the model; 0: it used no NPU */
	double bytes_per_cycle;	    /* of both DMA engines together */
};

/* Of the last dispatch. Returns DONE, or an exit code after a message. */
int report_init(struct report *report, const struct options *options, const struct target *target);
void report_exit(struct report *report);

void report_print(const struct report *report);
/* NULL when memory is exhausted. */
json_t *report_json(const struct report *report);
/* One page with everything in it. Returns DONE, or an exit code after a message. */
int report_write_html(const struct report *report, const char *path);

#endif
