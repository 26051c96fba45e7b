// SPDX-License-Identifier: MIT
/*
 * Work without end, for guest_lifecycle.py and others that take the device away: computes on the
 * node given and looks at the results until the device is gone. With "endless" behind the node, its
 * jobs do not end before that, or until SIGTERM destroys its context; with "once", one round is all, and with "once-low" its context is of low
 * priority. A job that was cancelled does not matter. The status is 0 if all was right: results,
 * errors, and no fence without signal.
 */
#include "npu.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#define BYTES (1u << 20)
#define JOBS  32

static struct drm_onpu_job jobs[JOBS];
static int node;
static uint32_t context;
static volatile sig_atomic_t destroyed;

/* If the process just ended, its memory might go before its context, whose job would fault. */
static void destroy_context(int signal)
{
	(void)signal;
	destroyed = true;
	npu_ctx_destroy(node, context);
}

/* Many fills of one buffer, the last of which is seen at the end. */
static void make_jobs(int fd, const struct npu_bo *data, bool endless)
{
	struct drm_onpu_job job;

	if (endless)
		job = npu_long(fd, data->va);
	for (int i = 0; i < JOBS; i++)
		jobs[i] = endless ? job : npu_fill(fd, data->va, BYTES, (uint8_t)(i + 1));
}

/* The errno of the submission or of the last job's fence; -1: none within the time. */
static int run_all(int fd, uint32_t ctx, uint32_t syncobj)
{
	const struct drm_onpu_sync sync = { syncobj, DRM_ONPU_SYNC_SIGNAL, 0 };
	int ret;

	jobs[JOBS - 1].syncs = (struct drm_onpu_obj_array)DRM_ONPU_OBJ_ARRAY(1, &sync);
	ret = npu_submit(fd, ctx, jobs, JOBS, NULL);
	return ret ? ret : npu_wait(fd, syncobj);
}

/* A reset that others caused: the context goes on, and tells. A device that is gone does not. */
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

int main(int argc, char **argv)
{
	int fd = npu_open_node(argc > 1 ? argv[1] : NPU_NODE), error;
	struct npu_bo data = npu_bo(fd, NPU_LONG_BYTES, 0);
	uint32_t syncobj = npu_syncobj(fd);
	const char *how = argc > 2 ? argv[2] : "";
	struct npu_ctx ctx = npu_ctx_of(
		fd, strcmp(how, "once-low") ? DRM_ONPU_PRIORITY_NORMAL : DRM_ONPU_PRIORITY_LOW, 0);
	struct drm_onpu_ctx_get_state state = { .ctx_id = ctx.id };
	uint64_t rounds = 0, cancelled = 0;

	make_jobs(fd, &data, !strcmp(how, "endless"));
	node = fd;
	context = ctx.id;
	if (!strcmp(how, "endless"))
		signal(SIGTERM, destroy_context);
	while (1) {
		error = run_all(fd, ctx.id, syncobj);
		if (destroyed)
			return 0;
		if (error && error != ECANCELED)
			break;
		cancelled += error == ECANCELED;
		if (error && !is_innocent(fd, ctx.id))
			return 1;
		if (!error && !npu_all(data.map, BYTES, JOBS)) {
			fprintf(stderr, "# a wrong result after %llu rounds\n",
				(unsigned long long)rounds);
			return 1;
		}
		rounds++;
		if (!strncmp(how, "once", 4)) {
			printf("# %s\n", cancelled ? "cancelled" : "done");
			return 0;
		}
	}
	printf("# %llu rounds, %llu cancelled, ended by errno %d\n", (unsigned long long)rounds,
	       (unsigned long long)cancelled, error);
	if (error != ENODEV)
		return 1;
	/* A wedged device still tells the state of the context; an unplugged one does not. */
	error = npu_ioctl(fd, DRM_IOCTL_ONPU_CTX_GET_STATE, &state);
	if (error ? error != ENODEV : state.state != DRM_ONPU_CTX_LOST || state.error != ENODEV) {
		fprintf(stderr, "# state %u, error %u, errno %d\n", state.state, state.error,
			error);
		return 1;
	}
	return 0;
}
