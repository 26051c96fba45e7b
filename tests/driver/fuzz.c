// SPDX-License-Identifier: MIT
/*
 * Random calls of the driver: driver-fuzz [-n CALLS] [-s SEED] [-t THREADS], for guest_fuzz.sh.
 * Most arguments are nearly right, so that calls get far; the rest is random. With one thread, a
 * seed determines all calls. Each thread has files of its own, and all share one, in which they use
 * each other's numbers by guessing.
 *
 * No call may do harm: each returns an errno of the interface, another client (the canary) computes
 * correctly all the time, the device is never reset, and in the end all memory is freed. A line for
 * each ioctl, and a last one for all calls, tell how many calls there were, how many were accepted
 * and, on a kernel with KCOV, how many code positions they reached: in the kernel, and in the
 * driver if it was built for KCOV.
 */
#include "npu.h"

#include "../random.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>
#include <xf86drm.h>

#define MAX_THREADS  8
#define FILES	     3 /* the last one is shared */
#define POOL	     16
#define PAGE	     4096u
#define CANARY	     65536u
#define SHARED_PAGES 16
/* The first thread runs the canary once in this number of calls. */
#define CANARY_EVERY 500

#define KCOV_INIT_TRACE _IOR('c', 1, unsigned long)
#define KCOV_ENABLE	_IO('c', 100)
#define KCOV_DISABLE	_IO('c', 101)
#define KCOV_WORDS	(64u << 10)

/* Numbers that calls have returned; a new number replaces the oldest. */
struct pool {
	uint64_t number[POOL];
	unsigned int count;
};

/* The objects of one open file. */
struct client {
	int fd;
	struct pool bos, ctxs, syncobjs, addresses, offsets;
};

/* The ioctls, with the numbers that DRM's core and the driver give them, in the report's order. */
#define IOCTL(name) { _IOC_NR(DRM_IOCTL_##name), #name }
static const struct {
	unsigned int number;
	const char *name;
} ioctls[] = {
	IOCTL(ONPU_DEV_QUERY),	   IOCTL(ONPU_BO_CREATE),	IOCTL(ONPU_BO_INFO),
	IOCTL(ONPU_BO_SYNC),	   IOCTL(ONPU_CTX_CREATE),	IOCTL(ONPU_CTX_DESTROY),
	IOCTL(ONPU_CTX_GET_STATE), IOCTL(ONPU_SUBMIT),		IOCTL(GEM_CLOSE),
	IOCTL(PRIME_HANDLE_TO_FD), IOCTL(PRIME_FD_TO_HANDLE),	IOCTL(SYNCOBJ_CREATE),
	IOCTL(SYNCOBJ_DESTROY),	   IOCTL(SYNCOBJ_WAIT),		IOCTL(SYNCOBJ_SIGNAL),
	IOCTL(SYNCOBJ_RESET),	   IOCTL(SYNCOBJ_HANDLE_TO_FD), IOCTL(SYNCOBJ_FD_TO_HANDLE),
	IOCTL(ONPU_BO_WRAP),
};
#define IOCTLS (sizeof(ioctls) / sizeof(ioctls[0]))

struct fuzz {
	struct rng rng;
	struct client clients[FILES];
	struct pool files; /* files of dma-bufs, syncobjs and fences */
	unsigned long calls, done, good;
	/* counts by ioctl; the last one is for all other numbers */
	unsigned long called[IOCTLS + 1], accepted[IOCTLS + 1];
	bool watches; /* this thread runs the canary */
	uint8_t *memory;
	uint8_t *shared; /* pages that bo_wrap() uses */
	unsigned long *kcov;
	int kcov_fd;
	pthread_t thread;
};

/* The canary: a client that makes only correct calls. */
static struct {
	int fd;
	uint32_t ctx;
	struct npu_bo bo;
	struct drm_onpu_job jobs[2];
	unsigned int round;
} canary;

static const uint8_t values[2] = { 0x3c, 0xc3 };

/*
 * Code positions that were reached: a set of hashes, of which a few may collide, with a bit for
 * each ioctl that reached the position.
 */
