// SPDX-License-Identifier: MIT
/* webnn-run generate: keeps the text that a model writes, and prints it piece by piece. */
#include "generated.h"

#include <stdio.h>
#include <string.h>

/* Cuts the text off before the first place where one of @stops is. */
static void cut(struct generated *text, const struct pairs *stops)
{
	for (size_t i = 0; i < stops->count; i++) {
		const char *stop = stops->items[i].text;
		const char *found = memmem(text->bytes.data, text->bytes.size, stop, strlen(stop));

		if (!found)
			continue;
		text->bytes.size = (size_t)(found - text->bytes.data);
		text->stopped = true;
	}
}

int generated_add(struct generated *text, const char *bytes, size_t size, const struct pairs *stops)
{
	if (!size)
		return 0;
	if (bytes_add(&text->bytes, bytes, size))
		return -1;
	cut(text, stops);
	return 0;
}

/* Returns the size of the longest end of the text with which one of @stops begins. */
static size_t open_end(const struct generated *text, const struct pairs *stops)
{
	size_t most = 0;

	for (size_t i = 0; i < stops->count; i++) {
		const char *stop = stops->items[i].text;
		size_t size = strlen(stop);

		if (size > text->bytes.size)
			size = text->bytes.size;
		while (size > most &&
		       memcmp(text->bytes.data + text->bytes.size - size, stop, size))
			size--;
		if (size > most)
			most = size;
	}
	return most;
}

size_t generated_sure(const struct generated *text, bool last, const struct pairs *stops)
{
	return text->bytes.size - (last ? 0 : open_end(text, stops));
}

void generated_print(struct generated *text, bool last, const struct pairs *stops)
{
	size_t end = generated_sure(text, last, stops);

	if (end <= text->printed)
		return;
	fwrite(text->bytes.data + text->printed, 1, end - text->printed, stdout);
	fflush(stdout);
	text->printed = end;
}
