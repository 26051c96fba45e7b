// SPDX-License-Identifier: MIT
/* Formats text into new memory. */
#include "text.h"

#include <err.h>
#include <stdarg.h>
#include <stdio.h>

char *text_of(const char *format, ...)
{
	va_list ap;
	char *text;

	va_start(ap, format);
	if (vasprintf(&text, format, ap) < 0)
		errx(2, "memory is exhausted");
	va_end(ap);
	return text;
}
