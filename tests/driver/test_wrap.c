// SPDX-License-Identifier: MIT
/*
 * BO_WRAP, which makes memory of the process a buffer: its effects, what becomes of the memory when
 * mapping, file or process change meanwhile, and the arguments that it refuses.
 */
#include "harness.h"
#include "npu.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <xf86drm.h>

#define BYTES NPU_LONG_BYTES

static uint8_t *map_shared(uint64_t size)
{
	void *map = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	must(map != MAP_FAILED);
	return map;
}

static uint8_t *map_file(int file, uint64_t size, int protection)
{
	void *map = mmap(NULL, size, protection, MAP_SHARED, file, 0);

	must(map != MAP_FAILED);
	return map;
}

static int memory_file(uint64_t size)
{
	int file = memfd_create("wrap", MFD_CLOEXEC);

	must(file >= 0 && !ftruncate(file, (off_t)size));
	return file;
}

/* Returns a job that copies @size bytes. */
static struct drm_onpu_job copy(int fd, uint64_t to, uint64_t from, uint32_t size)
{
	struct npu_program program = npu_program(fd, 1);

	npu_insn(&program,
		 (struct onpu_insn){
			 .op = ONPU_OP_DMA_COPY,
			 .ch = 1,
			 .s0 = npu_tensor(&program, ONPU_DT_U8, ONPU_SPACE_VA, from, size),
			 .dst = npu_tensor(&program, ONPU_DT_U8, ONPU_SPACE_VA, to, size),
		 });
	return npu_job(&program);
}

/*
 * Waits a while for the user's memory to fall below @bytes, because buffers are freed later, and
 * returns whether it does. Page tables of freed buffers still count.
 */
static bool settles_below(int fd, uint64_t bytes)
{
	double end = npu_now() + NPU_PATIENCE_S * npu_patience();

	while (npu_counters(fd).user_memory >= bytes && npu_now() < end)
		usleep(1000);
	return npu_counters(fd).user_memory < bytes;
}

/* ---- refused arguments */

FIXTURE(arguments)
{
	int fd;
	uint8_t *memory; /* four pages, mapped shared */
	uint64_t page;
	struct drm_onpu_bo_wrap args;
};

FIXTURE_VARIANT(arguments)
{
	void (*spoil)(FIXTURE_DATA(arguments) * a);
	int error;
};

FIXTURE_SETUP(arguments)
{
	self->fd = npu_open();
	self->page = npu_page();
	self->memory = map_shared(4 * self->page);
	self->args.address = (uintptr_t)self->memory;
	self->args.size = 4 * self->page;
}

FIXTURE_TEARDOWN(arguments)
{
	close(self->fd);
}

static void remap(FIXTURE_DATA(arguments) * a, unsigned int page, int protection, int flags,
		  int file)
{
	void *at = a->memory + page * a->page;

	must(mmap(at, a->page, protection, MAP_FIXED | flags, file, 0) == at);
}

static void allow_locked(uint64_t bytes)
{
	struct rlimit limit = { .rlim_cur = bytes, .rlim_max = RLIM_INFINITY };

	must(!getrlimit(RLIMIT_MEMLOCK, &limit));
	limit.rlim_cur = bytes;
	must(!setrlimit(RLIMIT_MEMLOCK, &limit));
}

#define ANON MAP_ANONYMOUS

REFUSED(arguments, no_size, EINVAL, a->args.size = 0);
REFUSED(arguments, odd_address, EINVAL, a->args.address += 64);
REFUSED(arguments, other_flag, EINVAL, a->args.flags = DRM_ONPU_BO_WC);
REFUSED(arguments, flag_of_the_result, EINVAL, a->args.flags = DRM_ONPU_BO_WRAPPED);
REFUSED(arguments, handle, EINVAL, a->args.handle = 1);
REFUSED(arguments, device_address, EINVAL, a->args.va = 1 << 20);
REFUSED(arguments, size_that_wraps, EINVAL, a->args.size = UINT64_MAX);
REFUSED(arguments, beyond_all_addresses, ENOSPC, a->args.size = 1ull << 40);
REFUSED(arguments, beyond_the_limit, ENOSPC, a->args.size = npu_info(a->fd).memory_limit + 1);
REFUSED(arguments, not_mapped, EFAULT, munmap(a->memory, 4 * a->page));
REFUSED(arguments, a_hole, EFAULT, munmap(a->memory + 2 * a->page, a->page));
REFUSED(arguments, past_the_end, EFAULT, munmap(a->memory + 3 * a->page, a->page));
REFUSED(arguments, address_of_the_kernel, EFAULT, a->args.address = 0 - (uint64_t)(1 << 30));
REFUSED(arguments, a_private_page, EOPNOTSUPP,
	remap(a, 3, PROT_READ | PROT_WRITE, MAP_PRIVATE | ANON, -1));
