/* SPDX-License-Identifier: MIT */
/*
 * webnn-run: the profile of a dispatch, with figures derived from it. Text, JSON and HTML are
 * written from this struct, so that their figures agree.
 */
#ifndef ONPU_TOOLS_RUN_REPORT_H
#define ONPU_TOOLS_RUN_REPORT_H

#include "model_file.h"
#include "subject.h"

/* Figures derived for a node of the profile. */
struct report_node {
	double share;	      /* share of all cycles */
	double share_of_cpu;  /* share of the time of all CPU nodes */
	double ms;	      /* time on the NPU, at the machine's clock, or on the CPU */
	double share_of_time; /* share of the time of all nodes */
	WNNStringView onnx;   /* name of the ONNX operator that it comes from; else of its own */
	/* share of the multiply-accumulates that were possible in its cycles */
	double share_of_peak;
	double intensity; /* multiply-accumulates for each byte moved; 0 if it moves none */
	double macs_per_cycle;
	const char *bound;     /* the engine that limits it, "latency" or "cpu"; "": no cycles */
	double share_of_bound; /* share of its cycles in which its busiest engine worked */
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
	struct report_sum *list; /* sorted by time, the longest first */
	size_t count;
};

#define REPORT_ENGINES 6 /* index: WNNProfileEngine, which counts from 1 */

/* The intervals of equal length into which a dispatch is divided for drawings. */
#define REPORT_PARTS 200

struct report_part {
	uint64_t bytes_read, bytes_written; /* moved by the NPU */
	uint64_t sram_bytes;		    /* peak in this interval */
};

struct report {
	const char *model;
	WNNStringView device;
	WNNGraph graph;
	WNNGraphProfile profile;
	WNNGraphPlacement placement;
	WNNGraphStatistics statistics;
	struct report_node *nodes; /* one for each node of the profile */
	size_t *order;		   /* indices of nodes by time, the longest first */
	/* Sums by label, which all nodes share that one ONNX node became, and by operator. */
	struct report_sums by_label, by_operator;
	Onnx__ModelProto *file;
	uint64_t clock_hz;
	struct report_engine engines[REPORT_ENGINES];
	struct report_part parts[REPORT_PARTS]; /* all zero without cycles */
	uint64_t cpu_nanoseconds;		/* time of all nodes on the CPU */
	uint64_t sram_bytes;			/* SRAM of the NPU */
	uint64_t sram_most;			/* peak of the SRAM in use */
	const char *bound;			/* the busiest engine; "cpu" without cycles */
	/* share of all cycles in which that engine worked */
	double share_of_bound;
	double share_of_peak;
	double peak_macs_per_cycle; /* for the types of the model; 0: the NPU was not used */
	double bytes_per_cycle;	    /* both DMA engines together */
};

/* Reads the profile of the last dispatch. Returns DONE, or an exit code after a message. */
int report_init(struct report *report, const struct options *options, const struct target *target);
void report_exit(struct report *report);

/*
 * Fills in times and ONNX operators of the nodes, their order, and the sums. Returns DONE, or an
 * exit code after a message.
 */
int report_sum(struct report *report);
void report_sum_exit(struct report *report);

void report_print(const struct report *report);
/* Returns NULL when memory is exhausted. */
json_t *report_json(const struct report *report);
/* Writes one self-contained HTML page. Returns DONE, or an exit code after a message. */
int report_write_html(const struct report *report, const char *path);

#endif
