/* SPDX-License-Identifier: MIT */
/*
 * Asynchronous operations of an instance and the delivery of their results: by wnnInstanceWaitAny,
 * by wnnInstanceProcessEvents, by the callback thread of the instance, or to a Sync function that
 * waits.
 */
#ifndef WNN_API_EVENTS_H
#define WNN_API_EVENTS_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <webnn/webnn_npu.h>

#include "api/debug.h"
#include "util/error.h"

/* Kinds of requests, named after the callback that gets the result. */
enum request_kind {
	REQUEST_CREATE_CONTEXT,
	REQUEST_CREATE_TENSOR,
	REQUEST_READ_TENSOR,
	REQUEST_READ_TENSOR_INTO,
	REQUEST_MAP_TENSOR,
	REQUEST_BUILD,
	REQUEST_CONTEXT_LOST,
	REQUEST_WORK_DONE,
	REQUEST_DISPATCH_MEASURED,
	REQUEST_SYNC_FILE,	  /* wnnContextExportSyncFile; has no future */
	REQUEST_ERROR,		  /* an error for errorCallbackInfo; has no future */
	REQUEST_RELEASE_CONSTANT, /* the end of a WNNBorrowedConstant; has no future */
};

enum request_state { REQUEST_PENDING, REQUEST_READY, REQUEST_RUNNING, REQUEST_DONE };

union request_result {
	WNNContext context; /* objects: the result owns one reference */
	WNNTensor tensor;
	WNNGraph graph;
	struct {
		WNNDispatchStatistics statistics;
		WNNDispatchCopies copies;
	} dispatch;
	int32_t file; /* descriptor of a REQUEST_SYNC_FILE plus 1; 0: none */
	struct {
		void *data; /* memory from wnn_malloc(), for REQUEST_READ_TENSOR */
		size_t size;
	} bytes;
};

/* The members that all callback infos of the API have in common. */
struct request_callback {
	WNNChainedStruct *chain;
	WNNCallbackMode mode;
	void (*function)(void); /* callback, whose real type depends on the kind of request */
	void *userdata1, *userdata2;
};

#define REQUEST_CALLBACK(info)                                                         \
	((struct request_callback){ (info).nextInChain, (info).mode,                   \
				    (void (*)(void))(info).callback, (info).userdata1, \
				    (info).userdata2 })

/*
 * One operation. The members before `refs` never change. The lock of the events protects the
 * members after `refs`, except `tensor` and `location`, which are set before the operation begins,
 * and the last three.
 */
struct request {
	WNNInstance instance;
	enum request_kind kind;
	uint64_t id; /* 0: the request has no future */
	bool sync;   /* whether a thread waits for the request in request_wait() */
	struct request_callback callback;
	atomic_uint refs;

	enum request_state state;
	WNNCallbackMode mode;
	bool busy; /* whether the timeline is writing to the caller's memory */
	/* whether the request was cancelled while busy; it stays cancelled when the copy ends */
	bool spoiled;
	WNNStatus status;
	char message[sizeof(((struct wnn_error *)0)->message)];
	union request_result result;
	uint64_t order; /* order in which requests were completed */
	struct request *next_ready, *next_in_table;
	struct request *next_live, **link_live;

	WNNTensor tensor;		 /* a reference to the tensor, for REQUEST_MAP_TENSOR */
	struct debug_location *location; /* position of the call, for the debug layer; or NULL */

	/* The lock of the context in which the request is pending protects these. */
	struct request *next_pending, **link_pending;
	const void *subject; /* the tensor that is read */
};

#define EVENTS_BUCKETS 64
/*
 * The most errors that wait, so that a program which never asks for errors does not fill the
 * memory.
 */
#define EVENTS_MAX_ERRORS 256

struct event_list {
	struct request *first, *last;
};

struct events {
	pthread_mutex_t lock;
	pthread_cond_t changed; /* signalled when a request was completed or delivered */
	pthread_cond_t work;	/* signalled when the callback thread has work */
	uint64_t first_id, next_id, next_order;
	/* requests with a future that are not delivered yet */
	struct request *table[EVENTS_BUCKETS];
	/* all requests but those of Sync functions, in the order of the calls */
	struct request *live, **live_end;
	struct event_list process;     /* ready for wnnInstanceProcessEvents */
	struct event_list spontaneous; /* ready for the callback thread */
	uint32_t errors;	       /* number of errors in `process` */
	/*
	 * Errors that were dropped since there were too many; the message of `summary` contains the
	 * number.
	 */
	uint64_t errors_lost;
	struct request *summary; /* the last waiting error, if errors were dropped, else NULL */
	/* whether a thread runs callbacks of `process`: see events_run_errors(), too */
	bool processing;
	bool closing;	/* whether the application has released its last reference */
	uint32_t users; /* number of contexts, which may still complete requests */
	int fd;		/* the event descriptor (eventfd), or -1 */
};

