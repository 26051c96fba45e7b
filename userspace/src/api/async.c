// SPDX-License-Identifier: MIT
/*
 * The functions that return a future and their Sync counterparts, generated from webnn.json. The
 * start of each operation is written by hand: the functions of webnn_async.h.
 */
#include "api/builder.h"
#include "api/webnn_async.h"

#include "api/webnn_async.inc"
