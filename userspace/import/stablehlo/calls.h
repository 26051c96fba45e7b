/* SPDX-License-Identifier: MIT */
/* Custom calls of exporters. */
#ifndef SHLO_CALLS_H
#define SHLO_CALLS_H

#include "module.h"

/* Replaces those that stand for operations that are known; others stay, and the checks name them. */
void shlo_expand_calls(struct shlo_file *file);

#endif
