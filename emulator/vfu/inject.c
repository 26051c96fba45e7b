// SPDX-License-Identifier: MIT
/* Injects faults of the hardware: see inject.h. */
#include "vfu/inject.h"

#include <errno.h>
#include <string.h>
#include <time.h>

#include "onpu/registers.h"

static uint64_t now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

/* ---- functions that need the lock held */

/* Counts an event of this kind of fault; returns whether the fault hits it. */
static bool hits(struct vfu_injector *in, enum vfu_fault fault)
{
	struct vfu_arm *arm = &in->faults[fault].arm;

	if (!in->faults[fault].armed)
		return false;
	if (arm->after) {
		arm->after--;
		return false;
	}
	in->faults[fault].hits++;
	if (arm->times && !--arm->times)
		in->faults[fault].armed = false;
	return true;
}

static bool hits_vector(struct vfu_injector *in, enum vfu_fault fault, unsigned int vector)
{
	int wanted = in->faults[fault].arm.vector;

	return (wanted < 0 || (unsigned int)wanted == vector) && hits(in, fault);
}

static bool keep(struct vfu_injector *in, enum vfu_fault fault, uint32_t value)
{
	if (in->num_delayed == VFU_INJECT_DELAYED)
		return false;
	in->delayed[in->num_delayed++] = (struct vfu_delayed){
		.due = now_ms() + in->faults[fault].arm.ms,
		.fault = fault,
		.value = value,
	};
	pthread_cond_signal(&in->changed);
	return true;
}

/*
 * Drops delayed requests at a reset of the device, which forgets requests: an index from before the
 * reset must not arrive after it.
 */
static void forget_messages(struct vfu_injector *in)
{
	unsigned int kept = 0;

	in->deaf = false;
	in->tail = 0;
	for (unsigned int i = 0; i < in->num_delayed; i++)
		if (in->delayed[i].fault != VFU_FAULT_LATE_MESSAGE)
			in->delayed[kept++] = in->delayed[i];
	in->num_delayed = kept;
}

/*
 * Takes the delayed entry that is due at @now; entries are taken in the order of their times.
 * Returns false if no entry is due.
 */
static bool take_due(struct vfu_injector *in, uint64_t now, struct vfu_delayed *due)
{
	unsigned int first = 0;

	for (unsigned int i = 1; i < in->num_delayed; i++)
		if (in->delayed[i].due < in->delayed[first].due)
			first = i;
	if (!in->num_delayed || in->delayed[first].due > now)
		return false;
	*due = in->delayed[first];
	memmove(&in->delayed[first], &in->delayed[first + 1],
		(--in->num_delayed - first) * sizeof(in->delayed[0]));
	return true;
}

static uint64_t next_due(const struct vfu_injector *in)
{
	uint64_t next = UINT64_MAX;

	for (unsigned int i = 0; i < in->num_delayed; i++)
		if (in->delayed[i].due < next)
			next = in->delayed[i].due;
	return next;
}

static void wait_until(struct vfu_injector *in, uint64_t due)
{
	struct timespec at = {
		.tv_sec = (time_t)(due / 1000),
		.tv_nsec = (long)(due % 1000) * 1000000,
	};

	if (due == UINT64_MAX)
		pthread_cond_wait(&in->changed, &in->lock);
	else
		pthread_cond_timedwait(&in->changed, &in->lock, &at);
}

/* ---- the thread */

/*
 * Returns whether a late request is superseded: the firmware has seen an index after it, and the
 * index must not go back.
 */
static bool comes_too_late(const struct vfu_injector *in, const struct vfu_delayed *due)
{
	return due->fault == VFU_FAULT_LATE_MESSAGE && (int32_t)(due->value - in->tail) <= 0;
}

static void *injector_main(void *arg)
{
	struct vfu_injector *in = arg;
	struct vfu_delayed due;

	pthread_mutex_lock(&in->lock);
	while (!in->stop) {
		uint64_t now = now_ms();
		bool some = take_due(in, now, &due);

		if (!some) {
			wait_until(in, next_due(in));
			continue;
		}
		if (comes_too_late(in, &due))
			continue;
		if (due.fault == VFU_FAULT_LATE_MESSAGE)
			in->tail = due.value;
		pthread_mutex_unlock(&in->lock);
		if (due.fault == VFU_FAULT_LATE_MESSAGE)
			in->ops.write(in->ops.ctx, ONPU_REG_REQUEST_TAIL, due.value);
		else
			in->ops.interrupt(in->ops.ctx, due.value);
		pthread_mutex_lock(&in->lock);
	}
	pthread_mutex_unlock(&in->lock);
	return NULL;
}