REFUSED(arguments, a_private_page_to_read, EOPNOTSUPP, a->args.flags = DRM_ONPU_BO_DEVICE_RO;
	remap(a, 0, PROT_READ, MAP_PRIVATE | ANON, -1));
REFUSED(arguments, a_page_to_read, EFAULT, remap(a, 2, PROT_READ, MAP_SHARED | ANON, -1));
REFUSED(arguments, no_access, EFAULT, a->args.flags = DRM_ONPU_BO_DEVICE_RO;
	remap(a, 2, PROT_NONE, MAP_SHARED | ANON, -1));
REFUSED(arguments, past_the_end_of_a_file, EFAULT,
	remap(a, 1, PROT_READ | PROT_WRITE, MAP_SHARED, memory_file(0)));
REFUSED(arguments, memory_of_a_device, EFAULT, struct npu_bo bo = npu_bo(a->fd, 4 * a->page, 0);
	a->args.address = (uintptr_t)bo.map; npu_gem_close(a->fd, bo.handle));
/* Root may lock any memory; as root, ask for more than there are addresses. */
REFUSED(arguments, beyond_what_may_be_locked, ENOSPC, allow_locked(3 * a->page);
	a->args.size = geteuid() ? a->args.size : 1ull << 40);

TEST_F(arguments, is_refused)
{
	struct drm_onpu_bo_wrap args;

	variant->spoil(self);
	args = self->args;
	EXPECT_EQ(variant->error, npu_ioctl(self->fd, DRM_IOCTL_ONPU_BO_WRAP, &args));
	EXPECT_EQ(0, memcmp(&args, &self->args, sizeof(args)));
	EXPECT_EQ(0, npu_counters(self->fd).client_memory);
	/* No handle was given out. */
	EXPECT_EQ(EINVAL, npu_gem_close(self->fd, 1));
}

/* ---- use */

FIXTURE(wrap)
{
	int fd;
	struct npu_ctx ctx;
	uint64_t before; /* the user's memory */
};

FIXTURE_SETUP(wrap)
{
	self->fd = npu_open();
	self->ctx = npu_ctx(self->fd, 0);
	self->before = npu_counters(self->fd).user_memory;
}

FIXTURE_TEARDOWN(wrap)
{
	close(self->fd);
}

TEST_F(wrap, both_sides_see_each_other)
{
	uint8_t *memory = map_shared(BYTES);
	struct npu_bo bo = npu_wrap(self->fd, memory, BYTES, 0);
	struct npu_bo to = npu_bo(self->fd, BYTES, 0);
	struct drm_onpu_job job = npu_fill(self->fd, bo.va, BYTES, 0x31);

	EXPECT_EQ(0, npu_run(self->fd, self->ctx.id, &job));
	EXPECT_TRUE(npu_sees(memory, BYTES, 0x31));
	memset(memory, 0x32, BYTES);
	npu_flush(memory, BYTES);
	job = copy(self->fd, to.va, bo.va, BYTES);
	EXPECT_EQ(0, npu_run(self->fd, self->ctx.id, &job));
	EXPECT_TRUE(npu_sees(to.map, BYTES, 0x32));
}

TEST_F(wrap, its_properties)
{
	uint8_t *memory = map_shared(BYTES);
	struct npu_bo bo = npu_wrap(self->fd, memory, BYTES - 1, DRM_ONPU_BO_DEVICE_RO);
	struct drm_onpu_bo_info info = npu_bo_info(self->fd, bo.handle);
	int file;

	EXPECT_EQ(BYTES, bo.size);
	EXPECT_EQ(BYTES, info.size);
	EXPECT_EQ(bo.va, info.va);
	EXPECT_EQ(0, info.mmap_offset);
	EXPECT_EQ(DRM_ONPU_BO_WRAPPED | DRM_ONPU_BO_DEVICE_RO, info.flags);
	EXPECT_EQ(-1, drmPrimeHandleToFD(self->fd, bo.handle, DRM_CLOEXEC, &file));
	EXPECT_EQ(EOPNOTSUPP, errno);
	EXPECT_EQ(BYTES, npu_counters(self->fd).client_memory);
	EXPECT_LE(self->before + BYTES, npu_counters(self->fd).user_memory);
}

