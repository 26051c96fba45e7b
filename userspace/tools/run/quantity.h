/* SPDX-License-Identifier: MIT */
/* webnn-run: numbers for people, with a unit that keeps them short. */
#ifndef ONPU_TOOLS_RUN_QUANTITY_H
#define ONPU_TOOLS_RUN_QUANTITY_H

#include <stdint.h>

#define QUANTITY_TEXT 24

/* Writes a text such as "1.82 G", or "17" when no unit is needed. Returns @text. */
char *quantity_count(char text[QUANTITY_TEXT], uint64_t count);

#endif
