// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Hardware queues, and the contexts that take turns on them.
 *
 * The firmware knows a context, and its address space, only while it has a hardware queue. A
 * context gets one when its first job is ready to run, and keeps it until others wait. Then idle
 * contexts lose theirs; busy ones get no more jobs into their rings, lose their queues when they
 * are idle, and wait behind the others. After a reset no context has a queue.
 */
#include <linux/dma-fence.h>

#include "onpu_ctx.h"
#include "onpu_job.h"
#include "onpu_queue.h"

/* ---- requests to the firmware, under bind_lock */

static int request_ctx(struct onpu_ctx *ctx, u32 type)
{
	struct onpu_msg_ctx msg = { .type = type, .context = ctx->queue };

	return onpu_mbox_call(ctx->onpu, &msg);
}

int onpu_queue_kill(struct onpu_ctx *ctx)
{
	return request_ctx(ctx, ONPU_MSG_CTX_KILL);
}

static int request_queue(struct onpu_ctx *ctx, u32 type, unsigned int queue)
{
	struct onpu_msg_queue msg = { .type = type, .context = queue, .queue = queue };

	return onpu_mbox_call(ctx->onpu, &msg);
}

/* A context's number at the firmware is that of its queue. */
static int request_create(struct onpu_ctx *ctx, unsigned int queue)
{
	struct onpu_msg_ctx_create msg = {
		.type = ONPU_MSG_CTX_CREATE,
		.context = queue,
		.vm = ctx->vm->slot,
		.ring = onpu_map_va(ctx->ring.map),
		.save = onpu_map_va(ctx->save.map),
		.completion = onpu_map_va(ctx->page.map),
		.ring_size = ONPU_RING_SIZE,
		.vector = onpu_queue_vector(ctx->onpu, queue),
		.priority = ctx->priority,
	};

	return onpu_mbox_call(ctx->onpu, &msg);
}

static int get_vm_slot(struct onpu_ctx_device *cd, struct onpu_vm *vm)
{
	struct onpu_msg_vm msg = {
		.type = ONPU_MSG_VM_CREATE,
		.asid = vm->asid,
		.root = onpu_vm_root(vm),
	};
	int ret;

	if (vm->slot >= 0)
		return 0;
	msg.vm = find_first_zero_bit(cd->vm_slots, ONPU_VM_SLOTS);
	vm->slot = msg.vm;
	ret = onpu_mbox_call(cd->onpu, &msg);
	if (ret)
		vm->slot = -1;
	else
		__set_bit(vm->slot, cd->vm_slots);
	return ret;
}

/*
 * After an error the entry stays in use until the reset that follows. @vm->slot is cleared even so:
 * onpu_queue_forget_all() finds address spaces by their contexts, and this may have been the last.
 */
static int put_vm_slot(struct onpu_ctx_device *cd, struct onpu_vm *vm)
{
	struct onpu_msg_vm msg = { .type = ONPU_MSG_VM_DESTROY, .vm = vm->slot };
	int ret;

	if (vm->bound)
		return 0;
	ret = onpu_mbox_call(cd->onpu, &msg);
	if (!ret)
		__clear_bit(vm->slot, cd->vm_slots);
	vm->slot = -1;
	return ret;
}

/*
 * A firmware that refuses what is valid is in an unknown state. -EIO and -EBUSY can also be due to
 * a job. After the errors of the first group a reset was asked for already, or is under way; it
 * must not come twice.
 */
void onpu_queue_reset_on_error(struct onpu_device *onpu, int error)
{
	switch (error) {
	case 0:
	case -EAGAIN:
	case -ENODEV:
	case -EPROTO:
	case -ETIMEDOUT:
		break;
	case -EIO:
	case -EBUSY:
		onpu_device_reset_async(onpu, ONPU_RESET_KILL);
		break;
	default:
		onpu_fw_reset_async(onpu, ONPU_RESET_FW_REFUSES);
	}
}

/* ---- who waits */

bool onpu_queue_may_feed(const struct onpu_ctx *ctx)
{
	lockdep_assert_held(&ctx->lock);
	return ctx->queue >= 0 && !ctx->yield && !READ_ONCE(ctx->onpu->ctx->stopped);
}

void onpu_queue_want(struct onpu_ctx *ctx)
{
	struct onpu_ctx_device *cd = ctx->onpu->ctx;
	struct onpu_ctx *other;

	lockdep_assert_held(&ctx->lock);
	if (ctx->queue >= 0)
		return;
	spin_lock(&cd->lock);
	if (list_empty(&ctx->wait_link)) {
		struct list_head *before = &cd->waiters;

		list_for_each_entry(other, &cd->waiters, wait_link) {
			if (other->priority < ctx->priority) {
				before = &other->wait_link;
				break;
			}
		}
		list_add_tail(&onpu_ctx_get(ctx)->wait_link, before);
	}
	spin_unlock(&cd->lock);
	queue_work(cd->wq, &cd->bind);
}