bool vfu_inject_init(struct vfu_injector *in, const struct vfu_inject_ops *ops)
{
	pthread_condattr_t attributes;

	memset(in, 0, sizeof(*in));
	in->ops = *ops;
	pthread_mutex_init(&in->lock, NULL);
	pthread_condattr_init(&attributes);
	pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
	pthread_cond_init(&in->changed, &attributes);
	pthread_condattr_destroy(&attributes);
	in->started = !pthread_create(&in->thread, NULL, injector_main, in);
	return in->started;
}

void vfu_inject_destroy(struct vfu_injector *in)
{
	pthread_mutex_lock(&in->lock);
	in->stop = true;
	pthread_cond_signal(&in->changed);
	pthread_mutex_unlock(&in->lock);
	if (in->started)
		pthread_join(in->thread, NULL);
	pthread_cond_destroy(&in->changed);
	pthread_mutex_destroy(&in->lock);
}

void vfu_inject_arm(struct vfu_injector *in, const struct vfu_arm *arm)
{
	pthread_mutex_lock(&in->lock);
	in->faults[arm->fault].arm = *arm;
	in->faults[arm->fault].armed = true;
	in->faults[arm->fault].hits = 0;
	pthread_mutex_unlock(&in->lock);
}

unsigned int vfu_inject_hits(struct vfu_injector *in, enum vfu_fault fault)
{
	unsigned int hits;

	pthread_mutex_lock(&in->lock);
	hits = in->faults[fault].hits;
	pthread_mutex_unlock(&in->lock);
	return hits;
}

void vfu_inject_clear(struct vfu_injector *in)
{
	pthread_mutex_lock(&in->lock);
	memset(in->faults, 0, sizeof(in->faults));
	/* Let delayed events come now: dropping them would be a fault of another kind. */
	for (unsigned int i = 0; i < in->num_delayed; i++)
		in->delayed[i].due = 0;
	in->deaf = false;
	in->ones = false;
	in->down = false;
	pthread_cond_signal(&in->changed);
	pthread_mutex_unlock(&in->lock);
}

/* ---- interrupts */

void vfu_inject_interrupt(struct vfu_injector *in, unsigned int vector)
{
	bool now = true;

	pthread_mutex_lock(&in->lock);
	if (hits_vector(in, VFU_FAULT_LOST_INTERRUPT, vector))
		now = false;
	else if (hits_vector(in, VFU_FAULT_LATE_INTERRUPT, vector))
		now = !keep(in, VFU_FAULT_LATE_INTERRUPT, vector);
	else if (hits_vector(in, VFU_FAULT_DOUBLED_INTERRUPT, vector))
		keep(in, VFU_FAULT_DOUBLED_INTERRUPT, vector);
	pthread_mutex_unlock(&in->lock);
	if (now)
		in->ops.interrupt(in->ops.ctx, vector);
}

/* ---- registers */

/* Returns whether the link is down; ends an outage whose time is over. With the lock held. */
static bool link_is_down(struct vfu_injector *in)
{
	if (in->down && in->down_end && in->down_end <= now_ms())
		in->down = false;
	return in->down;
}

/* Returns whether an access to a register fails; the link may go down at this access. */
static bool access_fails(struct vfu_injector *in)
{
	unsigned int ms = in->faults[VFU_FAULT_LINK_DOWN].arm.ms;

	if (!link_is_down(in) && hits(in, VFU_FAULT_LINK_DOWN)) {
		in->down = true;
		in->down_end = ms ? now_ms() + ms : 0;
		pthread_mutex_unlock(&in->lock);
		in->ops.link(in->ops.ctx);
		pthread_mutex_lock(&in->lock);
		return true;
	}
	if (!in->ones && hits(in, VFU_FAULT_ALL_ONES)) {
		ms = in->faults[VFU_FAULT_ALL_ONES].arm.ms;
		in->ones = true;
		in->ones_end = ms ? now_ms() + ms : 0;
	}
	if (in->ones && in->ones_end && in->ones_end <= now_ms())
		in->ones = false;
	return in->ones || in->down;
}

