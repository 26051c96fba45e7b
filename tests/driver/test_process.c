// SPDX-License-Identifier: MIT
/*
 * Several processes and threads: isolation, inherited and passed files, exits at any moment,
 * handles that are closed under running jobs, races, signals.
 */
#include "harness.h"
#include "npu.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <xf86drm.h>

#define BYTES 4096u

FIXTURE(process)
{
	int fd, other;
	struct npu_bo data, other_data;
	struct npu_ctx ctx, other_ctx;
};

FIXTURE_SETUP(process)
{
	self->fd = npu_open();
	self->other = npu_open();
	self->data = npu_bo(self->fd, NPU_LONG_BYTES, 0);
	self->other_data = npu_bo(self->other, NPU_LONG_BYTES, 0);
	self->ctx = npu_ctx(self->fd, 0);
	self->other_ctx = npu_ctx(self->other, 0);
}

FIXTURE_TEARDOWN(process)
{
	close(self->fd);
	close(self->other);
}

static void fill_again(struct npu_program *program, uint8_t value)
{
	uint8_t *slot = program->bo.map + 2 * ONPU_SLOT_SIZE;

	((struct onpu_slot_param_fill *)slot)->value = value;
	npu_flush(slot, ONPU_SLOT_SIZE);
}

/* ---- isolation */

TEST_F(process, one_address_is_other_memory)
{
	struct drm_onpu_job job;

	EXPECT_EQ(self->data.va, self->other_data.va);
	job = npu_fill(self->fd, self->data.va, BYTES, 1);
	EXPECT_EQ(0, npu_run(self->fd, self->ctx.id, &job));
	EXPECT_TRUE(npu_sees(self->other_data.map, BYTES, 0));
	job = npu_fill(self->other, self->data.va, BYTES, 2);
	EXPECT_EQ(0, npu_run(self->other, self->other_ctx.id, &job));
	EXPECT_TRUE(npu_sees(self->data.map, BYTES, 1));
	EXPECT_TRUE(npu_sees(self->other_data.map, BYTES, 2));
}

/* An address is used repeatedly for other memory: the device must not use an old translation. */
TEST_F(process, an_address_that_is_used_again)
{
	struct npu_program program = npu_program(self->fd, 1);
	struct npu_bo bo = npu_bo(self->fd, BYTES, 0);
	uint64_t va = bo.va;
	struct drm_onpu_job job;

	npu_add_fill(&program, va, BYTES, 1);
	job = npu_job(&program);
	for (int round = 0; round < 30; round++) {
		double end = npu_now() + NPU_PATIENCE_S;
		struct npu_bo keep;

		fill_again(&program, (uint8_t)(round + 1));
		ASSERT_EQ(0, npu_run(self->fd, self->ctx.id, &job));
		ASSERT_TRUE(npu_sees(bo.map, BYTES, (uint8_t)(round + 1)));
		npu_bo_close(self->fd, &bo);
		/*
		 * This buffer probably gets the freed pages. A write by an old translation would
		 * show in it.
		 */
		keep = npu_bo(self->other, BYTES, 0);
		bo = npu_bo(self->fd, BYTES, 0);
		while (bo.va != va && npu_now() < end) {
			npu_bo_close(self->fd, &bo);
			usleep(1000);
			bo = npu_bo(self->fd, BYTES, 0);
		}
		ASSERT_EQ(va, bo.va);
		ASSERT_EQ(0, npu_run(self->fd, self->ctx.id, &job));
		EXPECT_TRUE(npu_sees(bo.map, BYTES, (uint8_t)(round + 1)));
		EXPECT_TRUE(npu_sees(keep.map, BYTES, 0));
		npu_bo_close(self->other, &keep);
	}
}

/*
 * After the handle is closed, a job that uses the buffer faults, and data of the pages' next owner
 * is intact.
 */