#define POSITIONS (1u << 20)
static uint32_t reached[POSITIONS];

static struct client *some_client(struct fuzz *f)
{
	return &f->clients[rng_below(&f->rng, FILES)];
}

static void pool_add(struct pool *pool, uint64_t number)
{
	pool->number[pool->count++ % POOL] = number;
}

static uint64_t pool_get(struct fuzz *f, const struct pool *pool)
{
	unsigned int count = pool->count < POOL ? pool->count : POOL;

	/* A small number is probably valid, because another thread has an object with it. */
	return count && rng_chance(&f->rng, 90) ? pool->number[rng_below(&f->rng, count)] :
						  rng_below(&f->rng, 20);
}

/* ---- numbers */

static uint64_t some_number(struct fuzz *f)
{
	static const uint64_t edges[] = { 0,	      1,	  7,	      15,
					  16,	      4095,	  4096,	      4097,
					  0x7fffffff, 0x80000000, 0xffffffff, 1ull << 32,
					  1ull << 37, 1ull << 38, INT64_MAX,  1ull << 63,
					  UINT64_MAX };
	uint64_t edge = edges[rng_below(&f->rng, sizeof(edges) / sizeof(edges[0]))];

	switch (rng_below(&f->rng, 4)) {
	case 0:
		return rng_bits(&f->rng);
	case 1:
		return edge;
	case 2:
		return edge - rng_below(&f->rng, 3);
	default:
		return rng_below(&f->rng, 300);
	}
}

/* Returns @right most of the time, else a random number. */
static uint64_t mostly(struct fuzz *f, uint64_t right)
{
	return rng_chance(&f->rng, 93) ? right : some_number(f);
}

static uint32_t mostly32(struct fuzz *f, uint64_t right)
{
	return (uint32_t)mostly(f, right);
}

/* Returns an address for an argument of @bytes: in memory, partly past its end, or unmapped. */
static uint64_t some_pointer(struct fuzz *f, size_t bytes)
{
	switch (rng_below(&f->rng, 24)) {
	case 0:
		return 0;
	case 1:
		return rng_bits(&f->rng);
	case 2:
		return (uintptr_t)f->memory + 16 * PAGE - rng_below(&f->rng, bytes + 1);
	case 3:
		return (uintptr_t)f->memory + rng_below(&f->rng, 64);
	default:
		return (uintptr_t)f->memory + 8 * PAGE * rng_below(&f->rng, 2);
	}
}

static uint32_t some_handle(struct fuzz *f, struct client *client)
{
	return mostly32(f, pool_get(f, &client->bos));
}

/* ---- calls */

static unsigned int index_of(unsigned long request)
{
	unsigned int i;

	for (i = 0; i < IOCTLS && ioctls[i].number != _IOC_NR(request); i++)
		;
	return i;
}

static void collect(struct fuzz *f, unsigned int index)
{
	unsigned long count = f->kcov[0];

	for (unsigned long i = 1; i <= count && i < KCOV_WORDS; i++)
		__atomic_fetch_or(&reached[rng_mix(1, f->kcov[i]) % POSITIONS], 1u << index,
				  __ATOMIC_RELAXED);
	f->kcov[0] = 0;
}

/*
 * Returns whether an errno is one of the interface, or of the DRM core for calls that never reach
 * the driver.
 */
static bool errno_is_known(int error)
{
	static const int known[] = { EINVAL, ENOENT, ENOSPC,  ENOMEM,	 EFAULT, EACCES, EIO,
				     ENOTTY, E2BIG,  EBADF,   ETIME,	 EPERM,	 EBUSY,	 EEXIST,
				     ENODEV, EINTR,  ENOTSUP, ECANCELED, ENOSYS };

	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
		if (known[i] == error)
			return true;
	return false;
}

