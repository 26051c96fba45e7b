// SPDX-License-Identifier: MIT
/* Finds constants that are equal to those of other graphs. */
#include "run/pool.h"

#include <string.h>

#include "util/array.h"
#include "util/hash.h"
#include "util/malloc.h"

/* A packed operand in a block. */
struct run_operand {
	void *data;
	size_t bytes;
	uint64_t hash;
};

/* Constants of fewer bytes are not worth a comparison. */
#define LEAST 4096

/* Hashes parts of the bytes, which is enough: constants with equal hashes are compared in full. */
static uint64_t hash_parts(const uint8_t *data, size_t bytes)
{
	const size_t parts = 16, part = 256;
	uint64_t hash = wnn_hash_words(WNN_HASH_SEED, &(uint64_t){ bytes }, sizeof(uint64_t));

	if (bytes < parts * part)
		return wnn_hash_words(hash, data, bytes / 8 * 8);
	for (size_t i = 0; i < parts; i++)
		hash = wnn_hash_words(hash, data + (bytes - part) / parts * i / 64 * 64, part);
	return hash;
}

void run_pool_init(struct run_pool *pool)
{
	*pool = (struct run_pool){ 0 };
	pthread_mutex_init(&pool->lock, NULL);
}

void run_pool_exit(struct run_pool *pool)
{
	wnn_free(pool->constants);
	pthread_mutex_destroy(&pool->lock);
	*pool = (struct run_pool){ 0 };
}

struct run_block *run_pool_add(struct run_pool *pool, struct run_heap *heap, size_t size,
			       struct wnn_error *err)
{
	struct run_block *block = wnn_calloc(1, sizeof(*block));

	if (!block) {
		wnn_error_nomem(err, "a graph");
		return NULL;
	}
	block->memory = run_host_alloc(heap, size, "the packed constants of a graph", err);
	if (!block->memory) {
		wnn_free(block);
		return NULL;
	}
	block->graphs = 1;
	block->size = size;
	pthread_mutex_lock(&pool->lock);
	block->next = pool->blocks;
	pool->blocks = block;
	pthread_mutex_unlock(&pool->lock);
	return block;
}

void run_pool_put(struct run_pool *pool, struct run_heap *heap, struct run_block *block)
{
	struct run_block **slot = &pool->blocks;
	bool last;

	if (!block)
		return;
	pthread_mutex_lock(&pool->lock);
	last = !--block->graphs;
	while (last && *slot != block)
		slot = &(*slot)->next;
	if (last)
		*slot = block->next;
	pthread_mutex_unlock(&pool->lock);
	if (!last)
		return;
	run_host_free(heap, block->memory, block->size);
	wnn_free(block->operands);
	wnn_free(block);
}

/*
 * Returns an operand of the pool with the bytes of @new, and sets *home to its block; NULL: there
 * is none. The pool is locked.
 */
static struct run_operand *find(const struct run_pool *pool, const struct run_operand *new,
				struct run_block **home)
{
	for (struct run_block *block = pool->blocks; block; block = block->next)
		for (size_t i = 0; i < block->count; i++) {
			struct run_operand *old = &block->operands[i];

			if (old->bytes != new->bytes || old->hash != new->hash ||
			    memcmp(old->data, new->data, new->bytes))
				continue;
			*home = block;
			return old;
		}
	return NULL;
}

void *run_pool_store(struct run_pool *pool, struct run_block *block, void *data, size_t bytes,
		     struct run_block **home)
{
	struct run_operand new = { data, bytes, hash_parts(data, bytes) }, *old;
	void *place = NULL;

	*home = block;
	pthread_mutex_lock(&pool->lock);
	old = find(pool, &new, home);
	if (old) {
		(*home)->graphs += *home != block;
		place = old->data;
	} else if (!wnn_array_reserve(&block->operands, &block->room, block->count + 1,
				      sizeof(*block->operands))) {
		block->operands[block->count++] = new;
		place = data;
	}
	pthread_mutex_unlock(&pool->lock);
	return place;
}

/* Does what run_pool_share() does for a large constant. The pool is locked. */
static int share(struct run_pool *pool, struct ir_constant **constant, struct run_shared *new)
{
	for (size_t i = 0; i < pool->count; i++) {
		struct ir_constant *old = pool->constants[i].constant;

		if (old == *constant)
			break;
		if (pool->constants[i].hash != new->hash || old->bytes != (*constant)->bytes ||
		    memcmp(old->data, (*constant)->data, old->bytes))
			continue;
		ir_constant_unref(*constant);
		*constant = new->constant = ir_constant_ref(old);
		break;
	}
	if (wnn_array_reserve(&pool->constants, &pool->room, pool->count + 1,
			      sizeof(*pool->constants)))
		return -1;
	pool->constants[pool->count++] = *new;
	return 0;
}

int run_pool_share(struct run_pool *pool, struct ir_constant **constant, const void *user)
{
	struct run_shared new = { *constant, 0, user };
	int ret;

	if ((*constant)->bytes < LEAST || (*constant)->lent)
		return 0;
	new.hash = hash_parts((*constant)->data, (*constant)->bytes);
	pthread_mutex_lock(&pool->lock);
	ret = share(pool, constant, &new);
	pthread_mutex_unlock(&pool->lock);
	return ret;
}

void run_pool_leave(struct run_pool *pool, const void *user)
{
	size_t kept = 0;

	pthread_mutex_lock(&pool->lock);
	for (size_t i = 0; i < pool->count; i++)
		if (pool->constants[i].user != user)
			pool->constants[kept++] = pool->constants[i];
	pool->count = kept;
	pthread_mutex_unlock(&pool->lock);
}
