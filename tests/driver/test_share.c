// SPDX-License-Identifier: MIT
/*
 * More contexts than hardware queues: no client keeps others from the device, interrupted jobs go
 * on where they were, and every fence signals. guest_queues.sh runs this with few queues.
 */
#include "harness.h"
#include "npu.h"

#include <errno.h>
#include <sys/mman.h>
#include <unistd.h>
#include <xf86drm.h>

/* The largest number of queues that a test can fill. */
#define FEW_QUEUES 8u

/*
 * Seconds within which a context must run whatever others do; generous, because it takes some
 * tenths of a second.
 */
#define SOON_S 30

/* Contexts of one client, with jobs that do not end. */
struct crowd {
	int fd;
	uint32_t count, ctx[64], syncobj[64];
};

static struct crowd crowd(uint32_t count, uint32_t priority)
{
	struct crowd c = { .fd = npu_open(), .count = count };
	struct npu_bo data = npu_bo(c.fd, NPU_LONG_BYTES, DRM_ONPU_BO_NO_MMAP);
	struct drm_onpu_job jobs[NPU_ENDLESS], job = npu_long(c.fd, data.va);

	for (unsigned int i = 0; i < NPU_ENDLESS; i++)
		jobs[i] = job;
	for (uint32_t i = 0; i < count; i++) {
		struct drm_onpu_ctx_create create = { .priority = priority };
		struct drm_onpu_sync sync = { .flags = DRM_ONPU_SYNC_SIGNAL };

		must(!npu_ctx_create(c.fd, &create));
		c.ctx[i] = create.ctx_id;
		c.syncobj[i] = sync.handle = npu_syncobj(c.fd);
		jobs[NPU_ENDLESS - 1].syncs =
			(struct drm_onpu_obj_array)DRM_ONPU_OBJ_ARRAY(1, &sync);
		must(!npu_submit(c.fd, c.ctx[i], jobs, NPU_ENDLESS, NULL));
	}
	return c;
}

FIXTURE(share)
{
	int fd;
	uint32_t queues;
	struct drm_onpu_dev_info info;
	struct npu_bo data;
};

FIXTURE_SETUP(share)
{
	self->fd = npu_open();
	self->queues = npu_num_queues(self->fd);
	self->info = npu_info(self->fd);
	self->data = npu_bo(self->fd, NPU_LONG_BYTES, 0);
	if (self->queues > FEW_QUEUES)
		SKIP(return, "there are %u queues: see guest_queues.sh", self->queues);
}

FIXTURE_TEARDOWN(share)
{
	close(self->fd);
}

/*
 * One client has as many contexts as it may have, but at most 64, and all of them work all the
 * time.
 */
TEST_F(share, one_client_cannot_keep_the_device)
{
	uint32_t count = self->info.max_contexts < 64 ? self->info.max_contexts : 64;
	struct crowd c = crowd(count, DRM_ONPU_PRIORITY_NORMAL);
	struct npu_ctx ctx = npu_ctx(self->fd, 0);
	struct drm_onpu_job job = npu_fill(self->fd, self->data.va, 4096, 7);
	double end;

	ASSERT_LT(self->queues, count);
	for (int round = 0; round < 4; round++) {
		double begin = npu_now();

		ASSERT_EQ(0, npu_run(self->fd, ctx.id, &job));
		EXPECT_GT(SOON_S * npu_patience(), npu_now() - begin);
	}
	/* Each context of the crowd has run, too. */
	end = npu_now() + npu_patience() * NPU_PATIENCE_S;
	for (uint32_t i = 0; i < count; i++) {
		while (!npu_state(c.fd, c.ctx[i]).busy_ns && npu_now() < end)
			usleep(10000);
		EXPECT_NE(0, npu_state(c.fd, c.ctx[i]).busy_ns);
		EXPECT_EQ(DRM_ONPU_CTX_ACTIVE, npu_state(c.fd, c.ctx[i]).state);
	}
	for (uint32_t i = 0; i < count; i++)
		EXPECT_EQ(0, npu_ctx_destroy(c.fd, c.ctx[i]));
	for (uint32_t i = 0; i < count; i++)
		EXPECT_EQ(ECANCELED, npu_wait(c.fd, c.syncobj[i]));
	close(c.fd);
}

