/* SPDX-License-Identifier: MIT */
/* Formats text into new memory, and as JSON. */
#ifndef ONPU_TOOLS_SMI_TEXT_H
#define ONPU_TOOLS_SMI_TEXT_H

#include <jansson.h>

/*
 * Returns a text as of printf(), which the caller frees; ends the program when there is no memory.
 */
char *text_of(const char *format, ...) __attribute__((format(printf, 1, 2)));

/*
 * Returns a text of the system as JSON, which has UTF-8 alone: in another text, '?' takes the place
 * of each byte that is no ASCII. NULL: memory is exhausted.
 */
json_t *text_as_json(const char *text);

#endif
