// SPDX-License-Identifier: MIT
/* Helpers of the tests of the driver, see npu.h. */
#include "npu.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/dma-buf.h>
#include <linux/sync_file.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>
#include <xf86drm.h>

#define MAX_SLOTS   32u
#define CODE_OFFSET (MAX_SLOTS * ONPU_SLOT_SIZE)
#define SRAM_BYTES  65536u

void npu_failed(const char *file, int line, const char *what)
{
	fprintf(stderr, "# %s:%d: %s: %s\n", file, line, what, strerror(errno));
	abort();
}

int npu_open_node(const char *node)
{
	int fd = open(node, O_RDWR | O_CLOEXEC);

	must(fd >= 0);
	return fd;
}

int npu_open(void)
{
	return npu_open_node(NPU_NODE);
}

int npu_open_vgem(void)
{
	for (int i = 0; i < 16; i++) {
		char name[32];
		drmVersionPtr version;
		int fd;
		bool found;

		snprintf(name, sizeof(name), "/dev/dri/card%d", i);
		fd = open(name, O_RDWR | O_CLOEXEC);
		if (fd < 0)
			continue;
		version = drmGetVersion(fd);
		found = version && !strcmp(version->name, "vgem");
		drmFreeVersion(version);
		if (found)
			return fd;
		close(fd);
	}
	return -1;
}

int npu_ioctl(int fd, unsigned long request, void *args)
{
	return ioctl(fd, request, args) ? errno : 0;
}

double npu_patience(void)
{
	const char *factor = getenv("ONPU_PATIENCE");

	return factor ? atof(factor) : 1;
}

static void query(int fd, uint32_t type, void *answer, uint32_t size)
{
	struct drm_onpu_dev_query args = {
		.type = type,
		.size = size,
		.pointer = (uintptr_t)answer,
	};

	must(!npu_ioctl(fd, DRM_IOCTL_ONPU_DEV_QUERY, &args) && args.size == size);
}

struct drm_onpu_dev_info npu_info(int fd)
{
	struct drm_onpu_dev_info info;

	query(fd, DRM_ONPU_DEV_QUERY_INFO, &info, sizeof(info));
	return info;
}

struct drm_onpu_caps npu_caps(int fd)
{
	struct drm_onpu_caps caps;

	query(fd, DRM_ONPU_DEV_QUERY_CAPS, &caps, sizeof(caps));
	return caps;
}

uint32_t npu_num_queues(int fd)
{
	return npu_caps(fd).num_queues;
}

struct drm_onpu_counters npu_counters(int fd)
{
	struct drm_onpu_counters counters;

	query(fd, DRM_ONPU_DEV_QUERY_COUNTERS, &counters, sizeof(counters));
	return counters;
}

uint64_t npu_fdinfo(int fd, const char *name)
{
	size_t length = strlen(name);
	uint64_t number = UINT64_MAX;
	char path[64], line[256];
	char *unit;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", fd);
	file = fopen(path, "re");
	must(file);
	while (fgets(line, sizeof(line), file)) {
		if (strncmp(line, name, length) || line[length] != ':')
			continue;
		number = strtoull(line + length + 1, &unit, 0);
		number <<= !strncmp(unit, " KiB", 4) ? 10 : !strncmp(unit, " MiB", 4) ? 20 : 0;
	}
	fclose(file);
	return number;
}

uint64_t npu_settled_memory(int fd, uint64_t bytes)
{
	double end = npu_now() + NPU_PATIENCE_S * npu_patience();

	while (npu_counters(fd).memory > bytes && npu_now() < end)
		usleep(10000);
	return npu_counters(fd).memory;
}

/* ---- buffers */

/*
 * The mapped buffers of devices that are not coherent, in the order of mapping. The lock is for
 * threads that close handles.
 */
