// SPDX-License-Identifier: MIT
/* onpu-smi: reads the open files of programs from /proc/PID/fdinfo. */
#include "client.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "smi.h"
#include "tree.h"

/* ---- the text of one file */

/* Returns a number of bytes from a text with the kernel's units. */
static uint64_t bytes_of(const char *text)
{
	char *end;
	uint64_t value = strtoull(text, &end, 10);

	while (*end == ' ')
		end++;
	if (!strncmp(end, "KiB", 3))
		return value << 10;
	if (!strncmp(end, "MiB", 3))
		return value << 20;
	if (!strncmp(end, "GiB", 3))
		return value << 30;
	return value;
}

static struct client_engine *engine_of(struct client *client, const char *name)
{
	struct client_engine *engine = client->engines;
	size_t i;

	for (i = 0; i < client->engine_count; i++)
		if (!strcmp(engine[i].name, name))
			return &engine[i];
	if (i == CLIENT_ENGINES || strlen(name) >= sizeof(engine->name))
		return NULL;
	memset(&engine[i], 0, sizeof(*engine));
	memcpy(engine[i].name, name, strlen(name) + 1);
	client->engine_count++;
	return &engine[i];
}

/* Returns the text after @prefix in @key, or NULL. */
static const char *behind(const char *key, const char *prefix)
{
	size_t length = strlen(prefix);

	return strncmp(key, prefix, length) ? NULL : key + length;
}

static void take(struct client *client, const char *key, const char *value)
{
	struct client_engine *engine;
	const char *name;

	if (!strcmp(key, "drm-client-id")) {
		client->id = strtoull(value, NULL, 10);
	} else if (!strcmp(key, "drm-pdev")) {
		snprintf(client->address, sizeof(client->address), "%s", value);
	} else if (behind(key, "drm-total-")) {
		client->total += bytes_of(value);
	} else if (behind(key, "drm-resident-")) {
		client->resident += bytes_of(value);
	} else if (behind(key, "drm-engine-capacity-")) {
		/*
		 * Devices of this driver have one engine of each kind, so that capacities need not
		 * be read.
		 */
	} else if ((name = behind(key, "drm-engine-"))) {
		engine = engine_of(client, name);
		if (engine)
			engine->busy_ns = strtoull(value, NULL, 10);
	} else if ((name = behind(key, "drm-cycles-"))) {
		engine = engine_of(client, name);
		if (engine)
			engine->cycles = strtoull(value, NULL, 10);
	}
}

bool client_parse(const char *text, struct client *client)
{
	char line[256];
	bool ours = false;

	memset(client, 0, sizeof(*client));
	while (*text) {
		size_t length = strcspn(text, "\n");
		char *value;

		if (length < sizeof(line)) {
			memcpy(line, text, length);
			line[length] = '\0';
			value = strchr(line, ':');
			if (value) {
				*value++ = '\0';
				while (isspace((unsigned char)*value))
					value++;
				ours |= !strcmp(line, "drm-driver") && !strcmp(value, "onpu");
				take(client, line, value);
			}
		}
		text += length + (text[length] == '\n');
	}
	return ours;
}

/* ---- all of them */

static bool is_known(const struct clients *clients, const struct client *client)
{
	for (size_t i = 0; i < clients->count; i++)
		if (clients->list[i].id == client->id &&
		    !strcmp(clients->list[i].address, client->address))
			return true;
	return false;
}

static void add(struct clients *clients, const struct client *client)
{
	struct client *grown =
		realloc(clients->list, (clients->count + 1) * sizeof(*clients->list));

	if (!grown)
		exit(complain(FAILED, "memory is exhausted"));
	clients->list = grown;
	clients->list[clients->count++] = *client;
}

/*
 * Adds the clients of a process. Only files that are nodes of accelerators have their fdinfo read,
 * as other files are many.
 */
