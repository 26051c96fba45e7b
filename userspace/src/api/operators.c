// SPDX-License-Identifier: MIT
/*
 * The builder's functions for operators, in webnn_builder.inc, which is generated from webnn.json.
 */
#include "api/record.h"
#include "util/number.h"

#include "api/webnn_builder.inc"
