/* SPDX-License-Identifier: MIT */
/* WNNInstance: the application's hooks, and its events. */
#ifndef WNN_API_INSTANCE_H
#define WNN_API_INSTANCE_H

#include "api/error.h"
#include "api/events.h"
#include "api/label.h"
#include "util/alloc.h"
#include "util/log.h"

struct WNNInstanceImpl {
	atomic_uint refs; /* references of the application */
	/* References to the memory; all references of the application count as one. */
	atomic_uint holds;
	WNNInstanceLog log_hook;
	WNNInstancePermission permission;
	struct wnn_allocator allocator;
	struct wnn_log log;
	enum wnn_log_level to_stderr; /* level of messages for stderr, from the environment */
	struct events events;
};

/*
 * instance_get() and instance_put() count the application's references, instance_hold() and
 * instance_drop() those to the memory. instance_put() accepts NULL.
 */
void instance_get(WNNInstance instance);
void instance_put(WNNInstance instance);
void instance_hold(WNNInstance instance);
void instance_drop(WNNInstance instance);

/* Calls the permission hook. Returns 0, or -1 with SecurityError. */
int instance_permits(WNNInstance instance, WNNPermissionAction action, struct wnn_error *err);

#endif
