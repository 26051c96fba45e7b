/* SPDX-License-Identifier: MIT */
/* webnn-run: programs of StableHLO. */
#ifndef ONPU_TOOLS_RUN_PROGRAM_H
#define ONPU_TOOLS_RUN_PROGRAM_H

#include "ranks.h"
#include "subject.h"

bool program_is(const char *path);
/*
 * Runs it on the context of @target, whose results are filled; an exit code. It fills nothing of
 * @subject but the time to load.
 */
int program_run(const struct options *options, const struct ranks *ranks, struct subject *subject,
		struct target *target);
/* Runs it and prints, or writes as JSON, where its operations were computed. */
int program_explain(const struct options *options, struct target *target);
/* Prints what it takes and gives, or why it does not run. */
int program_info(const struct options *options);

#endif