static bool call(struct fuzz *f, const struct client *client, unsigned long request, void *args)
{
	unsigned int index = index_of(request);
	int error;

	if (f->kcov)
		__atomic_store_n(f->kcov, 0, __ATOMIC_RELAXED);
	error = npu_ioctl(client->fd, request, args);
	if (f->kcov)
		collect(f, index);
	f->good += !error;
	f->called[index]++;
	f->accepted[index] += !error;
	/* ENODEV is an error: the shared file is never closed, and the device never removed. */
	if (error == ENODEV || !errno_is_known(error ? error : EINVAL)) {
		fprintf(stderr, "# the call %#lx gave the errno %d\n", request, error);
		abort();
	}
	return !error;
}

static void query(struct fuzz *f)
{
	struct drm_onpu_dev_query args = {
		.type = mostly32(f, rng_below(&f->rng, 5)),
		.size = mostly32(f, rng_below(&f->rng, 300)),
		.pointer = some_pointer(f, 128),
	};

	call(f, some_client(f), DRM_IOCTL_ONPU_DEV_QUERY, &args);
}

static void bo_create(struct fuzz *f)
{
	struct client *client = some_client(f);
	struct drm_onpu_bo_create args = {
		.size = mostly(f, rng_chance(&f->rng, 5) ? 3u << 20 :
							   1 + rng_below(&f->rng, 5 * PAGE)),
		.flags = mostly32(f, rng_below(&f->rng, 5)),
		.handle = mostly32(f, 0),
		.va = mostly(f, 0),
	};

	if (!call(f, client, DRM_IOCTL_ONPU_BO_CREATE, &args))
		return;
	pool_add(&client->bos, args.handle);
	pool_add(&client->addresses, args.va);
}

/* Mostly wraps pages that this thread has mapped shared; maps something else there now and then. */
static void bo_wrap(struct fuzz *f)
{
	struct client *client = some_client(f);
	uint64_t at = (uintptr_t)f->shared + PAGE * rng_below(&f->rng, SHARED_PAGES);
	struct drm_onpu_bo_wrap args = {
		.address = mostly(f, at),
		.size = mostly(f, 1 + rng_below(&f->rng, 5 * PAGE)),
		.flags = mostly32(f, rng_below(&f->rng, 2) * DRM_ONPU_BO_DEVICE_RO),
		.handle = mostly32(f, 0),
		.va = mostly(f, 0),
	};

	if (rng_chance(&f->rng, 20))
		mmap((void *)(uintptr_t)at, PAGE, (int)rng_below(&f->rng, 4),
		     MAP_FIXED | MAP_ANONYMOUS |
			     (rng_chance(&f->rng, 80) ? MAP_SHARED : MAP_PRIVATE),
		     -1, 0);
	if (!call(f, client, DRM_IOCTL_ONPU_BO_WRAP, &args))
		return;
	pool_add(&client->bos, args.handle);
	pool_add(&client->addresses, args.va);
}

static void bo_info(struct fuzz *f)
{
	struct client *client = some_client(f);
	struct drm_onpu_bo_info args = { .handle = some_handle(f, client),
					 .flags = mostly32(f, 0) };

	if (call(f, client, DRM_IOCTL_ONPU_BO_INFO, &args))
		pool_add(&client->offsets, args.mmap_offset);
}

static void bo_sync(struct fuzz *f)
{
	struct client *client = some_client(f);
	struct drm_onpu_bo_sync args = {
		.handle = some_handle(f, client),
		.flags = mostly32(f, 1 + rng_below(&f->rng, 3)),
		.offset = mostly(f, rng_below(&f->rng, PAGE)),
		.size = mostly(f, 1 + rng_below(&f->rng, PAGE)),
	};

	call(f, client, DRM_IOCTL_ONPU_BO_SYNC, &args);
}

static void bo_close(struct fuzz *f)
{
	struct client *client = some_client(f);
	struct drm_gem_close args = { .handle = some_handle(f, client) };

	call(f, client, DRM_IOCTL_GEM_CLOSE, &args);
}

