/* SPDX-License-Identifier: MIT */
/* The bytes that the instructions of a job move and occupy, for profiles. */
#ifndef WNN_RUN_TRAFFIC_H
#define WNN_RUN_TRAFFIC_H

#include "run/profile.h"

/**
 * run_traffic_fill - fills in bytes_read, bytes_written and sram_bytes of events
 * @sram_bytes: size of the SRAM
 * @events: the events of one job, in the order of their starts
 *
 * Returns 0, or -1 when memory is exhausted.
 */
int run_traffic_fill(const struct npu_program *program, const struct npu_job *job,
		     uint64_t sram_bytes, struct run_profile_event *events, uint32_t count,
		     struct wnn_error *err);

#endif