#define CELLS 24
#define CELL  4096u

/*
 * Returns a job that moves the contents of the first cell from each cell to the next one, and
 * clears the old cell, with much other work in between. If a step is repeated or left out, the last
 * cell does not get the contents.
 */
static struct drm_onpu_job relay(int fd, uint64_t cells, uint64_t load, unsigned int fills)
{
	struct npu_program program = npu_program(fd, CELLS * (2 + 2 * fills));
	const struct onpu_slot_param_fill fill = {
		.kind = ONPU_SLOT_PARAM,
		.schema = ONPU_SCHEMA_FILL,
	};
	uint16_t zero = npu_slot(&program, &fill), slot[CELLS + 1];
	uint16_t rest = npu_tensor(&program, ONPU_DT_U8, ONPU_SPACE_VA, load, 1 << 20);

	for (uint32_t i = 0; i <= CELLS; i++)
		slot[i] = npu_tensor(&program, ONPU_DT_U8, ONPU_SPACE_VA, cells + i * CELL, CELL);
	for (uint32_t i = 0; i < CELLS; i++) {
		npu_insn(&program, (struct onpu_insn){ .op = ONPU_OP_DMA_COPY,
						       .ch = 1,
						       .s0 = slot[i],
						       .dst = slot[i + 1] });
		npu_insn(&program,
			 (struct onpu_insn){
				 .op = ONPU_OP_DMA_FILL, .ch = 1, .dst = slot[i], .param = zero });
		for (unsigned int j = 0; j < fills; j++) {
			npu_insn(&program, (struct onpu_insn){ .op = ONPU_OP_DMA_FILL,
							       .ch = 1,
							       .dst = rest,
							       .param = zero });
			npu_insn(&program, (struct onpu_insn){ .op = ONPU_OP_PREEMPT });
		}
	}
	return npu_job(&program);
}

/* Jobs that take longer than a time slice, two in one submission and one after them. */
TEST_F(share, interrupted_jobs_go_on)
{
	enum { CONTEXTS = 12, JOBS = 3 };
	struct npu_ctx ctx[CONTEXTS];
	struct npu_bo cells[CONTEXTS];
	uint32_t syncobj[CONTEXTS];
	uint64_t cycles;

	ASSERT_GT(CONTEXTS, self->queues);
	for (int i = 0; i < CONTEXTS; i++) {
		ctx[i] = npu_ctx(self->fd, 0);
		cells[i] = npu_bo(self->fd, JOBS * (CELLS + 1) * CELL, 0);
		syncobj[i] = npu_syncobj(self->fd);
	}
	for (int i = 0; i < CONTEXTS; i++) {
		struct drm_onpu_job job[JOBS];

		for (uint32_t j = 0; j < JOBS; j++) {
			uint32_t at = j * (CELLS + 1) * CELL;

			memset(cells[i].map + at, i + 1, CELL);
			npu_flush(cells[i].map + at, CELL);
			job[j] = relay(self->fd, cells[i].va + at, self->data.va, 200);
		}
		ASSERT_EQ(0, npu_submit(self->fd, ctx[i].id, job, 2, NULL));
		ASSERT_EQ(0, npu_submit_signal(self->fd, ctx[i].id, job[2], syncobj[i]));
	}
	for (int i = 0; i < CONTEXTS; i++) {
		ASSERT_EQ(0, npu_wait(self->fd, syncobj[i]));
		EXPECT_EQ(JOBS, npu_state(self->fd, ctx[i].id).completed);
		for (uint32_t j = 0; j < JOBS; j++) {
			uint8_t *at = cells[i].map + j * (CELLS + 1) * CELL;

			EXPECT_TRUE(npu_sees(at, CELLS * CELL, 0));
			EXPECT_TRUE(npu_sees(at + CELLS * CELL, CELL, (uint8_t)(i + 1)));
		}
	}
	/* Each context took the same number of cycles, however often it was interrupted. */
	cycles = npu_state(self->fd, ctx[0].id).cycles;
	for (int i = 1; i < CONTEXTS; i++)
		EXPECT_EQ(cycles, npu_state(self->fd, ctx[i].id).cycles);
}

