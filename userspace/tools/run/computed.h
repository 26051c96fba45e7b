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
 * Lists the tensors that nodes compute which the outputs need, in the order of the nodes. Leaves
 * out shapes and values that depend on constants alone, because these are equal on all devices.
 * Returns DONE, or an exit code after a message.
 */
int computed_init(struct computed *computed, const struct subject *subject);
/* Lists only the outputs. Returns DONE or an exit code. */
int computed_outputs(struct computed *computed, const struct subject *subject);
/* Adds a name unless the list has it. Returns DONE or an exit code. */
int computed_add(struct computed *computed, const char *name);
void computed_exit(struct computed *computed);

#endif
