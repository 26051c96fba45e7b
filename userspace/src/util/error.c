// SPDX-License-Identifier: MIT
/* Formats errors. */
#include "util/error.h"

#include <stdio.h>

#include "util/printable.h"

static void set(struct wnn_error *err, enum wnn_status status, const char *fmt, va_list ap)
	__attribute__((format(printf, 3, 0)));

static void set(struct wnn_error *err, enum wnn_status status, const char *fmt, va_list ap)
{
	size_t end = sizeof(err->message) - 1, last = end - 1;

	err->status = status;
	err->missing = false;
	if (vsnprintf(err->message, sizeof(err->message), fmt, ap) <= (int)end)
		return;
	/* Drops a last character that was cut, from its first byte on. */
	while (last && (err->message[last] & 0xc0) == 0x80)
		last--;
	if (!wnn_text_character(err->message + last, end - last))
		err->message[last] = '\0';
}

int wnn_error_set(struct wnn_error *err, enum wnn_status status, const char *fmt, ...)
{
	va_list ap;

	if (!err)
		return -1;
	va_start(ap, fmt);
	set(err, status, fmt, ap);
	va_end(ap);
	return -1;
}

int wnn_error_missing(struct wnn_error *err, const char *fmt, ...)
{
	va_list ap;

	if (!err)
		return -1;
	va_start(ap, fmt);
	set(err, WNN_TYPE_ERROR, fmt, ap);
	va_end(ap);
	err->missing = true;
	return -1;
}

int wnn_error_nomem(struct wnn_error *err, const char *what)
{
	return wnn_error_set(err, WNN_UNKNOWN_ERROR,
			     "out of memory for %s; use a smaller model, or end other programs",
			     what);
}
