// SPDX-License-Identifier: MIT
/*
 * Requests for more memory than the machine has are refused with an error; the kernel would promise
 * the memory, and kill a process later. The tests let the library find out how much memory is
 * available from files that imitate the kernel's. They also check that large blocks ask for large
 * pages, and that the pages of a block are mapped before it is filled.
 */
#include "fixture.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "util/malloc.h"
#include "util/memory.h"

#define GIB (UINT64_C(1) << 30)

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SANITIZED
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define SANITIZED
#endif
#endif

static char folder[64];

static void write_file(const char *path, const char *text)
{
	char whole[256];
	FILE *f;

	snprintf(whole, sizeof(whole), "%s/%s", folder, path);
	for (char *slash = strchr(whole + strlen(folder) + 1, '/'); slash;
	     slash = strchr(slash + 1, '/')) {
		*slash = '\0';
		mkdir(whole, 0700);
		*slash = '/';
	}
	f = fopen(whole, "w");
	assert_non_null(f);
	fputs(text, f);
	fclose(f);
}

static uint64_t available(void)
{
	char proc[128], cgroup[128];

	snprintf(proc, sizeof(proc), "%s/proc", folder);
	snprintf(cgroup, sizeof(cgroup), "%s/cgroup", folder);
	return wnn_memory_available(proc, cgroup);
}

static int make_folder(void **state)
{
	(void)state;
	snprintf(folder, sizeof(folder), "/tmp/webnn-memory-XXXXXX");
	return mkdtemp(folder) ? 0 : -1;
}

static int remove_folder(void **state)
{
	char command[128];

	(void)state;
	snprintf(command, sizeof(command), "rm -rf -- %s", folder);
	return system(command);
}

static void the_kernel_may_tell_nothing(void **state)
{
	(void)state;
	assert_true(available() == UINT64_MAX);
}

static void the_machine_has_memory_and_swap(void **state)
{
	(void)state;
	write_file("proc/meminfo", "MemTotal: 32000 kB\nMemFree: 100 kB\nMemAvailable:   3000 kB\n"
				   "SwapCached: 7 kB\nSwapTotal: 600 kB\nSwapFree: 500 kB\n");
	assert_int_equal(available(), 2500 << 10);
}

static void groups_have_limits(void **state)
{
	(void)state;
	write_file("proc/self/cgroup", "0::/box/inner\n");
	assert_int_equal(available(), 2500 << 10);
	write_file("cgroup/box/inner/memory.max", "max\n");
	write_file("cgroup/box/inner/memory.current", "1000\n");
	assert_int_equal(available(), 2500 << 10);
	/*
	 * The enclosing group's limit counts. A 32nd of it is kept free; the cache of files counts
	 * as free.
	 */
	write_file("cgroup/box/memory.max", "3200000\n");
	write_file("cgroup/box/memory.current", "2600000\n");
	write_file("cgroup/box/memory.stat", "anon 5\ninactive_file 300000\nactive_file 7\n");
	assert_int_equal(available(), 800000);
	write_file("cgroup/box/inner/memory.max", "3200\n");
	assert_int_equal(available(), 2100);
	write_file("cgroup/box/inner/memory.current", "3150\n");
	assert_int_equal(available(), 0);
}

static void older_groups_have_limits(void **state)
{
	(void)state;
	write_file("proc/self/cgroup", "4:memory:/job/7\n1:cpu:/\n0::/\n");
	assert_int_equal(available(), 2500 << 10);
	write_file("cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n");
	write_file("cgroup/memory/memory.usage_in_bytes", "5\n");
	assert_int_equal(available(), 2500 << 10);
	write_file("cgroup/memory/job/memory.limit_in_bytes", "3200000\n");
	write_file("cgroup/memory/job/memory.usage_in_bytes", "2500000\n");
	write_file("cgroup/memory/job/memory.stat",
		   "inactive_file 1\ntotal_inactive_file 100000\n");
	assert_int_equal(available(), 700000);
	/* In version 1 of groups, a hierarchy may have several controllers. */
	write_file("proc/self/cgroup", "4:cpu,memory:/job/7\n1:cpuset:/\n0::/\n");
	assert_int_equal(available(), 700000);
}

