/* SPDX-License-Identifier: MIT */
#ifndef SHIM_LOG_H
#define SHIM_LOG_H

#include <stdio.h>

#define mesa_loge(...) fprintf(stderr, __VA_ARGS__)

#endif