static void ctx_create(struct fuzz *f)
{
	struct client *client = some_client(f);
	struct drm_onpu_ctx_create args = {
		.flags = mostly32(f, rng_chance(&f->rng, 90) ? 0 : DRM_ONPU_CTX_LONG_RUNNING),
		.priority = mostly32(f, rng_below(&f->rng, 2)),
		.power = mostly32(f, rng_below(&f->rng, 3)),
		.timeout_ms = mostly32(f, rng_chance(&f->rng, 50) ? 0 : rng_below(&f->rng, 5000)),
		.pad = mostly32(f, 0),
	};

	if (!call(f, client, DRM_IOCTL_ONPU_CTX_CREATE, &args))
		return;
	pool_add(&client->ctxs, args.ctx_id);
	pool_add(&client->offsets, args.completion_offset);
}

static void ctx_destroy(struct fuzz *f)
{
	struct client *client = some_client(f);
	struct drm_onpu_ctx_destroy args = {
		.ctx_id = mostly32(f, pool_get(f, &client->ctxs)),
		.pad = mostly32(f, 0),
	};

	call(f, client, DRM_IOCTL_ONPU_CTX_DESTROY, &args);
}

static void ctx_state(struct fuzz *f)
{
	struct client *client = some_client(f);
	struct drm_onpu_ctx_get_state args = {
		.ctx_id = mostly32(f, pool_get(f, &client->ctxs)),
		.pad = mostly32(f, 0),
	};

	call(f, client, DRM_IOCTL_ONPU_CTX_GET_STATE, &args);
}

/* Returns an array of @count elements at @at; its stride, count and address are mostly these. */
static struct drm_onpu_obj_array some_array(struct fuzz *f, size_t stride, uint64_t count,
					    uint64_t at)
{
	return (struct drm_onpu_obj_array){
		.stride = mostly32(f, rng_chance(&f->rng, 80) ? stride :
								stride + 8 * rng_below(&f->rng, 9)),
		.count = mostly32(f, count),
		.array = rng_chance(&f->rng, 95) ? at : some_pointer(f, stride * count),
	};
}

static void submit(struct fuzz *f)
{
	struct client *client = some_client(f);
	uint32_t count = (uint32_t)(rng_chance(&f->rng, 90) ? 1 + rng_below(&f->rng, 4) :
							      rng_below(&f->rng, 70));
	struct drm_onpu_job *jobs = (struct drm_onpu_job *)f->memory;
	struct drm_onpu_sync *syncs = (struct drm_onpu_sync *)(f->memory + 8 * PAGE);
	struct drm_onpu_submit args = {
		.ctx_id = mostly32(f, pool_get(f, &client->ctxs)),
		.flags = mostly32(f, 0),
		.jobs = some_array(f, sizeof(*jobs), count, (uintptr_t)jobs),
	};

	for (unsigned int i = 0; i < 64; i++) {
		bool timeline = rng_chance(&f->rng, 20);

		syncs[i] = (struct drm_onpu_sync){
			.handle = mostly32(f, pool_get(f, &client->syncobjs)),
			.flags = mostly32(f, (1 + rng_below(&f->rng, 2)) | (timeline ? 4u : 0)),
			.point = mostly(f, timeline ? 1 + rng_below(&f->rng, 50) : 0),
		};
	}
	for (unsigned int i = 0; i < count; i++) {
		uint64_t profile = rng_chance(&f->rng, 20) ? pool_get(f, &client->addresses) : 0;
		unsigned int used = rng_chance(&f->rng, 60) ? 0 :
							      (unsigned int)rng_below(&f->rng, 6);

		jobs[i] = (struct drm_onpu_job){
			.program_va = mostly(f, pool_get(f, &client->addresses) + CANARY / 16),
			.slots_va = mostly(f, pool_get(f, &client->addresses)),
			.instr_count = mostly32(f, 1 + rng_below(&f->rng, 8)),
			.slot_count = mostly32(f, 1 + rng_below(&f->rng, 4)),
			.profile_va = profile,
			.profile_size = mostly32(f, profile ? 64 : 0),
			.flags = mostly32(f, 0),
			.cycle_limit = mostly(f, 0),
			.syncs = some_array(f, sizeof(*syncs), used,
					    (uintptr_t)(syncs + rng_below(&f->rng, 60))),
		};
	}
	call(f, client, DRM_IOCTL_ONPU_SUBMIT, &args);
}

