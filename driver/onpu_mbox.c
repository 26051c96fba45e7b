// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Messages: requests to the firmware, its responses and events.
 *
 * The firmware is not trusted. Its messages are copied before they are checked, the index of its
 * ring must fit the number of outstanding messages, and a response must have the id and the type of
 * a request under way. The first violation fails all requests until a reset. Requests are kept in a
 * table of fixed size and need no memory, since hang detection and reset make requests too.
 */
#include <linux/completion.h>
#include <linux/dma-mapping.h>

#include <drm/drm_managed.h>
#include <drm/drm_print.h>

#include "onpu_core.h"
#include "onpu_ctx.h"

#define RING_BYTES	(ONPU_MBOX_SLOTS * ONPU_MSG_SIZE)

/* Time to wait for a response: much more than any request takes, even on a slow emulator. */
#define TIMEOUT		(5 * HZ)

/* One request under way; lives on its caller's stack. */
struct onpu_mbox_wait {
	struct completion done;
	union onpu_msg *msg;	/* the request, then the response */
	u32 type, id;
	int error;
};

int onpu_mbox_init(struct onpu_device *onpu)
{
	struct onpu_mbox *mbox = &onpu->mbox;
	struct device *dev = onpu->drm.dev;
	int ret;

	ret = drmm_mutex_init(&onpu->drm, &mbox->lock);
	if (ret)
		return ret;
	spin_lock_init(&mbox->pending_lock);
	sema_init(&mbox->slots, ONPU_MBOX_SLOTS);
	mbox->error = -EAGAIN;
	mbox->requests = dmam_alloc_coherent(dev, RING_BYTES, &mbox->requests_dma, GFP_KERNEL);
	mbox->responses = dmam_alloc_coherent(dev, RING_BYTES, &mbox->responses_dma, GFP_KERNEL);
	return mbox->requests && mbox->responses ? 0 : -ENOMEM;
}

void onpu_mbox_setup(struct onpu_device *onpu)
{
	struct onpu_mbox *mbox = &onpu->mbox;

	guard(mutex)(&mbox->lock);
	mbox->tail = 0;
	mbox->head = 0;
	memset(mbox->requests, 0, RING_BYTES);
	memset(mbox->responses, 0, RING_BYTES);
	onpu_write64(onpu, ONPU_REG_REQUEST_BASE_LO, mbox->requests_dma);
	onpu_write(onpu, ONPU_REG_REQUEST_SIZE, ONPU_MBOX_SLOTS);
	onpu_write(onpu, ONPU_REG_REQUEST_TAIL, 0);
	onpu_write64(onpu, ONPU_REG_RESPONSE_BASE_LO, mbox->responses_dma);
	onpu_write(onpu, ONPU_REG_RESPONSE_SIZE, ONPU_MBOX_SLOTS);
	onpu_write(onpu, ONPU_REG_RESPONSE_HEAD, 0);
}

void onpu_mbox_start(struct onpu_device *onpu)
{
	guard(spinlock)(&onpu->mbox.pending_lock);
	onpu->mbox.error = 0;
}

static void fail_all_requests(struct onpu_mbox *mbox, int error)
{
	lockdep_assert_held(&mbox->pending_lock);
	mbox->error = error;
	for (unsigned int i = 0; i < ONPU_MBOX_SLOTS; i++) {
		struct onpu_mbox_wait *wait = mbox->pending[i];

		if (!wait)
			continue;
		mbox->pending[i] = NULL;
		wait->error = error;
		complete(&wait->done);
	}
}

void onpu_mbox_fail(struct onpu_device *onpu, int error)
{
	guard(spinlock)(&onpu->mbox.pending_lock);
	fail_all_requests(&onpu->mbox, error);
}