/*
 * Contexts are destroyed, or their client closes its file, while jobs are interrupted or wait to
 * run: all fences signal, and the device works afterwards.
 */
TEST_F(share, ends_of_interrupted_jobs)
{
	for (unsigned int round = 0; round < 6; round++) {
		struct crowd c = crowd(self->queues + 3, DRM_ONPU_PRIORITY_NORMAL);
		uint32_t theirs;
		int file;

		ASSERT_EQ(0, drmSyncobjHandleToFD(c.fd, c.syncobj[0], &file));
		ASSERT_EQ(0, drmSyncobjFDToHandle(self->fd, file, &theirs));
		close(file);
		usleep(60000 * round);
		for (uint32_t i = 0; i < c.count && round % 2; i++) {
			ASSERT_EQ(0, npu_ctx_destroy(c.fd, c.ctx[i]));
			ASSERT_EQ(ECANCELED, npu_wait(c.fd, c.syncobj[i]));
		}
		/* A mapping would keep the file open. */
		npu_unmap_programs();
		close(c.fd);
		EXPECT_EQ(ECANCELED, npu_wait(self->fd, theirs));
	}
	for (int i = 0; i < 3; i++) {
		struct npu_ctx ctx = npu_ctx(self->fd, 0);
		struct drm_onpu_job job = npu_fill(self->fd, self->data.va, 4096, 1);

		ASSERT_EQ(0, npu_run(self->fd, ctx.id, &job));
	}
}

/* Among contexts that wait, one of low priority runs, too. */
TEST_F(share, low_priority_does_not_starve)
{
	struct crowd c = crowd(self->queues + 4, DRM_ONPU_PRIORITY_NORMAL);
	struct npu_ctx low = npu_ctx_of(self->fd, DRM_ONPU_PRIORITY_LOW, 0);
	struct drm_onpu_job job = npu_fill(self->fd, self->data.va, 4096, 7);

	EXPECT_EQ(0, npu_run(self->fd, low.id, &job));
	for (uint32_t i = 0; i < c.count; i++)
		EXPECT_EQ(0, npu_ctx_destroy(c.fd, c.ctx[i]));
	close(c.fd);
}

/* ---- device time, with any number of queues */

/* The cycles of a time slice of the firmware: a millisecond of the nominal clock. */
#define SLICE ((uint64_t)ONPU_CAP_CLOCK_KHZ__RESET)

/*
 * Cycles over which shares are compared: sixty time slices of the firmware or, if the contexts have
 * to share the queues, twenty-five times the tenth of a second after which a queue is taken away.
 */
#define MANY_SLICES	  (60 * SLICE)
#define MANY_QUEUE_SLICES UINT64_C(2500000000)

/*
 * Opens a client with @contexts contexts; returns its file descriptor. Each context gets 1024 jobs
 * of 16 or 128 fills, 32,000 cycles a fill: work for more cycles than @share.
 */