void onpu_queue_stop_waiting(struct onpu_ctx *ctx)
{
	struct onpu_ctx_device *cd = ctx->onpu->ctx;
	bool waited;

	spin_lock(&cd->lock);
	waited = !list_empty(&ctx->wait_link);
	list_del_init(&ctx->wait_link);
	spin_unlock(&cd->lock);
	if (waited)
		onpu_ctx_put(ctx);
}

static struct onpu_ctx *first_waiter(struct onpu_ctx_device *cd)
{
	struct onpu_ctx *ctx;

	spin_lock(&cd->lock);
	ctx = list_first_entry_or_null(&cd->waiters, struct onpu_ctx, wait_link);
	if (ctx)
		onpu_ctx_get(ctx);
	spin_unlock(&cd->lock);
	return ctx;
}

struct onpu_ctx *onpu_queue_owner(struct onpu_ctx_device *cd, unsigned int queue)
{
	struct onpu_ctx *ctx = NULL;

	spin_lock(&cd->lock);
	if (queue < ONPU_MAX_QUEUES && cd->queues[queue])
		ctx = onpu_ctx_get(cd->queues[queue]);
	spin_unlock(&cd->lock);
	return ctx;
}

static void set_queue(struct onpu_ctx_device *cd, unsigned int queue, struct onpu_ctx *ctx)
{
	struct onpu_ctx *old;

	lockdep_assert_held(&cd->bind_lock);
	spin_lock(&cd->lock);
	old = cd->queues[queue];
	cd->queues[queue] = ctx ? onpu_ctx_get(ctx) : NULL;
	spin_unlock(&cd->lock);
	if (old)
		onpu_ctx_put(old);
}

/* ---- take and give back */

static int bind_queue(struct onpu_ctx_device *cd, struct onpu_ctx *ctx, unsigned int queue)
{
	int ret;

	lockdep_assert_held(&cd->bind_lock);
	ret = get_vm_slot(cd, ctx->vm) ?: request_create(ctx, queue) ?:
	      request_queue(ctx, ONPU_MSG_QUEUE_BIND, queue);
	if (ret) {
		/* As in put_vm_slot(). */
		if (!ctx->vm->bound)
			ctx->vm->slot = -1;
		return ret;
	}
	ctx->vm->bound++;
	set_queue(cd, queue, ctx);
	spin_lock(&ctx->lock);
	ctx->queue = queue;
	ctx->yield = false;
	ctx->tail = 0;
	ctx->page_cycles = 0;
	ctx->bound_at = jiffies;
	onpu_job_feed(ctx);
	spin_unlock(&ctx->lock);
	return 0;
}

/* Take the queue from an idle context. */
int onpu_queue_unbind(struct onpu_ctx_device *cd, struct onpu_ctx *ctx)
{
	unsigned int queue = ctx->queue;
	int ret;

	lockdep_assert_held(&cd->bind_lock);
	ret = request_queue(ctx, ONPU_MSG_QUEUE_UNBIND, queue);
	/* The firmware may not have noticed yet that the context is idle. */
	if (ret == -EBUSY)
		ret = onpu_queue_kill(ctx) ?:
		      request_queue(ctx, ONPU_MSG_QUEUE_UNBIND, queue);
	ret = ret ?: request_ctx(ctx, ONPU_MSG_CTX_DESTROY);
	if (ret)
		return ret;
	ctx->vm->bound--;
	ret = put_vm_slot(cd, ctx->vm);
	spin_lock(&ctx->lock);
	ctx->queue = -1;
	ctx->yield = false;
	if (!list_empty(&ctx->runnable))
		onpu_queue_want(ctx);
	spin_unlock(&ctx->lock);
	set_queue(cd, queue, NULL);
	return ret;
}

bool onpu_queue_yield(struct onpu_ctx *ctx)
{
	bool idle;

	spin_lock(&ctx->lock);
	ctx->yield = true;
	idle = !onpu_ctx_busy(ctx);
	spin_unlock(&ctx->lock);
	return idle;
}

static bool is_idle(struct onpu_ctx *ctx)
{
	bool idle;

	spin_lock(&ctx->lock);
	idle = !onpu_ctx_busy(ctx) && (ctx->yield || list_empty(&ctx->runnable));
	spin_unlock(&ctx->lock);
	return idle;
}

/* The idle context with the oldest queue, or (@busy) the one to ask to yield. */
static struct onpu_ctx *find_victim(struct onpu_ctx_device *cd, bool busy, u32 priority)
{
	struct onpu_ctx *victim = NULL;

