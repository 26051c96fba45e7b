// SPDX-License-Identifier: MIT
/* onpu-smi check: reports why the NPU does not work, and what helps. */
#include <stdio.h>

#include "check.h"
#include "smi.h"

static void print_findings(const struct check *check)
{
	const size_t wrong = check_count(check, BROKEN), hints = check_count(check, HINT);

	check_print(check);
	if (wrong == 1)
		printf("\n1 thing is wrong.\n");
	else if (wrong)
		printf("\n%zu things are wrong; the first is often the reason for those after it.\n",
		       wrong);
	else if (hints)
		printf("\nNothing keeps the NPU from working; hints above: %zu.\n", hints);
	else
		printf("\nAll is well.\n");
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
	/* A missing device is only a finding, unless it was named by --device. */
	if (options.device)
		ret = devices_choose(&check.devices, options.device);
	if (ret == DONE) {
		check_npus(&check);
		if (options.json)
			ret = write_json(check_json(&check), JSON_INDENT(2));
		else
			print_findings(&check);
		if (ret == DONE && check_count(&check, BROKEN))
			ret = WRONG;
	}
	check_free(&check);
	return ret;
}