static int busy_client(uint32_t contexts, uint64_t share)
{
	int fd = npu_open();
	uint32_t fills = share == MANY_QUEUE_SLICES ? 128 : 16;
	struct npu_bo data = npu_bo(fd, 1 << 20, DRM_ONPU_BO_NO_MMAP);
	struct npu_program program = npu_program(fd, 2 * fills);
	const struct onpu_slot_param_fill fill = {
		.kind = ONPU_SLOT_PARAM,
		.schema = ONPU_SCHEMA_FILL,
	};
	uint16_t zero = npu_slot(&program, &fill);
	uint16_t all = npu_tensor(&program, ONPU_DT_U8, ONPU_SPACE_VA, data.va, 1 << 20);
	struct drm_onpu_job job[256];

	/*
	 * A job has few fills: device_cycles() may not count the job that is running, and so misses
	 * few cycles.
	 */
	for (uint32_t i = 0; i < fills; i++) {
		npu_insn(&program,
			 (struct onpu_insn){
				 .op = ONPU_OP_DMA_FILL, .ch = 1, .dst = all, .param = zero });
		npu_insn(&program, (struct onpu_insn){ .op = ONPU_OP_PREEMPT });
	}
	job[0] = npu_job(&program);
	for (unsigned int i = 1; i < 256; i++)
		job[i] = job[0];
	for (uint32_t i = 0; i < contexts; i++) {
		struct npu_ctx ctx = npu_ctx(fd, 0);

		for (int j = 0; j < 4; j++)
			must(!npu_submit(fd, ctx.id, job, 256, NULL));
	}
	return fd;
}

static uint64_t device_cycles(int fd)
{
	return npu_fdinfo(fd, "drm-cycles-npu");
}

static uint64_t device_clock(int fd)
{
	struct drm_onpu_time_info info;
	struct drm_onpu_dev_query query = {
		.type = DRM_ONPU_DEV_QUERY_TIME,
		.size = sizeof(info),
		.pointer = (uintptr_t)&info,
	};

	must(!npu_ioctl(fd, DRM_IOCTL_ONPU_DEV_QUERY, &query));
	return info.cycles;
}

#define CLIENTS 3

/*
 * Reads the cycles of all clients at nearly one time: at most @nearly_nothing cycles pass between
 * the first and the last read. On a busy machine, which may never be that fast, the result is that
 * of the fastest of 50 attempts.
 */
static void all_cycles(const int *fd, uint64_t *cycles, uint64_t nearly_nothing)
{
	uint64_t least = UINT64_MAX;

	for (int tries = 0; tries < 50 && least > nearly_nothing; tries++) {
		uint64_t begin = device_clock(fd[0]), now[CLIENTS], passed;

		for (int i = 0; i < CLIENTS; i++)
			now[i] = device_cycles(fd[i]);
		passed = device_clock(fd[0]) - begin;
		if (passed >= least)
			continue;
		least = passed;
		memcpy(cycles, now, sizeof(now));
	}
}

FIXTURE(clients){};

FIXTURE_SETUP(clients)
{
}

FIXTURE_TEARDOWN(clients)
{
}

/* Clients that always have work get equal shares, whatever number of contexts they have. */
TEST_F(clients, share_the_device)
{
	const uint32_t contexts[CLIENTS] = { 1, 2, 4 };
	uint64_t before[CLIENTS], cycles[CLIENTS], share, sum = 0;
	/* The work takes a minute on a busy machine. */
	double end = npu_now() + 2 * npu_patience() * NPU_PATIENCE_S;
	int fd[CLIENTS] = { npu_open() };

	share = npu_num_queues(fd[0]) < 1 + 2 + 4 ? MANY_QUEUE_SLICES : MANY_SLICES;
	close(fd[0]);
	for (int i = 0; i < CLIENTS; i++)
		fd[i] = busy_client(contexts[i], share);
	for (int i = 0; i < CLIENTS; i++)
		while (!(before[i] = device_cycles(fd[i])) && npu_now() < end)
			usleep(1000);
	all_cycles(fd, before, share / 50);
	while (device_cycles(fd[0]) - before[0] < share && npu_now() < end)
		usleep(1000);
	all_cycles(fd, cycles, share / 50);
	for (int i = 0; i < CLIENTS; i++) {
		cycles[i] -= before[i];
		sum += cycles[i];
	}
	for (int i = 0; i < CLIENTS; i++) {
		printf("# %u contexts: %llu cycles, %llu in a thousand\n", contexts[i],
		       (unsigned long long)cycles[i], (unsigned long long)(1000 * cycles[i] / sum));
		EXPECT_LT(CLIENTS * 10 * cycles[i], 11 * sum);
		EXPECT_GT(CLIENTS * 10 * cycles[i], 9 * sum);
	}
	EXPECT_LE(share, cycles[0]);
	/* The exit of this process ends the jobs. */
}

