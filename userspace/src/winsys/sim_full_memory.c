// SPDX-License-Identifier: MIT
/*
 * The memory of full mode: an area that is allocated in pages, and the page tables of the only
 * address space. Page tables are freed only at the end, as later mappings can use them again.
 */
#include "winsys/sim_full.h"

#include <string.h>
#include <sys/mman.h>

#include "util/array.h"
#include "util/malloc.h"
#include "util/number.h"

#define BUS_FIRST  (UINT64_C(1) << 32)
#define VA_END	   (UINT64_C(1) << ONPU_VA_BITS)
#define MAX_MEMORY (UINT64_C(64) << 30)
#define MIN_MEMORY (UINT64_C(256) << 20)

#define LEAF (ONPU_PTE_V | ONPU_PTE_R | ONPU_PTE_W | ONPU_PTE_A | ONPU_PTE_D)

/* ---- ranges */

/*
 * Finds the first gap of @size bytes at or after @from: sets *start to its address, and *index to
 * the position in the list at which the new range belongs. Returns false when there is none.
 */
static bool find_gap(const struct ranges *r, uint64_t from, uint64_t size, uint64_t align,
		     uint64_t *start, size_t *index)
{
	uint64_t at = wnn_align_up(from, align);

	for (size_t i = 0; i < r->count; i++) {
		if (r->used[i].start + r->used[i].size <= at)
			continue;
		if (at + size <= r->used[i].start) {
			*index = i;
			*start = at;
			return true;
		}
		at = wnn_align_up(r->used[i].start + r->used[i].size, align);
	}
	*index = r->count;
	*start = at;
	return at + size <= r->end;
}

/* Allocates a range; returns its start, or 0 when there is no room, or no memory for the list. */
static uint64_t ranges_alloc(struct ranges *r, uint64_t size, uint64_t align)
{
	uint64_t start;
	size_t index;

	if (!size || size > r->end - r->first ||
	    wnn_array_reserve(&r->used, &r->room, r->count + 1, sizeof(*r->used)))
		return 0;
	if (!find_gap(r, r->next, size, align, &start, &index) &&
	    !find_gap(r, r->first, size, align, &start, &index))
		return 0;
	memmove(r->used + index + 1, r->used + index, (r->count - index) * sizeof(*r->used));
	r->used[index] = (struct range){ start, size };
	r->count++;
	r->next = start + size;
	return start;
}

static void ranges_free(struct ranges *r, uint64_t start)
{
	for (size_t i = 0; i < r->count; i++) {
		if (r->used[i].start != start)
			continue;
		memmove(r->used + i, r->used + i + 1, (r->count - i - 1) * sizeof(*r->used));
		r->count--;
		return;
	}
}

/* ---- the bus */

