// SPDX-License-Identifier: MIT
/* DEV_QUERY: each type, each size, and refused arguments. */
#include "harness.h"
#include "npu.h"

#include <errno.h>
#include <time.h>
#include <unistd.h>
#include <xf86drm.h>

#define GUARD 0xa5

FIXTURE(query)
{
	int fd;
};

FIXTURE_VARIANT(query)
{
	uint32_t type, size;
};

#define TYPE(name, id, bytes)                                    \
	FIXTURE_VARIANT_ADD(query, name)                         \
	{                                                        \
		.type = DRM_ONPU_DEV_QUERY_##id, .size = (bytes) \
	}

TYPE(info, INFO, sizeof(struct drm_onpu_dev_info));
TYPE(caps, CAPS, sizeof(struct drm_onpu_caps));
TYPE(firmware, FIRMWARE, sizeof(struct drm_onpu_firmware_info));
TYPE(time, TIME, sizeof(struct drm_onpu_time_info));
TYPE(counters, COUNTERS, sizeof(struct drm_onpu_counters));

FIXTURE_SETUP(query)
{
	self->fd = npu_open();
}

FIXTURE_TEARDOWN(query)
{
	close(self->fd);
}

static int ask(int fd, uint32_t type, uint64_t pointer, uint32_t *size)
{
	struct drm_onpu_dev_query args = { .type = type, .size = *size, .pointer = pointer };
	int ret = npu_ioctl(fd, DRM_IOCTL_ONPU_DEV_QUERY, &args);

	*size = args.size;
	return ret;
}

TEST_F(query, without_pointer_size_is_only_returned)
{
	uint32_t size = UINT32_MAX;

	ASSERT_EQ(0, ask(self->fd, variant->type, 0, &size));
	EXPECT_EQ(variant->size, size);
	size = 0;
	ASSERT_EQ(0, ask(self->fd, variant->type, 0, &size));
	EXPECT_EQ(variant->size, size);
}

TEST_F(query, every_room_is_filled_and_no_more)
{
	static const uint32_t rooms[] = { 0, 1, 4, 8, 12, 1000, 4096 };
	static uint64_t buffer[1024];
	const uint8_t *bytes = (const uint8_t *)buffer;

	for (unsigned int i = 0; i < ARRAY_SIZE(rooms); i++) {
		uint32_t room = rooms[i], size = room;

		memset(buffer, GUARD, sizeof(buffer));
		ASSERT_EQ(0, ask(self->fd, variant->type, (uintptr_t)buffer, &size));
		EXPECT_EQ(variant->size, size);
		EXPECT_TRUE(npu_all(bytes + room, sizeof(buffer) - room, GUARD));
		if (room > size)
			EXPECT_TRUE(npu_all(bytes + size, room - size, 0));
		if (room >= 8)
			EXPECT_FALSE(npu_all(bytes, 8, GUARD));
	}
}

/* A pointer may be at any multiple of 4, as a __u64 may on i386. */
TEST_F(query, any_address)
{
	static uint64_t buffer[64];
	const uint8_t *bytes = (const uint8_t *)buffer;
	uint32_t size = variant->size;

	memset(buffer, GUARD, sizeof(buffer));
	ASSERT_EQ(0, ask(self->fd, variant->type, (uintptr_t)buffer + 4, &size));
	EXPECT_EQ(variant->size, size);
	EXPECT_TRUE(npu_all(bytes, 4, GUARD));
	EXPECT_FALSE(npu_all(bytes + 4, 8, GUARD));
	EXPECT_TRUE(npu_all(bytes + 4 + size, sizeof(buffer) - 4 - size, GUARD));
}

TEST_F(query, pointer_to_nothing)
{
	uint32_t size = 4096;

	EXPECT_EQ(EFAULT, ask(self->fd, variant->type, 8, &size));
	EXPECT_EQ(4096, size);
}

FIXTURE(device)
{
	int fd;
};

FIXTURE_SETUP(device)
{
	self->fd = npu_open();
}

FIXTURE_TEARDOWN(device)
{
	close(self->fd);
}

TEST_F(device, unknown_query)
{
	static uint64_t buffer[8];

	for (uint32_t type = DRM_ONPU_DEV_QUERY_COUNTERS + 1; type; type <<= 1) {
		uint32_t size = sizeof(buffer);

		EXPECT_EQ(EINVAL, ask(self->fd, type, (uintptr_t)buffer, &size));
		EXPECT_EQ(sizeof(buffer), size);
		EXPECT_EQ(EINVAL, ask(self->fd, type, 0, &size));
	}
}

TEST_F(device, unknown_ioctl)
{
	uint64_t args[32] = { 0 };
	unsigned long request = DRM_IOWR(DRM_COMMAND_BASE + DRM_ONPU_BO_WRAP + 1, args);

	EXPECT_EQ(EINVAL, npu_ioctl(self->fd, request, args));
}

