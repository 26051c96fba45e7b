/* SPDX-License-Identifier: MIT */
/* Strings of the library as JSON. */
#ifndef ONPU_TOOLS_JSON_TEXT_H
#define ONPU_TOOLS_JSON_TEXT_H

#include <jansson.h>

#include <webnn/webnn.h>

/*
 * Returns a text as JSON. Paths and labels may hold any bytes, and what models write may end within
 * a character: bytes that are not of UTF-8 become '?'. NULL when memory is exhausted.
 */
json_t *json_text(WNNStringView view);

#endif
