// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Hardware queues, and the contexts that share them in time slices.
 *
 * The firmware knows a context, and its address space, only while it has a hardware queue. A
 * context gets a queue when its first job is ready to run, and keeps it until others wait. Then
 * idle contexts lose their queues. Busy contexts get no more jobs into their rings; they lose their
 * queues when they are idle, or at the latest after a while: then the device interrupts the job,
 * which goes on when the context has a queue again. After a reset no context has a queue.
 *
 * Waiting contexts are served by priority, which rises by one after a long wait; among equals, by
 * the number of queues that their users and then their clients have, the fewest first; and then in
 * the order of their arrival. So no number of contexts, files or jobs keeps others from the device.
 */
#include "onpu_ctx.h"
#include "onpu_job.h"
#include "onpu_queue.h"

/* Time that the jobs of a context may go on when others of the same priority wait for its queue. */
#define YIELD_TIME	(HZ / 10)

/* Time after which a context that waits counts as one of the next higher priority. */
#define WAIT_RAISED	(2 * HZ)

/* ---- requests to the firmware, under bind_lock */

static int request_ctx(struct onpu_ctx *ctx, u32 type)
{
	struct onpu_msg_ctx msg = { .type = type, .context = ctx->queue };

	return onpu_mbox_call(ctx->onpu, &msg);
}

/*
 * Counts a job that could not be stopped against its user, because the reset that stops it costs
 * other users their jobs. @ret is the result of a request to kill or interrupt the job, and is
 * returned. Only -EIO and -EBUSY are the job's fault. When a reset is due already, the job is not
 * counted: the reason of that reset may keep the device from stopping any job.
 */
static int blame(struct onpu_ctx *ctx, int ret)
{
	lockdep_assert_held(&ctx->onpu->ctx->bind_lock);
	if ((ret != -EIO && ret != -EBUSY) || ctx->guilty ||
	    READ_ONCE(ctx->onpu->reset_reason) != ONPU_RESET_NONE)
		return ret;
	ctx->guilty = true;
	ctx->onpu->culprit = ctx->creator;
	onpu_user_strike(ctx->vm->user);
	return ret;
}

int onpu_queue_kill(struct onpu_ctx *ctx)
{
	return blame(ctx, request_ctx(ctx, ONPU_MSG_CTX_KILL));
}

/*
 * Sends the firmware a request about the context and a hardware queue. Sets *@head to the number of
 * ring entries that the device has taken, which only the response to QUEUE_UNBIND tells. Returns 0
 * or an errno.
 */
static int request_queue(struct onpu_ctx *ctx, u32 type, unsigned int queue, u32 mode, u32 *head)
{
	union onpu_msg msg = {
		.queue = { .type = type, .context = queue, .queue = queue, .mode = mode },
	};
	int ret = onpu_mbox_call(ctx->onpu, &msg);

	*head = ret ? 0 : msg.queue.head;
	return ret;
}

/* Asks the firmware to create the context, under the number of its queue. Returns 0 or an errno. */
static int request_create(struct onpu_ctx *ctx, unsigned int queue, u32 priority)
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
		.priority = priority,
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
 * Destroys the VM table entry of an address space, unless a queue still uses it. Returns 0 or an
 * errno. After an error the entry stays in use until the reset that follows, but @vm->slot becomes
 * -1: onpu_queue_forget_all(), which would do it, finds address spaces by their contexts, and this
 * one may have lost its last context.
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
 * Asks for a reset after an error of a request. The first group needs none: there was no error, the
 * device is lost, or a reset was asked for already or is under way, and must not come twice. -EIO
 * and -EBUSY can also be due to a job. A firmware that refuses a valid request is in an unknown
 * state.
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

/* ---- contexts that wait */

bool onpu_queue_may_feed(const struct onpu_ctx *ctx)
{
	lockdep_assert_held(&ctx->lock);
	return ctx->queue >= 0 && !ctx->yield && !READ_ONCE(ctx->onpu->ctx->stopped);
}

