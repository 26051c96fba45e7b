/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * Hardware queues.
 */
#ifndef ONPU_QUEUE_H
#define ONPU_QUEUE_H

#include <linux/types.h>

struct onpu_ctx;
struct onpu_ctx_device;
struct onpu_device;
struct work_struct;

/* With &onpu_ctx.lock held, when jobs are runnable: wait for a queue, if there is none. */
void onpu_queue_want(struct onpu_ctx *ctx);
void onpu_queue_stop_waiting(struct onpu_ctx *ctx);
/* With &onpu_ctx.lock held: whether jobs may be given to the hardware. */
bool onpu_queue_may_feed(const struct onpu_ctx *ctx);
/* Look soon whether one of those who wait can have a queue. */
void onpu_queue_serve(struct onpu_ctx_device *cd);
/* Give the hardware no more jobs of the context. Returns whether it has none. */
bool onpu_queue_yield(struct onpu_ctx *ctx);
/* The context on a queue, with a reference; NULL: none. */
struct onpu_ctx *onpu_queue_owner(struct onpu_ctx_device *cd, unsigned int queue);

/* The rest with &onpu_ctx_device.bind_lock held, except for the work, which takes it. */

/* Stop what the context has on its queue; no access of it is under way afterwards. */
int onpu_queue_kill(struct onpu_ctx *ctx);
/* Take the queue from an idle context. */
int onpu_queue_unbind(struct onpu_ctx_device *cd, struct onpu_ctx *ctx);
/* After an error of these: a firmware in an unknown state is reset. */
void onpu_queue_reset_on_error(struct onpu_device *onpu, int error);
/* The device has forgotten all that it knew. */
void onpu_queue_forget_all(struct onpu_ctx_device *cd);
/* Work of &onpu_ctx_device.bind: give queues to those who wait. */
void onpu_queue_bind_work(struct work_struct *work);

#endif
