/* SPDX-License-Identifier: MIT */
/* Strings of the library as JSON. */
#ifndef ONPU_TOOLS_JSON_TEXT_H
#define ONPU_TOOLS_JSON_TEXT_H

#include <jansson.h>

#include <webnn/webnn.h>

/*
 * Returns a text as a JSON string. Paths and labels may hold any bytes, and the text that a
 * language model writes may end within a character: each byte that is not valid UTF-8 becomes '?'.
 * NULL when memory is exhausted.
 */
json_t *json_text(WNNStringView view);

#endif