/*
 * A tensor takes memory only when it is written. Tests that creating tensors fails when together
 * they could take more memory than there is.
 */
static void promises_are_kept(void **state)
{
#ifdef SANITIZED
	/* A sanitizer has shadow memory for every promised byte. */
	(void)state;
	skip();
}
#else
	static const char *const devices[] = { "cpu", "sim" };
	const uint64_t bytes = GIB;
	uint64_t there = wnn_memory_available("/proc", "/sys/fs/cgroup");
	size_t most = (size_t)(there / bytes);

	(void)state;
	if (there == UINT64_MAX) {
		print_message("the kernel does not tell how much memory there is\n");
		skip();
	}
	for (int d = 0; d < 2; d++) {
		WNNInstance instance = wnnCreateInstance(NULL);
		WNNContext context = open_context(instance, devices[d]);
		WNNTensor *made = calloc(most + 64, sizeof(*made));
		size_t count = 0;
		WNNStatus status;

		do {
			WNNTensorDescriptor descriptor = WNN_TENSOR_DESCRIPTOR_INIT;
			uint32_t shape[] = { 1024, GIB / 1024 };

			descriptor.dataType = WNNOperandDataType_Uint8;
			descriptor.shape = WNN_UINT32_ARRAY(shape);
			status = wnnContextCreateTensorSync(context, &descriptor, GENEROUS,
							    &made[count]);
			count += !status;
		} while (!status && count < most + 64);
		/*
		 * Other processes take and free memory meanwhile, so that the limit is not exact.
		 */
		if (!status)
			fail_msg("%s: %zu GiB were promised, about %zu are there", devices[d],
				 count, most);
		assert_last_error(WNNStatus_UnknownError,
				  "out of memory: a tensor needs 1073741824 bytes, but the "
				  "machine has ");
		while (count)
			wnnTensorRelease(made[--count]);
		/* After their release, tensors can be created again. */
		assert_ok(wnnContextWaitIdle(context, GENEROUS));
		wnnTensorRelease(make_tensor(context, 4096, 4096));
		free(made);
		wnnContextRelease(context);
		wnnInstanceRelease(instance);
	}
}
#endif

/* Returns whether the line VmFlags of /proc/self/smaps has `flag` for the mapping of an address. */
static bool has_flag(const char *address, const char *flag)
{
	FILE *f = fopen("/proc/self/smaps", "r");
	unsigned long begin, end;
	bool here = false, asked = false;
	char line[512];

	assert_non_null(f);
	while (fgets(line, sizeof(line), f)) {
		if (sscanf(line, "%lx-%lx ", &begin, &end) == 2)
			here = (uintptr_t)address >= begin && (uintptr_t)address < end;
		if (here && !strncmp(line, "VmFlags:", 8))
			asked = strstr(line, flag) != NULL;
	}
	fclose(f);
	return asked;
}

static bool asks_for_large_pages(const char *address)
{
	return has_flag(address, " hg");
}

static bool wants_small_pages(const char *address)
{
	return has_flag(address, " nh");
}

/*
 * Returns whether madvise() accepts advice on large pages and /proc/self/smaps shows it: qemu-user
 * ignores such advice and makes the file up.
 */
