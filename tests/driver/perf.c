// SPDX-License-Identifier: MIT
/*
 * Tests, as TAP, the counters that the driver gives to perf: perf NODE runs a job between two
 * reads. perf NODE open prints "open" if a counter can be opened, or else the error. perf NODE hold
 * opens a counter, prints "open", and prints the counter's value for each line of standard input,
 * until the input ends.
 */
#include "npu.h"

#include <onpu/silicon.h>

#include <errno.h>
#include <glob.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>

#define BYTES (4u << 20)
/* The start of the path of a device's counters; the number of its node follows. */
#define FOLDER "/sys/bus/event_source/devices/onpu_"

/* The number of the node, as text. */
static const char *number;
static unsigned int tests, failures;

static void ok(bool right, const char *what)
{
	printf("%sok %u - %s\n", right ? "" : "not ", ++tests, what);
	failures += !right;
}

/* Returns the number that follows the text @before in a file of the counters' folder. */
static uint64_t number_in(const char *file, const char *before)
{
	char path[256], text[64] = "";
	FILE *f;

	snprintf(path, sizeof(path), FOLDER "%s/%s", number, file);
	f = fopen(path, "r");
	must(f && fgets(text, sizeof(text), f));
	fclose(f);
	must(!strncmp(text, before, strlen(before)));
	return strtoull(text + strlen(before), NULL, 0);
}

static struct perf_event_attr attr_of(uint64_t config)
{
	return (struct perf_event_attr){
		.type = (uint32_t)number_in("type", ""),
		.size = sizeof(struct perf_event_attr),
		.config = config,
	};
}

/*
 * Opens an event in the group of @leader, or in a group of its own if @leader is -1. Returns a
 * descriptor, or -errno.
 */
static int open_event(struct perf_event_attr attr, pid_t pid, int cpu, int leader)
{
	long fd = syscall(SYS_perf_event_open, &attr, pid, cpu, leader, PERF_FLAG_FD_CLOEXEC);

	return fd < 0 ? -errno : (int)fd;
}

static uint64_t value_of(int fd)
{
	uint64_t value;

	must(read(fd, &value, sizeof(value)) == sizeof(value));
	return value;
}

static int open_counter(const char *name)
{
	char file[64];
	int fd;

	snprintf(file, sizeof(file), "events/%s", name);
	fd = open_event(attr_of(number_in(file, "event=")), -1, 0, -1);
	must(fd >= 0);
	return fd;
}

static void hold(void)
{
	char line[16];
	int fd = open_counter("cycles");

	setvbuf(stdout, NULL, _IOLBF, 0);
	puts("open");
	while (fgets(line, sizeof(line), stdin))
		printf("%llu\n", (unsigned long long)value_of(fd));
}

static void test_refusals(void)
{
	struct perf_event_attr sampling = attr_of(0);

	sampling.sample_period = 1000;
	ok(open_event(sampling, -1, 0, -1) == -EINVAL, "no event takes samples");
	ok(open_event(attr_of(0), 0, -1, -1) == -EINVAL, "no event counts for a process");
	ok(open_event(attr_of(ONPU_COUNTER_COUNT), -1, 0, -1) == -EINVAL,
	   "no event counts what the device has no counter for");
	ok(open_event(attr_of(UINT64_C(1) << 32), -1, 0, -1) == -EINVAL,
	   "a configuration is a number");
}

/* Every event of sysfs can be opened, and the kernel tells perf to open it on one CPU only. */
static void test_events(void)
{
	char pattern[128];
	unsigned int opened = 0, events = 0;
	glob_t found;

	snprintf(pattern, sizeof(pattern), FOLDER "%s/events/*", number);
	must(!glob(pattern, 0, NULL, &found));
	for (size_t i = 0; i < found.gl_pathc; i++) {
		const char *name = strrchr(found.gl_pathv[i], '/') + 1;
		int fd;

		/* Such a file has the unit or scale of an event. */
		if (strchr(name, '.'))
			continue;
		events++;
		fd = open_counter(name);
		opened += fd >= 0;
		close(fd);
	}
	ok(events == ONPU_COUNTER_COUNT && opened == ONPU_COUNTER_COUNT,
	   "there is an event for each counter");
	globfree(&found);
	ok(number_in("cpumask", "") < 1024, "perf knows where to count");
}