bool vfu_inject_ones(struct vfu_injector *in)
{
	bool fails;

	pthread_mutex_lock(&in->lock);
	fails = access_fails(in);
	pthread_mutex_unlock(&in->lock);
	return fails;
}

bool vfu_inject_link_down(struct vfu_injector *in)
{
	bool down;

	pthread_mutex_lock(&in->lock);
	down = link_is_down(in);
	pthread_mutex_unlock(&in->lock);
	return down;
}

/* Returns the faults that hit this doorbell, a bit for each. */
static unsigned int at_doorbell(struct vfu_injector *in)
{
	unsigned int bits = 0;

	for (enum vfu_fault f = VFU_FAULT_STUCK_ENGINE; f <= VFU_FAULT_PARITY; f++)
		if (hits(in, f))
			bits |= 1u << f;
	return bits;
}

/*
 * Returns whether the request index @tail passes to the device now; if not, it is lost or delayed.
 */
static bool request_passes(struct vfu_injector *in, uint32_t tail)
{
	if (hits(in, VFU_FAULT_MISSING_MESSAGE))
		in->deaf = true;
	if (in->deaf ||
	    (hits(in, VFU_FAULT_LATE_MESSAGE) && keep(in, VFU_FAULT_LATE_MESSAGE, tail)))
		return false;
	in->tail = tail;
	return true;
}

/* Notes address and size of the ring into which the firmware writes messages. */
static void learn_ring(struct vfu_injector *in, uint32_t offset, uint32_t value)
{
	const uint64_t high = in->responses >> 32 << 32;

	if (offset == ONPU_REG_RESPONSE_BASE_LO)
		in->responses = high | value;
	else if (offset == ONPU_REG_RESPONSE_BASE_HI)
		in->responses = (uint64_t)value << 32 | (uint32_t)in->responses;
	else if (offset == ONPU_REG_RESPONSE_SIZE)
		in->response_bytes = (uint64_t)value * sizeof(struct onpu_msg_header);
}

void vfu_inject_write(struct vfu_injector *in, uint32_t offset, uint32_t value)
{
	unsigned int faults = 0;
	bool passes;

	pthread_mutex_lock(&in->lock);
	passes = !access_fails(in);
	if (passes) {
		learn_ring(in, offset, value);
		if (offset == ONPU_REG_RESET && value & ONPU_RESET_START__MASK)
			forget_messages(in);
		else if (offset == ONPU_REG_REQUEST_TAIL)
			passes = request_passes(in, value);
		else if (offset >= ONPU_DOORBELL_BASE)
			faults = at_doorbell(in);
	}
	pthread_mutex_unlock(&in->lock);
	for (enum vfu_fault f = 0; f < VFU_FAULTS; f++)
		if (faults & 1u << f)
			in->ops.fault(in->ops.ctx, f);
	if (passes)
		in->ops.write(in->ops.ctx, offset, value);
}

/* ---- memory */

bool vfu_inject_spoils(struct vfu_injector *in)
{
	bool spoils;

	pthread_mutex_lock(&in->lock);
	spoils = in->faults[VFU_FAULT_CORRUPT_MESSAGE].armed;
	pthread_mutex_unlock(&in->lock);
	return spoils;
}

/*
 * Changes one bit of each word of a message of the firmware if the fault corrupt-message hits it.
 */
void vfu_inject_memory(struct vfu_injector *in, uint64_t address, uint8_t *data, size_t size)
{
	pthread_mutex_lock(&in->lock);
	if (address - in->responses < in->response_bytes && hits(in, VFU_FAULT_CORRUPT_MESSAGE))
		for (size_t i = 1; i < size; i += 4)
			data[i] ^= 0x10;
	pthread_mutex_unlock(&in->lock);
}

void vfu_inject_reset(struct vfu_injector *in)
{
	pthread_mutex_lock(&in->lock);
	forget_messages(in);
	in->ones = false;
	in->response_bytes = 0;
	pthread_mutex_unlock(&in->lock);
}