TEST_F(process, a_closed_buffer_is_out_of_reach)
{
	for (int round = 0; round < 10; round++) {
		struct npu_bo bo = npu_bo(self->fd, 16 * BYTES, 0), next;
		struct npu_ctx ctx = npu_ctx(self->fd, 0);
		struct drm_onpu_job job = npu_fill(self->fd, bo.va, 16 * BYTES, 0xee);

		ASSERT_EQ(0, npu_run(self->fd, ctx.id, &job));
		/* The job may write each page while the buffer exists. */
		job = npu_fill(self->fd, bo.va + (unsigned int)round * BYTES, BYTES, 0xee);
		ASSERT_EQ(0, npu_run(self->fd, ctx.id, &job));
		npu_bo_close(self->fd, &bo);
		next = npu_bo(self->other, 16 * BYTES, 0);
		EXPECT_EQ(EFAULT, npu_run(self->fd, ctx.id, &job));
		EXPECT_TRUE(npu_sees(next.map, 16 * BYTES, 0));
		npu_bo_close(self->other, &next);
		EXPECT_EQ(0, npu_ctx_destroy(self->fd, ctx.id));
	}
}

TEST_F(process, gem_close_under_a_running_job)
{
	struct npu_bo bo = npu_bo(self->fd, NPU_LONG_BYTES, 0);
	uint32_t syncobj = npu_syncobj(self->fd);
	struct drm_onpu_ctx_get_state state;
	struct drm_onpu_job good;
	struct npu_bo next;

	npu_submit_endless(self->fd, self->ctx.id, bo.va, syncobj);
	usleep(50000);
	EXPECT_FALSE(npu_signalled(self->fd, syncobj));
	npu_bo_close(self->fd, &bo);
	EXPECT_EQ(EFAULT, npu_wait(self->fd, syncobj));
	state = npu_state(self->fd, self->ctx.id);
	EXPECT_EQ(DRM_ONPU_CTX_FAULT, state.state);
	EXPECT_EQ(EFAULT, state.error);
	EXPECT_EQ(ONPU_FAULT_MMU_NOT_PRESENT, state.fault.code);
	next = npu_bo(self->other, NPU_LONG_BYTES, 0);
	EXPECT_TRUE(npu_sees(next.map, next.size, 0));
	good = npu_fill(self->other, next.va, BYTES, 1);
	EXPECT_EQ(0, npu_run(self->other, self->other_ctx.id, &good));
}

/* ---- files shared between processes */

TEST_F(process, a_child_uses_the_file)
{
	struct drm_onpu_job job = npu_fill(self->fd, self->data.va, BYTES, 0x11);
	uint32_t syncobj = npu_syncobj(self->fd);
	int status;
	pid_t child = fork();

	if (!child)
		_exit(npu_submit_signal(self->fd, self->ctx.id, job, syncobj));
	ASSERT_EQ(child, waitpid(child, &status, 0));
	EXPECT_EQ(0, status);
	EXPECT_EQ(0, npu_wait(self->fd, syncobj));
	EXPECT_TRUE(npu_sees(self->data.map, BYTES, 0x11));
}

static void send_file(int socket, int file)
{
	union {
		char bytes[CMSG_SPACE(sizeof(int))];
		struct cmsghdr align;
	} control = { { 0 } };
	struct iovec iov = { .iov_base = (char[]){ 'x' }, .iov_len = 1 };
	struct msghdr message = { .msg_iov = &iov,
				  .msg_iovlen = 1,
				  .msg_control = control.bytes,
				  .msg_controllen = sizeof(control.bytes) };
	struct cmsghdr *header = CMSG_FIRSTHDR(&message);

	header->cmsg_level = SOL_SOCKET;
	header->cmsg_type = SCM_RIGHTS;
	header->cmsg_len = CMSG_LEN(sizeof(int));
	memcpy(CMSG_DATA(header), &file, sizeof(int));
	must(sendmsg(socket, &message, 0) == 1);
}