static bool wishes_are_told(void)
{
	const size_t bytes = (size_t)8 << 20;
	char *block = mmap(NULL, bytes, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	bool told;

	assert_true(block != MAP_FAILED);
	told = !madvise(block, bytes, MADV_HUGEPAGE) && asks_for_large_pages(block + bytes / 2);
	munmap(block, bytes);
	return told;
}

static void large_blocks_ask_for_large_pages(void **state)
{
	const size_t bytes = (size_t)8 << 20;
	char *block, *cleared;

	(void)state;
	if (!wishes_are_told()) {
		print_message(
			"skipped: this kernel has no large pages, or does not tell of them\n");
		skip();
	}
	block = wnn_malloc(bytes);
	assert_non_null(block);
	assert_true(asks_for_large_pages(block + bytes / 2));
	block = wnn_realloc(block, 8 * bytes);
	assert_non_null(block);
	assert_true(asks_for_large_pages(block + 7 * bytes));
	wnn_free(block);
	cleared = wnn_aligned_calloc(4096, bytes);
	assert_non_null(cleared);
	assert_true(asks_for_large_pages(cleared + bytes / 2));
	wnn_free(cleared);
}

/* Returns whether madvise() can populate pages: Linux can since 5.14, qemu-user cannot. */
static bool pages_are_fetched(void)
{
	const size_t bytes = (size_t)1 << 20;
	char *block = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	bool fetched;

	assert_true(block != MAP_FAILED);
	fetched = !madvise(block, bytes, MADV_POPULATE_WRITE);
	munmap(block, bytes);
	return fetched;
}

static bool has_pages(char *memory, size_t bytes)
{
	uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE), begin = (uintptr_t)memory / page * page;
	size_t pages = ((uintptr_t)memory + bytes - begin + page - 1) / page, there = 0;
	unsigned char *in = malloc(pages);

	assert_int_equal(mincore((void *)begin, pages * page, in), 0);
	for (size_t i = 0; i < pages; i++)
		there += in[i] & 1;
	free(in);
	return there == pages;
}

/*
 * Tests that wnn_filling_reach() maps pages before they are written, that the first pages are
 * small, and that the content stays.
 */
static void filled_memory_has_pages(void **state)
{
	const size_t bytes = ((size_t)40 << 20) + 100000, step = (size_t)3 << 20;
	char *memory = wnn_aligned_calloc(64, bytes), *first = memory + ((size_t)1 << 20);
	struct wnn_filling filling;
	size_t wrong = 0;

	(void)state;
	assert_non_null(memory);
	if (!wishes_are_told() || !pages_are_fetched()) {
		wnn_free(memory);
		print_message(
			"skipped: this kernel fetches no pages ahead, or has no large ones\n");
		skip();
	}
	wnn_filling_begin(&filling, memory, bytes);
	for (size_t to = step; to < bytes; to += step) {
		wnn_filling_reach(&filling, memory + to);
		assert_true(has_pages(memory, to));
		memset(memory, 1, to);
	}
	assert_true(wants_small_pages(first));
	wnn_filling_reach(&filling, memory + 2 * bytes);
	assert_true(has_pages(memory, bytes));
	assert_ptr_equal(filling.next, memory + bytes);
	for (size_t i = 0; i < bytes; i++)
		wrong += memory[i] != (i < (bytes - 1) / step * step);
	assert_int_equal(wrong, 0);
	wnn_free(memory);
}

/*
 * The library does not choose the size of pages in a mapping that it did not make, such as that of
 * a driver: the advice to the kernel would split the mapping.
 */
static void other_mappings_are_left_alone(void **state)
{
	const size_t bytes = (size_t)16 << 20;
	char *memory =
		mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct wnn_filling filling;

	(void)state;
	assert_true(memory != MAP_FAILED);
	wnn_filling_begin(&filling, memory, bytes);
	wnn_filling_reach(&filling, memory + bytes);
	assert_ptr_equal(filling.next, memory + bytes);
	for (size_t at = 0; at < bytes; at += (size_t)1 << 20)
		assert_false(wants_small_pages(memory + at));
	munmap(memory, bytes);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_kernel_may_tell_nothing),
		cmocka_unit_test(the_machine_has_memory_and_swap),
		cmocka_unit_test(groups_have_limits),
		cmocka_unit_test(older_groups_have_limits),
		cmocka_unit_test(promises_are_kept),
		cmocka_unit_test(large_blocks_ask_for_large_pages),
		cmocka_unit_test(filled_memory_has_pages),
		cmocka_unit_test(other_mappings_are_left_alone),
	};

	return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
