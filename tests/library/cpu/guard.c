// SPDX-License-Identifier: MIT
#define _GNU_SOURCE
#include "guard.h"

#include <sys/mman.h>
#include <unistd.h>

#include "rig.h"

struct guard guard_make(size_t n, bool low)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	size_t bytes = (n * sizeof(float) + page - 1) / page * page;
	struct guard g = { .size = bytes + 2 * page };
	char *inside;

	g.pages = mmap(NULL, g.size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	assert_true(g.pages != MAP_FAILED);
	inside = (char *)g.pages + page;
	assert_int_equal(mprotect(inside, bytes, PROT_READ | PROT_WRITE), 0);
	g.data = (float *)(low ? inside : inside + bytes - n * sizeof(float));
	for (size_t i = 0; i < n; i++)
		g.data[i] = (float)random_below(2001) / 1000 - 1;
	return g;
}

void guard_free(struct guard *guard)
{
	munmap(guard->pages, guard->size);
}