/* ---- calls of the DRM core */

static void syncobj_create(struct fuzz *f)
{
	struct client *client = some_client(f);
	struct drm_syncobj_create args = { .flags = mostly32(f, rng_below(&f->rng, 2)) };

	if (call(f, client, DRM_IOCTL_SYNCOBJ_CREATE, &args))
		pool_add(&client->syncobjs, args.handle);
}

static void syncobj_destroy(struct fuzz *f)
{
	struct client *client = some_client(f);
	struct drm_syncobj_destroy args = { .handle = mostly32(f, pool_get(f, &client->syncobjs)) };

	call(f, client, DRM_IOCTL_SYNCOBJ_DESTROY, &args);
}

/* Signals or resets a syncobj, or queries whether it has signalled. */
static void syncobj_signal(struct fuzz *f)
{
	struct client *client = some_client(f);
	uint32_t handle = mostly32(f, pool_get(f, &client->syncobjs));
	struct drm_syncobj_array args = { .handles = (uintptr_t)&handle, .count_handles = 1 };
	struct drm_syncobj_wait wait = { .handles = (uintptr_t)&handle, .count_handles = 1 };

	if (rng_chance(&f->rng, 40))
		call(f, client, DRM_IOCTL_SYNCOBJ_WAIT, &wait);
	else
		call(f, client,
		     rng_chance(&f->rng, 50) ? DRM_IOCTL_SYNCOBJ_SIGNAL : DRM_IOCTL_SYNCOBJ_RESET,
		     &args);
}

static void forget_file(struct fuzz *f, unsigned int index)
{
	if (f->files.count > index)
		close((int)f->files.number[index]);
}

static void keep_file(struct fuzz *f, int file)
{
	if (f->files.count >= POOL)
		forget_file(f, f->files.count % POOL);
	pool_add(&f->files, (uint64_t)file);
}

/* Exports a buffer, a syncobj, or a fence as a file. */
static void export(struct fuzz *f)
{
	struct client *client = some_client(f);
	struct drm_prime_handle bo = {
		.handle = some_handle(f, client),
		.flags = mostly32(f, DRM_CLOEXEC | DRM_RDWR),
	};
	struct drm_syncobj_handle syncobj = {
		.handle = mostly32(f, pool_get(f, &client->syncobjs)),
		.flags = mostly32(f, rng_below(&f->rng, 2)),
	};

	if (rng_chance(&f->rng, 60)) {
		if (call(f, client, DRM_IOCTL_PRIME_HANDLE_TO_FD, &bo))
			keep_file(f, bo.fd);
	} else if (call(f, client, DRM_IOCTL_SYNCOBJ_HANDLE_TO_FD, &syncobj)) {
		keep_file(f, syncobj.fd);
	}
}

static void import(struct fuzz *f)
{
	struct client *client = some_client(f);
	/*
	 * A number of the pool may now be another file, but never one that this program itself
	 * uses.
	 */
	int file = f->files.count ?
			   (int)f->files.number[rng_below(
				   &f->rng, f->files.count < POOL ? f->files.count : POOL)] :
			   -1;
	struct drm_prime_handle bo = { .fd = file };
	struct drm_syncobj_handle syncobj = {
		.fd = file,
		.handle = mostly32(f, rng_chance(&f->rng, 50) ? 0 : pool_get(f, &client->syncobjs)),
		.flags = mostly32(f, rng_below(&f->rng, 2)),
	};

	if (rng_chance(&f->rng, 60)) {
		if (call(f, client, DRM_IOCTL_PRIME_FD_TO_HANDLE, &bo))
			pool_add(&client->bos, bo.handle);
	} else if (call(f, client, DRM_IOCTL_SYNCOBJ_FD_TO_HANDLE, &syncobj)) {
		pool_add(&client->syncobjs, syncobj.handle);
	}
}