void onpu_queue_serve(struct onpu_ctx_device *cd)
{
	mod_delayed_work(cd->onpu->wq, &cd->bind, 0);
}

void onpu_queue_want(struct onpu_ctx *ctx)
{
	struct onpu_ctx_device *cd = ctx->onpu->ctx;

	lockdep_assert_held(&ctx->lock);
	if (ctx->queue >= 0)
		return;
	guard(spinlock)(&cd->lock);
	if (list_empty(&ctx->wait_link)) {
		ctx->waits_since = jiffies;
		list_add_tail(&onpu_ctx_get(ctx)->wait_link, &cd->waiters);
	}
	onpu_queue_serve(cd);
}

void onpu_queue_stop_waiting(struct onpu_ctx *ctx)
{
	guard(spinlock)(&ctx->onpu->ctx->lock);
	if (list_empty(&ctx->wait_link))
		return;
	list_del_init(&ctx->wait_link);
	onpu_ctx_put(ctx);
}

/* Returns the priority of a context that waits, raised by one if it has waited for long. */
static u32 raised_priority(const struct onpu_ctx *ctx)
{
	bool raised = time_after(jiffies, ctx->waits_since + WAIT_RAISED);

	return min(ctx->priority + raised, (u32)DRM_ONPU_PRIORITY_HIGH);
}

/*
 * Compares how many queues the users of two contexts have; if the numbers are equal, how many the
 * two clients have. Returns a number above 0 if @a's side has more, below 0 if @b's side has more,
 * 0 if both numbers are equal.
 */
static int compare_shares(const struct onpu_ctx *a, const struct onpu_ctx *b)
{
	if (a->vm->user->bound != b->vm->user->bound)
		return a->vm->user->bound > b->vm->user->bound ? 1 : -1;
	return (int)a->vm->bound - (int)b->vm->bound;
}

static bool comes_before(const struct onpu_ctx *a, const struct onpu_ctx *b)
{
	u32 first = raised_priority(a), second = raised_priority(b);

	return first != second ? first > second : compare_shares(a, b) < 0;
}

static struct onpu_ctx *first_waiter(struct onpu_ctx_device *cd)
{
	struct onpu_ctx *ctx, *first = NULL;

	lockdep_assert_held(&cd->bind_lock);
	guard(spinlock)(&cd->lock);
	list_for_each_entry(ctx, &cd->waiters, wait_link)
		if (!first || comes_before(ctx, first))
			first = ctx;
	return first ? onpu_ctx_get(first) : NULL;
}

struct onpu_ctx *onpu_queue_owner(struct onpu_ctx_device *cd, unsigned int queue)
{
	guard(spinlock)(&cd->lock);
	if (queue < ONPU_MAX_QUEUES && cd->queues[queue])
		return onpu_ctx_get(cd->queues[queue]);
	return NULL;
}

static void set_queue(struct onpu_ctx_device *cd, unsigned int queue, struct onpu_ctx *ctx)
{
	lockdep_assert_held(&cd->bind_lock);
	guard(spinlock)(&cd->lock);
	onpu_ctx_put(cd->queues[queue]);
	cd->queues[queue] = ctx ? onpu_ctx_get(ctx) : NULL;
}

/* ---- taking and giving back queues */

/*
 * Returns the priority with which the context gets its queue: the raised one if some context of
 * higher priority has a queue, else the context's own. Raising the priority more often would give
 * the client more than its share.
 */
static u32 priority_on_queue(struct onpu_ctx_device *cd, const struct onpu_ctx *ctx)
{
	for (unsigned int i = 0; i < ONPU_MAX_QUEUES; i++)
		if (cd->queues[i] && cd->queues[i]->priority > ctx->priority)
			return raised_priority(ctx);
	return ctx->priority;
}

