// SPDX-License-Identifier: MIT
/* Instances: creation, release, and the application's hooks for memory and log messages. */
#include "api/instance.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "util/malloc.h"
#include "util/printable.h"

void instance_hold(WNNInstance instance)
{
	atomic_fetch_add(&instance->holds, 1);
}

void instance_drop(WNNInstance instance)
{
	if (atomic_fetch_sub(&instance->holds, 1) != 1)
		return;
	events_exit(&instance->events);
	api_free_object(instance);
}

#define LOG_VARIABLE "WEBNN_LOG"

/*
 * The most structs in the chain of a descriptor, as there are three hooks; longer chains are
 * refused later.
 */
#define MAX_CHAIN 3

static const char *const level_names[] = {
	[WNN_LOG_NONE] = "none", [WNN_LOG_ERROR] = "error", [WNN_LOG_WARNING] = "warning",
	[WNN_LOG_INFO] = "info", [WNN_LOG_DEBUG] = "debug",
};

/* Passes a message to the application's hook, and to stderr if the environment asks for that. */
static void write_log(void *userdata, enum wnn_log_level level, const char *message)
{
	WNNInstance instance = userdata;
	const WNNInstanceLog *hook = &instance->log_hook;

	/* The message is written by one call, so that lines of several threads are not mixed. */
	if (level <= instance->to_stderr)
		fprintf(stderr, "webnn: %s: %s\n", level_names[level], message);
	if (hook->callback && (enum wnn_log_level)hook->level >= level)
		hook->callback((WNNLogLevel)level, api_view(message), hook->userdata1,
			       hook->userdata2);
}

static enum wnn_log_level level_of_environment(void)
{
	const char *wanted = secure_getenv(LOG_VARIABLE);
	char text[64];

	if (!wanted || !*wanted)
		return WNN_LOG_NONE;
	for (int level = WNN_LOG_NONE; level <= WNN_LOG_DEBUG; level++)
		if (!strcmp(wanted, level_names[level]))
			return (enum wnn_log_level)level;
	wnn_text_printable(text, sizeof(text), wanted, strlen(wanted));
	fprintf(stderr,
		"webnn: the environment variable " LOG_VARIABLE " is \"%s\"; allowed are none, "
		"error, warning, info and debug\n",
		text);
	return WNN_LOG_NONE;
}

static void open_log(WNNInstance instance)
{
	instance->to_stderr = level_of_environment();
	instance->log = (struct wnn_log){ instance->to_stderr, write_log, instance };
}

static int set_log(WNNInstance instance, const WNNInstanceLog *hook, struct wnn_error *err)
{
	if (!hook->callback)
		return wnn_error_set(err, WNN_TYPE_ERROR, "the callback of WNNInstanceLog is NULL");
	if (hook->level > WNNLogLevel_Debug)
		return wnn_error_set(err, WNN_TYPE_ERROR,
				     "the level of WNNInstanceLog is %u, which is no value of "
				     "WNNLogLevel",
				     (unsigned int)hook->level);
	instance->log_hook = *hook;
	if ((enum wnn_log_level)hook->level > instance->log.level)
		instance->log.level = (enum wnn_log_level)hook->level;
	return 0;
}

static int set_allocator(WNNInstance instance, const WNNInstanceAllocator *hook,
			 struct wnn_error *err)
{
	if (!hook->allocate || !hook->deallocate)
		return wnn_error_set(err, WNN_TYPE_ERROR, "%s of WNNInstanceAllocator is NULL",
				     hook->allocate ? "deallocate" : "allocate");
	instance->allocator = (struct wnn_allocator){ hook->allocate, hook->deallocate,
						      hook->userdata1, hook->userdata2 };
	return 0;
}

