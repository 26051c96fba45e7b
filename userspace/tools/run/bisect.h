/* SPDX-License-Identifier: MIT */
/* webnn-run: finds the first operator of a model that two devices compute differently. */
#ifndef ONPU_TOOLS_RUN_BISECT_H
#define ONPU_TOOLS_RUN_BISECT_H

#include "difference.h"
#include "subject.h"

/* Strings are allocated; bisect_free() frees them. */
struct bisected {
	/* The operator; its node is NULL when nothing was found. */
	char *node, *kind;
	/* Its output that differs, and how. */
	char *value;
	struct difference difference;
	/*
	 * The number of operators that may be the cause: they end here, and none can be tested
	 * alone.
	 */
	size_t candidates;
};

/*
 * Finds the first operator for which @subject differs between the two targets, or from recorded
 * values at a path as of recorded_has(), where @expected is NULL. Targets lose their graphs.
 * Returns DONE, or an exit code after a message.
 */
int bisect(struct subject *subject, struct target *got, struct target *expected,
	   const char *recorded, struct tolerance tolerance, struct bisected *result);
void bisect_free(struct bisected *result);

#endif
