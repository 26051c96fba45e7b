// SPDX-License-Identifier: MIT
/*
 * Compares the structures of onpu_accel.h that the device writes to memory with the device's own
 * layouts. Compiling this file is the test.
 */
#include <stddef.h>

#include "onpu/registers.h"
#include "onpu_accel.h"

#define SAME_MEMBER(theirs, ours, member)                                                  \
	_Static_assert(offsetof(struct theirs, member) == offsetof(struct ours, member) && \
			       sizeof(((struct theirs *)0)->member) ==                     \
				       sizeof(((struct ours *)0)->member),                 \
		       "member " #member " of struct " #theirs)

SAME_MEMBER(drm_onpu_completion, onpu_completion, seqno);
SAME_MEMBER(drm_onpu_completion, onpu_completion, error);
_Static_assert(offsetof(struct drm_onpu_completion, pad) ==
		       offsetof(struct onpu_completion, mbz_0c),
	       "padding that the device leaves zero");
_Static_assert(sizeof(struct drm_onpu_completion) == offsetof(struct onpu_completion, cycles),
	       "the end of struct drm_onpu_completion");
_Static_assert(sizeof(struct drm_onpu_fault) == sizeof(((struct onpu_completion *)0)->fault),
	       "room for the fault record");
_Static_assert(!(DRM_ONPU_COMPLETION_BY_DRIVER & (ONPU_FAULT_COUNT - 1)),
	       "errors by the driver are no fault codes");
_Static_assert(ONPU_COMPLETION_COUNTERS >= sizeof(struct onpu_completion) &&
		       ONPU_COMPLETION_COUNTERS + sizeof(struct onpu_job_counters) <= 4096,
	       "the parts of the completion page");
