// SPDX-License-Identifier: MIT
/*
 * The library's memory: from the application's allocator (the hook) or from the C library. Blocks
 * of a hook, and blocks of wnn_aligned_calloc() with at least LARGE bytes, have a header before
 * them and an entry in a table, by which wnn_free() and others find the header. As long as there is
 * no such block, no function searches the table.
 */
#include "util/malloc.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "util/alloc.h"
#include "util/memory.h"

/* least bytes of a cleared block for which pages of the kernel, which are 0, are worthwhile */
#define LARGE	   ((size_t)1 << 20)
#define LARGE_PAGE ((size_t)2 << 20)
#define SOME_PAGES ((size_t)64 << 10) /* least bytes for which a system call is worthwhile */
#define BUCKETS	   4096
#define LOCKS	   64
#define HEAD_SIZE  ((size_t)64)

struct head {
	struct head *next;
	char *block; /* the address that the caller has */
	void *base;  /* the address that the hook or the C library returned */
	size_t size;
	/* A copy: the block may outlive the instance to which this allocator belongs. */
	struct wnn_allocator allocator;
};

_Static_assert(sizeof(struct head) <= HEAD_SIZE, "the head of a block is too big");

static struct head *buckets[BUCKETS];
static pthread_mutex_t locks[LOCKS] = { [0 ... LOCKS - 1] = PTHREAD_MUTEX_INITIALIZER };
static atomic_size_t blocks;

static _Thread_local struct wnn_allocator current;

void wnn_allocator_use(const struct wnn_allocator *allocator)
{
	static const struct wnn_allocator none;

	current = allocator ? *allocator : none;
}

struct wnn_allocator wnn_allocator_current(void)
{
	return current;
}

/* --- Blocks of a hook --- */

static size_t bucket_of(const void *block)
{
	return (size_t)(((uintptr_t)block >> 4) * UINT64_C(0x9e3779b97f4a7c15) >> 40) % BUCKETS;
}

/* Writes a header before its block, and adds it to the table; returns the block. */
static void *remember(const struct head *block)
{
	struct head *head = (struct head *)(void *)(block->block - HEAD_SIZE);
	size_t bucket = bucket_of(block->block);

	*head = *block;
	pthread_mutex_lock(&locks[bucket % LOCKS]);
	head->next = buckets[bucket];
	buckets[bucket] = head;
	pthread_mutex_unlock(&locks[bucket % LOCKS]);
	atomic_fetch_add(&blocks, 1);
	return head->block;
}

static void *hook_allocate(size_t alignment, size_t size)
{
	size_t before = alignment > HEAD_SIZE ? alignment : HEAD_SIZE;
	char *base;

	if (alignment < _Alignof(max_align_t))
		alignment = _Alignof(max_align_t);
	if (size > SIZE_MAX / 2 - before)
		return NULL;
	base = current.allocate(before + size, alignment, current.userdata1, current.userdata2);
	if (!base)
		return NULL;
	if ((uintptr_t)base % alignment) {
		/* Memory without the required alignment cannot be used. */
		current.deallocate(base, current.userdata1, current.userdata2);
		return NULL;
	}
	return remember(&(struct head){ NULL, base + before, base, size, current });
}

/*
 * Returns the header of a block; NULL when it has none. With @take it also removes the block from
 * the table.
 */
static struct head *find(const void *block, bool take)
{
	size_t bucket = bucket_of(block);
	struct head **link, *head;

	if (!atomic_load(&blocks))
		return NULL;
	pthread_mutex_lock(&locks[bucket % LOCKS]);
	for (link = &buckets[bucket]; *link && (*link)->block != block; link = &(*link)->next)
		;
	head = *link;
	if (head && take)
		*link = head->next;
	pthread_mutex_unlock(&locks[bucket % LOCKS]);
	return head;
}

static void hook_free(struct head *head)
{
	struct wnn_allocator allocator = head->allocator;

	atomic_fetch_sub(&blocks, 1);
	allocator.deallocate(head->base, allocator.userdata1, allocator.userdata2);
}

/* --- Functions for the library --- */