/*
 * A job of high priority waits for at most two time slices, whatever jobs others have. While the
 * driver submits the job, the device goes on, so the shortest wait of many rounds counts; the
 * rounds end with the first one that is short enough.
 */
TEST_F(share, high_priority_waits_for_two_slices)
{
	struct drm_onpu_job job = npu_fill(self->fd, self->data.va, 4096, 7);
	uint64_t cycles, least = UINT64_MAX;
	const struct onpu_completion *page;
	struct npu_ctx high;
	int others;

	if (geteuid())
		SKIP(return, "only root may ask for the highest");
	high = npu_ctx_of(self->fd, DRM_ONPU_PRIORITY_HIGH, 0);
	page = (const void *)high.page;
	others = busy_client(self->queues + 4, MANY_SLICES);
	for (int round = 0; round < 1000 && least >= 2 * SLICE; round++) {
		usleep(5000);
		cycles = device_clock(self->fd);
		ASSERT_EQ(0, npu_run(self->fd, high.id, &job));
		cycles = page->end_cycle - cycles;
		least = cycles < least ? cycles : least;
	}
	printf("# it waited for %llu cycles\n", (unsigned long long)least);
	EXPECT_GT(2 * npu_patience() * SLICE, least);
	close(others);
}

/* ---- limits of a job; only where a test can wait for them */

static unsigned int parameter(const char *name)
{
	unsigned int value = 0;
	char path[80];
	FILE *file;

	snprintf(path, sizeof(path), "/sys/module/onpu/parameters/%s", name);
	file = fopen(path, "re");
	must(file && fscanf(file, "%u", &value) == 1);
	fclose(file);
	return value;
}

TEST_F(share, a_job_that_runs_too_long)
{
	struct npu_ctx ctx = npu_ctx(self->fd, 0);
	uint32_t syncobj = npu_syncobj(self->fd);
	struct drm_onpu_job job = npu_fill(self->fd, self->data.va, 4096, 1);

	if (parameter("max_run_ms") > 1000)
		SKIP(return, "it may take %u ms", parameter("max_run_ms"));
	ASSERT_EQ(0,
		  npu_submit_signal(self->fd, ctx.id, npu_long(self->fd, self->data.va), syncobj));
	EXPECT_EQ(ETIME, npu_wait(self->fd, syncobj));
	EXPECT_EQ(DRM_ONPU_CTX_FAULT, npu_state(self->fd, ctx.id).state);
	/*
	 * A limit of the job that is lower than the administrator's applies, a higher one does not.
	 */
	for (int higher = 0; higher < 2; higher++) {
		struct drm_onpu_job own = higher ? npu_long(self->fd, self->data.va) : job;

		own.cycle_limit = higher ? UINT64_MAX : 1;
		ctx = npu_ctx(self->fd, 0);
		EXPECT_EQ(ETIME, npu_run(self->fd, ctx.id, &own));
	}
	ctx = npu_ctx(self->fd, 0);
	EXPECT_EQ(0, npu_run(self->fd, ctx.id, &job));
}

/* Jobs without end are ended in all contexts of a client: no fence is left that never signals. */
TEST_F(share, every_job_without_end_is_ended)
{
	struct npu_ctx ctx = npu_ctx(self->fd, 0);
	struct drm_onpu_job job = npu_fill(self->fd, self->data.va, 4096, 7);
	struct crowd c;

	if (parameter("max_run_ms") > 1000)
		SKIP(return, "each may take %u ms", parameter("max_run_ms"));
	c = crowd(self->info.max_contexts < 64 ? self->info.max_contexts : 64,
		  DRM_ONPU_PRIORITY_NORMAL);
	for (uint32_t i = 0; i < c.count; i++) {
		EXPECT_EQ(ETIME, npu_wait(c.fd, c.syncobj[i]));
		EXPECT_NE(DRM_ONPU_CTX_ACTIVE, npu_state(c.fd, c.ctx[i]).state);
	}
	EXPECT_EQ(0, npu_run(self->fd, ctx.id, &job));
	close(c.fd);
}

