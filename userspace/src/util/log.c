// SPDX-License-Identifier: MIT
/* Formats log messages and passes them to the sink. */
#include "util/log.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "util/printable.h"

void wnn_log_write(const struct wnn_log *log, enum wnn_log_level level, const char *fmt, ...)
{
	char text[1024], line[1024];
	va_list ap;

	if (!log || level > log->level)
		return;
	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	wnn_text_printable(line, sizeof(line), text, strlen(text));
	log->write(log->userdata, level, line);
}