/* Whether the machine has memory for a block of the C library; checked for large blocks only. */
static bool fits(size_t size)
{
	return size < WNN_MEMORY_LARGE || wnn_memory_fits(size, NULL);
}

/*
 * Calls madvise() for the pages that lie wholly in a block (`inside`), or for all pages that it
 * touches.
 */
static void advise(const void *memory, size_t size, bool inside, int advice)
{
	uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE), up = page - 1;
	uintptr_t begin = (uintptr_t)memory + (inside ? up : 0);
	uintptr_t end = (uintptr_t)memory + size + (inside ? 0 : up);
	int before = errno;

	begin -= begin % page;
	end -= end % page;
	/* A kernel that does not know the advice refuses it, which does no harm. */
	if (begin < end)
		madvise((void *)begin, end - begin, advice);
	errno = before;
}

/*
 * Advises the kernel to use large pages for a large block: every fresh page costs a fault when it
 * is first touched, and the faults for the weights of a network take a third of the time of a
 * build. Only whole mappings are advised, since realloc() can move only those. Returns the block.
 */
static void *in_large_pages(void *memory, size_t size)
{
#ifdef MADV_HUGEPAGE
	if (memory && size >= LARGE_PAGE)
		advise(memory, size, false, MADV_HUGEPAGE);
#else
	(void)size;
#endif
	return memory;
}

/*
 * Returns the alignment of a block: a block of at least LARGE_PAGE bytes begins at a large page, so
 * that it contains as many large pages as possible.
 */
static size_t alignment_of(size_t alignment, size_t size)
{
	return size >= LARGE_PAGE && alignment < LARGE_PAGE ? LARGE_PAGE : alignment;
}

void *wnn_malloc(size_t size)
{
	if (current.allocate)
		return hook_allocate(1, size);
	return fits(size) ? in_large_pages(malloc(size), size) : NULL;
}

void *wnn_calloc(size_t count, size_t size)
{
	void *memory;

	if (size && count > SIZE_MAX / size)
		return NULL;
	if (!current.allocate)
		return fits(count * size) ? calloc(count, size) : NULL;
	memory = hook_allocate(1, count * size);
	return memory ? memset(memory, 0, count * size) : NULL;
}

void wnn_free(void *memory)
{
	struct head *head = memory ? find(memory, true) : NULL;

	if (head)
		hook_free(head);
	else
		free(memory);
}

void wnn_free_pages(void *memory, size_t size)
{
	/* A block of a hook has words of its allocator before it, whose page must stay. */
	if (size >= SOME_PAGES && !find(memory, false))
		advise(memory, size, true, MADV_DONTNEED);
	wnn_free(memory);
}

void *wnn_realloc(void *memory, size_t size)
{
	struct head *head = memory ? find(memory, false) : NULL;
	void *other;

	if (!head && (memory || !current.allocate))
		return fits(size) ? in_large_pages(realloc(memory, size), size) : NULL;
	other = wnn_malloc(size);
	if (!other || !head)
		return other;
	memcpy(other, memory, head->size < size ? head->size : size);
	wnn_free(memory);
	return other;
}

void *wnn_reallocarray(void *memory, size_t count, size_t size)
{
	if (size && count > SIZE_MAX / size)
		return NULL;
	return wnn_realloc(memory, count * size);
}

void *wnn_aligned_alloc(size_t alignment, size_t size)
{
	void *memory;

	if (current.allocate)
		return hook_allocate(alignment, size);
	/* Unlike aligned_alloc(), this takes sizes that are no multiples of the alignment. */
	if (!fits(size) || posix_memalign(&memory, alignment_of(alignment, size), size))
		return NULL;
	return in_large_pages(memory, size);
}

static void free_base(void *base, void *userdata1, void *userdata2)
{
	(void)userdata1;
	(void)userdata2;
	free(base);
}

/*
 * Returns a large aligned block in memory of calloc(), which has fresh pages. As calloc() does not
 * align, the block gets a header, like the blocks of a hook. NULL when out of memory.
 */
