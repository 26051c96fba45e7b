/* SPDX-License-Identifier: MIT */
/* onpu-smi: open files of device nodes, from /proc/PID/fdinfo. */
#ifndef ONPU_TOOLS_SMI_CLIENT_H
#define ONPU_TOOLS_SMI_CLIENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CLIENT_ENGINES 4

struct client_engine {
	char name[16];
	uint64_t busy_ns, cycles;
};

/* An open file of a device; its duplicates and inherited copies are the same client. */
struct client {
	int pid; /* the first process that has the file */
	uint64_t id;
	char address[16];	  /* PCI address of the device */
	uint64_t total, resident; /* bytes */
	struct client_engine engines[CLIENT_ENGINES];
	size_t engine_count;
};

/* Parses the text of a fdinfo; false: it is not from our driver. */
bool client_parse(const char *text, struct client *client);

struct clients {
	struct client *list;
	size_t count;
	size_t hidden; /* processes that this user may not inspect */
};

/* Returns all clients of all devices. */
struct clients clients_find(void);
void clients_free(struct clients *clients);

/* The use of a device by a process, from two readings. */
struct process {
	int pid;
	uint64_t user;
	char command[32];
	char address[16];
	uint64_t total, resident; /* bytes at the later reading */
	uint64_t busy_ns, cycles; /* sums since the files were opened */
	double load;		  /* share of the time in which the device ran its jobs */
	uint64_t files;
};

struct processes {
	struct process *list;
	size_t count;
};

/*
 * Returns the processes that have files open in @now, with the load since @before, @seconds
 * earlier. A new file counts from its opening. The process with the highest load comes first.
 */
struct processes processes_compare(const struct clients *before, const struct clients *now,
				   double seconds);
void processes_free(struct processes *processes);

#endif