bool onpu_mbox_fail_for_reset(struct onpu_device *onpu)
{
	/* A reset that clears the reason after this check also calls onpu_mbox_start() after it. */
	guard(spinlock)(&onpu->mbox.pending_lock);
	if (READ_ONCE(onpu->reset_reason) == ONPU_RESET_NONE)
		return false;
	fail_all_requests(&onpu->mbox, -EAGAIN);
	return true;
}

/* ---- responses */

static void onpu_mbox_protocol_error(struct onpu_device *onpu, const char *what)
{
	onpu_mbox_fail(onpu, -EAGAIN);
	if (onpu_fw_reset_async(onpu, ONPU_RESET_FW_PROTOCOL))
		drm_err_ratelimited(&onpu->drm, "the firmware sent an invalid message: %s; install onpu-dkms and onpu-firmware of one release\n",
				    what);
}

static bool complete_request(struct onpu_mbox *mbox, const union onpu_msg *msg)
{
	struct onpu_mbox_wait *wait;
	bool good;

	guard(spinlock)(&mbox->pending_lock);
	wait = mbox->pending[msg->header.id % ONPU_MBOX_SLOTS];
	good = wait && wait->id == msg->header.id &&
	       (wait->type | ONPU_MSG_RESPONSE) == msg->header.type;
	if (good) {
		mbox->pending[msg->header.id % ONPU_MBOX_SLOTS] = NULL;
		*wait->msg = *msg;
		complete(&wait->done);
	}
	/* An error already set means that the request may have been failed for a coming reset. */
	return good || mbox->error;
}

static bool handle_message(struct onpu_device *onpu, const union onpu_msg *msg)
{
	if (msg->header.type == ONPU_MSG_EVENT_FAULT) {
		onpu_ctx_fault_event(onpu, &msg->event_fault);
		return true;
	}
	if (complete_request(&onpu->mbox, msg))
		return true;
	drm_dbg(&onpu->drm, "message of type %#x, id %#x\n", msg->header.type, msg->header.id);
	return false;
}

void onpu_mbox_irq(struct onpu_device *onpu)
{
	struct onpu_mbox *mbox = &onpu->mbox;
	u32 tail = onpu_read(onpu, ONPU_REG_RESPONSE_TAIL);

	if (READ_ONCE(mbox->error))
		return;
	if (tail - mbox->head > ONPU_MBOX_SLOTS) {
		if (onpu_device_present(onpu))
			onpu_mbox_protocol_error(onpu, "more responses than its ring holds");
		return;
	}
	dma_rmb();
	while (mbox->head != tail) {
		union onpu_msg msg = mbox->responses[mbox->head % ONPU_MBOX_SLOTS];

		/* Make the compiler use the copy; the device may change the original. */
		barrier();
		mbox->head++;
		if (!handle_message(onpu, &msg)) {
			onpu_mbox_protocol_error(onpu, "a response to no request");
			return;
		}
	}
	onpu_write(onpu, ONPU_REG_RESPONSE_HEAD, mbox->head);
}

/* ---- requests */

static int status_to_errno(struct onpu_device *onpu, u32 type, u32 status)
{
	static const int errors[] = {
		[ONPU_MSG_OK] = 0,
		[ONPU_MSG_UNSUPPORTED] = -EOPNOTSUPP,
		[ONPU_MSG_INVALID] = -EINVAL,
		[ONPU_MSG_NOT_FOUND] = -ENOENT,
		[ONPU_MSG_EXISTS] = -EEXIST,
		[ONPU_MSG_BUSY] = -EBUSY,
		[ONPU_MSG_INTERNAL] = -EIO,
	};

	if (status < ARRAY_SIZE(errors)) {
		if (status)
			drm_dbg(&onpu->drm, "request %u: status %u\n", type, status);
		return errors[status];
	}
	onpu_mbox_protocol_error(onpu, "a status that does not exist");
	return -EPROTO;
}

/*
 * Enters a request into the table of pending requests and gives it a new id. The caller has taken a
 * slot, so an entry is free. Returns 0, or the error that the mailbox has failed with.
 */
