/* SPDX-License-Identifier: MIT */
/*
 * Tiles of one operand in SRAM: a cache of a few slots from which the least recently used tile is
 * evicted. contract_emit.c asks it before each load.
 */
#ifndef WNN_PLAN_POOL_H
#define WNN_PLAN_POOL_H

#include <stdbool.h>
#include <stdint.h>

/* The slots, least recently used first to be evicted. */
struct pool {
	uint64_t address, bytes;
	uint32_t slots;
	int64_t *key;
	uint64_t *used;
	uint64_t clock;
};

/* Slots of @bytes from *at on, which moves behind them; -1 without memory. */
int pool_init(struct pool *pool, uint64_t *at, uint64_t bytes, uint32_t slots);
void pool_free(struct pool *pool);
/* Nothing is there any more. */
void pool_forget(struct pool *pool);
/* Address of the slot for `key`; *hit when its content is there already. */
uint64_t pool_get(struct pool *pool, int64_t key, bool *hit);

#endif
