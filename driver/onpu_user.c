// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Users: limits apply to a user, whatever number of files the user opens. Another limit applies to
 * all users of all devices together: the memory is pinned, and containers of root are one user.
 *
 * Memory counts from before it is allocated until it is freed. Closing the handle of an exported
 * buffer frees no memory, and so gives the user no room. A buffer is charged to the user who
 * created it as long as anybody has it.
 */
#include <linux/kobject.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>

#include <drm/drm_print.h>

#include "onpu_device.h"
#include "onpu_user.h"

/* The longest time that a program waits for resources that it has given up. */
#define FREED_TIMEOUT	(2 * HZ)

/* A user with MAX_STRIKES strikes is banned, until there was no strike for BAN_TIME. */
#define MAX_STRIKES	3
#define BAN_MINUTES	10
#define BAN_TIME	(BAN_MINUTES * 60 * HZ)

/*
 * Reports a ban in the log and to udev. This waits for memory, so it is a work item of its own:
 * neither the caller of onpu_user_strike() nor the reset that follows may wait for memory.
 */
static void report_work(struct work_struct *work)
{
	struct onpu_user *user = container_of(work, struct onpu_user, report);
	struct drm_device *drm = &user->onpu->drm;
	uid_t uid = from_kuid(&init_user_ns, user->uid);
	char event[sizeof("BANNED=4294967295")], *envp[2] = { event };

	CLASS(onpu_entered, entered)(drm);
	if (entered < 0)
		return;
	drm_notice(drm, "user %u is banned for %u minutes and gets no new context: %u times, a job of this user could only be ended by a reset\n",
		   uid, BAN_MINUTES, MAX_STRIKES);
	snprintf(event, sizeof(event), "BANNED=%u", uid);
	kobject_uevent_env(&drm->accel->kdev->kobj, KOBJ_CHANGE, envp);
}

struct onpu_user *onpu_user_find(struct onpu_device *onpu, kuid_t uid)
{
	struct onpu_user *new __free(kfree) = kzalloc(sizeof(*new), GFP_KERNEL_ACCOUNT);
	struct onpu_user *user;

	if (!new)
		return NULL;
	kref_init(&new->ref);
	new->onpu = onpu;
	new->uid = uid;
	INIT_WORK(&new->report, report_work);
	init_waitqueue_head(&new->freed);
	guard(mutex)(&onpu->users_lock);
	list_for_each_entry(user, &onpu->users, link)
		if (uid_eq(user->uid, uid))
			return onpu_user_get(user);
	list_add(&new->link, &onpu->users);
	return no_free_ptr(new);
}

struct onpu_user *onpu_user_get(struct onpu_user *user)
{
	kref_get(&user->ref);
	return user;
}

/* Frees a user. Called with users_lock, so that nobody finds the user; releases the lock. */
static void user_release(struct kref *ref)
{
	struct onpu_user *user = container_of(ref, struct onpu_user, ref);

	list_del(&user->link);
	mutex_unlock(&user->onpu->users_lock);
	WARN_ON(atomic64_read(&user->memory) || atomic_read(&user->contexts));
	kfree(user);
}

void onpu_user_put(struct onpu_user *user)
{
	kref_put_mutex(&user->ref, user_release, &user->onpu->users_lock);
}

/* Bytes charged to all users of all devices. */
static atomic64_t all_memory;

/* Adds to a counter, or returns false if it would be beyond the limit. */
static bool add_below(atomic64_t *counter, u64 bytes, u64 limit)
{
	s64 now = atomic64_read(counter);

	do {
		if (bytes > limit || now > limit - bytes)
			return false;
	} while (!atomic64_try_cmpxchg(counter, &now, now + bytes));
	return true;
}

/*
 * Charges memory to a user before it is allocated. Returns 0, or -ENOSPC beyond the limit of the
 * user or of all users.
 */
int onpu_user_charge(struct onpu_user *user, u64 bytes)
{
	const struct onpu_limits *limits = &user->onpu->limits;

	if (!add_below(&user->memory, bytes, limits->memory))
		return -ENOSPC;
	if (add_below(&all_memory, bytes, limits->all_memory))
		return 0;
	atomic64_sub(bytes, &user->memory);
	return -ENOSPC;
}

/*
 * Calls @take and stores its result, 0 or an errno, in *@ret. Returns true when the resource was
 * taken, or when nothing was being freed before the call.
 */
static bool take_or_give_up(struct onpu_user *user, onpu_user_take take, void *data, int *ret)
{
	/* Read this first, so that a release in between is not missed. */
	bool freeing = atomic_read_acquire(&user->freeing);

	*ret = take(user, data);
	return !*ret || !freeing;
}

/*
 * Takes a resource that the user may have too much of, by @take, which returns -ENOSPC then and
 * must not sleep. Waits, for FREED_TIMEOUT at most, only while something that the user has given up
 * is being freed. The caller must hold no lock that freeing takes. Returns 0, -ENOSPC, or
 * -ERESTARTSYS when a signal comes.
 */
int onpu_user_wait(struct onpu_user *user, onpu_user_take take, void *data)
{
	int ret;
	long left = wait_event_interruptible_timeout(user->freed,
						     take_or_give_up(user, take, data, &ret),
						     FREED_TIMEOUT);

	return left < 0 ? left : ret;
}

static int take_memory(struct onpu_user *user, void *bytes)
{
	return onpu_user_charge(user, *(u64 *)bytes);
}

int onpu_user_charge_wait(struct onpu_user *user, u64 bytes)
{
	return onpu_user_wait(user, take_memory, &bytes);
}

void onpu_user_uncharge(struct onpu_user *user, u64 bytes)
{
	atomic64_sub(bytes, &user->memory);
	atomic64_sub(bytes, &all_memory);
}

void onpu_user_free_begin(struct onpu_user *user)
{
	atomic_inc(&user->freeing);
}

void onpu_user_free_end(struct onpu_user *user)
{
	atomic_dec_return_release(&user->freeing);
	wake_up_all(&user->freed);
}

/* ---- users whose jobs force resets */

static bool strikes_count(const struct onpu_user *user)
{
	return user->strikes && time_before(jiffies, user->strike_at + BAN_TIME);
}

void onpu_user_strike(struct onpu_user *user)
{
	/* Keep a user with strikes, even if all its files are closed. */
	if (!user->strikes)
		onpu_user_get(user);
	user->strikes = strikes_count(user) ? user->strikes + 1 : 1;
	user->strike_at = jiffies;
	if (user->strikes == MAX_STRIKES)
		schedule_work(&user->report);
}

bool onpu_user_is_banned(const struct onpu_user *user)
{
	return user->strikes >= MAX_STRIKES && strikes_count(user);
}

/* Drops the references that strikes hold; no user in the list has a file or a buffer by now. */
void onpu_user_forgive_all(struct onpu_device *onpu)
{
	struct onpu_user *user, *next;

	list_for_each_entry_safe(user, next, &onpu->users, link) {
		cancel_work_sync(&user->report);
		onpu_user_put(user);
	}
}