TEST_F(device, arguments_that_are_not_there)
{
	EXPECT_EQ(EFAULT, npu_ioctl(self->fd, DRM_IOCTL_ONPU_DEV_QUERY, (void *)8));
	EXPECT_EQ(EFAULT, npu_ioctl(self->fd, DRM_IOCTL_ONPU_SUBMIT, NULL));
}

TEST_F(device, version)
{
	drmVersionPtr version = drmGetVersion(self->fd);

	ASSERT_NE(NULL, version);
	EXPECT_STREQ("onpu", version->name);
	EXPECT_EQ(DRM_ONPU_DRIVER_MAJOR, version->version_major);
	EXPECT_EQ(DRM_ONPU_DRIVER_MINOR, version->version_minor);
	drmFreeVersion(version);
}

TEST_F(device, info)
{
	struct drm_onpu_dev_info info = npu_info(self->fd);
	uint32_t always = 1u << DRM_ONPU_PRIORITY_LOW | 1u << DRM_ONPU_PRIORITY_NORMAL;

	EXPECT_EQ(DRM_ONPU_DRIVER_MAJOR, info.interface_major);
	EXPECT_EQ(DRM_ONPU_DRIVER_MINOR, info.interface_minor);
	EXPECT_EQ(0, info.features & ~(uint32_t)DRM_ONPU_FEATURE_COHERENT);
	EXPECT_EQ(geteuid() ? always : always | 1u << DRM_ONPU_PRIORITY_HIGH, info.priority_mask);
	EXPECT_EQ(sysconf(_SC_PAGESIZE), info.page_size);
	EXPECT_LT(0, info.va_start);
	EXPECT_EQ(0, (info.va_start | info.va_end) % info.page_size);
	EXPECT_LT(info.va_start, info.va_end);
	EXPECT_GE(1ull << 37, info.va_end);
	EXPECT_LE(info.page_size, info.memory_limit);
	EXPECT_LE(1, info.max_contexts);
	EXPECT_LE(1, info.max_jobs);
	EXPECT_LE(1, info.max_syncs);
	EXPECT_LE(info.max_jobs, info.max_queued_jobs);
	EXPECT_LE(1, info.timeout_ms);
	EXPECT_LE(info.timeout_ms, info.max_timeout_ms);
	EXPECT_LE(info.max_contexts, info.max_user_contexts);
}

TEST_F(device, caps)
{
	static uint64_t buffer[128];
	const struct drm_onpu_caps *caps = (const struct drm_onpu_caps *)buffer;
	const uint32_t *words = (const uint32_t *)buffer;
	uint32_t size = sizeof(buffer);

	ASSERT_EQ(0, ask(self->fd, DRM_ONPU_DEV_QUERY_CAPS, (uintptr_t)buffer, &size));
	EXPECT_EQ(sizeof(*caps), size);
	EXPECT_TRUE(caps->num_queues >= 1 && caps->num_queues <= ONPU_MAX_QUEUES);
	EXPECT_LT(0, caps->sram_bytes);
	EXPECT_LT(caps->sram_bytes, caps->save_bytes);
	EXPECT_LT(0, caps->clock_khz);
	EXPECT_LT(0, caps->lanes);
	EXPECT_EQ(0, caps->pad);
	EXPECT_EQ(0, words[size / 4]);
}

TEST_F(device, firmware)
{
	struct drm_onpu_firmware_info info;
	uint32_t size = sizeof(info);

	ASSERT_EQ(0, ask(self->fd, DRM_ONPU_DEV_QUERY_FIRMWARE, (uintptr_t)&info, &size));
	EXPECT_EQ(ONPU_ABI_MAJOR, info.abi_major);
	EXPECT_LE(ONPU_ABI_MINOR, info.abi_minor);
	EXPECT_NE(0, info.crc);
}

static struct drm_onpu_time_info time_of(int fd)
{
	struct drm_onpu_time_info info;
	uint32_t size = sizeof(info);

	must(!ask(fd, DRM_ONPU_DEV_QUERY_TIME, (uintptr_t)&info, &size));
	return info;
}

TEST_F(device, time)
{
	struct npu_bo data = npu_bo(self->fd, 4096, 0);
	struct npu_ctx ctx = npu_ctx(self->fd, 0);
	struct drm_onpu_job job = npu_fill(self->fd, data.va, 4096, 1);
	double before = npu_now();
	struct drm_onpu_time_info first = time_of(self->fd), second;
	double after = npu_now(), error = (double)first.error_ns / 1e9;

	EXPECT_LT(0, first.cycles_per_second);
	EXPECT_LT(0, first.error_ns);
	EXPECT_LE(before - error, (double)first.monotonic_ns / 1e9);
	EXPECT_GE(after + error, (double)first.monotonic_ns / 1e9);
	EXPECT_EQ(0, npu_run(self->fd, ctx.id, &job));
	second = time_of(self->fd);
	EXPECT_LT(first.cycles, second.cycles);
	EXPECT_LT(first.monotonic_ns, second.monotonic_ns);
}

