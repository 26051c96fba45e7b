/* SPDX-License-Identifier: MIT */
/* Runs in ONNX Runtime's own profile. */
#ifndef ONPU_PROFILE_H
#define ONPU_PROFILE_H

#include <webnn/webnn_npu.h>

#include "provider.h"

/* A profiler of a session, which ONNX Runtime releases; NULL: the session computes nothing here. */
struct ort_status *onpu_profiler_create(struct ort_ep *ep, struct ort_profiler **profiler);
/* Nanoseconds of the monotonic clock. */
int64_t onpu_profile_now(void);
/* Tells all profilers that are on of a group that was computed from start_ns until now. */
void onpu_profile_add(struct onpu_ep *ep, char *name, int64_t start_ns,
		      const WNNDispatchStatistics *statistics, const WNNDispatchCopies *copies);
/* The session ends; its profilers may stay. */
void onpu_profilers_leave(struct onpu_ep *ep);

#endif