static pthread_mutex_t synced_lock = PTHREAD_MUTEX_INITIALIZER;
static struct {
	int fd;
	struct npu_bo bo;
} synced[4096];
static unsigned int num_synced;

static void add_synced(int fd, const struct npu_bo *bo)
{
	pthread_mutex_lock(&synced_lock);
	must(num_synced < sizeof(synced) / sizeof(synced[0]));
	synced[num_synced].fd = fd;
	synced[num_synced++].bo = *bo;
	pthread_mutex_unlock(&synced_lock);
}

/*
 * Forgets the buffers mapped at @map, before their mapping goes; if @map is NULL, the buffer with
 * this handle of the file @fd.
 */
static void drop_synced(const uint8_t *map, int fd, uint32_t handle)
{
	unsigned int kept = 0;

	pthread_mutex_lock(&synced_lock);
	/* Keep the order, in which newer mappings are later: see sync_range(). */
	for (unsigned int i = 0; i < num_synced; i++)
		if (map ? synced[i].bo.map != map :
			  synced[i].fd != fd || synced[i].bo.handle != handle)
			synced[kept++] = synced[i];
	num_synced = kept;
	pthread_mutex_unlock(&synced_lock);
}

/*
 * Syncs a range of a mapped buffer of a device that is not coherent; does nothing for other memory.
 * A mapping may have been replaced by a newer one at its address, so the last one counts.
 */
static void sync_range(const uint8_t *at, uint64_t size, uint32_t flags)
{
	struct drm_onpu_bo_sync args = { .size = size, .flags = flags };
	int fd = -1;

	pthread_mutex_lock(&synced_lock);
	for (unsigned int i = num_synced; i-- > 0 && fd < 0;) {
		const struct npu_bo *bo = &synced[i].bo;

		if (at < bo->map || at >= bo->map + bo->size)
			continue;
		args.handle = bo->handle;
		args.offset = (uint64_t)(at - bo->map);
		fd = synced[i].fd;
	}
	pthread_mutex_unlock(&synced_lock);
	must(fd < 0 || !npu_ioctl(fd, DRM_IOCTL_ONPU_BO_SYNC, &args));
}

void npu_flush(const void *at, uint64_t size)
{
	sync_range(at, size, DRM_ONPU_BO_SYNC_FOR_DEVICE);
}

void npu_refresh(const void *at, uint64_t size)
{
	sync_range(at, size, DRM_ONPU_BO_SYNC_FOR_CPU);
}

bool npu_sees(const uint8_t *at, uint64_t size, uint8_t value)
{
	npu_refresh(at, size);
	return npu_all(at, size, value);
}

bool npu_dmabuf_sees(int file, const uint8_t *at, uint64_t size, uint8_t value)
{
	struct dma_buf_sync sync = { DMA_BUF_SYNC_START | DMA_BUF_SYNC_READ };
	bool same;

	must(!ioctl(file, DMA_BUF_IOCTL_SYNC, &sync));
	same = npu_all(at, size, value);
	sync.flags = DMA_BUF_SYNC_END | DMA_BUF_SYNC_READ;
	must(!ioctl(file, DMA_BUF_IOCTL_SYNC, &sync));
	return same;
}

struct npu_bo npu_bo(int fd, uint64_t size, uint32_t flags)
{
	struct drm_onpu_bo_create create = { .size = size, .flags = flags };
	struct npu_bo bo;
	void *map;

	must(!npu_ioctl(fd, DRM_IOCTL_ONPU_BO_CREATE, &create));
	bo = (struct npu_bo){ create.handle, create.va, create.size, NULL };
	if (flags & DRM_ONPU_BO_NO_MMAP)
		return bo;
	map = mmap(NULL, bo.size, PROT_READ | PROT_WRITE, MAP_SHARED, fd,
		   (off_t)npu_bo_info(fd, bo.handle).mmap_offset);
	must(map != MAP_FAILED);
	bo.map = map;
	if (!(npu_info(fd).features & DRM_ONPU_FEATURE_COHERENT))
		add_synced(fd, &bo);
	return bo;
}

