// SPDX-License-Identifier: MIT
/* Converts strings of the library to JSON. */
#include "json_text.h"

#include <stdlib.h>
#include <string.h>

json_t *json_text(WNNStringView view)
{
	const char *data = view.data ? view.data : "";
	size_t length = view.length == WNN_STRLEN ? strlen(data) : view.length;
	json_t *json = json_stringn(data, length);
	char *copy;

	if (json)
		return json;
	copy = malloc(length + 1);
	for (size_t i = 0; copy && i < length; i++)
		copy[i] = (signed char)data[i] < 0 ? '?' : data[i];
	json = copy ? json_stringn(copy, length) : NULL;
	free(copy);
	return json;
}