/* The kernel opens the later events of a group under other locks than the first one. */
static void test_group(void)
{
	int leader = open_counter("cycles");
	int member = open_event(attr_of(ONPU_COUNTER_MACS), -1, 0, leader);

	ok(member >= 0 && !value_of(leader) && !value_of(member), "two events count as a group");
	close(member);
	close(leader);
}

/* Returns whether the kernel gives buffers large pages. */
static bool has_large_pages(void)
{
	FILE *f = fopen("/proc/kallsyms", "r");
	char line[256];
	bool found = false;

	must(f);
	while (fgets(line, sizeof(line), f))
		found = found || strstr(line, " drm_gem_huge_mnt_create");
	fclose(f);
	return found;
}

static void test_job(const char *node)
{
	enum { CYCLES, WRITTEN, READ, LD, ST, MXU, MISSES, ENERGY, NUM };
	static const char *const names[NUM] = { "cycles",  "written_bytes", "read_bytes", "busy_ld",
						"busy_st", "busy_mxu",	    "tlb_misses", "energy" };
	int counters[NUM], fd = npu_open_node(node);
	uint64_t before = npu_fdinfo(fd, "drm-cycles-npu"), v[NUM], cycles;
	struct npu_bo bo = npu_bo(fd, BYTES, 0);
	struct npu_ctx ctx = npu_ctx(fd, 0);
	struct drm_onpu_job job = npu_fill(fd, bo.va, BYTES, 5);
	/* Picojoules of the bytes in memory; the rest of the job takes few. */
	const uint64_t moved = (uint64_t)BYTES * ONPU_SILICON_MEMORY_BYTE / 1000;
	bool nothing = true;
	uint64_t pages;

	for (int i = 0; i < NUM; i++)
		counters[i] = open_counter(names[i]);
	for (int i = 0; i < NUM; i++)
		nothing &= !value_of(counters[i]);
	ok(nothing, "nothing is counted without jobs");
	must(!npu_run(fd, ctx.id, &job));
	for (int i = 0; i < NUM; i++) {
		v[i] = value_of(counters[i]);
		printf("# %s %llu\n", names[i], (unsigned long long)v[i]);
	}
	cycles = npu_fdinfo(fd, "drm-cycles-npu") - before;
	ok(v[CYCLES] == cycles && cycles, "the cycles are those of fdinfo");
	ok(v[WRITTEN] == BYTES && !v[READ], "a fill writes its bytes, and reads none");
	ok(v[LD] + v[ST] > 0 && v[LD] + v[ST] <= cycles && !v[MXU], "one engine was busy");
	/* The device translates at least the ring, the program and each page of the data. */
	pages = BYTES / (has_large_pages() ? ONPU_LARGE_PAGE_SIZE : ONPU_PAGE_SIZE);
	ok(v[MISSES] >= 2 + pages && v[MISSES] < 32 + pages, "each page was translated once");
	ok(v[ENERGY] >= moved && v[ENERGY] < moved * 5 / 4, "the energy is that of the bytes");
	must(!npu_run(fd, ctx.id, &job));
	ok(value_of(counters[WRITTEN]) == 2 * BYTES, "a second job adds to the first");
	for (int i = 0; i < NUM; i++)
		close(counters[i]);
	close(fd);
}

int main(int argc, char **argv)
{
	must(argc > 1 && !strncmp(argv[1], "/dev/accel/accel", 16));
	number = argv[1] + 16;
	if (argc > 2 && !strcmp(argv[2], "open")) {
		int fd = open_event(attr_of(0), -1, 0, -1);

		puts(fd < 0 ? strerror(-fd) : "open");
		return fd < 0;
	}
	if (argc > 2) {
		hold();
		return 0;
	}
	test_events();
	test_group();
	test_refusals();
	test_job(argv[1]);
	printf("1..%u\n", tests);
	return failures > 0;
}
