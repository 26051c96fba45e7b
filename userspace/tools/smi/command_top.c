// SPDX-License-Identifier: MIT
/* onpu-smi top: prints which processes use the devices, and how much. */
#include <errno.h>
#include <inttypes.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "../size_text.h"
#include "client.h"
#include "device.h"
#include "smi.h"
#include "text.h"
#include "tree.h"

enum { KEY_ONCE = 0x400 };

static const struct argp_option top_options[] = {
	{ "once", KEY_ONCE, NULL, 0, "Print the load once, then end: the same as --count 1", 0 },
	{ "interval", 'i', "SECONDS", 0, "Time over which the load is measured (1)", 0 },
	{ "count", 'n', "N", 0, "End after so many times", 0 },
	{ 0 }
};

struct top {
	struct options common;
	double interval;
	unsigned int count; /* number of readings; 0: until interrupted */
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct top *top = state->input;

	switch (key) {
	case ARGP_KEY_INIT:
		state->child_inputs[0] = &top->common;
		break;
	case KEY_ONCE:
		top->count = 1;
		break;
	case 'i':
		top->interval = parse_seconds(arg, "--interval", state);
		break;
	case 'n':
		top->count = parse_count(arg, "--count", state);
		break;
	default:
		return ARGP_ERR_UNKNOWN;
	}
	return 0;
}

/* ---- one look */

struct look {
	struct devices devices;
	struct clients clients;
	double at; /* time in seconds */
};

