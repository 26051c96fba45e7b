// SPDX-License-Identifier: MIT
/*
 * The client's memory. The client may change it at any time, so the device copies everything once
 * and only checks the copy. An aligned word of 4 or 8 bytes is copied by one ordered access,
 * because one side reads page table entries, ring indices and completions while the other writes
 * them.
 */
#define _GNU_SOURCE
#include "vfu/dma.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/vfs.h>

#include "vfu/protocol.h"

/* Page size of the client; mappings consist of whole pages. */
#define GRANULE UINT64_C(4096)

/* The range that this thread accesses, and whether its memory has vanished meanwhile. */
static _Thread_local const struct vfu_map *volatile accessed;
static _Thread_local volatile sig_atomic_t vanished;

/*
 * The kernel raises SIGBUS when a file is shorter than its mapping, because the client has made it
 * so, or when there is no huge page left to fill a hole. Other memory takes the place of the whole
 * range, so that the access comes to its end, and transfer() makes a bus error of it.
 */
static void on_sigbus(int number, siginfo_t *info, void *context)
{
	const struct vfu_map *map = accessed;
	uintptr_t offset = map ? (uintptr_t)info->si_addr - (uintptr_t)map->mapping : 0;
	int error = errno;

	(void)context;
	if (map && offset < map->mapping_size &&
	    mmap(map->mapping, map->mapping_size, PROT_READ | PROT_WRITE,
		 MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED | MAP_NORESERVE, -1, 0) != MAP_FAILED)
		vanished = true;
	else
		signal(number, SIG_DFL);
	errno = error;
}

void vfu_dma_handle_sigbus(void)
{
	struct sigaction action = { .sa_sigaction = on_sigbus, .sa_flags = SA_SIGINFO };

	sigemptyset(&action.sa_mask);
	sigaction(SIGBUS, &action, NULL);
}

void vfu_dma_init(struct vfu_dma *dma)
{
	vfu_dma_handle_sigbus();
	memset(dma, 0, sizeof(*dma));
	pthread_mutex_init(&dma->lock, NULL);
}

void vfu_dma_destroy(struct vfu_dma *dma)
{
	vfu_dma_clear(dma);
	free(dma->maps);
	pthread_mutex_destroy(&dma->lock);
}

