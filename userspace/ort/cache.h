/* SPDX-License-Identifier: MIT */
/* Compiled graphs in a folder, by what they were compiled from. */
#ifndef ONPU_CACHE_H
#define ONPU_CACHE_H

#include "group.h"

/* The file for a group with these shapes of its inputs; freed by free(). NULL: there is no cache, or no memory. */
char *onpu_cache_path(const struct onpu_group *group, const struct onpu_shape *shapes);
/* NULL when it is not there, damaged, or of another version: then it is compiled again. */
WNNGraph onpu_cache_load(const struct onpu_group *group, const char *path);
void onpu_cache_save(const struct onpu_group *group, const char *path, WNNGraph graph);

#endif