/* The driver's own offsets are the only ones that mmap() takes, and a wrapped buffer has none. */
TEST_F(wrap, it_has_no_offset)
{
	struct npu_bo one = npu_bo(self->fd, 4096, 0);
	struct npu_bo bo = npu_wrap(self->fd, map_shared(4096), 4096, 0);
	struct npu_bo two = npu_bo(self->fd, 4096, 0);
	uint64_t first = npu_bo_info(self->fd, one.handle).mmap_offset;
	uint64_t last = npu_bo_info(self->fd, two.handle).mmap_offset;

	EXPECT_NE(0, bo.handle);
	for (uint64_t at = first; at <= last; at += npu_page()) {
		void *map = mmap(NULL, 4096, PROT_READ, MAP_SHARED, self->fd, (off_t)at);

		EXPECT_EQ(at == first || at == last, map != MAP_FAILED);
	}
}

/* A file that is open for reading serves the device as it is, and the device cannot write it. */
TEST_F(wrap, a_file_to_read)
{
	int file = open("/proc/self/exe", O_RDONLY);
	uint64_t page = npu_page();
	uint8_t *map = map_file(file, page, PROT_READ);
	struct npu_bo from = npu_wrap(self->fd, map, page, DRM_ONPU_BO_DEVICE_RO);
	struct npu_bo to = npu_bo(self->fd, page, 0);
	struct drm_onpu_job job = copy(self->fd, to.va, from.va, (uint32_t)page);

	EXPECT_EQ(0, npu_run(self->fd, self->ctx.id, &job));
	npu_refresh(to.map, page);
	EXPECT_EQ(0, memcmp(to.map, map, page));
	EXPECT_EQ(0, memcmp(to.map, "\177ELF", 4));
	job = npu_fill(self->fd, from.va, 64, 1);
	EXPECT_EQ(EFAULT, npu_run(self->fd, self->ctx.id, &job));
	EXPECT_EQ(0, memcmp(map, "\177ELF", 4));
}

/* The buffer keeps its pages when the mapping goes under a running job, and so does the file. */
TEST_F(wrap, the_mapping_goes)
{
	int file = memory_file(BYTES);
	uint8_t *map = map_file(file, BYTES, PROT_READ | PROT_WRITE), *again;
	struct npu_bo bo = npu_wrap(self->fd, map, BYTES, 0);
	struct drm_onpu_job job = npu_long(self->fd, bo.va);
	uint32_t syncobj = npu_syncobj(self->fd);

	EXPECT_EQ(0, npu_submit_signal(self->fd, self->ctx.id, job, syncobj));
	EXPECT_EQ(0, munmap(map, BYTES));
	EXPECT_EQ(0, npu_ctx_destroy(self->fd, self->ctx.id));
	EXPECT_EQ(ECANCELED, npu_wait(self->fd, syncobj));
	self->ctx = npu_ctx(self->fd, 0);
	job = npu_fill(self->fd, bo.va, BYTES, 0x41);
	EXPECT_EQ(0, npu_run(self->fd, self->ctx.id, &job));
	npu_refresh(bo.map, BYTES);
	again = map_file(file, BYTES, PROT_READ);
	EXPECT_TRUE(npu_all(again, BYTES, 0x41));
}

/* The buffer keeps the pages that a file no longer has; the file gets others. */
TEST_F(wrap, the_file_is_cut_short)
{
	int file = memory_file(BYTES);
	uint8_t *map = map_file(file, BYTES, PROT_READ | PROT_WRITE);
	struct npu_bo bo = npu_wrap(self->fd, map, BYTES, 0);
	struct npu_bo to = npu_bo(self->fd, BYTES, 0);
	struct drm_onpu_job job = npu_fill(self->fd, bo.va, BYTES, 0x51);

	EXPECT_EQ(0, ftruncate(file, 0));
	EXPECT_EQ(0, ftruncate(file, BYTES));
	EXPECT_EQ(0, npu_run(self->fd, self->ctx.id, &job));
	EXPECT_TRUE(npu_all(map, BYTES, 0));
	job = copy(self->fd, to.va, bo.va, BYTES);
	EXPECT_EQ(0, npu_run(self->fd, self->ctx.id, &job));
	EXPECT_TRUE(npu_sees(to.map, BYTES, 0x51));
}