static void look_at_process(struct clients *clients, const char *pid)
{
	struct tree_names files = tree_list("/proc/%s/fd", pid);

	if (!files.names && (errno == EACCES || errno == EPERM))
		clients->hidden++;
	for (size_t i = 0; i < files.count; i++) {
		char target[PATH_MAX];
		struct client client;
		char *text;

		if (tree_link(target, sizeof(target), "/proc/%s/fd/%s", pid, files.names[i]) ||
		    strncmp(target, "/dev/accel/", 11))
			continue;
		text = tree_read(NULL, "/proc/%s/fdinfo/%s", pid, files.names[i]);
		if (text && client_parse(text, &client) && !is_known(clients, &client)) {
			client.pid = atoi(pid);
			add(clients, &client);
		}
		free(text);
	}
	tree_names_free(&files);
}

struct clients clients_find(void)
{
	struct tree_names processes = tree_list("/proc");
	struct clients clients = { NULL, 0, 0 };

	for (size_t i = 0; i < processes.count; i++)
		if (isdigit((unsigned char)processes.names[i][0]))
			look_at_process(&clients, processes.names[i]);
	tree_names_free(&processes);
	return clients;
}

void clients_free(struct clients *clients)
{
	free(clients->list);
	*clients = (struct clients){ NULL, 0, 0 };
}

/* ---- what processes used */

/* Returns an engine's earlier busy time; 0 for a client that did not exist. */
static uint64_t busy_before(const struct clients *before, const struct client *client,
			    const char *engine)
{
	for (size_t i = 0; i < before->count; i++) {
		const struct client *old = &before->list[i];

		if (old->id != client->id || strcmp(old->address, client->address))
			continue;
		for (size_t j = 0; j < old->engine_count; j++)
			if (!strcmp(old->engines[j].name, engine))
				return old->engines[j].busy_ns;
	}
	return 0;
}

static struct process *process_of(struct processes *processes, const struct client *client)
{
	struct process *process = processes->list;
	struct stat status;
	char path[PATH_MAX];

	for (size_t i = 0; i < processes->count; i++)
		if (process[i].pid == client->pid && !strcmp(process[i].address, client->address))
			return &process[i];
	process += processes->count++;
	memset(process, 0, sizeof(*process));
	process->pid = client->pid;
	memcpy(process->address, client->address, sizeof(process->address));
	tree_line(process->command, sizeof(process->command), "/proc/%d/comm", client->pid);
	/* A process may choose a name with control sequences for the terminal. */
	for (char *at = process->command; *at; at++)
		if (iscntrl((unsigned char)*at))
			*at = '?';
	if (!stat(tree_path(path, "/proc/%d", client->pid), &status))
		process->user = status.st_uid;
	return process;
}

static int by_load(const void *a, const void *b)
{
	const struct process *first = a, *second = b;

	if (first->load != second->load)
		return first->load < second->load ? 1 : -1;
	return first->pid < second->pid ? -1 : first->pid > second->pid;
}

struct processes processes_compare(const struct clients *before, const struct clients *now,
				   double seconds)
{
	struct processes processes = { calloc(now->count + 1, sizeof(*processes.list)), 0 };

	if (!processes.list)
		exit(complain(FAILED, "memory is exhausted"));
	for (size_t i = 0; i < now->count; i++) {
		const struct client *client = &now->list[i];
		struct process *process = process_of(&processes, client);

		process->files++;
		process->total += client->total;
		process->resident += client->resident;
		for (size_t j = 0; j < client->engine_count; j++) {
			const struct client_engine *engine = &client->engines[j];
			uint64_t old = busy_before(before, client, engine->name);

			process->busy_ns += engine->busy_ns;
			process->cycles += engine->cycles;
			if (seconds > 0 && engine->busy_ns > old)
				process->load += (double)(engine->busy_ns - old) / 1e9 / seconds;
		}
	}
	qsort(processes.list, processes.count, sizeof(*processes.list), by_load);
	return processes;
}

void processes_free(struct processes *processes)
{
	free(processes->list);
	*processes = (struct processes){ NULL, 0 };
}
