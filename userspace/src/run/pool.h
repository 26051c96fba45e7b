/* SPDX-License-Identifier: MIT */
/*
 * The constants that CPU nodes of a device's graphs read. Graphs of one model for several sizes
 * have the same weights: what is equal byte by byte is stored once.
 */
#ifndef WNN_RUN_POOL_H
#define WNN_RUN_POOL_H

#include <pthread.h>

#include "ir/ir.h"
#include "run/heap.h"

/* Memory in which packed operands are stored one after the other. */
struct run_block {
	struct run_block *next; /* the next block of the pool */
	unsigned int graphs;	/* number of graphs that use the block */
	void *memory;
	size_t size;
	struct run_operand *operands;
	size_t count, room;
};

/* A constant that a graph reads as it is; `user` identifies the graph. */
struct run_shared {
	struct ir_constant *constant;
	uint64_t hash;
	const void *user;
};

/* May be used from any thread between run_pool_init() and run_pool_exit(). */
struct run_pool {
	pthread_mutex_t lock;
	struct run_block *blocks;
	struct run_shared *constants;
	size_t count, room;
};

void run_pool_init(struct run_pool *pool);
void run_pool_exit(struct run_pool *pool);

/* Returns a block of @size bytes that one graph uses; NULL with *err. */
struct run_block *run_pool_add(struct run_pool *pool, struct run_heap *heap, size_t size,
			       struct wnn_error *err);
/* Ends one graph's use of a block, which is freed after the last. NULL is fine. */
void run_pool_put(struct run_pool *pool, struct run_heap *heap, struct run_block *block);
/*
 * Stores an operand of @bytes that lies in @block. Returns where equal bytes lie: in *home, which
 * is @block, or another block, one of whose users the caller becomes. NULL: memory is exhausted.
 */
void *run_pool_store(struct run_pool *pool, struct run_block *block, void *data, size_t bytes,
		     struct run_block **home);

/*
 * Replaces *constant, whose bytes must exist, by an equal constant that another graph reads, if
 * there is one; a small or lent constant stays. @user: the graph, for run_pool_leave(). Returns 0;
 * -1: memory is exhausted.
 */
int run_pool_share(struct run_pool *pool, struct ir_constant **constant, const void *user);
/* Ends a graph's use of constants. */
void run_pool_leave(struct run_pool *pool, const void *user);

#endif
