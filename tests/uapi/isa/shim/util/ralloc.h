/* SPDX-License-Identifier: MIT */
/*
 * Replaces Mesa's file: blocks have no parent, as the decoder frees each one when there are no
 * expressions.
 */
#ifndef SHIM_RALLOC_H
#define SHIM_RALLOC_H

#include <stdlib.h>

#define rzalloc_size(parent, size)	  ((void)(parent), calloc(1, (size)))
#define ralloc_size(parent, size)	  ((void)(parent), malloc(size))
#define ralloc_array(parent, type, count) ((type *)calloc((count), sizeof(type)))
#define ralloc_free(p)			  free(p)

#endif
