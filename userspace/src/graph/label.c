// SPDX-License-Identifier: MIT
/* Copies and compares strings of the application: labels and names. */
#include "graph/label.h"

#include <string.h>

#include "util/arena.h"
#include "util/printable.h"

static const char replacement[] = "\xef\xbf\xbd";

size_t wnn_view_length(const WNNStringView *view)
{
	if (!view->data)
		return 0;
	return view->length == WNN_STRLEN ? strlen(view->data) : view->length;
}

/*
 * Returns the first character of @view as valid UTF-8, and removes it from @view; *bytes becomes
 * its length.
 */
static const char *next_character(WNNStringView *view, size_t *bytes)
{
	size_t taken = wnn_text_character(view->data, view->length);
	const char *character = view->data;

	*bytes = taken;
	if (!taken) {
		character = replacement;
		*bytes = sizeof(replacement) - 1;
		taken = 1;
	}
	view->data += taken;
	view->length -= taken;
	return character;
}

int wnn_view_compare(const WNNStringView *a, const WNNStringView *b)
{
	WNNStringView x = { a->data, wnn_view_length(a) }, y = { b->data, wnn_view_length(b) };

	while (x.length && y.length) {
		size_t n, m;
		const char *p = next_character(&x, &n), *q = next_character(&y, &m);
		/* Characters with different lengths differ in their first byte. */
		int order = memcmp(p, q, n < m ? n : m);

		if (order)
			return order;
	}
	return (x.length > y.length) - (x.length < y.length);
}

char *wnn_label_copy(struct wnn_arena *arena, const WNNStringView *view)
{
	size_t length = wnn_view_length(view), used = 0;
	WNNStringView rest = { view->data, length };
	char *copy;

	if (length > SIZE_MAX / 3 - 1)
		return NULL;
	/* An invalid byte becomes the three bytes of U+FFFD. */
	copy = wnn_arena_alloc(arena, length * 3 + 1);
	if (!copy)
		return NULL;
	while (rest.length) {
		size_t bytes;
		const char *character = next_character(&rest, &bytes);

		if (!*character) {
			character = replacement;
			bytes = sizeof(replacement) - 1;
		}
		memcpy(copy + used, character, bytes);
		used += bytes;
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
	/* A byte becomes at most six bytes of an escape. */
	copy = wnn_arena_alloc(arena, length * 6 + 1);
	if (copy)
		wnn_text_printable(copy, length * 6 + 1, view->data, length);
	return copy;
}
