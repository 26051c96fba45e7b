/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/* Hardware queues: which context has which queue, and when it has to yield it. */
#ifndef ONPU_QUEUE_H
#define ONPU_QUEUE_H

#include <linux/types.h>

struct onpu_ctx;
struct onpu_ctx_device;
struct onpu_device;
struct work_struct;

/* Makes a context with runnable jobs wait for a queue, if it has none; its lock is held. */
void onpu_queue_want(struct onpu_ctx *ctx);
void onpu_queue_stop_waiting(struct onpu_ctx *ctx);
/* Returns whether jobs may be given to the hardware; with &onpu_ctx.lock held. */
bool onpu_queue_may_feed(const struct onpu_ctx *ctx);
/* Queues the work that gives queues to waiting contexts. */
void onpu_queue_serve(struct onpu_ctx_device *cd);
/* Gives the hardware no more jobs of the context; returns whether the hardware has none now. */
bool onpu_queue_yield(struct onpu_ctx *ctx);
/* Returns the context on a queue, with a reference; NULL: the queue is free. */
struct onpu_ctx *onpu_queue_owner(struct onpu_ctx_device *cd, unsigned int queue);

/* These are called with &onpu_ctx_device.bind_lock; onpu_queue_bind_work() takes it. */

/* Kills jobs on the context's queue; returns 0 when the device has stopped them, or an errno. */
int onpu_queue_kill(struct onpu_ctx *ctx);
/* Takes the queue from an idle context; returns 0 or an errno. */
int onpu_queue_unbind(struct onpu_ctx_device *cd, struct onpu_ctx *ctx);
void onpu_queue_reset_on_error(struct onpu_device *onpu, int error);
/* Frees all queues and VM table entries in the driver; a reset makes the device forget them. */
void onpu_queue_forget_all(struct onpu_ctx_device *cd);
/* Work of &onpu_ctx_device.bind: gives queues to waiting contexts. */
void onpu_queue_bind_work(struct work_struct *work);

#endif
