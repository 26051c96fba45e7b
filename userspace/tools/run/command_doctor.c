// SPDX-License-Identifier: MIT
/* webnn-run doctor: reports what works on this machine, what does not, and what helps. */
#include <stdio.h>

#include "../smi/tree.h"
#include "doctor.h"
#include "run.h"

#define ROOT_KEY 0x300

static const struct argp_option options[] = {
	JSON_OPTION,
	{ "root", ROOT_KEY, "FOLDER", 0, "Look at a copy of a system instead, without its devices",
	  0 },
	{ 0 }
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct options *common = state->input;

	switch (key) {
	case JSON_KEY:
		common->json = arg;
		return 0;
	case ROOT_KEY:
		tree_set_root(arg);
		return 0;
	case ARGP_KEY_ARG:
		argp_error(state, "'%s' is too much: doctor takes no model", arg);
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static void print(const struct check *check)
{
	const size_t wrong = check_count(check, BROKEN), hints = check_count(check, HINT);

	check_print(check);
	if (wrong == 1)
		printf("\n1 of these does not work.\n");
	else if (wrong)
		printf("\n%zu of these do not work; the first is often the reason for those after it.\n",
		       wrong);
	else if (hints)
		printf("\nEverything works; %zu of these could be better.\n", hints);
	else
		printf("\nAll is well.\n");
}

int command_doctor(int argc, char **argv)
{
	static const struct argp argp = {
		options,
		parse,
		NULL,
		"Tells what graphs are computed with on this machine, what of it does not work, and what "
		"helps: processor, vector instructions, libraries and their self-tests, threads, pages "
		"of memory, NPU. It ends with 0 when nothing is wrong, else with 1.",
		NULL,
		NULL,
		NULL
	};
	struct options common = { 0 };
	struct check check = { .count = 0 };
	WNNInstance instance;
	int ret = DONE;

	argp_parse(&argp, argc, argv, 0, NULL, &common);
	instance = wnnCreateInstance(NULL);
	if (!instance)
		return complain_wnn(BAD_DEVICE, false, "the library");
	doctor_cpu(&check, instance);
	doctor_devices(&check, instance);
	if (text_wanted(&common))
		print(&check);
	if (common.json)
		ret = write_json(&common, check_json(&check));
	if (ret == DONE && check_count(&check, BROKEN))
		ret = UNWELL;
	check_free(&check);
	wnnInstanceRelease(instance);
	return ret;
}
