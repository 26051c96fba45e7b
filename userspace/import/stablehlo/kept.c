// SPDX-License-Identifier: MIT
/*
 * Keeps graphs of programs between runs, in one list for the process: JAX runs some programs again
 * and again, but its cache holds hundreds that do not run again.
 */
#include "kept.h"

#include <pthread.h>

#define MOST_KEPT 256
/* bytes of all tensors, constants and unrolled modules; the newest program may have more */
#define MOST_BYTES ((size_t)512 << 20)

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static struct shlo_kept *newest;
static uint64_t made;

static void hold(void)
{
	pthread_mutex_lock(&lock);
}

static void let_go(void)
{
	pthread_mutex_unlock(&lock);
}

/*
 * Has fork() take the lock of the list before and release it afterwards, so that a child can
 * release programs, even if another thread of its parent was using the list.
 */
static void watch_fork(void)
{
	pthread_atfork(hold, let_go, let_go);
}

static bool is_for(const struct shlo_kept *kept, const struct shlo_kept_key *key)
{
	return kept->key.owner == key->owner && kept->key.module == key->module &&
	       kept->key.context == key->context && kept->key.loop_limit == key->loop_limit &&
	       kept->key.unroll_limit == key->unroll_limit;
}

static struct shlo_kept *kept_new(const struct shlo_kept_key *key)
{
	struct shlo_kept *kept = import_alloc(sizeof(*kept));

	if (!kept)
		return NULL;
	kept->key = *key;
	kept->device = shlo_device_create(key->context);
	if (!kept->device) {
		import_free(kept);
		return NULL;
	}
	wnnContextAddRef(key->context);
	pthread_once(&once, watch_fork);
	pthread_mutex_lock(&lock);
	kept->serial = ++made;
	pthread_mutex_unlock(&lock);
	return kept;
}

struct shlo_kept *shlo_kept_take(const struct shlo_kept_key *key)
{
	struct shlo_kept **link = &newest, *found;

	pthread_mutex_lock(&lock);
	while (*link && !is_for(*link, key))
		link = &(*link)->next;
	found = *link;
	if (found)
		*link = found->next;
	pthread_mutex_unlock(&lock);
	return found ? found : kept_new(key);
}

static void free_list(struct shlo_kept *list)
{
	while (list) {
		struct shlo_kept *next = list->next;

		shlo_kept_free(list);
		list = next;
	}
}

void shlo_kept_give(struct shlo_kept *kept)
{
	size_t count = 0, bytes = 0;
	struct shlo_kept *old = NULL;

	kept->bytes = shlo_device_bytes(kept->device) + import_chunks_bytes(kept->arena.chunks);
	pthread_mutex_lock(&lock);
	kept->next = newest;
	newest = kept;
	for (struct shlo_kept **link = &newest; *link; link = &(*link)->next) {
		bytes += (*link)->bytes;
		if (count++ && (count > MOST_KEPT || bytes > MOST_BYTES)) {
			old = *link;
			*link = NULL;
			break;
		}
	}
	pthread_mutex_unlock(&lock);
	free_list(old);
}

void shlo_kept_free(struct shlo_kept *kept)
{
	if (!kept)
		return;
	shlo_device_destroy(kept->device);
	wnnContextRelease(kept->key.context);
	shlo_arena_exit(&kept->arena);
	import_free(kept);
}

bool shlo_kept_drop(const void *owner)
{
	struct shlo_kept *dropped = NULL;
	bool any;

	pthread_mutex_lock(&lock);
	for (struct shlo_kept **link = &newest; *link;) {
		struct shlo_kept *kept = *link;

		if (owner && kept->key.owner != owner) {
			link = &kept->next;
			continue;
		}
		*link = kept->next;
		kept->next = dropped;
		dropped = kept;
	}
	pthread_mutex_unlock(&lock);
	any = dropped;
	free_list(dropped);
	return any;
}
