/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/* The memory, contexts, address spaces and queues of a device that one user has, over all files. */
#ifndef ONPU_USER_H
#define ONPU_USER_H

#include <linux/atomic.h>
#include <linux/kref.h>
#include <linux/list.h>
#include <linux/uidgid.h>
#include <linux/wait.h>
#include <linux/workqueue.h>

struct onpu_device;

/**
 * struct onpu_user - A user of a device; lives on after the user's files while memory is charged.
 */
struct onpu_user {
	/** @ref: Held by each address space, by each buffer that is charged, and by strikes. */
	struct kref ref;
	/**
	 * @onpu: The device; each holder of a reference to the user also has a reference to the
	 *	device, except strikes, which the device's end forgives.
	 */
	struct onpu_device *onpu;
	/** @link: Link in &onpu_device.users; protected by &onpu_device.users_lock. */
	struct list_head link;
	/** @uid: The user's id. */
	kuid_t uid;
	/** @memory: Bytes charged. */
	atomic64_t memory;
	/** @contexts: Number of contexts whose memory is not yet freed. */
	atomic_t contexts;
	/** @vms: Number of address spaces; limited to a fraction of all that the device has. */
	atomic_t vms;
	/** @bound: Number of contexts with a hardware queue; owned by onpu_queue.c. */
	unsigned int bound;
	/** @strikes: Resets for jobs that could not be stopped, see blame(); under bind_lock. */
	unsigned int strikes;
	/** @strike_at: The time of the last of @strikes, in jiffies; under bind_lock, too. */
	unsigned long strike_at;
	/** @report: Reports that the user was banned; uses the reference that strikes hold. */
	struct work_struct report;
	/** @freeing: Number of mappings, contexts and address spaces that are being freed. */
	atomic_t freeing;
	/** @freed: Woken when @freeing falls. */
	wait_queue_head_t freed;
};

/* Returns the user with this id, made if there is none, with a reference. NULL: no memory. */
struct onpu_user *onpu_user_find(struct onpu_device *onpu, kuid_t uid);
struct onpu_user *onpu_user_get(struct onpu_user *user);
void onpu_user_put(struct onpu_user *user);

int onpu_user_charge(struct onpu_user *user, u64 bytes);

/* Counts a reset that a job of the user made necessary; with &onpu_ctx_device.bind_lock held. */
void onpu_user_strike(struct onpu_user *user);
/*
 * Returns whether the user may not have contexts: its jobs made too many resets necessary lately.
 * With &onpu_ctx_device.bind_lock held.
 */
bool onpu_user_is_banned(const struct onpu_user *user);
void onpu_user_forgive_all(struct onpu_device *onpu);

/*
 * Charges memory to the user. Beyond the limit, waits only while memory that the user has given up
 * is being freed: see onpu_user_wait(). Returns 0, -ENOSPC or -ERESTARTSYS.
 */
int onpu_user_charge_wait(struct onpu_user *user, u64 bytes);
void onpu_user_uncharge(struct onpu_user *user, u64 bytes);

typedef int (*onpu_user_take)(struct onpu_user *user, void *data);
int onpu_user_wait(struct onpu_user *user, onpu_user_take take, void *data);

/* Mark the beginning and the end of work that frees an object which a program has given up. */
void onpu_user_free_begin(struct onpu_user *user);
void onpu_user_free_end(struct onpu_user *user);

#endif
