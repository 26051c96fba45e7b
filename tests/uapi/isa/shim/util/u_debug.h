/* SPDX-License-Identifier: MIT */
/* Included by the decoder, which relies on it for this one. */
#include <stdarg.h>
