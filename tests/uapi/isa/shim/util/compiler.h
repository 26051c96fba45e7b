/* SPDX-License-Identifier: MIT */
#ifndef SHIM_COMPILER_H
#define SHIM_COMPILER_H

#define PRINTFLIKE(text, first)		 __attribute__((format(printf, text, first)))
#define _util_printf_format(text, first) PRINTFLIKE(text, first)
#define FALLTHROUGH			 __attribute__((fallthrough))
#define ARRAY_SIZE(a)			 (sizeof(a) / sizeof((a)[0]))

#endif
