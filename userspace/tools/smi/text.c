// SPDX-License-Identifier: MIT
/* Formats text into new memory, and as JSON. */
#include "text.h"

#include <err.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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

json_t *text_as_json(const char *text)
{
	json_t *json = json_string(text);
	char *copy = json ? NULL : strdup(text);

	for (char *at = copy; at && *at; at++)
		if ((unsigned char)*at > '~')
			*at = '?';
	if (copy)
		json = json_string(copy);
	free(copy);
	return json;
}