	lockdep_assert_held(&cd->bind_lock);
	for (unsigned int i = 0; i < ONPU_MAX_QUEUES; i++) {
		struct onpu_ctx *ctx = cd->queues[i];

		if (!ctx || (victim && time_after(ctx->bound_at, victim->bound_at)))
			continue;
		if (busy ? !ctx->yield && ctx->priority <= priority : is_idle(ctx))
			victim = ctx;
	}
	return victim;
}

/* A free queue, if the VM table has room for the address space; else -1. */
static int find_queue(struct onpu_ctx_device *cd, const struct onpu_vm *vm)
{
	struct onpu_device *onpu = cd->onpu;

	if (vm->slot < 0 && find_first_zero_bit(cd->vm_slots, ONPU_VM_SLOTS) >=
			    min(onpu->caps.num_vms, ONPU_VM_SLOTS))
		return -1;
	for (unsigned int i = 0; i < onpu->caps.num_queues; i++)
		if (!cd->queues[i])
			return i;
	return -1;
}

/* Make as many contexts yield as there are waiting. */
static void ask_to_yield(struct onpu_ctx_device *cd, u32 priority)
{
	unsigned int missing;
	struct onpu_ctx *ctx;

	spin_lock(&cd->lock);
	missing = list_count_nodes(&cd->waiters);
	spin_unlock(&cd->lock);
	for (unsigned int i = 0; i < ONPU_MAX_QUEUES && missing; i++)
		if (cd->queues[i] && cd->queues[i]->yield)
			missing--;
	while (missing && (ctx = find_victim(cd, true, priority))) {
		/* If it has just become idle, no completion will queue this work again. */
		if (onpu_queue_yield(ctx))
			queue_work(cd->wq, &cd->bind);
		missing--;
	}
}

/* With nobody waiting, nobody has to yield. */
static void stop_yielding(struct onpu_ctx_device *cd)
{
	for (unsigned int i = 0; i < ONPU_MAX_QUEUES; i++) {
		struct onpu_ctx *ctx = cd->queues[i];

		if (!ctx)
			continue;
		spin_lock(&ctx->lock);
		if (ctx->yield && !ctx->dead) {
			ctx->yield = false;
			onpu_job_feed(ctx);
		}
		spin_unlock(&ctx->lock);
	}
}

/* Find a queue for the first waiting context. Returns false if there is none now. */
static bool serve_waiter(struct onpu_ctx_device *cd, struct onpu_ctx *ctx)
{
	int queue, ret;

	/* It may have asked again when it was just getting its queue. */
	if (ctx->queue >= 0) {
		onpu_queue_stop_waiting(ctx);
		return true;
	}
	while ((queue = find_queue(cd, ctx->vm)) < 0) {
		struct onpu_ctx *victim = find_victim(cd, false, 0);

		if (!victim) {
			ask_to_yield(cd, ctx->priority);
			return false;
		}
		if (!onpu_queue_yield(victim))
			continue;
		ret = onpu_queue_unbind(cd, victim);
		if (ret) {
			onpu_queue_reset_on_error(cd->onpu, ret);
			return false;
		}
	}
	onpu_queue_stop_waiting(ctx);
	/* What it waited for may have been cancelled. */
	if (list_empty(&ctx->runnable))
		return true;
	ret = bind_queue(cd, ctx, queue);
	onpu_queue_reset_on_error(cd->onpu, ret);
	return !ret;
}

void onpu_queue_bind_work(struct work_struct *work)
{
	struct onpu_ctx_device *cd = container_of(work, struct onpu_ctx_device, bind);
	bool cookie = dma_fence_begin_signalling(), more = true;

	mutex_lock(&cd->bind_lock);
	while (more && !cd->stopped && !cd->lost) {
		struct onpu_ctx *ctx = first_waiter(cd);

		if (!ctx) {
			stop_yielding(cd);
			break;
		}
		more = serve_waiter(cd, ctx);
		onpu_ctx_put(ctx);
	}
	mutex_unlock(&cd->bind_lock);
	dma_fence_end_signalling(cookie);
}

/* ---- resets */

void onpu_queue_forget_all(struct onpu_ctx_device *cd)
{
	struct onpu_ctx *ctx;

	lockdep_assert_held(&cd->bind_lock);
	/* An address space has an entry only as long as one of its contexts has a queue. */
	list_for_each_entry(ctx, &cd->all, all_link) {
		ctx->vm->slot = -1;
		ctx->vm->bound = 0;
		spin_lock(&ctx->lock);
		ctx->queue = -1;
		ctx->yield = false;
		spin_unlock(&ctx->lock);
	}
	for (unsigned int i = 0; i < ONPU_MAX_QUEUES; i++)
		set_queue(cd, i, NULL);
	bitmap_zero(cd->vm_slots, ONPU_VM_SLOTS);
}
