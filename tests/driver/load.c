// SPDX-License-Identifier: MIT
/*
 * Work without end, for guest_lifecycle.py and other tests that remove the device: computes on the
 * given node and checks the results until the device is gone. A word after the node changes that:
 *
 *   endless    its jobs run until the device is gone or SIGTERM destroys their context
 *   once       does one round only
 *   once-low   does one round only, in a context of low priority
 *   again      goes on with the device that comes next
 *   lost       accepts that its context is lost (EIO) on a device that works again
 *   killed N   kills a process with a job that does not end, N times
 *
 * A cancelled job is no error. The exit status is 0 if all was right: results, errors, and a signal
 * for each fence.
 */
#include "npu.h"

#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#define BYTES (256u << 10)
#define JOBS  32
/* Number of different programs of the jobs; each is a buffer object. */
#define PROGRAMS 4

static struct drm_onpu_job jobs[JOBS];
static int node;
static uint32_t context;
static volatile sig_atomic_t destroyed;

/*
 * Destroys the context at a signal. If the process just ended, its memory might go before its
 * context, and the job would fault.
 */
static void destroy_context(int signal)
{
	(void)signal;
	destroyed = true;
	npu_ctx_destroy(node, context);
}

/* Makes jobs that fill one buffer many times; a check of the buffer expects the last fill. */
static void make_jobs(int fd, const struct npu_bo *data, bool endless)
{
	const int programs = endless ? 1 : PROGRAMS;

	for (int i = 0; i < JOBS; i++) {
		if (i >= programs)
			jobs[i] = jobs[i - programs];
		else if (endless)
			jobs[i] = npu_long(fd, data->va);
		else
			jobs[i] = npu_fill(fd, data->va, BYTES, (uint8_t)(i + 1));
	}
}

/*
 * Runs all jobs. Returns the errno of the submission or of the last job's fence, 0 when both
 * succeeded, or -1 when the fence has not signalled in time.
 */
static int run_all(int fd, uint32_t ctx, uint32_t syncobj)
{
	const struct drm_onpu_sync sync = { syncobj, DRM_ONPU_SYNC_SIGNAL, 0 };
	int ret;

	jobs[JOBS - 1].syncs = (struct drm_onpu_obj_array)DRM_ONPU_OBJ_ARRAY(1, &sync);
	ret = npu_submit(fd, ctx, jobs, JOBS, NULL);
	return ret ? ret : npu_wait(fd, syncobj);
}

/*
 * Returns whether the state of the context explains why a job was cancelled: others caused a reset,
 * or the device is gone. If not, prints the state.
 */
static bool is_innocent(int fd, uint32_t ctx)
{
	struct drm_onpu_ctx_get_state state = { .ctx_id = ctx };
	int error = npu_ioctl(fd, DRM_IOCTL_ONPU_CTX_GET_STATE, &state);

	if (error == ENODEV || state.state == DRM_ONPU_CTX_LOST)
		return true;
	if (!error && state.state == DRM_ONPU_CTX_INNOCENT && state.error == ECANCELED &&
	    state.cancelled)
		return true;
	fprintf(stderr, "# cancelled, and state %u, error %u, errno %d\n", state.state, state.error,
		error);
	return false;
}

/*
 * Runs jobs until the device is gone or destroy_context() ran; only one round if @how begins with
 * "once". All calls must report that the device is gone. Returns 0 if all was right, else 1.
 */
