/* SPDX-License-Identifier: MIT */
/* webnn-run: the shapes of tensors inside of a model, from trial builds of it. */
#ifndef ONPU_TOOLS_RUN_TRIAL_H
#define ONPU_TOOLS_RUN_TRIAL_H

#include "subject.h"

struct trial {
	bool known;
	WNNOperandDataType type;
	size_t rank;
	int64_t sizes[VALUE_MAX_RANK]; /* -1: it depends on sizes that are open */
	char *names[VALUE_MAX_RANK];   /* of such a size, where it is one of the inputs'; or NULL */
};

/*
 * Builds graphs with these tensors as outputs, on the CPU. Where shapes of inputs are open, two
 * graphs with different sizes show which shapes depend on them. Tensors for which there is no graph
 * stay unknown, with a message. Returns DONE, or an exit code after a message.
 */
int trial_run(const struct options *options, const char *const *names, size_t count,
	      struct trial *trials);
void trial_exit(struct trial *trials, size_t count);

#endif
