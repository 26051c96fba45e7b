/* SPDX-License-Identifier: MIT */
/*
 * Asynchronous operations of an instance and the delivery of their results: in wnnInstanceWaitAny,
 * in wnnInstanceProcessEvents, on the callback thread of the instance, or to a Sync function that
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

/* Named after the callback that takes the result. */
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
	REQUEST_SYNC_FILE,	  /* wnnContextExportSyncFile; no future */
	REQUEST_ERROR,		  /* errorCallbackInfo; no future */
	REQUEST_RELEASE_CONSTANT, /* WNNBorrowedConstant; no future */
};

enum request_state { REQUEST_PENDING, REQUEST_READY, REQUEST_RUNNING, REQUEST_DONE };

union request_result {
	WNNContext context; /* objects: one reference */
	WNNTensor tensor;
	WNNGraph graph;
	struct {
		WNNDispatchStatistics statistics;
		WNNDispatchCopies copies;
	} dispatch;
	int32_t file; /* REQUEST_SYNC_FILE: one more than the descriptor; 0: none */
	struct {
		void *data; /* malloc'ed for REQUEST_READ_TENSOR */
		size_t size;
	} bytes;
};

/* The members that all callback infos of the API share. */
struct request_callback {
	WNNChainedStruct *chain;
	WNNCallbackMode mode;
	void (*function)(void); /* of the type that belongs to the kind */
	void *userdata1, *userdata2;
};

#define REQUEST_CALLBACK(info)                                                         \
	((struct request_callback){ (info).nextInChain, (info).mode,                   \
				    (void (*)(void))(info).callback, (info).userdata1, \
				    (info).userdata2 })

/* One operation. The first members never change; the others are under the lock of the events. */
struct request {
	WNNInstance instance;
	enum request_kind kind;
	uint64_t id; /* 0: no future */
	bool sync;   /* a thread waits for it in request_wait() */
	struct request_callback callback;
	atomic_uint refs;

	enum request_state state;
	WNNCallbackMode mode;
	bool busy;    /* the timeline writes to the caller's memory */
	bool spoiled; /* cancelled while busy: keeps its status and message when the copy ends */
	WNNStatus status;
	char message[sizeof(((struct wnn_error *)0)->message)];
	union request_result result;
	uint64_t order; /* of completion */
	struct request *next_ready, *next_in_table;
	struct request *next_live, **link_live;

	WNNTensor tensor;	   /* REQUEST_MAP_TENSOR: a reference */
	struct debug_place *place; /* where it was begun, for the debug layer; or NULL */

	/* Under the lock of the context that it is pending in. */
	struct request *next_pending, **link_pending;
	const void *subject; /* the tensor that is read */
};

#define EVENTS_BUCKETS 64
/* Errors that wait at most, so that a program that never asks for them does not fill the memory. */
#define EVENTS_MAX_ERRORS 256

struct event_list {
	struct request *first, *last;
};

struct events {
	pthread_mutex_t lock;
	pthread_cond_t changed; /* something was completed or delivered */
	pthread_cond_t work;	/* for the callback thread */
	uint64_t first_id, next_id, next_order;
	struct request *table[EVENTS_BUCKETS]; /* with a future, not yet delivered */
	struct request *live, **live_end;      /* all but Sync ones, in the order of the calls */
	struct event_list process;	       /* ready, for wnnInstanceProcessEvents */
	struct event_list spontaneous;	       /* ready, for the callback thread */
	uint32_t errors;		       /* in process */
	/* Errors since then that were dropped; summary says how many. */
	uint64_t errors_lost;
	struct request *summary; /* the last of errors, or NULL */
	bool processing;	 /* a thread is in wnnInstanceProcessEvents */
	bool closing;		 /* the application's last reference is gone */
	uint32_t users;		 /* contexts, which may still complete something */
	int fd;			 /* eventfd, or -1 */
};

/* Starts the callback thread, which holds the instance (instance_hold) as long as it runs. */
int events_init(WNNInstance instance, struct wnn_error *err);
void events_exit(struct events *events);
/* Everything that has not been delivered becomes Cancelled. */
void events_close(struct events *events);
void events_add_user(struct events *events);
void events_drop_user(struct events *events);

/* For request.c and wait.c, all under the lock. */
/* A request that will be delivered; gets an id when it has a future. Takes a reference over. */
void events_add(struct events *events, struct request *request, bool future);
/* Marks a request as ready for delivery. */
void events_ready(struct events *events, struct request *request);
/* The one with this id; NULL when it was delivered. */
struct request *events_find(struct events *events, uint64_t id);
/* Runs the callback of a ready request; unlocks meanwhile. */
void events_run(struct events *events, struct request *request);
/*
 * Runs the error callbacks that wait for wnnInstanceProcessEvents; unlocks meanwhile. At the end of
 * Sync functions, so that a program that calls nothing else hears of its errors.
 */
void events_run_errors(struct events *events);

/*
 * request_begin_async - an operation with a future, known to WaitAny from now on
 * @function: name for messages
 *
 * With one reference, for whoever will complete it. NULL after an error, which is remembered for
 * the thread: no callback, a bad mode, a chain, the instance released, out of memory.
 */
struct request *request_begin_async(WNNInstance instance, enum request_kind kind,
				    struct request_callback callback, const char *function);
/* request_begin_async() for a Sync function; two references, the second for request_wait(). */
struct request *request_begin_sync(WNNInstance instance, enum request_kind kind,
				   const char *function);
/* Creates a request without a future; posted at once. Never fails when @request is not NULL. */
struct request *request_create(WNNInstance instance, enum request_kind kind,
			       struct request_callback callback);
void request_post(struct request *request, WNNStatus status, const char *message);

void request_get(struct request *request);
void request_put(struct request *request); /* NULL is fine */

/*
 * request_complete - end an operation
 * @err: why it failed; NULL: it did not, and @result (may be NULL) is handed over
 *
 * False when it had failed or was cancelled before: the result stays the caller's.
 */
bool request_complete(struct request *request, const struct wnn_error *err,
		      const union request_result *result);
/*
 * request_complete() without a result; does nothing when the request is settled already. Waits for
 * a copy that has begun, whose end must not depend on a lock that the caller holds.
 */
void request_settle(struct request *request, WNNStatus status, const char *message);

/* Makes a request that is not delivered yet fail, even if it has completed with success. */
void request_revoke(struct request *request, WNNStatus status, const char *message);
/* Whether the request is still pending and not cancelled. */
bool request_wanted(struct request *request);

/*
 * Call it before memory of the caller is written: until request_complete() the request cannot be
 * cancelled. False: nobody waits for it any more, and the memory must not be touched.
 */
bool request_set_busy(struct request *request);

/*
 * request_wait - the end of a Sync function
 *
 * Gives the second reference back. On Success *result is the caller's; any other status is
 * remembered for the thread.
 */
WNNStatus request_wait(struct request *request, uint64_t timeout_ns, union request_result *result);

/* Whether the calling thread is in a callback, where waiting is not allowed. */
bool events_in_callback(void);

#endif