/*
 * Starts the callback thread, which holds the instance (instance_hold()) as long as it runs.
 * Returns 0 or -1.
 */
int events_init(WNNInstance instance, struct wnn_error *err);
void events_exit(struct events *events);
/*
 * Cancels every request that has not been delivered, except those of Sync functions and those that
 * give borrowed memory back.
 */
void events_close(struct events *events);
/* Count the contexts of an instance; the callback thread runs until all of them have ended. */
void events_add_user(struct events *events);
void events_drop_user(struct events *events);

/* For request.c and wait.c; all are called with the lock held. */
/*
 * Adds a request that will be delivered, and takes over a reference. @future: whether it gets an
 * id, by which WaitAny finds it.
 */
void events_add(struct events *events, struct request *request, bool future);
/* Makes a request ready for delivery. */
void events_ready(struct events *events, struct request *request);
/* Returns the request with this id; NULL when it has been delivered. */
struct request *events_find(struct events *events, uint64_t id);
/* Runs the callback of a ready request; releases the lock meanwhile. */
void events_run(struct events *events, struct request *request);
/*
 * Runs the error callbacks that wait for wnnInstanceProcessEvents; releases the lock meanwhile.
 * Sync functions call it at their end, so that errors also reach a program that never calls
 * wnnInstanceProcessEvents.
 */
void events_run_errors(struct events *events);

/*
 * request_begin_async - begin an operation with a future, for which WaitAny can wait from now on
 * @function: name for messages
 *
 * Returns the request with one reference, for the code that completes it. NULL after an error,
 * which is kept for the thread: no callback, a bad mode, a chain, the instance released, out of
 * memory.
 */
struct request *request_begin_async(WNNInstance instance, enum request_kind kind,
				    struct request_callback callback, const char *function);
/*
 * Like request_begin_async(), for a Sync function. The request has two references; the second one
 * is for request_wait().
 */
struct request *request_begin_sync(WNNInstance instance, enum request_kind kind,
				   const char *function);
/*
 * Returns a new request without a future, for request_post(), which never fails; NULL when out of
 * memory.
 */
struct request *request_create(WNNInstance instance, enum request_kind kind,
			       struct request_callback callback);
/*
 * Makes a request from request_create() ready for delivery, and takes it over. Errors are dropped
 * when the instance is closing or too many wait.
 */
void request_post(struct request *request, WNNStatus status, const char *message);

void request_get(struct request *request);
void request_put(struct request *request); /* NULL is fine */

/*
 * request_complete - end an operation
 * @err: why it failed; NULL: it succeeded, and @result (may be NULL) is handed over
 *
 * Returns false when the request has already failed or been cancelled: the result still belongs to
 * the caller.
 */
bool request_complete(struct request *request, const struct wnn_error *err,
		      const union request_result *result);
/*
 * Ends a request without a result; does nothing when the request has already ended. Waits for a
 * copy that has begun; the end of that copy must not depend on a lock that the caller holds.
 */
void request_settle(struct request *request, WNNStatus status, const char *message);

/* Makes a request fail that is not delivered yet, even if it was completed with success. */
void request_revoke(struct request *request, WNNStatus status, const char *message);
/* Returns true if the request is still pending and not cancelled. */
bool request_wanted(struct request *request);

/*
 * Must be called before memory of the caller is written: until request_complete() the request
 * cannot be cancelled. Returns false when the request was cancelled; the memory must not be used
 * then.
 */
bool request_set_busy(struct request *request);

/*
 * request_wait - wait for the end of the operation of a Sync function
 *
 * Releases the second reference. Returns the status of the operation: on Success the caller gets
 * *result; another status is kept for the thread.
 */
WNNStatus request_wait(struct request *request, uint64_t timeout_ns, union request_result *result);

/* Returns true if the calling thread runs a callback; waiting is not allowed there. */
bool events_in_callback(void);

#endif
