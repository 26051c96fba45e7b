/* SPDX-License-Identifier: MIT */
/* webnn-run: programs of StableHLO. */
#ifndef ONPU_TOOLS_RUN_PROGRAM_H
#define ONPU_TOOLS_RUN_PROGRAM_H

#include "ranks.h"
#include "subject.h"

bool program_is(const char *path);
/*
 * Runs the program on the context of @target, and fills in its results. It sets only the load time
 * of @subject. Returns an exit code.
 */
int program_run(const struct options *options, const struct ranks *ranks, struct subject *subject,
		struct target *target);
/*
 * Runs the program, and prints or writes as JSON where its operations were computed. Returns an
 * exit code.
 */
int program_explain(const struct options *options, struct target *target);
/*
 * Prints, or writes as JSON, the inputs and outputs of the program, and which of its operations are
 * refused. Returns an exit code.
 */
int program_info(const struct options *options);

#endif