/* When handle and mapping are closed under a running job, it cannot reach the pages' next owner. */
TEST_F(wrap, the_handle_goes)
{
	for (int round = 0; round < 10; round++) {
		struct npu_ctx ctx = npu_ctx(self->fd, 0);
		uint8_t *map = map_shared(BYTES), *next;
		struct npu_bo bo = npu_wrap(self->fd, map, BYTES, 0);
		struct drm_onpu_job job = npu_long(self->fd, bo.va);
		uint32_t syncobj = npu_syncobj(self->fd);

		EXPECT_EQ(0, npu_submit_signal(self->fd, ctx.id, job, syncobj));
		npu_bo_close(self->fd, &bo);
		EXPECT_EQ(EFAULT, npu_wait(self->fd, syncobj));
		next = map_shared(BYTES);
		memset(next, 0x61, BYTES);
		usleep(1000);
		EXPECT_TRUE(npu_all(next, BYTES, 0x61));
		munmap(next, BYTES);
		EXPECT_EQ(0, npu_ctx_destroy(self->fd, ctx.id));
		drmSyncobjDestroy(self->fd, syncobj);
	}
}

/* A child process inherits the mapping; the child's end changes nothing for the parent's buffer. */
TEST_F(wrap, a_child_process)
{
	uint8_t *map = map_shared(BYTES);
	struct npu_bo bo = npu_wrap(self->fd, map, BYTES, 0);
	struct drm_onpu_job job = npu_fill(self->fd, bo.va, BYTES, 0x71);
	int status, go[2];
	pid_t child;

	must(!pipe(go));
	child = fork();
	if (!child) {
		char byte;

		_exit(read(go[0], &byte, 1) == 1 && npu_all(map, BYTES, 0x71) ? 0 : 1);
	}
	EXPECT_EQ(0, npu_run(self->fd, self->ctx.id, &job));
	npu_refresh(map, BYTES);
	EXPECT_EQ(1, write(go[1], "", 1));
	EXPECT_EQ(child, waitpid(child, &status, 0));
	EXPECT_EQ(0, status);
	job = npu_fill(self->fd, bo.va, BYTES, 0x72);
	EXPECT_EQ(0, npu_run(self->fd, self->ctx.id, &job));
	EXPECT_TRUE(npu_sees(map, BYTES, 0x72));
}

/*
 * Pages that were given up count as free at once, towards the user's memory and RLIMIT_MEMLOCK,
 * which has room for one of these buffers.
 */
TEST_F(wrap, what_is_given_up_may_be_locked_again)
{
	uint8_t *map = map_shared(BYTES);

	allow_locked(BYTES + BYTES / 2);
	for (int round = 0; round < 50; round++) {
		struct npu_bo bo = npu_wrap(self->fd, map, BYTES, 0);

		ASSERT_EQ(0, npu_gem_close(self->fd, bo.handle));
	}
	EXPECT_TRUE(settles_below(self->fd, self->before + BYTES));
}

#define THREADS 4
#define ROUNDS	150

struct racer {
	int fd;
	uint8_t *map;
	bool stops;
	int wrong;
};

/* Runs as a thread: replaces single pages of a mapping that other threads wrap, until @stops. */
static void *remaps(void *data)
{
	struct racer *racer = data;
	uint64_t page = npu_page();

	for (unsigned int i = 0; !__atomic_load_n(&racer->stops, __ATOMIC_RELAXED); i++) {
		int kind = i % 3 ? MAP_SHARED : MAP_PRIVATE;

		mmap(racer->map + i % 16 * page, page, PROT_READ | PROT_WRITE,
		     MAP_FIXED | MAP_ANONYMOUS | kind, -1, 0);
	}
	return NULL;
}

static void *wraps(void *data)
{
	struct racer *racer = data;

	for (int round = 0; round < ROUNDS; round++) {
		struct drm_onpu_bo_wrap args = {
			.address = (uintptr_t)racer->map,
			.size = 16 * npu_page(),
		};
		int ret = npu_ioctl(racer->fd, DRM_IOCTL_ONPU_BO_WRAP, &args);

		if (ret == EOPNOTSUPP || ret == EFAULT)
			continue;
		racer->wrong |= ret || npu_gem_close(racer->fd, args.handle);
	}
	return NULL;
}

/* Threads wrap pages that another thread replaces meanwhile, and close buffers at once. */
TEST_F(wrap, threads_that_race)
{
	struct racer racer = { .fd = self->fd, .map = map_shared(16 * npu_page()) };
	pthread_t other, threads[THREADS];

	must(!pthread_create(&other, NULL, remaps, &racer));
	for (int i = 0; i < THREADS; i++)
		must(!pthread_create(&threads[i], NULL, wraps, &racer));
	for (int i = 0; i < THREADS; i++)
		must(!pthread_join(threads[i], NULL));
	__atomic_store_n(&racer.stops, true, __ATOMIC_RELAXED);
	must(!pthread_join(other, NULL));
	EXPECT_EQ(0, racer.wrong);
	EXPECT_TRUE(settles_below(self->fd, self->before + 16 * npu_page()));
}

TEST_HARNESS_MAIN
