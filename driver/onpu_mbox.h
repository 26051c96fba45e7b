/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/* The mailbox: requests to the firmware, its responses and events. */
#ifndef ONPU_MBOX_H
#define ONPU_MBOX_H

#include <linux/mutex.h>
#include <linux/semaphore.h>
#include <linux/spinlock.h>

#include <onpu/registers.h>

struct onpu_device;
struct onpu_mbox_wait;

/* Number of requests that can be under way, and of messages that each ring holds. */
#define ONPU_MBOX_SLOTS	64

/**
 * struct onpu_mbox - Requests to the firmware, its responses and events; see onpu_mbox.c.
 */
struct onpu_mbox {
	/** @requests: Request ring. */
	union onpu_msg *requests;
	/** @responses: Response ring. */
	union onpu_msg *responses;
	/** @requests_dma: Bus address of @requests. */
	dma_addr_t requests_dma;
	/** @responses_dma: Bus address of @responses. */
	dma_addr_t responses_dma;
	/** @lock: Protects @tail and the order of requests. */
	struct mutex lock;
	/** @tail: Number of requests written, modulo 2^32. */
	u32 tail;
	/** @head: Number of responses taken, modulo 2^32; vector 0's thread or a reset uses it. */
	u32 head;
	/** @slots: Counts free entries of @pending. */
	struct semaphore slots;
	/** @pending_lock: Protects @pending, @generation and @error. */
	spinlock_t pending_lock;
	/** @pending: Who waits for each response, by the low bits of the request's id. */
	struct onpu_mbox_wait *pending[ONPU_MBOX_SLOTS];
	/** @generation: High bits of the next id, so that a late response matches no request. */
	u32 generation;
	/** @error: The error that requests get until onpu_mbox_start() clears it; 0: none. */
	int error;
};

/* Allocates the rings; requests fail until onpu_mbox_start(). Returns 0 or an errno. */
int onpu_mbox_init(struct onpu_device *onpu);
/* Empties the rings and writes their addresses to a device in the state RESET; no handler runs. */
void onpu_mbox_setup(struct onpu_device *onpu);
/* Allows requests. */
void onpu_mbox_start(struct onpu_device *onpu);
/* Fails all requests until onpu_mbox_start(), including those under way. */
void onpu_mbox_fail(struct onpu_device *onpu, int error);
/* Fails all requests with -EAGAIN if a reset is still asked for; returns whether it is. */
bool onpu_mbox_fail_for_reset(struct onpu_device *onpu);
void onpu_mbox_irq(struct onpu_device *onpu);
int onpu_mbox_call(struct onpu_device *onpu, void *msg);

#endif
