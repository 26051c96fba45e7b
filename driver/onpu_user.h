/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * The memory, contexts, address spaces and queues of a device that one user has, over all files.
 */
#ifndef ONPU_USER_H
#define ONPU_USER_H

#include <linux/atomic.h>
#include <linux/kref.h>
#include <linux/list.h>
#include <linux/uidgid.h>
#include <linux/wait.h>

struct onpu_device;

/**
 * struct onpu_user - A user of a device; outlives the user's files while anything is charged.
 */
struct onpu_user {
	/** @ref: Held by each address space and by each buffer that is charged. */
	struct kref ref;
	/** @onpu: The device; whoever has a reference to the user has one to it. */
	struct onpu_device *onpu;
	/** @link: In &onpu_device.users; protected by &onpu_device.users_lock. */
	struct list_head link;
	/** @uid: Who it is. */
	kuid_t uid;
	/** @memory: Bytes charged. */
	atomic64_t memory;
	/** @contexts: Contexts whose memory is not yet freed. */
	atomic_t contexts;
	/** @vms: Address spaces, a part of all that there are at most. */
	atomic_t vms;
	/** @bound: Contexts with a hardware queue; of onpu_queue.c. */
	unsigned int bound;
	/** @strikes: Resets that jobs made necessary which could not be killed; see onpu_ctx.c. */
	unsigned int strikes;
	/** @strike_at: When the last of them was, in jiffies. */
	unsigned long strike_at;
	/** @tell: That the user was banned has to be told. */
	bool tell;
	/** @freeing: What is being freed at this time, by work: mappings and contexts. */
	atomic_t freeing;
	/** @freed: Woken when anything of these falls. */
	wait_queue_head_t freed;
};

/* The user with this number, with a reference. NULL: no memory. */
struct onpu_user *onpu_user_find(struct onpu_device *onpu, kuid_t uid);
struct onpu_user *onpu_user_get(struct onpu_user *user);
void onpu_user_put(struct onpu_user *user);

int onpu_user_charge(struct onpu_user *user, u64 bytes);

/* Count a reset that a job of the user made necessary. Callers serialize. */
void onpu_user_strike(struct onpu_user *user);
/* Whether the user gets no contexts, because there were too many of these resets lately. */
bool onpu_user_is_banned(const struct onpu_user *user);
/* Tell the log and udev who was banned. Allocates memory. */
void onpu_user_report_bans(struct onpu_device *onpu);
/* Forget the resets and bans of all users. */
void onpu_user_forgive_all(struct onpu_device *onpu);

/* Charge memory, or wait as onpu_user_wait() does until there is room. */
int onpu_user_charge_wait(struct onpu_user *user, u64 bytes);
void onpu_user_uncharge(struct onpu_user *user, u64 bytes);

typedef int (*onpu_user_take)(struct onpu_user *user, void *data);
int onpu_user_wait(struct onpu_user *user, onpu_user_take take, void *data);

/* Around the work that frees something which a program has given up. */
void onpu_user_free_begin(struct onpu_user *user);
void onpu_user_free_end(struct onpu_user *user);

#endif
