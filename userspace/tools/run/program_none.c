// SPDX-License-Identifier: MIT
/* webnn-run without libwebnn-stablehlo. */
#include <string.h>

#include "program.h"

bool program_is(const char *path)
{
	const char *end = strrchr(path, '.');

	return end && !strcmp(end, ".mlir");
}

int program_run(const struct options *options, struct target *target)
{
	(void)target;
	return program_info(options);
}

int program_info(const struct options *options)
{
	return complain(BAD_MODEL, "%s: webnn-run was built without StableHLO", options->model);
}
