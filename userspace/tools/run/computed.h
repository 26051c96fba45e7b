/* SPDX-License-Identifier: MIT */
/* webnn-run: the tensors of a model that depend on its inputs. */
#ifndef ONPU_TOOLS_RUN_COMPUTED_H
#define ONPU_TOOLS_RUN_COMPUTED_H

#include "subject.h"

struct computed {
	char **names;
	size_t count;
};

/*
 * Lists the tensors that the outputs need, in the order of the nodes. It leaves out shapes and what
 * follows from constants alone, as they are the same everywhere. Returns DONE, or an exit code
 * after a message.
 */
int computed_init(struct computed *computed, const struct subject *subject);
/* The outputs alone. */
int computed_outputs(struct computed *computed, const struct subject *subject);
/* Unless it is there. */
int computed_add(struct computed *computed, const char *name);
void computed_exit(struct computed *computed);

#endif
