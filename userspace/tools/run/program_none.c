// SPDX-License-Identifier: MIT
/* webnn-run, built without libwebnn-stablehlo: refuses StableHLO programs. */
#include <stdlib.h>
#include <string.h>

#include "program.h"

int program_run(const struct options *options, const struct ranks *ranks, struct subject *subject,
		struct target *target)
{
	(void)ranks;
	(void)subject;
	(void)target;
	return program_info(options);
}

int program_explain(const struct options *options, struct target *target)
{
	(void)target;
	return program_info(options);
}

int program_info(const struct options *options)
{
	return complain(
		BAD_MODEL,
		"%s: this is a StableHLO program, and this webnn-run was built without StableHLO; "
		"build it with a C++ compiler and KISS FFT",
		options->model);
}

int ranks_join(struct ranks *ranks)
{
	*ranks = (struct ranks){ .count = 1 };
	return DONE;
}

int ranks_agree(const struct ranks *ranks)
{
	(void)ranks;
	return DONE;
}

void ranks_leave(struct ranks *ranks, int ret)
{
	(void)ranks;
	(void)ret;
}

bool ranks_node(const struct ranks *ranks, const char *device, char *node, size_t room)
{
	(void)ranks;
	(void)device;
	(void)node;
	(void)room;
	return false;
}

bool ranks_has_number(const char *path)
{
	(void)path;
	return false;
}

char *ranks_path(const struct ranks *ranks, const char *path)
{
	(void)ranks;
	return strdup(path);
}
