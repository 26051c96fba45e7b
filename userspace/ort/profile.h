/* SPDX-License-Identifier: MIT */
/* Events of runs in ONNX Runtime's own profile. */
#ifndef ONPU_PROFILE_H
#define ONPU_PROFILE_H

#include <webnn/webnn_npu.h>

#include "provider.h"

/*
 * Sets *profiler to a new profiler for a session, which ONNX Runtime releases; NULL: the session
 * computes nothing here. Returns NULL, or an error.
 */
struct ort_status *onpu_profiler_create(struct ort_ep *ep, struct ort_profiler **profiler);
/* Returns nanoseconds of the monotonic clock. */
int64_t onpu_profile_now(void);
/* Adds an event to all profilers that are on: a group was computed from start_ns until now. */
void onpu_profile_add(struct onpu_ep *ep, char *name, int64_t start_ns,
		      const WNNDispatchStatistics *statistics, const WNNDispatchCopies *copies);
/* Detaches the profilers when the session ends; they may outlive it. */
void onpu_profilers_leave(struct onpu_ep *ep);

#endif
