/* SPDX-License-Identifier: MIT */
/*
 * Replaces Mesa's file; the decoder caches expressions with it, and our instruction set has none.
 */
#ifndef SHIM_HASH_TABLE_H
#define SHIM_HASH_TABLE_H

#include <stdlib.h>

struct hash_table;

struct hash_entry {
	void *data;
};

static inline struct hash_table *_mesa_pointer_hash_table_create(void *parent)
{
	(void)parent;
	abort();
}

static inline struct hash_entry *_mesa_hash_table_search(struct hash_table *table, const void *key)
{
	(void)table;
	(void)key;
	abort();
}

static inline void _mesa_hash_table_insert(struct hash_table *table, const void *key, void *data)
{
	(void)table;
	(void)key;
	(void)data;
	abort();
}

#endif