TEST_F(device, counters_of_jobs)
{
	struct npu_bo data = npu_bo(self->fd, 4096, 0);
	struct npu_ctx ctx = npu_ctx(self->fd, 0);
	struct drm_onpu_job job = npu_fill(self->fd, data.va, 4096, 1);
	struct drm_onpu_job bad = npu_fill(self->fd, data.va + data.size, 4096, 1);
	struct drm_onpu_counters before = npu_counters(self->fd), after;

	EXPECT_EQ(0, npu_run(self->fd, ctx.id, &job));
	after = npu_counters(self->fd);
	EXPECT_EQ(before.jobs + 1, after.jobs);
	EXPECT_EQ(before.failed_jobs, after.failed_jobs);
	EXPECT_LT(before.busy_ns, after.busy_ns);
	EXPECT_EQ(before.resets, after.resets);
	EXPECT_EQ(EFAULT, npu_run(self->fd, ctx.id, &bad));
	after = npu_counters(self->fd);
	EXPECT_EQ(before.jobs + 2, after.jobs);
	EXPECT_EQ(before.failed_jobs + 1, after.failed_jobs);
}

TEST_F(device, counters_of_memory)
{
	uint64_t before = npu_settled_memory(self->fd, 0);
	struct drm_onpu_counters after;
	int other = npu_open();
	struct npu_bo small, large = npu_bo(other, 123456, 0);

	EXPECT_EQ(0, npu_counters(self->fd).client_memory);
	small = npu_bo(self->fd, 1, 0);
	after = npu_counters(self->fd);
	EXPECT_EQ(small.size, after.client_memory);
	EXPECT_LE(before + small.size + large.size, after.memory);
	EXPECT_EQ(large.size, npu_counters(other).client_memory);
	npu_bo_close(self->fd, &small);
	EXPECT_EQ(0, npu_counters(self->fd).client_memory);
	close(other);
}

TEST_F(device, fdinfo)
{
	struct npu_bo data = npu_bo(self->fd, 1 << 20, 0);
	struct npu_ctx ctx = npu_ctx(self->fd, 0);
	struct drm_onpu_job job = npu_fill(self->fd, data.va, 1 << 20, 1);

	EXPECT_EQ(0, npu_fdinfo(self->fd, "drm-engine-npu"));
	EXPECT_EQ(1, npu_fdinfo(self->fd, "drm-engine-capacity-npu"));
	EXPECT_EQ(0, npu_run(self->fd, ctx.id, &job));
	EXPECT_NE(UINT64_MAX, npu_fdinfo(self->fd, "drm-engine-npu"));
	EXPECT_LT(0, npu_fdinfo(self->fd, "drm-engine-npu"));
	EXPECT_EQ(npu_state(self->fd, ctx.id).cycles, npu_fdinfo(self->fd, "drm-cycles-npu"));
	/* The cycles of a context still count for its file after the context is destroyed. */
	EXPECT_EQ(0, npu_ctx_destroy(self->fd, ctx.id));
	EXPECT_LT(0, npu_fdinfo(self->fd, "drm-cycles-npu"));
}

/* fdinfo shows device time while a job runs. */
TEST_F(device, fdinfo_of_a_job_that_runs)
{
	struct npu_bo data = npu_bo(self->fd, NPU_LONG_BYTES, 0);
	struct npu_ctx ctx = npu_ctx(self->fd, 0);
	uint32_t syncobj = npu_syncobj(self->fd);
	double end = npu_now() + NPU_PATIENCE_S;
	uint64_t completed, before = 0, now;

	npu_submit_endless(self->fd, ctx.id, data.va, syncobj);
	/* Read within one job; if this program had to wait too long, try again in the next job. */
	do {
		completed = npu_state(self->fd, ctx.id).completed;
		for (int i = 0; i < 3; i++) {
			while ((now = npu_fdinfo(self->fd, "drm-engine-npu")) <= before &&
			       npu_now() < end)
				usleep(1000);
			EXPECT_LT(before, now);
			before = now;
		}
	} while (npu_state(self->fd, ctx.id).completed != completed && npu_now() < end);
	EXPECT_EQ(completed, npu_state(self->fd, ctx.id).completed);
	EXPECT_EQ(0, npu_ctx_destroy(self->fd, ctx.id));
	EXPECT_EQ(ECANCELED, npu_wait(self->fd, syncobj));
	EXPECT_LE(now, npu_fdinfo(self->fd, "drm-engine-npu"));
}

