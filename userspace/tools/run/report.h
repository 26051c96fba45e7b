/* SPDX-License-Identifier: MIT */
/*
 * webnn-run: what a dispatch cost, with what follows from it. Text, JSON and HTML are written from
 * this, so that their figures are the same.
 */
#ifndef ONPU_TOOLS_RUN_REPORT_H
#define ONPU_TOOLS_RUN_REPORT_H

#include "model_file.h"
#include "subject.h"

/* Figures derived for a node of the profile. */
struct report_node {
	double share;	      /* of all cycles */
	double share_of_cpu;  /* of the time on the CPU */
	double ms;	      /* on the NPU, at the clock of the machine, or on the CPU */
	double share_of_time; /* of the time of all nodes */
	WNNStringView onnx;   /* the operator of ONNX that it comes from; else its own name */
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

/* The total cost of several nodes of the profile. */
struct report_sum {
	WNNStringView name;
	size_t nodes;
	uint64_t cycles, cpu_nanoseconds, macs, bytes_read, bytes_written;
	double ms, share_of_time;
};

struct report_sums {
	struct report_sum *list; /* what takes longest is first */
	size_t count;
};

#define REPORT_ENGINES 6 /* by WNNProfileEngine, which counts from 1 */

/* The intervals of equal length into which a dispatch is divided for drawings. */
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
	size_t *order;		   /* of the nodes: what takes longest is first */
	/*
	 * By the label, which a node of ONNX gives to all that it is made of, and by its operator.
	 */
	struct report_sums by_label, by_operator;
	Onnx__ModelProto *file;
	uint64_t clock_hz;
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

/* Reads the profile of the last dispatch. Returns DONE, or an exit code after a message. */
int report_init(struct report *report, const struct options *options, const struct target *target);
void report_exit(struct report *report);

/* Fills in what is sorted and summed. Returns DONE, or an exit code after a message. */
int report_sum(struct report *report);
void report_sum_exit(struct report *report);

void report_print(const struct report *report);
/* NULL when memory is exhausted. */
json_t *report_json(const struct report *report);
/* One page with everything in it. Returns DONE, or an exit code after a message. */
int report_write_html(const struct report *report, const char *path);

#endif
