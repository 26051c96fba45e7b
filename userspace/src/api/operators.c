// SPDX-License-Identifier: MIT
/* The operator functions of the builder, generated from webnn.json. */
#include "api/record.h"
#include "util/number.h"

#include "api/webnn_builder.inc"
