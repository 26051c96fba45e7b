/* SPDX-License-Identifier: MIT */
/* Compiled graphs in a folder, found by what they were compiled from. */
#ifndef ONPU_CACHE_H
#define ONPU_CACHE_H

#include "group.h"

/*
 * Returns the path of the file for a group with these shapes of its inputs, which the caller passes
 * to free(). NULL: there is no cache folder, or no memory.
 */
char *onpu_cache_path(const struct onpu_group *group, const struct onpu_shape *shapes);
/*
 * Returns the graph in a file. NULL: the file is absent, damaged, or of another version, so that
 * the graph is compiled again.
 */
WNNGraph onpu_cache_load(const struct onpu_group *group, const char *path);
void onpu_cache_save(const struct onpu_group *group, const char *path, WNNGraph graph);

#endif