static int bind_queue(struct onpu_ctx_device *cd, struct onpu_ctx *ctx, unsigned int queue)
{
	u32 mode = ctx->resume ? ONPU_QUEUE_RESUME : ONPU_QUEUE_PLAIN, head;
	int ret;

	lockdep_assert_held(&cd->bind_lock);
	ret = get_vm_slot(cd, ctx->vm);
	if (!ret)
		ret = request_create(ctx, queue, priority_on_queue(cd, ctx));
	if (!ret)
		ret = request_queue(ctx, ONPU_MSG_QUEUE_BIND, queue, mode, &head);
	if (ret) {
		/* The VM table entry stays in use until the next reset: see put_vm_slot(). */
		if (!ctx->vm->bound)
			ctx->vm->slot = -1;
		return ret;
	}
	ctx->vm->bound++;
	ctx->vm->user->bound++;
	set_queue(cd, queue, ctx);
	guard(spinlock)(&ctx->lock);
	WRITE_ONCE(ctx->queue, queue);
	ctx->yield = false;
	ctx->tail = 0;
	ctx->before = ctx->completed + ctx->resume;
	ctx->resume = false;
	ctx->page_cycles = 0;
	ctx->bound_at = jiffies;
	onpu_job_feed(ctx);
	/* A resumed job may have ended before the interrupt could find its context. */
	onpu_job_reap(ctx);
	return 0;
}

/*
 * Destroys the context at the firmware, after QUEUE_UNBIND, and frees its queue and, after the last
 * queue, the address space's VM table entry. Returns 0 or an errno.
 */
static int release_queue(struct onpu_ctx_device *cd, struct onpu_ctx *ctx)
{
	unsigned int queue = ctx->queue;
	int ret = request_ctx(ctx, ONPU_MSG_CTX_DESTROY);

	if (ret)
		return ret;
	ctx->vm->bound--;
	ctx->vm->user->bound--;
	ret = put_vm_slot(cd, ctx->vm);
	scoped_guard(spinlock, &ctx->lock) {
		WRITE_ONCE(ctx->queue, -1);
		ctx->yield = false;
		if (!list_empty(&ctx->runnable))
			onpu_queue_want(ctx);
	}
	set_queue(cd, queue, NULL);
	return ret;
}

int onpu_queue_unbind(struct onpu_ctx_device *cd, struct onpu_ctx *ctx)
{
	unsigned int queue = ctx->queue;
	u32 head;
	int ret;

	lockdep_assert_held(&cd->bind_lock);
	ret = request_queue(ctx, ONPU_MSG_QUEUE_UNBIND, queue, ONPU_QUEUE_PLAIN, &head);
	/* The firmware may not know yet that the context is idle. */
	if (ret == -EBUSY) {
		ret = onpu_queue_kill(ctx);
		if (!ret)
			ret = request_queue(ctx, ONPU_MSG_QUEUE_UNBIND, queue, ONPU_QUEUE_PLAIN,
					    &head);
	}
	return ret ?: release_queue(cd, ctx);
}

/*
 * Takes the queue from a busy context that yields; the context's jobs wait for a queue again.
 * Returns 0 or an errno, -EPROTO if the firmware tells an impossible number of taken entries.
 */
static int preempt_ctx(struct onpu_ctx_device *cd, struct onpu_ctx *ctx)
{
	unsigned int queue = ctx->queue;
	bool ran, good;
	u32 head;
	int ret;

	lockdep_assert_held(&cd->bind_lock);
	ran = onpu_read(cd->onpu, ONPU_REG_QUEUE_RUN_CYCLES_LO(queue)) ||
	      onpu_read(cd->onpu, ONPU_REG_QUEUE_RUN_CYCLES_HI(queue));
	ret = blame(ctx, request_queue(ctx, ONPU_MSG_QUEUE_UNBIND, queue, ONPU_QUEUE_PREEMPT,
				       &head));
	if (ret)
		return ret;
	scoped_guard(spinlock, &ctx->lock) {
		if (ran)
			ctx->progress.moved = jiffies;
		good = onpu_job_unfeed(ctx, head);
	}
	if (good)
		return release_queue(cd, ctx);
	onpu_fw_reset_async(cd->onpu, ONPU_RESET_FW_PROTOCOL);
	return -EPROTO;
}

