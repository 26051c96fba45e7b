// SPDX-License-Identifier: MIT
/*
 * The functions that return a future and their Sync counterparts, generated from webnn.json. They
 * call the functions of webnn_async.h, written by hand, which begin each operation.
 */
#include "api/builder.h"
#include "api/webnn_async.h"

#include "api/webnn_async.inc"
