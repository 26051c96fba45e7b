// SPDX-License-Identifier: MIT
/*
 * Reads from /proc and from control groups how much memory is left, without allocating any.
 * wnn_malloc() and the API check it before large requests.
 */
#include "util/memory.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/*
 * 1 / SPARED of all memory is left to other processes: the kernel's figures are estimates, and the
 * system needs some memory, too.
 */
#define SPARED 32

#define FILE_BYTES 8192
#define PATH_BYTES 1024

static _Atomic uint64_t held, held_when_looked;

/* Reads the beginning of a file as text; false when it cannot be read or is empty. */
static bool read_text(const char *folder, const char *path, const char *name, char text[FILE_BYTES])
{
	char whole[2 * PATH_BYTES];
	ssize_t n, size = 0;
	int fd;

	if (snprintf(whole, sizeof(whole), "%s%s/%s", folder, path, name) >= (int)sizeof(whole))
		return false;
	fd = open(whole, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return false;
	do {
		n = read(fd, text + size, (size_t)(FILE_BYTES - 1 - size));
		size += n > 0 ? n : 0;
	} while (n > 0 || (n < 0 && errno == EINTR));
	close(fd);
	text[size] = '\0';
	return size;
}

/* Returns the number in the line that begins with `name`; 0 when there is no such line. */
static uint64_t number_of(const char *text, const char *name)
{
	size_t length = strlen(name);

	for (const char *line = text; line && *line; line = strchr(line, '\n')) {
		line += *line == '\n';
		if (!strncmp(line, name, length))
			return strtoull(line + length, NULL, 10);
	}
	return 0;
}

static uint64_t difference(uint64_t a, uint64_t b)
{
	return a > b ? a - b : 0;
}

/*
 * Returns how many more bytes a control group may allocate; UINT64_MAX when it has no limit ("max")
 * or cannot be read. Its cache of files counts as free, because the kernel gives that up first.
 */
static uint64_t left_in_group(const char *cgroup, const char *path, const char *limit,
			      const char *usage, const char *cache)
{
	char text[FILE_BYTES];
	uint64_t most, used;

	if (!read_text(cgroup, path, limit, text) || !strncmp(text, "max", 3))
		return UINT64_MAX;
	most = strtoull(text, NULL, 10);
	if (most >= INT64_MAX / 2 || !read_text(cgroup, path, usage, text))
		return UINT64_MAX;
	used = strtoull(text, NULL, 10);
	if (read_text(cgroup, path, "memory.stat", text))
		used = difference(used, number_of(text, cache));
	return difference(most - most / SPARED, used);
}

/*
 * Returns the least left_in_group() of a group and of all groups that contain it; cuts @path down
 * to "". @old: version 1 of the control groups
 */
static uint64_t left_in_groups(const char *cgroup, char *path, bool old)
{
	uint64_t least = UINT64_MAX;
	size_t length = strlen(path);

	while (length && path[length - 1] == '/')
		path[--length] = '\0';
	for (;;) {
		uint64_t left = old ? left_in_group(cgroup, path, "memory.limit_in_bytes",
						    "memory.usage_in_bytes",
						    "total_inactive_file ") :
				      left_in_group(cgroup, path, "memory.max", "memory.current",
						    "inactive_file ");
		char *slash = strrchr(path, '/');

		least = left < least ? left : least;
		if (!slash)
			return least;
		*slash = '\0';
	}
}

/* Returns true when a list of controllers, such as "cpu,memory", has a name; "" has the name "". */
static bool has_controller(const char *list, size_t length, const char *name)
{
	size_t size = strlen(name), at = 0;

	while (at <= length) {
		size_t item = 0;

		while (at + item < length && list[at + item] != ',')
			item++;
		if (item == size && !memcmp(list + at, name, size))
			return true;
		at += item + 1;
	}
	return false;
}

/*
 * Copies the path of the group that has a controller; version 2 of the control groups has the one
 * group "". Each line of @text is NUMBER:CONTROLLERS:PATH. Returns false when no line has it.
 */
static bool group_of(const char *text, const char *controller, char path[PATH_BYTES])
{
	while (*text) {
		size_t length = strcspn(text, "\n");
		const char *list = memchr(text, ':', length), *end = text + length;
		const char *at = list ? memchr(list + 1, ':', (size_t)(end - list - 1)) : NULL;

		if (at && has_controller(list + 1, (size_t)(at - list - 1), controller) &&
		    end - at <= PATH_BYTES) {
			memcpy(path, at + 1, (size_t)(end - at - 1));
			path[end - at - 1] = '\0';
			return true;
		}
		text = *end ? end + 1 : end;
	}
	return false;
}

static uint64_t limit_of_groups(const char *proc, const char *cgroup)
{
	char text[FILE_BYTES], path[PATH_BYTES], folder[PATH_BYTES];
	uint64_t least = UINT64_MAX, left;

	if (!read_text(proc, "/self", "cgroup", text))
		return UINT64_MAX;
	if (group_of(text, "", path))
		least = left_in_groups(cgroup, path, false);
	/* Version 1 of the control groups has a folder for each controller. */
	if (group_of(text, "memory", path) &&
	    snprintf(folder, sizeof(folder), "%s/memory", cgroup) < (int)sizeof(folder)) {
		left = left_in_groups(folder, path, true);
		least = left < least ? left : least;
	}
	return least;
}

uint64_t wnn_memory_available(const char *proc, const char *cgroup)
{
	uint64_t groups = limit_of_groups(proc, cgroup), machine;
	char text[FILE_BYTES];

	if (!read_text(proc, "", "meminfo", text) || !strstr(text, "MemAvailable:"))
		return groups;
	machine = difference(number_of(text, "MemAvailable:") + number_of(text, "SwapFree:"),
			     number_of(text, "MemTotal:") / SPARED)
		  << 10;
	return machine < groups ? machine : groups;
}

/* Returns how many bytes of the process's memory are resident and belong to no file. */
static uint64_t resident(void)
{
	unsigned long long all, pages, shared;
	char text[FILE_BYTES];

	if (!read_text("/proc", "/self", "statm", text) ||
	    sscanf(text, "%llu %llu %llu", &all, &pages, &shared) != 3)
		return 0;
	return difference(pages, shared) * (uint64_t)sysconf(_SC_PAGESIZE);
}

bool wnn_memory_fits(size_t size, uint64_t *left)
{
	uint64_t all = atomic_load(&held), before = atomic_load(&held_when_looked), there;

	if (size < WNN_MEMORY_LARGE && difference(all + size, before) < WNN_MEMORY_LARGE)
		return true;
	/*
	 * Memory that is held but was not touched yet will be needed, too. Memory that the process
	 * has touched counts as held, since nothing tells which part of it is held.
	 */
	there = difference(wnn_memory_available("/proc", "/sys/fs/cgroup"),
			   difference(all, resident()));
	if (left)
		*left = there;
	if (size > there)
		return false;
	atomic_store(&held_when_looked, all);
	return true;
}

void wnn_memory_hold(size_t size)
{
	atomic_fetch_add(&held, size);
}

void wnn_memory_unhold(size_t size)
{
	uint64_t now = atomic_fetch_sub(&held, size) - size;
	uint64_t before = atomic_load(&held_when_looked);

	/*
	 * When memory is given back, the bytes that the last check counted shrink with it: taking
	 * as much again needs a new check.
	 */
	while (before > now && !atomic_compare_exchange_weak(&held_when_looked, &before, now))
		;
}