bool onpu_queue_yield(struct onpu_ctx *ctx)
{
	guard(spinlock)(&ctx->lock);
	if (!ctx->yield)
		ctx->yields_since = jiffies;
	ctx->yield = true;
	return !onpu_ctx_busy(ctx);
}

static bool is_idle(struct onpu_ctx *ctx, const struct onpu_ctx *waiter)
{
	guard(spinlock)(&ctx->lock);
	return !onpu_ctx_busy(ctx) && (ctx->yield || list_empty(&ctx->runnable));
}

/* Returns whether context @a rather than @b is to lose its queue. */
static bool is_better_victim(const struct onpu_ctx *a, const struct onpu_ctx *b)
{
	int shares = compare_shares(a, b);

	return shares ? shares > 0 : time_before(a->bound_at, b->bound_at);
}

/* Returns the context to lose its queue first, of those for which @suits holds, or NULL. */
static struct onpu_ctx *find_victim(struct onpu_ctx_device *cd, const struct onpu_ctx *waiter,
				    bool (*suits)(struct onpu_ctx *ctx,
						  const struct onpu_ctx *waiter))
{
	struct onpu_ctx *victim = NULL;

	lockdep_assert_held(&cd->bind_lock);
	for (unsigned int i = 0; i < ONPU_MAX_QUEUES; i++) {
		struct onpu_ctx *ctx = cd->queues[i];

		if (ctx && suits(ctx, waiter) && (!victim || is_better_victim(ctx, victim)))
			victim = ctx;
	}
	return victim;
}

/*
 * Returns whether @waiter may take the queue of @ctx: its priority is higher, both are of one
 * client, or its user or client has fewer queues.
 */
static bool may_take(const struct onpu_ctx *ctx, const struct onpu_ctx *waiter)
{
	return ctx->priority < waiter->priority || ctx->vm == waiter->vm ||
	       compare_shares(ctx, waiter) > 0;
}

static bool can_yield(struct onpu_ctx *ctx, const struct onpu_ctx *waiter)
{
	return !ctx->yield && ctx->priority <= raised_priority(waiter) && may_take(ctx, waiter);
}

/* Returns whether @ctx must yield now; if it takes no more jobs, its own work takes its queue. */
static bool must_yield(struct onpu_ctx *ctx, const struct onpu_ctx *waiter)
{
	if (READ_ONCE(ctx->dead) || ctx->priority > raised_priority(waiter) ||
	    !may_take(ctx, waiter))
		return false;
	return ctx->priority < waiter->priority ||
	       (ctx->yield && time_after_eq(jiffies, ctx->yields_since + YIELD_TIME));
}

/* Returns a free queue; -1 if there is none, or if the VM table has no room for @vm. */
static int find_queue(struct onpu_ctx_device *cd, const struct onpu_vm *vm)
{
	struct onpu_device *onpu = cd->onpu;

	if (vm->slot < 0 && find_first_zero_bit(cd->vm_slots, ONPU_VM_SLOTS) >=
			    min(onpu_cap(onpu, ONPU_REG_CAP_NUM_VMS), ONPU_VM_SLOTS))
		return -1;
	for (unsigned int i = 0; i < onpu_cap(onpu, ONPU_REG_CAP_NUM_QUEUES); i++)
		if (!cd->queues[i])
			return i;
	return -1;
}