static int add_pending(struct onpu_mbox *mbox, struct onpu_mbox_wait *wait)
{
	unsigned int i = 0;

	guard(spinlock)(&mbox->pending_lock);
	if (mbox->error)
		return mbox->error;
	while (mbox->pending[i])
		i++;
	mbox->pending[i] = wait;
	/* No request has id 0, which is the id of events. */
	mbox->generation += ONPU_MBOX_SLOTS;
	if (!mbox->generation)
		mbox->generation += ONPU_MBOX_SLOTS;
	wait->id = mbox->generation + i;
	wait->msg->header.id = wait->id;
	return 0;
}

/*
 * Writes a request into the ring and tells the device. The ring always has room, as it has as many
 * entries as the table of pending requests. Returns 0, or the error that the mailbox has failed
 * with.
 */
static int send_request(struct onpu_device *onpu, struct onpu_mbox_wait *wait)
{
	struct onpu_mbox *mbox = &onpu->mbox;
	int ret;

	guard(mutex)(&mbox->lock);
	ret = add_pending(mbox, wait);
	if (ret)
		return ret;
	mbox->requests[mbox->tail % ONPU_MBOX_SLOTS] = *wait->msg;
	/* The device must see the message before the index. */
	dma_wmb();
	onpu_write(onpu, ONPU_REG_REQUEST_TAIL, ++mbox->tail);
	return 0;
}

/* Checks again for a response after a timeout; if there is none, asks for a reset, returns true. */
static bool request_timed_out(struct onpu_device *onpu, struct onpu_mbox_wait *wait)
{
	struct onpu_mbox *mbox = &onpu->mbox;

	/* A reset waits for this lock: none comes between the check and the request for one. */
	guard(spinlock)(&mbox->pending_lock);
	if (mbox->pending[wait->id % ONPU_MBOX_SLOTS] != wait)
		return false;
	fail_all_requests(mbox, -EAGAIN);
	if (onpu_device_present(onpu) && onpu_fw_reset_async(onpu, ONPU_RESET_TIMEOUT))
		drm_err_ratelimited(&onpu->drm, "the firmware did not answer request %u in time, so the driver resets the device\n",
				    wait->type);
	return true;
}

/*
 * Sends a request to the firmware and waits for the response, which replaces @msg: a struct
 * onpu_msg_* of ONPU_MSG_SIZE bytes with the type set and all unused members zero. Sleeps for a
 * bounded time, allocates nothing. Does not need &onpu_device.reset_lock; but without it the device
 * may have been reset by the time of the return.
 *
 * Returns 0, or -ETIMEDOUT or -EPROTO (a reset was asked for), -EAGAIN (a reset is under way, after
 * which the firmware knows of no earlier request), -ENODEV (unplugged or wedged), or, by the status
 * of the response: -EOPNOTSUPP, -EINVAL, -ENOENT, -EEXIST, -EBUSY, -EIO.
 */
int onpu_mbox_call(struct onpu_device *onpu, void *msg)
{
	struct onpu_mbox_wait wait = { .msg = msg };
	struct onpu_mbox *mbox = &onpu->mbox;
	int ret;

	wait.type = wait.msg->header.type;
	if (cmpxchg(&onpu->fail_request, wait.type, 0) == wait.type ||
	    should_fail(&onpu_fail_requests, 1))
		return -EIO;
	init_completion(&wait.done);
	/* The requests that hold all slots have waited as long, and have asked for a reset. */
	if (down_timeout(&mbox->slots, TIMEOUT))
		return -ETIMEDOUT;
	ret = send_request(onpu, &wait);
	if (!ret) {
		if (!wait_for_completion_timeout(&wait.done, TIMEOUT) &&
		    request_timed_out(onpu, &wait))
			ret = -ETIMEDOUT;
		else
			ret = wait.error;
	}
	up(&mbox->slots);
	return ret ?: status_to_errno(onpu, wait.type, wait.msg->header.status);
}
