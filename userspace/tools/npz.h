/* SPDX-License-Identifier: MIT */
/*
 * Arrays in .npz files: zip archives of .npy files, as numpy.savez and savez_compressed write them.
 */
#ifndef ONPU_TOOLS_NPZ_H
#define ONPU_TOOLS_NPZ_H

#include <stdbool.h>

#include "npy.h"

/* Returns whether the name of a file ends in .npz. */
bool npz_is(const char *path);

/* Returns 0 if the file is an archive with arrays, or -1 after a message. */
int npz_check(const char *path);

/* Returns whether the archive has an array of this name. */
bool npz_has(const char *path, const char *name);

/*
 * Loads the array of this name; if the archive has only one array, loads that, whatever its name
 * is. Without a name, several arrays are an error. Returns 0, or -1 after a message.
 */
int npz_load(struct npy *array, const char *path, const char *name);

#endif
