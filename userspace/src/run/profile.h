/* SPDX-License-Identifier: MIT */
/*
 * The times at which the instructions of a dispatch ran, from the time stamps that the device
 * wrote.
 */
#ifndef WNN_RUN_PROFILE_H
#define WNN_RUN_PROFILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "util/error.h"

#define RUN_NO_NODE UINT32_MAX

/* One instruction. Cycles count from the start of the dispatch's first job. */
struct run_profile_event {
	uint32_t node;	/* index in the graph's nodes; RUN_NO_NODE: the end of a job */
	uint8_t engine; /* enum onpu_engine */
	uint16_t op;	/* enum onpu_op */
	uint32_t insn;	/* index in the program's instructions */
	uint64_t start, end, stall;
	/* bytes of the device's memory that the instruction reads and writes */
	uint64_t bytes_read, bytes_written;
	uint64_t sram_bytes; /* bytes of SRAM in use when the instruction starts */
};

/* One job of the NPU, or one step on the CPU. Host time counts from the start of the dispatch. */
struct run_profile_span {
	bool npu;
	uint32_t node; /* index of the step's first node, only for a step on the CPU */
	uint64_t start_ns, end_ns;
	uint64_t start_cycle, cycles; /* cycles, only for a job of the NPU */
};

struct run_profile {
	/* events of all jobs; the events of a job are in the order of their starts */
	struct run_profile_event *events;
	size_t num_events, cap_events;
	struct run_profile_span *spans;
	size_t num_spans, cap_spans;
	uint64_t cycles; /* cycles of all jobs so far */
};

struct run_profile *run_profile_create(struct wnn_error *err);
void run_profile_destroy(struct run_profile *profile); /* NULL is fine */
int run_profile_add_span(struct run_profile *profile, const struct run_profile_span *span,
			 struct wnn_error *err);

struct npu_program;
struct npu_job;

/**
 * run_profile_add_job - add the time stamps of a job that completed to a profile
 * @first_node: index of the program's first node in the graph
 * @records: struct onpu_profile_record, one for each of the job's instructions
 * @cycles: cycles that the job took
 * @sram_bytes: size of the device's SRAM
 *
 * Returns 0, or -1 with *err.
 */
int run_profile_add_job(struct run_profile *profile, const struct npu_program *program,
			const struct npu_job *job, uint32_t first_node, const void *records,
			uint64_t cycles, uint64_t sram_bytes, struct wnn_error *err);

#endif
