/* SPDX-License-Identifier: MIT */
/*
 * A cache of the tiles of one operand in a few slots of SRAM, which evicts the least recently used
 * tile. contract_emit.c asks it before each load.
 */
#ifndef WNN_PLAN_POOL_H
#define WNN_PLAN_POOL_H

#include <stdbool.h>
#include <stdint.h>

struct pool {
	uint64_t address, bytes; /* address of the first slot, bytes of each */
	uint32_t slots;
	int64_t *key;	/* by slot: the key of its tile; -1: none */
	uint64_t *used; /* by slot: the clock of its last use */
	uint64_t clock;
};

/*
 * Takes @slots slots of @bytes bytes of SRAM from *at on, and sets *at to the byte after them.
 * Returns 0, or -1: no memory; call pool_free() in both cases.
 */
int pool_init(struct pool *pool, uint64_t *at, uint64_t bytes, uint32_t slots);
void pool_free(struct pool *pool);
/* Empties all slots. */
void pool_forget(struct pool *pool);
/* Returns the address of the slot for tile `key`; *hit: the tile is there already. */
uint64_t pool_get(struct pool *pool, int64_t key, bool *hit);

#endif
