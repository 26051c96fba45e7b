// SPDX-License-Identifier: MIT
/*
 * webnn-run: runs ONNX models, StableHLO programs, language models and models for speech on a
 * device, and describes, times and compares them.
 */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <webnn/webnn_npu.h>

#include "run.h"

static const struct {
	const char *name;
	int (*run)(int argc, char **argv);
	const char *does;
} commands[] = {
	{ "info", command_info, "inputs, outputs and operators, and what is supported where" },
	{ "run", command_run, "run it once, and save or print its outputs" },
	{ "bench", command_bench, "time its dispatches" },
	{ "compile", command_compile,
	  "save its graph, which run and most other commands take in its place" },
	{ "explain", command_explain, "where each operator runs, and why" },
	{ "profile", command_profile, "where the time of a dispatch goes" },
	{ "compare", command_compare, "compare its outputs on two devices, or with recorded ones" },
	{ "extract", command_extract, "save a part of it, between tensors, as a model" },
	{ "generate", command_generate, "continue a text with a language model (GGUF, ONNX)" },
	{ "transcribe", command_transcribe, "write down speech with a Whisper model (ONNX)" },
	{ "doctor", command_doctor, "without a model: what works on this machine, and what helps" },
};

#define NUM_COMMANDS (sizeof(commands) / sizeof(commands[0]))

static void usage(FILE *file)
{
	fprintf(file, "Usage: webnn-run COMMAND [OPTION...] MODEL\n\n");
	for (size_t i = 0; i < NUM_COMMANDS; i++)
		fprintf(file, "  %-10s %s\n", commands[i].name, commands[i].does);
	fprintf(file,
		"\nwebnn-run COMMAND --help tells the options. It ends with 0 when all is well, 1 "
		"when outputs\nthat are compared differ or the doctor finds what does not work, 2 "
		"when the model cannot\nbe used, 3 when another file cannot be used, 4 when the "
		"device failed, memory is exhausted\nor something else is missing that the command "
		"needs, 64 for wrong usage.\n");
}

int main(int argc, char **argv)
{
	static char name[40];

	if (argc >= 2 && (!strcmp(argv[1], "--help") || !strcmp(argv[1], "-?"))) {
		usage(stdout);
		return DONE;
	}
	if (argc >= 2 && (!strcmp(argv[1], "--version") || !strcmp(argv[1], "-V"))) {
		WNNVersion version = WNN_VERSION_INIT;

		wnnGetVersion(&version);
		printf("webnn-run %.*s\n", (int)version.text.length, version.text.data);
		return DONE;
	}
	for (size_t i = 0; argc >= 2 && i < NUM_COMMANDS; i++) {
		if (strcmp(argv[1], commands[i].name))
			continue;
		snprintf(name, sizeof(name), "webnn-run %s", commands[i].name);
		argv[1] = name;
		return commands[i].run(argc - 1, argv + 1);
	}
	if (argc >= 2 && argv[1][0] == '-')
		fprintf(stderr, "webnn-run: the command comes first, before %s\n\n", argv[1]);
	else if (argc >= 2 && !access(argv[1], F_OK))
		fprintf(stderr,
			"webnn-run: there is no command '%s'; to run a model of that name: "
			"webnn-run run %s\n\n",
			argv[1], argv[1]);
	else if (argc >= 2)
		fprintf(stderr, "webnn-run: there is no command '%s'\n\n", argv[1]);
	usage(stderr);
	return argp_err_exit_status;
}
