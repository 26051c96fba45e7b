/* SPDX-License-Identifier: MIT */
/* webnn-run: finds the first operator of a model that two devices compute differently. */
#ifndef ONPU_TOOLS_RUN_BISECT_H
#define ONPU_TOOLS_RUN_BISECT_H

#include "difference.h"
#include "subject.h"

/* The result of bisect(); bisect_free() frees its strings. */
struct bisected {
	/* The operator; its node is NULL when nothing was found. */
	char *node, *kind;
	/* The output of the operator that differs, and its difference. */
	char *value;
	struct difference difference;
	/*
	 * The number of operators of which any may be the cause; the operator above is one of them,
	 * mostly the last. Tensors between them cannot be compared.
	 */
	size_t candidates;
};

/*
 * Finds the first operator for which @subject differs between the two targets, or, if @expected is
 * NULL, from the recorded values at the path @recorded, which recorded_has() takes. The targets
 * lose their graphs. Returns DONE, or an exit code after a message.
 */
int bisect(struct subject *subject, struct target *got, struct target *expected,
	   const char *recorded, struct tolerance tolerance, struct bisected *result);
void bisect_free(struct bisected *result);

#endif
