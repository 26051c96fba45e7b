// SPDX-License-Identifier: MIT
/* A hash table from names to values; a lookup continues in the enclosing scope. */
#include "scope.h"

#include <string.h>

static uint64_t hash(const char *name)
{
	uint64_t sum = UINT64_C(0xcbf29ce484222325);

	for (; *name; name++)
		sum = (sum ^ (uint8_t)*name) * UINT64_C(0x100000001b3);
	return sum ^ sum >> 32;
}

int onnx_scope_begin(struct onnx_scope *scope, struct onnx_arena *arena, size_t names)
{
	scope->room = 16;
	while (scope->room < names)
		scope->room *= 2;
	scope->buckets = onnx_arena_alloc(arena, scope->room * sizeof(*scope->buckets));
	return scope->buckets ? 0 : -1;
}

int onnx_scope_set(struct onnx_scope *scope, struct onnx_arena *arena, const char *name,
		   struct onnx_value *value)
{
	struct onnx_name **bucket = &scope->buckets[hash(name) & (scope->room - 1)];
	struct onnx_name *entry = onnx_arena_alloc(arena, sizeof(*entry));

	if (!entry)
		return -1;
	*entry = (struct onnx_name){ name, value, *bucket };
	*bucket = entry;
	return 0;
}

struct onnx_value *onnx_scope_get(const struct onnx_scope *scope, const char *name)
{
	uint64_t sum = hash(name);

	for (; scope; scope = scope->outer)
		for (struct onnx_name *entry = scope->buckets[sum & (scope->room - 1)]; entry;
		     entry = entry->next)
			if (!strcmp(entry->name, name))
				return entry->value;
	return NULL;
}
