// SPDX-License-Identifier: MIT
/*
 * The functions that give a future and their Sync counterparts, generated from webnn.json. What each
 * operation begins with is written by hand: the functions of webnn_async.h.
 */
#include "api/builder.h"
#include "api/webnn_async.h"

#include "api/webnn_async.inc"
