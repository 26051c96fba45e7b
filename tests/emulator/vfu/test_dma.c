// SPDX-License-Identifier: MIT
/*
 * Tests the client's memory: what may be lent, accesses over several ranges, unmapping during
 * accesses.
 */
#define _GNU_SOURCE
#include "bench.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <unistd.h>

#define PAGE  UINT64_C(4096)
#define PAGES 16

static struct vfu_dma dma;
static int memory;
static uint8_t *seen; /* the same memory, as the client has mapped it */

static int setup(void **state)
{
	(void)state;
	vfu_dma_init(&dma);
	vfu_dma_enable(&dma, true);
	memory = bench_memfd(PAGES * PAGE);
	seen = mmap(NULL, PAGES * PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, memory, 0);
	assert_true(seen != MAP_FAILED);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	vfu_dma_destroy(&dma);
	munmap(seen, PAGES * PAGE);
	close(memory);
	return 0;
}

static int add_as(uint64_t address, uint64_t size, int fd, uint64_t offset, bool readable,
		  bool writable)
{
	const struct vfu_map range = {
		.address = address,
		.size = size,
		.readable = readable,
		.writable = writable,
	};
	bool backed;

	return vfu_dma_add(&dma, &range, fd, offset, &backed);
}

static int add(uint64_t address, uint64_t size, int fd, uint64_t offset)
{
	return add_as(address, size, fd, offset, true, true);
}

static bool reachable(uint64_t address)
{
	uint8_t byte;

	return !vfu_dma_read(&dma, address, &byte, 1);
}

static void test_what_may_be_lent(void **state)
{
	(void)state;
	assert_int_equal(add(0, 0, memory, 0), EINVAL);
	assert_int_equal(add(1, PAGE, memory, 0), EINVAL);
	assert_int_equal(add(0, PAGE + 1, memory, 0), EINVAL);
	assert_int_equal(add(0, PAGE, memory, 512), EINVAL);
	assert_int_equal(add(-2 * PAGE, 3 * PAGE, memory, 0), EINVAL);
	assert_int_equal(add_as(0, PAGE, memory, 0, false, false), EINVAL);
	/* All of these ranges but the last one reach beyond the end of the file. */
	assert_int_equal(add(0, (PAGES + 1) * PAGE, memory, 0), EINVAL);
	assert_int_equal(add(0, PAGE, memory, PAGES * PAGE), EINVAL);
	assert_int_equal(add(0, PAGE, memory, -PAGE), EINVAL);
	assert_int_equal(add(0, 2 * PAGE, memory, (PAGES - 1) * PAGE), EINVAL);
	assert_int_equal(add(0, PAGE, memory, (PAGES - 1) * PAGE), 0);
	/* A range may reach to the end of the address space. */
	assert_int_equal(add(-PAGE, PAGE, memory, 0), 0);
	assert_true(reachable(UINT64_MAX));
}

static void test_overlap(void **state)
{
	(void)state;
	assert_int_equal(add(4 * PAGE, 4 * PAGE, memory, 0), 0);
	assert_int_equal(add(4 * PAGE, 4 * PAGE, memory, 0), EEXIST);
	assert_int_equal(add(0, 5 * PAGE, memory, 0), EEXIST);
	assert_int_equal(add(7 * PAGE, 4 * PAGE, memory, 0), EEXIST);
	assert_int_equal(add(5 * PAGE, PAGE, memory, 0), EEXIST);
	assert_int_equal(add(2 * PAGE, 8 * PAGE, memory, 0), EEXIST);
	assert_int_equal(add(8 * PAGE, PAGE, memory, 0), 0);
	assert_int_equal(add(3 * PAGE, PAGE, memory, 0), 0);
	assert_int_equal(vfu_dma_remove(&dma, 4 * PAGE, PAGE), ENOENT);
	assert_int_equal(vfu_dma_remove(&dma, 5 * PAGE, 3 * PAGE), ENOENT);
	assert_int_equal(vfu_dma_remove(&dma, 4 * PAGE, 4 * PAGE), 0);
	assert_int_equal(vfu_dma_remove(&dma, 4 * PAGE, 4 * PAGE), ENOENT);
	assert_false(reachable(4 * PAGE) || reachable(8 * PAGE - 1));
	assert_true(reachable(3 * PAGE) && reachable(8 * PAGE));
}

