// SPDX-License-Identifier: MIT
/*
 * onpu-smi: shows the state and the use of the Open NPUs of this machine, and what is wrong with
 * them.
 */
#include <stdio.h>
#include <string.h>

#include "smi.h"

static const struct {
	const char *name;
	int (*run)(int argc, char **argv);
	const char *does;
} commands[] = {
	{ "info", command_info, "the devices: versions, engines, memory, queues, state" },
	{ "top", command_top, "who uses them, and how much" },
	{ "check", command_check, "why the NPU does not work, and what helps" },
	{ "reset", command_reset, "reset a device, as root" },
	{ "fwlog", command_fwlog, "what the firmware says" },
	{ "dump", command_dump, "what the driver kept of a failure" },
	{ "trace", command_trace, "what the driver does, as it does it" },
};

#define NUM_COMMANDS (sizeof(commands) / sizeof(commands[0]))

static void usage(FILE *file)
{
	fprintf(file, "Usage: onpu-smi [COMMAND] [OPTION...]\n\n");
	for (size_t i = 0; i < NUM_COMMANDS; i++)
		fprintf(file, "  %-8s %s\n", commands[i].name, commands[i].does);
	fprintf(file,
		"\nWithout a command it is info. All take --json, and --device for one device of "
		"several;\nonpu-smi COMMAND --help tells the rest. It ends with 0 when all is well, "
		"1 when there is no\ndevice or check has found what is wrong, 2 when something "
		"could not be done, 64 for wrong\nusage.\n");
}

int main(int argc, char **argv)
{
	static char name[40];

	if (argc < 2)
		return command_info(argc, argv);
	if (!strcmp(argv[1], "--help") || !strcmp(argv[1], "-?")) {
		usage(stdout);
		return DONE;
	}
	if (!strcmp(argv[1], "--version") || !strcmp(argv[1], "-V")) {
		puts("onpu-smi " ONPU_VERSION);
		return DONE;
	}
	for (size_t i = 0; i < NUM_COMMANDS; i++) {
		if (strcmp(argv[1], commands[i].name))
			continue;
		snprintf(name, sizeof(name), "onpu-smi %s", commands[i].name);
		argv[1] = name;
		return commands[i].run(argc - 1, argv + 1);
	}
	if (argv[1][0] == '-')
		return command_info(argc, argv);
	fprintf(stderr, "onpu-smi: there is no command '%s'\n\n", argv[1]);
	usage(stderr);
	return argp_err_exit_status;
}