/* Makes a random call with a random number of the driver's, with random bytes of a random size. */
static void anything(struct fuzz *f)
{
	unsigned int size = (unsigned int)(rng_chance(&f->rng, 30) ? rng_below(&f->rng, 2000) :
								     8 * rng_below(&f->rng, 20));
	unsigned int direction = (unsigned int)rng_below(&f->rng, 4);

	for (unsigned int i = 0; i < size; i += 8) {
		uint64_t number = rng_chance(&f->rng, 60) ? 0 : some_number(f);

		memcpy(f->memory + i, &number, sizeof(number));
	}
	call(f, some_client(f),
	     _IOC(direction, DRM_IOCTL_BASE,
		  DRM_COMMAND_BASE + (unsigned int)rng_below(&f->rng, 10), size),
	     f->memory);
}

/* Maps a buffer or a completion page, often writes a byte of it, and reads one. */
static void map(struct fuzz *f)
{
	struct client *client = some_client(f);
	size_t bytes = PAGE * (1 + rng_below(&f->rng, 3));
	bool write = rng_chance(&f->rng, 60);
	uint64_t offset = rng_chance(&f->rng, 95) ? pool_get(f, &client->offsets) :
						    some_number(f) & ~(uint64_t)(PAGE - 1);
	volatile uint8_t *at;

	at = mmap(NULL, bytes, write ? PROT_READ | PROT_WRITE : PROT_READ,
		  rng_chance(&f->rng, 95) ? MAP_SHARED : MAP_PRIVATE, client->fd,
		  (off_t)(offset & INT64_MAX));
	if (at == MAP_FAILED)
		return;
	if (write)
		at[rng_below(&f->rng, bytes)] = (uint8_t)rng_u32(&f->rng);
	(void)at[0];
	must(!munmap((void *)at, bytes));
}

static void reopen(struct fuzz *f)
{
	struct client *client = &f->clients[rng_below(&f->rng, FILES - 1)];

	close(client->fd);
	*client = (struct client){ .fd = npu_open() };
}

static const struct {
	void (*make)(struct fuzz *f);
	unsigned int weight;
} kinds[] = {
	{ query, 4 },	 { bo_create, 12 },	{ bo_info, 8 },		{ bo_sync, 4 },
	{ bo_close, 9 }, { ctx_create, 5 },	{ ctx_destroy, 4 },	{ ctx_state, 4 },
	{ submit, 24 },	 { syncobj_create, 5 }, { syncobj_destroy, 3 }, { syncobj_signal, 5 },
	{ export, 4 },	 { import, 4 },		{ anything, 8 },	{ map, 4 },
	{ reopen, 1 },	 { bo_wrap, 6 },
};

/* ---- checks */

static void start_canary(void)
{
	canary.fd = npu_open();
	canary.ctx = npu_ctx(canary.fd, 0).id;
	canary.bo = npu_bo(canary.fd, CANARY, 0);
	for (unsigned int i = 0; i < 2; i++)
		canary.jobs[i] = npu_fill(canary.fd, canary.bo.va, CANARY, values[i]);
	must(!npu_run(canary.fd, canary.ctx, &canary.jobs[1]));
}

/*
 * Checks that the canary's last result is still there, runs its next job, and checks the new
 * result.
 */
static void ask_canary(void)
{
	unsigned int round = canary.round++ % 2;

	must(npu_sees(canary.bo.map, CANARY, values[!round]));
	must(!npu_run(canary.fd, canary.ctx, &canary.jobs[round]));
	must(npu_sees(canary.bo.map, CANARY, values[round]));
}

static void start_kcov(struct fuzz *f)
{
	f->kcov_fd = open("/sys/kernel/debug/kcov", O_RDWR | O_CLOEXEC);
	if (f->kcov_fd < 0)
		return;
	must(!ioctl(f->kcov_fd, KCOV_INIT_TRACE, KCOV_WORDS));
	f->kcov = mmap(NULL, KCOV_WORDS * sizeof(*f->kcov), PROT_READ | PROT_WRITE, MAP_SHARED,
		       f->kcov_fd, 0);
	must(f->kcov != MAP_FAILED && !ioctl(f->kcov_fd, KCOV_ENABLE, 0));
}

