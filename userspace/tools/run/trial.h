/* SPDX-License-Identifier: MIT */
/* webnn-run: the shapes of tensors inside of a model, from trial builds of it. */
#ifndef ONPU_TOOLS_RUN_TRIAL_H
#define ONPU_TOOLS_RUN_TRIAL_H

#include "subject.h"

struct trial {
	bool known;
	WNNOperandDataType type;
	size_t rank;
	int64_t sizes[VALUE_MAX_RANK]; /* -1: the size depends on an open dimension */
	/* name of the input dimension that such a size equals, or NULL */
	char *names[VALUE_MAX_RANK];
};

/*
 * Finds the shapes of these tensors by building graphs on the CPU that have them as outputs. If
 * shapes of inputs are open, two graphs with different sizes show which shapes depend on them.
 * If a graph cannot be built, all tensors stay unknown, with a message. Returns DONE, or an exit
 * code after a message.
 */
int trial_run(const struct options *options, const char *const *names, size_t count,
	      struct trial *trials);
void trial_exit(struct trial *trials, size_t count);

#endif