/* Returns the index of the first range that holds @address or lies above; dma->count: none does. */
static unsigned int find(const struct vfu_dma *dma, uint64_t address)
{
	unsigned int low = 0, high = dma->count;

	while (low < high) {
		unsigned int middle = low + (high - low) / 2;
		const struct vfu_map *map = &dma->maps[middle];

		if (address > map->address && address - map->address >= map->size)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static bool holds(const struct vfu_map *map, uint64_t address)
{
	return address >= map->address && address - map->address < map->size;
}

static int check_range(const struct vfu_map *range, uint64_t offset)
{
	if (!range->size || range->address % GRANULE || range->size % GRANULE || offset % GRANULE)
		return EINVAL;
	/* The end may be 2^64, as long as nothing wraps. */
	if (range->address + (range->size - 1) < range->address)
		return EINVAL;
	return range->readable || range->writable ? 0 : EINVAL;
}

/*
 * Returns whether the file is memory: only such files can have seals. An access to a file of
 * another kind, or its close(), may wait for its file system.
 */
static bool can_map(int fd)
{
	return fcntl(fd, F_GET_SEALS) >= 0;
}

/* Maps the range; a file with huge pages is mapped by whole ones. Returns 0 or an errno. */
static int map_memory(struct vfu_map *map, int fd, uint64_t offset)
{
	int prot = (map->readable ? PROT_READ : 0) | (map->writable ? PROT_WRITE : 0);
	uint64_t page = GRANULE, start, end;
	struct statfs fs;
	struct stat st;
	void *base;

	if (fstat(fd, &st) || fstatfs(fd, &fs))
		return errno;
	if (fs.f_type == HUGETLBFS_MAGIC)
		page = (uint64_t)fs.f_bsize;
	if (st.st_size < 0 || offset > (uint64_t)st.st_size ||
	    map->size > (uint64_t)st.st_size - offset)
		return EINVAL;
	start = offset / page * page;
	end = (offset + map->size + page - 1) / page * page;
	base = mmap(NULL, end - start, prot, MAP_SHARED, fd, (off_t)start);
	if (base == MAP_FAILED)
		return errno;
	map->mapping = base;
	map->mapping_size = end - start;
	map->base = map->mapping + (offset - start);
	return 0;
}

static bool make_room(struct vfu_dma *dma)
{
	unsigned int room = dma->room ? dma->room * 2 : 16;
	struct vfu_map *maps;

	if (dma->count < dma->room)
		return true;
	maps = realloc(dma->maps, room * sizeof(*maps));
	if (!maps)
		return false;
	dma->maps = maps;
	dma->room = room;
	return true;
}

static int insert(struct vfu_dma *dma, struct vfu_map *map, int fd, uint64_t offset)
{
	unsigned int at = find(dma, map->address);
	int error = 0;

	if (at < dma->count && map->address + (map->size - 1) >= dma->maps[at].address)
		return EEXIST;
	if (dma->count >= VFU_MAX_MAPS)
		return ENOSPC;
	if (!make_room(dma))
		return ENOMEM;
	if (fd >= 0)
		error = map_memory(map, fd, offset);
	if (error)
		return error;
	memmove(dma->maps + at + 1, dma->maps + at, (dma->count - at) * sizeof(*map));
	dma->maps[at] = *map;
	dma->count++;
	return 0;
}

int vfu_dma_add(struct vfu_dma *dma, const struct vfu_map *range, int fd, uint64_t offset,
		bool *backed)
{
	struct vfu_map map = *range;
	int error = check_range(range, offset);

	*backed = false;
	if (error)
		return error;
	map.base = NULL;
	if (fd >= 0 && !can_map(fd))
		fd = -1;
	pthread_mutex_lock(&dma->lock);
	error = insert(dma, &map, fd, offset);
	pthread_mutex_unlock(&dma->lock);
	*backed = !error && map.base;
	return error;
}

static void unmap(struct vfu_map *map)
{
	if (map->base)
		munmap(map->mapping, map->mapping_size);
	map->base = NULL;
}

/*
 * Returns how many ranges, from number @at on, lie within the addresses @address to @end; 0 if one
 * lies there only in part.
 */
static unsigned int count_within(const struct vfu_dma *dma, unsigned int at, uint64_t address,
				 uint64_t end)
{
	unsigned int count = 0;

	for (; at + count < dma->count && dma->maps[at + count].address <= end; count++) {
		const struct vfu_map *map = &dma->maps[at + count];

		if (map->address < address || map->address + (map->size - 1) > end)
			return 0;
	}
	return count;
}

int vfu_dma_remove(struct vfu_dma *dma, uint64_t address, uint64_t size)
{
	unsigned int at, count;

	if (!size || address + (size - 1) < address)
		return ENOENT;
	pthread_mutex_lock(&dma->lock);
	at = find(dma, address);
	count = count_within(dma, at, address, address + (size - 1));
	for (unsigned int i = at; i < at + count; i++)
		unmap(&dma->maps[i]);
	if (count) {
		dma->count -= count;
		memmove(dma->maps + at, dma->maps + at + count,
			(dma->count - at) * sizeof(dma->maps[0]));
	}
	pthread_mutex_unlock(&dma->lock);
	return count ? 0 : ENOENT;
}

void vfu_dma_clear(struct vfu_dma *dma)
{
	pthread_mutex_lock(&dma->lock);
	for (unsigned int i = 0; i < dma->count; i++)
		unmap(&dma->maps[i]);
	dma->count = 0;
	pthread_mutex_unlock(&dma->lock);
}

void vfu_dma_enable(struct vfu_dma *dma, bool enabled)
{
	pthread_mutex_lock(&dma->lock);
	dma->enabled = enabled;
	pthread_mutex_unlock(&dma->lock);
}

static bool aligned(const void *p, size_t size)
{
	return !((uintptr_t)p % size);
}

static void copy_from(void *dst, const uint8_t *at, size_t len)
{
	if (len == 8 && aligned(at, 8)) {
		uint64_t value = __atomic_load_n((const uint64_t *)at, __ATOMIC_ACQUIRE);

		memcpy(dst, &value, sizeof(value));
	} else if (len == 4 && aligned(at, 4)) {
		uint32_t value = __atomic_load_n((const uint32_t *)at, __ATOMIC_ACQUIRE);

		memcpy(dst, &value, sizeof(value));
	} else {
		memcpy(dst, at, len);
		__atomic_thread_fence(__ATOMIC_ACQUIRE);
	}
}

static void copy_to(uint8_t *at, const void *src, size_t len)
{
	if (len == 8 && aligned(at, 8)) {
		uint64_t value;

		memcpy(&value, src, sizeof(value));
		__atomic_store_n((uint64_t *)at, value, __ATOMIC_RELEASE);
	} else if (len == 4 && aligned(at, 4)) {
		uint32_t value;

		memcpy(&value, src, sizeof(value));
		__atomic_store_n((uint32_t *)at, value, __ATOMIC_RELEASE);
	} else {
		__atomic_thread_fence(__ATOMIC_RELEASE);
		memcpy(at, src, len);
	}
}

/* Returns the range at @address if it allows the access; NULL: a bus error. */
static struct vfu_map *reach(struct vfu_dma *dma, uint64_t address, bool write)
{
	struct vfu_map *map;

	if (dma->last >= dma->count || !holds(&dma->maps[dma->last], address))
		dma->last = find(dma, address);
	if (dma->last >= dma->count || !holds(&dma->maps[dma->last], address))
		return NULL;
	map = &dma->maps[dma->last];
	return map->base && (write ? map->writable : map->readable) ? map : NULL;
}

/* Reads into @dst or writes from @src, whichever is not NULL. Returns 0 or -EIO. */
static int transfer(struct vfu_dma *dma, uint64_t address, uint8_t *dst, const uint8_t *src,
		    size_t len)
{
	int ret = 0;

	pthread_mutex_lock(&dma->lock);
	while (len) {
		struct vfu_map *map = dma->enabled ? reach(dma, address, src) : NULL;
		uint64_t offset;
		size_t part;

		if (!map) {
			ret = -EIO;
			break;
		}
		accessed = map;
		__atomic_signal_fence(__ATOMIC_SEQ_CST);
		offset = address - map->address;
		part = len < map->size - offset ? len : (size_t)(map->size - offset);
		if (src) {
			copy_to(map->base + offset, src, part);
			src += part;
		} else {
			copy_from(dst, map->base + offset, part);
			dst += part;
		}
		__atomic_signal_fence(__ATOMIC_SEQ_CST);
		accessed = NULL;
		if (vanished) {
			vanished = false;
			unmap(map);
			ret = -EIO;
			break;
		}
		address += part;
		len -= part;
	}
	pthread_mutex_unlock(&dma->lock);
	return ret;
}

int vfu_dma_read(struct vfu_dma *dma, uint64_t address, void *dst, size_t len)
{
	return transfer(dma, address, dst, NULL, len);
}

int vfu_dma_write(struct vfu_dma *dma, uint64_t address, const void *src, size_t len)
{
	return transfer(dma, address, NULL, src, len);
}
