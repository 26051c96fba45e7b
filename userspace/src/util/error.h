/* SPDX-License-Identifier: MIT */
/* Errors of the layers below the API: a status and one sentence. */
#ifndef WNN_UTIL_ERROR_H
#define WNN_UTIL_ERROR_H

#include <stdarg.h>
#include <stdbool.h>

/* The statuses of webnn.h, in their order; api/error.h checks that both agree. */
enum wnn_status {
	WNN_OK = 0,
	WNN_TYPE_ERROR,
	WNN_INVALID_STATE,
	WNN_NOT_SUPPORTED,
	WNN_OPERATION_ERROR,
	WNN_UNKNOWN_ERROR, /* other errors, such as exhausted memory */
	WNN_SECURITY_ERROR,
};

struct wnn_error {
	enum wnn_status status;
	bool missing; /* an operand is NULL, perhaps as the result of a call that failed before */
	char message[1024];
};

/* Sets the error to none. An initialiser would spend time on clearing all 1 KiB of the message. */
static inline void wnn_error_init(struct wnn_error *err)
{
	err->status = WNN_OK;
	err->missing = false;
	err->message[0] = '\0';
}

/**
 * wnn_error_set - record an error; always returns -1 so that callers can `return
 * wnn_error_set(...)`
 * @err: receives the error; may be NULL
 * @status: kind of the error
 * @fmt: printf format of the sentence, without a full stop or newline; what does not fit is cut off
 *	between characters
 */
int wnn_error_set(struct wnn_error *err, enum wnn_status status, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

/* Sets a TypeError that says which operand is NULL. Returns -1. */
int wnn_error_missing(struct wnn_error *err, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

/* Sets the error for exhausted memory. Returns -1. */
int wnn_error_nomem(struct wnn_error *err, const char *what);

#endif