static int receive_file(int socket)
{
	union {
		char bytes[CMSG_SPACE(sizeof(int))];
		struct cmsghdr align;
	} control;
	char byte;
	struct iovec iov = { .iov_base = &byte, .iov_len = 1 };
	struct msghdr message = { .msg_iov = &iov,
				  .msg_iovlen = 1,
				  .msg_control = control.bytes,
				  .msg_controllen = sizeof(control.bytes) };
	int file;

	must(recvmsg(socket, &message, 0) == 1);
	memcpy(&file, CMSG_DATA(CMSG_FIRSTHDR(&message)), sizeof(int));
	return file;
}

static void write_file(const char *path, const char *text)
{
	int file = open(path, O_WRONLY | O_CLOEXEC);

	must(file >= 0 && write(file, text, strlen(text)) == (ssize_t)strlen(text));
	close(file);
}

/*
 * Root of a user namespace is the user outside: it has no privileges on the device, and the same
 * limits.
 */
static _Noreturn void be_root_of_a_namespace(uint64_t memory)
{
	struct drm_onpu_ctx_create create = { .priority = DRM_ONPU_PRIORITY_HIGH };
	unsigned int outside = getuid();
	char map[32];
	int fd;

	must(!unshare(CLONE_NEWUSER));
	snprintf(map, sizeof(map), "0 %u 1", outside);
	write_file("/proc/self/uid_map", map);
	must(!getuid());
	fd = npu_open();
	must(!(npu_info(fd).priority_mask & 1u << DRM_ONPU_PRIORITY_HIGH));
	must(npu_ioctl(fd, DRM_IOCTL_ONPU_CTX_CREATE, &create) == EACCES);
	must(npu_counters(fd).user_memory > memory);
	create.priority = DRM_ONPU_PRIORITY_NORMAL;
	must(!npu_ioctl(fd, DRM_IOCTL_ONPU_CTX_CREATE, &create));
	_exit(0);
}

TEST_F(process, root_of_a_user_namespace)
{
	uint64_t memory = npu_counters(self->fd).user_memory;
	int status;
	pid_t child = fork();

	if (!child)
		be_root_of_a_namespace(memory);
	ASSERT_EQ(child, waitpid(child, &status, 0));
	EXPECT_EQ(0, status);
}

/* The child opens a file, sends it and exits; its client lives on in this process. */
TEST_F(process, a_file_that_was_sent)
{
	int pair[2], status, fd;
	struct {
		uint32_t ctx;
		uint64_t va;
	} names;
	struct drm_onpu_job job;
	pid_t child;

	ASSERT_EQ(0, socketpair(AF_UNIX, SOCK_STREAM, 0, pair));
	child = fork();
	if (!child) {
		fd = npu_open();
		names.ctx = npu_ctx(fd, 0).id;
		names.va = npu_bo(fd, BYTES, 0).va;
		send_file(pair[1], fd);
		must(write(pair[1], &names, sizeof(names)) == sizeof(names));
		_exit(0);
	}
	fd = receive_file(pair[0]);
	ASSERT_EQ(sizeof(names), read(pair[0], &names, sizeof(names)));
	ASSERT_EQ(child, waitpid(child, &status, 0));
	EXPECT_EQ(0, status);
	job = npu_fill(fd, names.va, BYTES, 1);
	EXPECT_EQ(0, npu_run(fd, names.ctx, &job));
	close(fd);
}

