// SPDX-License-Identifier: MIT
/* Formatting of errors. */
#include "util/error.h"

#include <stdio.h>

int wnn_error_set(struct wnn_error *err, enum wnn_status status, const char *fmt, ...)
{
	va_list ap;

	if (!err)
		return -1;
	err->status = status;
	va_start(ap, fmt);
	vsnprintf(err->message, sizeof(err->message), fmt, ap);
	va_end(ap);
	return -1;
}

int wnn_error_nomem(struct wnn_error *err, const char *what)
{
	return wnn_error_set(err, WNN_UNKNOWN_ERROR, "out of memory for %s", what);
}