static double seconds_now(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static void look_around(struct look *look)
{
	look->at = seconds_now();
	look->devices = devices_find(false);
	look->clients = clients_find();
}

static void look_free(struct look *look)
{
	devices_free(&look->devices);
	clients_free(&look->clients);
}

/* Returns the share of the time in which a device was busy; 0 if it did not exist before. */
static double load_of(const struct device *device, const struct look *before, double seconds)
{
	for (size_t i = 0; i < before->devices.count; i++) {
		const struct device *old = &before->devices.list[i];

		if (!strcmp(old->address, device->address) && device->busy_us > old->busy_us)
			return (double)(device->busy_us - old->busy_us) / 1e6 / seconds;
	}
	return 0;
}

static bool is_shown(const struct devices *devices, const struct process *process)
{
	for (size_t i = 0; i < devices->count; i++)
		if (!strcmp(devices->list[i].address, process->address))
			return true;
	return false;
}

/* ---- for people */

static const char *user_name(uint64_t user, char number[24])
{
	const struct passwd *entry = tree_is_copy() ? NULL : getpwuid((uid_t)user);

	snprintf(number, 24, "%" PRIu64, user);
	return entry ? entry->pw_name : number;
}

static void print_process(const struct process *process)
{
	char user[24], memory[SIZE_TEXT];

	printf("%8d  %-10.10s %-13s %5.1f %%  %10s  %9.3f  %s\n", process->pid,
	       user_name(process->user, user), process->address, process->load * 100,
	       size_text(memory, process->resident), (double)process->busy_ns / 1e9,
	       process->command);
}

static void print_look(const struct look *before, const struct look *now,
		       const struct processes *processes)
{
	const double seconds = now->at - before->at;
	size_t shown = 0;

	for (size_t i = 0; i < now->devices.count; i++) {
		const struct device *device = &now->devices.list[i];
		char memory[SIZE_TEXT];

		if (strcmp(device->driver, "onpu"))
			printf("%s  %s\n", device->address, device_state_text(device->state));
		else
			printf("%s  %5.1f %% busy, %s in use, %" PRIu64 " MHz\n", device->address,
			       load_of(device, before, seconds) * 100,
			       size_text(memory, device->memory), device->clock_mhz);
	}
	for (size_t i = 0; i < processes->count; i++) {
		if (!is_shown(&now->devices, &processes->list[i]))
			continue;
		if (!shown++)
			printf("\n     PID  USER       DEVICE           NPU      MEMORY     TIME s  "
			       "COMMAND\n");
		print_process(&processes->list[i]);
	}
	if (!shown)
		printf("\nNo process has a device open.\n");
	if (now->clients.hidden)
		printf("\nProcesses of other users that are not looked at: %zu; root sees all.\n",
		       now->clients.hidden);
}

/* ---- for programs */

static json_t *look_json(const struct look *before, const struct look *now,
			 const struct processes *processes)
{
	const double seconds = now->at - before->at;
	json_t *devices = json_array(), *list = json_array();
	int wrong = 0;

	for (size_t i = 0; i < now->devices.count; i++) {
		const struct device *device = &now->devices.list[i];

		wrong |= json_array_append_new(
			devices, json_pack("{s:s, s:s, s:f, s:I, s:I, s:I}", "address",
					   device->address, "driver", device->driver, "load",
					   load_of(device, before, seconds), "memory",
					   (json_int_t)device->memory, "busy_us",
					   (json_int_t)device->busy_us, "clock_mhz",
					   (json_int_t)device->clock_mhz));
	}
	for (size_t i = 0; i < processes->count; i++) {
		const struct process *process = &processes->list[i];

		if (!is_shown(&now->devices, process))
			continue;
		wrong |= json_array_append_new(
			list, json_pack("{s:i, s:I, s:o, s:s, s:f, s:I, s:I, s:I, s:I, s:I}", "pid",
					process->pid, "user", (json_int_t)process->user, "command",
					text_as_json(process->command), "device", process->address,
					"load", process->load, "total", (json_int_t)process->total,
					"resident", (json_int_t)process->resident, "busy_ns",
					(json_int_t)process->busy_ns, "cycles",
					(json_int_t)process->cycles, "files",
					(json_int_t)process->files));
	}
	if (wrong) {
		json_decref(devices);
		json_decref(list);
		return NULL;
	}
	return json_pack("{s:f, s:o, s:o, s:I}", "seconds", seconds, "devices", devices,
			 "processes", list, "hidden", (json_int_t)now->clients.hidden);
}

/* ---- again and again */

static int tell(const struct top *top, const struct look *before, const struct look *now)
{
	struct processes processes =
		processes_compare(&before->clients, &now->clients, now->at - before->at);
	int ret = DONE;

	if (top->common.json) {
		/* Each reading is one line, unless there is only one. */
		ret = write_json(look_json(before, now, &processes),
				 top->count == 1 ? JSON_INDENT(2) : JSON_COMPACT);
	} else {
		if (top->count != 1 && isatty(STDOUT_FILENO))
			printf("\033[H\033[J");
		print_look(before, now, &processes);
		if (top->count != 1 && !isatty(STDOUT_FILENO))
			putchar('\n');
		if (fflush(stdout))
			ret = complain(FAILED, "the result cannot be written: %s", strerror(errno));
	}
	processes_free(&processes);
	return ret;
}

int command_top(int argc, char **argv)
{
	static const struct argp_child children[] = { { &common_argp, 0, NULL, 0 }, { 0 } };
	static const struct argp argp = {
		.options = top_options,
		.parser = parse,
		.doc = "Who uses the Open NPUs, and how much, until it is interrupted.\vNPU is the "
		       "part of the time in which the device had jobs of the process; those of "
		       "several processes may overlap, as they share the device in time slices.",
		.children = children,
	};
	struct top top = { .interval = 1 };
	struct look before, now;
	int ret;

	argp_parse(&argp, argc, argv, 0, NULL, &top);
	look_around(&before);
	ret = devices_choose(&before.devices, top.common.device);
	/* Without a device, the lists are empty. */
	if (ret == WRONG && top.common.json) {
		struct look nothing = { .at = before.at };

		tell(&top, &nothing, &nothing);
	}
	for (unsigned int i = 0; ret == DONE && (!top.count || i < top.count); i++) {
		wait_seconds(top.interval);
		look_around(&now);
		ret = devices_choose(&now.devices, top.common.device);
		if (ret == DONE)
			ret = tell(&top, &before, &now);
		look_free(&before);
		before = now;
	}
	look_free(&before);
	return ret;
}