static uint64_t monotonic_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

/*
 * The device time of all files is at most the time that has passed, whatever number of contexts
 * they have. The driver reads the same clock as this program, later than @begin and before @end.
 */
TEST_F(device, fdinfo_of_contexts_that_overlap)
{
	int fd[] = { self->fd, npu_open() };
	const int contexts[] = { 3, 1 };
	uint64_t before[2], after[2], begin, end;
	double patience = npu_now() + npu_patience() * NPU_PATIENCE_S;

	for (int i = 0; i < 2; i++) {
		struct npu_bo data = npu_bo(fd[i], NPU_LONG_BYTES, 0);

		for (int j = 0; j < contexts[i]; j++)
			npu_submit_endless(fd[i], npu_ctx(fd[i], 0).id, data.va,
					   npu_syncobj(fd[i]));
	}
	begin = monotonic_ns();
	for (int i = 0; i < 2; i++)
		before[i] = npu_fdinfo(fd[i], "drm-engine-npu");
	/* Wait for much longer than the reads take, and until each file has had a time slice. */
	do {
		usleep(10000);
		for (int i = 0; i < 2; i++)
			after[i] = npu_fdinfo(fd[i], "drm-engine-npu");
	} while ((after[0] - before[0] < 100000000 || after[1] <= before[1]) &&
		 npu_now() < patience);
	end = monotonic_ns();
	EXPECT_LE(100000000, after[0] - before[0]);
	EXPECT_LT(before[1], after[1]);
	EXPECT_GE(end - begin, after[0] - before[0] + after[1] - before[1]);
	close(fd[1]);
}

/* A context takes memory of its own, until it is destroyed and its completion page is unmapped. */
TEST_F(device, memory_of_contexts)
{
	struct npu_bo data = npu_bo(self->fd, 1 << 20, 0);
	uint64_t total = npu_settled_memory(self->fd, data.size);
	uint64_t client = npu_counters(self->fd).client_memory;
	uint64_t user = npu_counters(self->fd).user_memory;
	double end = npu_now() + NPU_PATIENCE_S;
	struct npu_ctx ctx;

	EXPECT_EQ(data.size, client);
	EXPECT_LT(data.size, user);
	EXPECT_EQ(client, npu_fdinfo(self->fd, "drm-total-memory"));
	ctx = npu_ctx(self->fd, 0);
	EXPECT_EQ(client, npu_counters(self->fd).client_memory);
	EXPECT_LT(user + npu_caps(self->fd).save_bytes, npu_counters(self->fd).user_memory);
	EXPECT_LT(client + npu_caps(self->fd).save_bytes, npu_fdinfo(self->fd, "drm-total-memory"));
	EXPECT_EQ(npu_fdinfo(self->fd, "drm-total-memory"),
		  npu_fdinfo(self->fd, "drm-resident-memory"));
	EXPECT_LT(total + npu_caps(self->fd).save_bytes, npu_counters(self->fd).memory);
	munmap((void *)ctx.page, (size_t)sysconf(_SC_PAGESIZE));
	EXPECT_EQ(0, npu_ctx_destroy(self->fd, ctx.id));
	while ((npu_counters(self->fd).memory != total ||
		npu_fdinfo(self->fd, "drm-total-memory") != client) &&
	       npu_now() < end)
		usleep(10000);
	EXPECT_EQ(total, npu_counters(self->fd).memory);
	EXPECT_EQ(client, npu_fdinfo(self->fd, "drm-total-memory"));
}

static uint64_t attribute(const char *name)
{
	char path[128], text[64] = "";
	FILE *file;

	snprintf(path, sizeof(path), "/sys/class/accel/accel0/device/%s", name);
	file = fopen(path, "re");
	must(file && fgets(text, sizeof(text), file));
	fclose(file);
	return strtoull(text, NULL, 10);
}

TEST_F(device, sysfs)
{
	uint64_t busy = attribute("npu_busy_time_us"), memory = attribute("npu_memory_utilization");
	struct npu_bo data = npu_bo(self->fd, NPU_LONG_BYTES, 0);
	struct npu_ctx ctx = npu_ctx(self->fd, 0);
	struct drm_onpu_job job = npu_fill(self->fd, data.va, NPU_LONG_BYTES, 1);

	for (int i = 0; i < 20; i++)
		EXPECT_EQ(0, npu_run(self->fd, ctx.id, &job));
	EXPECT_LT(busy, attribute("npu_busy_time_us"));
	EXPECT_LE(memory + NPU_LONG_BYTES, attribute("npu_memory_utilization"));
	EXPECT_LT(0, attribute("npu_max_frequency_mhz"));
	EXPECT_EQ(npu_counters(self->fd).resets, attribute("reset_count"));
}

TEST_HARNESS_MAIN
