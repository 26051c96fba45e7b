/* SPDX-License-Identifier: MIT */
/* The last error of each thread, the checks that begin every public function, and strings. */
#ifndef WNN_API_ERROR_H
#define WNN_API_ERROR_H

#include <stdbool.h>
#include <webnn/webnn.h>

#include "api/debug.h"
#include "util/error.h"
#include "util/malloc.h"

/* The statuses of the lower layers have the values of those of the API. */
_Static_assert((int)WNN_OK == (int)WNNStatus_Success &&
		       (int)WNN_TYPE_ERROR == (int)WNNStatus_TypeError &&
		       (int)WNN_INVALID_STATE == (int)WNNStatus_InvalidStateError &&
		       (int)WNN_NOT_SUPPORTED == (int)WNNStatus_NotSupportedError &&
		       (int)WNN_OPERATION_ERROR == (int)WNNStatus_OperationError &&
		       (int)WNN_UNKNOWN_ERROR == (int)WNNStatus_UnknownError &&
		       (int)WNN_SECURITY_ERROR == (int)WNNStatus_SecurityError,
	       "statuses of the API and of the layers below differ");

/* Keeps an error for wnnGetLastError; returns its status. */
WNNStatus api_error(const struct wnn_error *err);
/*
 * Keeps an error for wnnGetLastError, but does not report it: the debug layer has done that
 * already. Returns its status.
 */
WNNStatus api_error_reported(const struct wnn_error *err);
/* Keeps an error that is made of its arguments; returns @status. */
WNNStatus api_error_status(WNNStatus status, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

/*
 * api_check - check the object of a public function; the first thing that each does
 * @object: the object that the function works on; NULL is a TypeError
 * @function, @argument: names for the message
 *
 * Returns false after an error, which is kept for the thread, and in a child process of fork(). For
 * an object of the API it makes the thread use the allocator of the object's instance.
 */
#define api_check(object, function, argument)                                                  \
	(api_check_pointer((object), (function), (argument)) &&                                \
	 (!debug_on || api_check_known(api_kind(object), (object), (function), (argument))) && \
	 _Generic((object),                                                                    \
		 WNNInstance: api_use_instance,                                                \
		 WNNContext: api_use_context,                                                  \
		 WNNTensor: api_use_tensor,                                                    \
		 WNNGraphBuilder: api_use_builder,                                             \
		 WNNOperand: api_use_operand,                                                  \
		 WNNGraph: api_use_graph,                                                      \
		 default: api_use_any)(object))
bool api_check_pointer(const void *object, const char *function, const char *argument);

/* The kind of object that an argument has by its type; -1: it is not an object. */
#define api_kind(object)                              \
	_Generic((object),                            \
		WNNInstance: DEBUG_INSTANCE,          \
		WNNContext: DEBUG_CONTEXT,            \
		WNNTensor: DEBUG_TENSOR,              \
		WNNGraphBuilder: DEBUG_GRAPH_BUILDER, \
		WNNOperand: DEBUG_OPERAND,            \
		WNNGraph: DEBUG_GRAPH,                \
		default: -1)
bool api_check_known(int kind, const void *object, const char *function, const char *argument);

static inline void api_free_object(void *object)
{
	if (debug_on)
		debug_free(object);
	else
		wnn_free(object);
}

/* Make the thread use the allocator of the object's instance. They always return true. */
bool api_use_instance(WNNInstance instance);
bool api_use_context(WNNContext context);
bool api_use_tensor(WNNTensor tensor);
bool api_use_builder(WNNGraphBuilder builder);
bool api_use_operand(WNNOperand operand);
bool api_use_graph(WNNGraph graph);
bool api_use_any(const void *object);

/* api_watch_fork() makes api_forked() return true in child processes of fork() from now on. */
void api_watch_fork(void);
bool api_forked(void);

/*
 * Refuses a chain in a struct that has no extensions. Returns 0, or -1 with TypeError when @chain
 * is not NULL.
 */
int api_check_no_chain(const WNNChainedStruct *chain, const char *what, struct wnn_error *err);

/* Returns a view of a string, which must end with NUL and live longer than the view. */
WNNStringView api_view(const char *text);

/*
 * Returns a copy of a view with a NUL, which the caller frees with wnn_free(); NULL when out of
 * memory.
 */
char *api_string(WNNStringView view);

#endif
