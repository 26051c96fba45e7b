// SPDX-License-Identifier: MIT
/* Checks that address space is available, by mapping it for a moment; finds files of libraries. */
#include "cpu/room.h"

#include <dlfcn.h>
#include <link.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/resource.h>

bool cpu_has_room(uint64_t bytes, uint64_t *limit)
{
	struct rlimit now;
	void *room;

	if (getrlimit(RLIMIT_AS, &now) || now.rlim_cur == RLIM_INFINITY)
		return true;
	*limit = now.rlim_cur;
	room = mmap(NULL, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (room == MAP_FAILED)
		return false;
	munmap(room, bytes);
	return true;
}

const char *cpu_library_file(void *handle, const char *name)
{
	const struct link_map *map = NULL;

	return !dlinfo(handle, RTLD_DI_LINKMAP, &map) && map && *map->l_name ? map->l_name : name;
}
