// SPDX-License-Identifier: MIT
/*
 * Contexts end while the device is reset, for guest_race.sh: driver-race DEVICE [ROUNDS] as root, with
 * the device's folder in sysfs. Afterwards each client works, and the driver needs no other reset: it
 * knows what the firmware has forgotten. The status is 0 if all was right.
 */
#include "npu.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
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

/* In every other round the contexts end before their jobs have begun, or just then. */
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
		if (!all_work(clients) || resets() != before + 1) {
			fprintf(stderr, "# round %d: %lu resets\n", round, resets() - before);
			return 1;
		}
	}
	return 0;
}
