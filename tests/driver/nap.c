// SPDX-License-Identifier: MIT
/*
 * Work for a device that sleeps when it is unused, for guest_power.sh:
 *
 *   driver-nap DEVICE ROUNDS   with the device's folder in sysfs: each round waits until
 *   the device sleeps, frees and allocates memory, runs jobs, and checks their results
 *   driver-nap DEVICE low      runs one job of a context that saves energy
 *   driver-nap DEVICE high     runs one job of a context that prefers speed, and keeps the context
 *   until standard input ends
 *   driver-nap DEVICE look     keeps a file with a context open, and makes all queries that need no
 *   device, until standard input ends
 *
 * The exit status is 0 if all was right.
 */
#include "npu.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define BYTES	65536u
#define CLIENTS 3

static const char *device;

static void read_attribute(const char *name, char *text, size_t size)
{
	char path[256];
	FILE *file;

	snprintf(path, sizeof(path), "%s/%s", device, name);
	file = fopen(path, "re");
	must(file && fgets(text, (int)size, file));
	fclose(file);
}

static bool falls_asleep(void)
{
	double end = npu_now() + npu_patience() * NPU_PATIENCE_S;
	char status[32] = "";

	while (strcmp(status, "suspended\n")) {
		if (npu_now() > end)
			return false;
		usleep(5000);
		read_attribute("power/runtime_status", status, sizeof(status));
	}
	return true;
}

static unsigned long resets(void)
{
	char text[32];

	read_attribute("reset_count", text, sizeof(text));
	return strtoul(text, NULL, 10);
}

struct client {
	int fd;
	uint32_t ctx;
	struct npu_bo data;
};

/*
 * Destroys the client's context and buffer and creates others, while the device sleeps. Checks that
 * the memory in use soon grows by no more than a page table: freeing must not wait until the device
 * is awake.
 */
static void change_memory(struct client *client)
{
	uint64_t memory = npu_counters(client->fd).memory;

	must(!npu_ctx_destroy(client->fd, client->ctx));
	npu_bo_close(client->fd, &client->data);
	client->data = npu_bo(client->fd, BYTES, 0);
	client->ctx = npu_ctx(client->fd, 0).id;
	/* A page table may have been added. */
	memory += 4096;
	must(npu_settled_memory(client->fd, memory) <= memory);
}

/* Returns whether the device's clock runs; the query wakes the device. */
static bool clock_runs(int fd)
{
	struct drm_onpu_time_info info = { 0 };
	struct drm_onpu_dev_query query = {
		.type = DRM_ONPU_DEV_QUERY_TIME,
		.size = sizeof(info),
		.pointer = (uintptr_t)&info,
	};

	return !npu_ioctl(fd, DRM_IOCTL_ONPU_DEV_QUERY, &query) && info.cycles &&
	       info.cycles != UINT64_MAX;
}

static bool run_round(struct client *clients, int round)
{
	uint32_t syncobj[CLIENTS];
	bool good = round % 2 || clock_runs(clients[0].fd);

	for (int i = 0; i < CLIENTS; i++) {
		struct client *c = &clients[i];
		struct drm_onpu_job job = npu_fill(c->fd, c->data.va, BYTES, (uint8_t)(round + i));

		syncobj[i] = npu_syncobj(c->fd);
		must(!npu_submit_signal(c->fd, c->ctx, job, syncobj[i]));
	}
	for (int i = 0; i < CLIENTS; i++) {
		struct client *c = &clients[i];

		good = good && !npu_wait(c->fd, syncobj[i]) &&
		       npu_sees(c->data.map, BYTES, (uint8_t)(round + i)) &&
		       npu_state(c->fd, c->ctx).state == DRM_ONPU_CTX_ACTIVE;
	}
	return good;
}

static int run_rounds(int rounds)
{
	struct client clients[CLIENTS];
	unsigned long before = resets();

	for (int i = 0; i < CLIENTS; i++) {
		clients[i].fd = npu_open();
		clients[i].data = npu_bo(clients[i].fd, BYTES, 0);
		clients[i].ctx = npu_ctx(clients[i].fd, 0).id;
	}
	for (int round = 0; round < rounds; round++) {
		if (!falls_asleep() || (change_memory(&clients[round % CLIENTS]), false) ||
		    !run_round(clients, round)) {
			fprintf(stderr, "# round %d\n", round);
			return 1;
		}
	}
	return resets() != before;
}

static int run_one(uint32_t power)
{
	struct drm_onpu_ctx_create create = { .power = power };
	int fd = npu_open();
	struct npu_bo data = npu_bo(fd, BYTES, 0);
	struct drm_onpu_job job = npu_fill(fd, data.va, BYTES, 1);

	must(!npu_ctx_create(fd, &create));
	if (npu_run(fd, create.ctx_id, &job))
		return 1;
	puts("done");
	fflush(stdout);
	while (getchar() != EOF)
		;
	return 0;
}

static int look(void)
{
	int fd = npu_open();
	uint32_t ctx = npu_ctx(fd, 0).id;

	for (int i = 0; i < 20; i++) {
		npu_info(fd);
		npu_num_queues(fd);
		npu_counters(fd);
		npu_state(fd, ctx);
		npu_fdinfo(fd, "drm-cycles-npu");
		usleep(10000);
	}
	return 0;
}

int main(int argc, char **argv)
{
	must(argc > 2);
	device = argv[1];
	if (!strcmp(argv[2], "look"))
		return look();
	if (!strcmp(argv[2], "low"))
		return run_one(DRM_ONPU_POWER_LOW);
	if (!strcmp(argv[2], "high"))
		return run_one(DRM_ONPU_POWER_HIGH_PERFORMANCE);
	return run_rounds(atoi(argv[2]));
}