static void submit_without_syncs(int fd, uint32_t ctx, uint64_t va)
{
	struct drm_onpu_job jobs[NPU_ENDLESS], job = npu_long(fd, va);

	for (unsigned int i = 0; i < NPU_ENDLESS; i++)
		jobs[i] = job;
	must(!npu_submit(fd, ctx, jobs, NPU_ENDLESS, NULL));
}

/*
 * Every fence signals in the time that is allowed, also when jobs make progress or wait for a
 * queue. A context for long work, which began before, goes on.
 */
TEST_F(share, no_fence_waits_for_long_work)
{
	struct drm_onpu_ctx_create create = { .flags = DRM_ONPU_CTX_LONG_RUNNING };

	if (parameter("max_fence_ms") > 10000)
		SKIP(return, "a fence may wait for %u ms", parameter("max_fence_ms"));
	ASSERT_EQ(0, npu_ctx_create(self->fd, &create));
	submit_without_syncs(self->fd, create.ctx_id, self->data.va);
	/* The second time the long work is much older than the limit. */
	for (int round = 0; round < 2; round++) {
		struct crowd c = crowd(self->queues + 2, DRM_ONPU_PRIORITY_NORMAL);

		for (uint32_t i = 0; i < c.count; i++) {
			EXPECT_EQ(ETIME, npu_wait(c.fd, c.syncobj[i]));
			EXPECT_EQ(DRM_ONPU_CTX_TIMEDOUT, npu_state(c.fd, c.ctx[i]).state);
		}
		close(c.fd);
		EXPECT_EQ(DRM_ONPU_CTX_ACTIVE, npu_state(self->fd, create.ctx_id).state);
	}
	EXPECT_EQ(0, npu_ctx_destroy(self->fd, create.ctx_id));
}

/*
 * Returns whether the driver ends a job of low priority that has waited too long for the others,
 * and none of the others.
 */
static bool one_waits_too_long(struct __test_metadata *_metadata, FIXTURE_DATA(share) * self)
{
	struct npu_ctx low = npu_ctx_of(self->fd, DRM_ONPU_PRIORITY_LOW, 0);
	struct drm_onpu_job job = npu_fill(self->fd, self->data.va, 4096, 7);
	struct crowd c = crowd(self->queues + 4, DRM_ONPU_PRIORITY_NORMAL);
	uint32_t syncobj = npu_syncobj(self->fd);
	bool good;

	must(!npu_submit_signal(self->fd, low.id, job, syncobj));
	good = npu_wait(self->fd, syncobj) == ETIME;
	EXPECT_EQ(good ? DRM_ONPU_CTX_TIMEDOUT : DRM_ONPU_CTX_ACTIVE,
		  npu_state(self->fd, low.id).state);
	for (uint32_t i = 0; i < c.count; i++) {
		good = good && npu_state(c.fd, c.ctx[i]).state == DRM_ONPU_CTX_ACTIVE;
		EXPECT_EQ(0, npu_ctx_destroy(c.fd, c.ctx[i]));
	}
	close(c.fd);
	return good;
}

/*
 * A context that waits for a queue comes after those of higher priority, until its wait raises its
 * priority. The others share the queues in slices of a tenth of a second. On a busy machine others
 * may wait as long, or the context of low priority may get a queue because another is late; then
 * the test tries again.
 */
TEST_F(share, a_job_that_waits_too_long)
{
	bool good = false;

	if (parameter("max_wait_ms") > 10000)
		SKIP(return, "it may wait for %u ms", parameter("max_wait_ms"));
	for (int tries = 0; tries < 5 && !good; tries++)
		good = one_waits_too_long(_metadata, self);
	EXPECT_TRUE(good);
}

TEST_HARNESS_MAIN