static void *large_calloc(size_t least, size_t size)
{
	size_t alignment = alignment_of(least, size), before = alignment + HEAD_SIZE;
	char *base = size < SIZE_MAX - before && fits(size) ? calloc(1, before + size) : NULL;
	char *block;

	if (!base)
		return NULL;
	in_large_pages(base, before + size);
	block = base + HEAD_SIZE;
	block += (alignment - (uintptr_t)block % alignment) % alignment;
	return remember(&(struct head){
		.block = block, .base = base, .size = size, .allocator.deallocate = free_base });
}

/* --- Memory that is filled from begin to end --- */

void wnn_filling_begin(struct wnn_filling *filling, void *memory, size_t size)
{
	const struct head *head = find(memory, false);

	/*
	 * Page sizes are chosen only for blocks of large_calloc(): advice for a slice of a mapping
	 * splits the mapping, and kernel drivers that count pages from the begin of a mapping would
	 * then write to the wrong pages.
	 */
	*filling = (struct wnn_filling){
		.next = memory,
		.end = (char *)memory + size,
		.choose = head && head->allocator.deallocate == free_base,
		.small_left = 1,
		.patience = 2,
	};
}

/* Makes the kernel map the pages up to `end`; returns how many nanoseconds that took. */
static uint64_t fetch(struct wnn_filling *filling, char *end)
{
	struct timespec before, after;

	clock_gettime(CLOCK_MONOTONIC, &before);
#ifdef MADV_POPULATE_WRITE
	advise(filling->next, (size_t)(end - filling->next), false, MADV_POPULATE_WRITE);
#endif
	clock_gettime(CLOCK_MONOTONIC, &after);
	filling->next = end;
	return (uint64_t)((after.tv_sec - before.tv_sec) * INT64_C(1000000000) + after.tv_nsec -
			  before.tv_nsec);
}

static void want_small(char *begin, char *end)
{
#ifdef MADV_NOHUGEPAGE
	advise(begin, (size_t)(end - begin), true, MADV_NOHUGEPAGE);
#else
	(void)begin;
	(void)end;
#endif
}

/* Maps the next bytes, as many as a large page has, with small pages or with a large page. */
static void fetch_large(struct wnn_filling *filling)
{
	char *end = filling->next + LARGE_PAGE;

	if (filling->small_left) {
		filling->small_left--;
		want_small(filling->next, end);
		filling->small_ns = fetch(filling, end);
	} else if (fetch(filling, end) > filling->small_ns) {
		/*
		 * Another process may have caused the delay, so large pages are tried again, but
		 * less and less often.
		 */
		filling->small_left = filling->patience *= 2;
	}
}

void wnn_filling_reach(struct wnn_filling *filling, const void *end)
{
	char *to = filling->next + ((const char *)end - filling->next);

	if (to > filling->end)
		to = filling->end;
	while (filling->choose && filling->next < to) {
		size_t before = (size_t)(-(uintptr_t)filling->next % LARGE_PAGE);

		if ((size_t)(filling->end - filling->next) < before + LARGE_PAGE)
			filling->choose = false;
		else if (before)
			fetch(filling, filling->next + before);
		else
			fetch_large(filling);
	}
	if (to - filling->next >= (ptrdiff_t)SOME_PAGES)
		fetch(filling, to);
}

void *wnn_aligned_calloc(size_t alignment, size_t size)
{
	void *memory;

	if (!current.allocate && size >= LARGE)
		return large_calloc(alignment, size);
	memory = wnn_aligned_alloc(alignment, size);
	return memory ? memset(memory, 0, size) : NULL;
}

int wnn_posix_memalign(void **memory, size_t alignment, size_t size)
{
	if (!current.allocate)
		return fits(size) ? posix_memalign(memory, alignment, size) : ENOMEM;
	*memory = hook_allocate(alignment, size);
	return *memory ? 0 : ENOMEM;
}

char *wnn_strndup(const char *text, size_t size)
{
	size_t length = strnlen(text, size);
	char *copy = wnn_malloc(length + 1);

	if (!copy)
		return NULL;
	memcpy(copy, text, length);
	copy[length] = '\0';
	return copy;
}

char *wnn_strdup(const char *text)
{
	size_t size = strlen(text) + 1;
	char *copy = wnn_malloc(size);

	return copy ? memcpy(copy, text, size) : NULL;
}