static int work(const char *how)
{
	bool once = !strncmp(how, "once", 4), endless = !strcmp(how, "endless");
	struct npu_bo data = npu_bo(node, endless ? NPU_LONG_BYTES : BYTES, 0);
	uint32_t syncobj = npu_syncobj(node);
	uint32_t priority = strcmp(how, "once-low") ? DRM_ONPU_PRIORITY_NORMAL :
						      DRM_ONPU_PRIORITY_LOW;
	struct npu_ctx ctx = npu_ctx_of(node, priority, 0);
	struct drm_onpu_ctx_get_state state = { .ctx_id = ctx.id };
	uint64_t rounds = 0, cancelled = 0;
	int error;

	make_jobs(node, &data, endless);
	context = ctx.id;
	if (endless)
		signal(SIGTERM, destroy_context);
	while (1) {
		error = run_all(node, ctx.id, syncobj);
		/*
		 * Another program ends the job; on a busy machine that takes longer than npu_wait()
		 * waits.
		 */
		while (endless && error == -1)
			error = npu_wait(node, syncobj);
		if (destroyed)
			return 0;
		if (error && error != ECANCELED)
			break;
		cancelled += error == ECANCELED;
		if (error && !is_innocent(node, ctx.id))
			return 1;
		if (!error && !npu_sees(data.map, BYTES, PROGRAMS)) {
			fprintf(stderr, "# a wrong result after %llu rounds\n",
				(unsigned long long)rounds);
			return 1;
		}
		rounds++;
		if (once) {
			printf("# %s\n", cancelled ? "cancelled" : "done");
			return 0;
		}
	}
	if (error == EIO && !strcmp(how, "lost"))
		error = ENODEV;
	/*
	 * A wedged device still tells the state of the context and syncs buffers; an unplugged one
	 * does not.
	 */
	if (error == ENODEV) {
		struct drm_onpu_bo_sync sync = {
			.handle = data.handle,
			.flags = DRM_ONPU_BO_SYNC_FOR_CPU,
			.size = data.size,
		};
		int synced = npu_ioctl(node, DRM_IOCTL_ONPU_BO_SYNC, &sync);
		int asked = npu_ioctl(node, DRM_IOCTL_ONPU_CTX_GET_STATE, &state);

		if (asked ? asked != ENODEV :
			    synced || state.state != DRM_ONPU_CTX_LOST || state.error != ENODEV) {
			fprintf(stderr, "# state %u, error %u, errno %d, sync %d\n", state.state,
				state.error, asked, synced);
			return 1;
		}
	}
	/* Unmap everything, because mappings keep the file open. */
	npu_unmap_programs();
	must(!munmap(data.map, data.size) &&
	     !munmap((void *)ctx.page, (size_t)sysconf(_SC_PAGESIZE)) && !close(node));
	printf("# %llu rounds, %llu cancelled, ended by errno %d\n", (unsigned long long)rounds,
	       (unsigned long long)cancelled, error);
	fflush(stdout);
	return error != ENODEV;
}

/* Waits until a node can be opened, and returns it; its device may be the old one. */
static int wait_for_node(void)
{
	glob_t found;
	int fd = -1;

	while (1) {
		if (!glob("/dev/accel/accel*", 0, NULL, &found)) {
			fd = open(found.gl_pathv[0], O_RDWR | O_CLOEXEC);
			globfree(&found);
		}
		if (fd >= 0)
			return fd;
		usleep(20000);
	}
}

/* Runs a job without end in a process of its own, and writes a byte to @begun when the job runs. */
static _Noreturn void run_endless(const char *name, int begun)
{
	struct npu_bo data;
	uint32_t ctx;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	node = npu_open_node(name);
	data = npu_bo(node, NPU_LONG_BYTES, DRM_ONPU_BO_NO_MMAP);
	ctx = npu_ctx(node, 0).id;
	npu_submit_endless(node, ctx, data.va, npu_syncobj(node));
	while (!npu_state(node, ctx).busy_ns)
		usleep(1000);
	must(write(begun, "", 1) == 1);
	while (1)
		pause();
}

/*
 * Kills `rounds` processes, each while its job runs, and returns 0. It forks them, because starting
 * a program for each is slow on a kernel with debug checks.
 */
static int kill_many(const char *name, int rounds)
{
	for (int round = 0; round < rounds; round++) {
		int begun[2], status;
		char byte;
		pid_t pid;

		must(!pipe(begun) && (pid = fork()) >= 0);
		if (!pid)
			run_endless(name, begun[1]);
		close(begun[1]);
		must(read(begun[0], &byte, 1) == 1);
		close(begun[0]);
		must(!kill(pid, SIGKILL) && waitpid(pid, &status, 0) == pid);
		must(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
	}
	printf("# %d were killed\n", rounds);
	return 0;
}

int main(int argc, char **argv)
{
	const char *name = argc > 1 ? argv[1] : NPU_NODE, *how = argc > 2 ? argv[2] : "";
	int status;

	if (!strcmp(how, "killed"))
		return kill_many(name, argc > 3 ? atoi(argv[3]) : 1);
	node = npu_open_node(name);
	while (1) {
		status = work(how);
		if (status || strcmp(how, "again"))
			return status;
		node = wait_for_node();
	}
}
