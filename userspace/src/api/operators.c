/* SPDX-License-Identifier: MIT */
/* The operator functions of the builder. All of it is generated from webnn.json. */
#include "api/record.h"

#define ARRAY_SIZE(array) (sizeof(array) / sizeof((array)[0]))

#include "api/webnn_builder.inc"
