// SPDX-License-Identifier: MIT
/*
 * Ends contexts while the device is reset, for guest_race.sh: driver-race DEVICE [ROUNDS] as root,
 * with the device's folder in sysfs. Then each client ends its only context, and the firmware fails
 * to destroy the address space. Afterwards each client must work, and the driver must not need
 * another reset: it knows what the firmware has forgotten. The exit status is 0 if all was right.
 */
#include "npu.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define BYTES	4096u
#define CLIENTS 12

static const char *device;

struct client {
	int fd;
	uint32_t ctx;
	struct drm_onpu_job job;
};

static int attribute(const char *name, int flags)
{
	char path[256];
	int file;

	snprintf(path, sizeof(path), "%s/%s", device, name);
	file = open(path, flags | O_CLOEXEC);
	must(file >= 0);
	return file;
}

static unsigned long resets(void)
{
	char text[32] = "";
	int file = attribute("reset_count", O_RDONLY);

	must(read(file, text, sizeof(text) - 1) > 0);
	close(file);
	return strtoul(text, NULL, 10);
}

static void *reset(void *file)
{
	must(write(*(int *)file, "1", 1) == 1);
	return NULL;
}

static void open_client(struct client *client)
{
	struct npu_bo data;

	client->fd = npu_open();
	data = npu_bo(client->fd, BYTES, 0);
	client->job = npu_fill(client->fd, data.va, BYTES, 1);
}

/*
 * Runs a round. In every other round the contexts end before their jobs have begun, or just then.
 */
static void run_round(struct client *clients, int round)
{
	int file = attribute("reset", O_WRONLY);
	pthread_t thread;

	for (int i = 0; i < CLIENTS; i++) {
		struct client *client = &clients[i];

		client->ctx = npu_ctx(client->fd, 0).id;
		if (round % 2)
			must(!npu_submit(client->fd, client->ctx, &client->job, 1, NULL));
		else
			must(!npu_run(client->fd, client->ctx, &client->job));
	}
	must(!pthread_create(&thread, NULL, reset, &file));
	usleep((useconds_t)(round % 16) * 100);
	for (int i = 0; i < CLIENTS; i++)
		must(!npu_ctx_destroy(clients[i].fd, clients[i].ctx));
	must(!pthread_join(thread, NULL));
	close(file);
}

/*
 * Ends the client's only context while the request that destroys the address space fails; waits for
 * the reset that follows.
 */
static void fail_vm_destroy(struct client *client)
{
	struct drm_onpu_time_info info;
	struct drm_onpu_dev_query query = {
		.type = DRM_ONPU_DEV_QUERY_TIME,
		.size = sizeof(info),
		.pointer = (uintptr_t)&info,
	};
	const char *address = strrchr(device, '/');
	unsigned long before = resets();
	double end = npu_now() + npu_patience() * NPU_PATIENCE_S;
	char path[256];
	FILE *file;

	client->ctx = npu_ctx(client->fd, 0).id;
	must(!npu_run(client->fd, client->ctx, &client->job));
	snprintf(path, sizeof(path), "/sys/kernel/debug/accel%s/fail_request", address);
	file = fopen(path, "we");
	must(file && fprintf(file, "%d", ONPU_MSG_VM_DESTROY) > 0 && !fclose(file));
	must(!npu_ctx_destroy(client->fd, client->ctx));
	while (resets() == before && npu_now() < end)
		usleep(1000);
	must(resets() == before + 1);
	/*
	 * The counter of resets rises before the old jobs have ended; the clock is read after that.
	 */
	must(!npu_ioctl(client->fd, DRM_IOCTL_ONPU_DEV_QUERY, &query));
}

static bool all_work(struct client *clients)
{
	bool good = true;

	for (int i = 0; i < CLIENTS; i++) {
		uint32_t ctx = npu_ctx(clients[i].fd, 0).id;
		int error = npu_run(clients[i].fd, ctx, &clients[i].job);

		if (error)
			fprintf(stderr, "# client %d: errno %d\n", i, error);
		good = good && !error;
		must(!npu_ctx_destroy(clients[i].fd, ctx));
	}
	return good;
}

/*
 * Returns whether all clients work, and the device was reset exactly once since @before was read.
 */
static bool check_round(struct client *clients, const char *what, int round, unsigned long before)
{
	bool good = all_work(clients) && resets() == before + 1;

	if (!good)
		fprintf(stderr, "# %s %d: %lu resets\n", what, round, resets() - before);
	return good;
}

int main(int argc, char **argv)
{
	struct client clients[CLIENTS];
	int rounds = argc > 2 ? atoi(argv[2]) : 12;

	must(argc > 1);
	device = argv[1];
	for (int i = 0; i < CLIENTS; i++)
		open_client(&clients[i]);
	for (int round = 0; round < rounds; round++) {
		unsigned long before = resets();

		run_round(clients, round);
		if (!check_round(clients, "round", round, before))
			return 1;
	}
	for (int i = 0; i < 4; i++) {
		unsigned long before = resets();

		fail_vm_destroy(&clients[i]);
		if (!check_round(clients, "client", i, before))
			return 1;
	}
	return 0;
}