TEST_F(process, a_syncobj_of_another_process)
{
	uint32_t theirs, ours = npu_syncobj(self->fd);
	struct drm_onpu_job job = npu_fill(self->other, self->other_data.va, BYTES, 1);
	struct drm_onpu_sync wait;
	int file;

	ASSERT_EQ(0, drmSyncobjHandleToFD(self->fd, ours, &file));
	ASSERT_EQ(0, drmSyncobjFDToHandle(self->other, file, &theirs));
	ASSERT_EQ(0, npu_submit_signal(self->fd, self->ctx.id,
				       npu_fill(self->fd, self->data.va, BYTES, 1), ours));
	wait = (struct drm_onpu_sync){ theirs, DRM_ONPU_SYNC_WAIT, 0 };
	job.syncs = (struct drm_onpu_obj_array)DRM_ONPU_OBJ_ARRAY(1, &wait);
	EXPECT_EQ(0, npu_submit(self->other, self->other_ctx.id, &job, 1, NULL));
	job.syncs.count = 0;
	EXPECT_EQ(0, npu_run(self->other, self->other_ctx.id, &job));
	close(file);
}

/* ---- exits */

/* Contexts and files are closed with jobs under way; the fences of these jobs signal. */
TEST_F(process, jobs_are_cancelled_with_context_and_file)
{
	for (int how = 0; how < 4; how++) {
		int fd = npu_open(), shared = -1;
		struct npu_bo data = npu_bo(fd, NPU_LONG_BYTES, 0);
		struct npu_ctx ctx = npu_ctx(fd, 0);
		uint32_t syncobj = npu_syncobj(fd), imported = 0;

		ASSERT_EQ(0, drmSyncobjHandleToFD(fd, syncobj, &shared));
		ASSERT_EQ(0, drmSyncobjFDToHandle(self->other, shared, &imported));
		npu_submit_endless(fd, ctx.id, data.va, syncobj);
		usleep((unsigned int)how * 20000);
		if (how & 1) {
			EXPECT_EQ(0, npu_ctx_destroy(fd, ctx.id));
			EXPECT_EQ(ECANCELED, npu_wait(self->other, imported));
			close(fd);
			continue;
		}
		/* A mapping would keep the file open. */
		npu_unmap_programs();
		munmap(data.map, data.size);
		munmap((void *)ctx.page, 4096);
		close(fd);
		EXPECT_EQ(ECANCELED, npu_wait(self->other, imported));
		close(shared);
	}
}

static void work_until_killed(void)
{
	int fd = npu_open();
	struct npu_bo data = npu_bo(fd, NPU_LONG_BYTES, 0);
	struct npu_ctx ctx = npu_ctx(fd, 0);
	struct drm_onpu_job job = npu_long(fd, data.va);

	for (;;)
		npu_run(fd, ctx.id, &job);
}

TEST_F(process, another_is_killed)
{
	struct drm_onpu_job job = npu_fill(self->fd, self->data.va, BYTES, 1);

	for (unsigned int i = 0; i < 8; i++) {
		pid_t child = fork();

		if (!child)
			work_until_killed();
		usleep(20000 * i);
		EXPECT_EQ(0, npu_run(self->fd, self->ctx.id, &job));
		kill(child, SIGKILL);
		ASSERT_EQ(child, waitpid(child, NULL, 0));
		EXPECT_EQ(0, npu_run(self->fd, self->ctx.id, &job));
	}
	EXPECT_EQ(DRM_ONPU_CTX_ACTIVE, npu_state(self->fd, self->ctx.id).state);
}

/* A process exits without closing anything. */
TEST_F(process, an_end_with_everything_open)
{
	uint64_t own = npu_fdinfo(self->fd, "drm-total-memory") +
		       npu_fdinfo(self->other, "drm-total-memory");
	/* Wait until the memory of earlier tests is freed. */
	uint64_t before = npu_settled_memory(self->other, own);

	for (int i = 0; i < 3; i++) {
		pid_t child = fork();

		if (!child) {
			int fd = npu_open();
			struct npu_bo data = npu_bo(fd, NPU_LONG_BYTES, 0);
			struct npu_ctx ctx = npu_ctx(fd, 0);

			npu_submit_signal(fd, ctx.id, npu_long(fd, data.va), npu_syncobj(fd));
			_exit(0);
		}
		ASSERT_EQ(child, waitpid(child, NULL, 0));
	}
	EXPECT_EQ(own, before);
	EXPECT_EQ(before, npu_settled_memory(self->other, before));
}

