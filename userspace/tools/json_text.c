// SPDX-License-Identifier: MIT
/* Converts strings of the library to JSON. */
#include "json_text.h"

#include <stdlib.h>
#include <string.h>

/* Returns the size of the UTF-8 character at the start of a text; 0: the text begins with none. */
static size_t character(const char *data, size_t length)
{
	for (size_t size = 1; size <= 4 && size <= length; size++) {
		json_t *json = json_stringn(data, size);

		if (!json)
			continue;
		json_decref(json);
		return size;
	}
	return 0;
}

json_t *json_text(WNNStringView view)
{
	const char *data = view.data ? view.data : "";
	size_t length = view.length == WNN_STRLEN ? strlen(data) : view.length;
	json_t *json = json_stringn(data, length);
	char *copy;

	if (json)
		return json;
	copy = malloc(length + 1);
	for (size_t i = 0, size; copy && i < length; i += size ? size : 1) {
		size = character(data + i, length - i);
		copy[i] = '?';
		memcpy(copy + i, data + i, size);
	}
	json = copy ? json_stringn(copy, length) : NULL;
	free(copy);
	return json;
}