static void test_several_at_once(void **state)
{
	(void)state;
	for (uint64_t i = 0; i < 6; i++)
		assert_int_equal(add(2 * i * PAGE, PAGE * (1 + (i == 3)), memory, 0), 0);
	/* Pages 6 and 7 are one range: neither can be removed alone. */
	assert_int_equal(vfu_dma_remove(&dma, 2 * PAGE, 5 * PAGE), ENOENT);
	assert_int_equal(vfu_dma_remove(&dma, 7 * PAGE, 3 * PAGE), ENOENT);
	assert_int_equal(vfu_dma_remove(&dma, UINT64_MAX, 2), ENOENT);
	assert_int_equal(vfu_dma_remove(&dma, 0, 0), ENOENT);
	assert_true(reachable(2 * PAGE) && reachable(8 * PAGE - 1));
	assert_int_equal(vfu_dma_remove(&dma, PAGE, 7 * PAGE), 0);
	assert_false(reachable(2 * PAGE) || reachable(4 * PAGE) || reachable(6 * PAGE));
	assert_true(reachable(0) && reachable(8 * PAGE) && reachable(10 * PAGE));
	assert_int_equal(vfu_dma_remove(&dma, 0, UINT64_MAX), 0);
	assert_false(reachable(0) || reachable(10 * PAGE));
}

static void test_limit(void **state)
{
	(void)state;
	/* All ranges have memory behind them; a process may have about 65,530 mappings. */
	for (uint64_t i = 0; i < VFU_MAX_MAPS; i++)
		assert_int_equal(add(i * 2 * PAGE, PAGE, memory, i % PAGES * PAGE), 0);
	assert_int_equal(add(VFU_MAX_MAPS * 2 * PAGE, PAGE, memory, 0), ENOSPC);
	assert_true(reachable((VFU_MAX_MAPS - 1) * 2 * PAGE));
	vfu_dma_clear(&dma);
	assert_int_equal(add(0, PAGE, -1, 0), 0);
}

/* Accesses to ranges without memory are bus errors. */
static void test_unreachable(void **state)
{
	const struct vfu_map range = { .address = 4 * PAGE, .size = PAGE, .readable = true };
	bool backed = true;
	int pipes[2];

	(void)state;
	assert_int_equal(add(2 * PAGE, PAGE, -1, 0), 0);
	assert_false(reachable(2 * PAGE));
	assert_int_equal(pipe(pipes), 0);
	assert_int_equal(vfu_dma_add(&dma, &range, pipes[0], 0, &backed), 0);
	assert_false(backed || reachable(4 * PAGE));
	close(pipes[0]);
	close(pipes[1]);
	assert_false(reachable(100 * PAGE));
}

/* When the client takes memory away while the device may use it, accesses become bus errors. */
static void test_memory_that_vanishes(void **state)
{
	int file = memfd_create("unsealed", MFD_CLOEXEC);
	uint32_t word = 7;

	(void)state;
	/* cmocka has set its own handler after setup(). */
	vfu_dma_handle_sigbus();
	for (int write = 0; write < 2; write++) {
		assert_int_equal(ftruncate(file, 4 * PAGE), 0);
		assert_int_equal(add(0, 4 * PAGE, file, 0), 0);
		assert_int_equal(add(8 * PAGE, PAGE, memory, 0), 0);
		assert_true(reachable(0) && reachable(3 * PAGE));
		assert_int_equal(ftruncate(file, PAGE), 0);
		/* The rest of the file is still there. */
		assert_true(reachable(0));
		if (write)
			assert_int_equal(vfu_dma_write(&dma, 2 * PAGE, &word, sizeof(word)), -EIO);
		else
			assert_int_equal(vfu_dma_read(&dma, 2 * PAGE, &word, sizeof(word)), -EIO);
		assert_false(reachable(0) || reachable(2 * PAGE) || reachable(3 * PAGE));
		assert_true(reachable(8 * PAGE));
		assert_int_equal(vfu_dma_remove(&dma, 0, 9 * PAGE), 0);
	}
	close(file);
}

