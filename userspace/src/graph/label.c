/* SPDX-License-Identifier: MIT */
/* Strings of the application: labels and names. */
#include "graph/label.h"

#include <string.h>

#include "util/arena.h"
#include "util/text.h"

size_t wnn_view_length(const WNNStringView *view)
{
	if (!view->data)
		return 0;
	return view->length == WNN_STRLEN ? strlen(view->data) : view->length;
}

char *wnn_label_copy(struct wnn_arena *arena, const WNNStringView *view)
{
	size_t length = wnn_view_length(view), used = 0;
	char *copy;

	if (length > SIZE_MAX / 3 - 1)
		return NULL;
	/* Each invalid byte becomes three. */
	copy = wnn_arena_alloc(arena, length * 3 + 1);
	if (!copy)
		return NULL;
	for (size_t in = 0; in < length;) {
		size_t bytes = wnn_text_character(view->data + in, length - in);

		if (bytes && view->data[in]) {
			memcpy(copy + used, view->data + in, bytes);
			used += bytes;
			in += bytes;
		} else {
			memcpy(copy + used, "\xef\xbf\xbd", 3);
			used += 3;
			in++;
		}
	}
	copy[used] = '\0';
	return copy;
}

char *wnn_label_printable(struct wnn_arena *arena, const WNNStringView *view)
{
	size_t length = wnn_view_length(view);
	char *copy;

	if (length > SIZE_MAX / 6 - 1)
		return NULL;
	/* A byte becomes at most an escape of six. */
	copy = wnn_arena_alloc(arena, length * 6 + 1);
	if (copy)
		wnn_text_printable(copy, length * 6 + 1, view->data, length);
	return copy;
}