static int set_hook(WNNInstance instance, const WNNChainedStruct *hook, struct wnn_error *err)
{
	switch (hook->sType) {
	case WNNSType_InstanceLog:
		return set_log(instance, (const void *)hook, err);
	case WNNSType_InstanceAllocator:
		return set_allocator(instance, (const void *)hook, err);
	case WNNSType_InstancePermission:
		instance->permission = *(const WNNInstancePermission *)(const void *)hook;
		if (!instance->permission.callback)
			return wnn_error_set(err, WNN_TYPE_ERROR,
					     "the callback of WNNInstancePermission is NULL");
		return 0;
	default:
		return wnn_error_set(
			err, WNN_TYPE_ERROR,
			"the chain of WNNInstanceDescriptor holds a struct of sType %#x, "
			"which is not known there",
			(unsigned int)hook->sType);
	}
}

static int set_hooks(WNNInstance instance, const WNNInstanceDescriptor *descriptor,
		     struct wnn_error *err)
{
	const WNNChainedStruct *hook = descriptor ? descriptor->nextInChain : NULL;
	uint32_t seen = 0;

	for (; hook; hook = hook->next) {
		if (set_hook(instance, hook, err))
			return -1;
		/* A second struct of one type is refused; this also ends a chain that is a ring. */
		if (seen & 1u << hook->sType)
			return wnn_error_set(err, WNN_TYPE_ERROR,
					     "the chain of WNNInstanceDescriptor holds a second "
					     "struct of sType %#x",
					     (unsigned int)hook->sType);
		seen |= 1u << hook->sType;
	}
	return 0;
}

/*
 * Makes the thread use the descriptor's allocator, from which the instance itself is allocated,
 * too.
 */
static void use_allocator(const WNNInstanceDescriptor *descriptor)
{
	const WNNChainedStruct *hook = descriptor ? descriptor->nextInChain : NULL;
	const WNNInstanceAllocator *own;
	int more = MAX_CHAIN;

	wnn_allocator_use(NULL);
	while (hook && hook->sType != WNNSType_InstanceAllocator && more--)
		hook = hook->next;
	own = (const void *)hook;
	if (hook && hook->sType == WNNSType_InstanceAllocator && own->allocate && own->deallocate)
		wnn_allocator_use(&(struct wnn_allocator){ own->allocate, own->deallocate,
							   own->userdata1, own->userdata2 });
}

WNNInstance wnnCreateInstance(WNNInstanceDescriptor const *descriptor)
{
	struct wnn_error err = { 0 };
	struct debug_location location;
	WNNInstance instance;

	/* There is no object to check yet: &err is any pointer but NULL. */
	if (!api_check(&err, "wnnCreateInstance", ""))
		return NULL;
	api_watch_fork();
	debug_init();
	use_allocator(descriptor);
	instance = wnn_calloc(1, sizeof(*instance));
	if (!instance) {
		api_error_status(WNNStatus_UnknownError, "out of memory for an instance");
		return NULL;
	}
	atomic_init(&instance->refs, 1);
	atomic_init(&instance->holds, 1);
	open_log(instance);
	if (set_hooks(instance, descriptor, &err) || events_init(instance, &err)) {
		wnn_free(instance);
		api_error(&err);
		return NULL;
	}
	if (debug_on) {
		debug_here(&location, "wnnCreateInstance");
		debug_made(DEBUG_INSTANCE, instance, NULL, &location);
	}
	return instance;
}

void instance_get(WNNInstance instance)
{
	atomic_fetch_add(&instance->refs, 1);
}

void instance_put(WNNInstance instance)
{
	if (!instance || api_forked() || atomic_fetch_sub(&instance->refs, 1) != 1)
		return;
	events_close(&instance->events);
	instance_drop(instance);
}

int instance_permits(WNNInstance instance, WNNPermissionAction action, struct wnn_error *err)
{
	const WNNInstancePermission *hook = &instance->permission;

	if (!hook->callback || hook->callback(action, hook->userdata1, hook->userdata2))
		return 0;
	return wnn_error_set(err, WNN_SECURITY_ERROR, "the permission hook refused %s",
			     action == WNNPermissionAction_CreateContext ? "createContext" :
									   "a graph builder");
}
