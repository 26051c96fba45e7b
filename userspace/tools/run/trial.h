/* SPDX-License-Identifier: MIT */
/* webnn-run: shapes of tensors inside of a model, which graphs of it tell. */
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
 * Builds graphs with these tensors as outputs, on the CPU. Where shapes of inputs are open, two with different sizes tell
 * what follows from them. What there is no graph for stays unknown, which is told. Returns DONE, or an exit code
 * after a message.
 */
int trial_run(const struct options *options, const char *const *names, size_t count,
	      struct trial *trials);
void trial_exit(struct trial *trials, size_t count);

#endif
