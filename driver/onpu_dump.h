/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * Core dumps of the device: what is kept of the first failure of each kind.
 */
#ifndef ONPU_DUMP_H
#define ONPU_DUMP_H

#include "onpu_ctx.h"

int onpu_dump_init(struct onpu_device *onpu);
/* The files in debugfs that Documentation/driver.rst describes. */
void onpu_debugfs_init(struct onpu_device *onpu);
/* No dump is made any more, and none is under way. */
void onpu_dump_unplug(struct onpu_device *onpu);

/*
 * Keep what there is to know of a failure; neither waits nor allocates. The lock of the context is
 * held, and its jobs have not ended; @state is FAULT or TIMEDOUT, @error the positive errno.
 */
void onpu_dump_ctx(struct onpu_ctx *ctx, u32 state, int error);
/* The same of a device that is about to be reset, with reset_lock held for writing. */
void onpu_dump_device(struct onpu_device *onpu, enum onpu_reset_reason reason, const char *text,
		      bool readable);

#endif