int full_memory_init(struct full_memory *m, struct wnn_error *err)
{
	memset(m, 0, sizeof(*m));
	pthread_mutex_init(&m->lock, NULL);
	for (m->size = MAX_MEMORY; m->size >= MIN_MEMORY; m->size /= 4) {
		m->base = mmap(NULL, m->size, PROT_READ | PROT_WRITE,
			       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
		if (m->base != MAP_FAILED)
			break;
		m->base = NULL;
	}
	if (!m->base)
		return wnn_error_set(
			err, WNN_UNKNOWN_ERROR,
			"the device sim in full mode needs %d MiB of addresses, which this process "
			"does not get: raise the limit (ulimit -v), end other programs, or do "
			"without full mode",
			(int)(MIN_MEMORY >> 20));
	m->bus = (struct ranges){
		.first = BUS_FIRST,
		.next = BUS_FIRST,
		.end = BUS_FIRST + m->size,
	};
	m->user = (struct ranges){ .first = WINSYS_VA_FIRST,
				   .next = WINSYS_VA_FIRST,
				   .end = WINSYS_VA_END };
	m->kernel = (struct ranges){ .first = WINSYS_VA_END, .next = WINSYS_VA_END, .end = VA_END };
	m->root = full_memory_alloc(m, ONPU_PAGE_SIZE);
	return m->root ? 0 : wnn_error_nomem(err, "a page table");
}

void full_memory_destroy(struct full_memory *m)
{
	if (m->base)
		munmap(m->base, m->size);
	wnn_free(m->bus.used);
	wnn_free(m->user.used);
	wnn_free(m->kernel.used);
	pthread_mutex_destroy(&m->lock);
}

void *full_memory_at(const struct full_memory *m, uint64_t bus)
{
	return m->base + (bus - BUS_FIRST);
}

static bool on_bus(const struct full_memory *m, uint64_t addr, size_t len)
{
	return addr >= BUS_FIRST && addr - BUS_FIRST <= m->size &&
	       len <= m->size - (addr - BUS_FIRST);
}

int full_memory_read(void *ctx, uint64_t addr, void *dst, size_t len)
{
	struct full_memory *m = ctx;

	if (!on_bus(m, addr, len))
		return -1;
	memcpy(dst, full_memory_at(m, addr), len);
	return 0;
}

int full_memory_write(void *ctx, uint64_t addr, const void *src, size_t len)
{
	struct full_memory *m = ctx;

	if (!on_bus(m, addr, len))
		return -1;
	memcpy(full_memory_at(m, addr), src, len);
	return 0;
}

static uint64_t alignment(size_t size)
{
	return size >= ONPU_LARGE_PAGE_SIZE ? ONPU_LARGE_PAGE_SIZE : ONPU_PAGE_SIZE;
}

static uint64_t bus_alloc(struct full_memory *m, size_t size)
{
	return ranges_alloc(&m->bus, wnn_align_up(size, ONPU_PAGE_SIZE), alignment(size));
}

uint64_t full_memory_alloc(struct full_memory *m, size_t size)
{
	uint64_t bus;

	pthread_mutex_lock(&m->lock);
	bus = bus_alloc(m, size);
	pthread_mutex_unlock(&m->lock);
	return bus;
}

/* Frees memory; the system takes its pages, and gives zeroed ones when it is allocated again. */
void full_memory_free(struct full_memory *m, uint64_t bus, size_t size)
{
	madvise(full_memory_at(m, bus), wnn_align_up(size, ONPU_PAGE_SIZE), MADV_DONTNEED);
	pthread_mutex_lock(&m->lock);
	ranges_free(&m->bus, bus);
	pthread_mutex_unlock(&m->lock);
}

/* ---- page tables */

static uint64_t pte_of(uint64_t bus, uint64_t flags)
{
	return bus / ONPU_PAGE_SIZE << ONPU_PTE_PPN_SHIFT | flags;
}

static uint64_t *entry_in(const struct full_memory *m, uint64_t table, uint64_t va,
			  unsigned int level)
{
	uint64_t index = va >> (ONPU_PAGE_SHIFT + ONPU_PTE_INDEX_BITS * level);

	return (uint64_t *)full_memory_at(m, table) + index % (1u << ONPU_PTE_INDEX_BITS);
}

/* Returns the bus address of the table that an entry points to, made if need be; 0: no memory. */
static uint64_t table_below(struct full_memory *m, uint64_t *entry)
{
	uint64_t table;

	if (*entry & ONPU_PTE_V)
		return (*entry >> ONPU_PTE_PPN_SHIFT) * ONPU_PAGE_SIZE;
	table = bus_alloc(m, ONPU_PAGE_SIZE);
	if (table)
		__atomic_store_n(entry, pte_of(table, ONPU_PTE_V), __ATOMIC_RELEASE);
	return table;
}

/*
 * Returns the page table entry of @va, after adding the tables above it; NULL: no memory. *large
 * asks for the entry of a large page; it becomes false when there is a table of small ones.
 */
static uint64_t *make_entry(struct full_memory *m, uint64_t va, bool *large)
{
	uint64_t table = table_below(m, entry_in(m, m->root, va, 2));
	uint64_t *entry;

	if (!table)
		return NULL;
	entry = entry_in(m, table, va, 1);
	if (*large && !(*entry & ONPU_PTE_V))
		return entry;
	*large = false;
	table = table_below(m, entry);
	return table ? entry_in(m, table, va, 0) : NULL;
}

static size_t map_one(struct full_memory *m, const struct full_map *map, size_t done, bool user)
{
	bool large = !((map->va + done) % ONPU_LARGE_PAGE_SIZE) &&
		     !((map->bus + done) % ONPU_LARGE_PAGE_SIZE) &&
		     map->size - done >= ONPU_LARGE_PAGE_SIZE;
	uint64_t *entry = make_entry(m, map->va + done, &large);

	if (!entry)
		return 0;
	__atomic_store_n(entry, pte_of(map->bus + done, LEAF | (user ? ONPU_PTE_U : 0)),
			 __ATOMIC_RELEASE);
	return large ? ONPU_LARGE_PAGE_SIZE : ONPU_PAGE_SIZE;
}

static void unmap(struct full_memory *m, const struct full_map *map, size_t size)
{
	for (size_t done = 0; done < size;) {
		uint64_t *entry = entry_in(m, m->root, map->va + done, 2);

		entry = entry_in(m, table_below(m, entry), map->va + done, 1);
		if (*entry & ONPU_PTE_R) {
			done += ONPU_LARGE_PAGE_SIZE;
		} else {
			entry = entry_in(m, table_below(m, entry), map->va + done, 0);
			done += ONPU_PAGE_SIZE;
		}
		__atomic_store_n(entry, 0, __ATOMIC_RELEASE);
	}
}

int full_map_create(struct full_memory *m, struct full_map *map, size_t size, bool user)
{
	struct ranges *virt = user ? &m->user : &m->kernel;
	size_t done = 0, step = 1;

	*map = (struct full_map){ .size = wnn_align_up(size, ONPU_PAGE_SIZE) };
	pthread_mutex_lock(&m->lock);
	map->bus = bus_alloc(m, size);
	/* One page after the buffer is never mapped, so that accesses beyond the buffer fault. */
	map->va = ranges_alloc(virt, map->size + ONPU_PAGE_SIZE, alignment(size));
	while (map->bus && map->va && step && done < map->size) {
		step = map_one(m, map, done, user);
		done += step;
	}
	if (!map->bus || !map->va || !step) {
		unmap(m, map, done);
		if (map->bus)
			ranges_free(&m->bus, map->bus);
		if (map->va)
			ranges_free(virt, map->va);
		pthread_mutex_unlock(&m->lock);
		return -1;
	}
	pthread_mutex_unlock(&m->lock);
	map->map = full_memory_at(m, map->bus);
	return 0;
}

void full_map_clear(struct full_memory *m, const struct full_map *map)
{
	pthread_mutex_lock(&m->lock);
	unmap(m, map, map->size);
	pthread_mutex_unlock(&m->lock);
}

void full_map_free(struct full_memory *m, const struct full_map *map, bool user)
{
	full_memory_free(m, map->bus, map->size);
	pthread_mutex_lock(&m->lock);
	ranges_free(user ? &m->user : &m->kernel, map->va);
	pthread_mutex_unlock(&m->lock);
}

int full_map_file(const struct full_map *map, int fd, bool read_only)
{
	int protection = read_only ? PROT_READ : PROT_READ | PROT_WRITE;

	return mmap(map->map, map->size, protection, MAP_SHARED | MAP_FIXED, fd, 0) == MAP_FAILED ?
		       -1 :
		       0;
}

int full_map_own(const struct full_map *map)
{
	return mmap(map->map, map->size, PROT_READ | PROT_WRITE,
		    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0) == MAP_FAILED ?
		       -1 :
		       0;
}
