/* SPDX-License-Identifier: MIT */
/* The decoder includes this file, and relies on it to include stdarg.h. */
#include <stdarg.h>