#define HUGE_PAGE (UINT64_C(2) << 20)

/*
 * Ranges begin and end within huge pages. guest_memory.sh runs this on a machine that has three
 * pages of two megabytes.
 */
static void test_huge_pages(void **state)
{
	int file = memfd_create("huge", MFD_CLOEXEC | MFD_HUGETLB | MAP_HUGE_2MB), error;
	uint64_t from = HUGE_PAGE - 3 * PAGE, size = HUGE_PAGE + PAGE;
	uint8_t *map;

	(void)state;
	if (file < 0) {
		print_message("no huge pages here: %s\n", strerror(errno));
		skip();
	}
	vfu_dma_handle_sigbus();
	assert_int_equal(ftruncate(file, 3 * HUGE_PAGE), 0);
	error = add(0, size, file, from);
	if (error) {
		/* The file has its pages from the first mapping on, or the range is refused. */
		assert_int_equal(error, ENOMEM);
		close(file);
		print_message("no huge page is free here\n");
		skip();
	}
	map = mmap(NULL, 3 * HUGE_PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
	assert_true(map != MAP_FAILED);
	for (uint64_t at = 0; at < size; at += PAGE) {
		uint32_t word = (uint32_t)at + 1, seen_word;

		assert_int_equal(vfu_dma_write(&dma, at, &word, sizeof(word)), 0);
		memcpy(&seen_word, map + from + at, sizeof(seen_word));
		assert_int_equal(seen_word, word);
	}
	assert_false(reachable(size));
	munmap(map, 3 * HUGE_PAGE);
	assert_int_equal(ftruncate(file, HUGE_PAGE), 0);
	assert_true(reachable(0));
	assert_false(reachable(3 * PAGE));
	assert_false(reachable(0));
	assert_int_equal(vfu_dma_remove(&dma, 0, size), 0);
	close(file);
}

static void test_permissions(void **state)
{
	uint32_t word = 7;

	(void)state;
	assert_int_equal(add_as(0, PAGE, memory, 0, true, false), 0);
	assert_int_equal(add_as(PAGE, PAGE, memory, PAGE, false, true), 0);
	assert_int_equal(vfu_dma_write(&dma, 0, &word, sizeof(word)), -EIO);
	assert_int_equal(seen[0], 0);
	assert_int_equal(vfu_dma_read(&dma, 0, &word, sizeof(word)), 0);
	assert_int_equal(word, 0);
	assert_int_equal(vfu_dma_read(&dma, PAGE, &word, sizeof(word)), -EIO);
	word = 9;
	assert_int_equal(vfu_dma_write(&dma, PAGE, &word, sizeof(word)), 0);
	assert_int_equal(seen[PAGE], 9);
	vfu_dma_enable(&dma, false);
	assert_int_equal(vfu_dma_read(&dma, 0, &word, sizeof(word)), -EIO);
	assert_int_equal(vfu_dma_write(&dma, PAGE, &word, sizeof(word)), -EIO);
	vfu_dma_enable(&dma, true);
	assert_true(reachable(0));
}

/*
 * Tests an access to three ranges, which are in another order in the file, and each access of up to
 * 16 bytes across a border.
 */
static void test_spans(void **state)
{
	static uint8_t buffer[3 * PAGE];

	(void)state;
	for (unsigned int i = 0; i < 3 * PAGE; i++)
		seen[i] = (uint8_t)(i * 7 + i / 251);
	assert_int_equal(add(11 * PAGE, PAGE, memory, 0), 0);
	assert_int_equal(add(12 * PAGE, PAGE, memory, 2 * PAGE), 0);
	assert_int_equal(add(10 * PAGE, PAGE, memory, PAGE), 0);
	assert_int_equal(vfu_dma_read(&dma, 10 * PAGE, buffer, sizeof(buffer)), 0);
	assert_memory_equal(buffer, seen + PAGE, PAGE);
	assert_memory_equal(buffer + PAGE, seen, PAGE);
	assert_memory_equal(buffer + 2 * PAGE, seen + 2 * PAGE, PAGE);
	for (size_t len = 1; len <= 16; len++) {
		for (uint64_t back = 0; back <= len; back++) {
			uint8_t part[16], expected[16];
			uint64_t at = 11 * PAGE - back;

			assert_int_equal(vfu_dma_read(&dma, at, part, len), 0);
			assert_memory_equal(part, buffer + PAGE - back, len);
			for (size_t i = 0; i < len; i++)
				expected[i] = (uint8_t)(part[i] ^ 0x5a);
			assert_int_equal(vfu_dma_write(&dma, at, expected, len), 0);
			assert_memory_equal(seen + 2 * PAGE - back, expected, back);
			assert_memory_equal(seen, expected + back, len - back);
			assert_int_equal(vfu_dma_write(&dma, at, part, len), 0);
		}
	}
	assert_int_equal(vfu_dma_read(&dma, 10 * PAGE + 1, buffer, sizeof(buffer)), -EIO);
	assert_int_equal(vfu_dma_remove(&dma, 11 * PAGE, PAGE), 0);
	assert_int_equal(vfu_dma_read(&dma, 10 * PAGE, buffer, sizeof(buffer)), -EIO);
	assert_int_equal(vfu_dma_read(&dma, 10 * PAGE, buffer, PAGE), 0);
}

static atomic_bool stop;

static void *accessor(void *arg)
{
	static uint8_t buffer[4 * PAGE];

	(void)arg;
	while (!atomic_load(&stop)) {
		vfu_dma_read(&dma, 0, buffer, sizeof(buffer));
		vfu_dma_write(&dma, PAGE, buffer, 2 * PAGE);
	}
	return NULL;
}

/* Unmapping waits for an access that is under way: otherwise the test would die of a signal. */
static void test_taking_back(void **state)
{
	pthread_t thread;

	(void)state;
	atomic_store(&stop, false);
	assert_int_equal(pthread_create(&thread, NULL, accessor, NULL), 0);
	for (unsigned int i = 0; i < 3000; i++) {
		assert_int_equal(add(0, 2 * PAGE, memory, 0), 0);
		assert_int_equal(add(2 * PAGE, 2 * PAGE, memory, 4 * PAGE), 0);
		if (i % 3) {
			assert_int_equal(vfu_dma_remove(&dma, 0, 2 * PAGE), 0);
			assert_int_equal(vfu_dma_remove(&dma, 2 * PAGE, 2 * PAGE), 0);
		} else {
			vfu_dma_clear(&dma);
		}
	}
	atomic_store(&stop, true);
	pthread_join(thread, NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_what_may_be_lent, setup, teardown),
		cmocka_unit_test_setup_teardown(test_overlap, setup, teardown),
		cmocka_unit_test_setup_teardown(test_several_at_once, setup, teardown),
		cmocka_unit_test_setup_teardown(test_limit, setup, teardown),
		cmocka_unit_test_setup_teardown(test_unreachable, setup, teardown),
		cmocka_unit_test_setup_teardown(test_memory_that_vanishes, setup, teardown),
		cmocka_unit_test_setup_teardown(test_huge_pages, setup, teardown),
		cmocka_unit_test_setup_teardown(test_permissions, setup, teardown),
		cmocka_unit_test_setup_teardown(test_spans, setup, teardown),
		cmocka_unit_test_setup_teardown(test_taking_back, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