/* Makes contexts yield until as many yield as wait, or until no other can yield. */
static void ask_to_yield(struct onpu_ctx_device *cd, const struct onpu_ctx *waiter)
{
	unsigned int missing;
	struct onpu_ctx *ctx;

	scoped_guard(spinlock, &cd->lock)
		missing = list_count_nodes(&cd->waiters);
	for (unsigned int i = 0; i < ONPU_MAX_QUEUES && missing; i++)
		if (cd->queues[i] && cd->queues[i]->yield)
			missing--;
	while (missing && (ctx = find_victim(cd, waiter, can_yield))) {
		/* If the context has just become idle, no completion will queue this work again. */
		if (onpu_queue_yield(ctx))
			onpu_queue_serve(cd);
		missing--;
	}
	/* Contexts that have not become idle by then lose their queues. */
	queue_delayed_work(cd->onpu->wq, &cd->bind, YIELD_TIME);
}

/* Ends all yielding when no context waits. */
static void stop_yielding(struct onpu_ctx_device *cd)
{
	for (unsigned int i = 0; i < ONPU_MAX_QUEUES; i++) {
		struct onpu_ctx *ctx = cd->queues[i];

		if (!ctx)
			continue;
		guard(spinlock)(&ctx->lock);
		if (ctx->yield && !ctx->dead) {
			ctx->yield = false;
			onpu_job_feed(ctx);
		}
	}
}

/* Frees a queue, or an entry of the VM table, for @waiter; false: that is not possible now. */
static bool take_queue(struct onpu_ctx_device *cd, const struct onpu_ctx *waiter)
{
	struct onpu_ctx *victim = find_victim(cd, waiter, is_idle);
	int ret;

	if (!victim)
		victim = find_victim(cd, waiter, must_yield);
	if (!victim) {
		ask_to_yield(cd, waiter);
		return false;
	}
	/* From here on the victim's ring gets no job. */
	ret = onpu_queue_yield(victim) ? onpu_queue_unbind(cd, victim) : preempt_ctx(cd, victim);
	onpu_queue_reset_on_error(cd->onpu, ret);
	return !ret;
}

/* Gives a queue to the first waiting context, @ctx. Returns false if it can get no queue now. */
static bool serve_waiter(struct onpu_ctx_device *cd, struct onpu_ctx *ctx)
{
	int queue, ret;

	/* The context may have asked again while it was getting its queue. */
	if (ctx->queue >= 0) {
		onpu_queue_stop_waiting(ctx);
		return true;
	}
	while ((queue = find_queue(cd, ctx->vm)) < 0)
		if (!take_queue(cd, ctx))
			return false;
	onpu_queue_stop_waiting(ctx);
	/* The jobs that it needed a queue for may have been cancelled. */
	if (list_empty(&ctx->runnable))
		return true;
	ret = bind_queue(cd, ctx, queue);
	onpu_queue_reset_on_error(cd->onpu, ret);
	return !ret;
}

void onpu_queue_bind_work(struct work_struct *work)
{
	struct onpu_ctx_device *cd = container_of(to_delayed_work(work), struct onpu_ctx_device,
						  bind);

	guard(onpu_signalling)();
	guard(mutex)(&cd->bind_lock);
	while (!cd->stopped && !cd->lost) {
		struct onpu_ctx *ctx __free(onpu_ctx) = first_waiter(cd);

		if (!ctx) {
			stop_yielding(cd);
			return;
		}
		if (!serve_waiter(cd, ctx))
			return;
	}
}

/* ---- resets */

void onpu_queue_forget_all(struct onpu_ctx_device *cd)
{
	struct onpu_ctx *ctx;

	lockdep_assert_held(&cd->bind_lock);
	/* An address space has a VM table entry only while one of its contexts has a queue. */
	list_for_each_entry(ctx, &cd->all, all_link) {
		ctx->vm->slot = -1;
		ctx->vm->bound = 0;
		ctx->vm->user->bound = 0;
		guard(spinlock)(&ctx->lock);
		WRITE_ONCE(ctx->queue, -1);
		ctx->yield = false;
	}
	for (unsigned int i = 0; i < ONPU_MAX_QUEUES; i++)
		set_queue(cd, i, NULL);
	bitmap_zero(cd->vm_slots, ONPU_VM_SLOTS);
}
