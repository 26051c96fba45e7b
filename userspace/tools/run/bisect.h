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
	/* How many operators it may be: those that end here, of which none can be looked at alone. */
	size_t candidates;
};

/*
 * The outputs of @subject differ between the two, or from recorded ones, at a path as of recorded_has(), where
 * @expected is NULL. Targets lose their graphs. Returns DONE, or an exit code after a message.
 */
int bisect(struct subject *subject, struct target *got, struct target *expected,
	   const char *recorded, struct tolerance tolerance, struct bisected *result);
void bisect_free(struct bisected *result);

#endif