/* ---- races */

struct racer {
	int fd;
	uint32_t ctx;
	struct drm_onpu_job job;
	volatile bool stop;
	uint64_t taken;
};

static void *keep_submitting(void *data)
{
	struct racer *racer = data;
	int ret = 0;

	while (!racer->stop) {
		ret = npu_submit(racer->fd, racer->ctx, &racer->job, 1, NULL);
		if (!ret)
			racer->taken++;
		else if (ret != ENOSPC)
			break;
	}
	return (void *)(intptr_t)ret;
}

TEST_F(process, destroy_races_with_submit)
{
	for (unsigned int round = 0; round < 20; round++) {
		struct npu_ctx ctx = npu_ctx(self->fd, 0);
		struct racer racer = {
			.fd = self->fd,
			.ctx = ctx.id,
			.job = npu_fill(self->fd, self->data.va, BYTES, 1),
		};
		pthread_t threads[2];
		void *end;

		for (int i = 0; i < 2; i++)
			ASSERT_EQ(0, pthread_create(&threads[i], NULL, keep_submitting, &racer));
		usleep(500 * round);
		EXPECT_EQ(0, npu_ctx_destroy(self->fd, ctx.id));
		for (int i = 0; i < 2; i++) {
			ASSERT_EQ(0, pthread_join(threads[i], &end));
			EXPECT_EQ(ENOENT, (intptr_t)end);
		}
		munmap((void *)ctx.page, 4096);
	}
}

TEST_F(process, close_races_with_submit)
{
	for (unsigned int round = 0; round < 10; round++) {
		int fd = npu_open(), copy = dup(fd);
		struct npu_bo data = npu_bo(fd, BYTES, 0);
		struct npu_ctx ctx = npu_ctx(fd, 0);
		struct racer racer = {
			.fd = copy,
			.ctx = ctx.id,
			.job = npu_fill(fd, data.va, BYTES, 1),
		};
		pthread_t thread;
		void *end;

		ASSERT_EQ(0, pthread_create(&thread, NULL, keep_submitting, &racer));
		npu_unmap_programs();
		munmap(data.map, data.size);
		munmap((void *)ctx.page, 4096);
		close(fd);
		usleep(300 * round);
		/* No other file gets this descriptor's number, because nothing opens one now. */
		close(copy);
		ASSERT_EQ(0, pthread_join(thread, &end));
		EXPECT_EQ(EBADF, (intptr_t)end);
	}
}

struct handles {
	int fd;
	volatile bool stop;
};

/* Runs as a thread: queries and closes handles 1 to 15, which another thread creates. */
static void *disturb(void *data)
{
	struct handles *handles = data;

	while (!handles->stop) {
		for (uint32_t handle = 1; handle < 16; handle++) {
			struct drm_onpu_bo_info info = { .handle = handle };

			npu_ioctl(handles->fd, DRM_IOCTL_ONPU_BO_INFO, &info);
			npu_gem_close(handles->fd, handle);
		}
	}
	return NULL;
}