static void *run(void *data)
{
	struct fuzz *f = data;
	unsigned int sum = 0;

	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		sum += kinds[i].weight;
	start_kcov(f);
	for (; f->done < f->calls; f->done++) {
		unsigned int at = (unsigned int)rng_below(&f->rng, sum), kind = 0;

		while (at >= kinds[kind].weight)
			at -= kinds[kind++].weight;
		kinds[kind].make(f);
		if (f->watches && f->done % CANARY_EVERY == 0)
			ask_canary();
	}
	if (f->kcov)
		ioctl(f->kcov_fd, KCOV_DISABLE, 0);
	return NULL;
}

static void start_thread(struct fuzz *f, unsigned int index, int shared, uint64_t seed)
{
	f->rng.state = rng_mix(seed, index);
	for (int i = 0; i < FILES - 1; i++)
		f->clients[i].fd = npu_open();
	f->clients[FILES - 1].fd = shared;
	f->watches = !index;
	/* The page after these sixteen allows no access. */
	f->memory =
		mmap(NULL, 17 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	must(f->memory != MAP_FAILED && !mprotect(f->memory + 16 * PAGE, PAGE, PROT_NONE));
	f->shared = mmap(NULL, SHARED_PAGES * PAGE, PROT_READ | PROT_WRITE,
			 MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	must(f->shared != MAP_FAILED);
	must(!pthread_create(&f->thread, NULL, run, f));
}

static void end_thread(struct fuzz *f)
{
	must(!pthread_join(f->thread, NULL));
	for (int i = 0; i < FILES - 1; i++)
		close(f->clients[i].fd);
	for (unsigned int i = 0; i < POOL; i++)
		forget_file(f, i);
}

/*
 * Returns the user's memory in bytes, once it is at most @bytes or the time is over: some memory is
 * freed later.
 */
static uint64_t settled_user_memory(uint64_t bytes)
{
	double end = npu_now() + NPU_PATIENCE_S * npu_patience();

	while (npu_counters(canary.fd).user_memory > bytes && npu_now() < end)
		usleep(10000);
	return npu_counters(canary.fd).user_memory;
}

static void report(const struct fuzz *fuzz, unsigned long threads)
{
	for (unsigned int i = 0; i < IOCTLS; i++) {
		unsigned long called = 0, accepted = 0, positions = 0;

		for (unsigned long t = 0; t < threads; t++) {
			called += fuzz[t].called[i];
			accepted += fuzz[t].accepted[i];
		}
		for (size_t at = 0; at < POSITIONS; at++)
			positions += reached[at] >> i & 1;
		printf("# %s: %lu calls, %lu accepted, %lu places\n", ioctls[i].name, called,
		       accepted, positions);
	}
}

int main(int argc, char **argv)
{
	static struct fuzz fuzz[MAX_THREADS];
	unsigned long calls = 20000, seed = 1, threads = 1, positions = 0, good = 0;
	uint64_t before, resets;
	int option, shared;

	while ((option = getopt(argc, argv, "n:s:t:")) > 0) {
		unsigned long number = strtoul(optarg ? optarg : "", NULL, 0);

		must(option != '?');
		*(option == 'n' ? &calls : option == 's' ? &seed : &threads) = number;
	}
	must(threads && threads <= MAX_THREADS);
	start_canary();
	before = npu_counters(canary.fd).user_memory;
	resets = npu_counters(canary.fd).resets;
	shared = npu_open();
	for (unsigned int i = 0; i < threads; i++) {
		fuzz[i].calls = calls / threads;
		start_thread(&fuzz[i], i, shared, seed);
	}
	for (unsigned int i = 0; i < threads; i++) {
		end_thread(&fuzz[i]);
		good += fuzz[i].good;
	}
	close(shared);
	for (size_t i = 0; i < POSITIONS; i++)
		positions += reached[i] != 0;
	report(fuzz, threads);
	printf("# seed %lu: %lu calls, %lu accepted, %lu places\n", seed, calls / threads * threads,
	       good, positions);
	must(good > calls / 4);
	must(settled_user_memory(before) == before);
	must(npu_counters(canary.fd).resets == resets);
	ask_canary();
	return 0;
}
