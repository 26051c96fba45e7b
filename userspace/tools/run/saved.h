/* SPDX-License-Identifier: MIT */
/* webnn-run: graphs that the command compile has saved, instead of models. */
#ifndef ONPU_TOOLS_RUN_SAVED_H
#define ONPU_TOOLS_RUN_SAVED_H

#include "subject.h"

/* Returns whether a file begins like a saved graph, or its name ends with .graph. */
bool saved_is(const char *path);

/*
 * Loads a saved graph like subject_open(), on a context that the first target takes over. Returns
 * DONE or an exit code.
 */
int saved_open(struct subject *subject);
void saved_close(struct subject *subject);

/* Loads the graph on the context of @target. Returns DONE or an exit code. */
int saved_load(struct target *target, const struct subject *subject);

/*
 * Prints why the last load or save of a graph failed. Returns @code, or what code_of() makes of it.
 */
int saved_complain(enum exit_code code, const char *path);

/*
 * Prints, or writes as JSON, the graph's inputs and outputs, and where its operators run. Returns
 * an exit code.
 */
int saved_info(const struct subject *subject, const struct target *target);

#endif
