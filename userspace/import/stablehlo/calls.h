/* SPDX-License-Identifier: MIT */
/* Custom calls that stand for operations. */
#ifndef SHLO_CALLS_H
#define SHLO_CALLS_H

#include "module.h"

/*
 * Replaces custom calls that stand for known operations. Other calls stay, and the checks refuse
 * them by name.
 */
void shlo_expand_calls(struct shlo_file *file);

#endif