struct npu_bo npu_wrap(int fd, void *memory, uint64_t size, uint32_t flags)
{
	struct drm_onpu_bo_wrap wrap = {
		.address = (uintptr_t)memory,
		.size = size,
		.flags = flags,
	};
	struct npu_bo bo;

	must(!npu_ioctl(fd, DRM_IOCTL_ONPU_BO_WRAP, &wrap));
	bo = (struct npu_bo){ wrap.handle, wrap.va, wrap.size, memory };
	if (!(npu_info(fd).features & DRM_ONPU_FEATURE_COHERENT))
		add_synced(fd, &bo);
	return bo;
}

int npu_gem_close(int fd, uint32_t handle)
{
	drop_synced(NULL, fd, handle);
	return npu_ioctl(fd, DRM_IOCTL_GEM_CLOSE, &(struct drm_gem_close){ .handle = handle });
}

void npu_bo_close(int fd, struct npu_bo *bo)
{
	if (bo->map)
		must(!munmap(bo->map, bo->size));
	must(!npu_gem_close(fd, bo->handle));
	memset(bo, 0, sizeof(*bo));
}

struct drm_onpu_bo_info npu_bo_info(int fd, uint32_t handle)
{
	struct drm_onpu_bo_info info = { .handle = handle };

	must(!npu_ioctl(fd, DRM_IOCTL_ONPU_BO_INFO, &info));
	return info;
}

bool npu_all(const uint8_t *at, uint64_t size, uint8_t value)
{
	return at[0] == value && !memcmp(at, at + 1, size - 1);
}

/* ---- contexts */

int npu_ctx_create(int fd, struct drm_onpu_ctx_create *args)
{
	double end = npu_now() + NPU_PATIENCE_S * npu_patience(), begin;
	int ret;

	/*
	 * The driver itself waits for room; an ENOSPC that comes at once means that there is none.
	 */
	do {
		begin = npu_now();
		ret = npu_ioctl(fd, DRM_IOCTL_ONPU_CTX_CREATE, args);
	} while (ret == ENOSPC && npu_now() > begin + 1 && npu_now() < end);
	return ret;
}

struct npu_ctx npu_ctx_of(int fd, uint32_t priority, uint32_t timeout_ms)
{
	struct drm_onpu_ctx_create create = { .priority = priority, .timeout_ms = timeout_ms };
	void *page;

	must(!npu_ctx_create(fd, &create));
	page = mmap(NULL, npu_page(), PROT_READ, MAP_SHARED, fd, (off_t)create.completion_offset);
	must(page != MAP_FAILED);
	return (struct npu_ctx){ create.ctx_id, page, create.completion_offset };
}

struct npu_ctx npu_ctx(int fd, uint32_t timeout_ms)
{
	return npu_ctx_of(fd, DRM_ONPU_PRIORITY_NORMAL, timeout_ms);
}

int npu_ctx_destroy(int fd, uint32_t ctx)
{
	return npu_ioctl(fd, DRM_IOCTL_ONPU_CTX_DESTROY,
			 &(struct drm_onpu_ctx_destroy){ .ctx_id = ctx });
}

struct drm_onpu_ctx_get_state npu_state(int fd, uint32_t ctx)
{
	struct drm_onpu_ctx_get_state state = { .ctx_id = ctx };

	must(!npu_ioctl(fd, DRM_IOCTL_ONPU_CTX_GET_STATE, &state));
	return state;
}

/* ---- programs */

static struct {
	void *map;
	uint64_t size;
} mapped[4096];
static unsigned int num_mapped;

void npu_unmap_programs(void)
{
	for (; num_mapped; num_mapped--) {
		drop_synced(mapped[num_mapped - 1].map, -1, 0);
		must(!munmap(mapped[num_mapped - 1].map, mapped[num_mapped - 1].size));
	}
}

