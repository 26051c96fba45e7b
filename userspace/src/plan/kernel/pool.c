// SPDX-License-Identifier: MIT
/* Assigns slots of SRAM to the tiles of one operand, least recently used first. */
#include "plan/kernel/pool.h"

#include "util/malloc.h"

int pool_init(struct pool *pool, uint64_t *at, uint64_t bytes, uint32_t slots)
{
	pool->address = *at;
	pool->bytes = bytes;
	pool->slots = slots;
	pool->key = wnn_calloc(slots + 1, sizeof(*pool->key));
	pool->used = wnn_calloc(slots + 1, sizeof(*pool->used));
	*at += bytes * slots;
	for (uint32_t i = 0; pool->key && i < slots; i++)
		pool->key[i] = -1;
	return pool->key && pool->used ? 0 : -1;
}

void pool_free(struct pool *pool)
{
	wnn_free(pool->key);
	wnn_free(pool->used);
}

void pool_forget(struct pool *pool)
{
	for (uint32_t i = 0; i < pool->slots; i++)
		pool->key[i] = -1;
}

uint64_t pool_get(struct pool *pool, int64_t key, bool *hit)
{
	uint32_t oldest = 0;

	for (uint32_t i = 0; i < pool->slots; i++) {
		if (pool->key[i] == key) {
			pool->used[i] = ++pool->clock;
			*hit = true;
			return pool->address + i * pool->bytes;
		}
		if (pool->used[i] < pool->used[oldest])
			oldest = i;
	}
	pool->key[oldest] = key;
	pool->used[oldest] = ++pool->clock;
	*hit = false;
	return pool->address + oldest * pool->bytes;
}
