// SPDX-License-Identifier: MIT
/* The last error of each thread, and the check that begins every public function. */
#include "api/error.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "graph/label.h"
#include "util/malloc.h"

static _Thread_local struct {
	WNNStatus status;
	char message[sizeof(((struct wnn_error *)0)->message)];
} last;

/*
 * true in a child process of fork(), where the library's threads do not exist and its locks may be
 * held
 */
static atomic_bool forked;

static void in_child(void)
{
	atomic_store(&forked, true);
}

static void watch(void)
{
	pthread_atfork(NULL, NULL, in_child);
}

void api_watch_fork(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	pthread_once(&once, watch);
}

bool api_forked(void)
{
	return atomic_load(&forked);
}

WNNStatus api_error_reported(const struct wnn_error *err)
{
	last.status = (WNNStatus)err->status;
	memcpy(last.message, err->message, sizeof(last.message));
	return last.status;
}

WNNStatus api_error(const struct wnn_error *err)
{
	if (debug_on)
		debug_failed(err->message, NULL);
	return api_error_reported(err);
}

WNNStatus api_error_status(WNNStatus status, const char *fmt, ...)
{
	va_list ap;

	last.status = status;
	va_start(ap, fmt);
	vsnprintf(last.message, sizeof(last.message), fmt, ap);
	va_end(ap);
	if (debug_on)
		debug_failed(last.message, NULL);
	return status;
}

bool api_check_known(int kind, const void *object, const char *function, const char *argument)
{
	struct wnn_error err = { 0 };
	char what[128];

	if (kind < 0)
		return true;
	snprintf(what, sizeof(what), "%s: %s", function, argument);
	if (!debug_verify((enum debug_kind)kind, object, what, &err))
		return true;
	api_error_reported(&err);
	return false;
}

bool api_check_pointer(const void *object, const char *function, const char *argument)
{
	if (api_forked()) {
		api_error_status(WNNStatus_InvalidStateError,
				 "%s: the library cannot be used in a child process of fork()",
				 function);
		return false;
	}
	if (!object) {
		api_error_status(WNNStatus_TypeError, "%s: %s is NULL", function, argument);
		return false;
	}
	return true;
}

int api_check_no_chain(const WNNChainedStruct *chain, const char *what, struct wnn_error *err)
{
	if (!chain)
		return 0;
	return wnn_error_set(err, WNN_TYPE_ERROR,
			     "the chain of %s holds a struct of sType %#x; no struct is allowed "
			     "there",
			     what, (unsigned int)chain->sType);
}

WNNStringView api_view(const char *text)
{
	return (WNNStringView){ text, strlen(text) };
}

char *api_string(WNNStringView view)
{
	size_t length = wnn_view_length(&view);
	char *copy = wnn_malloc(length + 1);

	if (!copy)
		return NULL;
	if (length)
		memcpy(copy, view.data, length);
	copy[length] = '\0';
	return copy;
}

WNNStatus wnnGetLastError(WNNError *error)
{
	if (error) {
		error->status = last.status;
		error->message = api_view(last.message);
	}
	return last.status;
}
