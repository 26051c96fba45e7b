// SPDX-License-Identifier: MIT
/* onpu-smi check: why the NPU does not work, and what helps. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "smi.h"
#include "tree.h"

static struct finding *add(struct check *check, const char *name, enum verdict verdict, char *what,
			   char *fix)
{
	struct finding *grown =
		realloc(check->findings, (check->count + 1) * sizeof(*check->findings));

	if (!grown)
		exit(complain(FAILED, "memory is exhausted"));
	check->findings = grown;
	grown[check->count] =
		(struct finding){ .name = name, .verdict = verdict, .what = what, .fix = fix };
	return &grown[check->count++];
}

void check_add(struct check *check, const char *name, enum verdict verdict, char *what, char *fix)
{
	add(check, name, verdict, what, fix);
}

void check_add_device(struct check *check, const struct device *device, const char *name,
		      enum verdict verdict, char *what, char *fix)
{
	struct finding *finding = add(check, name, verdict, what, fix);

	memcpy(finding->address, device->address, sizeof(finding->address));
}

static const char *const words[] = {
	[FINE] = "ok",
	[HINT] = "hint",
	[BROKEN] = "wrong",
};

static size_t count(const struct check *check, enum verdict verdict)
{
	size_t found = 0;

	for (size_t i = 0; i < check->count; i++)
		found += check->findings[i].verdict == verdict;
	return found;
}

static void print_findings(const struct check *check)
{
	for (size_t i = 0; i < check->count; i++) {
		const struct finding *finding = &check->findings[i];

		printf("%-5s  %-10s %s%s%s\n", words[finding->verdict], finding->name,
		       finding->address, *finding->address ? ": " : "", finding->what);
		if (finding->fix)
			printf("%18s> %s\n", "", finding->fix);
	}
	if (count(check, BROKEN))
		printf("\n%zu things are wrong; the first is often the reason for those after it.\n",
		       count(check, BROKEN));
	else if (count(check, HINT))
		printf("\nNothing keeps the NPU from working; %zu hints are above.\n",
		       count(check, HINT));
	else
		printf("\nAll is well.\n");
}

static int print_json(const struct check *check)
{
	json_t *list = json_array();
	int wrong = 0;

	for (size_t i = 0; i < check->count; i++) {
		const struct finding *finding = &check->findings[i];

		/* "s?" writes null for NULL. */
		wrong |= json_array_append_new(
			list, json_pack("{s:s, s:s, s:s?, s:s, s:s?}", "check", finding->name,
					"verdict", words[finding->verdict], "device",
					*finding->address ? finding->address : NULL, "what",
					finding->what, "fix", finding->fix));
	}
	if (wrong) {
		json_decref(list);
		list = NULL;
	}
	return write_json(json_pack("{s:b, s:o}", "works", !count(check, BROKEN), "findings", list),
			  JSON_INDENT(2));
}

int command_check(int argc, char **argv)
{
	struct options options = { .device = NULL };
	struct check check = { .count = 0 };
	int ret = DONE;

	parse_common(
		argc, argv,
		"Look for the usual reasons why the NPU does not work, and tell what helps. It "
		"ends with 0 when nothing is wrong, else with 1. Root sees more: the kernel's log, "
		"for one.",
		&options);
	check.devices = devices_find(true);
	/* That there is none is a finding, unless one was asked for. */
	if (options.device)
		ret = devices_choose(&check.devices, options.device);
	if (ret == DONE) {
		tree_line(check.release, sizeof(check.release), "/proc/sys/kernel/osrelease");
		check_presence(&check);
		check_kernel(&check);
		check_module(&check);
		check_signature(&check);
		check_firmware(&check);
		for (size_t i = 0; i < check.devices.count; i++)
			check_device(&check, &check.devices.list[i]);
		if (options.json)
			ret = print_json(&check);
		else
			print_findings(&check);
		if (ret == DONE && count(&check, BROKEN))
			ret = WRONG;
	}
	while (check.count--) {
		free(check.findings[check.count].what);
		free(check.findings[check.count].fix);
	}
	free(check.findings);
	devices_free(&check.devices);
	return ret;
}
