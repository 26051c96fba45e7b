/* SPDX-License-Identifier: MIT */
/* Strings of the library as JSON. */
#ifndef ONPU_TOOLS_JSON_TEXT_H
#define ONPU_TOOLS_JSON_TEXT_H

#include <jansson.h>

#include <webnn/webnn.h>

/*
 * Labels may come from a file and be anything: what is no UTF-8 is written with '?' for all that is
 * not ASCII, as else nothing could be written. NULL when memory is exhausted.
 */
json_t *json_text(WNNStringView view);

#endif