struct npu_program npu_program(int fd, uint32_t max_insns)
{
	const struct onpu_slot_program head = {
		.kind = ONPU_SLOT_PROGRAM,
		.isa_major = ONPU_ISA_MAJOR,
		.sram_bytes = SRAM_BYTES,
	};
	struct npu_program program = { .max_insns = max_insns };

	program.bo = npu_bo(fd, CODE_OFFSET + (max_insns + 1ull) * ONPU_INSN_BYTES, 0);
	if (num_mapped < sizeof(mapped) / sizeof(mapped[0])) {
		mapped[num_mapped].map = program.bo.map;
		mapped[num_mapped++].size = program.bo.size;
	}
	npu_slot(&program, &head);
	return program;
}

uint16_t npu_slot(struct npu_program *program, const void *slot)
{
	must(program->slots < MAX_SLOTS);
	memcpy(program->bo.map + program->slots * ONPU_SLOT_SIZE, slot, ONPU_SLOT_SIZE);
	return (uint16_t)program->slots++;
}

uint16_t npu_tensor(struct npu_program *program, enum onpu_dtype dtype, enum onpu_space space,
		    uint64_t base, uint32_t count)
{
	const uint32_t bytes = onpu_dtype_bits(dtype) / 8;
	const struct onpu_slot_tensor tensor = {
		.kind = ONPU_SLOT_TENSOR,
		.dtype = (uint8_t)dtype,
		.rank = 1,
		.space = (uint8_t)space,
		.base = base,
		.size = (uint64_t)bytes * count,
		.dim = { count },
		.stride = { bytes },
	};

	return npu_slot(program, &tensor);
}

void npu_words(struct npu_program *program, const uint32_t *words)
{
	must(program->insns <= program->max_insns);
	memcpy(program->bo.map + CODE_OFFSET + program->insns++ * ONPU_INSN_BYTES, words,
	       ONPU_INSN_BYTES);
}

void npu_insn(struct npu_program *program, struct onpu_insn insn)
{
	uint32_t words[ONPU_INSN_WORDS];

	must(!onpu_insn_pack(&insn, words));
	npu_words(program, words);
}

struct drm_onpu_job npu_job(struct npu_program *program)
{
	npu_insn(program, (struct onpu_insn){ .op = ONPU_OP_END });
	npu_flush(program->bo.map, program->bo.size);
	return (struct drm_onpu_job){
		.program_va = program->bo.va + CODE_OFFSET,
		.slots_va = program->bo.va,
		.instr_count = program->insns,
		.slot_count = program->slots,
	};
}

void npu_add_fill(struct npu_program *program, uint64_t va, uint32_t bytes, uint8_t value)
{
	const struct onpu_slot_param_fill fill = {
		.kind = ONPU_SLOT_PARAM,
		.schema = ONPU_SCHEMA_FILL,
		.value = value,
	};
	uint16_t dst = npu_tensor(program, ONPU_DT_U8, ONPU_SPACE_VA, va, bytes);

	npu_insn(program, (struct onpu_insn){ .op = ONPU_OP_DMA_FILL,
					      .ch = 1,
					      .dst = dst,
					      .param = npu_slot(program, &fill) });
}

struct drm_onpu_job npu_fill(int fd, uint64_t va, uint32_t bytes, uint8_t value)
{
	struct npu_program program = npu_program(fd, 1);

	npu_add_fill(&program, va, bytes, value);
	return npu_job(&program);
}

struct drm_onpu_job npu_long(int fd, uint64_t va)
{
	struct npu_program program = npu_program(fd, 2 * NPU_LONG_FILLS);
	uint32_t pair[2 * ONPU_INSN_WORDS];

