/* SPDX-License-Identifier: MIT */
/* onpu-smi: the open files of programs, from /proc/PID/fdinfo. */
#ifndef ONPU_TOOLS_SMI_CLIENT_H
#define ONPU_TOOLS_SMI_CLIENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CLIENT_ENGINES 4

/* One engine as a client has used it. */
struct client_engine {
	char name[16];
	uint64_t busy_ns, cycles;
};

/* One open file of a device; duplicates and inherited ones count as one client. */
struct client {
	int pid; /* the first process that has it */
	uint64_t id;
	char address[16];	  /* PCI address of the device */
	uint64_t total, resident; /* bytes */
	struct client_engine engines[CLIENT_ENGINES];
	size_t engine_count;
};

/* Reads the text of fdinfo. False when it is not one of our driver's. */
bool client_parse(const char *text, struct client *client);

struct clients {
	struct client *list;
	size_t count;
	size_t hidden; /* processes that this user may not look at */
};

/* All clients of all devices. */
struct clients clients_find(void);
void clients_free(struct clients *clients);

/* The use of a device by a process between two readings. */
struct process {
	int pid;
	uint64_t user;
	char command[32];
	char address[16];
	uint64_t total, resident; /* bytes at the later reading */
	uint64_t busy_ns, cycles; /* since the files were opened */
	double load;		  /* share of the time in which the device had jobs of it */
	uint64_t files;
};

struct processes {
	struct process *list;
	size_t count;
};

/*
 * Lists who has files open in @now, with the load since @before, @seconds ago. A file that is new
 * counts from its beginning. The process with most load comes first.
 */
struct processes processes_compare(const struct clients *before, const struct clients *now,
				   double seconds);
void processes_free(struct processes *processes);

#endif
