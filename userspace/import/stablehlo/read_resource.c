// SPDX-License-Identifier: MIT
/*
 * Reads resources: bytes of elements at the end of the text, in {-# … #-}, which
 * dense_resource<name> refers to.
 */
#include <string.h>

#include "reader.h"

/* Returns where the resources begin, at the start of a line; NULL: there are none. */
static const char *find(const struct shlo_reader *r)
{
	const char *at = r->at;

	while (at < r->end && (at = memmem(at, (size_t)(r->end - at), "{-#", 3))) {
		const char *before = at;

		while (before > r->at && (before[-1] == ' ' || before[-1] == '\t'))
			before--;
		if (before == r->at || before[-1] == '\n')
			return at;
		at++;
	}
	return NULL;
}

/* Adds a resource; the first four bytes of its blob are the alignment. */
static void add(struct shlo_reader *r, const char *name, const char *text, size_t length)
{
	enum { HEADER = 4 };
	struct shlo_resource *resource = shlo_arena_alloc(r->arena, 1, sizeof(*resource));
	size_t size = length / 2 - 1;

	if (size < HEADER)
		shlo_read_error(r, "resource '%s' has less than the 4 bytes of its alignment",
				name);
	resource->name = name;
	resource->bytes = shlo_hex_bytes(r, text, length) + HEADER;
	resource->size = size - HEADER;
	resource->next = r->resources;
	r->resources = resource;
}

/* Reads entries: name: "0x…", a word, or {…} with more entries. */
static void read_entries(struct shlo_reader *r)
{
	bool first = true;

	shlo_enter(r);
	while (!shlo_take(r, "}")) {
		const char *name, *text;
		size_t length;

		if (!first)
			shlo_expect(r, ",");
		first = false;
		name = shlo_peek(r) == '"' ? shlo_read_string(r, NULL) : shlo_read_word(r);
		if (!name)
			shlo_read_error(r, "expected the name of a resource here");
		shlo_expect(r, ":");
		if (shlo_take(r, "{")) {
			read_entries(r);
		} else if (shlo_peek(r) == '"') {
			text = shlo_read_string(r, &length);
			/* Strings without "0x" hold no bytes, and are skipped. */
			if (length >= 2 && text[0] == '0' && text[1] == 'x')
				add(r, name, text, length);
		} else if (!shlo_read_word(r)) {
			shlo_read_error(r,
					"resource '%s' must be a string, a word or a list "
					"in braces",
					name);
		}
	}
	shlo_leave(r);
}

void shlo_read_resources(struct shlo_reader *r)
{
	struct shlo_reader before = *r;
	const char *at = find(r);

	r->resources = NULL;
	if (!at)
		return;
	for (const char *c = r->at; c < at; c++)
		if (*c == '\n') {
			r->line++;
			r->line_start = c + 1;
		}
	r->at = at;
	shlo_expect(r, "{-#");
	while (!shlo_take(r, "#-}")) {
		if (!shlo_read_word(r))
			shlo_read_error(r, "expected a kind of resources here");
		shlo_expect(r, ":");
		shlo_expect(r, "{");
		read_entries(r);
		shlo_take(r, ",");
	}
	before.resources = r->resources;
	before.resources_start = at;
	before.resources_end = r->at;
	*r = before;
}

void shlo_skip_resources(struct shlo_reader *r)
{
	shlo_skip(r);
	if (!r->resources_start || r->at != r->resources_start)
		shlo_read_error(r, "resources stand once, behind all modules");
	for (; r->at < r->resources_end; r->at++)
		if (*r->at == '\n') {
			r->line++;
			r->line_start = r->at + 1;
		}
}

/*
 * Reads a reference to a resource, dense_resource<name> : type, after its first word; returns the
 * elements. It is an error of reading if the file has no such resource, or one of another size.
 */
const struct shlo_attr *shlo_read_dense_resource(struct shlo_reader *r)
{
	struct shlo_attr *attr = shlo_attr_new(r, SHLO_ATTR_DENSE);
	const struct shlo_resource *resource = r->resources;
	const char *name;

	shlo_expect(r, "<");
	name = shlo_peek(r) == '"' ? shlo_read_string(r, NULL) : shlo_read_word(r);
	shlo_expect(r, ">");
	shlo_expect(r, ":");
	attr->type = shlo_read_type(r);
	while (resource && name && strcmp(resource->name, name))
		resource = resource->next;
	if (!resource || !name)
		shlo_read_error(r, "there is no resource '%s' in the file", name ? name : "");
	if (attr->type->kind != SHLO_TENSOR || !shlo_type_is_static(attr->type))
		shlo_read_error(r, "elements need a tensor type with known dimensions, not %s",
				shlo_type_text(r->arena, attr->type));
	if (!shlo_dense_fill(r->arena, attr, resource->bytes, resource->size))
		shlo_read_error(r, "there are %zu bytes for the elements of %s, which take %zu",
				resource->size, shlo_type_text(r->arena, attr->type),
				shlo_type_bytes(attr->type));
	return attr;
}
