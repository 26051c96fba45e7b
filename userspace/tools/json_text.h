/* SPDX-License-Identifier: MIT */
/* Strings of the library as JSON. */
#ifndef ONPU_TOOLS_JSON_TEXT_H
#define ONPU_TOOLS_JSON_TEXT_H

#include <jansson.h>

#include <webnn/webnn.h>

/*
 * Returns a text as JSON. Labels come from files and may hold any bytes; if a text is not valid
 * UTF-8, all bytes beyond ASCII become '?'. NULL when memory is exhausted.
 */
json_t *json_text(WNNStringView view);

#endif
