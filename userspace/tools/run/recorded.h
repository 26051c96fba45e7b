/* SPDX-License-Identifier: MIT */
/* webnn-run: recorded values by the names of their tensors, in a folder or an archive of numpy. */
#ifndef ONPU_TOOLS_RUN_RECORDED_H
#define ONPU_TOOLS_RUN_RECORDED_H

#include "subject.h"

/* Whether it is a folder, whose files are called as run --output-dir calls them, or a .npz file. */
bool recorded_is(const char *path);
bool recorded_has(const char *path, const char *name);
/* Reads a tensor that is there. Returns DONE, or an exit code after a message. */
int recorded_load(const char *path, const char *name, struct value *value);

#endif
