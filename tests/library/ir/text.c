// SPDX-License-Identifier: MIT
#include "text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ir/parse.h"
#include "util/malloc.h"

#define MAX_NUMBERS 65536

/*
 * Returns a copy of the text in which values are numbered by their first appearance. Frees the
 * text; the caller frees the copy.
 */
static char *renumbered(char *text)
{
	uint32_t *seen = calloc(MAX_NUMBERS, sizeof(*seen)), count = 0;
	char *result = NULL, *end;
	size_t size;
	FILE *f = open_memstream(&result, &size);
	bool quoted = false;

	for (const char *at = text; *at;) {
		unsigned long number;

		/*
		 * A name may contain a "%"; ir_print() writes a quotation mark in a name as an
		 * escape.
		 */
		quoted ^= *at == '"';
		if (*at != '%' || quoted) {
			fputc(*at++, f);
			continue;
		}
		number = strtoul(at + 1, &end, 10) % MAX_NUMBERS;
		if (!seen[number])
			seen[number] = ++count;
		fprintf(f, "%%%u", seen[number] - 1);
		at = end;
	}
	fclose(f);
	free(seen);
	wnn_free(text);
	return result;
}

bool text_round_trip(const struct ir_graph *graph)
{
	char *before = ir_print(graph), *after = NULL;
	struct wnn_error error = { 0 };
	struct ir_graph *again = ir_parse(before, &error);
	bool same = again != NULL;

	if (again) {
		after = renumbered(ir_print(again));
		before = renumbered(before);
		same = !strcmp(before, after);
	}
	if (!same)
		fprintf(stderr, "%s\nread again:\n%s\n", before, after ? after : error.message);
	ir_graph_destroy(again);
	free(before);
	free(after);
	return same;
}
