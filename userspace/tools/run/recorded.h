/* SPDX-License-Identifier: MIT */
/* webnn-run: recorded values by the names of their tensors, in a folder or a .npz file. */
#ifndef ONPU_TOOLS_RUN_RECORDED_H
#define ONPU_TOOLS_RUN_RECORDED_H

#include "subject.h"

/*
 * recorded_is() returns whether a path is a folder or a .npz file. recorded_has() returns whether
 * such a path has a value for a name; in a folder, files are named as by run --output-dir.
 */
bool recorded_is(const char *path);
bool recorded_has(const char *path, const char *name);
/* Reads an existing tensor. Returns DONE, or an exit code after a message. */
int recorded_load(const char *path, const char *name, struct value *value);

#endif