	npu_add_fill(&program, va, NPU_LONG_BYTES, 0x55);
	npu_insn(&program, (struct onpu_insn){ .op = ONPU_OP_PREEMPT });
	memcpy(pair, program.bo.map + CODE_OFFSET, sizeof(pair));
	for (uint32_t i = 1; i < NPU_LONG_FILLS; i++) {
		npu_words(&program, pair);
		npu_words(&program, pair + ONPU_INSN_WORDS);
	}
	return npu_job(&program);
}

/* ---- jobs and fences */

int npu_submit(int fd, uint32_t ctx, const struct drm_onpu_job *jobs, uint32_t count,
	       uint64_t *seqno)
{
	struct drm_onpu_submit args = {
		.ctx_id = ctx,
		.jobs = DRM_ONPU_OBJ_ARRAY(count, jobs),
	};
	int ret = npu_ioctl(fd, DRM_IOCTL_ONPU_SUBMIT, &args);

	if (seqno)
		*seqno = args.seqno;
	return ret;
}

int npu_submit_signal(int fd, uint32_t ctx, struct drm_onpu_job job, uint32_t syncobj)
{
	const struct drm_onpu_sync sync = { syncobj, DRM_ONPU_SYNC_SIGNAL, 0 };

	job.syncs = (struct drm_onpu_obj_array)DRM_ONPU_OBJ_ARRAY(1, &sync);
	return npu_submit(fd, ctx, &job, 1, NULL);
}

void npu_submit_endless(int fd, uint32_t ctx, uint64_t va, uint32_t syncobj)
{
	const struct drm_onpu_sync sync = { syncobj, DRM_ONPU_SYNC_SIGNAL, 0 };
	struct drm_onpu_job job = npu_long(fd, va), jobs[NPU_ENDLESS];

	for (unsigned int i = 0; i < NPU_ENDLESS; i++)
		jobs[i] = job;
	jobs[NPU_ENDLESS - 1].syncs = (struct drm_onpu_obj_array)DRM_ONPU_OBJ_ARRAY(1, &sync);
	must(!npu_submit(fd, ctx, jobs, NPU_ENDLESS, NULL));
}

uint32_t npu_syncobj(int fd)
{
	uint32_t handle = 0;

	must(!drmSyncobjCreate(fd, 0, &handle));
	return handle;
}

double npu_now(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

int64_t npu_deadline(double seconds)
{
	return (int64_t)((npu_now() + seconds) * 1e9);
}

bool npu_has_fence(int fd, uint32_t syncobj)
{
	int file;

	if (drmSyncobjExportSyncFile(fd, syncobj, &file))
		return false;
	close(file);
	return true;
}

bool npu_signalled(int fd, uint32_t syncobj)
{
	return !drmSyncobjWait(fd, &syncobj, 1, 0, 0, NULL);
}

int npu_wait(int fd, uint32_t syncobj)
{
	struct sync_fence_info fence = { .status = 0 };
	struct sync_file_info info = { .num_fences = 1, .sync_fence_info = (uintptr_t)&fence };
	int file, ret = drmSyncobjWait(fd, &syncobj, 1,
				       npu_deadline(NPU_PATIENCE_S * npu_patience()), 0, NULL);

	if (!ret)
		ret = drmSyncobjExportSyncFile(fd, syncobj, &file) ? -errno : 0;
	/* The DRM core refuses queries about an unplugged device. */
	if (ret)
		return ret == -ENODEV ? ENODEV : -1;
	must(!ioctl(file, SYNC_IOC_FILE_INFO, &info));
	close(file);
	must(fence.status && fence.status == info.status);
	return fence.status < 0 ? -fence.status : 0;
}

int npu_run(int fd, uint32_t ctx, const struct drm_onpu_job *job)
{
	uint32_t syncobj = npu_syncobj(fd);
	int ret;

	must(!npu_submit_signal(fd, ctx, *job, syncobj));
	ret = npu_wait(fd, syncobj);
	drmSyncobjDestroy(fd, syncobj);
	return ret;
}