TEST_F(process, handles_race)
{
	struct handles handles = { .fd = npu_open() };
	pthread_t threads[2];
	uint32_t made = 0;

	for (int i = 0; i < 2; i++)
		ASSERT_EQ(0, pthread_create(&threads[i], NULL, disturb, &handles));
	for (int i = 0; i < 300; i++) {
		struct drm_onpu_bo_create create = { .size = BYTES << (i % 4) };
		int ret = npu_ioctl(handles.fd, DRM_IOCTL_ONPU_BO_CREATE, &create);

		made += !ret;
		/*
		 * The other thread may have closed the handle before the call returned its number.
		 */
		EXPECT_TRUE(!ret || ret == ENOENT);
	}
	handles.stop = true;
	for (int i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
	for (uint32_t handle = 1; handle < 400; handle++)
		npu_gem_close(handles.fd, handle);
	EXPECT_LT(0, made);
	EXPECT_EQ(0, npu_counters(handles.fd).client_memory);
	close(handles.fd);
}

static void *make_contexts(void *data)
{
	struct racer *racer = data;

	while (!racer->stop) {
		struct drm_onpu_ctx_create args = { .priority = DRM_ONPU_PRIORITY_NORMAL };

		if (npu_ioctl(racer->fd, DRM_IOCTL_ONPU_CTX_CREATE, &args))
			continue;
		npu_submit(racer->fd, args.ctx_id, &racer->job, 1, NULL);
		must(!npu_ctx_destroy(racer->fd, args.ctx_id));
	}
	return NULL;
}

TEST_F(process, contexts_come_and_go)
{
	struct racer racer = {
		.fd = self->fd,
		.job = npu_fill(self->fd, self->data.va, BYTES, 1),
	};
	struct drm_onpu_job job = npu_fill(self->other, self->other_data.va, BYTES, 1);
	pthread_t threads[3];

	for (int i = 0; i < 3; i++)
		ASSERT_EQ(0, pthread_create(&threads[i], NULL, make_contexts, &racer));
	for (int i = 0; i < 50; i++)
		EXPECT_EQ(0, npu_run(self->other, self->other_ctx.id, &job));
	racer.stop = true;
	for (int i = 0; i < 3; i++)
		pthread_join(threads[i], NULL);
	EXPECT_EQ(0, npu_run(self->fd, self->ctx.id, &racer.job));
}

/* ---- signals */

static void on_alarm(int number)
{
	(void)number;
}

/*
 * Sends one signal, at another moment each time. A slow machine would do nothing else if signals
 * came at intervals.
 */
static void signal_soon(int round)
{
	const struct itimerval soon = {
		.it_value.tv_usec = (suseconds_t)((1 + round * 37 % 300 * 10) * npu_patience()),
	};

	must(!setitimer(ITIMER_REAL, &soon, NULL));
}

TEST_F(process, ioctls_that_signals_interrupt)
{
	const struct sigaction action = { .sa_handler = on_alarm };
	const struct itimerval never = { { 0, 0 }, { 0, 0 } };
	int rounds = (int)(100 / npu_patience());
	struct drm_onpu_job job = npu_fill(self->fd, self->data.va, BYTES, 1);
	uint64_t taken = 0, made = 0;

	ASSERT_EQ(0, sigaction(SIGALRM, &action, NULL));
	for (int i = 0; i < rounds; i++) {
		struct drm_onpu_bo_create create = { .size = BYTES };
		struct drm_onpu_ctx_create ctx = { .priority = DRM_ONPU_PRIORITY_LOW };
		int ret;

		signal_soon(i);
		ret = npu_submit(self->fd, self->ctx.id, &job, 1, NULL);

		taken += !ret;
		EXPECT_TRUE(!ret || ret == EINTR || ret == ENOSPC);
		ret = npu_ioctl(self->other, DRM_IOCTL_ONPU_BO_CREATE, &create);
		made += !ret;
		EXPECT_TRUE(!ret || ret == EINTR);
		ret = npu_ioctl(self->other, DRM_IOCTL_ONPU_CTX_CREATE, &ctx);
		EXPECT_TRUE(!ret || ret == EINTR);
		if (!ret)
			EXPECT_EQ(0, npu_ctx_destroy(self->other, ctx.ctx_id));
	}
	ASSERT_EQ(0, setitimer(ITIMER_REAL, &never, NULL));
	EXPECT_LT(0, taken);
	EXPECT_EQ(taken, npu_state(self->fd, self->ctx.id).submitted);
	EXPECT_EQ(NPU_LONG_BYTES + made * npu_page(), npu_counters(self->other).client_memory);
	EXPECT_EQ(0, npu_run(self->fd, self->ctx.id, &job));
}

TEST_HARNESS_MAIN
