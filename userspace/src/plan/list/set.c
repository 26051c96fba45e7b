// SPDX-License-Identifier: MIT
/*
 * Sets of views and of parameters: equal ones are kept once, so that a plan's memory is mostly that
 * of its instructions. Kernels fill them through plan_emit().
 */
#include "plan/list/plan.h"

#include <string.h>

#include "util/hash.h"
#include "util/malloc.h"

/* Returns the entry of the hash table that has the item, or the free entry where it belongs. */
static size_t find(const struct plan_set *set, const void *item, size_t size)
{
	size_t at = wnn_hash_words(WNN_HASH_SEED, item, size) & (set->hash_size - 1);

	while (set->hash[at] &&
	       memcmp((const uint8_t *)set->items + (set->hash[at] - 1) * size, item, size))
		at = (at + 1) & (set->hash_size - 1);
	return at;
}

static int grow_hash(struct plan *plan, struct plan_set *set, size_t size)
{
	size_t bigger = set->hash_size ? set->hash_size * 2 : 64;
	uint32_t *hash = wnn_calloc(bigger, sizeof(*hash));

	if (!hash) {
		plan_nomem(plan);
		return -1;
	}
	wnn_free(set->hash);
	set->hash = hash;
	set->hash_size = bigger;
	for (size_t i = 0; i < set->num; i++)
		hash[find(set, (const uint8_t *)set->items + i * size, size)] = (uint32_t)i + 1;
	return 0;
}

int32_t plan_set_add(struct plan *plan, struct plan_set *set, const void *item, size_t size)
{
	size_t at;

	_Static_assert(sizeof(struct npu_view) % 8 == 0 && sizeof(struct plan_param) % 8 == 0,
		       "items are hashed in words");
	if ((set->num + 1) * 2 > set->hash_size && grow_hash(plan, set, size))
		return -1;
	set->uses++;
	at = find(set, item, size);
	if (set->hash[at])
		return (int32_t)(set->hash[at] - 1);
	if (plan_grow(plan, &set->items, &set->cap, set->num + 1, size))
		return -1;
	memcpy((uint8_t *)set->items + set->num * size, item, size);
	set->hash[at] = (uint32_t)++set->num;
	return (int32_t)(set->num - 1);
}

void plan_set_release(struct plan_set *set)
{
	wnn_free(set->items);
	wnn_free(set->hash);
}
